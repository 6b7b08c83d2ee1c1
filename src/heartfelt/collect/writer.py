"""The one writer of a process: takes what is waiting as one transaction, commits once, then answers everyone.

The more raters come at a time, the more of them share one wait for the disk. A command that is refused leaves nothing
behind and does not hold up the others. When the database fails, nothing of the transaction is stored, everyone in it is
told so, and the state is made again from the journal before the next.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from copy import copy
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any

from heartfelt.collect.assign import State
from heartfelt.collect.books import Books
from heartfelt.collect.commands import Command
from heartfelt.collect.errors import StoreAway
from heartfelt.collect.session.dispatch import carry_out
from heartfelt.collect.session.work import Work
from heartfelt.errors import HeartfeltError

if TYPE_CHECKING:
    from sqlalchemy import Connection

MOST_AT_ONCE = 256
"""Commands in one transaction."""


class Job:
    """A command, and where its answer goes."""

    __slots__ = ("answer", "command", "error", "future", "loop")

    def __init__(self, command: Command[Any], future: Any, loop: asyncio.AbstractEventLoop | None) -> None:
        self.command = command
        self.future = future
        self.loop = loop
        self.answer: Any = None
        self.error: Exception | None = None


class Writer:
    """A thread that alone decides and stores, for as long as the collection is open."""

    def __init__(self, books: Books, clock: Callable[[], float]) -> None:
        self._books = books
        self._clock = clock
        self._waiting: SimpleQueue[Job | None] = SimpleQueue()
        self._connection: Connection | None = None
        self._closed = False
        self._door = threading.Lock()
        self._thread = threading.Thread(target=self._run, name="heartfelt-writer", daemon=True)

    def start(self) -> None:
        """Begin to take commands."""
        self._thread.start()

    def do(self, command: Command[Any]) -> Any:
        """Put a command in and wait for its answer."""
        future: Future[Any] = Future()
        self._put(Job(command, future, None))
        return future.result()

    async def ask(self, command: Command[Any]) -> Any:
        """The same for a coroutine."""
        loop = asyncio.get_running_loop()
        future = loop.create_future()
        self._put(Job(command, future, loop))
        return await future

    def _put(self, job: Job) -> None:
        with self._door:
            if self._closed:
                raise StoreAway("The collection is closed.", "Open it again.")
            self._waiting.put(job)

    def close(self) -> None:
        """Finish what is waiting and stop."""
        with self._door:
            if not self._closed:
                self._closed = True
                self._waiting.put(None)
        self._thread.join()

    def _run(self) -> None:
        going = True
        while going:
            first = self._waiting.get()
            jobs = [] if first is None else [first]
            going = first is not None
            with suppress(Empty):
                while len(jobs) < MOST_AT_ONCE:
                    job = self._waiting.get_nowait()
                    if job is None:
                        going = False
                    else:
                        jobs.append(job)
            if jobs:
                self._transaction(jobs)
                _tell(jobs)
        self._disconnect()

    def _transaction(self, jobs: list[Job]) -> None:
        """All jobs or none: a failing database fails every one of them."""
        database = self._books.database
        for attempt in (1, 2):
            decided = False
            fresh = self._connection is None
            try:
                if self._books.state is None:
                    self._books.read()
                if self._connection is None:
                    self._connection = database.connect()
                with database.writing(self._connection, self._books.news) as news:
                    state = self._books.catch_up(self._connection, news)
                    decided = True
                    work = self._carry_out(self._connection, state, jobs)
                    if not work.empty:
                        self._books.write(self._connection, work)
                return
            except database.failures as failure:
                error = database.trouble(failure)
                cut = self._connection is not None and database.is_cut(self._connection)
                self._forget()
                # A connection that was cut while nobody used it is no reason to turn anybody away.
                if attempt == 1 and cut and not decided and not fresh:
                    continue
                _fail(jobs, error)
                return
            except Exception as error:  # noqa: BLE001 - whatever it was, every caller must get an answer
                self._forget()
                _fail(jobs, error)
                return

    def _carry_out(self, connection: Connection, state: State, jobs: list[Job]) -> Work:
        work = Work(self._books.context, state, self._clock())
        for number in state.expired(work.now):
            work.tell("lapsed", number)
        for job in jobs:
            mark = work.mark()
            job.answer = job.error = None
            try:
                job.answer = carry_out(work, job.command)
            except HeartfeltError as error:
                job.error = error
                if work.mark() != mark:
                    self._undo(connection, work, mark)
            except Exception as error:  # noqa: BLE001 - a fault in one command must not take the others with it
                job.error = error
                self._undo(connection, work, mark)
        return work

    def _undo(self, connection: Connection, work: Work, mark: Any) -> None:
        """Take back what a failed command did: make the state again from the journal and what came before it."""
        work.back_to(mark)
        self._books.state = None
        news = connection.exec_driver_sql(self._books.news)
        work.state = self._books.catch_up(connection, news, work.facts)
        for table, row in work.rows:
            if table == "raters":
                self._books.know(row[1], row[4], row[6], row[5])

    def _forget(self) -> None:
        """Hold nothing for true that the store may not have: the next transaction connects and reads anew."""
        self._books.state = None
        self._disconnect()

    def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(Exception):
                connection.invalidate()
            with suppress(Exception):
                connection.close()


def _fail(jobs: list[Job], error: Exception) -> None:
    """Nobody's command was done. Everyone gets an error of their own; a refusal for other reasons stays what it was."""
    for job in jobs:
        job.answer, job.error = None, job.error or copy(error)


def _tell(jobs: list[Job]) -> None:
    """Give every caller their answer; those of one event loop together."""
    loops: dict[asyncio.AbstractEventLoop, list[Job]] = {}
    for job in jobs:
        if job.loop is not None:
            loops.setdefault(job.loop, []).append(job)
        elif job.error is not None:
            job.future.set_exception(job.error)
        else:
            job.future.set_result(job.answer)
    for loop, theirs in loops.items():
        with suppress(RuntimeError):  # the loop has closed: nobody waits any more
            loop.call_soon_threadsafe(_resolve, theirs)


def _resolve(jobs: list[Job]) -> None:
    for job in jobs:
        if job.future.done():
            continue
        if job.error is not None:
            job.future.set_exception(job.error)
        else:
            job.future.set_result(job.answer)
