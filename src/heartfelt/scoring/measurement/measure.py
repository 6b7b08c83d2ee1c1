"""One metric of one sheet in every form: with failures counted, over answered items, over systems, and its place between
chance and the ceiling, which is how well anything can be expected to do against labels made of these ratings.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from heartfelt.scoring.ground_truth.truth import Truth
from heartfelt.scoring.measurement.ceilings import ceiling_of, ceilings_of, mean_ceiling, one_rater, strength_ceilings
from heartfelt.scoring.measurement.sheet import Flags, PredictionSheet
from heartfelt.scoring.options import ScoreOptions
from heartfelt.scoring.results.details import ModelDetails
from heartfelt.scoring.results.metrics import METRICS, ChanceLevel, chance_of, converted
from heartfelt.scoring.results.scores import ModelScore, ScoringTask
from heartfelt.stats._bounds import ratio
from heartfelt.stats.ceilings.noise_ceiling import Ceiling
from heartfelt.stats.columns.paired import mid_ranks
from heartfelt.stats.columns.triples import Floats
from heartfelt.stats.comparison.predicted.prediction import ChoiceScores
from heartfelt.stats.estimate import Estimate
from heartfelt.stats.inference import permutation_paired
from heartfelt.stats.inference.no_association import (
    FEWEST,
    RESAMPLES,
    Earnings,
    no_association,
    no_association_over_systems,
    too_few_ways,
)
from heartfelt.stats.prediction.association import metric_difference
from heartfelt.stats.prediction.jackknife import LEAST_UNITS, JackknifeError, spreads_over

WITHIN = "within cells"
LEAST_SYSTEMS = LEAST_UNITS
NO_SYSTEMS = "no systems"
NO_CEILING = "no ceiling of this metric is known"
_SHARE = "share of the way from chance to the ceiling"
_IN_LABELS_AND_PREDICTIONS = {
    "the first column does not vary": "the labels do not vary",
    "the second column does not vary": "the predictions do not vary",
    "neither column varies": "neither labels nor predictions vary",
    "nothing was predicted positive": "nothing was predicted present",
    "no label is positive": "no label is present",
    "no label is negative": "every label is present",
}
_CATEGORIES = ("accuracy", "balanced_accuracy", "macro_f1", "precision", "recall", "f1")
_SCORES = ("auroc", "average_precision", "brier")

_ASSOCIATION = {
    **dict.fromkeys(("pearson", "ccc", "quadratic_kappa", "mse", "rmse", "brier", "precision", "f1"), "products"),
    **dict.fromkeys(("spearman", "kendall"), "ranks"),
    **dict.fromkeys(("auroc", "average_precision"), "ranked predictions"),
    **dict.fromkeys(("accuracy", "balanced_accuracy", "macro_f1"), "matches"),
}
"""What is summed to test a metric for no association; Kendall's tau and average precision are tested by mean ranks."""

Values = Literal["", "mean", "share"]
"""What ``y`` holds: predictions, values from 0 up whose mean is the metric, or such values that are 0 or 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelsAndPredictions:
    """Labels and predictions of a metric: ``y`` as answered (NaN elsewhere), ``filled`` with failures counted."""

    metric: str
    x: Floats
    y: Floats
    filled: Floats
    aggregation: str = "item"
    at: str = ""
    values: Values = ""
    why_none: str | None = None
    chance: ChanceLevel | None = None


def mean_of(
    metric: str, values: Floats, filled: Floats, why_none: str | None = None, chance: ChanceLevel | None = None,
    *, share: bool = False,
) -> LabelsAndPredictions:  # fmt: skip
    """A metric that is the mean of a value per item."""
    kind: Values = "share" if share else "mean"
    return LabelsAndPredictions(
        metric=metric, x=np.zeros(values.size), y=values, filled=filled, values=kind, why_none=why_none, chance=chance
    )


@dataclass(frozen=True, slots=True)
class Forms:
    """A metric over answered items, with failures counted, and over systems; ``spread`` is that of the second."""

    answered: Estimate
    with_failures: Estimate
    over_systems: Estimate
    spread: JackknifeError | None = None


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Marked:
    """One model's scores on one task, and what comparisons and slices are made of.

    ``predicted`` is what the headline is made of (decisions, numbers, codes, or each caption's, pair's or trace's own score),
    ``fallback`` what a failed prediction counts as; ``sliced`` holds the predictions of the metrics that are also measured slice
    by slice. ``right`` says of every answer to a pair how right the prediction was, and ``slice_of`` gives the headline on some
    of the rows.
    """

    scores: list[ModelScore]
    details: ModelDetails
    predicted: Floats
    fallback: Floats
    sliced: Mapping[str, Floats]
    notes: tuple[str, ...] = ()
    right: Floats | None = None
    slice_of: Callable[[Flags], Estimate] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricMeasurer:
    """Measures metrics against one truth; a ceiling is computed when it is first asked for."""

    options: ScoreOptions
    truth: Truth
    _ceilings: dict[tuple[str, str], Ceiling | str] = field(default_factory=dict)
    _of_choices: dict[str, ChoiceScores | str] = field(default_factory=dict)
    _of_strengths: dict[str, dict[str, Estimate]] = field(default_factory=dict)
    _tests: dict[tuple[str, ...], tuple[Estimate, Estimate]] = field(default_factory=dict)

    def numbers(
        self, metric: str, x: Floats, y: Floats, groups: Sequence[Any] = (None,), *, values: Values = ""
    ) -> list[tuple[Estimate, JackknifeError | None]]:
        """A metric with an interval and its spread, over rows (None) or whole groups, for each of ``groups``."""
        name, data = typed(metric, x, y, values)
        out: list[tuple[Estimate, JackknifeError | None]] = []
        for estimate, spread in spreads_over(name, *data, groups):
            if estimate.value is None:
                out.append((Estimate.missing(plainly(estimate.why_missing), metric, estimate.counts), None))
            else:
                bounded = estimate if spread is None else spread.estimate(estimate, self.options.confidence)
                out.append((replace(bounded, method=metric), spread))
        return out

    def score(
        self, sheet: PredictionSheet, pairing: LabelsAndPredictions, forms: Forms | None = None, group: Any = None
    ) -> ModelScore:
        """The metric in every form; ``forms`` where they are known, over ``group``."""
        if forms is None:
            forms, group = self._forms(sheet, pairing), sheet.stimulus
        top = self.ceiling(sheet.task, pairing.metric, pairing.aggregation)
        chance, beyond, (p_chance, p_over_systems) = self._above_chance(sheet, pairing, forms, group)
        return ModelScore(
            model=sheet.model,
            task=sheet.task.id,
            aggregation=pairing.aggregation,
            metric=pairing.metric,
            at=pairing.at,
            estimate=forms.answered,
            with_failures=forms.with_failures,
            over_systems=forms.over_systems,
            ceiling=top,
            of_ceiling=of_ceiling(pairing.metric, forms.with_failures, top, chance, beyond),
            chance=chance,
            beyond_chance=beyond,
            p_chance=p_chance,
            p_chance_over_systems=p_over_systems,
        )

    def _forms(self, sheet: PredictionSheet, pairing: LabelsAndPredictions) -> Forms:
        metric, name = pairing.metric, f"{pairing.metric}, over systems"
        if pairing.why_none:
            missing = Estimate.missing(pairing.why_none, metric)
            return Forms(missing, missing, Estimate.missing(pairing.why_none, name))
        has_system = sheet.system >= 0
        count = np.unique(sheet.system[has_system]).size
        over = Estimate.missing(why_no_systems(count), name)
        enough = count >= LEAST_SYSTEMS
        together = enough and bool(has_system.all())
        groups = [sheet.stimulus, *([sheet.system] if together else [])]
        (full, spread), *by_system = self.numbers(metric, pairing.x, pairing.filled, groups, values=pairing.values)
        if together:
            over = by_system[0][0]
        elif enough:
            columns = pairing.x[has_system], pairing.filled[has_system], [sheet.system[has_system]]
            over = self.numbers(metric, *columns, values=pairing.values)[0][0]
        rows = sheet.answered & np.isfinite(pairing.y)
        if rows.all():
            return Forms(full, full, over, spread)
        answered_groups = [None if sheet.stimulus is None else sheet.stimulus[rows]]
        answered = self.numbers(metric, pairing.x[rows], pairing.y[rows], answered_groups, values=pairing.values)
        return Forms(answered[0][0], full, over, spread)

    def _above_chance(
        self, sheet: PredictionSheet, pairing: LabelsAndPredictions, forms: Forms, group: Any
    ) -> tuple[Estimate, Estimate, tuple[Estimate, Estimate]]:
        """Chance, how far the score with failures counted is beyond it (above 0 is better), and the p-values of that: for
        other stimuli and for other systems.
        """
        metric, score = pairing.metric, forms.with_failures
        sign, test = METRICS[metric].sign, f"p-value of {metric} against chance"
        chance = pairing.chance or chance_of(metric, pairing.x)
        level = chance.estimate(metric)
        if score.value is None or level.value is None:
            reason = score.why_missing or level.why_missing or "no chance level is known"
            missing = Estimate.missing(reason, test)
            return level, Estimate.missing(reason, f"{metric} beyond chance"), (missing, missing)
        tests = self._association(sheet, pairing, group)
        if chance.y is None:
            untested = Estimate.missing("there is no test of this metric against chance", test)
            return level, from_chance(score, level.value, sign, metric), tests or (untested, untested)
        name, (x, first) = typed(metric, pairing.x, pairing.filled, pairing.values)
        _, (_, second) = typed(metric, pairing.x, chance.y, pairing.values)
        difference = metric_difference(name, x, first, second, group=group, confidence=self.options.confidence)
        beyond, p = from_chance(difference.estimate, 0.0, sign, metric), difference.p
        if tests is not None:
            # Better than the best constant answer, and by what it says about the items.
            return level, beyond, (_larger(p, tests[0]), tests[1])
        gained = sign * (_by_row(name, x, first) - _by_row(name, x, second))
        if p.value is None:
            p = self.flipped(gained, group)
        over_systems = self.flipped_over_systems(gained, sheet.system) if pairing.aggregation == "item" else p
        return level, beyond, (p, over_systems)

    def _association(
        self, sheet: PredictionSheet, pairing: LabelsAndPredictions, group: Any
    ) -> tuple[Estimate, Estimate] | None:
        """The tests of no association between labels and predictions, for other stimuli and for other systems.

        A failed prediction stays where it is. None of metrics that rearranging does not suit; they are compared with chance.
        """
        how = _ASSOCIATION.get(pairing.metric)
        if how is None or pairing.values:
            return None
        # Metrics that sum the same products or ranks share one test.
        weighted = pairing.metric if how == "matches" else ""
        key = (sheet.model, sheet.task.id, pairing.aggregation, pairing.at, how, weighted)
        if key not in self._tests:
            self._tests[key] = self._tested(sheet, pairing, how, group)
        return self._tests[key]

    def _tested(
        self, sheet: PredictionSheet, pairing: LabelsAndPredictions, how: str, group: Any
    ) -> tuple[Estimate, Estimate]:
        x: Any = pairing.x
        y: Any = pairing.filled
        weight = None
        if how == "matches":
            names, codes = np.unique(np.concatenate([x, y]), return_inverse=True)
            x, y = codes[: x.size], codes[x.size :]
            weight = _match_weight(pairing.metric, x, y, names.size)
        elif how != "products":
            x, y = (mid_ranks(x) if how == "ranks" else x), mid_ranks(y)
        by_item = pairing.aggregation == "item"
        rows = (sheet.answered & np.isfinite(pairing.y)) if by_item else np.ones(x.size, np.bool_)
        seed, confidence = self.options.seed, self.options.confidence
        # Labels are rearranged inside systems, so that differences between systems alone do not count as skill.
        system, stimulus = np.zeros(x.size, np.int64), None
        if pairing.aggregation == WITHIN:
            system = group
        elif by_item:
            system, stimulus = sheet.system, sheet.stimulus
        earnings = _earnings(x, y, weight, system, stimulus, rows)
        resamples = self.options.resamples
        over_stimuli = no_association(earnings, confidence=confidence, seed=seed, resamples=resamples)
        if pairing.aggregation == "system":
            return over_stimuli, over_stimuli
        over = Estimate.missing("cells lie inside systems", "p-value, systems rearranged")
        if by_item:
            has_system = rows & (sheet.system >= 0)
            count = np.unique(sheet.system[has_system]).size
            over = Estimate.missing(why_no_systems(count), "p-value, systems rearranged")
            if count > 1:
                named = _earnings(x, y, weight, system, stimulus, has_system)
                over = no_association_over_systems(named, confidence=confidence, seed=seed)
        return over_stimuli, over

    def flipped(self, gained: Floats, group: Any) -> Estimate:
        """The p-value of a mean gain of 0, by flipping the signs of rows, or of the sums of groups."""
        sums = gained if group is None else np.bincount(np.unique(group, return_inverse=True)[1], gained)
        resamples = min(max(30_000_000 // max(sums.size, 1), FEWEST), RESAMPLES)
        return permutation_paired(sums, np.zeros(sums.size), resamples=resamples, seed=self.options.seed).p

    def flipped_over_systems(self, gained: Floats, system: Any) -> Estimate:
        """The same over systems; missing where they are too few for a small p-value."""
        has_system = system >= 0
        count = np.unique(system[has_system]).size
        reason = too_few_ways(count, 2 ** min(count, 60), self.options.confidence) if count else NO_SYSTEMS
        if reason:
            return Estimate.missing(reason, "p-value, signs of systems flipped")
        return self.flipped(gained[has_system], system[has_system])

    def ceiling(self, task: ScoringTask, metric: str, aggregation: str = "item") -> Estimate:
        """The ceiling of a metric, or the reason there is none."""
        name, base = f"ceiling, {metric}", METRICS[metric].base
        reason = self._why_no_ceiling(task, base, aggregation)
        if reason is not None or base is None:
            return Estimate.missing(reason or NO_CEILING, name)
        if task.kind == "strengths":
            if task.id not in self._of_strengths:
                self._of_strengths[task.id] = strength_ceilings(task, self.truth, self.options)
            return self._of_strengths[task.id].get(metric, Estimate.missing(NO_CEILING, name))
        if (task.id, base) not in self._ceilings:
            self._ceilings[task.id, base] = ceiling_of(task, base, self.truth, self.options)
        result = self._ceilings[task.id, base]
        if isinstance(result, str):
            return Estimate.missing(result, name)
        if aggregation != WITHIN:
            return converted(metric, result.overall)
        if metric != "pearson":
            return Estimate.missing("a ceiling within cells is known for Pearson's correlation only", name)
        return converted(metric, result.within_cells)

    def _why_no_ceiling(self, task: ScoringTask, base: str | None, aggregation: str) -> str | None:
        if not self.options.ceilings:
            return "ceilings were not asked for"
        if aggregation == "system":
            return "no ceiling of system means is known"
        if base is None or task.kind == "text":
            return NO_CEILING
        return "no ceiling of most frequent degrees is known" if task.kind == "ordinal" else None

    def choice_ceilings(self, task: ScoringTask) -> ChoiceScores | str:
        """The best scores to be expected of predicted choices, or the reason they are not known."""
        if not self.options.ceilings:
            return "ceilings were not asked for"
        if task.id not in self._of_choices:
            options = self.options
            self._of_choices[task.id] = ceilings_of(task, self.truth, options.confidence, options.seed)
        return self._of_choices[task.id]

    def smooth_ceiling(self, task: ScoringTask, metric: str) -> Estimate | None:
        """The ceiling under a smooth family of votes, where the ceiling of categories was computed."""
        result = self._ceilings.get((task.id, METRICS[metric].base or ""))
        if result is None or isinstance(result, str) or result.smooth is None:
            return None
        return converted(metric, result.smooth)

    def human(self, task: ScoringTask, metric: str) -> Estimate:
        """What one more rater reaches, where the ceiling was computed."""
        if task.kind == "choices":
            return one_rater(task, self.truth, self.options.confidence)
        if task.kind == "traces":
            return mean_ceiling(self.truth.courses_of(task), "one_rater", self.options.confidence)
        result = self._ceilings.get((task.id, METRICS[metric].base or ""))
        if result is None or isinstance(result, str):
            return Estimate.missing(result or NO_CEILING, "one more rater")
        return result.human


def _larger(first: Estimate, second: Estimate) -> Estimate:
    """The larger of two p-values; of one that is missing the other."""
    if first.value is None or second.value is None:
        return second if first.value is None else first
    return first if first.value > second.value else second


def _by_row(metric: str, x: Any, y: Any) -> Floats:
    """Each row's part of a metric that is a mean, or the root of one."""
    if metric == "accuracy":
        return np.asarray(x == y, np.float64)
    return np.asarray(np.abs(y - x) if metric == "mae" else (y - x) ** 2, np.float64)


def _match_weight(metric: str, x: Any, y: Any, names: int) -> Floats:
    """What naming a category correctly adds to the metric, up to a factor."""
    if metric == "accuracy":
        return np.ones(names)
    counts = np.bincount(x, minlength=names).astype(np.float64)
    if metric == "macro_f1":
        counts += np.bincount(y, minlength=names)
    return np.asarray(1 / np.maximum(counts, 1))


def _earnings(x: Any, y: Any, weight: Floats | None, system: Any, stimulus: Any, rows: Flags) -> Earnings:
    if weight is None:
        # Products of large numbers would be rounded; means do not matter.
        x, y = (column - column.mean() for column in (x, y))
    return Earnings(
        label=x[rows],
        predicted=y[rows],
        weight=weight,
        system=np.unique(system[rows], return_inverse=True)[1],
        stimulus=None if stimulus is None else np.unique(stimulus[rows], return_inverse=True)[1],
    )


def why_no_systems(count: int) -> str:
    """Why there is no interval over so few systems."""
    if not count:
        return NO_SYSTEMS
    systems = "1 system" if count == 1 else f"{count} systems"
    return f"{systems}; at least {LEAST_SYSTEMS} are needed to generalise to other systems"


def from_chance(estimate: Estimate, level: float, sign: int, metric: str) -> Estimate:
    """The distance from ``level``, where above 0 is better."""
    name = f"{metric} beyond chance"
    if estimate.value is None:
        return Estimate.missing(estimate.why_missing or "", name, estimate.counts)
    low, high = (
        None if end is None else sign * (end - level)
        for end in ((estimate.low, estimate.high) if sign > 0 else (estimate.high, estimate.low))
    )
    return replace(estimate, value=sign * (estimate.value - level), low=low, high=high, method=name)


def of_ceiling(metric: str, score: Estimate, ceiling: Estimate, chance: Estimate, beyond: Estimate) -> Estimate:
    """``(score - chance) / (ceiling - chance)``: 0 is chance, 1 the ceiling; for errors the signs are reversed."""
    for side in (score, ceiling, chance, beyond):
        if side.value is None:
            return Estimate.missing(side.why_missing or "one side is missing", _SHARE)
    reach = from_chance(ceiling, float(chance), METRICS[metric].sign, metric)
    if float(reach) <= 0:
        return Estimate.missing("the ceiling is no better than chance", _SHARE)
    return ratio(beyond, reach, _SHARE)


def plainly(reason: str | None) -> str:
    """A reason in terms of labels and predictions."""
    return _IN_LABELS_AND_PREDICTIONS.get(reason or "", reason or "no reason given")


def typed(metric: str, x: Floats, y: Floats, values: Values = "") -> tuple[str, tuple[Any, Any]]:
    """The metric's name in ``heartfelt.stats`` and its columns, with whole numbers where it wants categories."""
    if values == "share":
        return "accuracy", (np.ones(y.size, np.int64), (y > 0.5).astype(np.int64))
    if values == "mean":
        return "mae", (np.zeros_like(y), y)
    if metric in _CATEGORIES:
        return metric, (x.astype(np.int64), y.astype(np.int64))
    return metric, ((x.astype(np.int64), y) if metric in _SCORES else (x, y))
