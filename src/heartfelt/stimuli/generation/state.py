"""How far a study's stimuli are: what is complete, what was made with other settings, what is left to make.

A stimulus is complete if the ledger says that it was made with these settings and its file still has the same content. What was
made with other settings, was edited afterwards, or lies in the way and was not made by ``heartfelt make`` is only replaced on
request.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, TypeAlias

from heartfelt import __version__, clock
from heartfelt.files import inside
from heartfelt.media.audio import content_hash
from heartfelt.serialization import read_json
from heartfelt.stimuli.generation.ledger import MADE, LedgerRow
from heartfelt.stimuli.generation.make_file import MakePlan, PlannedStimulus, PlannedSystem
from heartfelt.stimuli.generators.generator import GeneratorFacts, SourceSurvey
from heartfelt.wording import listed

RECORD_FILE = "make.json"
SCRATCH = ".make"
"""Below the media folder: results on their way to their place."""
Standing: TypeAlias = Literal["complete", "absent", "changed", "edited", "foreign"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRecord:
    """One run of ``heartfelt make``."""

    started: str
    versions: Mapping[str, str]
    ended: str | None = None
    made: int = 0
    failed: int = 0
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class MakeRecord:
    """``make.json``: the settings that stimuli were made with, by their hash, and every run."""

    heartfelt: str = __version__
    settings: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    facts: Mapping[str, GeneratorFacts] = field(default_factory=dict)
    """What a generator with such settings said about itself when it last worked."""
    runs: tuple[RunRecord, ...] = ()


def read_record(folder: Path) -> MakeRecord:
    path = folder / RECORD_FILE
    return read_json(path, MakeRecord) if path.is_file() else MakeRecord()


def now() -> str:
    return clock.now().strftime("%Y-%m-%dT%H:%M:%SZ")


@dataclass(frozen=True, slots=True, kw_only=True)
class StimulusState:
    """One stimulus of the plan."""

    planned: PlannedStimulus
    digest: str
    standing: Standing
    row: LedgerRow | None = None
    """The attempt that made it, where one did."""
    attempts: int = 0
    """Failed attempts so far with the present settings."""
    why: str = ""
    """What differs, in words."""

    def allowed(self, attempts: int) -> int:
        """The last attempt of this run: a run that was interrupted goes as far as it would have gone."""
        return (self.attempts // attempts + 1) * attempts

    @property
    def next_attempt(self) -> int:
        """The number of the next attempt; a stimulus whose file was lost is made again with the seed that made it."""
        if self.row is not None and self.standing == "absent":
            return self.row.attempt
        return self.attempts + 1


@dataclass(frozen=True, slots=True)
class SystemState:
    """The stimuli of one system."""

    system: PlannedSystem
    stimuli: tuple[StimulusState, ...]
    survey: SourceSurvey
    rows: tuple[LedgerRow, ...]

    def of(self, *standings: Standing) -> list[StimulusState]:
        return [stimulus for stimulus in self.stimuli if stimulus.standing in standings]

    def to_make(self, replace: bool = False) -> list[StimulusState]:
        """What a run would make; with ``replace`` also what differs or lies in the way."""
        wanted: tuple[Standing, ...] = ("absent", "changed", "edited", "foreign") if replace else ("absent",)
        return [
            stimulus for stimulus in self.of(*wanted) if stimulus.planned.prompt.stimulus not in self.survey.missing
        ]


def read_state(plan: MakePlan, rows: Sequence[LedgerRow], record: MakeRecord) -> list[SystemState]:
    """Look at every stimulus of the plan: the ledger, the files, and what a folder generator has."""
    by_stimulus: dict[str, list[LedgerRow]] = {}
    for row in rows:
        by_stimulus.setdefault(row.stimulus, []).append(row)
    out = []
    for system in plan.systems:
        survey = system.kind.survey(system.settings, [planned.prompt for planned in system.stimuli])
        present = _present(plan, system)
        states = tuple(
            _state(plan, system, planned, by_stimulus.get(planned.prompt.stimulus, []), survey, record, present)
            for planned in system.stimuli
        )
        system_rows = tuple(row for row in rows if row.system == system.name)
        complete = {state.planned.prompt.stimulus for state in states if state.standing == "complete"}
        missing = {name: reason for name, reason in survey.missing.items() if name not in complete}
        out.append(SystemState(system, states, replace(survey, missing=missing), system_rows))
    return out


def leftover_words(plan: MakePlan, rows: Sequence[LedgerRow]) -> list[str]:
    """Stimuli of earlier runs that ``make.yaml`` no longer asks for."""
    planned = {planned_stimulus.prompt.stimulus for system in plan.systems for planned_stimulus in system.stimuli}
    leftover = {
        row.stimulus: row.path
        for row in rows
        if row.outcome == MADE and row.stimulus not in planned and (plan.media_root / row.path).is_file()
    }
    if not leftover:
        return []
    return [
        f"{len(leftover):,} stimuli of earlier runs, such as {next(iter(leftover))}, are no longer in make.yaml; their files and"
        " their rows in the manifest stay until you remove them."
    ]


def _state(
    plan: MakePlan,
    system: PlannedSystem,
    planned: PlannedStimulus,
    rows: Sequence[LedgerRow],
    survey: SourceSurvey,
    record: MakeRecord,
    present: Mapping[str, str],
) -> StimulusState:
    source = survey.sources.get(planned.prompt.stimulus, "")
    digest = system.digest(planned, plan.seed, source)
    last_made = next((row for row in reversed(rows) if row.outcome == MADE), None)
    if last_made is not None and last_made.digest == system.digest(planned, plan.seed, source, stated=False):
        digest = last_made.digest
    attempts = sum(row.digest == digest and row.outcome != MADE for row in rows)
    state = StimulusState(planned=planned, digest=digest, standing="absent", attempts=attempts)
    if last_made is None:
        present_file = present.get(planned.stem)
        if present_file is None:
            return state
        return replace(state, standing="foreign", why=f"{present_file} was not made by heartfelt make")
    path = inside(plan.media_root, last_made.path, f"stimulus {planned.prompt.stimulus}")
    if not path.is_file():
        return replace(state, row=last_made) if last_made.digest == digest else state
    if content_hash(path) != last_made.sha256:
        reason = f"{last_made.path} was changed after it was made"
        return replace(state, standing="edited", row=last_made, why=reason)
    # Where its source is gone, there is nothing to compare with: what was taken from it stays.
    if last_made.digest != digest and planned.prompt.stimulus not in survey.missing:
        reason = _difference(system, last_made, record)
        return replace(state, standing="changed", row=last_made, why=reason)
    return replace(state, standing="complete", row=last_made)


def _present(plan: MakePlan, system: PlannedSystem) -> dict[str, str]:
    """The files in the folders of a system's stimuli, by their path below the media folder without suffix."""
    folders = {Path(planned.stem).parent.as_posix() for planned in system.stimuli}
    return {
        f"{folder}/{path.stem}": f"{folder}/{path.name}"
        for folder in folders
        if (plan.media_root / folder).is_dir()
        for path in sorted((plan.media_root / folder).iterdir())
        if path.is_file()
    }


def _difference(system: PlannedSystem, ledger_row: LedgerRow, record: MakeRecord) -> str:
    if ledger_row.settings == system.settings_hash:
        return "its text, seed or source changed"
    before, settings = record.settings.get(ledger_row.settings), system.deciding
    if before is None:
        return "its settings changed"
    changes = [
        f"{key} was {before.get(key, 'not set')}, is {settings.get(key, 'not set')}"
        for key in sorted({*before, *settings})
        if before.get(key) != settings.get(key)
    ]
    return listed(changes, 4)
