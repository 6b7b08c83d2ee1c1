"""The one writer of a process (group commit): takes what is waiting as one transaction, commits once, then replies.

The more raters come at a time, the more of them share one wait for the disk. A command that is refused leaves nothing
behind and does not hold up the others. When the database fails, nothing of the transaction is stored, every caller gets
the error, and the state is rebuilt from the journal before the next transaction.
"""

from __future__ import annotations

import asyncio
import math
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from copy import copy
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

from sqlalchemy import Connection

from heartfelt.collect.assign import State
from heartfelt.collect.messages import adjudicators, commands
from heartfelt.collect.messages.commands import Command
from heartfelt.collect.messages.errors import StoreUnavailable
from heartfelt.collect.session import adjudication, answers, participants, questionnaires, researcher
from heartfelt.collect.session.progress.transaction import Mark, Transaction
from heartfelt.collect.writing import media_versions
from heartfelt.collect.writing.store_state import StoreState
from heartfelt.errors import HeartfeltError, InputError

MOST_AT_ONCE = 256
"""Commands in one transaction."""
R = TypeVar("R")
_PROBE = "last write probe"
_PROBE_CHARACTERS = 16_384
"""A few pages: about as much as a handful of answers needs on a disk that is nearly full."""
_IDLE_SECONDS = 60.0
_PROBE_SECONDS = 2.0

HANDLERS: dict[type, Callable[[Transaction, Any], Any]] = {
    commands.Arrive: participants.arrive,
    commands.Next: participants.current_step,
    commands.GiveConsent: participants.consent,
    commands.Demographics: participants.demographics,
    commands.Questionnaire: questionnaires.answer_page,
    commands.Headphones: participants.headphones,
    commands.Ready: participants.ready,
    commands.Leave: participants.leave,
    commands.Withdraw: participants.withdraw,
    commands.Erase: participants.erase,
    commands.Answer: answers.answer,
    commands.Heartbeat: answers.heartbeat,
    commands.Flag: answers.flag,
    commands.MediaProblem: answers.media_problem,
    commands.Exclude: researcher.exclude,
    commands.Restore: researcher.restore,
    commands.ChangeSettings: researcher.change,
    commands.Invite: researcher.invite,
    adjudicators.AddAdjudicator: adjudication.add,
    adjudicators.CheckAdjudicator: adjudication.check,
    adjudicators.RevokeAdjudicator: adjudication.revoke,
    adjudicators.EraseAdjudicator: adjudication.erase,
    adjudicators.Adjudicate: adjudication.decide,
    media_versions.RecordMedia: media_versions.record,
    researcher.CountAutomated: lambda work, _: researcher.count_automated(work),
    researcher.ApplyStudySettings: lambda work, _: researcher.apply_study_settings(work),
    researcher.SetValue: lambda work, command: work.set_value(command.name, command.value),
    researcher.Refresh: lambda work, _: researcher.summarize(work.state),
}


@dataclass(slots=True, eq=False, kw_only=True)
class QueuedCommand:
    """A command, and where its result goes."""

    command: Command[Any]
    future: Any
    loop: asyncio.AbstractEventLoop | None = None
    result: Any = None
    error: Exception | None = None


class Writer:
    """A thread that alone decides and stores, for as long as the collection is open."""

    def __init__(self, store: StoreState, clock: Callable[[], float]) -> None:
        self._store = store
        self._clock = clock
        self._waiting: SimpleQueue[QueuedCommand | None] = SimpleQueue()
        self._connection: Connection | None = None
        self._closed = False
        self._failure: Exception | None = None
        self._wrote_at = self._probed_at = -math.inf
        self._lock = threading.Lock()
        self._probing = threading.Lock()
        self._thread = threading.Thread(target=self._run, name="heartfelt-writer", daemon=True)

    def start(self) -> None:
        """Begin to take commands."""
        self._thread.start()

    def do(self, command: Command[R]) -> R:
        """Queue a command and wait for its result."""
        future: Future[R] = Future()
        self._put(QueuedCommand(command=command, future=future))
        return future.result()

    async def ask(self, command: Command[R]) -> R:
        """The same for a coroutine."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[R] = loop.create_future()
        self._put(QueuedCommand(command=command, future=future, loop=loop))
        return await future

    def check(self) -> None:
        """Raise where the store cannot be written to.

        A failure counts until a write succeeds: one that others asked for, or a small one that is tried here after a
        failure and after a minute without any.
        """
        with self._probing:
            now = time.monotonic()
            if self._failure is None and now - self._wrote_at < _IDLE_SECONDS:
                return
            if self._failure is not None and now - self._probed_at < _PROBE_SECONDS:
                raise copy(self._failure)
            self._probed_at = now
            self.do(researcher.SetValue(_PROBE, "." * _PROBE_CHARACTERS))

    def _put(self, job: QueuedCommand) -> None:
        # Under the lock that close() takes: nothing can be queued behind the end of the queue.
        with self._lock:
            if self._closed:
                raise StoreUnavailable("The collection is closed.", "Open it again.")
            self._waiting.put(job)

    def close(self) -> None:
        with self._lock:
            if not self._closed:
                self._closed = True
                self._waiting.put(None)
        self._thread.join()

    def _run(self) -> None:
        # Nothing is queued after the None that ends the queue.
        while (job := self._waiting.get()) is not None:
            jobs = [job]
            with suppress(Empty):
                while len(jobs) < MOST_AT_ONCE and (job := self._waiting.get_nowait()) is not None:
                    jobs.append(job)
            self._transaction(jobs)
            _reply(jobs)
            if job is None:
                break
        self._disconnect()

    def _transaction(self, jobs: list[QueuedCommand]) -> None:
        """All jobs or none: a failing database fails every one of them."""
        database = self._store.database
        for attempt in (1, 2):
            decided = False
            fresh = self._connection is None
            try:
                if self._store.state is None:
                    self._store.read()
                if self._connection is None:
                    self._connection = database.connect()
                with database.writing(self._connection, self._store.journal_query) as rows:
                    # Another process may have written since; what it did is in the journal, and comes first.
                    state = self._store.catch_up(self._connection, rows)
                    decided = True
                    work = self._carry_out(self._connection, state, jobs)
                    written = work.mark() != (0, 0, 0, 0)
                    if written:
                        self._store.write(self._connection, work)
                if written:
                    self._failure, self._wrote_at = None, time.monotonic()
                return
            except database.failures as failure:
                error = database.explain(failure)
                disconnected = self._connection is not None and database.is_disconnected(self._connection)
                self._reset()
                # A connection that was lost while it was idle is no reason to fail the callers.
                if attempt == 1 and disconnected and not decided and not fresh:
                    continue
                self._failure = error
                _fail(jobs, error)
                return
            except Exception as error:  # noqa: BLE001 - whatever it was, every caller must get a reply
                self._reset()
                self._failure = error
                _fail(jobs, error)
                return

    def _carry_out(self, connection: Connection, state: State, jobs: list[QueuedCommand]) -> Transaction:
        work = Transaction(context=self._store.context, state=state, now=self._clock())
        for number in state.expired(work.now):
            work.record("lapsed", number)
        for job in jobs:
            # A command that fails after recording events is undone alone; the others keep what they did.
            mark = work.mark()
            job.result = job.error = None
            try:
                job.result = _handler(job.command)(work, job.command)
            except HeartfeltError as error:
                job.error = error
                if work.mark() != mark:
                    self._undo(connection, work, mark)
            except Exception as error:  # noqa: BLE001 - a fault in one command must not take the others with it
                job.error = error
                self._undo(connection, work, mark)
        return work

    def _undo(self, connection: Connection, work: Transaction, mark: Mark) -> None:
        """Undo a failed command: rebuild the state from the journal and the events before it."""
        work.roll_back(mark)
        self._store.state = None
        work.state = self._store.catch_up(connection, pending=work.events)
        for table, row in work.rows:
            if table == "raters":
                work.context.recognize(row)

    def _reset(self) -> None:
        """Drop everything the store may not have: the next transaction connects and reads again."""
        self._store.state = None
        self._disconnect()

    def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            lost = (*self._store.database.failures, OSError)
            with suppress(*lost):
                connection.invalidate()
            with suppress(*lost):
                connection.close()


def _handler(command: object) -> Callable[[Transaction, Any], Any]:
    handler = HANDLERS.get(type(command))
    if handler is None:
        raise InputError(
            f"Unknown command {type(command).__name__}.", "Use the commands of heartfelt.collect.messages.commands."
        )
    return handler


def _fail(jobs: list[QueuedCommand], error: Exception) -> None:
    """No command was done. Every caller gets an error of their own; a refusal for other reasons stays as it was."""
    for job in jobs:
        job.result, job.error = None, job.error or copy(error)


def _reply(jobs: list[QueuedCommand]) -> None:
    """Give every caller their result; those of one event loop together."""
    loops: dict[asyncio.AbstractEventLoop, list[QueuedCommand]] = {}
    for job in jobs:
        if job.loop is not None:
            loops.setdefault(job.loop, []).append(job)
        else:
            _resolve([job])
    for loop, theirs in loops.items():
        with suppress(RuntimeError):  # the loop is closed: nobody is waiting
            loop.call_soon_threadsafe(_resolve, theirs)


def _resolve(jobs: list[QueuedCommand]) -> None:
    for job in jobs:
        if job.future.done():
            continue
        if job.error is not None:
            job.future.set_exception(job.error)
        else:
            job.future.set_result(job.result)
