"""The model of the ratings behind the verdict: what it takes as samples, what it says where tastes cannot be told, equivalence."""

from __future__ import annotations

import numpy as np
import pytest

import heartfelt
from heartfelt.analysis.data.material import AnalysisData, prepare
from heartfelt.analysis.systems import rating_models as module
from heartfelt.analysis.systems.effects import pairwise
from heartfelt.analysis.systems.means import JACKKNIFE, stimulus_scores
from heartfelt.analysis.systems.rating_models import ONE_STIMULUS, ONE_SYSTEM, RatingModels, rating_models
from heartfelt.errors import InputError
from heartfelt.failures import Failures
from tests.analysis.made import Row, answers, snapshot, stimuli
from tests.facts import mentions

pytestmark = pytest.mark.slow

TABLE = stimuli(24, 2)


def fit(material: AnalysisData, smallest_effect: float | None = None) -> RatingModels:
    scores = {question.id: stimulus_scores(question) for question in material.questions}
    return rating_models(material, scores, smallest_effect)


def panel(raters: int, *, taste: float, gap: float = 0.0, seed: int = 0) -> list[Row]:
    """Ratings of 24 stimuli of two systems by raters who prefer one or the other."""
    rng = np.random.default_rng(seed)
    systems = [int(name[1:]) for name in TABLE["system"]]
    prefers = taste * rng.normal(size=(raters, 2))
    level = 0.3 * rng.normal(size=24)
    rows: list[Row] = []
    for question in ("quality", "alignment"):
        for r in range(raters):
            for i, name in enumerate(TABLE["stimulus"]):
                value = 3 + level[i] + gap * (systems[i] - 0.5) + prefers[r, systems[i]] + 0.6 * rng.normal()
                rows.append((f"r{r}", name, question, float(min(max(round(value), 1), 5))))
    return rows


def rated(rows: list[Row]) -> AnalysisData:
    return prepare(snapshot("opinion", TABLE, rows))


def test_the_model_names_its_outcome_samples_and_means() -> None:
    material = prepare(snapshot("conveyance", TABLE, answers("conveyance", TABLE)))
    found = fit(material)
    assert [(row.outcome, row.effect) for row in found.effects] == [
        (question, effect) for question in ("valence", "arousal") for effect in ("system", "intent")
    ]
    for row in found.effects:
        assert set(row.variances) == {"rater", "stimulus", "rater x system", "residual"}
        assert row.model == "system + intent + (1 | rater) + (1 | stimulus) + (1 | rater:system)"
        assert row.deviation == "signed"
        assert row.n == sum(q.ratings.height for q in material.questions if q.id == row.outcome)
        assert (row.means is not None) == (row.effect == "system")
    assert {(pair.a, pair.b, pair.method) for pair in found.pairs} == {("M0", "M1", "Tukey, mixed model")}


def test_tastes_widen_what_is_known_of_a_difference() -> None:
    """With raters of strong tastes the difference of two systems is known to no better than the raters allow."""
    alike, divided = (fit(rated(panel(8, taste=taste))).pairs[0] for taste in (0.0, 1.0))
    assert alike.difference.low is not None
    assert alike.difference.high is not None
    assert divided.difference.low is not None
    assert divided.difference.high is not None
    narrow, wide = (alike.difference.high - alike.difference.low, divided.difference.high - divided.difference.low)
    assert wide > 2 * narrow


def test_a_design_that_hides_tastes_is_named() -> None:
    rows = panel(24, taste=0.5)
    of = dict(TABLE.select("stimulus", "system").iter_rows())
    one_system = [row for row in rows if of[row[1]] == f"M{int((row[0] or 'r0')[1:]) % 2}"]
    row = fit(rated(one_system)).effects[0]
    assert row.why_no_tastes == ONE_SYSTEM
    assert row.p is not None
    firsts = {system: [name for name in TABLE["stimulus"] if of[name] == system] for system in ("M0", "M1")}
    one_each = [
        row for row in rows if row[1] == firsts[of[row[1]]][int((row[0] or "r0")[1:]) % len(firsts[of[row[1]]])]
    ]
    row = fit(rated(one_each)).effects[0]
    assert row.why_no_tastes == ONE_STIMULUS
    assert row.p is not None
    verdict = " ".join(heartfelt.analyze(snapshot("opinion", TABLE, one_each)).summary.verdict)
    assert "tastes for systems are not in the model: no rater rated two stimuli of one system" in verdict


def test_large_tables_are_tested_by_the_jackknife(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same conclusions where the model would take too long."""
    for gap in (0.0, 0.8):
        material = rated(panel(30, taste=0.5, gap=gap))
        exact = fit(material).effects[0]
        with monkeypatch.context() as patch:
            patch.setattr(module, "MOST_WORK", 1.0)
            quick = fit(material)
        row = quick.effects[0]
        assert "jackknife" in row.method
        assert (row.p is not None, exact.p is not None) == (True, True)
        assert ((row.p or 0) < 0.05) == ((exact.p or 0) < 0.05)
        assert row.f == pytest.approx(exact.f, rel=0.25)
        means = {name: mean.value for name, mean in (row.means or {}).items()}
        assert means == pytest.approx({n: m.value for n, m in (exact.means or {}).items()}, abs=1e-6)


def test_pairs_by_the_jackknife_are_those_of_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the model would take too long, pairs of systems have the two-way jackknife's differences and intervals."""
    for taste in (0.2, 0.6):
        material = rated(panel(30, taste=taste, gap=0.5))
        scores = {question.id: stimulus_scores(question) for question in material.questions}
        exact = fit(material)
        modelled = {pair.outcome: pair for pair in exact.pairs}
        tested = {row.outcome: row.f for row in exact.effects if row.effect == "system"}
        with monkeypatch.context() as patch:
            patch.setattr(module, "MOST_WORK", 1.0)
            quick = fit(material)
        assert quick.pairs == ()
        assert all("jackknife" in row.method for row in quick.effects)
        for row in quick.effects:
            assert row.f == pytest.approx(tested[row.outcome], rel=0.25)
        found = [pair for pair in pairwise(scores, {}, Failures()) if pair.method == JACKKNIFE]
        assert {pair.outcome for pair in found} == set(modelled)
        for pair in found:
            other = modelled[pair.outcome]
            assert (pair.a, pair.b, pair.significant) == (other.a, other.b, other.significant)
            assert float(pair.difference) == pytest.approx(float(other.difference), abs=1e-6)
            widths = [
                (estimate.high or 0.0) - (estimate.low or 0.0) for estimate in (pair.difference, other.difference)
            ]
            assert widths[0] == pytest.approx(widths[1], rel=0.25)  # the model also knows intents


def test_equivalence_is_shown_within_the_smallest_effect_only() -> None:
    material = rated(panel(20, taste=0.1))
    (close, _), (strict, _) = fit(material, 0.5).equivalence, fit(material, 0.02).equivalence
    assert close.equivalent
    assert not strict.equivalent
    low, high = close.difference.low, close.difference.high
    assert low is not None
    assert high is not None
    assert -0.5 < low < high < 0.5
    apart = fit(rated(panel(20, taste=0.1, gap=1.0)), 0.5).equivalence[0]
    assert not apart.equivalent
    assert apart.p_b_not_inferior < 0.05 < apart.p_a_not_inferior


def test_the_verdict_says_what_is_equivalent_and_who_is_highest() -> None:
    same = heartfelt.analyze(snapshot("opinion", TABLE, panel(20, taste=0.1)), smallest_effect=0.5)
    text = " ".join(same.summary.verdict)
    assert mentions(text, "0.50", "M0", "M1")
    assert mentions(same.summary.methods, "systems", "0.50")
    unknown = heartfelt.analyze(snapshot("opinion", TABLE, panel(6, taste=1.0)), smallest_effect=0.1)
    text = " ".join(unknown.summary.verdict)
    assert mentions(text, "systems", "1 pair")
    apart = heartfelt.analyze(snapshot("opinion", TABLE, panel(20, taste=0.1, gap=1.0)))
    assert "quality (M1 highest)" in apart.summary.verdict[0]
    assert apart.summary.equivalence is None


def test_a_smallest_effect_is_a_difference() -> None:
    with pytest.raises(InputError, match="no difference"):
        heartfelt.analyze(snapshot("opinion", TABLE, panel(4, taste=0.1)), smallest_effect=0.0)


def test_the_study_may_name_the_smallest_effect() -> None:
    made = snapshot("opinion", TABLE, panel(4, taste=0.1))
    assert made.study.hash == made.study.changed(smallest_effect=None).hash
    assert made.study.hash != made.study.changed(smallest_effect=0.5).hash
    assert made.study.changed(smallest_effect=0.5).plain()["smallest_effect"] == 0.5


def _two_spreads(raters: int | None) -> list[Row]:
    """System M1's stimuli vary far more than M0's; raters are unknown where their number is None."""
    rows: list[Row] = []
    for i, (name, system) in enumerate(TABLE.select("stimulus", "system").iter_rows()):
        level = 2.0 if system == "M0" else 3.0 + (i // 2 % 3)
        rows += [
            (None if raters is None else f"r{r}", name, "quality", min(level + (r + i) % 2, 5.0))
            for r in range(raters or 3)
        ]
    return rows


@pytest.mark.parametrize(
    ("raters", "how"),
    [
        (6, "(two-way jackknife, Holm; systems differ in spread, so each pair has its own variance)"),
        (None, "(Games-Howell, as systems differ in spread)"),
    ],
)
def test_pairs_of_systems_that_differ_in_spread_have_their_own_variance(raters: int | None, how: str) -> None:
    summary = heartfelt.analyze(snapshot("opinion", TABLE, _two_spreads(raters))).summary
    row = next(row for row in summary.anova or () if row.effect == "system")
    assert row.unequal_spread is not None
    assert row.unequal_spread < 0.05
    assert f"1 of 1 pair differs {how}" in " ".join(summary.verdict)


SPREADS = stimuli(30, 3).drop("intent")
# R 4.2 on the clip means: means of the three ratings of `three_spreads`, s by system. bf <- abs(m - ave(m, s, FUN = median));
# anova(lm(bf ~ s)); t <- t.test(m[s == a], m[s == b]); ptukey(abs(t$statistic) * sqrt(2), 3, t$parameter, lower.tail = FALSE).
R_BROWN_FORSYTHE = 0.000536615309602
R_GAMES_HOWELL = {
    ("M0", "M1"): (10.938088635, 2.04071580882e-05),
    ("M0", "M2"): (12.5083451642, 0.52670908219),
    ("M1", "M2"): (10.1075395765, 0.0420221087923),
}


def three_spreads() -> list[Row]:
    """Ratings of unknown people: M0's clips are alike, M1's differ, M2's differ far more; M0 lacks two clips."""
    rows: list[Row] = []
    for i, (name, system) in enumerate(SPREADS.select("stimulus", "system").iter_rows()):
        kind, n = int(system[1:]), i // 3
        if kind == 0 and n >= 8:
            continue
        level = (2.0 + n % 2 * 0.5, 3.5 + n % 3 * 0.5, 3.0 + (n % 5 - 2) * 1.0)[kind]
        rows += [
            (None, name, "quality", float(min(max(round(level + (rating + n) % 3 - 0.8), 1), 5))) for rating in range(3)
        ]
    return rows


def test_pairs_of_clip_means_with_their_own_variance_equal_r() -> None:
    summary = heartfelt.analyze(snapshot("opinion", SPREADS, three_spreads())).summary
    row = next(row for row in summary.anova or () if row.effect == "system" and row.model == "system")
    assert row.unequal_spread == pytest.approx(R_BROWN_FORSYTHE, rel=1e-6)
    found = {(pair.a, pair.b): pair for pair in summary.pairwise or () if pair.method == "Games-Howell"}
    assert found.keys() == R_GAMES_HOWELL.keys()
    for names, (df, p) in R_GAMES_HOWELL.items():
        assert (found[names].df, found[names].p) == pytest.approx((df, p), rel=2e-5)
    assert mentions(" ".join(summary.verdict), "2 of 3 pairs", "systems")


@pytest.mark.peer
def test_pairs_of_clip_means_with_their_own_variance_equal_pingouin() -> None:
    pg, pd = pytest.importorskip("pingouin"), pytest.importorskip("pandas")
    rows = three_spreads()
    means: dict[str, list[float]] = {}
    for _, name, _, value in rows:
        means.setdefault(name, []).append(float(value))
    system = dict(SPREADS.select("stimulus", "system").iter_rows())
    frame = pd.DataFrame({"y": [np.mean(v) for v in means.values()], "s": [system[name] for name in means]})
    theirs = pg.pairwise_gameshowell(frame, dv="y", between="s")
    for a, b, df, p in zip(theirs["A"], theirs["B"], theirs["df"], theirs["pval"], strict=True):
        assert (df, p) == pytest.approx(R_GAMES_HOWELL[a, b], rel=2e-5)
