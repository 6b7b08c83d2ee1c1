"""Where work is done: an engine gives batches to a job and returns the outcomes.

The job of a predictor (:class:`~heartfelt.predictors.execution.work.PredictorWork`) settles every failure of a case itself; an
engine only has to see that a batch whose worker is lost is given to another. Batches and jobs travel by pickling: cases carry the
paths of their media, never the bytes. The engine of this machine uses threads for predictors that wait for a network, and the
calling thread for those that compute here.
"""

from __future__ import annotations

import queue
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import ClassVar, Protocol, Self, TypeVar

from heartfelt.errors import InputError, suggestion
from heartfelt.failures import collecting_in_thread
from heartfelt.predictors.execution.work import next_from
from heartfelt.registry import Registry

Input = TypeVar("Input")
Result = TypeVar("Result")
_Input = TypeVar("_Input", contravariant=True)
_Result = TypeVar("_Result", covariant=True)


class BatchJob(Protocol[_Input, _Result]):
    """What is done with each batch, wherever that is; it travels to workers by pickling."""

    def __call__(self, batch: Sequence[_Input], /) -> Sequence[_Result]:
        """The outcomes of a batch."""

    def lost(self, batch: Sequence[_Input], times: int, /) -> Sequence[_Result]:
        """The outcomes of a batch whose worker was lost ``times`` times; an error ends the run."""


class Engine(ABC):
    """One place to do the work. Made by the registered class's ``make``."""

    name: ClassVar[str]
    extra: ClassVar[str] = ""
    """The extra that it needs; empty where the base install has everything."""
    about: ClassVar[str]
    options: ClassVar[Mapping[str, str]] = {}
    """What may be set, each with a line of explanation."""

    def __init__(self, options: Mapping[str, str] = MappingProxyType({})) -> None:
        for option in options:
            if option not in self.options:
                raise InputError(
                    f"The engine '{self.name}' has no option '{option}'.", suggestion(option, self.options, "Options")
                )

    @classmethod
    def make(cls, options: Mapping[str, str] | None = None) -> Self:
        """Make one; raise with a fix where it cannot be made."""
        return cls(options or {})

    @abstractmethod
    def map(
        self, work: BatchJob[Input, Result], batches: Iterable[Sequence[Input]], at_once: int
    ) -> Iterator[Sequence[Result]]:
        """Yield the outcomes of every batch, in any order; take batches only as fast as they can be worked on."""

    def close(self) -> None:  # noqa: B027  # most hold nothing
        """Release what it holds."""


ENGINES: Registry[type[Engine]] = Registry("engine", homes={"ray": "heartfelt.predictors.execution.ray"})


@ENGINES.register("local")
class Local(Engine):
    """Work in this process."""

    name = "local"
    about = "this machine, in threads"

    def map(
        self, work: BatchJob[Input, Result], batches: Iterable[Sequence[Input]], at_once: int
    ) -> Iterator[Sequence[Result]]:
        if at_once > 1:
            yield from _threads(work, batches, at_once)
        else:
            for batch in batches:
                yield work(batch)


def _under_way(
    done: queue.SimpleQueue[Sequence[Result] | BaseException], running: int, seconds: float
) -> Iterator[Sequence[Result]]:
    """The outcomes of batches that were running, as far as they come in time."""
    end = time.monotonic() + seconds
    for _ in range(running):
        try:
            outcome = next_from(done, max(0.0, end - time.monotonic()))
        except queue.Empty:
            return
        if not isinstance(outcome, BaseException):
            yield outcome


def _threads(
    work: BatchJob[Input, Result], batches: Iterable[Sequence[Input]], at_once: int
) -> Iterator[Sequence[Result]]:
    """The threads are daemons: an interrupted run does not wait for a server that never answers.

    What is under way when it is interrupted may be paid for already: its outcomes are still yielded, if they come within the
    ``grace`` seconds that the work allows; a second Ctrl-C ends that too.
    """
    tasks: queue.SimpleQueue[Sequence[Input] | None] = queue.SimpleQueue()
    done: queue.SimpleQueue[Sequence[Result] | BaseException] = queue.SimpleQueue()

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
                    threading.Thread(target=collecting_in_thread(serve), daemon=True, name=f"predict-{workers}").start()
            if not running:
                return
            outcome = next_from(done)
            running -= 1
            if isinstance(outcome, BaseException):
                raise outcome
            yield outcome
    except KeyboardInterrupt:
        yield from _under_way(done, running, getattr(work, "grace", 0.0))
        raise
    finally:
        for _ in range(workers):
            tasks.put(None)
