"""Levels and sides: at which confidence pairs and groups are called different, and which pairs differ on one side only."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import polars as pl
import pytest

from heartfelt.analysis.consistency.reliability import reliability
from heartfelt.analysis.data.material import prepare
from heartfelt.analysis.findings.parts import AnovaEffect, Ceilings, Outcome, PairDifference, Reliability
from heartfelt.analysis.panel import groups as rater_groups
from heartfelt.analysis.panel.sensitivity import PolicySide, sensitivity, sensitivity_pairs
from heartfelt.analysis.summary import SideCounts
from heartfelt.analysis.systems import effects
from heartfelt.analysis.systems.means import JACKKNIFE, stimulus_scores
from heartfelt.analysis.text.highlights import fitness
from heartfelt.analysis.text.sentences import template_text
from heartfelt.analysis.text.verdict import _ceiling
from heartfelt.failures import Failures
from heartfelt.stats.estimate import Estimate
from tests.analysis.made import answers, snapshot, stimuli
from tests.facts import mentions

EMPTY = PolicySide(
    counts=SideCounts(0, 0, 0, 0), reliability={}, anova=(), pairwise=(), systems=(), slopes=(), quadrants=None
)


@pytest.mark.parametrize(
    ("alone", "adjusted", "significant"),
    [
        ((0.01, 0.02, 0.04), (0.03, 0.04, 0.04), (True, True, True)),
        ((0.02, 0.03, 0.08), (0.06, 0.06, 0.08), (False, False, False)),
        ((0.015, 0.03, 0.03), (0.045, 0.06, 0.06), (True, False, False)),
    ],
)
def test_pairs_differ_at_95_percent_after_holm(
    monkeypatch: pytest.MonkeyPatch,
    alone: tuple[float, ...],
    adjusted: tuple[float, ...],
    significant: tuple[bool, ...],
) -> None:
    given: Iterator[float] = iter(alone)
    monkeypatch.setattr(effects, "p_value", lambda _: next(given))
    table = stimuli(12, 3)
    material = prepare(snapshot("opinion", table, answers("opinion", table)))
    question = material.questions[0]
    rows = effects.pairwise({question.id: stimulus_scores(question)}, {}, Failures())
    jackknife = [row for row in rows if row.method == JACKKNIFE]
    assert [row.p_alone for row in jackknife] == list(alone)
    assert [row.p for row in jackknife] == pytest.approx(adjusted)
    assert [row.significant for row in jackknife] == list(significant)


@pytest.mark.parametrize(("p", "significant"), [(0.0499, True), (0.0501, False), (0.09, False)])
def test_groups_of_raters_differ_at_95_percent(monkeypatch: pytest.MonkeyPatch, p: float, significant: bool) -> None:
    monkeypatch.setattr(rater_groups, "p_value", lambda _: p)
    table = stimuli(12, 1)
    question = prepare(snapshot("opinion", table, answers("opinion", table, raters=6))).questions[0]
    first = pl.col("rater").is_in(["r0", "r1", "r2"])
    parts = {"a": question.ratings.filter(first), "b": question.ratings.filter(~first)}
    (row,) = rater_groups._differences(question, parts)
    assert (row.system, row.a, row.b, row.p_alone, row.p) == ("all", "a", "b", p, p)
    assert row.significant is significant


def pair(a: str, b: str, significant: bool | None, outcome: Outcome = "value") -> PairDifference:
    return PairDifference(
        outcome="quality",
        deviation=outcome,
        factor="system",
        model=None,
        method=JACKKNIFE,
        a=a,
        b=b,
        difference=Estimate(value=0.0),
        p=0.5,
        significant=significant,
    )


def test_pairs_that_differ_on_one_side_only_are_named_on_that_side() -> None:
    left = (pair("A", "B", True), pair("A", "C", False), pair("B", "C", True), pair("C", "D", True))
    right = (pair("A", "B", False), pair("A", "C", True), pair("B", "C", True))
    other = (pair("A", "B", None, "absolute"),)
    rows = sensitivity_pairs(replace(EMPTY, pairwise=left + other), replace(EMPTY, pairwise=right))
    assert [(row.question, row.deviation, row.factor, row.method, row.model) for row in rows] == [
        ("quality", "value", "system", JACKKNIFE, None),
        ("quality", "absolute", "system", JACKKNIFE, None),
    ]
    assert (rows[0].pairs, rows[0].with_all, rows[0].without) == (4, 3, 2)
    assert rows[0].only_with_all == (("A", "B"),)
    assert rows[0].only_without == (("A", "C"),)
    assert (rows[1].pairs, rows[1].with_all, rows[1].without, rows[1].only_with_all) == (1, 0, 0, ())


def test_a_figure_of_one_side_is_missing_on_the_other() -> None:
    material = prepare(snapshot("opinion", stimuli(12, 2), answers("opinion", stimuli(12, 2))))
    trust = reliability(material, 0, brief=True)
    rows = sensitivity(replace(EMPTY, reliability=trust), EMPTY)
    assert {row.question for row in rows} == {"quality", "alignment"}
    for row in rows:
        assert isinstance(row.without, Estimate)
        assert mentions(row.without.why_missing, "computed", "raters")
        assert isinstance(row.with_all, Estimate)
        assert not row.with_all.is_missing


def test_an_interval_half_as_wide_as_the_scale_still_says_something() -> None:
    assert "groups of stimuli" in fitness(Estimate(value=0.875, low=0.375, high=0.875))
    assert "too uncertain" in fitness(Estimate(value=0.875, low=0.375, high=0.8751))


@pytest.mark.parametrize(("systems", "compared"), [(1, 0), (2, 2), (60, 60), (61, 0)])
def test_two_to_sixty_systems_are_compared_in_pairs(systems: int, compared: int) -> None:
    items = pl.DataFrame({"system": [f"m{k:02d}" for k in range(systems)] + [None]})
    assert len(effects.group_names(items, "system")) == compared


@pytest.mark.parametrize(("systems", "fitted"), [(200, 200), (201, 0)])
def test_factors_have_at_most_two_hundred_levels(systems: int, fitted: int) -> None:
    question = prepare(snapshot("opinion", stimuli(4, 2), answers("opinion", stimuli(4, 2)))).questions[0]
    names = pl.DataFrame({"system": [f"m{k}" for k in range(systems)], "mean": 1.0})
    frame = effects.EffectsModel("value", ("system",)).frame(replace(question, items=names), {})
    assert frame.height == fitted


def missing_reliability(**known: object) -> Reliability:
    gone = Estimate.missing("not needed here")
    bare = Reliability(
        alpha_interval=gone,
        alpha_ordinal=gone,
        alpha_nominal=gone,
        icc1=gone,
        icc1k=gone,
        icc2=gone,
        icc2k=gone,
        icc3=gone,
        icc3k=gone,
        split_half=gone,
        ceiling=Ceilings(correlation=gone),
    )
    return replace(bare, **known)  # type: ignore[arg-type]  # the fields are the caller's


@pytest.mark.parametrize(
    ("between", "words"),
    [
        ((8, 1000), "; .9 needs 12 raters per stimulus (8 to 1,000)"),
        ((12, 12), "; .9 needs 12 raters per stimulus"),
        ((8, 1001), "; .9 needs 8 raters per stimulus or more"),
        ((None, 1001), ""),
        ((8, None), ""),
    ],
)
def test_more_than_a_thousand_raters_are_not_named(between: tuple[int | None, int | None], words: str) -> None:
    trust = missing_reliability(raters_needed={"0.9": 12}, raters_needed_between={"0.9": between})
    assert template_text("analysis/verdict", "needed", trust=trust) == words


@pytest.mark.parametrize(("top", "words"), [(0.05, "valence r = .05"), (0.0499, "show no difference between stimuli")])
def test_a_ceiling_below_a_twentieth_is_none(top: float, words: str) -> None:
    single = Estimate(value=0.3, low=0.1, high=0.5)
    sentence = _ceiling(
        "valence", missing_reliability(icc2=single, ceiling=Ceilings(correlation=Estimate(value=top))), ""
    )
    assert words in sentence


def test_where_no_number_of_raters_suffices_none_is_named() -> None:
    trust = missing_reliability(raters_needed={"0.9": None}, raters_needed_between={"0.9": (8, 20)})
    assert template_text("analysis/verdict", "needed", trust=trust) == ""


def test_figures_of_effects_name_what_was_measured() -> None:
    gone = Estimate.missing("not needed here")
    outcomes: tuple[Outcome, ...] = ("value", "signed", "absolute")
    rows = tuple(
        AnovaEffect(
            outcome="quality",
            deviation=outcome,
            model="system + intent",
            type=2,
            effect="system",
            partial_eta_squared=gone,
            f=3.0,
            eta_squared=0.1,
        )
        for outcome in outcomes
    )
    effects_only = replace(EMPTY, anova=rows)
    names = ("mean rating", "signed deviation", "absolute deviation")
    assert [figure.figure for figure in sensitivity(effects_only, effects_only)] == [
        f"{what} of system on {name} (system + intent)" for name in names for what in ("F", "eta squared")
    ]


@pytest.mark.parametrize(
    ("bare", "named"), [(Estimate(value=0.0), False), (Estimate.missing("x"), False), (Estimate(value=0.3), True)]
)
def test_what_the_system_alone_gives_is_named_only_above_zero(bare: Estimate, named: bool) -> None:
    top = Ceilings(correlation=Estimate(value=0.8), cell_means=bare)
    trust = missing_reliability(icc2=Estimate(value=0.3, low=0.1, high=0.5), ceiling=top)
    sentence = _ceiling("valence", trust, "system")
    assert (".30 from the system alone" in sentence) is named
    assert ("alone" in sentence) is named
