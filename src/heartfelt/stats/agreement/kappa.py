"""Cohen's kappa of every pair of raters, and its mean.

``1 - observed / expected`` disagreement of two raters on the items they share, with chance from each
rater's own habits. Range -1 to 1. Weights ``"linear"`` and ``"quadratic"`` count by distance: between
numbers by value, between words by their place in ``categories``.

Undefined when both gave one and the same category throughout. On a single shared item kappa is either
undefined or 0, so agreement could never show: pairs with fewer than ``at_least`` shared items (2 unless
said) are missing, with that reason. Even so, kappa of few items leans towards 0; where pairs share fewer
than ten at the median, the mean has no interval, and Fleiss' kappa or alpha says more.

Source: Cohen, A coefficient of agreement for nominal scales, 1960; Weighted kappa, 1968. The mean over
pairs: Light, Measures of response agreement for qualitative data, 1971.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from heartfelt.errors import InputError
from heartfelt.stats.agreement.grouped import Prior
from heartfelt.stats.agreement.interval import Interval, wanted
from heartfelt.stats.agreement.pairs import PairAgreement, over_pairs, pair_votes

SHARED_FOR_INTERVAL = 10


def cohen_kappa(
    rater: Any,
    item: Any,
    value: Any,
    weights: str | None = None,
    *,
    categories: Sequence[Any] | None = None,
    at_least: int = 2,
    interval: str | Interval | None = "jackknife",
    prior: Prior = None,
) -> PairAgreement:
    """Cohen's kappa of every pair of raters that shares items, and its mean."""
    if weights not in (None, "linear", "quadratic"):
        raise InputError(f"Kappa has no weights called {weights!r}.", "Use None, 'linear' or 'quadratic'.")
    from heartfelt.stats.agreement import _kernels_pairs as kernels

    votes = pair_votes(rater, item, value, prior, categories)
    kind = {None: kernels.KAPPA, "linear": kernels.KAPPA_LINEAR, "quadratic": kernels.KAPPA_QUADRATIC}[
        weights
    ]
    name = "Cohen's kappa" if weights is None else f"Cohen's kappa, {weights} weights"
    plan = wanted(interval, None, "jackknife")
    assert votes.categories is not None
    if weights is None:
        scores = np.arange(votes.categories.count, dtype=np.float64)
    else:
        scores = votes.categories.scores()
        scores = scores - scores.mean() if scores.size else scores
    # On one shared item kappa is 0 or undefined, whatever the two answered.
    fewest = max(at_least, 2) if at_least >= 1 else at_least
    return over_pairs(votes, kind, scores, name, fewest, plan, "coefficient", SHARED_FOR_INTERVAL)
