"""Running a predictor over cases: nothing twice, nothing lost, and everything that failed a row with its reason.

With a folder, every finished case is on disk before it is reported, and a second run into the same folder asks only for what
is missing, what failed, and what has changed (the media, the question, the predictor). ``predictions.parquet`` and
``predictions.csv`` are there when a run has come to its end, whole.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from heartfelt.errors import HeartfeltError, InputError
from heartfelt.files import write_bytes, write_text
from heartfelt.formats.delimited import csv_text
from heartfelt.predictors.cache import Cache, asked_digest
from heartfelt.predictors.engine import ENGINES, Engine
from heartfelt.predictors.info import PredictorInfo
from heartfelt.predictors.journal import Journal
from heartfelt.predictors.model_call import Call, Usage, calls_table, usage_of
from heartfelt.predictors.predictor import Case, Prediction, Predictor
from heartfelt.predictors.record import Entry, predictions_table
from heartfelt.predictors.retry import Retry
from heartfelt.predictors.task import narrowed
from heartfelt.predictors.work import Outcome, Work
from heartfelt.progress import Progress
from heartfelt.representation import ShortRepr
from heartfelt.serialization import write_json

TABLE, CSV, LEDGER_CSV, CALLS_TABLE, SUMMARY = (
    "predictions.parquet",
    "predictions.csv",
    "predictions_ledger.csv",
    "calls.parquet",
    "run.json",
)
NETWORK_TIMEOUT = 600.0
_Key = tuple[str, str]


class Interrupted(HeartfeltError):
    """A run that was stopped; what is done is kept."""

    exit_code = 130


@dataclass(frozen=True, slots=True)
class RunOptions:
    """How a predictor is run; what is None is left to the predictor."""

    at_once: int | None = None
    """How many batches may be under way at the same time, of predictors that wait for a network."""
    batch: int | None = None
    """How many cases a batch holds."""
    retry: Retry = field(default_factory=Retry)
    timeout: float | None = None
    """Seconds one case may take at one asking; ten minutes over a network and no limit here if left out."""
    cache: Path | None = None
    """The file answers are kept in between runs, such as ``user_cache()``; none if left out."""
    engine: str | Engine = "local"
    engine_options: Mapping[str, str] = field(default_factory=dict)
    give_up_after: int | None = 50
    """Stop asking when so many cases in a row were lost to bad weather, or a server has refused so many and answered none."""

    def __post_init__(self) -> None:
        for name in ("at_once", "batch", "timeout", "give_up_after"):
            number = getattr(self, name)
            if number is not None and number <= 0:
                raise InputError(f"A run with {name} = {number} cannot be.", "Give a number above 0.")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Run(ShortRepr):
    """What came of a run."""

    model: str
    identity: str
    table: pl.DataFrame
    """Under the contract ``PREDICTIONS``: a row for every item, answered or not, in the order of the cases."""
    ledger: pl.DataFrame
    """What the predictor holds and could not use."""
    counts: Mapping[str, int]
    """items, answered, failed, kept (from earlier runs), cached, asked (questions put in this run, retries included)."""
    seconds: float
    folder: Path | None = None
    calls: pl.DataFrame | None = None
    """Under the contract ``CALLS``: a row for every request to a hosted model, with what it cost and returned."""
    usage: Usage | None = None
    """What those requests add up to."""
    info: PredictorInfo | None = None
    """Which model it was: a name for people, a version and a hash."""

    def to_json(self) -> dict[str, Any]:
        """Plain data for ``run.json``."""
        return {
            "model": self.model,
            "identity": self.identity,
            "predictor": None if self.info is None else self.info.to_json(),
            "counts": dict(self.counts),
            "seconds": round(self.seconds, 3),
            **({} if self.usage is None else {"usage": self.usage.to_json()}),
        }


def run(
    predictor: Predictor,
    cases: Sequence[Case],
    folder: Path | str | None = None,
    options: RunOptions | None = None,
    progress: Progress | None = None,
) -> Run:
    """Ask a predictor everything, and return a row for every item."""
    options = options or RunOptions()
    folder = None if folder is None else Path(folder)
    _check_cases(cases)
    predictor.expect(cases)
    state = _State(predictor, cases, None if folder is None else Journal(folder))
    model = state.model
    begun = time.perf_counter()
    try:
        if folder is not None and state.todo:
            for name in (TABLE, CSV, LEDGER_CSV, CALLS_TABLE, SUMMARY):
                (folder / name).unlink(missing_ok=True)
        _ask(predictor, state, options, progress)
        seconds = time.perf_counter() - begun
        table = predictions_table(model, state.rows())
        calls = calls_table(state.calls.values()) if state.calls else None
        usage = usage_of(call for _, call in state.calls.values()) if state.calls else None
        done = Run(
            model,
            predictor.identity,
            table,
            predictor.ledger(),
            state.counts(),
            seconds,
            folder,
            calls,
            usage,
            predictor.info,
        )
        if folder is not None:
            _write(done, folder)
        return done
    except KeyboardInterrupt:
        raise Interrupted(
            f"Stopped with {state.answered:,} of {state.items:,} questions answered by {model}"
            + ("; they are kept." if folder is not None else "."),
            "Run the same command again to go on from there."
            if folder is not None
            else "Give a folder to write to, and an interrupted run can go on from where it stopped.",
        ) from None
    finally:
        if state.journal is not None:
            state.journal.close()


def _check_cases(cases: Sequence[Case]) -> None:
    if not cases:
        raise InputError("There is nothing to ask.", "Check the questions and the limit; items need a label.")
    names = [case.stimulus for case in cases]
    if len(set(names)) < len(names):
        twice = next(name for place, name in enumerate(names) if name in names[:place])
        raise InputError(f"The stimulus '{twice}' is there twice.", "Put all its questions into one case.")


class _State:
    """What is known of every item so far."""

    def __init__(self, predictor: Predictor, cases: Sequence[Case], journal: Journal | None) -> None:
        self.model = predictor.label or predictor.asked or predictor.name
        self.journal = journal
        self.last_problem = ""
        self.entries: dict[_Key, Entry] = {}
        self.keys: dict[_Key, str] = {}
        self.cached = self.asked = 0
        self.calls: dict[str, tuple[str, Call]] = {} if journal is None else journal.calls
        kept = {} if journal is None else journal.entries
        identity = hashlib.sha256(predictor.identity.encode()).hexdigest()
        digests: dict[int, str] = {}
        self.todo: list[Case] = []
        for case in cases:
            context = _context(case, identity)
            missing = []
            for place, ask in enumerate(case.asks):
                digest = digests.get(id(ask)) or asked_digest(ask, None)
                digests[id(ask)] = digest
                at = (case.stimulus, ask.question)
                sent = predictor.request_digest(case, ask)
                whole = f"{context}\x1f{digest}" + (f"\x1f{sent}" if sent else "")
                key = hashlib.sha256(whole.encode()).hexdigest()[:32]
                self.keys[at] = key
                if key in kept:
                    self.entries[at] = kept[key]
                if key not in kept or kept[key].prediction.problem is not None:
                    missing.append(place)
            if missing:
                self.todo.append(narrowed(case, missing))
        self.items = len(self.keys)
        self.kept = self.answered

    @property
    def answered(self) -> int:
        """How many items have a prediction."""
        return sum(entry.prediction.problem is None for entry in self.entries.values())

    def take(self, case: Case, outcome: Outcome) -> None:
        """Keep what became of a case."""
        new: dict[str, Entry] = {}
        for ask, said, attempts in zip(case.asks, outcome.predictions, outcome.attempts, strict=True):
            at = (case.stimulus, ask.question)
            before = self.entries[at].attempts if at in self.entries else 0
            self.entries[at] = Entry(said, before + attempts, round(outcome.seconds, 6))
            new[self.keys[at]] = self.entries[at]
            self.asked += attempts
            self.last_problem = said.problem or self.last_problem
            if said.call is not None:
                self.calls[said.call.id] = (case.stimulus, said.call)
        self.cached += outcome.found
        if self.journal is not None:
            self.journal.add(case.stimulus, new, round(outcome.seconds, 6))

    def leave(self, case: Case, reason: str) -> None:
        """Note that a case was not asked; a later run will."""
        for ask in case.asks:
            at = (case.stimulus, ask.question)
            attempts = self.entries[at].attempts if at in self.entries else 0
            self.entries[at] = Entry(Prediction.failed(reason), attempts)

    def rows(self) -> Iterator[tuple[str, str, Entry]]:
        """Every item with its entry, in the order of the cases."""
        for at in self.keys:
            yield *at, self.entries[at]

    def counts(self) -> dict[str, int]:
        """The items in numbers."""
        answered = self.answered
        return {
            "items": self.items,
            "answered": answered,
            "failed": self.items - answered,
            "kept": self.kept,
            "cached": self.cached,
            "asked": self.asked,
        }


def _context(case: Case, identity: str) -> str:
    """Everything beside the question that decides an answer: the predictor, the stimulus, its media file as it is now."""
    stamp = ""
    if case.media is not None:
        try:
            found = case.media.path.stat()
            stamp = f"{found.st_size} {found.st_mtime_ns}"
        except OSError:
            stamp = "gone"
    facts = "\x1e".join(f"{name}={value}" for name, value in sorted(case.facts.items()))
    parts = (identity, case.stimulus, stamp, case.system or "", case.intent or "", case.prompt or "", facts)
    return "\x1f".join(parts)


def _ask(predictor: Predictor, state: _State, options: RunOptions, progress: Progress | None) -> None:
    """Put everything that is missing to the predictor."""
    if not state.todo:
        return
    engine = (
        ENGINES[options.engine].make(options.engine_options)
        if isinstance(options.engine, str)
        else options.engine
    )
    timeout = options.timeout or (NETWORK_TIMEOUT if predictor.reach == "network" else None)
    cache = None if options.cache is None else Cache(options.cache)
    if cache is not None:
        cache.check()
    work = Work(predictor, options.retry, timeout, cache)
    cases = {case.stimulus: case for case in state.todo}
    # A model that computes here is not asked from several threads because a server may be.
    at_once = options.at_once if options.at_once and predictor.reach == "network" else predictor.at_once
    doing = f"asking {state.model}"
    total = sum(len(case.asks) for case in state.todo)
    done = lost = answered = 0
    giving_up = False

    def batches() -> Iterator[Sequence[Case]]:
        size = options.batch or predictor.batch
        for start in range(0, len(state.todo), size):
            if giving_up:
                return
            yield state.todo[start : start + size]

    try:
        for outcomes in engine.map(work, batches(), at_once):
            for outcome in outcomes:
                case = cases.pop(outcome.stimulus)
                state.take(case, outcome)
                done += len(case.asks)
                answered += sum(one.problem is None for one in outcome.predictions)
                refused = predictor.reach == "network" and not answered and any(outcome.attempts)
                lost = lost + 1 if outcome.lost or refused else 0
                giving_up = giving_up or (options.give_up_after is not None and lost >= options.give_up_after)
                if progress is not None:
                    progress(doing, done, total)
    finally:
        if cache is not None:
            cache.close()
        if isinstance(options.engine, str):
            engine.close()
    given_up = f"not asked: {lost} cases in a row had failed; the last: {state.last_problem}"
    for case in cases.values():
        state.leave(case, given_up if giving_up else "the engine handed back no outcome")


def _write(done: Run, folder: Path) -> None:
    """Write the outputs, each whole."""
    _write_parquet(done.table, folder / TABLE)
    write_text(folder / CSV, csv_text(done.table))
    if done.ledger.height:
        write_text(folder / LEDGER_CSV, csv_text(done.ledger))
    if done.calls is not None:
        _write_parquet(done.calls, folder / CALLS_TABLE)
    write_json(folder / SUMMARY, done.to_json())


def _write_parquet(table: pl.DataFrame, path: Path) -> None:
    import io

    parquet = io.BytesIO()
    table.write_parquet(parquet, compression="zstd")
    write_bytes(path, parquet.getvalue())
