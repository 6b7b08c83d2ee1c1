"""Running a predictor over cases: nothing twice, nothing lost, and everything that failed a row with its reason.

With a folder, every finished case is on disk before it is reported, and a second run into the same folder asks only for what
is missing, what failed, and what has changed (the media, the question, the predictor). ``predictions.parquet`` and
``predictions.csv`` are written when a run has come to its end.
"""

from __future__ import annotations

import hashlib
import io
from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeAlias

import polars as pl

from heartfelt import clock
from heartfelt.errors import InputError, Interrupted
from heartfelt.files import write_bytes, write_text
from heartfelt.predictors.execution.budgets import applies_to, with_calls
from heartfelt.predictors.execution.engines import Engine
from heartfelt.predictors.execution.repeats import NOT_ASKED, combined
from heartfelt.predictors.execution.store import (
    Cache,
    Journal,
    StoredPrediction,
    predictions_table,
    question_digest,
    repeats_table,
)
from heartfelt.predictors.execution.work import CaseOutcome, PredictorWork, Retry
from heartfelt.predictors.interface.calls import Call, Spending, Usage, calls_table, usage_of
from heartfelt.predictors.interface.predictor import Case, Media, Prediction, Predictor, PredictorInfo
from heartfelt.predictors.options import RunOptions
from heartfelt.progress import Progress
from heartfelt.representation import ShortRepr
from heartfelt.serialization import write_json

_TABLES = ("predictions.parquet", "predictions.csv", "predictions_ledger.csv", "calls.parquet")
_WRITTEN = (*_TABLES, "repeats.parquet", "run.json")
NETWORK_TIMEOUT = 600.0
_Item: TypeAlias = tuple[str, str, int]
"""A stimulus, a question, and which repeat of it."""


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class Run(ShortRepr):
    """The result of a run. What ``run.json`` holds comes first."""

    model: str
    identity: str
    predictor: PredictorInfo
    """Which model it was: a name for people, a version and a hash."""
    counts: Mapping[str, int]
    """items, answered, failed, kept (from earlier runs), cached, asked (questions put in this run, retries included)."""
    seconds: float
    usage: Usage | None = field(metadata={"omit": True})
    """What the requests to a hosted model add up to."""
    table: pl.DataFrame = field(metadata={"skip": True})
    """Under the contract ``PREDICTIONS``: a row for every item, answered or not, in the order of the cases."""
    ledger: pl.DataFrame = field(metadata={"skip": True})
    """What the predictor holds and could not use."""
    calls: pl.DataFrame | None = field(metadata={"skip": True})
    """Under the contract ``CALLS``: a row for every request to a hosted model, with what it cost and returned."""
    repeated: pl.DataFrame | None = field(default=None, metadata={"skip": True})
    """A row for every repeat, as in ``table`` with a column ``repeat`` counted from 0; None where each question was asked once."""
    folder: Path | None = field(default=None, metadata={"skip": True})


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
    if options.repeats > 1 and not predictor.repeatable:
        raise InputError(
            f"'{_name_of(predictor)}' gives the same answer however often it is asked.",
            "Leave out repeats; they are for servers and functions.",
        )
    predictor.expect(cases)
    state = _State(predictor, cases, None if folder is None else Journal(folder), options.repeats)
    predictor.reuse(state.unused_calls)
    begun = clock.timer()
    try:
        if folder is not None and state.todo:
            for name in _WRITTEN:
                (folder / name).unlink(missing_ok=True)
        _ask(predictor, state, options, progress)
        result = state.result(predictor, round(clock.timer() - begun, 3), folder)
        if folder is not None:
            _write(result, folder)
        return result
    except KeyboardInterrupt:
        raise _interrupted(state) from None
    finally:
        if state.journal is not None:
            state.journal.close()


def _name_of(predictor: Predictor) -> str:
    return predictor.label or predictor.spec or predictor.name


def _interrupted(state: _State) -> Interrupted:
    done = f"{state.answered:,} of {len(state.keys):,} questions answered by {state.model}"
    if state.journal is None:
        return Interrupted(
            f"Stopped with {done}.",
            "Give a folder to write to, and an interrupted run can continue from where it stopped.",
        )
    return Interrupted(
        f"Stopped. What was complete is kept: {done}.", "Run the same command again to continue from there."
    )


def _check_cases(cases: Sequence[Case]) -> None:
    if not cases:
        raise InputError("There is nothing to ask.", "Check the questions and the limit; items need a label.")
    name, times = Counter(case.stimulus for case in cases).most_common(1)[0]
    if times > 1:
        raise InputError(f"The stimulus '{name}' is there twice.", "Put all its questions into one case.")


class _State:
    """What is known of every item so far."""

    def __init__(self, predictor: Predictor, cases: Sequence[Case], journal: Journal | None, repeats: int = 1) -> None:
        self.model = _name_of(predictor)
        self.journal = journal
        self.last_problem = ""
        self.entries: dict[_Item, StoredPrediction] = {}
        self.keys: dict[_Item, str] = {}
        self.cached = self.asked = 0
        self.calls: dict[str, tuple[str, Call]] = {} if journal is None else journal.calls
        self.cases, self.repeats = cases, repeats
        earlier = {} if journal is None else journal.entries
        for item, key in _item_keys(predictor, cases, repeats):
            self.keys[item] = key
            if key in earlier:
                self.entries[item] = earlier[key]
        self.todo = [part for repeat in range(repeats) for case in cases for part in self._unanswered(case, repeat)]
        """What is still to be asked, every first repeat before any second."""
        self.earlier = self.answered

    def _unanswered(self, case: Case, repeat: int) -> Iterator[Case]:
        """The case with the questions that have no answer yet; nothing where all have one."""
        entries = (self.entries.get((case.stimulus, ask.question, repeat)) for ask in case.asks)
        indices = [at for at, entry in enumerate(entries) if entry is None or entry.prediction.problem is not None]
        if indices:
            part = case.only(indices)
            yield replace(part, repeat=repeat) if repeat else part

    @property
    def answered(self) -> int:
        return sum(entry.prediction.problem is None for entry in self.entries.values())

    @property
    def unused_calls(self) -> list[Call]:
        """Requests of failed items that were answered and paid for, while others of the same item were not answered."""
        failed = (entry.prediction for entry in self.entries.values() if entry.prediction.problem is not None)
        return [call for prediction in failed for call in prediction.lost_calls if call.lost is None]

    def add(self, case: Case, outcome: CaseOutcome) -> None:
        new: dict[str, StoredPrediction] = {}
        seconds = round(outcome.seconds, 6)
        for ask, prediction, attempts in zip(case.asks, outcome.predictions, outcome.attempts, strict=True):
            item = (case.stimulus, ask.question, case.repeat)
            before = self.entries[item].attempts if item in self.entries else 0
            self.entries[item] = new[self.keys[item]] = StoredPrediction(prediction, before + attempts, seconds)
            self.asked += attempts
            self.last_problem = prediction.problem or self.last_problem
            for call in prediction.calls:
                self.calls[call.id] = (case.stimulus, call)
        self.cached += outcome.from_cache
        if self.journal is not None:
            self.journal.add(case.stimulus, new, seconds)

    def skip(self, case: Case, reason: str) -> None:
        """Note that a case was not asked; a later run will ask it."""
        for ask in case.asks:
            item = (case.stimulus, ask.question, case.repeat)
            attempts = self.entries[item].attempts if item in self.entries else 0
            self.entries[item] = StoredPrediction(Prediction.failed(reason), attempts)

    def result(self, predictor: Predictor, seconds: float, folder: Path | None) -> Run:
        calls, entries = self.calls.values(), list(self._items())
        answered = sum(entry.prediction.problem is None for *_, entry in entries)
        metered = [call for _, call in calls if call.metered]
        counts = {
            "items": len(entries),
            "answered": answered,
            "failed": len(entries) - answered,
            "kept": self.earlier,
            "cached": self.cached,
            "asked": self.asked,
        } | ({"repeats": self.repeats} if self.repeats > 1 else {})
        return Run(
            model=self.model,
            identity=predictor.identity,
            predictor=predictor.info,
            counts=counts,
            seconds=seconds,
            usage=replace(usage_of(metered), items=answered) if metered else None,
            table=predictions_table(self.model, entries),
            ledger=predictor.ledger(),
            calls=calls_table(calls) if calls else None,
            repeated=repeats_table(self.model, ((*item, self.entries[item]) for item in self.keys))
            if self.repeats > 1
            else None,
            folder=folder,
        )

    def _items(self) -> Iterator[tuple[str, str, StoredPrediction]]:
        for case in self.cases:
            for ask in case.asks:
                entries = [self.entries[case.stimulus, ask.question, repeat] for repeat in range(self.repeats)]
                if len(entries) == 1:
                    yield case.stimulus, ask.question, entries[0]
                    continue
                prediction = combined([entry.prediction for entry in entries], ask)
                seconds = [entry.seconds for entry in entries if entry.seconds is not None]
                attempts = sum(entry.attempts for entry in entries)
                entry = StoredPrediction(prediction, attempts, round(sum(seconds), 6) if seconds else None)
                yield case.stimulus, ask.question, entry


def _item_keys(predictor: Predictor, cases: Sequence[Case], repeats: int) -> Iterator[tuple[_Item, str]]:
    identity = hashlib.sha256(predictor.identity.encode()).hexdigest()
    # Most cases share their questions, whose digests take longer than all else here.
    digests: dict[int, str] = {}
    for case in cases:
        context = _context(case, identity)
        for ask in case.asks:
            digest = digests.get(id(ask)) or question_digest(ask, None)
            digests[id(ask)] = digest
            sent = predictor.request_digest(case, ask)
            parts = f"{context}\x1f{digest}" + (f"\x1f{sent}" if sent else "")
            for repeat in range(repeats):
                text = f"{parts}\x1frepeat {repeat}" if repeat else parts
                yield (case.stimulus, ask.question, repeat), hashlib.sha256(text.encode()).hexdigest()[:32]


def _context(case: Case, identity: str) -> str:
    """Everything besides the question that decides an answer: the predictor, the stimulus, its media file as it is now."""
    stamp = " ".join(_stamp(file) for file in case.files)
    facts = "\x1e".join(f"{name}={value}" for name, value in sorted(case.facts.items()))
    parts = (identity, case.stimulus, stamp, case.system or "", case.intent or "", case.prompt or "", facts)
    return "\x1f".join(parts)


def _stamp(file: Media) -> str:
    try:
        status = file.path.stat()
    except OSError:
        return "gone"
    return f"{status.st_size} {status.st_mtime_ns}"


def _ask(predictor: Predictor, state: _State, options: RunOptions, progress: Progress | None) -> None:
    if not state.todo:
        return
    engine = options.make_engine()
    timeout = options.timeout or (NETWORK_TIMEOUT if predictor.reach == "network" else None)
    cache = None if options.cache is None else Cache(options.cache)
    if cache is not None:
        cache.check()
    asking = _Asking(PredictorWork(predictor, options.retry or Retry(), timeout, cache), state, options)
    try:
        asking.ask(engine, progress)
    finally:
        if cache is not None:
            cache.close()
        if engine is not options.engine:
            engine.close()


class _Asking:
    """The cases under way: what is sent next, what came back, and whether to go on."""

    def __init__(self, work: PredictorWork, state: _State, options: RunOptions) -> None:
        predictor = work.predictor
        self.work, self.state, self.options = work, state, options
        self.waiting = {(case.stimulus, case.repeat): case for case in state.todo}
        self.network = predictor.reach == "network"
        # A model that computes here is not asked from several threads because a server may be.
        self.at_once = options.at_once if options.at_once and self.network else predictor.at_once
        self.lost = self.answered = 0
        self.giving_up = False
        self.spending: Spending | None = None
        if options.budget is not None and applies_to(options.budget, predictor):
            self.spending = Spending(with_calls(options.budget, state.calls.values()))
        # Under a budget each case is sent by itself: a batch of unknown price, or one for which there is not room, would not be.
        size = 1 if self.spending is not None else options.batch or predictor.batch
        # What is in the cache costs nothing, and is taken from there even where nothing is left of a budget.
        self.cached = () if self.spending is None else tuple(filter(None, map(work.from_cache, state.todo)))
        self.at_hand = {(outcome.stimulus, outcome.repeat) for outcome in self.cached}
        todo = [case for case in state.todo if (case.stimulus, case.repeat) not in self.at_hand]
        self.batches = deque(todo[start : start + size] for start in range(0, len(todo), size))

    def ask(self, engine: Engine, progress: Progress | None) -> None:
        done, total = 0, sum(len(case.asks) for case in self.state.todo)
        for settled in self._outcomes(engine):
            for outcome in settled:
                done += len(outcome.predictions)
                self._take(outcome)
                if progress is not None:
                    progress(f"asking {self.state.model}", done, total)
        for case in self.waiting.values():
            self.state.skip(case, self._reason_not_asked)

    @property
    def _goes_on(self) -> bool:
        affordable = self.spending is None or bool(self.batches and self.spending.allows(len(self.batches[0])))
        return bool(self.batches) and not self.giving_up and affordable

    def _sent(self) -> Iterator[Sequence[Case]]:
        while self._goes_on:
            batch = self.batches.popleft()
            if self.spending is not None:
                self.spending.send(len(batch))
            yield batch

    def _outcomes(self, engine: Engine) -> Iterator[Sequence[CaseOutcome]]:
        yield self.cached
        while self._goes_on:
            if self.spending is not None and self.spending.dearest is None:
                # Until a price is known, one at a time: several under way could exceed the budget together.
                yield self.work(next(self._sent()))
            else:
                yield from engine.map(self.work, self._sent(), self.at_once)

    def _take(self, outcome: CaseOutcome) -> None:
        key = (outcome.stimulus, outcome.repeat)
        self.state.add(self.waiting.pop(key), outcome)
        if self.spending is not None and key not in self.at_hand:
            self.spending.receive(_calls(outcome))
        self.answered += sum(prediction.problem is None for prediction in outcome.predictions)
        refused = self.network and not self.answered and any(outcome.attempts)
        # A case that was under way and still succeeds does not undo the reason for giving up.
        self.lost = self.lost + 1 if outcome.lost or refused else self.lost * self.giving_up
        limit = self.options.give_up_after
        self.giving_up = self.giving_up or (limit is not None and self.lost >= limit)

    @property
    def _reason_not_asked(self) -> str:
        if self.giving_up:
            return f"{NOT_ASKED}: {self.lost} cases in a row had failed; the last: {self.state.last_problem}"
        if self.spending is not None and self.batches:
            return self.spending.reason
        return "the engine returned no outcome"


def _calls(outcome: CaseOutcome) -> list[Call]:
    calls = [call for prediction in outcome.predictions for call in prediction.calls]
    return list({call.id: call for call in calls if call.metered}.values())


def _write(result: Run, folder: Path) -> None:
    from heartfelt.formats.tables.delimited import csv_text  # reading other formats is not needed to answer

    table, csv, ledger, calls, repeats, summary = (folder / name for name in _WRITTEN)
    _write_parquet(result.table, table)
    write_text(csv, csv_text(result.table))
    if result.ledger.height:
        write_text(ledger, csv_text(result.ledger))
    if result.calls is not None:
        _write_parquet(result.calls, calls)
    if result.repeated is not None:
        _write_parquet(result.repeated, repeats)
    write_json(summary, result)


def _write_parquet(table: pl.DataFrame, path: Path) -> None:
    memory = io.BytesIO()
    table.write_parquet(memory, compression="zstd")
    write_bytes(path, memory.getvalue())
