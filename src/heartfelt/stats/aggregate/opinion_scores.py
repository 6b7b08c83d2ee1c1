"""Mean opinion scores after rater screening: Recommendations ITU-R BT.500 and ITU-T P.913 (clause 12.4).

BT.500 screening, per item: kurtosis (fourth over squared second moment, both with divisor n) between 2 and 4 sets the limits
at 2 standard deviations from the mean, otherwise sqrt(20). P and Q count a rater's ratings at or above the upper and at or
below the lower limit. A rater with N ratings is rejected if (P + Q) / N > 0.05 and |P - Q| / (P + Q) < 0.3. If that rejected
everybody, nobody is. Two points the Recommendation leaves open or states otherwise than the usual software: the standard
deviation has divisor n by default, as in sureal ("sample" gives n - 1, as printed in the Recommendation); an item rated alike
by all has no outlying ratings (sureal counts all of them as both above and below). N is the rater's own number of ratings;
sureal uses the number of items, the same on complete data (``of="all"``).

P.913 removes rater bias first, then screens as in BT.500. A rater's bias is the mean difference of their ratings from the
items' means; it is subtracted from their ratings, the raters are screened on the result, and the items' means are taken over
those retained. Biases are in points of the scale and are not forced to average zero. The published standard error is the
sample standard deviation of an item's ratings after removing bias, over the square root of their number. It ignores that
the biases were estimated from the same ratings and that the panel's own mean bias is random. ``standard_errors`` include both:
the variance of the ratings is divided by the degrees of freedom that items and biases leave, and the variance of the biases
over the number of raters is added. ``published_standard_errors`` has the plain one. Degrees of freedom are the item's ratings
less one.

A rater may rate an item more than once; repeats count as further ratings of that rater, as in the Recommendations.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal, TypeAlias

import numpy as np

from heartfelt.errors import InputError
from heartfelt.stats.aggregate.result import EQUAL, Aggregate
from heartfelt.stats.aggregate.sorted_ratings import SortedRatings, item_means, sorted_ratings
from heartfelt.stats.columns.triples import Floats, Ids, Values

Deviation: TypeAlias = Literal["population", "sample"]
Share: TypeAlias = Literal["own", "all"]
OUTLYING = 0.05
BALANCE = 0.3
TIE = 1e-9
"""How far, as a share, a kurtosis or a deviation may miss a limit by rounding."""


def bt500(rater: Ids, item: Ids, value: Values, *, sd: Deviation = "population", of: Share = "own") -> Aggregate:
    """Mean per item over the raters that pass BT.500 screening; ``rejected`` says which did not."""
    s = sorted_ratings(rater, item, value, repeats=True)
    return _screened_means(s, s.value, sd, of, "ITU-R BT.500")


def p913(rater: Ids, item: Ids, value: Values, *, sd: Deviation = "population", of: Share = "own") -> Aggregate:
    """Mean per item after bias removal and screening; ``bias`` and ``rejected`` are per rater."""
    s = sorted_ratings(rater, item, value, repeats=True)
    quality, _ = item_means(s.item, s.value, len(s.items))
    raters = len(s.raters)
    bias = np.bincount(s.rater, s.value - quality[s.item], raters) / np.bincount(s.rater, minlength=raters)
    screened = _screened_means(s, s.value - bias[s.rater], sd, of, "ITU-T P.913", bias)
    assert screened.rejected is not None
    rejected = screened.rejected
    raters = int(np.count_nonzero(~rejected))
    within = float(screened.counts.sum() - np.count_nonzero(screened.counts))
    freedom = within - max(raters - 1, 0)
    if freedom < 1 or raters < 2:
        reason = "too few ratings are left after items and raters' biases are fitted"
        return replace(screened, published_standard_errors=screened.standard_errors, why_no_interval=reason)
    bias_variance = float(bias[~rejected].var(ddof=1)) / raters
    errors = np.sqrt(screened.standard_errors**2 * (within / freedom) + bias_variance)
    errors = np.where(screened.standard_errors > EQUAL, errors, screened.standard_errors)
    return replace(screened, standard_errors=errors, published_standard_errors=screened.standard_errors)


def _screened_means(
    s: SortedRatings, value: Floats, sd: Deviation, of: Share, method: str, bias: Floats | None = None
) -> Aggregate:
    """Mean per item over the raters that pass screening, from sorted ratings whose values are ``value``.

    ``outlying`` is (P + Q) / N per rater, ``balance`` |P - Q| / (P + Q), NaN where P + Q is zero.
    """
    if sd not in ("population", "sample"):
        raise InputError(
            f"No standard deviation is called '{sd}'.", "Use 'population' (divisor n) or 'sample' (n - 1)."
        )
    if of not in ("own", "all"):
        raise InputError(f"The share of outlying ratings cannot be of '{of}'.", "Use 'own' or 'all'.")
    raters = len(s.raters)
    above, below = _outlying(s, value, sd)
    number = np.bincount(s.rater, minlength=raters).astype(np.float64)
    if of == "all" and raters:
        _, times = np.unique(s.item * raters + s.rater, return_counts=True)
        number = np.full(raters, float(len(s.items) * times.max()))
    out = above + below
    share = out / np.maximum(number, 1.0)
    balance = np.divide(np.abs(above - below), out, out=np.full(raters, np.nan), where=out > 0)
    rejected = (share > OUTLYING) & (np.nan_to_num(balance, nan=1.0) < BALANCE)
    notes: tuple[str, ...] = ()
    if raters and rejected.all():
        rejected = np.zeros(raters, np.bool_)
        notes = ("the rule would reject every rater, so none was rejected",)
    retained = ~rejected[s.rater]
    counts = np.bincount(s.item[retained], minlength=len(s.items))
    means, sds = item_means(s.item[retained], value[retained], len(s.items))
    errors = np.divide(sds, np.sqrt(counts), out=np.full(sds.size, np.nan), where=counts > 1)
    return Aggregate(
        **(s.facts | {"counts": counts}),
        values=means,
        standard_errors=errors,
        method=method,
        bias=bias,
        rejected=rejected,
        outlying=share,
        balance=balance,
        notes=notes,
        why_missing="all its raters were rejected",
        why_no_error="one rating is left, which has no spread",
    )


def _outlying(s: SortedRatings, value: Floats, sd: Deviation) -> tuple[Floats, Floats]:
    """Each rater's number of ratings at or above the upper limit of their item, and at or below the lower."""
    n, item, items = np.maximum(s.counts, 1), s.item, len(s.items)
    deviation = value - (np.bincount(item, value, items) / n)[item]
    squares = deviation**2
    second, fourth = (np.bincount(item, part, items) / n for part in (squares, squares * squares))
    largest = np.zeros(items)
    np.maximum.at(largest, item, np.abs(value))
    varies = (s.counts > 1) & (second > (1e-12 * largest) ** 2)
    kurtosis = np.divide(fourth, second * second, out=np.zeros(items), where=varies)
    normal = (kurtosis >= 2.0 * (1.0 - TIE)) & (kurtosis <= 4.0 * (1.0 + TIE))
    spread = np.sqrt(second * n / np.maximum(n - 1, 1)) if sd == "sample" else np.sqrt(second)
    limit = np.where(varies, np.where(normal, 2.0, np.sqrt(20.0)) * spread * (1.0 - TIE), np.inf)[item]
    sides = (deviation >= limit, deviation <= -limit)
    above, below = (np.bincount(s.rater[side], minlength=len(s.raters)) for side in sides)
    return above.astype(np.float64), below.astype(np.float64)
