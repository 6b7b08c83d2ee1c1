"""A Ray cluster: one actor a CPU (or as told), each with the predictor loaded once, given batches as it gets free.

Cases travel with the paths of their media, so each worker reads its own share; where the machines share no disk, the bytes
travel instead (``media=send``). A batch whose worker is lost goes to another worker, by itself; one that has lost its worker
again and again is settled with that as its problem. What has been handed back is never done again.
"""

from __future__ import annotations

import math
import os
import pickle
import re
import socket
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

from heartfelt.errors import HeartfeltError, InputError, MissingPartError, suggestion
from heartfelt.predictors.engine import ENGINES, Engine
from heartfelt.predictors.engines.crew import Crew
from heartfelt.predictors.predictor import Case, Media
from heartfelt.predictors.work import Outcome, Work, told

OPTIONS = {
    "address": "the cluster's address, such as auto or ray://head:10001; a cluster on this machine alone if left out",
    "workers": "how many workers; as many as the cluster has room for if left out",
    "cpus": "CPUs a worker takes, 1 if left out",
    "gpus": "GPUs a worker takes, 0 if left out",
    "media": "'path' (the usual) where all machines see the same disk, or 'send'",
}
_KNOCKING = 10.0
"""Seconds to wait for a cluster to be heard of."""
_STORE = 256 * 2**20
"""Bytes that pass between the processes of a cluster on this machine alone: cases and answers are small."""


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
        room = self._room()
        count = self._workers or room
        crew = Crew(self._ray, pickle.dumps(work), {"num_cpus": self._cpus, "num_gpus": self._gpus})
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
        _knock(self._address)
        alone = {"include_dashboard": False, "object_store_memory": _STORE} if self._address is None else {}
        try:
            self._ray.init(
                address=self._address or "local", log_to_driver=False, logging_level="ERROR", **alone
            )
        except (ConnectionError, RuntimeError, ValueError, self._ray.exceptions.RayError) as error:
            raise _unusable(self._address, told(error)) from error
        self._started = True

    def _room(self) -> int:
        """How many workers the cluster's machines have room for, each on one of them."""
        there = [node["Resources"] for node in self._ray.nodes() if node["Alive"]]
        room = 0
        for node in there:
            rooms = [int(node.get("CPU", 0.0) // self._cpus)] if self._cpus else []
            rooms += [int(node.get("GPU", 0.0) // self._gpus)] if self._gpus else []
            room += min(rooms, default=1)
        if room < 1:
            largest = max((node.get("CPU", 0.0) for node in there), default=0.0)
            gpus = max((node.get("GPU", 0.0) for node in there), default=0.0)
            raise InputError(
                f"The cluster has no room for a worker with {self._cpus:g} CPUs and {self._gpus:g} GPUs.",
                f"Ask for less: its machines have up to {largest:g} CPUs and {gpus:g} GPUs.",
            )
        return room


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


def _knock(address: str | None) -> None:
    """Look whether anything listens at an address; Ray itself would try for minutes."""
    found = re.fullmatch(r"(?:ray://)?\[?(?P<host>[^\]/]+?)\]?:(?P<port>\d{1,5})", address or "")
    if found is None:
        return
    try:
        socket.create_connection((found["host"], int(found["port"])), timeout=_KNOCKING).close()
    except (OSError, OverflowError) as error:
        raise _unusable(address, told(error)) from error


def _unusable(address: str | None, why: str) -> InputError:
    return InputError(
        f"The Ray cluster at '{address or 'this machine'}' cannot be used: {why}.",
        "Check the address and that 'ray start' ran there; without an address Ray starts on this machine.",
    )


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
