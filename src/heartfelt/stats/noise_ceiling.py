"""The ceiling of labels: the best that anything, human or machine, can be expected to score against them.

Mean labels carry noise: a label is the mean of n_i ratings, each off its item by a rater's level and a
residual. A predictor that knew every item's true value would be expected to correlate with the labels at the
square root of v / (v + noise), v being the items' variance, and to be off by a root mean square of sqrt(noise)
and, for normal noise, by a mean absolute sqrt(2 / pi) times the mean standard error. Variances come from crossed
components by REML; see `heartfelt.stats.reliability.number_ceiling` for which part of the raters' levels is
noise. *Within cells*, cell means are fixed effects, so v is the variance of items about their cell's mean: the
ceiling for telling items of one cell apart.

For category labels see `heartfelt.stats.reliability.vote_ceiling`.

Also given: what bare cell means reach against the labels, what one more rater reaches against the mean of
the others, both by leaving one out, and ceilings per group. Correlations range to 1 and are 0 where items
do not differ; errors are in points of the scale. Intervals: two-way jackknife over items and raters, on log
F for correlations of ceilings, on Fisher's z, the log or the logit for the rest.

Source: Spearman (1904) on attenuation; Nili et al. (2014) and Lage-Castellanos et al. (2019) on noise
ceilings.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, cast, get_args

import numpy as np
import numpy.typing as npt

from heartfelt.errors import InputError, suggestion
from heartfelt.stats.estimate import Estimate
from heartfelt.stats.reliability import categories as cat
from heartfelt.stats.reliability.crossed import check_confidence
from heartfelt.stats.reliability.design import Design, rating_design
from heartfelt.stats.reliability.jackknife import NAME, group_variance, half_width
from heartfelt.stats.reliability.labels import (
    NumberMetric,
    agreement,
    cell_mean_pairs,
    single_rater_pairs,
)
from heartfelt.stats.reliability.number_ceiling import number_ceiling, perfect_agreement
from heartfelt.stats.reliability.vote_ceiling import CategoryMetric, HalfPanels, vote_ceiling
from heartfelt.stats.reliability.vote_raters import critical_value, fixed_panel_gain
from heartfelt.stats.triples import Codes, Ids, Ints, Values, as_array, code

Metric: TypeAlias = Literal["correlation", "rmse", "mae", "accuracy", "balanced_accuracy", "macro_f1"]
METRICS: tuple[str, ...] = get_args(Metric)
GROUPS = 20


@dataclass(frozen=True, slots=True)
class Ceiling:
    """Ceilings of one metric: overall, per group and within cells, with two yardsticks.

    ``cell_means`` leaves the item's own label out of its cell's mean, ``cell_means_in_sample`` does not.
    ``human`` is one rating against the item's other ratings. ``half_panels`` is the check of the vote model
    behind the ceiling of categories.
    """

    metric: str
    overall: Estimate
    within_cells: Estimate
    cell_means: Estimate
    cell_means_in_sample: Estimate
    human: Estimate
    groups: Mapping[Any, Estimate] = field(default_factory=dict)
    ratings_per_item: float | None = None
    half_panels: HalfPanels | None = None

    @property
    def value(self) -> float | None:
        """The overall ceiling."""
        return self.overall.value

    @property
    def low(self) -> float | None:
        """Its lower bound."""
        return self.overall.low

    @property
    def high(self) -> float | None:
        """Its upper bound."""
        return self.overall.high

    def to_json(self) -> dict[str, Any]:
        """Plain objects for strict JSON."""
        names = ("overall", "within_cells", "cell_means", "cell_means_in_sample", "human")
        return {
            "metric": self.metric,
            **{name: getattr(self, name).to_json() for name in names},
            "groups": [{"group": str(name), **e.to_json()} for name, e in self.groups.items()],
            "ratings_per_item": self.ratings_per_item,
            "half_panels": None if self.half_panels is None else self.half_panels.to_json(),
        }


def ceiling(
    rater: Ids,
    item: Ids,
    value: Values,
    *,
    cell: Any = None,
    group: Any = None,
    metric: Metric = "correlation",
    confidence: float = 0.95,
    seed: int = 0,
) -> Ceiling:
    """The best expected score of a predictor against the labels these ratings make.

    ``cell`` and ``group`` give each item's cell (such as system x intent) and group (such as system): a
    column parallel to the ratings, a tuple of such columns, or a mapping from item to name. For "accuracy"
    and "balanced_accuracy" values may be any hashable categories.
    """
    check_confidence(confidence)
    if metric not in METRICS:
        raise InputError(
            f"There is no ceiling for the metric '{metric}'.", suggestion(metric, METRICS, "Metrics")
        )
    numbers = _category_codes(value) if metric in get_args(CategoryMetric) else value
    d = rating_design(rater, item, numbers)
    kept = np.isfinite(np.asarray(numbers, dtype=np.float64)) if d.left_out else None
    cells = None if cell is None else _of_items(cell, d, kept, "cell")
    groups = None if group is None else _of_items(group, d, kept, "group")
    if d.size == 0:
        gone = Estimate.missing("there are no ratings", f"ceiling, {metric}", d.counts)
        return Ceiling(metric, gone, gone, gone, gone, gone)
    work = _Work(d, None if cells is None else cells.codes, metric, confidence, seed)
    parts = {
        name: _Work(d.part(groups.codes[d.item] == g), None, metric, confidence, seed).overall()[0]
        for g, name in enumerate(groups.names if groups is not None else ())
        if groups is not None
    }
    overall, half_panels = work.overall()
    return Ceiling(
        metric,
        overall,
        work.within_cells(),
        work.cell_means(own=False),
        work.cell_means(own=True),
        work.human(),
        parts,
        float(1.0 / np.mean(1.0 / d.per_item)),
        half_panels,
    )


@dataclass(frozen=True, slots=True)
class _Work:
    """One set of ratings and what is asked of it."""

    d: Design
    cells: Ints | None
    metric: Metric
    confidence: float
    seed: int

    def overall(self) -> tuple[Estimate, HalfPanels | None]:
        if self.metric in get_args(CategoryMetric):
            return self._category_ceiling()
        number = cast("NumberMetric", self.metric)
        return number_ceiling(self.d, None, number, self.confidence, self.seed), None

    def within_cells(self) -> Estimate:
        method = f"ceiling within cells, {self.metric}"
        if self.cells is None:
            return Estimate.missing("no cells were given", method, self.d.counts)
        if self.metric in get_args(CategoryMetric):
            return Estimate.missing("categories have no cell means to remove", method, self.d.counts)
        shared = np.bincount(self.cells)[self.cells] >= 2
        if not shared.any():
            return Estimate.missing("every cell holds one item", method, self.d.counts)
        d, cells = self.d, self.cells
        if not shared.all():
            d = d.part(shared[d.item])
            cells = np.unique(cells[shared], return_inverse=True)[1].astype(np.int64)
        return number_ceiling(d, cells, cast("NumberMetric", self.metric), self.confidence, self.seed)

    def cell_means(self, own: bool) -> Estimate:
        cells = self.cells
        method = "cell means" + (", in sample" if own else ", own label left out")
        if cells is None:
            return Estimate.missing("no cells were given", method, self.d.counts)
        if self.metric in get_args(CategoryMetric):
            metric = cast("CategoryMetric", self.metric)
            return self._jackknifed(
                lambda keep: cat.cell_plurality(self._counts(keep), cells, metric, own), method
            )
        number = cast("NumberMetric", self.metric)
        return self._jackknifed(
            lambda keep: agreement(*cell_mean_pairs(self.d, cells, keep, own), number), method
        )

    def human(self) -> Estimate:
        method = "one rating against the item's others"
        if self.metric in get_args(CategoryMetric):
            metric = cast("CategoryMetric", self.metric)

            def against_others(keep: npt.NDArray[np.bool_]) -> float | None:
                category = self.d.value[keep].astype(np.int64)
                return cat.human(self.d.item[keep], category, self._counts(keep), metric)

            return self._jackknifed(against_others, method)
        number = cast("NumberMetric", self.metric)
        return self._jackknifed(lambda keep: agreement(*single_rater_pairs(self.d, keep), number), method)

    def _counts(self, keep: npt.NDArray[np.bool_]) -> cat.Counts:
        categories = int(self.d.value.max()) + 1
        return cat.category_counts(
            self.d.item[keep], self.d.value[keep].astype(np.int64), len(self.d.items), categories
        )

    def _category_ceiling(self) -> tuple[Estimate, HalfPanels | None]:
        metric = cast("CategoryMetric", self.metric)
        method = (
            f"{metric} of the long-run category on untied items, nonparametric mixture of vote distributions"
        )
        if self.d.per_item.max() < 2:
            return Estimate.missing("no item has two ratings", method, self.d.counts), None
        counts = self._counts(np.ones(self.d.size, np.bool_))
        critical = critical_value(self.d, counts, self.confidence)
        gain = fixed_panel_gain(self.d, counts, self.seed)
        solved = vote_ceiling(counts, metric, critical, self.confidence, self.seed, gain)
        labels = self.d.counts | {"labels": solved.labels}
        if solved.labels == 0:
            return Estimate.missing("every item is tied, so there are no labels", method, labels), None
        halves = solved.half_panels
        if halves is not None and not halves.fits:
            why = (
                f"the vote model predicts that half panels agree on {halves.predicted:.2f} of the items, "
                f"but they agree on {halves.observed:.2f}"
            )
            return Estimate(
                solved.value, method=method, confidence=self.confidence, counts=labels, why_no_interval=why
            ), halves
        name = "profile likelihood of the mixture, widened for raters and for chance in the labels"
        return Estimate(solved.value, solved.low, solved.high, method, name, self.confidence, labels), halves

    def _at_limit(self, value: float, method: str) -> Estimate:
        """A value of 1, or an error of 0, with the one-sided bound that perfect agreement gives."""
        agreed = perfect_agreement(self.d, self.confidence)
        if self.metric in get_args(CategoryMetric) and value == 1.0:
            low = (1.0 - self.confidence) ** (1.0 / len(self.d.items))
            name = f"one-sided, rule of three over {len(self.d.items)} items"
            return Estimate(value, low, 1.0, method, name, self.confidence, self.d.counts)
        if agreed is None or agreed.error == 0.0 or self.metric in get_args(CategoryMetric):
            why = "the value is at its limit"
            return Estimate(
                value, method=method, confidence=self.confidence, counts=self.d.counts, why_no_interval=why
            )
        own, others = agreed.error, agreed.error / max(float(np.median(self.d.per_item)) - 1.0, 1.0)
        if self.metric == "correlation":
            labels = np.bincount(self.d.item, self.d.value) / self.d.per_item
            v = float(labels.var())
            low, high = v / float(np.sqrt((v + own) * (v + others))), 1.0
        else:
            low, high = 0.0, float(np.sqrt(own + others))
        return Estimate(value, low, high, method, agreed.interval, self.confidence, self.d.counts)

    def _jackknifed(
        self, statistic: Callable[[npt.NDArray[np.bool_]], float | None], method: str
    ) -> Estimate:
        """The statistic with a two-way group-jackknife interval on the scale that suits the metric."""
        counts = self.d.counts
        value = statistic(np.ones(self.d.size, np.bool_))
        if value is None:
            return Estimate.missing("too few items or no variance", method, counts)
        forward, back = _SCALES[self.metric]
        if not np.isfinite(forward(value)):
            return self._at_limit(value, method)

        def scaled(keep: npt.NDArray[np.bool_]) -> float | None:
            without = statistic(keep)
            return None if without is None or not np.isfinite(forward(without)) else forward(without)

        found = group_variance(self.d, scaled, GROUPS, self.seed)
        if found is None:
            why = "too few items or raters to leave groups of them out"
            return Estimate(
                value, method=method, confidence=self.confidence, counts=counts, why_no_interval=why
            )
        variance, units = found
        half = half_width(variance, units, self.confidence)
        z = forward(value)
        name = f"{NAME}, {units} groups"
        return Estimate(value, back(z - half), back(z + half), method, name, self.confidence, counts)


def _logit(p: float) -> float:
    return float(np.log(p / (1.0 - p))) if 0.0 < p < 1.0 else float("inf")


def _expit(x: float) -> float:
    return float(1.0 / (1.0 + np.exp(-x)))


def _atanh(r: float) -> float:
    return float(np.arctanh(r)) if abs(r) < 1.0 else float("inf")


def _log(x: float) -> float:
    return float(np.log(x)) if x > 0 else float("-inf")


_Scale: TypeAlias = tuple[Callable[[float], float], Callable[[float], float]]
_SCALES: dict[str, _Scale] = {
    "correlation": (_atanh, lambda z: float(np.tanh(z))),
    "rmse": (_log, lambda z: float(np.exp(z))),
    "mae": (_log, lambda z: float(np.exp(z))),
    "accuracy": (_logit, _expit),
    "balanced_accuracy": (_logit, _expit),
    "macro_f1": (_logit, _expit),
}


def _is_gone(x: Any) -> bool:
    return x is None or (isinstance(x, float) and not np.isfinite(x))


def _category_codes(value: Values) -> npt.NDArray[np.float64]:
    """Categories as numbers, missing ones as NaN."""
    array = as_array(value)
    if array.dtype == object:
        gone = np.array([_is_gone(x) for x in array.tolist()], dtype=np.bool_)
    else:
        gone = ~np.isfinite(array) if array.dtype.kind == "f" else np.zeros(array.size, np.bool_)
    out = np.full(array.size, np.nan)
    out[~gone] = code(array[~gone]).codes
    return out


def _of_items(given: Any, d: Design, kept: npt.NDArray[np.bool_] | None, what: str) -> Codes:
    """Code the cell or group of each item, from a mapping, a column parallel to the ratings or a tuple of
    them."""
    if isinstance(given, Mapping):
        absent = [name for name in d.items if name not in given]
        if absent:
            raise InputError(
                f"The mapping of items to {what}s lacks item {absent[0]!r} ({len(absent)} in all).",
                f"Give every rated item a {what}.",
            )
        return code([given[name] for name in d.items])
    columns = [as_array(column) for column in (given if isinstance(given, tuple) else (given,))]
    size = d.size if kept is None else kept.size
    for column in columns:
        if column.size != size:
            raise InputError(
                f"The {what} column has {column.size} entries for {size} ratings.",
                "Pass one entry per rating.",
            )
    parts = [code(column if kept is None else column[kept]) for column in columns]
    first = np.zeros(len(d.items), np.int64)
    first[d.item[::-1]] = np.arange(d.size)[::-1]
    for part in parts:
        differs = np.flatnonzero(part.codes != part.codes[first[d.item]])
        if differs.size:
            raise InputError(
                f"Item {d.items[d.item[differs[0]]]!r} has more than one {what}.",
                f"An item belongs to one {what}; make the {what} column agree with the items.",
            )
    if len(parts) == 1:
        return code([parts[0].names[c] for c in parts[0].codes[first]])
    return code([tuple(part.names[part.codes[i]] for part in parts) for i in first])
