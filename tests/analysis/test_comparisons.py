"""Analysis of sets and traces, from the snapshot to the sentences; bad designs are explained."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from heartfelt import stats
from heartfelt.analysis.compared_sets.strengths import comparison_results, majorities
from heartfelt.analysis.compared_sets.traces import trace_results
from heartfelt.analysis.findings.comparisons import ComparisonQuestion
from heartfelt.analysis.options import AnalyzeOptions
from heartfelt.analysis.run import analyze
from heartfelt.analysis.summary import Analysis, Summary
from heartfelt.serialization import from_json, to_json
from heartfelt.snapshot import Snapshot
from tests.compared import SYSTEMS, abx, arena, mushra, referenced, sets_of_four, traced
from tests.facts import mentions
from tests.screening.compared_panels import panel_of_pairs


def only(snapshot: Snapshot) -> ComparisonQuestion:
    (made,) = comparison_results(snapshot)
    return made


@pytest.fixture(scope="module")
def pairs() -> Analysis:
    return analyze(arena(ties=0.1, order=0.5, raters=16), AnalyzeOptions(resamples=100))


@pytest.mark.slow
def test_a_study_of_pairs_is_analysed_to_the_end(pairs: Analysis) -> None:
    summary = pairs.summary
    assert summary.comparisons is not None
    (made,) = summary.comparisons
    assert (made.scale, made.trials, made.raters, made.of) == ("choice", 640, 16, "system")
    assert [each.name for each in made.contestants] == list(SYSTEMS)
    assert summary.counts.ratings == 640
    assert summary.verdict[0].startswith("Alpha is preferred most often")
    assert mentions(summary.verdict, "16 people", "640 comparisons", "32 stimuli", "4 systems", "1 intent")
    assert not any("failed" in note for note in summary.notes)
    assert summary.why_missing["reliability"].startswith("every question compares stimuli")
    assert pairs.raters["n"].to_list() == [40] * 16
    assert to_json(from_json(Summary, to_json(summary))) == to_json(summary)


@pytest.mark.slow
def test_pairs_hold_wins_and_corrected_tests(pairs: Analysis) -> None:
    (made,) = pairs.summary.comparisons or ()
    assert len(made.pairs) == 6
    assert sum(pair.comparisons for pair in made.pairs) == 640
    assert all(pair.comparisons == pair.a_wins + pair.ties + pair.b_wins for pair in made.pairs)
    ps = [pair.p for pair in made.pairs]
    corrected = stats.holm(ps)
    assert [pair.p_corrected for pair in made.pairs] == pytest.approx(list(corrected.adjusted))
    first = made.pairs[0]
    assert (first.a, first.b) == ("alpha", "beta")
    assert first.preference.value == pytest.approx((first.a_wins + first.ties / 2) / first.comparisons)
    assert made.order is not None
    assert (made.order.p or 1.0) < 0.01
    assert float(made.order.effect) > 0.2
    assert made.transitivity is not None
    assert len(made.consistency) == 16
    assert 0.5 < float(made.ceilings["accuracy"]) < float(made.ceilings["majority_accuracy"]) < 1.0


@pytest.mark.slow
def test_the_share_of_first_choices_takes_raters_as_a_sample() -> None:
    snapshot = arena(raters=12, order=0.5)
    made = only(snapshot)
    assert made.order is not None
    first = snapshot.ratings.filter(pl.col("place") == 1)
    assert float(made.order.first_share) == pytest.approx(float(np.mean(first["value"].to_numpy())))
    assert made.order.first_share.interval == "jackknife over raters"
    shares = first.group_by("rater").agg(pl.mean("value"))["value"].to_numpy()
    half = float(np.std(shares, ddof=1)) / 12**0.5 * 2.201
    assert made.order.first_share.high == pytest.approx(float(np.mean(shares)) + half, abs=1e-3)


@pytest.mark.slow
def test_majorities_count_every_pair(pairs: Analysis) -> None:
    table = pairs.pairs
    assert table["n"].sum() == 640
    assert (table["n"] == table["first_wins"] + table["ties"] + table["second_wins"]).all()
    for row in table.iter_rows(named=True):
        counts = {row["first"]: row["first_wins"], "tie": row["ties"], row["second"]: row["second_wins"]}
        leading = [name for name, count in counts.items() if count == max(counts.values())]
        assert row["majority"] == (leading[0] if len(leading) == 1 else None)


@pytest.mark.slow
def test_preferences_give_means_on_the_scale_of_the_grades() -> None:
    snapshot = arena(graded=True, raters=12)
    made = only(snapshot)
    pair = next(p for p in made.pairs if (p.a, p.b) == ("alpha", "delta"))
    rows = snapshot.ratings.with_columns(pl.col("stimulus").str.split("/").list.first().alias("system"))
    both = rows.filter(
        (pl.col("system").is_in(["alpha", "delta"]).all() & (pl.col("system").n_unique() == 2)).over("rater", "trial")
    )
    expected = both.filter(pl.col("system") == "alpha")["value"].mean()
    assert pair.preference.value == pytest.approx(expected)
    assert (pair.preference.low or 0.0) > 0.5


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["rank", "best-worst"])
def test_sets_are_ranked(kind: str) -> None:
    made = only(sets_of_four(kind))
    assert [each.name for each in made.contestants] == list(SYSTEMS)
    assert made.order is None
    assert all((each.score is not None) == (kind == "best-worst") for each in made.contestants)


@pytest.mark.slow
def test_abx_is_tested_by_pair_of_systems() -> None:
    made = only(abx(raters=12))
    by_pair = {(pair.a, pair.b): pair for pair in made.abx}
    assert set(by_pair) == {("all", "all"), ("alpha", "beta"), ("alpha", "gamma"), ("beta", "gamma")}
    assert (by_pair["alpha", "beta"].p_corrected or 1.0) < 0.01
    assert (by_pair["alpha", "gamma"].p or 0.0) > 0.05
    everything = by_pair["all", "all"]
    assert everything.share.counts["answers"] == 240
    verdict = " ".join(analyze(abx(raters=12), AnalyzeOptions(resamples=100)).summary.verdict)
    assert "People can tell alpha and beta apart" in verdict


@pytest.mark.slow
def test_mushra_leaves_out_whom_the_recommendation_leaves_out() -> None:
    snapshot = mushra(careless=1)
    made = analyze(snapshot, AnalyzeOptions(resamples=100)).summary
    assert made.comparisons is not None
    result = made.comparisons[0].mushra
    assert result is not None
    assert result.excluded == ("r07",)
    assert [condition.name for condition in result.conditions] == ["reference", "good", "poor", "anchor"]
    kept = snapshot.ratings.filter((pl.col("rater") != "r07") & pl.col("stimulus").str.starts_with("good"))["value"]
    assert float(result.conditions[1].mean) == pytest.approx(float(np.mean(kept.to_numpy())))
    assert len(result.conditions[1].items) == 4
    assert {row.system for row in made.systems or ()} == {"good", "poor"}
    assert any("hidden references or anchors" in note for note in made.notes)
    assert any("excludes 1 listener of 8 from" in sentence for sentence in made.verdict)


def test_a_reference_graded_below_an_anchor_is_counted() -> None:
    snapshot = mushra()
    low = snapshot.ratings.with_columns(
        pl.when((pl.col("rater") == "r00") & (pl.col("role") == "hidden-reference"))
        .then(5.0)
        .otherwise(pl.col("value"))
        .alias("value")
    )
    changed = Snapshot.build(snapshot.study, stimuli=snapshot.stimuli, ratings=low)
    result = only(changed).mushra
    assert result is not None
    assert result.reference_below_anchor == 4
    assert result.listeners[0].reference_below_anchor == 4


@pytest.mark.slow
def test_ratings_next_to_a_reference_have_means_by_system() -> None:
    snapshot = referenced()
    made = only(snapshot)
    by_system = {row.system: row for row in made.reference}
    values = snapshot.ratings.filter(pl.col("stimulus").str.starts_with("poor"))["value"]
    assert float(by_system["poor"].mean) == pytest.approx(float(np.mean(values.to_numpy())))
    assert float(by_system["poor"].below_top) == pytest.approx(float(by_system["poor"].mean) - 5)
    assert "Next to the reference" in " ".join(analyze(snapshot, AnalyzeOptions(resamples=100)).summary.verdict)


@pytest.mark.slow
def test_traces_have_agreement_lags_and_ceilings() -> None:
    snapshot = traced(raters=6, clips=4)
    made = analyze(snapshot, AnalyzeOptions(resamples=100)).summary
    assert made.traces is not None
    (question,) = made.traces
    assert (question.raters, question.traces, question.timed) == (6, 24, True)
    values = [float(each.pairwise) for each in question.stimuli]
    assert float(question.pairwise) == pytest.approx(np.mean(values))
    assert float(question.one_rater) < float(question.ceiling) < 1
    assert set(question.lags) == {f"r{r}" for r in range(6)}
    assert made.reliability is not None
    assert "valence" in made.reliability


def test_a_late_rater_has_a_lag() -> None:
    snapshot = traced(raters=5, clips=4)
    shifted = [
        [samples[0]] * 4 + samples[:-4] if rater == "r0" else samples
        for rater, samples in zip(snapshot.traces["rater"], snapshot.traces["samples"].to_list(), strict=True)
    ]
    late = snapshot.traces.with_columns(pl.Series("samples", shifted, dtype=pl.List(pl.Float32)))
    (question,) = trace_results(
        Snapshot.build(snapshot.study, stimuli=snapshot.stimuli, ratings=snapshot.ratings, traces=late)
    )
    assert float(question.lags["r0"]) == pytest.approx(2.0, abs=0.6)
    assert all(abs(float(lag)) < 1.2 for rater, lag in question.lags.items() if rater != "r0")


def _rebuilt(snapshot: Snapshot, ratings: pl.DataFrame) -> Snapshot:
    return Snapshot.build(snapshot.study, stimuli=snapshot.stimuli, ratings=ratings)


@pytest.mark.slow
def test_bad_designs_are_explained_end_to_end() -> None:
    plain = arena(raters=4)
    tied = _rebuilt(plain, plain.ratings.with_columns(value=pl.lit(0.5)))
    left = _rebuilt(plain, plain.ratings.with_columns(value=(pl.col("place") == 1).cast(pl.Float64)))
    known = pl.col("stimulus").str.split("/").list.first()
    island = (known.is_in(["alpha", "beta"]).all() | known.is_in(["gamma", "delta"]).all()).over("rater", "trial")
    apart = _rebuilt(plain, plain.ratings.filter(island))
    alone = _rebuilt(plain, plain.ratings.filter(pl.col("place") == 1))
    texts = {
        name: " ".join(analyze(snapshot, AnalyzeOptions(resamples=100)).summary.verdict)
        for name, snapshot in {"tied": tied, "left": left, "apart": apart, "alone": alone}.items()
    }
    assert "give no strengths: every comparison was a tie" in texts["tied"]
    assert "The first presented got 100%" in texts["left"]
    assert "do not allow for the order of presentation: the first of two was chosen so consistently" in texts["left"]
    assert "no chain of comparisons links it with" in texts["apart"]
    assert "no trial has answers about two different stimuli" in texts["alone"]
    assert not any("failed" in text for text in texts.values())


@pytest.mark.slow
def test_strengths_with_and_without_the_raters_in_question() -> None:
    analysis = analyze(panel_of_pairs(12, 60, careless={"r00": "first"}, seed=3), AnalyzeOptions(resamples=100))
    assert analysis.panel.under("default").dropped == ("r00",)
    figures = [row for row in analysis.summary.sensitivity or () if row.figure.startswith("strength of ")]
    assert len(figures) == 6
    (made,) = analysis.summary.comparisons or ()
    known = {each.name: each.strength for each in made.contestants}
    assert all(row.with_all == known[str(row.of)] for row in figures)
    assert all(row.without != row.with_all for row in figures)


@pytest.mark.slow
def test_nobody_answered() -> None:
    plain = arena(raters=2)
    made = analyze(_rebuilt(plain, plain.ratings.clear()), AnalyzeOptions(resamples=100)).summary
    assert made.verdict[0] == "There are no ratings, so nothing can be concluded."


@pytest.mark.slow
def test_unknown_raters_still_give_strengths() -> None:
    plain = arena(raters=6)
    nameless = plain.ratings.with_columns(pl.concat_str("rater", "trial").alias("trial"), rater=pl.lit(None, pl.String))
    made = only(_rebuilt(plain, nameless))
    assert made.raters == 0
    assert made.consistency == ()
    assert all(each.strength.interval for each in made.contestants)
    assert majorities(_rebuilt(plain, nameless))["n"].sum() == 240
