"""Position bias of a judge that compares every pair in both orders.

Whoever judges the members alone gives the first 1 in one order and 0 in the other (or a tie in both), so that the two values
add up to 1. More than 1 favours the first place, less the second. The test is the exact sign test of the pairs that do not
add up to 1: without bias, as many favour the first as the second.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from heartfelt.stats._bounds import check_confidence
from heartfelt.stats.columns.triples import Ids, Values
from heartfelt.stats.comparison.abx import _exact_share
from heartfelt.stats.comparison.pairs import as_comparisons, check_choices, judged_sets
from heartfelt.stats.estimate import Estimate


@dataclass(frozen=True, slots=True)
class PositionBias:
    """What the order of presentation does to a judge's answers."""

    inconsistent: Estimate
    """Share of pairs whose answer changed with the order."""
    favours_first: Estimate
    """Of these, the share in which the first place gained; one half without bias."""
    p_value: float | None
    """Of the hypothesis that inconsistent answers favour the first place as often as the second."""
    single_order: int
    """Pairs that were judged in one order only; they are left out."""


def position_bias(
    first: Ids, second: Ids, value: Values, *, stimulus: Ids | None = None, confidence: float = 0.95
) -> PositionBias:
    """Position bias of one judge; columns as in :func:`bradley_terry`. Answers to the same order of a pair are averaged."""
    from scipy.stats import binomtest

    check_confidence(confidence)
    data = as_comparisons(None, first, second, value, stimulus)
    check_choices(data.value)
    sets = judged_sets(data)
    cell = 2 * sets.codes + sets.swapped
    answers = np.bincount(cell, minlength=2 * sets.count).reshape(-1, 2)
    sums = np.bincount(cell, data.value, minlength=2 * sets.count).reshape(-1, 2)
    both = (answers > 0).all(axis=1)
    total = (sums[both] / answers[both]).sum(axis=1)
    pairs, single = int(both.sum()), int(sets.count - both.sum())
    changed, gained = int((np.abs(total - 1.0) > 1e-9).sum()), int((total > 1.0 + 1e-9).sum())
    counts = {"pairs": pairs} | ({"single_order": single} if single else {})
    names = "share of inconsistent pairs", "share of inconsistent pairs that favour the first"
    if not pairs:
        none = [Estimate.missing("no pair was judged in both orders", name, counts) for name in names]
        return PositionBias(none[0], none[1], None, single)
    shares = [
        _exact_share(hits, trials, name, confidence, n)
        if trials
        else Estimate.missing("no answer changed with the order", name, n)
        for hits, trials, name, n in (
            (changed, pairs, names[0], counts),
            (gained, changed, names[1], counts | {"inconsistent": changed}),
        )
    ]
    p_value = float(binomtest(gained, changed).pvalue) if changed else None
    return PositionBias(shares[0], shares[1], p_value, single)
