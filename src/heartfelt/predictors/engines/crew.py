"""The workers of one run on a Ray cluster: started, given batches, replaced when they are lost, dismissed at the end."""

from __future__ import annotations

import pickle
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from heartfelt.errors import HeartfeltError, InputError
from heartfelt.predictors.predictor import Case, Prediction
from heartfelt.predictors.work import Outcome, Work, told

_LOSSES = 3
"""So many lost workers settle a batch."""
_PATIENCE = 120.0
"""Seconds to wait for a worker when there is none."""


class Worker:
    """What runs on the cluster: the predictor, loaded once. A failure to load is told, not raised."""

    def __init__(self, work: bytes) -> None:
        self._problem: str | None = None
        try:
            self._work: Work = pickle.loads(work)
        except Exception as error:  # noqa: BLE001  # the edge: the message goes to the one who started the run
            self._problem = told(error)

    def ready(self) -> str | None:
        """Why this worker cannot work, or nothing."""
        return self._problem

    def settle(self, batch: Sequence[Case]) -> list[Outcome]:
        """The outcomes of a batch."""
        return self._work(batch)


@dataclass(slots=True, eq=False)
class _Share:
    """A batch on its way, and how many workers it has lost."""

    batch: Sequence[Case]
    losses: int = 0


@dataclass(slots=True, eq=False)
class _Hand:
    """A worker and what it has been given."""

    actor: Any
    given: list[_Share] = field(default_factory=list)

    def takes(self, share: _Share, slots: int) -> bool:
        """A batch that has lost a worker is alone with the next: if that is lost too, it is known why."""
        if share.losses or any(one.losses for one in self.given):
            return not self.given
        return len(self.given) < slots


class Crew:
    """The workers of one run."""

    def __init__(self, ray: Any, work: bytes, each: Mapping[str, float]) -> None:
        self._ray = ray
        self._work = ray.put(work)
        self._each = dict(each)
        self._starting: dict[Any, Any] = {}
        self._hands: list[_Hand] = []
        self._running: dict[Any, tuple[_Share, _Hand]] = {}
        self._again: deque[_Share] = deque()
        self._failed_starts = 0
        self._seen = time.monotonic()
        found = ray.exceptions
        self._lost = (
            found.RayActorError,
            found.NodeDiedError,
            found.WorkerCrashedError,
            found.OutOfMemoryError,
            found.ObjectLostError,
        )

    def outcomes(self, source: Iterator[Sequence[Case]], count: int, at_once: int) -> Iterator[list[Outcome]]:
        """Yield the outcomes of every batch of ``source`` as they come."""
        self._each["max_concurrency"] = at_once
        # One more than it works on waits with a worker, so that it need not wait for us.
        slots = at_once + 1
        next_share = _first(source)
        for _ in range(count):
            self._start()
        while next_share is not None or self._running or self._again:
            while next_share is not None and self._give(next_share, slots):
                next_share = _first(source)
            for _ in range(len(self._again)):
                share = self._again.popleft()
                if not self._give(share, slots):
                    self._again.append(share)
            done, _ = self._ray.wait([*self._running, *self._starting], num_returns=1, timeout=1.0)
            for ref in done:
                if ref in self._starting:
                    self._begin(ref)
                elif (outcome := self._finish(ref)) is not None:
                    yield outcome
            self._watch()

    def dismiss(self) -> None:
        """Let every worker go."""
        for actor in [*self._starting.values(), *(hand.actor for hand in self._hands)]:
            self._ray.kill(actor)

    def _start(self) -> None:
        actor = self._ray.remote(Worker).options(**self._each).remote(self._work)
        self._starting[actor.ready.remote()] = actor

    def _begin(self, ref: Any) -> None:
        actor = self._starting.pop(ref)
        try:
            problem = self._ray.get(ref)
        except self._ray.exceptions.RayError as error:
            self._failed_starts += 1
            if self._failed_starts > _LOSSES:
                raise HeartfeltError(
                    f"Workers do not start on the cluster: {told(error)}.",
                    "Check that heartfelt is installed on every machine of it, in the same version.",
                ) from error
            self._start()
            return
        if problem is not None:
            raise InputError(
                f"The predictor cannot be loaded on the cluster: {problem}",
                "Check that its files and libraries are on every machine of it.",
            )
        self._failed_starts = 0
        self._hands.append(_Hand(actor))

    def _give(self, share: _Share, slots: int) -> bool:
        hand = min(self._hands, key=lambda one: len(one.given), default=None)
        if hand is None or not hand.takes(share, slots):
            return False
        ref = hand.actor.settle.remote(share.batch)
        hand.given.append(share)
        self._running[ref] = share, hand
        return True

    def _finish(self, ref: Any) -> list[Outcome] | None:
        share, hand = self._running.pop(ref)
        hand.given.remove(share)
        try:
            outcomes: list[Outcome] = self._ray.get(ref)
            return outcomes
        except self._lost:
            self._lose(hand)
        except self._ray.exceptions.RayError as error:
            raise HeartfeltError(
                f"A worker of the cluster failed: {told(error)}.",
                "Check that heartfelt and what the predictor needs are the same on every machine of it.",
            ) from error
        share.losses += 1
        if share.losses < _LOSSES:
            self._again.append(share)
            return None
        problem = Prediction.failed(f"its worker was lost {share.losses} times while it was worked on")
        return [
            Outcome(case.stimulus, (problem,) * len(case.asks), (share.losses,) * len(case.asks), 0.0)
            for case in share.batch
        ]

    def _lose(self, hand: _Hand) -> None:
        if hand in self._hands:
            self._hands.remove(hand)
            # It may only be out of reach: it must not work on what others are given.
            self._ray.kill(hand.actor)
            self._start()

    def _watch(self) -> None:
        now = time.monotonic()
        if self._hands:
            self._seen = now
        elif now - self._seen > _PATIENCE:
            raise HeartfeltError(
                f"The cluster has had no worker for {_PATIENCE:.0f} s.",
                "Bring its machines up and start the run again: it goes on where it stopped.",
            )


def _first(source: Iterator[Sequence[Case]]) -> _Share | None:
    batch = next(source, None)
    return None if batch is None else _Share(batch)
