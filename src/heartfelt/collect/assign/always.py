"""Units that every rater gets (``design.always``), mixed with those that are assigned by quota.

They have no quota: each has as many ratings as raters got that far. A slot of the plan gets one of them with the
probability that spreads what is left of them evenly over what is left of the plan, so that they come at any place in the
order, and all of them come. In the order of the manifest each comes where the manifest has it.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from heartfelt.collect.assign.model import AssignmentUnits, Rater


def pick_unit(
    layout: AssignmentUnits, rater: Rater, rng: Random, by_quota: Callable[[Rater, Random], int | None]
) -> int | None:
    """The unit for the rater's next ordinary trial: one that everybody gets, or what ``by_quota`` picks."""
    waiting = [unit for unit in layout.common if unit not in rater.seen]
    if not waiting:
        return by_quota(rater, rng)
    trials_left = max(1, rater.target - len(rater.seen))
    if len(waiting) >= trials_left:
        return waiting[0] if layout.order == "manifest" else rng.choice(waiting)
    if layout.order == "manifest":
        quota_unit = by_quota(rater, rng)
        latest = -1 if rater.latest is None else rater.latest
        ahead = [unit for unit in waiting if unit > latest]
        if quota_unit is None or (ahead and not latest < quota_unit < ahead[0]):
            return (ahead or waiting)[0]
        return quota_unit
    if rng.random() * trials_left < len(waiting):
        return rng.choice(waiting)
    unit = by_quota(rater, rng)
    return rng.choice(waiting) if unit is None else unit
