"""This machine: threads for predictors that wait for a network, the calling thread for those that compute here."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import ClassVar

from heartfelt.errors import InputError
from heartfelt.predictors.engine import ENGINES, Engine
from heartfelt.predictors.predictor import Case
from heartfelt.predictors.waiting import waited
from heartfelt.predictors.work import Outcome, Work

_Task = Sequence[Case] | None
_Done = list[Outcome] | BaseException


class Local(Engine):
    """Work in this process."""

    name: ClassVar[str] = "local"
    about: ClassVar[str] = "this machine, in threads"

    @classmethod
    def make(cls, options: Mapping[str, str] | None = None) -> Local:
        """There is nothing to set."""
        for option in options or {}:
            raise InputError(f"The engine 'local' has no option '{option}'.", "Leave it out.")
        return cls()

    def map(self, work: Work, batches: Iterable[Sequence[Case]], at_once: int) -> Iterator[list[Outcome]]:
        """In the calling thread if one batch is to be under way at a time, else in as many threads."""
        if at_once <= 1:
            for batch in batches:
                yield work(batch)
            return
        yield from _threads(work, batches, at_once)


def _threads(work: Work, batches: Iterable[Sequence[Case]], at_once: int) -> Iterator[list[Outcome]]:
    """The threads are daemons: an interrupted run does not wait for a server that never answers."""
    tasks: queue.SimpleQueue[_Task] = queue.SimpleQueue()
    done: queue.SimpleQueue[_Done] = queue.SimpleQueue()

    def serve() -> None:
        while (batch := tasks.get()) is not None:
            try:
                done.put(work(batch))
            except BaseException as error:  # noqa: BLE001  # raised again in the caller's thread
                done.put(error)

    workers = 0
    waiting = 0
    source = iter(batches)
    try:
        more = True
        while more or waiting:
            while more and waiting < at_once:
                batch = next(source, None)
                if batch is None:
                    more = False
                    break
                tasks.put(batch)
                waiting += 1
                if workers < at_once:
                    workers += 1
                    threading.Thread(target=serve, daemon=True, name=f"predict-{workers}").start()
            if waiting:
                outcome = waited(done)
                waiting -= 1
                if isinstance(outcome, BaseException):
                    raise outcome
                yield outcome
    finally:
        for _ in range(workers):
            tasks.put(None)


ENGINES.add(Local.name, Local)
