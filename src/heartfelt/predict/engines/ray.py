"""A Ray cluster: one actor a CPU (or as told), each with the predictor loaded once, given batches as it gets free.

Cases travel with the paths of their media, so each worker reads its own share; where the machines share no disk, the bytes
travel instead (``media=send``). A batch whose worker is lost goes to another worker, by itself; one that has lost its worker
again and again is settled with that as its problem. What has been handed back is never done again.
"""

from __future__ import annotations

import math
import os
import pickle
import time
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

from heartfelt.errors import HeartfeltError, InputError, MissingPartError, suggestion
from heartfelt.predict.engine import ENGINES, Engine
from heartfelt.predict.predictor import Case, Media, Prediction
from heartfelt.predict.work import Outcome, Work, told

OPTIONS = {
    "address": "the cluster's address, such as auto or ray://head:10001; a cluster on this machine alone if left out",
    "workers": "how many workers; as many as the cluster has room for if left out",
    "cpus": "CPUs a worker takes, 1 if left out",
    "gpus": "GPUs a worker takes, 0 if left out",
    "media": "'path' (the usual) where all machines see the same disk, or 'send'",
}
_LOSSES = 3
"""So many lost workers settle a batch."""
_STORE = 256 * 2**20
"""Bytes that pass between the processes of a cluster on this machine alone: cases and answers are small."""
_PATIENCE = 120.0
"""Seconds to wait for a worker when there is none."""


class Ray(Engine):
    """Work on a Ray cluster."""

    name: ClassVar[str] = "ray"
    about: ClassVar[str] = "a Ray cluster: many machines, the predictor loaded once a worker"

    def __init__(self, options: Mapping[str, str] | None = None) -> None:
        given = dict(options or {})
        for name in given:
            if name not in OPTIONS:
                raise InputError(
                    f"The engine 'ray' has no option '{name}'.", suggestion(name, OPTIONS, "Options")
                )
        self._address = given.get("address") or None
        self._cpus = _amount(given, "cpus", 1.0)
        self._gpus = _amount(given, "gpus", 0.0)
        self._workers = int(_amount(given, "workers", 0.0))
        if given.get("media", "path") not in {"path", "send"}:
            raise InputError(
                f"media={given['media']} is neither path nor send.", "Give media=path or media=send."
            )
        self._sends = given.get("media") == "send"
        self._ray = _library()
        self._started = False

    @classmethod
    def make(cls, options: Mapping[str, str] | None = None) -> Ray:
        """From the options; the cluster is looked for when there is work."""
        return cls(options)

    def map(self, work: Work, batches: Iterable[Sequence[Case]], at_once: int) -> Iterator[list[Outcome]]:
        """Yield the outcomes of every batch as they come."""
        self._connect()
        count = self._workers or self._room()
        crew = _Crew(self._ray, pickle.dumps(work), {"num_cpus": self._cpus, "num_gpus": self._gpus})
        source = (_sent(batch) for batch in batches) if self._sends else iter(batches)
        try:
            yield from crew.outcomes(source, count, max(1, math.ceil(at_once / count)))
        except self._ray.exceptions.RayError as error:
            raise HeartfeltError(
                f"The Ray cluster failed: {told(error)}.",
                "Bring it up and start the run again: it goes on where it stopped.",
            ) from error
        finally:
            crew.dismiss()

    def close(self) -> None:
        """Leave the cluster, where it was joined here."""
        if self._started:
            self._ray.shutdown()
            self._started = False

    def _connect(self) -> None:
        if self._ray.is_initialized():
            return
        alone = {"include_dashboard": False, "object_store_memory": _STORE} if self._address is None else {}
        try:
            self._ray.init(
                address=self._address or "local", log_to_driver=False, logging_level="ERROR", **alone
            )
        except (ConnectionError, RuntimeError, ValueError, TimeoutError) as error:
            raise InputError(
                f"The Ray cluster at '{self._address or 'this machine'}' cannot be used: {told(error)}.",
                "Check the address and that 'ray start' ran there; without an address Ray starts on this machine.",
            ) from error
        self._started = True

    def _room(self) -> int:
        """How many workers the cluster has room for."""
        there = self._ray.cluster_resources()
        rooms = [int(there.get("CPU", 0.0) // self._cpus)] if self._cpus else []
        rooms += [int(there.get("GPU", 0.0) // self._gpus)] if self._gpus else []
        room = min(rooms, default=1)
        if room < 1:
            raise InputError(
                f"The cluster has no room for a worker with {self._cpus:g} CPUs and {self._gpus:g} GPUs.",
                f"Ask for less; it has {there.get('CPU', 0):g} CPUs and {there.get('GPU', 0):g} GPUs.",
            )
        return room


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


class _Crew:
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


class SentMedia(Media):
    """Media that travel with their bytes."""

    def __init__(self, path: Path, content: bytes) -> None:
        super().__init__(path)
        self.__dict__["content"] = content

    def __reduce__(self) -> Any:
        return SentMedia, (self.path, self.content)


def _sent(batch: Sequence[Case]) -> Sequence[Case]:
    out = []
    for case in batch:
        if case.media is not None:
            # A file that cannot be read cannot be read by the worker either, who says so.
            with suppress(OSError):
                case = replace(case, media=SentMedia(case.media.path, case.media.path.read_bytes()))
        out.append(case)
    return out


def _first(source: Iterator[Sequence[Case]]) -> _Share | None:
    batch = next(source, None)
    return None if batch is None else _Share(batch)


def _amount(options: Mapping[str, str], name: str, usual: float) -> float:
    given = options.get(name)
    if given is None:
        return usual
    try:
        value = float(given)
    except ValueError:
        value = math.nan
    if not 0 <= value < 1e6 or (name == "workers" and value != int(value)):
        raise InputError(f"{name}={given} is no amount.", f"Give {name} as a number, such as {name}=1.")
    return value


def _library() -> Any:
    # Ray would otherwise send figures about its use to its makers.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        import ray
    except ImportError as error:
        raise MissingPartError(
            "The engine 'ray' needs Ray, which is not installed.", "pip install 'heartfelt[ray]'"
        ) from error
    return ray


ENGINES.add(Ray.name, Ray)
