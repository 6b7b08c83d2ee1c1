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
from heartfelt.predictors.execution.calls import Call, Spending, Usage, calls_table, usage_of
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
from heartfelt.predictors.options import RunOptions
from heartfelt.predictors.predictor import Case, Media, Prediction, Predictor, PredictorInfo
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
            f"'{predictor.label or predictor.spec or predictor.name}' gives the same answer however often it is asked.",
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
        done = f"{state.answered:,} of {len(state.keys):,} questions answered by {state.model}"
        if folder is None:
            raise Interrupted(
                f"Stopped with {done}.",
                "Give a folder to write to, and an interrupted run can continue from where it stopped.",
            ) from None
        raise Interrupted(
            f"Stopped. What was complete is kept: {done}.", "Run the same command again to continue from there."
        ) from None
    finally:
        if state.journal is not None:
            state.journal.close()


def _check_cases(cases: Sequence[Case]) -> None:
    if not cases:
        raise InputError("There is nothing to ask.", "Check the questions and the limit; items need a label.")
    name, times = Counter(case.stimulus for case in cases).most_common(1)[0]
    if times > 1:
        raise InputError(f"The stimulus '{name}' is there twice.", "Put all its questions into one case.")


class _State:
    """What is known of every item so far."""

    def __init__(self, predictor: Predictor, cases: Sequence[Case], journal: Journal | None, repeats: int = 1) -> None:
        self.model = predictor.label or predictor.spec or predictor.name
        self.journal = journal
        self.last_problem = ""
        self.entries: dict[_Item, StoredPrediction] = {}
        self.keys: dict[_Item, str] = {}
        self.cached = self.asked = 0
        self.calls: dict[str, tuple[str, Call]] = {} if journal is None else journal.calls
        self.cases, self.repeats = cases, repeats
        self.todo: list[Case] = []
        """What is still to be asked, every first repeat before any second."""
        earlier = {} if journal is None else journal.entries
        identity = hashlib.sha256(predictor.identity.encode()).hexdigest()
        digests: dict[int, str] = {}
        todo: list[list[Case]] = [[] for _ in range(repeats)]
        for case in cases:
            context = _context(case, identity)
            missing: list[list[int]] = [[] for _ in range(repeats)]
            for index, ask in enumerate(case.asks):
                digest = digests.get(id(ask)) or question_digest(ask, None)
                digests[id(ask)] = digest
                sent = predictor.request_digest(case, ask)
                parts = f"{context}\x1f{digest}" + (f"\x1f{sent}" if sent else "")
                for repeat in range(repeats):
                    item = (case.stimulus, ask.question, repeat)
                    text = f"{parts}\x1frepeat {repeat}" if repeat else parts
                    self.keys[item] = key = hashlib.sha256(text.encode()).hexdigest()[:32]
                    if key in earlier:
                        self.entries[item] = earlier[key]
                    if key not in earlier or earlier[key].prediction.problem is not None:
                        missing[repeat].append(index)
            for repeat, indices in enumerate(missing):
                if indices:
                    part = case.only(indices)
                    todo[repeat].append(replace(part, repeat=repeat) if repeat else part)
        self.todo += [case for part in todo for case in part]
        self.earlier = self.answered

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
    network = predictor.reach == "network"
    timeout = options.timeout or (NETWORK_TIMEOUT if network else None)
    cache = None if options.cache is None else Cache(options.cache)
    if cache is not None:
        cache.check()
    work = PredictorWork(predictor, options.retry or Retry(), timeout, cache)
    cases = {(case.stimulus, case.repeat): case for case in state.todo}
    # A model that computes here is not asked from several threads because a server may be.
    at_once = options.at_once if options.at_once and network else predictor.at_once
    total = sum(len(case.asks) for case in state.todo)
    done = lost = answered = 0
    giving_up = False
    spending = (
        Spending(with_calls(options.budget, state.calls.values()))
        if options.budget is not None and applies_to(options.budget, predictor)
        else None
    )
    # Under a budget each case is sent by itself: a batch of unknown price, or one for which there is not room, would not be.
    size = 1 if spending is not None else options.batch or predictor.batch
    # What is in the cache costs nothing, and is taken from there even where nothing is left of a budget.
    cached = () if spending is None else tuple(filter(None, map(work.from_cache, state.todo)))
    at_hand = {(outcome.stimulus, outcome.repeat) for outcome in cached}
    todo = [case for case in state.todo if (case.stimulus, case.repeat) not in at_hand]
    batches = deque(todo[start : start + size] for start in range(0, len(todo), size))

    def sent() -> Iterator[Sequence[Case]]:
        while batches and not giving_up and (spending is None or spending.allows(len(batches[0]))):
            batch = batches.popleft()
            if spending is not None:
                spending.send(len(batch))
            yield batch

    def outcomes() -> Iterator[Sequence[CaseOutcome]]:
        yield cached
        while batches and not giving_up and (spending is None or spending.allows(len(batches[0]))):
            if spending is not None and spending.dearest is None:
                yield work(next(sent()))
            else:
                yield from engine.map(work, sent(), at_once)

    try:
        for settled in outcomes():
            for outcome in settled:
                case = cases.pop((outcome.stimulus, outcome.repeat))
                state.add(case, outcome)
                if spending is not None and (case.stimulus, case.repeat) not in at_hand:
                    spending.receive(_calls(outcome))
                done += len(case.asks)
                answered += sum(prediction.problem is None for prediction in outcome.predictions)
                refused = network and not answered and any(outcome.attempts)
                # A case that was under way and still succeeds does not undo the reason for giving up.
                lost = lost + 1 if outcome.lost or refused else lost * giving_up
                giving_up = giving_up or (options.give_up_after is not None and lost >= options.give_up_after)
                if progress is not None:
                    progress(f"asking {state.model}", done, total)
    finally:
        if cache is not None:
            cache.close()
        if engine is not options.engine:
            engine.close()
    reason = "the engine returned no outcome"
    if giving_up:
        reason = f"{NOT_ASKED}: {lost} cases in a row had failed; the last: {state.last_problem}"
    elif spending is not None and batches:
        reason = spending.reason
    for case in cases.values():
        state.skip(case, reason)


def _calls(outcome: CaseOutcome) -> list[Call]:
    calls = [call for prediction in outcome.predictions for call in prediction.calls]
    return list({call.id: call for call in calls if call.metered}.values())


def _write(result: Run, folder: Path) -> None:
    from heartfelt.formats.delimited import csv_text  # reading other formats is not needed to answer

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
