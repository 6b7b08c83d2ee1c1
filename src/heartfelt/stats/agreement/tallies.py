"""Shares of right answers among the votes: what exact agreement and comparisons with a majority share.

Each item contributes right answers and trials by true category. *Accuracy* is right answers over trials;
*balanced accuracy* the mean over true categories of the share right. Both lie between 0 and 1. The interval
is two-way (see ``interval``), from the first-order effect of each item, rater and vote; at exactly 0 or 1
it is Wilson's with the item as the unit.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from heartfelt.stats.agreement.grouped import Grouped
from heartfelt.stats.agreement.interval import Interval, leave_out, with_bounds
from heartfelt.stats.estimate import Estimate
from heartfelt.stats.triples import Floats

NO_PRIOR: npt.NDArray[np.int64] = np.empty(0, dtype=np.int64)


def share(
    votes: Grouped,
    kind: int,
    method: str,
    counts: dict[str, int],
    plan: Interval | None,
    why: str,
    told: npt.NDArray[np.int64] = NO_PRIOR,
    balanced: bool = False,
) -> tuple[Estimate, int]:
    """Accuracy or balanced accuracy of one kind of comparison, and how many comparisons were tied."""
    from heartfelt.stats.agreement import _kernels_votes as kernels

    assert votes.categories is not None
    widest = int(votes.sizes.max(initial=0))
    hit, trial, ties, items = kernels.tally(
        votes.start, votes.value, kind, told, votes.categories.count, widest
    )
    told_counts = {**counts, "compared": round(float(trial.sum())), **({"ties": ties} if ties else {})}
    if trial.sum() <= 0:
        return Estimate.missing(why, method, told_counts), ties
    value, slopes = _balanced(hit, trial) if balanced else _plain(hit, trial)
    estimate = Estimate(value, method=method, counts=told_counts)
    if plan is None:
        return estimate, ties
    if min(value, 1 - value) < 1e-12:
        return _wilson(estimate, items, plan), ties
    people = len(votes.raters) if votes.rater.size else 0
    by_item, item_trials, by_rater, rater_trials, ballots, *cells = kernels.tally_influence(
        (votes.start, votes.rater, votes.value), kind, told, slopes, widest, people, votes.prior
    )
    used, there = item_trials > 0, ballots > 0
    total = float(trial.sum())
    # Items change their meaning with one vote less (fewer votes agree more easily): that shift, the same for
    # every vote on average, says nothing about how raters differ.
    by_rater = by_rater - ballots * cells[1] / max(cells[0], 1)
    remaining = 1 - rater_trials[there] / total
    remaining[remaining < 1e-9] = np.nan
    spread = leave_out(
        by_item[used] / np.maximum(1 - item_trials[used] / total, 1e-9),
        by_rater[there] / remaining if people else None,
        (cells[0], cells[1], cells[2]),
        item_trials[used],
        ballots[there],
    )
    return with_bounds(estimate, spread, plan, "share"), ties


def _plain(hit: Floats, trial: Floats) -> tuple[float, Floats]:
    total = float(trial.sum())
    value = float(hit.sum()) / total
    return value, np.vstack([np.full(hit.size, 1 / total), np.full(hit.size, -value / total)])


def _balanced(hit: Floats, trial: Floats) -> tuple[float, Floats]:
    kinds = int(np.count_nonzero(trial))
    safe = np.where(trial > 0, trial, 1.0)
    slopes = np.vstack([1 / (kinds * safe), -hit / (kinds * safe * safe)])
    return float((hit / safe)[trial > 0].mean()), np.where(trial > 0, slopes, 0.0)


def _wilson(estimate: Estimate, items: int, plan: Interval) -> Estimate:
    """Wilson's interval with the item as the unit, for a share of exactly 0 or 1."""
    from scipy.special import ndtri

    z2 = float(ndtri((1 + plan.confidence) / 2)) ** 2
    reach = z2 / (items + z2)
    low, high = (1 - reach, 1.0) if float(estimate) > 0.5 else (0.0, reach)
    found = replace(estimate, value=round(float(estimate)), counts=dict(estimate.counts))
    return found.with_interval(low, high, "Wilson over items", plan.confidence)
