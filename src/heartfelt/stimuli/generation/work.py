"""Making batches of stimuli with one generator, wherever that is done: on this machine, in a process per GPU, or on a Ray cluster.

:class:`GenerateWork` never raises for a single stimulus: what goes wrong is its outcome's problem. A batch that does not fit into
memory is halved, and later batches are as small; a batch that fails for another reason is made one by one, so that one bad prompt
costs nothing but itself. The generator is built where the work is done, with the first batch.
"""

from __future__ import annotations

import errno
import platform
import threading
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from heartfelt import clock
from heartfelt.errors import HeartfeltError, InputError
from heartfelt.extras import missing_extra
from heartfelt.failures import report_bug
from heartfelt.predictors.execution.work import GRACE, error_line, shortened
from heartfelt.predictors.weights.devices import checked_device
from heartfelt.stimuli.generators.generator import (
    BatchGenerator,
    CannotGenerate,
    GenerationRefused,
    GeneratorFacts,
    GeneratorKind,
    GeneratorOutOfMemory,
    GeneratorSettings,
    NoStimulus,
    NotReached,
)
from heartfelt.stimuli.generators.results import Examined, Expectation, encoded, examine
from heartfelt.stimuli.prompts.prompt import GeneratedMedium, Generator, StimulusPrompt

_NO_SPACE = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


@dataclass(frozen=True, slots=True)
class StimulusRequest:
    """One stimulus to make, at one attempt."""

    prompt: StimulusPrompt
    seed: int
    attempt: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptOutcome:
    """What became of one attempt: a result that passed every check, or the problem."""

    request: StimulusRequest
    made: Examined | None = None
    problem: str | None = None
    final: bool = False
    """Whether another attempt would be no use."""
    stopped: bool = False
    """Whether the generator cannot work at all."""
    paid: int = 1
    """How many requests a service may have charged for."""
    seconds: float = 0.0
    batch: int = 1
    """How many were made together."""
    note: str | None = None
    """What a person should know, such as a smaller batch."""
    facts: GeneratorFacts = field(default_factory=GeneratorFacts)
    source: str = ""
    """The file it was taken from, where there is one."""
    rejected: tuple[bytes, str] | None = None
    """What did not pass the checks and its suffix, where that is to be looked at."""


@dataclass(slots=True, kw_only=True)
class GenerateWork:
    """A generator with what its results must be like. Call it with a batch of requests."""

    kind: GeneratorKind[Any]
    settings: GeneratorSettings
    expected: Expectation
    device: str = "auto"
    keep_failed: bool = False
    _generator: Generator | None = None
    _limit: int | None = None
    """The largest batch that fits, once one did not."""
    _building: Any = field(default_factory=threading.Lock)

    def __getstate__(self) -> tuple[object, ...]:
        return self.kind, self.settings, self.expected, self.device, self.keep_failed

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.kind, self.settings, self.expected, self.device, self.keep_failed = state
        self._generator, self._limit, self._building = None, None, threading.Lock()

    @property
    def grace(self) -> float:
        """Seconds that requests which are paid for are given to end when a run is interrupted."""
        return GRACE if self.kind.where == "network" and self.settings.cost_each else 0.0

    def on(self, device: str) -> GenerateWork:
        return replace(self, device=device, _generator=None, _limit=None, _building=threading.Lock())

    def __call__(self, batch: Sequence[StimulusRequest]) -> list[AttemptOutcome]:
        """The outcome of every request, in order."""
        try:
            generator = self._built()
        except HeartfeltError as error:
            return [_stopped(request, error.problem, error.fix) for request in batch]
        except Exception as error:  # noqa: BLE001 - the edge: a generator that cannot be built stops its system only
            _raise_if_full(error)
            report_bug(f"the generator {self.kind.name}", error)
            missing = missing_extra(error) if isinstance(error, ModuleNotFoundError) else None
            problem, fix = (missing.problem, missing.fix) if missing else (error_line(error), None)
            return [_stopped(request, problem, fix) for request in batch]
        return list(self._made(generator, batch))

    def lost(self, batch: Sequence[StimulusRequest], times: int) -> list[AttemptOutcome]:
        return [AttemptOutcome(request=request, problem=f"its worker was lost {times} times") for request in batch]

    def close(self) -> None:
        if isinstance(self._generator, BatchGenerator):
            self._generator.close()
        self._generator = None

    def _built(self) -> Generator:
        with self._building:
            if self._generator is None:
                self.kind.check(self.settings)
                self._generator = self.kind.build(self.settings, resolved_device(self.kind, self.device))
            return self._generator

    def _made(self, generator: Generator, batch: Sequence[StimulusRequest]) -> Iterator[AttemptOutcome]:
        together = isinstance(generator, BatchGenerator) and getattr(generator, "makes_batches", True)
        # What is made one by one is also settled one by one: a failure must not make, and pay for, the others again.
        size = min(len(batch), self._limit or len(batch)) if together else 1
        for start in range(0, len(batch), size):
            yield from self._together(generator, batch[start : start + size])

    def _together(self, generator: Generator, batch: Sequence[StimulusRequest]) -> Iterator[AttemptOutcome]:
        """Outcomes of requests that are made at once, or of their halves where they do not fit."""
        begun = clock.timer()
        prompts, seeds = [request.prompt for request in batch], [request.seed for request in batch]
        try:
            if isinstance(generator, BatchGenerator):
                results: Sequence[GeneratedMedium] = generator.generate_many(prompts, seeds)
            else:
                results = [generator.generate(prompt, seed) for prompt, seed in zip(prompts, seeds, strict=True)]
            if len(results) != len(batch):
                raise InputError(
                    f"The generator made {len(results)} stimuli for {len(batch)} prompts.", "Correct the generator."
                )
        except CannotGenerate as error:
            yield from (_stopped(request, error.problem, error.fix) for request in batch)
        except Exception as error:  # noqa: BLE001 - the edge: traced to its stimulus, whose problem it is
            _raise_if_full(error)
            if len(batch) == 1:
                report_bug(f"the generator {self.kind.name}", error)
            yield from self._after(error, generator, batch, clock.timer() - begun)
        else:
            share = (clock.timer() - begun) / len(batch)
            facts, lost = self._facts(generator), _lost_requests(generator)
            suffix = self.settings.suffix or generator.suffix
            for request, media in zip(batch, results, strict=True):
                outcome = self._examined(request, media, suffix)
                paid = outcome.paid + lost
                yield replace(outcome, paid=paid, seconds=share, batch=len(batch), facts=facts)

    def _after(
        self, error: Exception, generator: Generator, batch: Sequence[StimulusRequest], seconds: float
    ) -> Iterator[AttemptOutcome]:
        """Outcomes of a batch that failed: in halves where it did not fit, else one by one."""
        too_large = isinstance(error, GeneratorOutOfMemory | MemoryError)
        if too_large or type(error).__name__ == "OutOfMemoryError":
            if len(batch) == 1:
                problem = f"it does not fit into memory, even alone: {error_line(error)}"
                yield AttemptOutcome(request=batch[0], problem=problem, final=True, seconds=seconds)
                return
            half = len(batch) // 2
            self._limit = min(self._limit or half, half)
            note = f"{len(batch)} at once do not fit into memory; continuing with {half}"
            for index, outcome in enumerate(self._made(generator, batch)):
                yield replace(outcome, note=outcome.note or note) if index == 0 else outcome
        elif len(batch) > 1:
            for request in batch:
                yield from self._together(generator, [request])
        else:
            final, problem = isinstance(error, NoStimulus), shortened(error_line(error), 400)
            paid = _lost_requests(generator) + (not isinstance(error, GenerationRefused | NotReached))
            facts = self._facts(generator)
            outcome = AttemptOutcome(request=batch[0], problem=problem, final=final, paid=paid)
            yield replace(outcome, seconds=seconds, facts=facts)

    def _examined(self, request: StimulusRequest, media: GeneratedMedium, suffix: str) -> AttemptOutcome:
        content, wanted, source = b"", self.expected.kind, getattr(media, "source", "")
        try:
            if media.kind != wanted:
                raise CannotGenerate(
                    f"It makes {media.kind}; the study's raters get {wanted}.", "Use another generator."
                )
            content, suffix = encoded(media, suffix)
            return AttemptOutcome(request=request, made=examine(content, suffix, self.expected), source=source)
        except CannotGenerate as error:
            return AttemptOutcome(request=request, problem=error.problem, stopped=True, note=error.fix)
        except Exception as error:  # noqa: BLE001 - the edge: one stimulus's failure is its outcome's problem
            _raise_if_full(error)
            report_bug(f"the generator {self.kind.name}", error)
            problem = shortened(error_line(error), 400)
            rejected = (content, suffix) if self.keep_failed else None
            return AttemptOutcome(request=request, problem=problem, source=source, rejected=rejected)

    def _facts(self, generator: Generator) -> GeneratorFacts:
        facts = generator.facts() if isinstance(generator, BatchGenerator) else GeneratorFacts()
        licence = self.kind.licence(self.settings)
        if licence is not None and not facts.licence:
            facts = replace(facts, licence=licence.name, licence_url=licence.url)
        if self._stated("licence") and not facts.licence:
            facts = replace(facts, licence=self._stated("licence"), licence_url=self._stated("licence_url"))
        needs = self.kind.where in {"device", "cpu"} and not facts.hardware
        return replace(
            facts,
            model=facts.model or self._stated("model"),
            revision=facts.revision or self._stated("revision"),
            hardware=f"CPU ({platform.machine()})" if needs else facts.hardware,
        )

    def _stated(self, name: str) -> str:
        """What ``make.yaml`` states; empty where it says nothing."""
        return str(getattr(self.settings, name, None) or "")


def _lost_requests(generator: Generator) -> int:
    """Requests for the last stimulus that a service received and did not answer."""
    return int(getattr(generator, "lost_requests", 0))


def _stopped(request: StimulusRequest, problem: str, fix: str | None) -> AttemptOutcome:
    """A generator that cannot work at all: nothing was made, and nothing paid."""
    return AttemptOutcome(request=request, problem=problem, stopped=True, paid=0, note=fix)


def _raise_if_full(error: BaseException | None) -> None:
    """A full disk is no problem of one stimulus: it ends the run."""
    cause = error
    while cause is not None:
        if isinstance(cause, OSError) and cause.errno in _NO_SPACE:
            raise cause
        cause = cause.__cause__ or cause.__context__


def resolved_device(kind: GeneratorKind[Any], device: str) -> str:
    """The device itself for ``auto``: the first GPU where PyTorch has one, else the CPU. An error where there is none like it."""
    if kind.where in {"device", "cpu"} and device not in {"auto", "cpu"}:
        with suppress(ImportError):
            checked_device(device)
        return device
    if kind.where == "device" and device == "auto":
        with suppress(ImportError):
            return "cuda:0" if checked_device("auto") == "cuda" else "cpu"
    return "cpu"
