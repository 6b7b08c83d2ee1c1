"""How a study's stimuli are made, and what became of every system."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from heartfelt.errors import InputError
from heartfelt.options import Option
from heartfelt.predictors.options import EngineOptions


def _cost_limit(budget: str | float) -> float:
    from heartfelt.predictors.execution.budgets import read_budget

    limit = read_budget(budget)
    if limit.unit == "tokens":
        raise InputError(f"'{budget}' counts tokens, and generators are paid by 'cost_each'.", "Give a cost such as 5.")
    return limit.limit


@dataclass(frozen=True, slots=True, kw_only=True)
class MakeOptions(EngineOptions):
    """How a study's stimuli are made."""

    systems: Annotated[tuple[str, ...], Option(help="Only this system.", flags=("--system",), metavar="NAME")] = ()
    limit: Annotated[
        int | None, Option(help="At most so many stimuli of each system in this run; 1 measures the time.", low=1)
    ] = None
    replace: Annotated[
        bool, Option(help="Make again what was made with other settings, was edited, or lies in the way.")
    ] = False
    device: Annotated[str, Option(help="auto, cpu, cuda, or several such as cuda:0,cuda:1 (one process each).")] = (
        "auto"
    )
    budget: Annotated[
        float | None,
        Option(
            help="What all attempts of the study may cost, as 5, earlier runs included.",
            metavar="AMOUNT",
            parse=_cost_limit,
        ),
    ] = None
    keep_failed: Annotated[bool, Option(help="Put what failed a check into make-failed/.")] = False
    accept_licences: Annotated[bool, Option(help="Accept the licences of the models without asking.")] = False


@dataclass(frozen=True, slots=True, kw_only=True)
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


@dataclass(frozen=True, slots=True, kw_only=True)
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
        return sum(len(system.failed) + len(system.missing) + system.untried for system in self.systems)

    @property
    def planned(self) -> int:
        """Stimuli of the plan."""
        return sum(system.planned for system in self.systems)

    @property
    def complete(self) -> int:
        """Stimuli of the plan that are in place."""
        return sum(system.complete for system in self.systems)
