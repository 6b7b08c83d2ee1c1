"""Intraclass correlations: the share of variance that the items account for, in six forms.

| here | Shrout & Fleiss | McGraw & Wong | raters |
|---|---|---|---|
| icc1, icc1k | ICC(1,1), ICC(1,k) | ICC(1), ICC(k) | each item by its own; levels are error |
| icc2, icc2k | ICC(2,1), ICC(2,k) | ICC(A,1), ICC(A,k) | a sample; agreement, levels are error |
| icc3, icc3k | ICC(3,1), ICC(3,k) | ICC(C,1), ICC(C,k) | these; consistency, levels do not count |

The first of each pair speaks of one rating, the second of the mean of k.

Range: 1 at best. On complete data values come from mean squares and may be negative, down to -1/(k-1). On
incomplete data the one-way forms use n0 in place of k, and the two-way forms come from crossed variance
components by REML (never negative).

Intervals are two-way jackknives on the log F scale, the same on complete and incomplete data, which hold
when raters differ in gain or some are careless (``stats._two_way``). ``interval="f"`` asks for what R's psych
and most textbooks give on complete data: the F intervals of Shrout & Fleiss (1979) and McGraw & Wong (1996),
with Satterthwaite's degrees of freedom for icc2; for icc1 with unequal counts Wald's exact F (Wald 1940; Searle,
Casella & McCulloch 1992, 3.8). ``interval="model"`` adds profile likelihood (above 600 raters or items,
whichever are fewer, delta) for the two-way forms on incomplete data. Both assume raters alike.

The averaged forms speak of the mean of ``k`` ratings: k raters on complete data, n0 otherwise, or the number
passed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np

from heartfelt.errors import InputError
from heartfelt.stats._two_way import TwoWaySpread, attentive_pairs
from heartfelt.stats.estimate import Estimate
from heartfelt.stats.reliability import spearman_brown as sb
from heartfelt.stats.reliability.anova import OneWay, TwoWay, one_way, two_way
from heartfelt.stats.reliability.bounds import Quantity
from heartfelt.stats.reliability.components import ITEM_SHARE
from heartfelt.stats.reliability.crossed import REML, CrossedFit, Interval, check_confidence, fit_crossed
from heartfelt.stats.reliability.design import Design, rating_design
from heartfelt.stats.reliability.jackknife import (
    NAME,
    MomentJackknife,
    from_log_f,
    log_agreement,
    log_consistency,
    log_f,
    on_log_f,
)
from heartfelt.stats.triples import Floats, Ids, Values

Form: TypeAlias = Literal["icc1", "icc2", "icc3"]
IccInterval: TypeAlias = Literal["auto", "jackknife", "f", "model"]
INTERVALS = ("auto", "jackknife", "f", "model")
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
NO_ERROR = "there is no error variance, so the F ratio is infinite"
NO_ITEMS = "the items differ less than chance allows, so the F ratio is at zero"
NOT_COMPLETE = "the F interval of a two-way form needs every rater to have rated every item"


@dataclass(frozen=True, slots=True)
class Icc:
    """Six intraclass correlations; ``k`` is the number of ratings the averaged forms speak of."""

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

    @property
    def value(self) -> float | None:
        """The headline's value."""
        return self.headline.value

    @property
    def low(self) -> float | None:
        """The headline's lower bound."""
        return self.headline.low

    @property
    def high(self) -> float | None:
        """The headline's upper bound."""
        return self.headline.high

    def reliability_with(self, k: float, form: Form = "icc2") -> Estimate:
        """Reliability of the mean of ``k`` ratings."""
        return sb.reliability_with(self._single(form), k)

    def raters_needed(self, target: float, form: Form = "icc2") -> Estimate:
        """Raters per item needed for a reliability of ``target``."""
        return sb.raters_needed(self._single(form), target)

    def _single(self, form: str) -> Estimate:
        if form not in ("icc1", "icc2", "icc3"):
            raise InputError(f"There is no single-rating form '{form}'.", "Use 'icc1', 'icc2' or 'icc3'.")
        single: Estimate = getattr(self, form)
        return single

    def to_json(self) -> dict[str, Any]:
        """Plain objects for strict JSON."""
        return {form: getattr(self, form).to_json() for form in FORMS} | {
            "k": self.k,
            "complete": self.complete,
        }


def icc(
    rater: Ids,
    item: Ids,
    value: Values,
    *,
    confidence: float = 0.95,
    k: float | None = None,
    interval: IccInterval = "auto",
    seed: int = 0,
) -> Icc:
    """Intraclass correlations of ratings in parallel columns; any rating may be missing, none repeated.

    ``interval``: "auto" is the jackknife; "f" and "model" ask for intervals that assume raters alike.
    """
    check_confidence(confidence)
    if interval not in INTERVALS:
        raise InputError(f"There is no interval '{interval}' here.", "Use 'jackknife', 'f' or 'model'.")
    if k is not None and not k > 0:
        raise InputError(
            f"The number of ratings averaged must be positive; got {k}.", "Leave k out, or pass k > 0."
        )
    d = rating_design(rater, item, value)
    why = _why_none(d)
    if why is not None:
        return Icc(
            **{form: Estimate.missing(why, NAMES[form], d.counts) for form in FORMS}, k=k, complete=d.complete
        )
    table = one_way(d)
    averaged = float(k or (len(d.raters) if d.complete else table.n0))
    singles = _singles(d, table, confidence, interval, seed)
    forms: dict[str, Estimate] = {}
    for form, single in zip(("icc1", "icc2", "icc3"), singles, strict=True):
        forms[form] = _named(single, form)
        forms[form + "k"] = _mean_of(single, averaged, form)
    return Icc(k=averaged, complete=d.complete, **forms)


def _singles(d: Design, table: OneWay, confidence: float, interval: IccInterval, seed: int) -> list[Estimate]:
    """The three single-rating forms."""
    first = _one_way(table, d, confidence)
    if d.complete:
        second, third = _two_way_complete(two_way(d, table), d, confidence)
    else:
        second, third = _two_way_sparse(d, confidence, seed, interval == "model")
    if interval == "model":
        return [first, second, third]
    if interval == "f":
        known = d.complete or d.per_rater.max() == 1
        return [first, *(e if known else _without_interval(e, NOT_COMPLETE) for e in (second, third))]
    jackknife = MomentJackknife(d)
    why = jackknife.why_unsteady()
    if why is not None:
        exact = [e.why_no_interval == NO_ERROR for e in (first, second, third)]
        return [
            _without_interval(e, NO_ERROR if none else why)
            for e, none in zip((first, second, third), exact, strict=True)
        ]
    k = table.n0
    spreads = jackknife.spreads(
        log_f, lambda sums: log_agreement(sums, k), lambda sums: log_consistency(sums, k)
    )
    floor = None if d.complete else 0.0
    return [
        _jackknifed(e, spread, k, confidence, least)
        for e, spread, least in zip((first, second, third), spreads, (None, floor, floor), strict=True)
    ]


def _jackknifed(
    e: Estimate, spread: TwoWaySpread, k: float, confidence: float, floor: float | None
) -> Estimate:
    """The estimate with a two-way jackknife interval on the log F scale."""
    if e.value is None:
        return e
    if e.value >= 1.0 - 1e-12:
        return _without_interval(e, NO_ERROR)
    if 1.0 + k * e.value / (1.0 - e.value) <= 1e-6:
        return _without_interval(e, NO_ITEMS)
    centre = on_log_f(e.value, k)
    unseen = on_log_f(attentive_pairs(spread.rater_count) * max(e.value, 0.0), k)
    low, high = spread.bounds(centre, confidence, below=max(centre - unseen, 0.0) if e.value > 0 else 0.0)
    low, high = min(from_log_f(low, k), e.value), max(from_log_f(high, k), e.value)
    return replace(
        e,
        low=low if floor is None else max(low, floor),
        high=high,
        interval=f"{NAME}, log F",
        confidence=confidence,
        counts=dict(e.counts),
        why_no_interval=None,
    )


def _without_interval(e: Estimate, why: str) -> Estimate:
    return replace(e, low=None, high=None, interval="", counts=dict(e.counts), why_no_interval=why)


def _why_none(d: Design) -> str | None:
    if d.size == 0:
        return "there are no ratings"
    if len(d.items) == 1:
        return "there is only one item"
    if len(d.raters) == 1:
        return "there is only one rater"
    if d.per_item.max() == 1:
        return "no item has two ratings"
    if float(np.ptp(d.value)) == 0.0:
        return "all ratings are equal"
    return None


def _named(single: Estimate, form: str) -> Estimate:
    return replace(single, method=f"{NAMES[form]}, {single.method}", counts=dict(single.counts))


def _mean_of(single: Estimate, k: float, form: str) -> Estimate:
    """The averaged form: the single one stepped up to k ratings."""
    method = f"{NAMES[form + 'k']}, {single.method}, k = {k:.6g}"
    if single.value is None:
        return replace(single, method=method, counts=dict(single.counts))
    value = sb.stepped_up(single.value, k)
    if not np.isfinite(value):
        return Estimate.missing(
            f"ICC of {single.value:.3f} has no counterpart for {k:g} ratings", method, single.counts
        )
    low = None if single.low is None else sb.stepped_bound(single.low, k, value)
    if single.low is not None and not single.interval.startswith(NAME):
        exact = sb.stepped_up(single.low, k)
        low = exact if np.isfinite(exact) else low
    high = None if single.high is None else sb.stepped_up(single.high, k)
    return replace(single, value=value, low=low, high=high, method=method, counts=dict(single.counts))


def _one_way(t: OneWay, d: Design, confidence: float) -> Estimate:
    from scipy.special import fdtri

    method = "one-way analysis of variance"
    if not d.complete and np.ptp(d.per_item):
        method += f", n0 = {t.n0:.6g}"
    below = t.between + (t.n0 - 1.0) * t.within
    if below <= 0:
        return Estimate.missing("there is no variance between or within items", method, d.counts)
    value = (t.between - t.within) / below
    if t.within == 0.0:
        return Estimate(
            value, method=method, confidence=confidence, counts=d.counts, why_no_interval=NO_ERROR
        )
    alpha = (1.0 - confidence) / 2.0
    upper, lower = (float(fdtri(t.df_between, t.df_within, p)) for p in (1.0 - alpha, alpha))
    if np.ptp(d.per_item) == 0:
        ratios = [((t.between / t.within) / f - 1.0) / t.n0 for f in (upper, lower)]
        name = "F"
    else:
        ratios = [_wald_ratio(t, d.per_item.astype(np.float64), f) for f in (upper, lower)]
        name = "Wald's exact F for unequal counts"
    low, high = (ratio / (1.0 + ratio) for ratio in ratios)
    # With a handful of unequal items the moment estimate can fall below what any data could have: hold it inside.
    return Estimate(value, min(low, value), max(high, value), method, name, confidence, d.counts)


def _wald_ratio(t: OneWay, n: Floats, quantile: float) -> float:
    """The ratio of item to error variance at which the weighted F statistic equals the quantile."""
    from scipy.optimize import brentq

    sizes, at = np.unique(n, return_inverse=True)
    number = np.bincount(at).astype(np.float64)
    centre = float(t.item_means.mean())
    first = np.bincount(at, t.item_means - centre)
    second = np.bincount(at, (t.item_means - centre) ** 2)

    def excess(ratio: float) -> float:
        w = sizes / (1.0 + sizes * ratio)
        total = float(w @ number)
        spread = float(w @ second) - float(w @ first) ** 2 / total
        return spread / (t.df_between * t.within) - quantile

    floor = -1.0 / sizes[-1] * (1.0 - 1e-9)
    if excess(floor) <= 0:
        return float(floor)
    top = 1.0
    while excess(top) > 0 and top < 1e12:
        top *= 8.0
    return float(brentq(excess, floor, top, xtol=1e-14, rtol=1e-13)) if top < 1e12 else top


def _two_way_complete(t: TwoWay, d: Design, confidence: float) -> tuple[Estimate, Estimate]:
    n, k = t.n, t.k
    method = "two-way analysis of variance"
    below_a = t.items + (k - 1) * t.residual + k * (t.raters - t.residual) / n
    below_c = t.items + (k - 1) * t.residual
    gone = "there is no variance between items"
    agreement = Estimate.missing(gone, method, d.counts)
    if below_c <= 0:
        return agreement, agreement
    if below_a <= 0 or (t.items - t.residual) / below_a < -1.0:
        # Few items whose raters' levels are more alike than their noise allows: the formula leaves its range.
        agreement = Estimate.missing(
            "the raters' levels differ less than their noise, on too few items", method, d.counts
        )
        return agreement, _consistency(t, d, confidence, method)
    r = (t.items - t.residual) / below_a
    exact = _consistency(t, d, confidence, method)
    if t.residual == 0.0 and t.raters == 0.0:
        return replace(exact, value=r, counts=d.counts), exact
    low, high = _agreement_bounds(t, r, 0.5 + confidence / 2.0)
    agreement = Estimate(r, low, high, method, "F, Satterthwaite degrees of freedom", confidence, d.counts)
    return agreement, exact


def _consistency(t: TwoWay, d: Design, confidence: float, method: str) -> Estimate:
    """ICC(C,1) of complete data with its F interval."""
    from scipy.special import fdtri

    n, k = t.n, t.k
    value = (t.items - t.residual) / (t.items + (k - 1) * t.residual)
    if t.residual == 0.0:
        return Estimate(value, None, None, method, "", confidence, d.counts, None, NO_ERROR)
    df, tail = (n - 1) * (k - 1), 0.5 + confidence / 2.0
    ratio = t.items / t.residual
    low = ratio / float(fdtri(n - 1, df, tail))
    high = ratio * float(fdtri(df, n - 1, tail))
    return Estimate(
        value, (low - 1) / (low + k - 1), (high - 1) / (high + k - 1), method, "F", confidence, d.counts
    )


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
    rest = k * t.raters + (k * n - k - n) * t.residual
    low = n * (t.items - f_low * t.residual) / (f_low * rest + n * t.items)
    high = n * (f_high * t.items - t.residual) / (rest + n * f_high * t.items)
    return low, high


def _two_way_sparse(d: Design, confidence: float, seed: int, bounds: bool) -> tuple[Estimate, Estimate]:
    fit: CrossedFit | str = fit_crossed(d, seed=seed)
    if isinstance(fit, str):
        gone = Estimate.missing(fit, REML, d.counts)
        return gone, gone
    interval: Interval = "auto" if bounds else "none"
    return fit.estimate(ITEM_SHARE, confidence, interval), fit.estimate(CONSISTENCY, confidence, interval)
