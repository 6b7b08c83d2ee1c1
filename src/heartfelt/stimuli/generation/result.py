"""How a study's stimuli are made, and what became of every system."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, slots=True)
class MakeOptions:
    """How a study's stimuli are made."""

    systems: tuple[str, ...] = ()
    """Only these; all if empty."""
    limit: int | None = None
    """At most this many stimuli of each system in this run."""
    replace: bool = False
    """Make again what was made with other settings, was edited, or lies in the way."""
    device: str = "auto"
    engine: str = "local"
    engine_options: dict[str, str] = field(default_factory=dict)
    budget: float | None = None
    """What all attempts of the study may cost, earlier runs included."""
    keep_failed: bool = False
    accept_licences: bool = False


@dataclass(frozen=True, slots=True)
class SystemResult:
    """What became of one system."""

    system: str
    generator: str
    planned: int
    complete: int
    """Files that are in place now, those of earlier runs included."""
    made: int
    failed: dict[str, str]
    """Stimuli that were tried and have no file after this run, with the last problem."""
    missing: dict[str, str]
    """Stimuli that a folder has nothing for, and why."""
    untried: int
    """Stimuli that were not tried because the system was stopped."""
    attempts: int
    seconds: float
    cost: float
    waiting: int
    """Stimuli that need --replace."""
    stopped: str | None
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Making:
    """What one run of ``heartfelt make`` did."""

    study: str
    folder: Path
    systems: tuple[SystemResult, ...]
    seconds: float
    cost: float
    """Of all attempts so far, in the currency of ``cost_each``."""
    notes: tuple[str, ...] = ()

    @property
    def failed(self) -> int:
        """Stimuli that were wanted and could not be made."""
        return sum(len(each.failed) + len(each.missing) + each.untried for each in self.systems)

    @property
    def planned(self) -> int:
        """Stimuli of the plan."""
        return sum(each.planned for each in self.systems)

    @property
    def complete(self) -> int:
        """Stimuli of the plan that are in place."""
        return sum(each.complete for each in self.systems)
