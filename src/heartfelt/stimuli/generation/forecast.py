"""What ``heartfelt make`` would do: how many stimuli, how long, at what cost, under which licences. Nothing is built or made."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from statistics import median

from heartfelt.errors import HeartfeltError
from heartfelt.predictors.interface.calls import within
from heartfelt.stimuli.generation.devices import parse_devices
from heartfelt.stimuli.generation.ledger import MADE, read_ledger
from heartfelt.stimuli.generation.licences import LicenceNotice, notices
from heartfelt.stimuli.generation.make_file import load_make
from heartfelt.stimuli.generation.making import chosen_systems
from heartfelt.stimuli.generation.result import MakeOptions
from heartfelt.stimuli.generation.state import SystemState, leftover_words, read_record, read_state
from heartfelt.stimuli.generation.system_run import survey_words, waiting_words


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemForecast:
    """What is left to do for one system."""

    system: str
    generator: str
    texts: int
    """Different texts."""
    planned: int
    complete: int
    to_make: int
    seconds: float | None
    """Expected time in all; None where none was measured."""
    seconds_each: float | None
    """The median of what earlier stimuli of these settings took."""
    cost: float | None
    """None where the system has no ``cost_each``."""
    missing: dict[str, str]
    """Stimuli a folder has no file for, and why."""
    problem: str | None
    """Why the generator cannot work on this machine, and what to do."""
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerationForecast:
    """What is left to do."""

    study: str
    folder: Path
    systems: tuple[SystemForecast, ...]
    spent: float
    budget: float | None
    licences: tuple[LicenceNotice, ...]
    notes: tuple[str, ...]

    @property
    def to_make(self) -> int:
        """Stimuli still to make."""
        return sum(system.to_make for system in self.systems)

    @property
    def seconds(self) -> float | None:
        """Expected time, where it is known for every system that has something to make."""
        times = [system.seconds for system in self.systems if system.to_make]
        return None if any(seconds is None for seconds in times) else sum(seconds or 0.0 for seconds in times)

    @property
    def cost(self) -> float:
        """What the first attempts cost."""
        return sum(system.cost or 0.0 for system in self.systems)

    @property
    def within_budget(self) -> bool:
        """Whether the first attempts can be paid for."""
        return self.budget is None or not self.cost or within(self.budget, self.spent + self.cost)


def forecast_make(folder: Path | str, options: MakeOptions | None = None) -> GenerationForecast:
    options = options or MakeOptions()
    whole_plan = load_make(folder)
    plan = chosen_systems(whole_plan, options.systems)
    rows = read_ledger(plan.folder)
    states = read_state(plan, rows, read_record(plan.folder))
    systems = tuple(_forecast(state, options) for state in states)
    spent = sum(row.cost for row in rows)
    notes = (*plan.notes, *leftover_words(whole_plan, rows))
    return GenerationForecast(
        study=plan.study.name,
        folder=plan.folder,
        systems=systems,
        spent=spent,
        budget=options.budget,
        licences=tuple(notices(plan)),
        notes=notes,
    )


def _forecast(state: SystemState, options: MakeOptions) -> SystemForecast:
    system = state.system
    count = len(state.to_make(options.replace)[: options.limit])
    times = [row.seconds for row in state.rows if row.outcome == MADE and row.settings == system.settings_hash]
    usual_seconds = median(times) if times else None
    at_once = int(getattr(system.settings, "at_once", None) or system.kind.at_once)
    if system.kind.where in {"device", "cpu"} and options.device != "auto":
        at_once = len(parse_devices(options.device))
    waiting = [] if options.replace else state.of("changed", "edited", "foreign")
    price = system.settings.cost_each
    return SystemForecast(
        system=system.name,
        generator=system.kind.name,
        texts=len({planned.prompt.text for planned in system.stimuli}),
        planned=len(state.stimuli),
        complete=len(state.of("complete")),
        to_make=count,
        seconds=None if usual_seconds is None else usual_seconds * count / at_once,
        seconds_each=usual_seconds,
        cost=None if price is None else price * count,
        missing=dict(state.survey.missing),
        problem=_problem(state),
        notes=(*waiting_words(waiting), *survey_words(state)),
    )


def _problem(state: SystemState) -> str | None:
    try:
        state.system.kind.check(state.system.settings)
    except HeartfeltError as error:
        return f"{error.problem} {error.fix}"
    return None
