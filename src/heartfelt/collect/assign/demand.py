"""What an arm of a study still wants: ratings and leases by unit, and what steers an adaptive study.

A study without arms is one arm. Every arm counts for itself: the same stimulus in two arms is wanted in both.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from heartfelt.collect.assign.balance import PositionBalance
from heartfelt.collect.assign.model import AssignmentUnits, Rater
from heartfelt.collect.assign.pairs import AdaptivePairs
from heartfelt.collect.assign.pool import Errors, OpenUnits


class Demand:
    """The counts of one arm, and which unit a rater of it gets next."""

    def __init__(self, layout: AssignmentUnits) -> None:
        self.layout = layout
        self.balance = PositionBalance(layout) if layout.contestants else None
        self.pool = OpenUnits(layout, self.balance)
        self._common = frozenset(layout.common)
        self.errors = Errors(layout.spans) if layout.adaptive and not layout.contestants else None
        self.pairs = AdaptivePairs(layout) if layout.adaptive and layout.contestants else None
        self.leased = 0
        self.complete = 0
        """Valid ratings of ordinary units in all."""

    @property
    def budget_left(self) -> int:
        """In an adaptive study, the ratings that are still to be spent."""
        return self.layout.quota * len(self.layout.units) - self.complete - self.leased

    @property
    def open(self) -> bool:
        """Whether any unit needs another rating."""
        return self.pool.open > 0 or (self.layout.adaptive and self.budget_left > 0)

    @property
    def unfilled(self) -> bool:
        """Whether any unit has fewer ratings than it is to get, even if someone is working on the rest."""
        if self.layout.adaptive:
            return self.budget_left + self.leased > 0
        return self.pool.short > 0

    def pick(self, rater: Rater, rng: Random) -> int | None:
        """The unit the rater should get next. One met in practice comes only when nothing else is left."""
        unit = self._pick(rater, rng)
        if unit is None and rater.practised_units:
            practised, rater.practised_units = rater.practised_units, set()
            unit = self._pick(rater, rng)
            rater.practised_units = practised
        return unit

    def _pick(self, rater: Rater, rng: Random) -> int | None:
        unit = self.pool.pick(rater, rng)
        if unit is None and self.layout.adaptive and self.budget_left > 0:

            def allowed(candidate: int) -> bool:
                return self.pool.allowed(candidate, rater)

            if self.pairs is not None:
                return self.pairs.pick(allowed, self.pool.load, rng)
            if self.errors is not None:
                return self.errors.largest(allowed)
        return unit

    def may_retake(self, unit: int) -> bool:
        """Whether a lapsed lease can be renewed without its unit getting ahead of the others."""
        if unit in self._common:
            return True
        floor = self.pool.floor()
        if floor is None:
            return self.layout.adaptive and self.budget_left > 0
        return self.pool.load(unit) <= floor

    def raise_quota(self, quota: int) -> None:
        """Want more ratings of every unit."""
        self.layout = self.layout.with_quota(quota)
        self.pool.raise_quota(self.layout)

    def count_lease(self, unit: int, change: int, seq: int) -> None:
        """Count a lease, or its end; ``seq`` is the number of the event."""
        self.pool.count(unit, leases=change)
        if unit in self._common:
            return
        self.leased += change
        self._update_error(unit, seq)
        if self.pairs is not None:
            self.pairs.lease(unit, change)

    def count_leased_rating(self, unit: int, values: dict[str, float], seq: int) -> None:
        """Count a rating whose lease ends: the sum, and so the unit's place in the pool, stays as it was."""
        self.count_rating(unit, values, 1, seq, leases=-1)
        if unit in self._common:
            return
        self.leased -= 1
        if self.pairs is not None:
            self.pairs.lease(unit, -1)

    def count_rating(self, unit: int, values: dict[str, float], change: int, seq: int, leases: int = 0) -> None:
        """Count a rating, or take it back."""
        self.pool.count(unit, valid=change, leases=leases)
        if unit in self._common:
            return
        self.complete += change
        if self.errors is not None:
            self.errors.add(unit, values, change)
            self._update_error(unit, seq)
        elif self.pairs is not None and values:
            self.pairs.add(unit, next(iter(values.values())), change)

    def _update_error(self, unit: int, seq: int) -> None:
        if self.errors is not None:
            # Ties are settled by a number that looks random and is the same in every process.
            tie = (unit * 2654435761 + seq * 40503) % 1_000_003
            self.errors.update(unit, self.pool.leases[unit], tie)


def pick_unit(
    layout: AssignmentUnits, rater: Rater, rng: Random, by_quota: Callable[[Rater, Random], int | None]
) -> int | None:
    """The unit for the rater's next ordinary trial: one that everybody gets (``design.always``), or what ``by_quota`` picks.

    Units that everybody gets have no quota: each has as many ratings as raters got that far. A slot of the plan gets one of
    them with the probability that spreads what is left of them evenly over what is left of the plan, so that they come at any
    place in the order, and all of them come. In the order of the manifest each comes where the manifest has it.
    """
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
