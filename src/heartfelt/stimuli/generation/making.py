"""The runner behind ``heartfelt make``: every stimulus of ``make.yaml``, made, checked, recorded, and put in its place.

A result first becomes a file aside, then a row of the ledger, then moves to its place; so a run that is killed at any moment
continues where it stopped, and what is complete is never made twice. A failed stimulus is tried again with its next seed. A
system whose generator cannot work is stopped, and the others are made all the same.
"""

from __future__ import annotations

import errno
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from heartfelt import __version__, clock
from heartfelt.errors import InputError, Interrupted
from heartfelt.files import write_bytes
from heartfelt.media.audio import content_hash
from heartfelt.predictors.execution.engines import ENGINES
from heartfelt.predictors.interface.calls import within
from heartfelt.progress import Progress
from heartfelt.serialization import write_json
from heartfelt.stimuli.generation.devices import every_device, on_devices, parse_devices
from heartfelt.stimuli.generation.ledger import FAILED, MADE, GenerationLedger, LedgerRow
from heartfelt.stimuli.generation.licences import require_accepted
from heartfelt.stimuli.generation.make_file import MakePlan, load_make
from heartfelt.stimuli.generation.manifest import write_manifest
from heartfelt.stimuli.generation.result import MakeOptions, Making, SystemResult
from heartfelt.stimuli.generation.state import (
    RECORD_FILE,
    SCRATCH,
    MakeRecord,
    RunRecord,
    StimulusState,
    SystemState,
    leftover_words,
    now,
    read_record,
    read_state,
)
from heartfelt.stimuli.generation.system_run import SystemRun, survey_words, waiting_words
from heartfelt.stimuli.generation.work import AttemptOutcome, GenerateWork, StimulusRequest
from heartfelt.stimuli.generators.generator import GeneratorFacts
from heartfelt.stimuli.generators.results import Expectation
from heartfelt.wording import money

FAILED_FOLDER = "make-failed"
_LIBRARIES = ("torch", "transformers", "diffusers", "accelerate")
_NO_SPACE = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


def make_study(folder: Path | str, options: MakeOptions | None = None, progress: Progress | None = None) -> Making:
    """Make every stimulus that ``make.yaml`` asks for and that is not there yet, and write the study's manifest."""
    options = options or MakeOptions()
    whole_plan = load_make(folder)
    plan = chosen_systems(whole_plan, options.systems)
    if not options.accept_licences:
        require_accepted(plan)
    begun, started = clock.timer(), now()
    with GenerationLedger(plan.folder) as ledger:
        record = read_record(plan.folder)
        recover(plan, ledger.rows)
        states = read_state(plan, ledger.rows, record)
        check_budget(states, options, spent=sum(row.cost for row in ledger.rows))
        settings = {system.settings_hash: system.deciding for system in plan.systems}
        run = RunRecord(started=started, versions=_versions())
        record = replace(record, heartfelt=__version__, settings={**record.settings, **settings})
        runner = _Runner(plan, ledger, options, progress, replace(record, runs=(*record.runs, run)))
        try:
            results = tuple(runner.run(state) for state in states)
        except OSError as error:
            if error.errno not in _NO_SPACE:
                raise
            raise InputError(
                f"The disk is full after {runner.made:,} stimuli of this run; they are complete and stay.",
                f"Free some space where {plan.folder} lies and run the same command again: it continues there.",
            ) from error
        except KeyboardInterrupt:
            raise Interrupted(
                f"Stopped. What was complete is kept: {runner.made:,} stimuli of this run.",
                "Run the same command again to continue from there.",
            ) from None
        finally:
            runner.close()
        stated = {name: columns for state in states for name, columns in state.survey.provenance.items()}
        write_manifest(plan, ledger.rows, runner.record, runner.new, stated)
        seconds = round(clock.timer() - begun, 3)
        ended = replace(
            run,
            ended=now(),
            made=runner.made,
            failed=sum(len(result.failed) + len(result.missing) + result.untried for result in results),
            seconds=seconds,
            versions=_versions(),
        )
        write_json(plan.folder / RECORD_FILE, replace(runner.record, runs=(*record.runs, ended)))
        spent = sum(row.cost for row in ledger.rows)
        notes = (*plan.notes, *leftover_words(whole_plan, ledger.rows))
    return Making(study=plan.study.name, folder=plan.folder, systems=results, seconds=seconds, cost=spent, notes=notes)


def chosen_systems(plan: MakePlan, names: Sequence[str]) -> MakePlan:
    system_names = [system.name for system in plan.systems]
    for name in names:
        if name not in system_names:
            raise InputError(f"make.yaml has no system '{name}'.", f"It has {', '.join(system_names)}.")
    return replace(plan, systems=tuple(system for system in plan.systems if not names or system.name in names))


def check_budget(states: Sequence[SystemState], options: MakeOptions, *, spent: float) -> None:
    """Refuse a run that cannot be paid for even if every first attempt succeeds; ``spent`` is that of the whole study."""
    if options.budget is None:
        return
    least = sum(
        len(state.to_make(options.replace)[: options.limit]) * (state.system.settings.cost_each or 0.0)
        for state in states
    )
    if least and not within(options.budget, spent + least):
        raise InputError(
            f"The stimuli still to make cost at least {money(least, 2)}, and {money(spent, 2)} was spent: over the budget"
            f" of {money(options.budget, 2)}.",
            "Raise --budget, or make fewer with --limit or --system.",
        )


def recover(plan: MakePlan, rows: Sequence[LedgerRow]) -> None:
    """Put results in place that a killed run had recorded but not yet moved, and remove what it left behind."""
    scratch = plan.media_root / SCRATCH
    if not scratch.is_dir():
        return
    latest = {row.stimulus: row for row in rows if row.outcome == MADE}
    wanted = {row.sha256: row for row in latest.values()}
    for path in scratch.iterdir():
        row = wanted.get(content_hash(path)) if path.is_file() else None
        if row is not None and not (plan.media_root / row.path).exists():
            (plan.media_root / row.path).parent.mkdir(parents=True, exist_ok=True)
            path.replace(plan.media_root / row.path)
        else:
            path.unlink(missing_ok=True)


def _versions() -> dict[str, str]:
    out = {"heartfelt": __version__, "python": ".".join(map(str, sys.version_info[:3]))}
    for name in _LIBRARIES:
        with suppress(PackageNotFoundError):
            if name in sys.modules:
                out[name] = version(name)
    return out


class _Runner:
    """One run: results come in, files and ledger rows go out."""

    def __init__(
        self,
        plan: MakePlan,
        ledger: GenerationLedger,
        options: MakeOptions,
        progress: Progress | None,
        record: MakeRecord,
    ) -> None:
        self.plan, self.ledger, self.options, self.progress = plan, ledger, options, progress
        self.record = record
        write_json(plan.folder / RECORD_FILE, record)
        self.new: set[str] = set()
        """Stimuli made in this run."""
        self.scratch = plan.media_root / SCRATCH
        self.engine = options.make_engine()
        self.known: dict[str, str] = {}
        """Hashes and fingerprints of stimuli that are in place, with their names."""
        latest = {row.stimulus: row for row in ledger.rows if row.outcome == MADE}
        for row in latest.values():
            if (plan.media_root / row.path).is_file():
                self._remember(row.stimulus, row.sha256, row.fingerprint)
        self.spent = sum(row.cost for row in ledger.rows)

    @property
    def made(self) -> int:
        return len(self.new)

    def close(self) -> None:
        self.engine.close()
        with suppress(OSError):
            self.scratch.rmdir()

    def run(self, state: SystemState) -> SystemResult:
        system, begun = state.system, clock.timer()
        todo = state.to_make(self.options.replace)[: self.options.limit]
        self._forget({pending.planned.prompt.stimulus for pending in todo if pending.row is not None})
        run = SystemRun(state=state, todo={pending.planned.prompt.stimulus: pending for pending in todo})
        work = GenerateWork(
            kind=system.kind,
            settings=system.settings,
            expected=Expectation(
                self.plan.media_kind, system.settings.seconds, system.settings.size, self.plan.tolerance
            ),
            device=self.options.device,
            keep_failed=self.options.keep_failed,
        )
        before, spent = len(self.new), self.spent
        try:
            while run.open and run.stopped is None:
                for outcomes in self._outcomes(work, run):
                    for outcome in outcomes:
                        self._settle(run, outcome)
                    if self.progress is not None:
                        self.progress(system.name, len(todo) - len(run.open), len(todo))
        finally:
            work.close()
        made_count = len(self.new) - before
        failed = {name: problem for name, problem in run.failed.items() if name not in self.new}
        waiting = [] if self.options.replace else state.of("changed", "edited", "foreign")
        return SystemResult(
            system=system.name,
            generator=system.kind.name,
            planned=len(state.stimuli),
            complete=len(state.of("complete")) + made_count,
            made=made_count,
            failed=failed,
            missing=dict(state.survey.missing),
            untried=len(run.open.keys() - failed.keys()),
            attempts=run.attempts,
            seconds=round(clock.timer() - begun, 3),
            cost=self.spent - spent,
            waiting=len(waiting),
            stopped=run.stopped,
            notes=(*dict.fromkeys(run.notes), *waiting_words(waiting), *survey_words(state)),
        )

    def _outcomes(self, work: GenerateWork, run: SystemRun) -> Iterator[Sequence[AttemptOutcome]]:
        """One round: an attempt at everything that is open, wherever that is done."""
        kind, batches = work.kind, self._batches(run)
        if kind.where in {"device", "cpu"} and self.options.engine != "local":
            return iter(self.engine.map(work, batches, 1))
        if kind.where == "device" or (kind.where == "cpu" and self.options.device != "auto"):
            devices = parse_devices(self.options.device)
            devices = every_device() if devices == ("auto",) else devices
            if len(devices) > 1:
                return on_devices(work, batches, devices)
            work.device = devices[0]
            return iter(ENGINES["local"].make().map(work, batches, 1))
        at_once = getattr(work.settings, "at_once", None) or kind.at_once
        return iter(ENGINES["local"].make().map(work, batches, at_once))

    def _batches(self, run: SystemRun) -> Iterator[list[StimulusRequest]]:
        requests = [run.request(stimulus_state, self.plan.seed) for stimulus_state in run.open.values()]
        size, price = run.state.system.batch, run.state.system.settings.cost_each or 0.0
        for start in range(0, len(requests), size):
            batch = requests[start : start + size]
            committed = self.spent + price * (run.under_way + len(batch))
            if self.options.budget is not None and price and not within(self.options.budget, committed):
                run.stopped = run.stopped or f"the budget of {money(self.options.budget, 2)} is spent"
            if run.stopped is not None:
                return
            run.under_way += len(batch)
            yield batch

    def _settle(self, run: SystemRun, outcome: AttemptOutcome) -> None:
        """Record an attempt: the result aside, a row into the ledger, the file into its place."""
        run.under_way -= 1
        if outcome.stopped:
            run.stopped = run.stopped or " ".join(filter(None, [outcome.problem, outcome.note]))
            if outcome.paid:
                self._add(replace(self._row(run, outcome), problem=run.stopped))
            return
        if outcome.note:
            run.notes.append(outcome.note)
        self._note_facts(run, outcome.facts)
        name, medium = outcome.request.prompt.stimulus, outcome.made
        state, row, twin = run.open[name], self._row(run, outcome), self._twin(outcome)
        if medium is None or twin is not None:
            row = replace(row, problem=outcome.problem or f"the same as {twin}")
            self._set_aside(state, outcome)
            self._add(row)
            run.failed_attempt(name, row.problem, outcome.final)
            return
        path = f"{state.planned.stem}{medium.suffix}"
        self.scratch.mkdir(parents=True, exist_ok=True)
        aside, target = self.scratch / f"{medium.sha256[:32]}{medium.suffix}", self.plan.media_root / path
        write_bytes(aside, medium.content)
        done = replace(row, outcome=MADE, path=path, sha256=medium.sha256, fingerprint=medium.fingerprint)
        try:
            self._add(done)
        except BaseException:  # what is not recorded is not left behind, and it is raised again
            aside.unlink(missing_ok=True)
            raise
        target.parent.mkdir(parents=True, exist_ok=True)
        aside.replace(target)
        if state.row is not None and state.row.path != path:
            (self.plan.media_root / state.row.path).unlink(missing_ok=True)
        self._remember(name, medium.sha256, medium.fingerprint)
        self.new.add(name)
        run.succeeded(name)

    def _note_facts(self, run: SystemRun, facts: GeneratorFacts) -> None:
        key = run.state.system.settings_hash
        if facts != GeneratorFacts() and self.record.facts.get(key) != facts:
            self.record = replace(self.record, facts={**self.record.facts, key: facts})
            write_json(self.plan.folder / RECORD_FILE, self.record)

    def _add(self, row: LedgerRow) -> None:
        self.ledger.add([row])
        self.spent += row.cost

    def _row(self, run: SystemRun, outcome: AttemptOutcome) -> LedgerRow:
        system, request, facts = run.state.system, outcome.request, outcome.facts
        stated = run.state.survey.provenance.get(request.prompt.stimulus, {})
        model, revision, licence = (
            str(stated.get(name) or getattr(facts, name)) for name in ("model", "revision", "licence")
        )
        run.attempts += 1
        return LedgerRow(
            at=now(),
            system=system.name,
            stimulus=request.prompt.stimulus,
            attempt=request.attempt,
            seed=request.seed,
            outcome=FAILED,
            source=outcome.source,
            seconds=round(outcome.seconds, 4),
            batch=outcome.batch,
            cost=(system.settings.cost_each or 0.0) * outcome.paid,
            generator=system.kind.name,
            model=model,
            revision=revision,
            licence=licence,
            hardware=facts.hardware,
            settings=system.settings_hash,
            digest=run.todo[request.prompt.stimulus].digest,
        )

    def _twin(self, outcome: AttemptOutcome) -> str | None:
        if outcome.made is None:
            return None
        return self.known.get(outcome.made.sha256) or self.known.get(outcome.made.fingerprint or "-")

    def _remember(self, name: str, sha256: str, fingerprint: str) -> None:
        self.known.setdefault(sha256, name)
        if fingerprint:
            self.known.setdefault(fingerprint, name)

    def _forget(self, stimuli: set[str]) -> None:
        """What is about to be replaced is no duplicate of its successor."""
        self.known = {key: name for key, name in self.known.items() if name not in stimuli}

    def _set_aside(self, state: StimulusState, outcome: AttemptOutcome) -> None:
        """Put a refused result where it can be looked at, where that was asked for."""
        twin = (outcome.made.content, outcome.made.suffix) if outcome.made else None
        content, suffix = outcome.rejected or twin or (b"", "")
        if content and self.options.keep_failed:
            name = f"{state.planned.stem}-{outcome.request.attempt}{suffix}"
            path = self.plan.folder / FAILED_FOLDER / name
            path.parent.mkdir(parents=True, exist_ok=True)
            write_bytes(path, content)
