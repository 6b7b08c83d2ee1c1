"""The parts of an analysis: kinds, quadrants, ellipses, categories, covariates, panels, phrases."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from heartfelt.analysis import AnalyzeOptions, analyze
from heartfelt.analysis.data.material import QuestionPlane, find_plane, kind_of, prepare
from heartfelt.analysis.findings.parts import AnovaEffect
from heartfelt.analysis.text.highlights import f_test
from heartfelt.errors import InputError
from heartfelt.screening.panel import screen
from heartfelt.snapshot import Snapshot
from heartfelt.stats.estimate import Estimate
from heartfelt.stats.groups.geometry import ellipse, overlap, overlap_batch, overlap_of
from heartfelt.study import Intent, Question, Study
from heartfelt.study.recipes import recipe_study
from heartfelt.study.scales.scale import Numeric, Ordered, Points, YesNo
from heartfelt.wording import interval, listed, number, p_value, share
from tests.analysis.made import Row, answers, snapshot, stimuli, study, summary_of
from tests.cases import check_all
from tests.facts import mentions

QUICK = AnalyzeOptions(resamples=100)
PARTS = (
    *("heartfelt", "schema", "kind", "source", "study", "hash", "policy", "seed", "counts", "answers_used"),
    "reliability",
    *("agreement", "anova", "mixed", "pairwise", "systems", "intents", "quadrants", "slopes", "ellipses", "overlap"),
    *("screening", "sensitivity", "published", "verdict", "methods", "results", "why_missing"),
)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("conveyance", "conveyance"),
        ("opinion", "opinion"),
        ("presence", "presence"),
        ("yes-no", "presence"),
        ("categories", "presence"),
    ],
)
def test_kinds_and_their_parts(kind: str, expected: str) -> None:
    table = stimuli(24)
    summary = summary_of(analyze(snapshot(kind, table, answers(kind, table)), QUICK))
    assert summary["kind"] == expected == kind_of(study(kind))
    assert set(PARTS) <= set(summary)
    for part in PARTS:
        assert summary[part] is not None or summary["why_missing"][part], part
    assert (summary["quadrants"] is None) == (kind != "conveyance")
    assert (summary["agreement"] is None) == (expected != "presence")


@pytest.mark.slow
def test_a_single_axis_is_no_plane() -> None:
    base = study("conveyance")
    each = base.changed(questions=base.questions[:1])
    assert kind_of(each) == "opinion"
    assert isinstance(find_plane(each), str)
    table = stimuli(24)
    rows = [row for row in answers("conveyance", table) if row[2] == "valence"]
    schema = {"rater": pl.String, "stimulus": pl.String, "question": pl.String, "value": pl.Float64}
    made = Snapshot.build(each, stimuli=table, ratings=pl.DataFrame(rows, schema=schema, orient="row"))
    summary = summary_of(analyze(made, QUICK))
    assert summary["slopes"]
    assert {row["deviation"] for row in summary["anova"]} == {"signed", "absolute"}


def test_quadrants_keep_the_studys_names() -> None:
    result = find_plane(recipe_study("aimoclips"))
    assert isinstance(result, QuestionPlane)
    assert result.names == ("hv_ha", "lv_ha", "lv_la", "hv_la")
    assert result.midpoints == (5.0, 5.0)
    assert result.of_intent["tranquil"] == "hv_la"
    plain = find_plane(study("conveyance"))
    assert isinstance(plain, QuestionPlane)
    assert plain.of_intent["sad"] == "low valence, low arousal"


def test_no_midpoint_no_quadrants() -> None:
    base = study("conveyance")
    open_ended = base.changed(scales={"s": Numeric(type="numeric")})
    assert "no midpoint" in str(find_plane(open_ended))


def test_a_reference_on_the_midline_lies_in_no_quadrant() -> None:
    base = study("conveyance")
    more = [*base.intents, Intent(id="plain", reference={"valence": 5.0, "arousal": 8.0})]
    result = find_plane(base.changed(intents=more))
    assert isinstance(result, QuestionPlane)
    assert "plain" not in result.of_intent


@pytest.mark.slow
def test_confusion_by_hand() -> None:
    """Four stimuli, one an intent: a hit, a miss, one on a midline, a hit."""
    table = stimuli(4, 1)
    means = {"s0": (8, 8), "s1": (8, 2), "s2": (5, 8), "s3": (7, 3)}
    rows: list[Row] = [
        (f"r{r}", name, q, float(v))
        for name, values in means.items()
        for q, v in zip(("valence", "arousal"), values, strict=True)
        for r in range(3)
    ]
    result = summary_of(analyze(snapshot("conveyance", table, rows), QUICK))["quadrants"]
    assert result["names"][0] == "high valence, high arousal"
    counts = dict(zip(result["confusion"]["rows"], result["confusion"]["counts"], strict=True))
    assert counts["high valence, high arousal"] == [1, 0, 0, 0, 0]
    assert counts["low valence, low arousal"] == [0, 0, 0, 1, 0]
    assert counts["low valence, high arousal"] == [0, 0, 0, 0, 1]
    assert counts["high valence, low arousal"] == [0, 0, 0, 1, 0]
    assert result["hit_rate"]["value"] == 0.5
    assert result["confusion"]["columns"][-1] == "on a midline"


@pytest.mark.slow
def test_deviation_by_hand() -> None:
    """Two stimuli of one cell at 6 and 8 against 8: signed mean -1, absolute 1, and their absolute mean is not the mean's."""
    table = pl.DataFrame({"stimulus": ["a", "b", "c"], "system": "M", "intent": "joyful"})
    rows: list[Row] = [("r0", "a", "valence", 6.0), ("r1", "b", "valence", 9.0), ("r2", "c", "valence", 9.0)]
    (row,) = summary_of(analyze(snapshot("conveyance", table, rows), QUICK))["systems"][:1]
    assert row["deviation"]["value"] == pytest.approx(0.0)
    assert row["absolute_deviation"]["value"] == pytest.approx(4 / 3)


def test_overlap_by_slices_is_the_exact_overlap() -> None:
    rng = np.random.default_rng(0)
    for _ in range(20):
        clouds = [rng.normal(size=(30, 2)) @ rng.normal(size=(2, 2)) + rng.normal(size=2) for _ in range(2)]
        exact = overlap_of(*(ellipse(c[:, 0], c[:, 1]) for c in clouds))
        centres = [c.mean(axis=0)[None] for c in clouds]
        covs = [np.cov(c.T) for c in clouds]
        flat = [np.array([[m[0, 0], m[0, 1], m[1, 1]]]) for m in covs]
        result = overlap_batch(centres[0], flat[0], centres[1], flat[1])
        assert result[0] == pytest.approx(exact, abs=2e-3)
    each = rng.normal(size=(2, 25))
    whole = overlap((each[0], each[1]), (each[0] + 20, each[1]), resamples=100)
    assert whole.value == 0
    assert overlap((each[0], each[1]), (each[0], each[1]), resamples=100).value == pytest.approx(1)
    assert overlap((each[0], each[0]), (each[0], each[1]), resamples=100).is_missing


@pytest.mark.slow
def test_ordered_categories_are_also_present_or_absent() -> None:
    table = stimuli(24)
    rows = answers("presence", table)
    base = snapshot("presence", table, rows)
    items = base.items.with_columns((pl.col("stimulus").str.slice(1).cast(pl.Int64) % 2 == 0).alias("intended_present"))
    made = Snapshot.build(base.study, stimuli=table, ratings=base.ratings, items=items)
    summary = summary_of(analyze(made, QUICK))
    result = summary["agreement"]["joy"]
    assert {"gwet_ac2", "cohen_kappa_linear", "cohen_kappa_quadratic"} <= set(result)
    assert result["binary"]["fleiss_kappa"]["value"] is not None
    against = result["binary"]["prior_against_majority"]["accuracy"]
    assert 0 <= against["value"] <= 1
    joined = result["binary"]["with_prior"]["fleiss_kappa"]
    assert joined["value"] != result["binary"]["fleiss_kappa"]["value"]
    assert summary["agreement_pooled"]["s"]["n_questions"] == 2
    every = summary["breakdown"]["all"][0]
    assert every["n_items"] == 48
    assert every["n_labels"] + every["n_ties"] == 48
    assert every["matches_intended"]["value"] is not None


@pytest.mark.slow
def test_intended_against_answered_categories() -> None:
    table = stimuli(24)
    codes = {"joyful": 0.0, "sad": 1.0, "angry": 2.0, "calm": 3.0}
    rows: list[Row] = [
        (f"r{r}", name, "emotion", codes[intent])
        for name, intent in table.select("stimulus", "intent").iter_rows()
        for r in range(3)
    ]
    (result,) = summary_of(analyze(snapshot("categories", table, rows), QUICK))["intent_confusion"]
    assert result["rows"] == ["angry", "joyful", "sad"]
    assert result["hit_rate"]["value"] == 1.0
    assert result["hit_rate"]["n_items"] == 18


@pytest.mark.slow
def test_many_questions_are_taken_together() -> None:
    names = [f"emotion{i}/{task}" for i in range(8) for task in ("yes", "no")]
    scale = Ordered(type="ordered", categories=["absent", "weak", "strong"])
    asked = [Question(id=n, text=n, scale="p", about={"task": n.split("/")[1]}) for n in names]
    rng = np.random.default_rng(0)
    rows = [
        (f"r{r}", f"s{i}", name, float(np.clip(round(i % 3 + rng.normal() * 0.6), 0, 2)))
        for name in names
        for i in range(6)
        for r in range(3)
    ]
    schema = {"rater": pl.String, "stimulus": pl.String, "question": pl.String, "value": pl.Float64}
    ratings = pl.DataFrame(rows, schema=schema, orient="row")
    made = Snapshot.build(Study(name="many", scales={"p": scale}, questions=asked), stimuli=stimuli(6), ratings=ratings)
    summary = summary_of(analyze(made, QUICK))
    assert len(summary["reliability"]) == 16
    each = summary["reliability"][names[0]]
    assert each["alpha_nominal"]["value"] is not None
    assert "together" in each["icc1"]["why_missing"]
    assert summary["reliability_pooled"]["p"]["icc1"]["n_items"] == 96
    assert {row["value"] for row in summary["breakdown"]["task"]} == {"yes", "no"}
    assert any("16 questions" in sentence for sentence in summary["verdict"])


@pytest.mark.slow
def test_items_below_the_minimum_are_left_out_everywhere() -> None:
    table = stimuli(24)
    rows = [row for row in answers("opinion", table, chance=1.1) if row[1] != "s3" or row[0] in ("r0", "r1")]
    result = analyze(snapshot("opinion", table, rows, minimum=3), QUICK)
    assert "s3" not in result.labels["stimulus"].to_list()
    left_out = result.ledger.filter(pl.col("stimulus") == "s3")
    assert left_out["question"].to_list() == ["quality", "alignment"]
    assert mentions(left_out["reason"][0], "2", "3 ratings")
    assert summary_of(result)["reliability"]["quality"]["icc1"]["n_items"] == 23
    assert summary_of(result)["counts"]["items_without_label"] == 2


@pytest.mark.slow
def test_covariates() -> None:
    table = stimuli(24).with_columns(pl.Series("level", np.arange(24) % 7 * 1.0))
    made = snapshot("opinion", table, answers("opinion", table))
    summary = summary_of(analyze(made, AnalyzeOptions(resamples=100, covariates=("level",))))
    rows = [row for row in summary["anova"] if row["model"] == "system + intent + level"]
    assert {row["effect"] for row in rows} == {"system", "intent", "level"}
    plain = {(r["outcome"], r["effect"]): r["f"] for r in summary["anova"] if r["model"] == "system + intent"}
    for row in rows:
        if row["effect"] != "level":
            assert row["without_covariates"]["f"] == plain[(row["outcome"], row["effect"])]
    assert any("level held constant" in sentence for sentence in summary["verdict"])
    for name in ("stimulus", "nothing"):
        with pytest.raises(InputError):
            analyze(made, AnalyzeOptions(covariates=(name,)))


@pytest.mark.slow
def test_loudness_is_measured_from_the_media(tmp_path: Path) -> None:
    from heartfelt.analysis.systems.effects import covariate_columns
    from heartfelt.media.audio import write_audio
    from heartfelt.snapshot.snapshot import Source

    t = np.arange(24_000) / 24_000
    table = stimuli(3).with_columns(pl.Series("path", ["a.wav", "b.wav", "gone.wav"]))
    for name, size in (("a.wav", 0.5), ("b.wav", 0.05)):
        write_audio(tmp_path / name, (size * np.sin(2 * np.pi * 997 * t)).astype(np.float32), 24_000)
    made = Snapshot.build(
        study("opinion"), stimuli=table, source=Source(format="tables", name="x", media_root=tmp_path)
    )
    columns, notes = covariate_columns(made, ("loudness",))
    assert columns["loudness"]["s0"] - columns["loudness"]["s1"] == pytest.approx(20, abs=0.1)
    assert notes == ["1 of 3 stimuli have no loudness; models with it leave them out."]


@pytest.mark.slow
def test_the_default_panel_is_what_screening_by_default_gives() -> None:
    table = stimuli(48)
    rows = answers("conveyance", table, raters=12)
    rng = np.random.default_rng(9)
    rows += [("careless", f"s{i}", q, float(rng.integers(1, 10))) for i in range(48) for q in ("valence", "arousal")]
    made = snapshot("conveyance", table, rows)
    direct = screen(made, "default", seed=3)
    through = screen(made, "flag-only", seed=3).under("default")
    assert direct.dropped == through.dropped
    assert direct.ledger.equals(through.ledger)
    assert direct.dropped


@pytest.mark.slow
def test_raters_by_hand() -> None:
    """Two raters who agree but for a constant point, and one who goes the other way."""
    table = stimuli(9)
    rows: list[Row] = []
    for i in range(9):
        level = 2.0 + i % 3
        triple = (("low", level - 1), ("high", level), ("odd", 6.0 - level))
        rows += [(name, f"s{i}", "quality", min(max(v, 1.0), 5.0)) for name, v in triple]
    result = analyze(snapshot("opinion", table, rows), QUICK).raters
    by = {row["rater"]: row for row in result.iter_rows(named=True)}
    assert by["high"]["n"] == 9
    assert by["high"]["mean"] == pytest.approx(3.0)
    assert by["high"]["sd"] == pytest.approx(np.std([2, 3, 4] * 3, ddof=1))
    assert by["high"]["bias"] - by["low"]["bias"] == pytest.approx(1.0, abs=0.2)
    assert by["odd"]["agreement"] < 0


@pytest.mark.slow
def test_questions_of_text_take_no_part() -> None:
    from heartfelt.study.scales.scale import FreeText

    base = Study(
        name="words",
        scales={"t": FreeText(type="text"), "y": YesNo(type="yes-no")},
        questions=[Question(id="why", text="why", scale="t"), Question(id="ok", text="ok", scale="y")],
    )
    made = Snapshot.build(base, stimuli=stimuli(3))
    assert [question.id for question in prepare(made).questions] == ["ok"]
    only = base.changed(questions=base.questions[:1], scales={"t": FreeText(type="text")})
    summary = summary_of(analyze(Snapshot.build(only, stimuli=stimuli(3)), QUICK))
    assert mentions(summary["why_missing"]["reliability"], "question", "answered", "numbers")


@check_all(
    ("text", "expected"),
    [
        (number(-0.001, 2), "0.00"),
        (number(1234.5, 1), "1,234.5"),
        (share(0.841), ".84"),
        (share(-0.25), "\u2212.25"),
        (share(1.0), "1.00"),
        (p_value(0.0004), "p < .001"),
        (p_value(0.0321), "p = .032"),
        (p_value(None), "p not available"),
        (interval(Estimate(value=0.5, low=0.4, high=0.6), bare=True), ".50 [.40, .60]"),
        (interval(Estimate(value=0.9961, low=0.99, high=1.0), bare=True), ".996 [.990, 1.000]"),
        (interval(Estimate(value=0.983, low=0.9802, high=0.9847), bare=True), ".983 [.980, .985]"),
        (interval(Estimate.missing("nobody rated"), bare=True), "none: nobody rated"),
        (listed(["a"]), "a"),
        (listed(["a", "b", "c"]), "a, b and c"),
        (listed([str(i) for i in range(12)], 4), "0, 1, 2 and 9 more"),
        (listed([]), "none"),
    ],
)
def test_phrases(text: str, expected: str) -> None:
    assert text == expected


def test_an_f_test_reads_as_papers_print_it() -> None:
    gone = Estimate.missing("x")
    row = AnovaEffect(
        outcome="q",
        deviation="signed",
        model="system",
        type=2,
        effect="system",
        partial_eta_squared=gone,
        df=(5, 974),
        f=150.5254,
        p=1e-90,
        eta_squared=0.1233,
    )
    assert f_test(row) == "F(5, 974) = 150.53, p < .001, eta squared = .123"
    assert f_test(replace(row, df=(5, 958.59), eta_squared=None)) == "F(5, 958.6) = 150.53, p < .001"
    assert f_test(replace(row, f=None, why_missing="nothing varies")) == "no test (nothing varies)"


@pytest.mark.slow
def test_progress_is_told() -> None:
    seen: list[tuple[str, int, int]] = []
    table = stimuli(12)
    analyze(snapshot("opinion", table, answers("opinion", table)), QUICK, lambda *told: seen.append(told))
    assert [done for _, done, _ in seen] == list(range(len(seen)))
    assert seen[0][0] == "analysing: screening raters"


def test_scales_with_points_are_numbers() -> None:
    assert Points(type="points", points=5).level == "interval"
    made = snapshot("opinion", stimuli(6), answers("opinion", stimuli(6)))
    assert all(question.numbers and not question.categorical for question in prepare(made).questions)
