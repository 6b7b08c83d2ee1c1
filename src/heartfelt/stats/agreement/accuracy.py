"""Accuracy and balanced accuracy of one rater held against another, over all pairs that share items.

Accuracy of a pair is the share of shared items on which the two agree: the same whichever is taken as the
truth. Balanced accuracy is the mean, over the categories used by the rater taken as the truth, of the share
on which the other agrees; the two directions are averaged. Both lie between 0 and 1.

``pooled`` compares all ordered pairs of votes at once, each vote in turn taken as the truth, which stays
meaningful where pairs share few items.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from heartfelt.stats.agreement.grouped import Prior
from heartfelt.stats.agreement.interval import Interval, wanted
from heartfelt.stats.agreement.pairs import PairAgreement, over_pairs, pair_votes
from heartfelt.stats.agreement.tallies import share


def pairwise_accuracy(
    rater: Any,
    item: Any,
    value: Any,
    *,
    at_least: int = 1,
    interval: str | Interval | None = "jackknife",
    prior: Prior = None,
) -> PairAgreement:
    """The share of shared items on which two raters agree, for every pair that shares any; their mean."""
    return _accuracy(rater, item, value, at_least, interval, prior, balanced=False)


def pairwise_balanced_accuracy(
    rater: Any,
    item: Any,
    value: Any,
    *,
    at_least: int = 1,
    interval: str | Interval | None = "jackknife",
    prior: Prior = None,
) -> PairAgreement:
    """Balanced accuracy of two raters, either taken as the truth, for every pair; their mean."""
    return _accuracy(rater, item, value, at_least, interval, prior, balanced=True)


def _accuracy(
    rater: Any,
    item: Any,
    value: Any,
    at_least: int,
    interval: str | Interval | None,
    prior: Prior,
    balanced: bool,
) -> PairAgreement:
    from heartfelt.stats.agreement import _kernels_pairs as kernels
    from heartfelt.stats.agreement._kernels_votes import POOLED_PAIRS

    votes = pair_votes(rater, item, value, prior, None)
    plan = wanted(interval, None, "jackknife")
    name = "balanced accuracy" if balanced else "accuracy"
    assert votes.categories is not None
    scores = np.arange(votes.categories.count, dtype=np.float64)
    kind = kernels.BALANCED if balanced else kernels.ACCURACY
    result = over_pairs(votes, kind, scores, f"pairwise {name}", at_least, plan, "share")
    pooled, _ = share(
        votes,
        POOLED_PAIRS,
        f"{name} over all ordered pairs of votes",
        votes.counts(),
        plan,
        "no item has two or more votes",
        balanced=balanced,
    )
    return PairAgreement(result.mean, result.weighted, result.pairs, pooled)
