"""Intraclass correlations: the share of variance that the items account for, in six forms.

| here | Shrout & Fleiss | McGraw & Wong | raters |
|---|---|---|---|
| icc1, icc1k | ICC(1,1), ICC(1,k) | ICC(1), ICC(k) | each item by its own; levels are error |
| icc2, icc2k | ICC(2,1), ICC(2,k) | ICC(A,1), ICC(A,k) | a sample; agreement, levels are error |
| icc3, icc3k | ICC(3,1), ICC(3,k) | ICC(C,1), ICC(C,k) | these; consistency, levels do not count |

The first of each pair is the reliability of one rating, the second that of the mean of k.

Range: 1 at best. On complete data values come from mean squares and may be negative, down to -1/(k-1). On incomplete
data the one-way forms use n0 in place of k, the effective number of ratings per item (N - sum n_i^2 / N) / (items - 1),
and the two-way forms come from crossed variance components by REML (never negative). Sums of squares are taken about
the grand mean, so large offsets lose no digits (Searle, Casella & McCulloch, 1992, chapter 3).

Intervals are two-way jackknives on the log F scale, the same on complete and incomplete data, for raters like these,
who may differ in level and gain; ``bound_if_careless`` is how low the value may be if some future raters are careless,
and ``future_raters="careless"`` widens the interval to it. Two raters cannot be left out: items are, and the raters are
taken to differ as raters usually do, as far as their ratings allow (``stats.rater_differences``). ``interval="f"`` asks
for what R's psych and most textbooks give on complete data: the F intervals of Shrout & Fleiss (1979) and McGraw & Wong
(1996), with Satterthwaite's degrees of freedom for icc2; for icc1 with unequal counts Wald's exact F (Wald 1940;
Searle, Casella & McCulloch 1992, 3.8). ``interval="model"`` adds profile likelihood (above 600 raters or items,
whichever are fewer, delta) for the two-way forms on incomplete data. Both assume raters alike.

The averaged forms refer to the mean of ``k`` ratings: k raters on complete data, n0 otherwise, or the number passed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np

from heartfelt.errors import InputError
from heartfelt.stats import _bounds
from heartfelt.stats.columns.triples import Floats, Ids, Ints, Values
from heartfelt.stats.estimate import Estimate, FutureRaters, check_future_raters
from heartfelt.stats.ratings import Ratings, as_ratings
from heartfelt.stats.reliability import spearman_brown as sb
from heartfelt.stats.reliability.components import QUANTITIES, share_bounds
from heartfelt.stats.reliability.crossed import REML, Interval, Quantity, fit_crossed
from heartfelt.stats.reliability.two_way_jackknife import (
    FOR_ALIKE,
    ITEMS_ALONE,
    NAME,
    MomentJackknife,
    Sums,
    TwoWaySpread,
    differences_of,
    log_f,
    log_ratio,
    moment_components,
    moment_jackknife,
    on_log_f,
)

Form: TypeAlias = Literal["icc1", "icc2", "icc3"]
IccInterval: TypeAlias = Literal["auto", "jackknife", "f", "model"]
SINGLES: tuple[Form, ...] = ("icc1", "icc2", "icc3")
FORMS = ("icc1", "icc1k", "icc2", "icc2k", "icc3", "icc3k")
NAMES = {
    "icc1": "ICC(1,1)",
    "icc1k": "ICC(1,k)",
    "icc2": "ICC(2,1) = ICC(A,1)",
    "icc2k": "ICC(2,k) = ICC(A,k)",
    "icc3": "ICC(3,1) = ICC(C,1)",
    "icc3k": "ICC(3,k) = ICC(C,k)",
}
CONSISTENCY = Quantity((1.0, 0.0, 0.0), (0.0, 0.0, 1.0))
NOT_COMPLETE = "the F interval of a two-way form needs every rater to have rated every item"


@dataclass(frozen=True, slots=True, kw_only=True)
class Icc:
    """Six intraclass correlations; ``k`` is the number of ratings the averaged forms refer to."""

    icc1: Estimate
    icc1k: Estimate
    icc2: Estimate
    icc2k: Estimate
    icc3: Estimate
    icc3k: Estimate
    k: float | None
    complete: bool

    @property
    def headline(self) -> Estimate:
        """ICC(2,1), or ICC(1,1) where the design does not support it."""
        return self.icc1 if self.icc2.is_missing else self.icc2

    def reliability_with(self, k: float, form: Form = "icc2") -> Estimate:
        """Reliability of the mean of ``k`` ratings."""
        return sb.reliability_with(self._single(form), k)

    def raters_needed(self, target: float, form: Form = "icc2") -> Estimate:
        """Raters per item needed for a reliability of ``target``."""
        return sb.raters_needed(self._single(form), target)

    def _single(self, form: str) -> Estimate:
        if form not in SINGLES:
            raise InputError(f"No single-rating form is called '{form}'.", "Use 'icc1', 'icc2' or 'icc3'.")
        single: Estimate = getattr(self, form)
        return single


@dataclass(frozen=True, slots=True, kw_only=True)
class OneWay:
    """Between and within mean squares of a one-way layout of items."""

    between: float
    within: float
    df_between: int
    df_within: int
    n0: float
    item_means: Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class TwoWay:
    """Mean squares of a complete layout of n items x k raters with one rating per cell."""

    items: float
    raters: float
    residual: float
    n: int
    k: int


def icc(
    rater: Ids | Ratings,
    item: Ids = None,
    value: Values = None,
    *,
    confidence: float = 0.95,
    k: float | None = None,
    interval: IccInterval = "auto",
    seed: int = 0,
    future_raters: FutureRaters = "alike",
) -> Icc:
    """Intraclass correlations of ratings in parallel columns; any rating may be missing, none repeated.

    ``interval``: "auto" is the jackknife; "f" and "model" ask for intervals that assume raters of equal quality.
    ``future_raters``: "careless" widens the jackknife to ``bound_if_careless``.
    """
    _bounds.check_confidence(confidence)
    check_future_raters(future_raters)
    if interval not in ("auto", "jackknife", "f", "model"):
        raise InputError(f"No interval here is called '{interval}'.", "Use 'jackknife', 'f' or 'model'.")
    if k is not None and not k > 0:
        raise InputError(f"The number of ratings averaged must be positive; got {k}.", "Leave k out, or pass k > 0.")
    d = as_ratings(rater, item, value)
    reason = _why_none(d)
    if reason is not None:
        gone = {form: Estimate.missing(reason, NAMES[form], d.counts) for form in FORMS}
        return Icc(**gone, k=k, complete=d.complete)
    table = one_way(d)
    averaged = float(k or (len(d.raters) if d.complete else table.n0))
    singles = [_one_way_icc(table, d, confidence), *_two_way_iccs(table, d, confidence, interval, seed)]
    by_jackknife = interval in ("auto", "jackknife")
    if by_jackknife:
        bounded = jackknifed(singles, d, table.n0, confidence, seed)
        singles = [e.for_future_raters(future_raters) for e in bounded]
    forms: dict[str, Estimate] = {}
    for form, single in zip(SINGLES, singles, strict=True):
        forms[form] = replace(single, method=f"{NAMES[form]}, {single.method}")
        method = f"{NAMES[form + 'k']}, {single.method}, k = {averaged:.6g}"
        forms[form + "k"] = sb.stepped(single, averaged, method, exact=not by_jackknife)
    if by_jackknife:
        forms = {form: e.informative(-1.0) for form, e in forms.items()}
    return Icc(k=averaged, complete=d.complete, **forms)


def _why_none(d: Ratings) -> str | None:
    if d.size == 0:
        return "there are no ratings"
    if len(d.items) == 1:
        return "there is only one item"
    if len(d.raters) == 1:
        return "there is only one rater"
    if d.per_item.max() == 1:
        return "no item has two ratings"
    return "all ratings are equal" if float(np.ptp(d.value)) == 0.0 else None


def one_way(d: Ratings) -> OneWay:
    """One-way analysis of variance of the items; needs two items and one item with two ratings."""
    grand = float(d.value.mean())
    centred = d.value - grand
    n = d.per_item
    sums = np.bincount(d.item, centred, minlength=n.size)
    means = sums / n
    between = _product(sums, means)
    total = _product(centred, centred)
    within = _clean(max(total - between, 0.0), total, d.size)
    between = max(between - float(centred.sum()) ** 2 / d.size, 0.0)
    df_between, df_within = n.size - 1, d.size - n.size
    n0 = (d.size - _product(n, n) / d.size) / df_between
    return OneWay(
        between=between / df_between,
        within=within / df_within,
        df_between=df_between,
        df_within=df_within,
        n0=n0,
        item_means=means + grand,
    )


def two_way(d: Ratings, table: OneWay) -> TwoWay:
    """Two-way analysis of variance of a complete design with two or more items and raters, from its one-way table."""
    n, k = len(d.items), len(d.raters)
    within = table.within * table.df_within
    total = table.between * table.df_between + within
    sums = np.bincount(d.rater, d.value - float(d.value.mean()), minlength=k)
    raters = _clean(float(sums @ sums) / n, total, d.size)
    residual = _clean(max(within - raters, 0.0), total, d.size)
    return TwoWay(items=table.between, raters=raters / (k - 1), residual=residual / ((n - 1) * (k - 1)), n=n, k=k)


def _product(a: Floats | Ints, b: Floats | Ints) -> float:
    """Inner product without BLAS, whose threads cost more than the sum; pairwise, so long sums keep their digits."""
    return float((a * b).sum())


def _clean(sum_of_squares: float, total: float, size: int) -> float:
    """A sum of squares, or zero where it is no more than the rounding of the total."""
    return 0.0 if sum_of_squares <= 1e-14 * total * size**0.5 else sum_of_squares


def _one_way_icc(t: OneWay, d: Ratings, confidence: float) -> Estimate:
    """ICC(1,1) with its F interval."""
    from scipy.special import fdtri

    method = "one-way analysis of variance"
    if np.ptp(d.per_item):
        method += f", n0 = {t.n0:.6g}"
    below = t.between + (t.n0 - 1.0) * t.within
    if below <= 0:
        return Estimate.missing("there is no variance between or within items", method, d.counts)
    value = (t.between - t.within) / below
    point_estimate = Estimate(value=value, method=method, confidence=confidence, counts=d.counts)
    if t.within == 0.0:
        return point_estimate.without_interval(NO_ERROR)
    alpha = (1.0 - confidence) / 2.0
    upper, lower = (float(fdtri(t.df_between, t.df_within, p)) for p in (1.0 - alpha, alpha))
    if np.ptp(d.per_item) == 0:
        ratios = [((t.between / t.within) / f - 1.0) / t.n0 for f in (upper, lower)]
        name = "F"
    else:
        ratios = [_wald_ratio(t, d.per_item.astype(np.float64), f) for f in (upper, lower)]
        name = "Wald's exact F for unequal counts"
    low, high = (ratio / (1.0 + ratio) for ratio in ratios)
    # With a handful of unequal items the moment estimate can fall outside the interval: extend it.
    return point_estimate.with_interval(min(low, value), max(high, value), name, confidence)


def _wald_ratio(t: OneWay, n: Floats, quantile: float) -> float:
    """The ratio of item to error variance at which the weighted F statistic equals the quantile."""
    from scipy.optimize import brentq

    sizes, at = np.unique(n, return_inverse=True)
    number = np.bincount(at).astype(np.float64)
    centred = t.item_means - float(t.item_means.mean())
    first, second = np.bincount(at, centred), np.bincount(at, centred**2)

    def excess(ratio: float) -> float:
        w = sizes / (1.0 + sizes * ratio)
        spread = float(w @ second) - float(w @ first) ** 2 / float(w @ number)
        return spread / (t.df_between * t.within) - quantile

    floor = -1.0 / sizes[-1] * (1.0 - 1e-9)
    if excess(floor) <= 0:
        return float(floor)
    top = 1.0
    while excess(top) > 0 and top < 1e12:
        top *= 8.0
    return float(brentq(excess, floor, top, xtol=1e-14, rtol=1e-13)) if top < 1e12 else top


def _two_way_iccs(
    table: OneWay, d: Ratings, confidence: float, interval: IccInterval, seed: int
) -> tuple[Estimate, Estimate]:
    """ICC(A,1) and ICC(C,1): from mean squares of complete data, else from crossed variance components."""
    if d.complete:
        return _complete_iccs(two_way(d, table), d, confidence)
    fit = fit_crossed(d, seed=seed)
    if isinstance(fit, str):
        gone = Estimate.missing(fit, REML, d.counts)
        return gone, gone
    how: Interval = "auto" if interval == "model" else "none"
    both = (fit.estimate(q, confidence, how) for q in (QUANTITIES["item_share"], CONSISTENCY))
    if interval == "f" and d.per_rater.max() > 1:
        both = (e.without_interval(NOT_COMPLETE) for e in both)
    agreement, consistency = both
    return agreement, consistency


def _complete_iccs(t: TwoWay, d: Ratings, confidence: float) -> tuple[Estimate, Estimate]:
    n, k = t.n, t.k
    method = "two-way analysis of variance"
    below_c = t.items + (k - 1) * t.residual
    below_a = below_c + k * (t.raters - t.residual) / n
    if below_c <= 0:
        gone = Estimate.missing("there is no variance between items", method, d.counts)
        return gone, gone
    consistency = _consistency(t, d, confidence, method)
    if below_a <= 0 or (t.items - t.residual) / below_a < -1.0:
        # Few items whose raters' levels are more alike than their noise allows: the formula leaves its range.
        reason = "the raters' levels differ less than their noise, on too few items"
        return Estimate.missing(reason, method, d.counts), consistency
    r = (t.items - t.residual) / below_a
    if t.residual == 0.0 and t.raters == 0.0:
        return replace(consistency, value=r), consistency
    point_estimate = Estimate(value=r, method=method, counts=d.counts)
    low, high = _agreement_bounds(t, r, 0.5 + confidence / 2.0)
    return point_estimate.with_interval(low, high, "F, Satterthwaite degrees of freedom", confidence), consistency


def _consistency(t: TwoWay, d: Ratings, confidence: float, method: str) -> Estimate:
    """ICC(C,1) of complete data with its F interval."""
    from scipy.special import fdtri

    n, k = t.n, t.k
    value = (t.items - t.residual) / (t.items + (k - 1) * t.residual)
    point_estimate = Estimate(value=value, method=method, confidence=confidence, counts=d.counts)
    if t.residual == 0.0:
        return point_estimate.without_interval(NO_ERROR)
    df, tail = (n - 1) * (k - 1), 0.5 + confidence / 2.0
    ratio = t.items / t.residual
    ends = ratio / float(fdtri(n - 1, df, tail)), ratio * float(fdtri(df, n - 1, tail))
    low, high = ((end - 1) / (end + k - 1) for end in ends)
    return point_estimate.with_interval(low, high, "F", confidence)


def _agreement_bounds(t: TwoWay, r: float, tail: float) -> tuple[float, float]:
    """McGraw & Wong (1996), table 7, case 2."""
    from scipy.special import fdtri

    n, k = t.n, t.k
    a = k * r / (n * (1.0 - r))
    b = 1.0 + k * r * (n - 1) / (n * (1.0 - r))
    parts = (a * t.raters) ** 2 / (k - 1) + (b * t.residual) ** 2 / ((n - 1) * (k - 1))
    v = (a * t.raters + b * t.residual) ** 2 / parts if parts > 0 else float((n - 1) * (k - 1))
    v = max(v, 1e-6)
    f_low, f_high = float(fdtri(n - 1, v, tail)), float(fdtri(v, n - 1, tail))
    error_squares = k * t.raters + (k * n - k - n) * t.residual
    low = n * (t.items - f_low * t.residual) / (f_low * error_squares + n * t.items)
    high = n * (f_high * t.items - t.residual) / (error_squares + n * f_high * t.items)
    return low, high


LEVEL_ROUNDS = 20
NO_ERROR = "there is no error variance, so the F ratio is infinite"
NO_ITEMS = "the items differ less than chance allows, so the F ratio is at zero"


def jackknifed(singles: list[Estimate], d: Ratings, k: float, confidence: float, seed: int) -> list[Estimate]:
    """The single-rating forms, each with its interval; ``k`` ratings per item set the scale of log F."""
    jackknife = moment_jackknife(d)
    reason = jackknife.why_unsteady(fewest_raters=2)
    if reason is not None:
        return [e.without_interval(NO_ERROR if e.why_no_interval == NO_ERROR else reason) for e in singles]

    def statistics(sums: Sums) -> list[Floats]:
        of_item, _, residual, error = moment_components(sums)
        return [log_f(sums), log_ratio(of_item, error, k), log_ratio(of_item, residual, k)]

    spreads, floor = jackknife.spreads(statistics), -np.inf
    if not d.complete:
        # REML never gives a negative share, and of incomplete data it knows consistency better than moments do: those of
        # ratings less their raters' levels come close.
        floor = 0.0
        spreads[2] = MomentJackknife(_without_levels(d, seed)).spreads(lambda sums: [log_f(sums)])[0]
    differences = differences_of(d)
    responses = differences.in_one_way, differences.in_agreement, lambda _: 0.0
    floors = -np.inf, floor, floor
    return [
        _on_log_f(e, spread, k, confidence, lowest, differences.gain, response)
        for e, spread, lowest, response in zip(singles, spreads, floors, responses, strict=True)
    ]


def _without_levels(d: Ratings, seed: int) -> Ratings:
    """The ratings less their raters' levels, as the crossed model predicts them."""
    fit = fit_crossed(d, seed=seed)
    if isinstance(fit, str):
        return d
    item, rater, residual = (float(v) for v in fit.variances)
    if min(item, rater, residual) <= 0.0:
        return d
    value, level = d.value - float(d.value.mean()), np.zeros(len(d.raters))
    for _ in range(LEVEL_ROUNDS):
        shared = np.bincount(d.item, value - level[d.rater]) / (d.per_item + residual / item)
        level = np.bincount(d.rater, value - shared[d.item]) / (d.per_rater + residual / rater)
    return replace(d, value=d.value - level[d.rater])


def _on_log_f(
    e: Estimate,
    spread: TwoWaySpread,
    k: float,
    confidence: float,
    floor: float,
    gain: float,
    level_response: Callable[[float], float],
) -> Estimate:
    if e.value is None:
        return e
    if e.value >= 1.0 - 1e-12:
        return e.without_interval(NO_ERROR)
    if 1.0 + k * e.value / (1.0 - e.value) <= 1e-6:
        return e.without_interval(NO_ITEMS)
    at = level_response(on_log_f(e.value, k))
    low, high, careless = share_bounds(e.value, k, spread, confidence, floor=floor, gain=gain, level_response=at)
    name = NAME if spread.raters > 0 or spread.rater_count > 2 else ITEMS_ALONE
    bounded = e.with_interval(low, high, f"{name}, log F, {FOR_ALIKE}", confidence)
    return replace(bounded, bound_if_careless=careless)
