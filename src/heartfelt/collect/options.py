"""How a collection runs, beyond what the study's design says."""

from __future__ import annotations

from dataclasses import dataclass

from heartfelt.errors import InputError


@dataclass(frozen=True, slots=True)
class CollectOptions:
    """Leases, prefetching and what is done to machine-filled values."""

    ahead: int = 2
    """Trials a rater holds beyond the one shown, so that their media can be fetched ahead."""
    least_lease: float = 180.0
    """Seconds a lease lasts at least; else four times the time a trial is expected to take."""
    hidden: float = 0.1
    """Share of machine values that are held back, to see what people say without them."""
    planted: float = 0.05
    """Share of machine values that are wrong on purpose, to see who accepts anything."""
    seed: int | None = None
    """Seed of every draw, for simulations and tests; from the operating system if None."""
    durable: bool = True
    """Whether a commit waits for the disk. Only a store that may be lost goes without."""

    def __post_init__(self) -> None:
        if not 0 <= self.hidden <= 1 or not 0 <= self.planted <= 1 or self.hidden + self.planted > 1:
            raise InputError(
                f"Shares of {self.hidden:g} hidden and {self.planted:g} planted values do not add up.",
                "Give two shares between 0 and 1 that are at most 1 together.",
            )
        if self.ahead < 0 or self.least_lease <= 0:
            raise InputError(
                f"{self.ahead} trials ahead with leases of {self.least_lease:g} s cannot be.",
                "Give 0 or more trials and more than 0 seconds.",
            )
