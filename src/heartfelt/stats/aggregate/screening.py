"""Rater screening of Recommendation ITU-R BT.500, on ratings sorted by item.

Per item: kurtosis (fourth over squared second moment, both with divisor n) between 2 and 4 sets the limits
at 2 standard deviations from the mean, otherwise sqrt(20). P and Q count a rater's ratings at or above the
upper and at or below the lower limit. A rater with N ratings is rejected if (P + Q) / N > 0.05 and |P - Q|
/ (P + Q) < 0.3. If that rejected everybody, nobody is.

Two points the Recommendation leaves open or states otherwise than the usual software: the standard
deviation has divisor n by default, as in sureal ("sample" gives n - 1, as printed in the Recommendation);
an item rated alike by all has no outlying ratings (sureal counts all of them as both above and below). N is
the rater's own number of ratings; sureal uses the number of items, the same on complete data
(``of="all"``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from heartfelt.errors import InputError
from heartfelt.stats.aggregate.result import Aggregate, Bools
from heartfelt.stats.aggregate.sorted_ratings import SortedRatings
from heartfelt.stats.triples import Floats

Deviation: TypeAlias = Literal["population", "sample"]
Share: TypeAlias = Literal["own", "all"]
OUTLYING = 0.05
BALANCE = 0.3


@dataclass(frozen=True, slots=True)
class Screening:
    """``outlying`` is (P + Q) / N per rater, ``balance`` |P - Q| / (P + Q), NaN where P + Q is zero."""

    rejected: Bools
    outlying: Floats
    balance: Floats
    notes: tuple[str, ...]


def screen(s: SortedRatings, value: Floats, sd: Deviation, of: Share) -> Screening:
    """Screen the raters of sorted ratings whose values are ``value``."""
    from heartfelt.stats import _kernels_aggregate as kernels

    if sd not in ("population", "sample"):
        raise InputError(
            f"There is no standard deviation '{sd}'.", "Use 'population' (divisor n) or 'sample' (n - 1)."
        )
    if of not in ("own", "all"):
        raise InputError(f"The share of outlying ratings cannot be of '{of}'.", "Use 'own' or 'all'.")
    raters = len(s.raters)
    above, below = kernels.outlying(s.starts, s.rater, value, raters, sd == "sample")
    own = np.bincount(s.rater, minlength=raters).astype(np.float64)
    number = own if of == "own" else np.full(raters, float(len(s.items)) * _most_repeats(s))
    out = above + below
    share = out / np.maximum(number, 1.0)
    balance = np.divide(np.abs(above - below), out, out=np.full(raters, np.nan), where=out > 0)
    rejected = (share > OUTLYING) & (np.nan_to_num(balance, nan=1.0) < BALANCE)
    notes: tuple[str, ...] = ()
    if raters and rejected.all():
        rejected = np.zeros(raters, np.bool_)
        notes = ("the rule would reject every rater, so none was rejected",)
    return Screening(rejected, share, balance, notes)


def means_of_kept(
    s: SortedRatings, value: Floats, screening: Screening, method: str, bias: Floats | None = None
) -> Aggregate:
    """Mean per item over the raters not rejected."""
    from heartfelt.stats import _kernels_aggregate as kernels

    kept = ~screening.rejected[s.rater] if len(s.raters) else np.ones(0, np.bool_)
    counts = (
        np.add.reduceat(np.append(kept, False).astype(np.int64), s.starts[:-1]) if len(s.items) else s.counts
    )
    starts = np.concatenate([[0], np.cumsum(counts)])
    means, sds = kernels.item_means(starts, value[kept])
    errors = np.divide(sds, np.sqrt(counts), out=np.full(sds.size, np.nan), where=counts > 1)
    return Aggregate(
        s.items,
        means,
        errors,
        counts,
        method,
        raters=s.raters,
        bias=bias,
        rejected=screening.rejected,
        outlying=screening.outlying,
        balance=screening.balance,
        left_out=s.left_out,
        notes=screening.notes,
        why_missing="all its raters were rejected",
        why_no_error="one rating is left, which has no spread",
    )


def _most_repeats(s: SortedRatings) -> float:
    """The largest number of times a rater rated one item."""
    if s.rater.size == 0:
        return 1.0
    item = np.repeat(np.arange(len(s.items)), s.counts)
    _, times = np.unique(item * len(s.raters) + s.rater, return_counts=True)
    return float(times.max())
