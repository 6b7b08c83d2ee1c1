"""Parts of an analysis recomputed by hand from a small study: quadrants, mixed models, slopes, checks, ceilings, verifications."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import numpy as np
import polars as pl
import pytest
from scipy import stats as scipy_stats

from heartfelt.analysis.consistency.reliability import reliability
from heartfelt.analysis.data.counts import checks
from heartfelt.analysis.data.material import AnalysisData, prepare
from heartfelt.analysis.panel import groups as rater_groups
from heartfelt.analysis.panel import sensitivity
from heartfelt.analysis.panel.sensitivity import crossfit
from heartfelt.analysis.summary import HalfAlpha, HeldOutAlpha
from heartfelt.analysis.systems.effects import loudness_of, model_pairs, pairwise, variance_tables
from heartfelt.analysis.systems.means import Scores, slopes, stimulus_scores
from heartfelt.analysis.systems.quadrants import quadrants
from heartfelt.failures import Failures
from heartfelt.screening.panel import Panel
from heartfelt.snapshot import Snapshot
from heartfelt.snapshot.snapshot import Source
from heartfelt.stats.estimate import Estimate
from tests.analysis.made import INTENTS, Row, answers, snapshot, stimuli

TABLE = stimuli(24, 2)


@pytest.fixture(scope="module")
def material() -> AnalysisData:
    return prepare(snapshot("conveyance", TABLE, answers("conveyance", TABLE)))


@pytest.fixture(scope="module")
def scores(material: AnalysisData) -> Scores:
    return {question.id: stimulus_scores(question) for question in material.questions}


def test_quadrants_are_those_of_both_means(material: AnalysisData, scores: Scores) -> None:
    result = quadrants(material, scores, 0)
    assert result is not None
    x, y = (question.items.sort("stimulus") for question in material.questions)
    hits = 0
    for intent, valence, arousal in zip(x["intent"], x["mean"], y["mean"], strict=True):
        meant = INTENTS[intent]
        hits += (valence > 5, arousal > 5) == (meant[0] > 5, meant[1] > 5) and 5 not in (valence, arousal)
    assert result.hit_rate.value == pytest.approx(hits / x.height)
    assert sum(map(sum, result.confusion.counts)) == x.height
    assert sum(row[place] for place, row in enumerate(result.confusion.counts)) == hits
    assert len(result.names) == 4
    assert {row.system for row in result.by_quadrant} == {"all"}
    assert {row.system for row in result.by_system_quadrant} == {"M0", "M1"}
    assert len(result.by_quadrant) == 4 * 2


def test_lines_meet_what_was_intended_at_the_neutral_point(material: AnalysisData, scores: Scores) -> None:
    rows = slopes(scores)
    assert [(row.question, row.system) for row in rows] == [
        (question, system) for question in ("valence", "arousal") for system in ("all", "M0", "M1")
    ]
    line = rows[0]
    items = material.questions[0].items
    fitted = scipy_stats.linregress([INTENTS[name][0] for name in items["intent"]], items["mean"].to_list())
    assert line.slope.value == pytest.approx(fitted.slope)
    assert line.neutral == pytest.approx(fitted.intercept / (1 - fitted.slope))
    opinion = prepare(snapshot("opinion", TABLE, answers("opinion", TABLE)))
    assert slopes({question.id: stimulus_scores(question) for question in opinion.questions}) == ()


def test_means_without_a_spread_have_unknown_noise(material: AnalysisData) -> None:
    from dataclasses import replace

    question = material.questions[0]
    gap = pl.when(pl.col("stimulus") == "s0").then(None).otherwise("sd").alias("sd")
    noise = stimulus_scores(replace(question, items=question.items.with_columns(gap))).noise
    known = question.items.filter((pl.col("stimulus") != "s0") & (pl.col("n") > 1))
    n, sd = (known[name].to_numpy() for name in ("n", "sd"))
    within = float(((n - 1) * sd**2).sum() / (n - 1).sum())
    assert noise.tolist() == pytest.approx((within / question.items["n"]).to_list())


def test_pairs_belong_to_the_effect_with_the_same_model(material: AnalysisData, scores: Scores) -> None:
    effect = next(row for row in variance_tables(material, {}) if row.effect == "system")
    pairs = pairwise(scores, {}, Failures())
    own = model_pairs(pairs, effect)
    assert [(pair.outcome, pair.model, pair.a, pair.b) for pair in own] == [("valence", "system + intent", "M0", "M1")]
    assert model_pairs(None, effect) == []


def test_one_rating_is_not_a_question_whose_answers_are_all_equal() -> None:
    table = stimuli(6, 2)
    rows: list[Row] = [("r0", "s0", "quality", 3.0)]
    rows += [(f"r{r}", f"s{s}", "alignment", 4.0) for r in range(2) for s in range(6)]
    assert checks(prepare(snapshot("opinion", table, rows))).constant_questions == ("alignment",)


def test_counts_are_compared_within_raters_where_they_are_known() -> None:
    rng = np.random.default_rng(2)
    table = stimuli(40, 1)
    rows: list[Row] = []
    for place in range(40):
        for rater in range(3 + place % 5):
            bias = 1.5 * (rater >= 4)
            rows.append((f"r{rater}", f"s{place}", "quality", float(np.clip(round(2 + bias + rng.normal()), 1, 5))))
    named = checks(prepare(snapshot("opinion", table, rows))).ratings_per_item["quality"]
    unnamed: list[Row] = [(None, *rest) for _, *rest in rows]  # type: ignore[misc]  # a row has four entries
    anonymous = checks(prepare(snapshot("opinion", table, unnamed))).ratings_per_item["quality"]
    assert named.answers.p is not None
    assert anonymous.answers.p is not None
    # Generous raters answered the stimuli with more ratings: that is no dependence once raters are known.
    assert anonymous.answers.p < 0.01 < named.answers.p


@pytest.mark.slow
def test_ceilings_within_cells_need_two_cells() -> None:
    table = stimuli(12, 1).with_columns(intent=pl.lit(None, pl.String), system=pl.lit("M0"))
    one_cell = prepare(snapshot("opinion", table, answers("opinion", table)))
    top = reliability(one_cell, 0)["quality"].ceiling
    assert top.within_cells is not None
    assert top.within_cells.is_missing
    assert top.accuracy_cell_means is None
    assert top.accuracy_human is None


@pytest.mark.slow
def test_categories_have_ceilings_of_accuracy() -> None:
    table = stimuli(12, 2)
    top = reliability(prepare(snapshot("yes-no", table, answers("yes-no", table))), 0)["match"].ceiling
    assert top.accuracy_human is not None
    assert top.accuracy_cell_means is not None
    assert top.metric == "correlation"


@pytest.mark.parametrize(("systems", "compared"), [(1, 0), (2, 2), (30, 30), (31, 0)])
def test_groups_are_compared_for_two_to_thirty_systems(systems: int, compared: int) -> None:
    table = stimuli(62, systems)
    question = prepare(snapshot("opinion", table, answers("opinion", table, raters=3))).questions[0]
    assert len(rater_groups._systems(question)) == compared


def test_nobody_left_out_leaves_nothing_to_cross_fit() -> None:
    nobody = cast(Panel, SimpleNamespace(dropped=()))
    panel = cast(Panel, SimpleNamespace(source=None))
    assert crossfit(panel, nobody, 0) == "the default policy leaves nobody out"


@pytest.mark.slow
def test_a_cross_fit_needs_alpha_on_both_halves(monkeypatch: pytest.MonkeyPatch) -> None:
    made = snapshot("opinion", TABLE, answers("opinion", TABLE))
    someone = cast(Panel, SimpleNamespace(dropped=("r0",), source=made))
    monkeypatch.setattr(sensitivity, "_halves", lambda *_: [made, made])
    monkeypatch.setattr(sensitivity, "screen", lambda *_, **__: someone)
    result = crossfit(someone, someone, 0)
    assert not isinstance(result, str)
    assert [row.question for row in result.questions] == ["quality", "alignment"]
    assert result.left_out == (1, 1)
    monkeypatch.setattr(sensitivity, "_held_out", lambda *_: None)
    assert crossfit(someone, someone, 0) == "alpha cannot be computed on both halves"


def alphas(monkeypatch: pytest.MonkeyPatch, known: list[float | None]) -> object:
    """Held-out alpha with these coefficients: with everybody and without r0, on each half."""
    given = iter(Estimate.missing("no pairs") if value is None else Estimate(value=value) for value in known)
    monkeypatch.setattr(sensitivity, "question_alpha", lambda *_: next(given))
    made = prepare(snapshot("opinion", TABLE, answers("opinion", TABLE)))
    return sensitivity._held_out([made, made], 0, [["r0"], ["r0"]])


def test_held_out_alpha_is_the_mean_of_both_halves(monkeypatch: pytest.MonkeyPatch) -> None:
    row = alphas(monkeypatch, [0.25, 0.5, 0.5, 1.0])
    assert isinstance(row, HeldOutAlpha)
    assert (row.question, row.with_all, row.without, row.rise) == ("quality", 0.375, 0.75, 0.375)
    assert row.halves == (HalfAlpha(0.25, 0.5), HalfAlpha(0.5, 1.0))


@pytest.mark.parametrize("known", [[None, 0.5], [0.5, None]])
def test_held_out_alpha_needs_both_coefficients(monkeypatch: pytest.MonkeyPatch, known: list[float | None]) -> None:
    assert alphas(monkeypatch, known) is None


@pytest.mark.slow
def test_each_half_has_its_own_rows_and_everything_known_of_raters() -> None:
    table = stimuli(8, 1)
    plain = snapshot("opinion", table, answers("opinion", table, raters=3, chance=1))
    raters = plain.raters.with_columns(fact=pl.lit("a"))
    items = table.select("stimulus", question=pl.lit("quality"), note=pl.lit("b"))
    for given in (items, None):
        made = Snapshot.build(
            plain.study,
            stimuli=table,
            ratings=plain.ratings,
            raters=raters,
            source=Source(format="simulation", name="made"),
            items=given,
        )
        halves = sensitivity._halves(made, 0)
        assert halves is not None
        for half in halves:
            names = half.stimuli["stimulus"].to_list()
            assert len(names) == 4
            assert half.ratings.equals(made.ratings.filter(pl.col("stimulus").is_in(names)))
            assert half.raters.equals(raters)
            assert half.source == made.source
            assert half.table("items")["stimulus"].to_list() == (names if given is not None else [])
    assert sensitivity._halves(snapshot("opinion", table, answers("opinion", table[:7])), 0) is None


def test_no_media_have_no_loudness(material: AnalysisData) -> None:
    assert material.snapshot.source.media_root is None
    with_path = TABLE.with_columns(path=pl.lit("a.wav"))
    assert loudness_of(snapshot("conveyance", with_path, answers("conveyance", with_path))) == {}
