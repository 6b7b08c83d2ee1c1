"""Where the work is done: an engine gives batches of cases to :class:`~heartfelt.predictors.asking.Work` and returns the outcomes.

Work settles every failure of a case itself; an engine only has to see that a batch whose worker is lost is given to another.
Cases and work travel by pickling: cases carry the paths of their media, never the bytes. The engine of this machine uses
threads for predictors that wait for a network, and the calling thread for those that compute here.
"""

from __future__ import annotations

import queue
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import ClassVar, Self

from heartfelt.errors import InputError, suggestion
from heartfelt.predictors.asking import Outcome, Work, next_from
from heartfelt.predictors.predictor import Case
from heartfelt.registry import Registry


class Engine(ABC):
    """One place to do the work. Made by the registered class's ``make``."""

    name: ClassVar[str]
    about: ClassVar[str]
    options: ClassVar[Mapping[str, str]] = {}
    """What may be set, each with a line of explanation."""

    def __init__(self, options: Mapping[str, str] = MappingProxyType({})) -> None:
        for option in options:
            if option not in self.options:
                raise InputError(
                    f"The engine '{self.name}' has no option '{option}'.",
                    suggestion(option, self.options, "Options"),
                )

    @classmethod
    def make(cls, options: Mapping[str, str] | None = None) -> Self:
        """Make one; raise with a fix where it cannot be made."""
        return cls(options or {})

    @abstractmethod
    def map(self, work: Work, batches: Iterable[Sequence[Case]], at_once: int) -> Iterator[list[Outcome]]:
        """Yield the outcomes of every batch, in any order; take batches only as fast as they can be worked on."""

    def close(self) -> None:  # noqa: B027  # most hold nothing
        """Release what it holds."""


ENGINES: Registry[type[Engine]] = Registry("engine", homes={"ray": "heartfelt.predictors.ray"})


@ENGINES.register("local")
class Local(Engine):
    """Work in this process."""

    name = "local"
    about = "this machine, in threads"

    def map(self, work: Work, batches: Iterable[Sequence[Case]], at_once: int) -> Iterator[list[Outcome]]:
        """In the calling thread if one batch is to run at a time, else in as many threads."""
        if at_once > 1:
            yield from _threads(work, batches, at_once)
        else:
            for batch in batches:
                yield work(batch)


def _threads(work: Work, batches: Iterable[Sequence[Case]], at_once: int) -> Iterator[list[Outcome]]:
    """The threads are daemons: an interrupted run does not wait for a server that never answers."""
    tasks: queue.SimpleQueue[Sequence[Case] | None] = queue.SimpleQueue()
    done: queue.SimpleQueue[list[Outcome] | BaseException] = queue.SimpleQueue()

    def serve() -> None:
        while (batch := tasks.get()) is not None:
            try:
                done.put(work(batch))
            except BaseException as error:  # noqa: BLE001  # raised again in the caller's thread
                done.put(error)

    workers = running = 0
    source = iter(batches)
    try:
        while True:
            while running < at_once and (batch := next(source, None)) is not None:
                tasks.put(batch)
                running += 1
                if workers < at_once:
                    workers += 1
                    threading.Thread(target=serve, daemon=True, name=f"predict-{workers}").start()
            if not running:
                return
            outcome = next_from(done)
            running -= 1
            if isinstance(outcome, BaseException):
                raise outcome
            yield outcome
    finally:
        for _ in range(workers):
            tasks.put(None)
