"""Honest evaluation: every stimulus predicted by a head that was chosen and fitted without it.

Three readings. *Five folds by group* (a theme, a prompt; by stimulus where no group is known): the systems are known, the group
is not. *Leave one system out*: neither is.
*Within cells*: five folds again, after each (system, intent) cell's mean was taken out of labels and predictions, so that
only telling the clips of one cell apart counts. Beside each stand the ceiling of the labels and what bare means give: the
mean of the cell's other stimuli (five folds), or of the intent's stimuli from the other systems (leave one system out).
Heads are chosen on inner folds of what is not left out. Heads are fitted to the screened raters' labels; scores are given
against these and against the labels of all raters (once, where nobody was left out).

A published split adds a reading for each part beside the training part, predicted by the model itself, which has not seen it.

Intervals of correlations resample cells, else groups, else stimuli; ceilings carry their own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from heartfelt.predictors.trained.domain import Domain
from heartfelt.predictors.trained.model import Output, growth
from heartfelt.progress import Progress
from heartfelt.representation import ShortRepr
from heartfelt.stats import bootstrap_metric, ceiling, rmse
from heartfelt.stats.estimate import Estimate
from heartfelt.stats.reliability.number_ceiling import ceiling_from_means
from heartfelt.training.calibrating import Domains, width_of
from heartfelt.training.choosing import Chosen, choose, folds
from heartfelt.training.fitting import Floats, Ints
from heartfelt.training.material import Material, Target, answers_of

FOLDS = 5
SIDES = ("screened", "everyone")
PROTOCOLS = {
    "five-fold": "five folds by stimulus",
    "leave-one-system-out": "leave one system out",
    "within-cells": "within cells (five folds)",
}
LEAST_SYSTEMS = 3
"""Systems there must be to leave each out in turn."""
PUBLISHED = "published "
"""What the protocol of a part of a published split begins with."""
_RESAMPLES = 2_000


def reading_of(protocol: str, unit: str = "stimulus") -> str:
    """A protocol in words; ``unit`` is what the five folds are made of."""
    if protocol.startswith(PUBLISHED):
        return f"published split, {protocol.removeprefix(PUBLISHED)}"
    words = PROTOCOLS[protocol]
    return words.replace("by stimulus", f"by {unit}")


@dataclass(frozen=True, slots=True, eq=False)
class LeftOut:
    """What was predicted of every stimulus while it was left out, under one protocol.

    ``half_width`` is the interval's, calibrated without the stimulus's fold; a ``foreign`` stimulus has the whole scale instead.
    """

    value: Floats
    half_width: Floats
    fold: Ints
    chosen: tuple[str, ...]
    foreign: npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Evaluation(ShortRepr):
    """The table of scores, and the predictions behind it."""

    rows: tuple[Mapping[str, Any], ...]
    predictions: pl.DataFrame
    left_out: Mapping[tuple[str, str], LeftOut] = field(default_factory=dict)
    """By (question, protocol)."""

    def to_json(self) -> list[dict[str, Any]]:
        """Plain rows."""
        return [
            {key: value.to_json() if isinstance(value, Estimate) else value for key, value in row.items()}
            for row in self.rows
        ]


def evaluate(
    material: Material, kinds: Sequence[str], confidence: float = 0.9, progress: Progress | None = None
) -> Evaluation:
    """Score every question under every protocol, against both panels' labels."""
    systems, cells = material.systems, material.cells
    grouping = material.grouping
    plans: dict[str, Ints] = {"five-fold": folds(grouping.groups, FOLDS, material.seed, "outer")}
    if systems is not None and np.unique(systems).size >= LEAST_SYSTEMS:
        plans["leave-one-system-out"] = systems
    total = sum(np.unique(plan).size for plan in plans.values()) * len(material.targets)
    step = _Counter(progress, total)
    domains = material.domains()
    left_out = {
        (target.question, name): _predicted(material, target, plan, kinds, confidence, domains, step)
        for target in material.targets
        for name, plan in plans.items()
    }
    rows: list[Mapping[str, Any]] = []
    for target in material.targets:
        for side in _sides(material):
            top = _ceiling(material, target, side)
            rows += [
                _row(material, target, side, name, left_out[target.question, name], top) for name in plans
            ]
            if cells is not None:
                rows.append(_within(material, target, side, left_out[target.question, "five-fold"], top))
    return Evaluation(tuple(rows), _table(material, left_out), left_out)


def with_published(
    evaluation: Evaluation, parts: Mapping[str, Material], outputs: Sequence[Output], domain: Domain
) -> Evaluation:
    """The evaluation with a row for each part of a published split that the model has not seen.

    ``outputs`` are the model's own, in the order of the targets; ``domain`` is what it was trained on.
    """
    rows = list(evaluation.rows)
    left_out = dict(evaluation.left_out)
    tables = [evaluation.predictions]
    for part, material in parts.items():
        own: dict[tuple[str, str], LeftOut] = {}
        distance, beyond = domain.measures(material.features[material.widest])
        foreign = (distance > domain.distance_limit) | (beyond > domain.outside_limit)
        for target, output in zip(material.targets, outputs, strict=True):
            value = _held(target, output.head.answer(material.features[target.embedding]))
            half = output.half_width * growth(output.slope, distance)
            found = LeftOut(value, half, np.zeros(value.size, np.int64), (output.head.kind,), foreign)
            own[target.question, f"{PUBLISHED}{part}"] = found
            for side in _sides(material):
                top = _ceiling(material, target, side)
                rows.append(_row(material, target, side, f"{PUBLISHED}{part}", found, top))
        tables.append(_table(material, own))
        left_out |= own
    return Evaluation(tuple(rows), pl.concat(tables), left_out)


def _sides(material: Material) -> Sequence[str]:
    return SIDES if material.panel.dropped or material.panel.dropped_batches else SIDES[1:]


class _Counter:
    def __init__(self, progress: Progress | None, total: int) -> None:
        self.progress, self.total, self.done = progress, total, 0

    def __call__(self) -> None:
        self.done += 1
        if self.progress is not None:
            self.progress("evaluating", self.done, self.total)


def _predicted(
    material: Material,
    target: Target,
    plan: Ints,
    kinds: Sequence[str],
    confidence: float,
    domains: Domains,
    step: _Counter,
) -> LeftOut:
    value, half, foreign = np.empty(plan.size), np.empty(plan.size), np.zeros(plan.size, bool)
    has = np.isfinite(target.label)
    systems = material.systems
    names = []
    for fold in np.unique(plan):
        out = plan == fold
        at = np.flatnonzero(~out & has)
        known = None if systems is None else systems[at]
        chosen = choose(material.rows(target, at), known, kinds, material.grouping.at(at))
        value[out] = _held(target, chosen.head.stored().answer(material.features[target.embedding][out]))
        places = domains.of(at, chosen.plan)
        distance, beyond = places.domain.measures(domains.rows[out])
        half[out] = width_of(_errors(target, chosen, at), places, confidence).at(distance)
        foreign[out] = (distance > places.domain.distance_limit) | (beyond > places.domain.outside_limit)
        names.append(f"{chosen.kind} {', '.join(f'{part:g}' for part in chosen.setting)}")
        step()
    return LeftOut(value, half, plan, tuple(names), foreign)


def _held(target: Target, value: Floats) -> Floats:
    return value if target.bounds is None else np.clip(value, *target.bounds)


def _errors(target: Target, chosen: Chosen, at: Ints) -> Floats:
    """Errors of inner folds against the labels that are scored against; NaN without such a label."""
    return np.asarray(np.abs(_held(target, chosen.left_out) - target.screened[at]))


def _truth(target: Target, side: str) -> Floats:
    return target.screened if side == "screened" else target.everyone


def _row(
    material: Material, target: Target, side: str, name: str, found: LeftOut, top: Mapping[str, Estimate]
) -> dict[str, Any]:
    truth = _truth(target, side)
    known = np.isfinite(truth)
    cells = material.cells if material.cells is not None else material.grouping.groups
    groups = np.array(cells)[known]
    correlation = _pearson(truth[known], found.value[known], groups, material.seed)
    near = known & ~found.foreign
    inside = np.abs(found.value - truth)[near] <= found.half_width[near]
    return {
        "question": target.question,
        "raters": side,
        "protocol": name,
        "reading": reading_of(name, material.grouping.unit),
        "n": int(known.sum()),
        "pearson": correlation,
        "rmse": rmse(truth[known], found.value[known]),
        "ceiling": top["overall"],
        "bare_means": _bare_means(material, truth, name, found.fold, top),
        "coverage": float(inside.mean()) if near.any() else None,
        "half_width": float(found.half_width[near].mean()) if near.any() else None,
        "unlike_training": float(found.foreign[known].mean()) if known.any() else None,
        "heads": sorted(set(found.chosen)),
    }


def _bare_means(
    material: Material, truth: Floats, name: str, fold: Ints, top: Mapping[str, Estimate]
) -> Estimate:
    if name.startswith(PUBLISHED):
        return Estimate.missing("not worked out for a published split", "bare means")
    return top["cell_means"] if name == "five-fold" else _intent_means(material, truth, fold)


def _within(
    material: Material, target: Target, side: str, found: LeftOut, top: Mapping[str, Estimate]
) -> dict[str, Any]:
    truth = _truth(target, side)
    known = np.isfinite(truth)
    cell = np.array(material.cells)[known]
    codes = np.unique(cell, return_inverse=True)[1]
    label, said = (_centred(column[known], codes) for column in (truth, found.value))
    return {
        "question": target.question,
        "raters": side,
        "protocol": "within-cells",
        "reading": reading_of("within-cells", material.grouping.unit),
        "n": int(known.sum()),
        "pearson": _pearson(label, said, cell, material.seed),
        "rmse": rmse(label, said),
        "ceiling": top["within_cells"],
        "bare_means": Estimate.missing("cell means are taken out", "cell means"),
        "coverage": None,
        "half_width": None,
        "heads": sorted(set(found.chosen)),
    }


def _centred(column: Floats, codes: Ints) -> Floats:
    return np.asarray(column - (np.bincount(codes, weights=column) / np.bincount(codes))[codes])


def _pearson(truth: Floats, said: Floats, groups: Any, seed: int) -> Estimate:
    return bootstrap_metric("pearson", truth, said, group=groups, seed=seed, resamples=_RESAMPLES)


def _ceiling(material: Material, target: Target, side: str) -> dict[str, Estimate]:
    names = ("overall", "within_cells", "cell_means")
    ratings = answers_of(material, side, target.question)
    truth = _truth(target, side)
    scored = [name for name, value in zip(material.stimuli, truth, strict=True) if np.isfinite(value)]
    ratings = ratings.filter(pl.col("stimulus").is_in(scored))
    if not ratings.height:
        why = "the source gives means, not single ratings"
        gone = {name: Estimate.missing(why, f"ceiling, {name}") for name in names}
        return gone | {"overall": _ceiling_of_means(material, target.question, scored)}
    cells = material.cells
    cell = None if cells is None else dict(zip(material.stimuli, cells, strict=True))
    found = ceiling(ratings["rater"], ratings["stimulus"], ratings["value"], cell=cell, seed=material.seed)
    return {name: getattr(found, name) for name in names}


def _ceiling_of_means(material: Material, question: str, scored: list[str]) -> Estimate:
    """The ceiling of published means, from their spreads and counts."""
    means = material.snapshot.means.filter(
        (pl.col("question") == question) & pl.col("stimulus").is_in(scored)
    )
    if not {"sd", "n"} <= set(means.columns):
        return Estimate.missing("the source gives means without spread and count", "ceiling, overall")
    mean, sd, n = (
        means[name].cast(pl.Float64).fill_null(float("nan")).to_numpy() for name in ("mean", "sd", "n")
    )
    return ceiling_from_means(mean, sd, n)


def _intent_means(material: Material, truth: Floats, fold: Ints) -> Estimate:
    """What the mean of the same intent's stimuli from the other systems reaches."""
    method = "means of the intent's other systems"
    if any(name is None for name in material.intent):
        return Estimate.missing("some stimuli have no intent", method)
    codes = np.unique([str(name) for name in material.intent], return_inverse=True)[1]
    said = np.full(truth.size, np.nan)
    for place in range(truth.size):
        others = (codes == codes[place]) & (fold != fold[place]) & np.isfinite(truth)
        if others.any():
            said[place] = truth[others].mean()
    known = np.isfinite(truth) & np.isfinite(said)
    found = _pearson(truth[known], said[known], np.array(material.cells)[known], material.seed)
    if found.value is None:
        return Estimate.missing(found.why_missing or "undefined", method)
    return Estimate(
        found.value, found.low, found.high, method, found.interval, found.confidence, dict(found.counts)
    )


def _table(material: Material, left_out: Mapping[tuple[str, str], LeftOut]) -> pl.DataFrame:
    parts = []
    by_name = {target.question: target for target in material.targets}
    for (question, protocol), found in left_out.items():
        target = by_name[question]
        parts.append(
            pl.DataFrame(
                {
                    "stimulus": list(material.stimuli),
                    "system": list(material.system),
                    "intent": list(material.intent),
                    "question": question,
                    "protocol": protocol,
                    "fold": found.fold,
                    "prediction": found.value,
                    "half_width": found.half_width,
                    "unlike_training": found.foreign,
                    "label_screened": target.screened,
                    "label_everyone": target.everyone,
                }
            )
        )
    numbers = ("label_screened", "label_everyone")
    return pl.concat(parts).with_columns(pl.col(name).fill_nan(None) for name in numbers)
