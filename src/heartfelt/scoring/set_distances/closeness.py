"""How the closeness of systems to a reference set goes with people's means, beside the ceiling over systems.

Closeness is minus a distance. Means are of the stimuli whose distance was measured. Correlations are over systems, with a jackknife
interval over systems and a p-value by rearranging them; the ceiling is that of
:mod:`heartfelt.stats.ceilings.ceiling_over_systems`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from heartfelt.analysis.data.material import QuestionData, prepare
from heartfelt.analysis.systems.means import stimulus_scores
from heartfelt.analysis.systems.two_way import Changes
from heartfelt.errors import require, suggestion
from heartfelt.snapshot import Snapshot
from heartfelt.stats.ceilings.ceiling_over_systems import FEWEST_SYSTEMS, system_ceiling
from heartfelt.stats.columns.triples import Floats
from heartfelt.stats.estimate import Estimate
from heartfelt.stats.inference.permutation import permutation_correlation
from heartfelt.stats.prediction.association import Correlation
from heartfelt.stats.prediction.jackknife import jackknife_metric

COEFFICIENTS: tuple[Correlation, ...] = ("spearman", "kendall", "pearson")


@dataclass(frozen=True, slots=True)
class RatedSystemMean:
    """People's mean rating of one system's stimuli under one question."""

    question: str
    system: str
    mean: Estimate


@dataclass(frozen=True, slots=True, kw_only=True)
class Closeness:
    """How closeness correlates over systems with people's means under one question."""

    metric: str
    question: str
    coefficient: Correlation
    systems: int
    correlation: Estimate
    p: Estimate
    """By permutation of the systems."""
    ceiling: Estimate


def with_people(
    snapshot: Snapshot,
    stimuli: Mapping[str, Sequence[str]],
    distances: Mapping[str, Mapping[str, float | None]],
    questions: Sequence[str] | None,
    confidence: float,
    seed: int,
) -> tuple[tuple[RatedSystemMean, ...], tuple[Closeness, ...]]:
    """People's means by system, and how closeness correlates with them; ``distances`` are by metric and system."""
    means: list[RatedSystemMean] = []
    closeness: list[Closeness] = []
    for question in _answered(snapshot, questions):
        scores, rated = stimulus_scores(question), question.items["stimulus"]
        changes = {}
        for system, names in stimuli.items():
            chosen = rated.is_in(list(names)).to_numpy()
            change = scores.changes(chosen, "value")
            if not isinstance(change, str):
                changes[system] = change
                means.append(RatedSystemMean(question.id, system, scores.estimate(chosen, "value")))
        for metric, values in distances.items():
            near = {system: -value for system, value in values.items() if system in changes and value is not None}
            closeness += _closeness(metric, question.id, near, changes, confidence, seed)
    return tuple(means), tuple(closeness)


def _answered(snapshot: Snapshot, questions: Sequence[str] | None) -> list[QuestionData]:
    """The questions with ratings in numbers; of those that were named, or all."""
    answered = [question for question in prepare(snapshot).questions if question.numbers and question.items.height]
    names = [question.id for question in answered]
    for name in questions or ():
        require(name in names, f"No question '{name}' has ratings in numbers.", suggestion(name, names, "Questions"))
    return [question for question in answered if questions is None or question.id in questions]


def _closeness(
    metric: str, question: str, values: Mapping[str, float], rated: Mapping[str, Changes], confidence: float, seed: int
) -> list[Closeness]:
    used = [rated[system] for system in values]
    x, y = np.array(list(values.values())), np.array([change.value for change in used])
    out = []
    for name in COEFFICIENTS:
        few = f"{len(used)} systems; at least {FEWEST_SYSTEMS} are needed" if len(used) < FEWEST_SYSTEMS else ""
        reason = few or next((change.why_items_only for change in used if change.why_items_only), "")
        ceiling = Estimate.missing(reason, f"ceiling, {name}") if reason else _ceiling(used, y, name, confidence, seed)
        missing = Estimate.missing(few, name) if few else None
        p = missing or permutation_correlation(y, x, kind=name, seed=seed).p
        correlation = missing or jackknife_metric(name, y, x, confidence=confidence)
        out.append(
            Closeness(
                metric=metric,
                question=question,
                coefficient=name,
                systems=len(used),
                correlation=correlation,
                p=p,
                ceiling=ceiling,
            )
        )
    return out


def _ceiling(used: Sequence[Changes], means: Floats, name: Correlation, confidence: float, seed: int) -> Estimate:
    took = np.logical_or.reduce([change.took_part for change in used])
    moved = np.stack([change.by_rater[took] for change in used], axis=1)
    return system_ceiling(means, moved, metric=name, confidence=confidence, seed=seed)
