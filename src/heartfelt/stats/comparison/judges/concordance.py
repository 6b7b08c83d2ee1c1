"""Concordance of rankings: how far raters put the same set in the same order.

Kendall's W (Kendall and Babington Smith 1939) is the spread of the members' rank sums as a share of what it would be if all
raters agreed, from 0 to 1. Raters who guess give 1/m on average where m rank a set, so W compares only panels of one size.
The mean correlation between the ranks of two raters does not depend on m; for one set without shared ranks it is
(m W - 1) / (m - 1), and guessing gives 0. Shared ranks count with their mean, and W is corrected for them.

Several sets are pooled: sums over sets above and below the line. A set is known by its members; only whole rankings of sets
that two or more raters ranked are used. The test of guessing adds up Friedman's chi-square over sets.
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from heartfelt.errors import InputError
from heartfelt.stats._bounds import check_confidence, with_t
from heartfelt.stats.columns.triples import Floats, Ids, Values, as_array, as_floats, code
from heartfelt.stats.estimate import Estimate
from heartfelt.stats.reliability.two_way_jackknife import jackknife_variance

_W = "Kendall's W"
_CORRELATION = "mean rank correlation between two raters"


@dataclass(frozen=True, slots=True, kw_only=True)
class RankConcordance:
    """How far raters agree on the order of sets."""

    w: Estimate
    """Kendall's W, pooled over sets; it has no interval, since it depends on the number of raters."""
    correlation: Estimate
    """The mean rank correlation between two raters of the same set, with raters as the sample."""
    chi_square: float | None = None
    df: int = 0
    p_value: float | None = None
    """Of the hypothesis that every ranking is drawn at random."""


def rank_concordance(rater: Ids, trial: Ids, item: Ids, rank: Values, *, confidence: float = 0.95) -> RankConcordance:
    """Concordance of rankings: one row per rater, trial and ranked item; rank 1 is the best."""
    check_confidence(confidence)
    raters, sets, used = _rankings(rater, trial, item, rank)
    above, below = np.zeros(raters), np.zeros(raters)
    spread = most = chi_square = 0.0
    df = rankings = 0
    for members, ranks in sets:
        centred = ranks - ranks.mean(axis=1, keepdims=True)
        total, size = centred.sum(axis=0), np.sqrt((centred**2).sum(axis=1))
        # What the spread of the rank sums would be if all raters agreed.
        most_here = len(members) * float((size**2).sum())
        if most_here <= 0:
            continue
        spread_here = float((total**2).sum())
        spread, most = spread + spread_here, most + most_here
        # Each rater's products with the others, and what they would be if the two agreed.
        np.add.at(above, members, (centred * (total - centred)).sum(axis=1))
        np.add.at(below, members, size * (size.sum() - size))
        chi_square += len(members) * (ranks.shape[1] - 1) * spread_here / most_here
        df += ranks.shape[1] - 1
        rankings += len(members)
    counts = {"rankings": rankings, "sets": len(sets), "raters": int((below > 0).sum())}
    if used > rankings:
        counts["left_out"] = used - rankings
    if most <= 0:
        reason = "no set was ranked by two raters" if not sets else "all ranks are shared"
        w, correlation = (Estimate.missing(reason, method, counts) for method in (_W, _CORRELATION))
        return RankConcordance(w=w, correlation=correlation)
    from scipy.special import chdtrc

    w = Estimate(value=spread / most, method=_W, counts=counts, why_no_interval="it depends on the number of raters")
    return RankConcordance(
        w=w,
        correlation=_correlation(above, below, counts, confidence),
        chi_square=chi_square,
        df=df,
        p_value=float(chdtrc(df, chi_square)),
    )


def _rankings(
    rater: Ids, trial: Ids, item: Ids, rank: Values
) -> tuple[int, list[tuple[np.ndarray[tuple[int], np.dtype[np.int64]], Floats]], int]:
    """The number of raters, the ranks of every set that several raters ranked (one row each), and of all rankings."""
    from scipy.stats import rankdata

    values = as_floats(rank, "rank")
    columns = [as_array(column) for column in (rater, trial, item)]
    if any(column.size != values.size for column in columns):
        raise InputError(
            "The columns rater, trial, item and rank differ in length.",
            "Pass parallel arrays: one entry per rater, trial and item.",
        )
    raters, trials, items = (code(column) for column in columns)
    answers: dict[tuple[int, int], dict[int, float]] = defaultdict(dict)
    rows = zip(*(ids.codes.tolist() for ids in (raters, trials, items)), values.tolist(), strict=True)
    for rater_code, when, item_code, value in rows:
        answers[rater_code, when][item_code] = value
    by_set: dict[tuple[int, ...], dict[int, list[float]]] = defaultdict(dict)
    for (rater_code, _), ranked in answers.items():
        members = tuple(sorted(ranked))
        if len(members) > 1 and all(math.isfinite(value) for value in ranked.values()):
            by_set[members].setdefault(rater_code, [ranked[member] for member in members])
    several = (by_rater for by_rater in by_set.values() if len(by_rater) > 1)
    out = [(np.array(list(ranks), np.int64), np.asarray(rankdata(list(ranks.values()), axis=1))) for ranks in several]
    return raters.count, out, len(answers)


def _correlation(above: Floats, below: Floats, counts: dict[str, int], confidence: float) -> Estimate:
    """The mean over pairs of raters, with a jackknife over raters; each pair is in the sums of both."""
    top, bottom = above.sum() / 2.0, below.sum() / 2.0
    estimate = Estimate(value=float(top / bottom), method=_CORRELATION, counts=counts)
    present = below > 0
    remaining = bottom - below[present]
    if counts["raters"] < 3 or (remaining <= 1e-9).any():
        return estimate.without_interval("fewer than three raters, or no pair of raters left without one")
    variance = jackknife_variance((top - above[present]) / remaining)
    if variance <= 1e-20:
        return estimate.without_interval("nothing varies between raters")
    wide = with_t(estimate, math.sqrt(variance), counts["raters"] - 1, "jackknife over raters", confidence)
    low, high = max(float(wide.low or 0.0), -1.0), min(float(wide.high or 0.0), 1.0)
    return wide.with_interval(low, high, wide.interval, confidence)
