"""Krippendorff's alpha: agreement among any number of raters with ratings missing anywhere.

``alpha = 1 - observed / expected disagreement``: 1 is perfect agreement, 0 what chance would give, below 0
systematic disagreement. Observed disagreement is the mean squared difference between two ratings of one item
(an item weighs by its ratings), expected the mean over any two pairable ratings. A rating is pairable when
its item has another; the rest are counted as ``unused`` and take no part.

Levels: ``nominal`` (categories, words allowed), ``ordinal`` (mid-ranks among pairable values), ``interval``,
``ratio`` (from zero up); for answers that are sets, such as tags, ``jaccard`` and ``masi`` (``sets``). Cost grows with the
number of ratings, not with the number of distinct values.

Missing: fewer than two items with two ratings (on one item observed and expected disagreement are the same
pairs, so alpha would be 0 whatever the raters do), or no two pairable ratings that differ (0 / 0).

Source: Krippendorff, Content Analysis, 3rd edition, 2013, chapter 11; Computing Krippendorff's
Alpha-Reliability, 2011. Intervals: see ``heartfelt.stats.agreement.interval``.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from heartfelt.errors import InputError, suggestion
from heartfelt.stats._bounds import percentile
from heartfelt.stats.agreement.distance import LEVELS, RatingDistances, distances, midranks, placed
from heartfelt.stats.agreement.grouped import Grouped, Prior, contiguous, differences_in, duplicate, grouped, is_whole
from heartfelt.stats.agreement.interval import Interval, leave_out, wanted, with_bounds
from heartfelt.stats.agreement.sets import SET_DISTANCES, SetDistances, as_sets, prior_sets, set_distances
from heartfelt.stats.columns.paired import same_length
from heartfelt.stats.columns.triples import as_array
from heartfelt.stats.estimate import Estimate, FutureRaters
from heartfelt.stats.reliability.rater_differences import USUAL
from heartfelt.streams import stream

METHODS = {"jaccard": "Jaccard distance of sets", "masi": "MASI distance of sets"}
NO_PAIRS = "no item has two or more ratings"
ONE_ITEM = "only one item has two or more ratings, so chance agreement is not known"
NO_DIFFERENCE = "all pairable ratings are the same, so no disagreement could be expected"


def alpha(
    rater: Any,
    item: Any,
    value: Any,
    level: str = "interval",
    *,
    interval: str | Interval | None = "jackknife",
    resample: str | None = None,
    seed: int = 0,
    prior: Prior = None,
    future_raters: FutureRaters | None = None,
) -> Estimate:
    """Krippendorff's alpha of parallel columns; ``rater=None`` for votes without identities.

    ``interval`` is ``"jackknife"``, ``"bootstrap"``, an ``Interval`` or None; ``resample`` ``"both"`` raters
    and items (the default) or ``"items"`` alone, which takes the raters as given. ``prior`` adds a machine's
    value per item as one more rater, who is never left out or resampled. At the levels ``jaccard`` and ``masi`` each value
    is a list or set of members; the interval is a jackknife. ``future_raters="careless"`` widens the jackknife to
    ``bound_if_careless``.
    """
    levels = (*LEVELS, *SET_DISTANCES)
    if level not in levels:
        raise InputError(f"No level of measurement is called {level!r}.", suggestion(str(level), levels))
    from heartfelt.stats.agreement.kernels import _kernels_resampling as kernels

    sets = level in SET_DISTANCES
    plan = wanted(interval, resample, "jackknife" if sets else None, future_raters)
    method = f"Krippendorff's alpha, {METHODS.get(level, level)}"
    if sets:
        value, prior = as_sets(value), prior_sets(prior)
    elif plan is None and prior is None:
        quick = _quick(rater, item, value, level)
        if quick is not None:
            return _estimate(*quick, method)
    ratings = grouped(rater, item, value, numbers=not sets and level != "nominal", prior=prior)
    counts = ratings.counts()
    if counts["items"] == 0:
        return Estimate.missing(NO_PAIRS, method, counts)
    by_rater = plan is not None and plan.method == "jackknife" and ratings.rater.size > 0
    parts = set_distances(ratings, level, by_rater, seed) if sets else distances(ratings, level, raters=by_rater)
    if isinstance(parts, SetDistances) and parts.sampled:
        method += f", expected disagreement from {parts.sampled:,} of {parts.kinds:,} different sets"
    _, within, across = kernels.totals(ratings.start, parts.inside, parts.across)
    estimate = _estimate(counts, within, across, method)
    if estimate.is_missing or plan is None:
        return estimate
    if plan.method == "bootstrap":
        return _bootstrap(estimate, ratings, level, plan, seed)
    return _jackknife(estimate, ratings, parts, plan)


def _estimate(counts: dict[str, int], within: float, across: float, method: str) -> Estimate:
    if counts["items"] == 0:
        return Estimate.missing(NO_PAIRS, method, counts)
    if across <= 0:
        return Estimate.missing(NO_DIFFERENCE, method, counts)
    if counts["items"] == 1:
        return Estimate.missing(ONE_ITEM, method, counts)
    n = counts["ratings"] + counts.get("priors", 0)
    return Estimate(value=1 - (n - 1) * within / across, method=method, counts=counts)


def _jackknife(estimate: Estimate, ratings: Grouped, parts: RatingDistances, plan: Interval) -> Estimate:
    from heartfelt.stats.agreement.kernels import _kernels_resampling as kernels

    by_item, by_rater, taken_away, cells, first, second = kernels.deletions(
        ratings.start, ratings.rater, parts.inside, parts.across, parts.by_rater, ratings.prior
    )
    used = ratings.sizes >= 2
    present = taken_away > 0
    spread = leave_out(
        by_item[used],
        by_rater[present] if ratings.rater.size else None,
        (cells, first, second),
        ratings.sizes[used],
        taken_away[present],
    )
    per_item = float(ratings.sizes[used].mean())
    differences = differences_in(ratings) if plan.resample == "both" else USUAL
    return with_bounds(estimate, spread, plan, per_item=per_item, differences=differences)


def _bootstrap(estimate: Estimate, ratings: Grouped, level: str, plan: Interval, seed: int) -> Estimate:
    people = estimate.counts.get("raters", 0)
    both = plan.resample == "both" and people >= 3
    out = _resampled(ratings, level, both, plan.resamples, stream(seed, "agreement", "alpha", level))
    usable = out[np.isfinite(out)]
    name = "bootstrap of items and raters (pigeonhole)" if both else "bootstrap of items"
    if plan.resample == "both" and not both:
        name += " (raters unknown)" if not ratings.rater.size else f" (only {people} raters)"
    counts = {**estimate.counts, "resamples": plan.resamples, "resamples_undefined": out.size - usable.size}
    point_estimate = replace(estimate, counts=counts)
    if usable.size < 0.9 * out.size:
        return point_estimate.without_interval("too few resamples have a value")
    if np.ptp(usable) == 0:
        return point_estimate.without_interval("all resamples are the same")
    low, high = percentile(usable, plan.confidence)
    return point_estimate.with_interval(low, high, f"{name}, percentile", plan.confidence)


def _resampled(
    ratings: Grouped, level: str, both: bool, resamples: int, rng: np.random.Generator
) -> npt.NDArray[np.float64]:
    """Alphas of resampled items, and raters too when ``both``; NaN where a resample has none."""
    from heartfelt.stats.agreement.kernels import _kernels_agreement as shared
    from heartfelt.stats.agreement.kernels import _kernels_resampling as kernels

    codes, scores = placed(ratings, level)
    kind = {"nominal": 0, "ordinal": 2}.get(level, 1)
    scores = scores - scores.mean(axis=0)
    tiny = 1e-12 * (float(np.square(scores).max()) if kind == 1 else 1.0)
    rater = ratings.rater if ratings.rater.size else np.zeros(ratings.value.size, np.int32)
    people = shared.participants(ratings.start, rater, int(rater.max()) + 1, 2) > 0
    if ratings.prior >= 0:
        people[ratings.prior] = False
    rater_numbers, items = np.flatnonzero(people), np.flatnonzero(ratings.sizes >= 2)
    weight = np.ones(people.size)
    out = np.empty(resamples)
    for at in range(resamples):
        sample = items[rng.integers(0, items.size, items.size)]
        times = np.bincount(sample, minlength=ratings.start.size - 1).astype(np.float64)
        if both:
            sample = rater_numbers[rng.integers(0, rater_numbers.size, rater_numbers.size)]
            weight = np.bincount(sample, minlength=people.size).astype(np.float64)
            if ratings.prior >= 0:
                weight[ratings.prior] = 1.0
        out[at] = kernels.weighted_alpha(ratings.start, rater, codes, scores, kind, times, weight, tiny)
    return out


def _quick(rater: Any, item: Any, value: Any, level: str) -> tuple[dict[str, int], float, float] | None:
    """Counts and both disagreements straight from whole-number ids, or None where that is not possible."""
    columns = {"item": item} | ({} if rater is None else {"rater": rater})
    if level == "ratio" or not all(map(is_whole, columns.values())):
        return None
    ids = {name: contiguous(as_array(column)) for name, column in columns.items()}
    items, raters, values = ids["item"], ids.get("rater"), contiguous(as_array(value))
    same_length({"item": items, "value": values, **ids})
    if not items.size or values.dtype.kind not in "iuf" or any(column.dtype != np.int64 for column in ids.values()):
        return None
    if values.dtype not in (np.int64, np.float64):
        values = values.astype(np.float64)
    low, width = _reach(items)
    sums = _sums(items, low, width, values, level) if width <= 4 * items.size + 1024 else None
    people = 0 if sums is None or raters is None else _check_raters(raters, items, low, width)
    if sums is None or people is None:
        return None
    counts = {"ratings": sums[0], "items": sums[3]} | ({} if raters is None else {"raters": people})
    return counts | ({"unused": sums[4]} if sums[4] else {}), sums[1], sums[2]


def _reach(column: npt.NDArray[Any]) -> tuple[int, int]:
    low = int(column.min())
    return low, int(column.max()) - low + 1


Sums = tuple[int, float, float, int, int]
"""Pairable ratings, observed and expected disagreement, pairable items, single ratings."""


def _sums(items: npt.NDArray[Any], low: int, width: int, values: npt.NDArray[Any], level: str) -> Sums | None:
    from heartfelt.stats.agreement.kernels import _kernels_agreement as kernels

    least, most = float(values.min()), float(values.max())
    # A span that is neither finite nor 0 nor within reach has no squares.
    if not (most == least or 1e-100 < most - least < 1e100):
        return None
    small = most - least + 1 <= min(4 * values.size, 1 << 20) and least == np.floor(least) and abs(least) < 2**52
    span = int(most - least) + 1 if small else 0
    # For plain values the shift only keeps the squares small; with a table it is the first code.
    columns = items, low, width, values
    if level == "interval":
        packed = _from_moments(*kernels.packed_moments(*columns, int(least))) if small and span <= 256 else None
        return packed or _from_moments(*kernels.moments(*columns, least, np.empty(0)))
    if not small:
        return None
    sums = _table_sums(*columns, (int(least), span), level) if width * span <= 16 * values.size + 4096 else None
    if sums is not None or level == "nominal":
        return sums
    integral, count = kernels.margins(*columns, int(least), span)
    return _from_moments(*kernels.moments(*columns, least, midranks(count))) if integral else None


def _from_moments(
    usable: bool, n: int, within: float, total: float, squares: float, used: int, single: int
) -> Sums | None:
    return (n, within, 2 * (n * squares - total * total), used, single) if usable else None


def _table_sums(
    items: npt.NDArray[Any], low: int, width: int, values: npt.NDArray[Any], reach: tuple[int, int], level: str
) -> Sums | None:
    """The same from a table of votes, for few small whole numbers."""
    from heartfelt.stats.agreement.kernels import _kernels_agreement as kernels

    ok, table = kernels.vote_table(items, low, width, values, *reach)
    if not ok:
        return None
    count, used, single = kernels.table_margins(table)
    n = int(count.sum())
    scores = midranks(count) if level == "ordinal" else np.empty(0)
    within = kernels.table_within(table, scores)
    if level == "nominal":
        return n, within, float(n) ** 2 - float(np.square(count, dtype=np.float64).sum()), used, single
    return _from_moments(True, n, within, float(count @ scores), float(count @ np.square(scores)), used, single)


def _check_raters(raters: npt.NDArray[Any], items: npt.NDArray[Any], low: int, width: int) -> int | None:
    """How many raters there are; an error where one rated an item twice; None where that takes the long way."""
    from heartfelt.stats.agreement.kernels import _kernels_agreement as kernels

    first, people = _reach(raters)
    if people > 4 * raters.size + 1024:
        return None
    has_rated = np.zeros(people, np.uint8)
    at = kernels.loose_duplicate(items, low, width, raters, has_rated, first)
    if at >= 0:
        raise duplicate(int(raters[at]), int(items[at]))
    return int(np.count_nonzero(has_rated)) if at == -1 else None
