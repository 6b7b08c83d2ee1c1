"""One process per device, each with the generator loaded once; batches go to whichever is free.

A process that dies, because the system was out of memory for example, is started again, and its batch is made one by one; a
stimulus that takes its process with it again has that as its problem.
"""

from __future__ import annotations

import multiprocessing
import re
import signal
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from dataclasses import dataclass, field

from heartfelt.errors import InputError
from heartfelt.failures import WorkerResult, result_of_worker, run_in_worker
from heartfelt.stimuli.generation.work import AttemptOutcome, GenerateWork, StimulusRequest

_LOSSES = 2
_work: GenerateWork | None = None
"""The work of this process, where it is one of ours."""


def parse_devices(text: str) -> tuple[str, ...]:
    """``auto``, or devices with commas such as ``cuda:0,cuda:1``; ``cpu,cpu`` is two processes on the CPU."""
    names = tuple(name.strip() for name in text.split(",") if name.strip())
    for name in names:
        if not re.fullmatch(r"auto|(cpu|cuda|mps|xpu)(:\d*)?", name):
            raise InputError(f"'{name}' is not a device.", "Give auto, cpu, cuda, or several such as cuda:0,cuda:1.")
    if not names or (len(names) > 1 and "auto" in names):
        raise InputError(f"'{text}' names no devices.", "Give auto, or devices such as cuda:0,cuda:1.")
    return names


def every_device() -> tuple[str, ...]:
    try:
        import torch
    except ImportError:
        return ("cpu",)
    return tuple(f"cuda:{number}" for number in range(torch.cuda.device_count())) or ("cpu",)


def _begin(work: GenerateWork) -> None:
    global _work
    # Ctrl-C reaches every process of a terminal; the first one answers it and ends the others.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _work = work


def _settle(batch: Sequence[StimulusRequest]) -> WorkerResult[list[AttemptOutcome]]:
    if _work is None:
        raise RuntimeError("this process was given no work")
    return run_in_worker(_work, batch)


@dataclass(slots=True, eq=False)
class _Batch:
    requests: Sequence[StimulusRequest]
    losses: int = 0


@dataclass(slots=True, eq=False)
class _Device:
    """A device with its process."""

    work: GenerateWork
    pool: ProcessPoolExecutor = field(init=False)
    running: tuple[Future[WorkerResult[list[AttemptOutcome]]], _Batch] | None = None

    def __post_init__(self) -> None:
        self.start()

    def start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.pool = ProcessPoolExecutor(1, context, initializer=_begin, initargs=(self.work,))

    def give(self, batch: _Batch) -> None:
        self.running = self.pool.submit(_settle, batch.requests), batch

    def stop(self) -> None:
        self.pool.shutdown(wait=False, cancel_futures=True)
        for process in list((getattr(self.pool, "_processes", None) or {}).values()):
            with suppress(OSError, ValueError):
                process.terminate()


def on_devices(
    work: GenerateWork, batches: Iterable[Sequence[StimulusRequest]], devices: Sequence[str]
) -> Iterator[Sequence[AttemptOutcome]]:
    workers = [_Device(work.on(device)) for device in devices]
    source, again = iter(batches), deque[_Batch]()
    try:
        while True:
            for worker in workers:
                if worker.running is None:
                    if again:
                        worker.give(again.popleft())
                    elif (batch := next(source, None)) is not None:
                        worker.give(_Batch(batch))
            running = {worker.running[0]: worker for worker in workers if worker.running is not None}
            if not running:
                return
            done, _ = wait(running, timeout=1.0, return_when=FIRST_COMPLETED)
            for future in done:
                outcomes = _finish(running[future], work, again)
                if outcomes is not None:
                    yield outcomes
    finally:
        for worker in workers:
            worker.stop()


def _finish(worker: _Device, work: GenerateWork, again: deque[_Batch]) -> Sequence[AttemptOutcome] | None:
    assert worker.running is not None
    future, batch = worker.running
    worker.running = None
    try:
        return result_of_worker(future.result())
    except BrokenProcessPool:
        worker.stop()
        worker.start()
        batch.losses += 1
        if batch.losses >= _LOSSES:
            return work.lost(batch.requests, batch.losses)
        again.extend(_Batch([request], batch.losses) for request in batch.requests)
        return None
