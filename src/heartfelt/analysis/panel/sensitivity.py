"""What the raters in question change: every headline figure with and without them, and how much of the change is built in.

``without`` is what an analysis under the default policy gives: the study's minimum number of ratings then leaves some
stimuli without a label, so both sides' counts are given with the figures.

Screening leaves out raters who disagree with the rest, so agreement rises on the very ratings they were chosen by,
even if everybody were equally careful. The cross-fit splits the stimuli into two halves at random: the default policy
chooses raters on one half, alpha with and without them is measured on the other, and the halves change places; the
figures are means of both. With half the ratings fewer raters stand out, so the rise is, if anything, on the low side.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

import polars as pl

from heartfelt.analysis.consistency.reliability import question_alpha
from heartfelt.analysis.data.material import AnalysisData, prepare
from heartfelt.analysis.findings.parts import (
    AnovaEffect,
    Outcome,
    PairDifference,
    QuadrantResults,
    Reliability,
    Slope,
    SystemMeans,
)
from heartfelt.analysis.summary import (
    Crossfit,
    HalfAlpha,
    HeldOutAlpha,
    SensitivityFigure,
    SensitivityPairs,
    SideCounts,
)
from heartfelt.screening.panel import Panel, screen
from heartfelt.screening.policy import POLICIES
from heartfelt.snapshot import Snapshot
from heartfelt.stats.estimate import Estimate
from heartfelt.streams import stream

RELIABILITY = ("alpha_interval", "alpha_ordinal", "alpha_nominal", "icc1", "icc1k")
LEAST_STIMULI = 8
MOST_RATINGS = 300_000

Key: TypeAlias = tuple[str, str | None, str | None, str | None]
"""Figure, question, of what, model."""
Family: TypeAlias = tuple[str, Outcome, str, str, str | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicySide:
    """The parts that are computed for both sides."""

    counts: SideCounts
    reliability: Mapping[str, Reliability]
    anova: tuple[AnovaEffect, ...]
    pairwise: tuple[PairDifference, ...]
    systems: tuple[SystemMeans, ...]
    slopes: tuple[Slope, ...]
    quadrants: QuadrantResults | None
    strengths: Mapping[tuple[str, str], Estimate] = field(default_factory=dict)
    """By question and system, where systems were compared."""


def sensitivity(with_all: PolicySide, without: PolicySide) -> tuple[SensitivityFigure, ...]:
    """Figures of both sides in the same order; a figure that only one side has is missing on the other."""
    figures_with, figures_without = _figures(with_all), _figures(without)
    gone = Estimate.missing("it cannot be computed from these raters")
    rows = []
    for key in dict.fromkeys([*figures_with, *figures_without]):
        figure, question, of, model = key
        rows.append(
            SensitivityFigure(
                figure=figure,
                question=question,
                of=of,
                model=model,
                with_all=figures_with.get(key, gone),
                without=figures_without.get(key, gone),
            )
        )
    return tuple(rows)


def _figures(side: PolicySide) -> dict[Key, Estimate | float | None]:
    """The headline figures of one side."""
    out: dict[Key, Estimate | float | None] = {}
    for question, trust in side.reliability.items():
        for name in RELIABILITY:
            coefficient: Estimate = getattr(trust, name)
            if not coefficient.is_missing:
                out[name, question, None, None] = coefficient
        out["ceiling", question, None, None] = trust.ceiling.correlation
    out |= _effect_figures(side)
    for system in side.systems:
        means = system.means
        for words, figure in (
            ("mean", means.mean),
            ("signed deviation", means.deviation),
            ("absolute deviation", means.absolute_deviation),
        ):
            if not figure.is_missing:
                out[f"{words} of {system.system}", system.question, system.system, None] = figure
    for line in side.slopes:
        out[f"slope of {line.system}", line.question, line.system, None] = line.slope
    for (question, name), strength in side.strengths.items():
        out[f"strength of {name}", question, name, None] = strength
    if side.quadrants is not None:
        out["quadrant hit rate", None, None, None] = side.quadrants.hit_rate
    return out


def _effect_figures(side: PolicySide) -> dict[Key, Estimate | float | None]:
    """The tests and the sizes of effects."""
    out: dict[Key, Estimate | float | None] = {}
    for row in side.anova:
        measure = "mean rating" if row.deviation == "value" else f"{row.deviation} deviation"
        words = f"{row.effect} on {measure} ({row.model})"
        of = (row.outcome, row.effect, f"{row.deviation} ~ {row.model}")
        out[f"F of {words}", *of] = row.f
        out[f"eta squared of {words}", *of] = row.eta_squared
    return out


def sensitivity_pairs(with_all: PolicySide, without: PolicySide) -> tuple[SensitivityPairs, ...]:
    """For every family of pairs, how many differ on each side, and which pairs differ on one side only."""
    families_with, families_without = (_families(side.pairwise) for side in (with_all, without))
    rows = []
    for key, pairs in families_with.items():
        without_pairs = families_without.get(key, {})
        changed = [pair for pair, differs in pairs.items() if without_pairs.get(pair, differs) != differs]
        question, deviation, factor, method, model = key
        rows.append(
            SensitivityPairs(
                question=question,
                deviation=deviation,
                factor=factor,
                method=method,
                model=model,
                pairs=len(pairs),
                with_all=sum(pairs.values()),
                without=sum(without_pairs.values()),
                only_with_all=tuple(pair for pair in changed if pairs[pair]),
                only_without=tuple(pair for pair in changed if without_pairs[pair]),
            )
        )
    return tuple(rows)


def _families(pairs: Iterable[PairDifference]) -> dict[Family, dict[tuple[str, str], bool]]:
    out: dict[Family, dict[tuple[str, str], bool]] = {}
    for row in pairs:
        key = (row.outcome, row.deviation, row.factor, row.method, row.model)
        out.setdefault(key, {})[row.a, row.b] = bool(row.significant)
    return out


def crossfit(panel: Panel, default: Panel, seed: int) -> Crossfit | str:
    """Held-out alpha per question, or why there is none."""
    source = panel.source
    if reason := _why_no_crossfit(source, default):
        return reason
    halves = _halves(source, seed)
    if halves is None:
        return f"fewer than {LEAST_STIMULI} rated stimuli"
    chosen = [list(screen(half, POLICIES["default"], seed=seed).dropped) for half in halves]
    materials = [prepare(half) for half in halves]
    rows = [_held_out(materials, index, chosen) for index in range(len(materials[0].questions))]
    held_out_rows = tuple(row for row in rows if row is not None)
    if not held_out_rows:
        return "alpha cannot be computed on both halves"
    return Crossfit(tuple(len(names) for names in chosen), held_out_rows)


def _why_no_crossfit(source: Snapshot, default: Panel) -> str:
    """Why nobody need be screened on halves of the stimuli; empty where somebody must."""
    if not default.dropped:
        return "the default policy leaves nobody out"
    if source.survey.ratings > MOST_RATINGS:
        return f"there are more than {MOST_RATINGS:,} ratings"
    if not any(source.study.scale_of(question.id).has_values for question in source.study.asked):
        return "alpha needs questions that are answered with numbers or categories"
    return ""


def _held_out(materials: list[AnalysisData], index: int, chosen: list[list[str]]) -> HeldOutAlpha | None:
    pairs = []
    for half, other_half in ((0, 1), (1, 0)):
        question = materials[half].questions[index]
        remaining = question.ratings.filter(~pl.col("rater").is_in(chosen[other_half]))
        if not remaining.height:
            return None
        with_all, without = question_alpha(question, question.ratings), question_alpha(question, remaining)
        if with_all.value is None or without.value is None:
            return None
        pairs.append(HalfAlpha(with_all.value, without.value))
    before = sum(pair.with_all for pair in pairs) / 2
    after = sum(pair.without for pair in pairs) / 2
    return HeldOutAlpha(
        question=question.id,
        figure=f"alpha_{question.level}",
        with_all=before,
        without=after,
        rise=after - before,
        halves=tuple(pairs),
    )


def _halves(source: Snapshot, seed: int) -> list[Snapshot] | None:
    """The snapshot twice, each with half of its rated stimuli at random, and with all of its probes."""
    names = sorted(source.without_probes.survey.stimuli)
    probes = set(source.survey.stimuli) - set(names)
    if len(names) < LEAST_STIMULI:
        return None
    order = stream(seed, "analysis", "crossfit").permutation(len(names))
    first = {names[index] for index in order[: len(names) // 2].tolist()}
    out = []
    for chosen in (first | probes, set(names) - first | probes):
        in_half = pl.col("stimulus").is_in(list(chosen))
        out.append(
            Snapshot.build(
                source.study,
                stimuli=source.stimuli.filter(in_half),
                ratings=source.scan_ratings().filter(in_half).collect(),
                raters=source.raters,
                source=source.source,
                items=source.table("items").filter(in_half),
            )
        )
    return out
