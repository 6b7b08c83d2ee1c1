"""The ceiling of labels: the best that anything, human or machine, can be expected to score against them.

Labels carry noise, so that even somebody who knew every item's true value would not match them. The ceiling of mean
labels (correlation, root mean square error, mean absolute error) comes from crossed variance components, see
`heartfelt.stats.ceilings.number_ceiling`; that of category labels (accuracy, balanced accuracy, macro F1) from a
mixture of vote distributions without an assumed shape, see `heartfelt.stats.ceilings.vote_ceiling`, and next to it
from a smooth family of them, see `heartfelt.stats.ceilings.vote_family`. *Within cells*, cell means are fixed
effects: the ceiling for telling items of one cell apart. Two yardsticks come with it, see
`heartfelt.stats.ceilings.yardsticks`: what bare cell means reach against the labels, and what one more rater reaches
against the others.

Correlations range to 1 and are 0 where items do not differ; errors are in points of the scale. Intervals:
two-way jackknife over items and raters, on log F for correlations of ceilings; yardsticks leave out groups of
items and raters, on Fisher's z, the log or the logit.

Source: Spearman (1904) on attenuation; Nili et al. (2014) and Lage-Castellanos et al. (2019) on noise ceilings.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypedDict, cast, get_args

import numpy as np
import numpy.typing as npt

from heartfelt.errors import InputError, suggestion
from heartfelt.stats import _bounds
from heartfelt.stats.ceilings import yardsticks
from heartfelt.stats.ceilings.number_ceiling import NumberMetric, number_ceiling, perfect_agreement
from heartfelt.stats.ceilings.vote_ceiling import HalfPanels, critical_value, fixed_panel_gain, vote_ceiling
from heartfelt.stats.ceilings.vote_family import METHOD as SMOOTH
from heartfelt.stats.ceilings.vote_family import smooth_ceiling
from heartfelt.stats.ceilings.vote_mixture import Matrix
from heartfelt.stats.ceilings.yardsticks import CATEGORY_METRICS, CategoryMetric, Keep, Metric, Statistic
from heartfelt.stats.columns.categories import answer_codes
from heartfelt.stats.columns.triples import IdCodes, Ids, Ints, Values, as_array, code
from heartfelt.stats.estimate import Estimate
from heartfelt.stats.ratings import Ratings, as_ratings
from heartfelt.stats.reliability.two_way_jackknife import NAME, group_variance, half_width

METRICS: tuple[str, ...] = get_args(Metric)
GROUPS = 20
_SCALES: dict[str, _bounds.Transform] = {"correlation": "fisher", **dict.fromkeys(CATEGORY_METRICS, "logit")}


@dataclass(frozen=True, slots=True, kw_only=True)
class Ceiling:
    """Ceilings of one metric: overall, per group and within cells, with two yardsticks.

    ``cell_means`` leaves the item's own label out of its cell's mean, ``cell_means_in_sample`` does not.
    ``human`` is one rating against the item's other ratings. ``half_panels`` is the check of the vote model
    behind the ceiling of categories. ``smooth`` is the ceiling of categories under a smooth family of vote
    distributions, narrower than the bounds of ``overall``, which assume none.
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
    smooth: Estimate | None = None


def ceiling(
    rater: Ids | Ratings,
    item: Ids = None,
    value: Values = None,
    *,
    cell: Any = None,
    group: Any = None,
    metric: Metric = "correlation",
    confidence: float = 0.95,
    seed: int = 0,
) -> Ceiling:
    """The best expected score of a predictor against the labels these ratings make.

    ``cell`` and ``group`` give each item's cell (such as system x intent) and group (such as system): a
    column parallel to the ratings, a tuple of such columns, or a mapping from item to name. Of categories,
    values may be anything hashable.
    """
    _bounds.check_confidence(confidence)
    if metric not in METRICS:
        raise InputError(f"There is no ceiling for the metric '{metric}'.", suggestion(metric, METRICS, "Metrics"))
    d, used = _ratings(rater, item, value, metric)
    cells = None if cell is None else _of_items(cell, d, used, "cell")
    groups = None if group is None else _of_items(group, d, used, "group")
    if d.size == 0:
        gone = Estimate.missing("there are no ratings", f"ceiling, {metric}", d.counts)
        return Ceiling(
            metric=metric, overall=gone, within_cells=gone, cell_means=gone, cell_means_in_sample=gone, human=gone
        )
    work = _Work(d=d, cells=None if cells is None else cells.codes, metric=metric, confidence=confidence, seed=seed)
    overall, half_panels = work.overall()
    parts = {}
    for index, name in enumerate(groups.names if groups is not None else ()):
        assert groups is not None
        part = d.part(groups.codes[d.item] == index)
        parts[name] = replace(work, d=part, cells=None).overall()[0]
    return Ceiling(
        metric=metric,
        overall=overall,
        within_cells=work.within_cells(),
        cell_means=work.cell_means(in_sample=False),
        cell_means_in_sample=work.cell_means(in_sample=True),
        human=work.jackknifed(yardsticks.of_single_rater(d, metric), "one rating against the item's others"),
        groups=parts,
        ratings_per_item=float(1.0 / np.mean(1.0 / d.per_item)),
        half_panels=half_panels,
        smooth=work.smooth(),
    )


def _ratings(rater: Ids | Ratings, item: Ids, value: Values, metric: Metric) -> tuple[Ratings, Keep | None]:
    """The ratings (of categories, as codes), and which rows of the columns were used if not all."""
    if isinstance(rater, Ratings):
        if metric in CATEGORY_METRICS:
            return replace(rater, value=code(rater.value).codes.astype(np.float64)), None
        return rater, None
    numbers = value
    if metric in CATEGORY_METRICS:
        codes, _ = answer_codes(as_array(value))
        numbers = np.where(codes < 0, np.nan, codes)
    d = as_ratings(rater, item, numbers)
    return d, np.isfinite(np.asarray(numbers, dtype=np.float64)) if d.left_out else None


class _Votes(TypedDict):
    """What the ceilings of categories are computed from."""

    counts: Matrix
    critical: float
    confidence: float
    seed: int
    gain: float


@dataclass(frozen=True, slots=True, kw_only=True)
class _Work:
    """Ratings, and how their ceilings are computed."""

    d: Ratings
    cells: Ints | None
    metric: Metric
    confidence: float
    seed: int

    def _point_estimate(self, value: float, method: str) -> Estimate:
        return Estimate(value=value, method=method, confidence=self.confidence, counts=self.d.counts)

    def overall(self) -> tuple[Estimate, HalfPanels | None]:
        if self.metric in CATEGORY_METRICS:
            return self._category_ceiling(cast("CategoryMetric", self.metric))
        return self._number_ceiling(self.d, None), None

    def _number_ceiling(self, d: Ratings, cells: Ints | None) -> Estimate:
        return number_ceiling(d, cells, cast("NumberMetric", self.metric), self.confidence, self.seed)

    def within_cells(self) -> Estimate:
        method = f"ceiling within cells, {self.metric}"
        if self.cells is None:
            return Estimate.missing("no cells were given", method, self.d.counts)
        if self.metric in CATEGORY_METRICS:
            return Estimate.missing("categories have no cell means to remove", method, self.d.counts)
        shared = np.bincount(self.cells)[self.cells] >= 2
        if not shared.any():
            return Estimate.missing("every cell holds one item", method, self.d.counts)
        if shared.all():
            return self._number_ceiling(self.d, self.cells)
        cells = np.unique(self.cells[shared], return_inverse=True)[1].astype(np.int64)
        return self._number_ceiling(self.d.part(shared[self.d.item]), cells)

    def cell_means(self, in_sample: bool) -> Estimate:
        method = "cell means" + (", in sample" if in_sample else ", own label left out")
        if self.cells is None:
            return Estimate.missing("no cells were given", method, self.d.counts)
        return self.jackknifed(yardsticks.of_cell_means(self.d, self.cells, self.metric, in_sample), method)

    def _category_ceiling(self, metric: CategoryMetric) -> tuple[Estimate, HalfPanels | None]:
        method = f"{metric} of the long-run category on untied items, nonparametric mixture of vote distributions"
        if self.d.per_item.max() < 2:
            return Estimate.missing("no item has two ratings", method, self.d.counts), None
        solved = vote_ceiling(**self._votes(), metric=metric)
        counted = self.d.counts | {"labels": solved.labels}
        if solved.labels == 0:
            return Estimate.missing("every item is tied, so there are no labels", method, counted), None
        estimate = replace(solved.estimate, method=method, counts=counted)
        halves = solved.half_panels
        if halves is not None and not halves.fits:
            reason = (
                f"the vote model predicts that half panels agree on {halves.predicted:.2f} of the items, "
                f"but they agree on {halves.observed:.2f}"
            )
            return estimate.without_interval(reason), halves
        return estimate, halves

    def smooth(self) -> Estimate | None:
        """The ceiling of categories under the smooth family of votes; None for numbers."""
        if self.metric not in CATEGORY_METRICS:
            return None
        if self.d.per_item.max() < 2:
            return Estimate.missing("no item has two ratings", SMOOTH, self.d.counts)
        smoothed = smooth_ceiling(**self._votes(), metric=cast("CategoryMetric", self.metric))
        return replace(smoothed, counts=dict(self.d.counts))

    def _votes(self) -> _Votes:
        counts = yardsticks.category_counts(self.d)
        return {
            "counts": counts,
            "critical": critical_value(self.d, counts, self.confidence),
            "confidence": self.confidence,
            "seed": self.seed,
            "gain": fixed_panel_gain(self.d, counts, self.seed),
        }

    def _at_limit(self, value: float, method: str) -> Estimate:
        """A value of 1, or an error of 0, with the one-sided bound that perfect agreement gives."""
        point_estimate = self._point_estimate(value, method)
        if self.metric in CATEGORY_METRICS:
            if value != 1.0:
                return point_estimate.without_interval("the value is at its limit")
            items = len(self.d.items)
            low = (1.0 - self.confidence) ** (1.0 / items)
            return point_estimate.with_interval(
                low, 1.0, f"one-sided, rule of three over {items} items", self.confidence
            )
        agreed = perfect_agreement(self.d, self.confidence)
        if agreed is None or agreed.error == 0.0:
            return point_estimate.without_interval("the value is at its limit")
        own_error, others_error = (agreed.error, agreed.error / max(float(np.median(self.d.per_item)) - 1.0, 1.0))
        low, high = 0.0, float(np.sqrt(own_error + others_error))
        if self.metric == "correlation":
            v = float(self.d.item_means.var())
            low, high = v / float(np.sqrt((v + own_error) * (v + others_error))), 1.0
        return point_estimate.with_interval(low, high, agreed.interval, self.confidence)

    def jackknifed(self, statistic: Statistic, method: str) -> Estimate:
        """The statistic with a two-way group-jackknife interval on the scale that suits the metric."""
        value = statistic(np.ones(self.d.size, np.bool_))
        if value is None:
            return Estimate.missing("too few items or no variance", method, self.d.counts)
        scale = _bounds.SCALES[_SCALES.get(self.metric, "log")]
        z = scale.to(value)
        if not math.isfinite(z):
            return self._at_limit(value, method)

        def scaled(keep: Keep) -> float | None:
            without = statistic(keep)
            moved = math.nan if without is None else scale.to(without)
            return moved if math.isfinite(moved) else None

        point_estimate = self._point_estimate(value, method)
        spread = group_variance(self.d, scaled, GROUPS, self.seed)
        if spread is None:
            return point_estimate.without_interval("too few items or raters to leave groups of them out")
        variance, units = spread
        half = half_width(variance, units - 1, self.confidence)
        return point_estimate.with_interval(*scale.interval(z, half), f"{NAME}, {units} groups", self.confidence)


def _of_items(column_or_mapping: Any, d: Ratings, used: Keep | None, column_name: str) -> IdCodes:
    """Code the cell or group of each item, from a mapping, a column parallel to the ratings or a tuple of them."""
    if isinstance(column_or_mapping, Mapping):
        absent = [name for name in d.items if name not in column_or_mapping]
        if absent:
            raise InputError(
                f"The mapping of items to {column_name}s lacks item {absent[0]!r} ({len(absent)} in all).",
                f"Give every rated item a {column_name}.",
            )
        return code([column_or_mapping[name] for name in d.items])
    columns = column_or_mapping if isinstance(column_or_mapping, tuple) else (column_or_mapping,)
    first = np.zeros(len(d.items), np.int64)
    first[d.item[::-1]] = np.arange(d.size)[::-1]
    parts = [_checked(as_array(column), d, used, first, column_name) for column in columns]
    names = [[part.names[c] for c in part.codes[first]] for part in parts]
    return code(names[0] if len(parts) == 1 else list(zip(*names, strict=True)))


def _checked(column: npt.NDArray[Any], d: Ratings, used: Keep | None, first: Ints, column_name: str) -> IdCodes:
    """The codes of a column of the ratings in use, the same for all ratings of an item, whose ``first`` is given."""
    size = d.size if used is None else used.size
    if column.size != size:
        raise InputError(
            f"The {column_name} column has {column.size} entries for {size} ratings.", "Pass one entry per rating."
        )
    part = code(column if used is None else column[used])
    differs = np.flatnonzero(part.codes != part.codes[first[d.item]])
    if differs.size:
        raise InputError(
            f"Item {d.items[d.item[differs[0]]]!r} has more than one {column_name}.",
            f"An item belongs to one {column_name}; make the {column_name} column agree with the items.",
        )
    return part
