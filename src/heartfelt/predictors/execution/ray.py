"""A Ray cluster: one actor per CPU (or as set), each with the predictor loaded once, given batches as it becomes free.

Cases travel with the paths of their media, so each worker reads its own; where the machines share no disk, the bytes
travel instead (``media=send``). A batch whose worker is lost goes to another worker, by itself; one that has lost its worker
repeatedly is settled with that as its problem. What has been returned is never done again.
"""

from __future__ import annotations

import math
import os
import pickle
import re
import socket
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar

from heartfelt.errors import HeartfeltError, InputError, MissingPartError
from heartfelt.extras import install_command
from heartfelt.failures import WorkerResult, result_of_worker, run_in_worker
from heartfelt.predictors.execution.engines import ENGINES, BatchJob, Engine, Input, Result
from heartfelt.predictors.execution.work import error_line
from heartfelt.predictors.interface.predictor import Case, Media
from heartfelt.predictors.interface.spec import number_option

_CONNECT_SECONDS = 10.0
"""Seconds to wait for a cluster to answer."""
_STORE = 256 * 2**20
"""Bytes that pass between the processes of a cluster on this machine alone: cases and answers are small."""
_LOSSES = 3
"""This many lost workers settle a batch."""
_PATIENCE = 120.0
"""Seconds to wait for a worker when there is none."""


@ENGINES.register("ray")
class Ray(Engine):
    """Work on a Ray cluster."""

    name = "ray"
    extra = "ray"
    about = "a Ray cluster: many machines, the predictor loaded once a worker"
    options: ClassVar[Mapping[str, str]] = {
        "address": "the cluster's address, such as auto or ray://head:10001; by default a cluster on this machine alone",
        "workers": "how many workers; by default as many as the cluster has room for",
        "cpus": "CPUs a worker takes, by default 1",
        "gpus": "GPUs a worker takes, by default 0",
        "media": "'path' (default) where all machines see the same disk, or 'send'",
    }

    def __init__(self, options: Mapping[str, str] = MappingProxyType({})) -> None:
        super().__init__(options)
        self._address = options.get("address") or None
        self._cpus = number_option(options, "cpus", 1.0, 0.0, 1e6)
        self._gpus = number_option(options, "gpus", 0.0, 0.0, 1e6)
        workers = number_option(options, "workers", 0.0, 0.0, 1e6)
        self._workers = int(workers)
        if workers != self._workers:
            raise InputError(f"'{options['workers']}' is not a valid workers.", "Give a whole number.")
        media = options.get("media", "path")
        if media not in {"path", "send"}:
            raise InputError(f"media={media} is neither path nor send.", "Give media=path or media=send.")
        self._sends = media == "send"
        self._ray = _library()
        self._started = False

    def map(
        self, work: BatchJob[Input, Result], batches: Iterable[Sequence[Input]], at_once: int
    ) -> Iterator[Sequence[Result]]:
        packed = _packed(work)
        self._connect()
        try:
            capacity = self._capacity()
            count = self._workers or capacity
            workers = _Workers(self._ray, packed, work.lost, {"num_cpus": self._cpus, "num_gpus": self._gpus})
        except self._ray.exceptions.RayError as error:
            raise _unusable(self._address, error_line(error)) from error
        source = (_sent(batch) for batch in batches) if self._sends else iter(batches)
        try:
            yield from workers.outcomes(source, count, max(1, math.ceil(at_once / count)))
        except self._ray.exceptions.RayError as error:
            raise HeartfeltError(
                f"The Ray cluster failed: {error_line(error)}.",
                "Bring it up and start the run again: it continues where it stopped.",
            ) from error
        finally:
            workers.dismiss()

    def close(self) -> None:
        if self._started:
            self._ray.shutdown()
            self._started = False

    def _connect(self) -> None:
        if self._ray.is_initialized():
            return
        _check_reachable(self._address)
        alone = {"include_dashboard": False, "object_store_memory": _STORE} if self._address is None else {}
        try:
            self._ray.init(address=self._address or "local", log_to_driver=False, logging_level="ERROR", **alone)
        except (Exception, SystemExit) as error:  # Ray raises errors of many kinds, and exits, where it cannot start
            # What did start would otherwise be waited for when this process ends.
            with suppress(Exception):
                self._ray.shutdown()
            raise _unusable(self._address, error_line(error)) from error
        self._started = True

    def _capacity(self) -> int:
        machines = [node["Resources"] for node in self._ray.nodes() if node["Alive"]]
        wanted = {name: amount for name, amount in (("CPU", self._cpus), ("GPU", self._gpus)) if amount}
        space = sum(
            min((int(machine.get(name, 0.0) // amount) for name, amount in wanted.items()), default=1)
            for machine in machines
        )
        if space < 1:
            cpus, gpus = (max((machine.get(name, 0.0) for machine in machines), default=0.0) for name in ("CPU", "GPU"))
            raise InputError(
                f"The cluster has no room for a worker with {self._cpus:g} CPUs and {self._gpus:g} GPUs.",
                f"Ask for less: its machines have up to {cpus:g} CPUs and {gpus:g} GPUs.",
            )
        return space


class SentMedia(Media):
    """Media that travel with their bytes."""

    def __init__(self, path: Path, content: bytes) -> None:
        super().__init__(path)
        self.__dict__["content"] = content

    def __reduce__(self) -> Any:
        return SentMedia, (self.path, self.content)


def _sent(batch: Sequence[Any]) -> Sequence[Any]:
    """Cases with the bytes of their media; other work has no media of its own."""
    return [
        replace(_with_media(case), members=tuple(map(_with_media, case.members))) if isinstance(case, Case) else case
        for case in batch
    ]


def _with_media(case: Case) -> Case:
    # A file that cannot be read cannot be read by the worker either, who says so.
    with suppress(OSError):
        if case.media is not None:
            return replace(case, media=SentMedia(case.media.path, case.media.path.read_bytes()))
    return case


def _check_reachable(address: str | None) -> None:
    """Look whether anything listens at an address; Ray itself would try for minutes."""
    parts = re.fullmatch(r"(?:ray://)?\[?(?P<host>[^\]/]+?)\]?:(?P<port>\d{1,5})", address or "")
    if parts is None:
        return
    try:
        socket.create_connection((parts["host"], int(parts["port"])), timeout=_CONNECT_SECONDS).close()
    except (OSError, OverflowError) as error:
        raise _unusable(address, error_line(error)) from error


def _unusable(address: str | None, reason: str) -> InputError:
    reason = reason.rstrip(".")
    if address is None:
        return InputError(
            f"Ray cannot start on this machine: {reason}.",
            "Leave out '--engine ray' to work without it; or free memory and disk space, set RAY_TMPDIR to a folder with a "
            "short path you can write to, and try again.",
        )
    return InputError(
        f"The Ray cluster at '{address}' cannot be used: {reason}.",
        "Check the address and that 'ray start' ran there; without an address Ray starts on this machine.",
    )


def _packed(work: BatchJob[Any, Any]) -> bytes:
    try:
        return pickle.dumps(work)
    except Exception as error:  # what a function or a model holds may fail to pickle in any way
        raise InputError(
            f"The predictor cannot travel to other processes: {error_line(error)}.",
            "Put the function into a module and name it as module:function; or leave out '--engine ray'.",
        ) from error


def _library() -> Any:
    # Ray would otherwise send usage statistics to its makers.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        import ray
    except ImportError as error:
        raise MissingPartError(
            "The engine 'ray' needs Ray, which is not installed.", f"Install it with: {install_command('ray')}"
        ) from error
    return ray


class Worker:
    """What runs on the cluster: the predictor, loaded once. A failure to load is reported, not raised."""

    def __init__(self, work: bytes) -> None:
        self._problem: str | None = None
        try:
            self._work: BatchJob[Any, Any] = pickle.loads(work)
        except Exception as error:  # noqa: BLE001  # the edge: the message goes to the one who started the run
            self._problem = error_line(error)

    def ready(self) -> str | None:
        return self._problem

    def settle(self, batch: Sequence[Any]) -> WorkerResult[Sequence[Any]]:
        return run_in_worker(self._work, batch)


@dataclass(slots=True, eq=False)
class _Batch:
    """A batch on its way, and how many workers it has lost."""

    cases: Sequence[Any]
    losses: int = 0


@dataclass(slots=True, eq=False)
class _Assigned:
    """A worker and what it is to work on."""

    actor: Any
    batches: list[_Batch] = field(default_factory=list)

    def takes(self, batch: _Batch, slots: int) -> bool:
        """A batch that has lost a worker is alone with the next: if that is lost too, it is known why."""
        if batch.losses or any(batch.losses for batch in self.batches):
            return not self.batches
        return len(self.batches) < slots


class _Workers:
    """The workers of one run."""

    def __init__(
        self,
        ray: Any,
        packed: bytes,
        lost_batch: Callable[[Sequence[Any], int], Sequence[Any]],
        resources: Mapping[str, float],
    ) -> None:
        self._ray = ray
        self._lost_batch = lost_batch
        self._work = ray.put(packed)
        self._each = dict(resources)
        self._starting: dict[Any, Any] = {}
        self._workers: list[_Assigned] = []
        self._running: dict[Any, tuple[_Batch, _Assigned]] = {}
        self._again: deque[_Batch] = deque()
        self._failed_starts = 0
        self._seen = time.monotonic()
        kinds = ("RayActorError", "NodeDiedError", "WorkerCrashedError", "OutOfMemoryError", "ObjectLostError")
        self._lost = tuple(getattr(ray.exceptions, kind) for kind in kinds)

    def outcomes(self, source: Iterator[Sequence[Any]], count: int, at_once: int) -> Iterator[Sequence[Any]]:
        self._each["max_concurrency"] = at_once
        # One more than it works on waits with a worker, so that it need not wait for us.
        slots = at_once + 1
        next_batch = _first(source)
        for _ in range(count):
            self._start()
        while next_batch is not None or self._running or self._again:
            while next_batch is not None and self._give(next_batch, slots):
                next_batch = _first(source)
            self._give_again(slots)
            done, _ = self._ray.wait([*self._running, *self._starting], num_returns=1, timeout=1.0)
            for ref in done:
                if ref in self._starting:
                    self._begin(ref)
                elif (outcome := self._finish(ref)) is not None:
                    yield outcome
            self._watch()

    def _give_again(self, slots: int) -> None:
        """Give the batches that lost their worker to others, as far as these take them."""
        for _ in range(len(self._again)):
            batch = self._again.popleft()
            if not self._give(batch, slots):
                self._again.append(batch)

    def dismiss(self) -> None:
        for actor in [*self._starting.values(), *(worker.actor for worker in self._workers)]:
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
                    f"Workers do not start on the cluster: {error_line(error)}.",
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
        self._workers.append(_Assigned(actor))

    def _give(self, batch: _Batch, slots: int) -> bool:
        worker = min(self._workers, key=lambda worker: len(worker.batches), default=None)
        if worker is None or not worker.takes(batch, slots):
            return False
        ref = worker.actor.settle.remote(batch.cases)
        worker.batches.append(batch)
        self._running[ref] = batch, worker
        return True

    def _finish(self, ref: Any) -> Sequence[Any] | None:
        batch, worker = self._running.pop(ref)
        worker.batches.remove(batch)
        try:
            result: WorkerResult[Sequence[Any]] = self._ray.get(ref)
            return result_of_worker(result)
        except self._lost:
            self._lose(worker)
        except self._ray.exceptions.RayError as error:
            raise HeartfeltError(
                f"A worker of the cluster failed: {error_line(error)}.",
                "Check that heartfelt and what the predictor needs are the same on every machine of it.",
            ) from error
        batch.losses += 1
        if batch.losses < _LOSSES:
            self._again.append(batch)
            return None
        return self._lost_batch(batch.cases, batch.losses)

    def _lose(self, worker: _Assigned) -> None:
        if worker in self._workers:
            self._workers.remove(worker)
            # It may only be out of reach: it must not work on what others are given.
            self._ray.kill(worker.actor)
            self._start()

    def _watch(self) -> None:
        now = time.monotonic()
        if self._workers:
            self._seen = now
        elif now - self._seen > _PATIENCE:
            raise HeartfeltError(
                f"The cluster has had no worker for {_PATIENCE:.0f} s.",
                "Bring its machines up and start the run again: it continues where it stopped.",
            )


def _first(source: Iterator[Sequence[Any]]) -> _Batch | None:
    batch = next(source, None)
    return None if batch is None else _Batch(batch)
