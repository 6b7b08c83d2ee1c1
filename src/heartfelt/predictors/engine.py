"""Where the work is done: the seam between a run and the machines it runs on.

An engine gives batches of cases to :class:`~heartfelt.predictors.work.Work` and hands back the outcomes as they come, in any
order. Work settles every failure of a case itself; an engine only has to see that a batch whose worker is lost is given to
another. Cases and work travel by pickling: cases carry the paths of their media, never the bytes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import ClassVar

from heartfelt.predictors.predictor import Case
from heartfelt.predictors.work import Outcome, Work
from heartfelt.registry import Registry


class Engine(ABC):
    """One place to do the work. Made by the registered class's ``make``."""

    name: ClassVar[str]
    about: ClassVar[str]

    @classmethod
    @abstractmethod
    def make(cls, options: Mapping[str, str] | None = None) -> Engine:
        """Make one; raise with a fix where it cannot be made."""

    @abstractmethod
    def map(self, work: Work, batches: Iterable[Sequence[Case]], at_once: int) -> Iterator[list[Outcome]]:
        """Yield the outcomes of every batch as they come; take batches only as fast as they can be worked on."""

    def close(self) -> None:  # noqa: B027  # most hold nothing
        """Let go of what it holds."""


ENGINES: Registry[type[Engine]] = Registry(
    "engine", homes=["heartfelt.predictors.engines.local", "heartfelt.predictors.engines.ray"]
)
