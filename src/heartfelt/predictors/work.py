"""The work on a batch of cases, wherever it is done: look in the cache, ask, ask again what met bad weather, check.

Work never raises for a case: what goes wrong is the prediction's problem. It travels to other processes by pickling.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from heartfelt.errors import HeartfeltError
from heartfelt.predictors.cache import Cache, asked_digest, cache_key
from heartfelt.predictors.checked import checked
from heartfelt.predictors.predictor import Case, Prediction, Predictor, Transient
from heartfelt.predictors.retry import Retry
from heartfelt.predictors.task import narrowed
from heartfelt.predictors.waiting import waited


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one case: a prediction for every question, in order, and how often each was asked."""

    stimulus: str
    predictions: tuple[Prediction, ...]
    attempts: tuple[int, ...]
    seconds: float
    found: int = 0
    """How many of the answers were in the cache."""
    lost: bool = False
    """Whether nothing was answered, and all of it for bad weather."""


@dataclass(slots=True)
class _Asking:
    """One case on its way."""

    case: Case
    settled: list[Prediction | None]
    attempts: list[int]
    keys: list[str] = field(default_factory=list)
    found: int = 0
    weather: bool = False

    @property
    def open(self) -> list[int]:
        return [place for place, one in enumerate(self.settled) if one is None]


@dataclass(frozen=True, slots=True)
class Work:
    """A predictor with the patience to ask it. Call it with a batch of cases."""

    predictor: Predictor
    retry: Retry = field(default_factory=Retry)
    timeout: float | None = None
    """Seconds one case may take at one asking; None waits as long as it takes."""
    cache: Cache | None = None

    def __call__(self, cases: Sequence[Case]) -> list[Outcome]:
        """Settle every question of every case."""
        begun = time.perf_counter()
        asking = [self._begun(case) for case in cases]
        tries = 0
        while left := [one for one in asking if one.open]:
            tries += 1
            said = self._asked(left)
            wait = max(self._settle(one, answers, tries) for one, answers in zip(left, said, strict=True))
            if wait > 0:
                time.sleep(wait)
        share = (time.perf_counter() - begun) / max(1, len(cases))
        return [self._outcome(one, share) for one in asking]

    def _begun(self, case: Case) -> _Asking:
        asking = _Asking(case, [None] * len(case.asks), [0] * len(case.asks))
        if not self.predictor.needs_media:
            return asking
        if case.media is None:
            where = f": {case.facts['path']}" if "path" in case.facts else ""
            problem = Prediction.failed(f"the media file is not at hand{where}")
            asking.settled = [problem] * len(case.asks)
        elif self.cache is not None and self.predictor.lasting:
            try:
                content = case.media.hash
            except OSError as error:
                asking.settled = [
                    Prediction.failed(f"the media file cannot be read: {error.strerror}")
                ] * len(case.asks)
                return asking
            identity = self.predictor.identity
            asking.keys = [
                cache_key(
                    content,
                    identity,
                    asked_digest(ask, case.prompt),
                    self.predictor.request_digest(case, ask),
                )
                for ask in case.asks
            ]
            kept = self.cache.find(asking.keys)
            asking.settled = [kept.get(key) for key in asking.keys]
            asking.found = len(asking.settled) - len(asking.open)
        return asking

    def _asked(self, asking: Sequence[_Asking]) -> list[Sequence[Prediction]]:
        """The answers to what is open; an error of a batch is looked for case by case."""
        cases = [narrowed(one.case, one.open) for one in asking]
        try:
            answers = list(self._within(cases))
            if len(answers) != len(cases):
                raise ValueError(f"the predictor answered {len(answers)} cases of {len(cases)}")
        except Transient as error:
            return [[Prediction.later(error.problem, error.after)] * len(case.asks) for case in cases]
        except Exception as error:  # noqa: BLE001  # the edge: one case's failure is its prediction's problem
            if len(cases) > 1:
                return [answer for one in asking for answer in self._asked([one])]
            return [[Prediction.failed(told(error))] * len(cases[0].asks)]
        out: list[Sequence[Prediction]] = []
        for case, given in zip(cases, answers, strict=True):
            if len(given) == len(case.asks):
                out.append(given)
            else:
                wrong = f"the predictor gave {len(given)} answers to {len(case.asks)} questions"
                out.append([Prediction.failed(wrong)] * len(case.asks))
        return out

    def _within(self, cases: Sequence[Case]) -> Sequence[Sequence[Prediction]]:
        """Ask, for so long and no longer; an answer that comes too late is dropped."""
        if self.timeout is None:
            return self.predictor.predict(cases)
        box: queue.SimpleQueue[Sequence[Sequence[Prediction]] | BaseException] = queue.SimpleQueue()

        def ask() -> None:
            try:
                box.put(self.predictor.predict(cases))
            except BaseException as error:  # noqa: BLE001  # raised again where it is waited for
                box.put(error)

        threading.Thread(target=ask, daemon=True).start()
        limit = self.timeout * len(cases)
        try:
            answer = waited(box, limit)
        except queue.Empty:
            raise TimeoutError(f"no answer within {limit:g} s") from None
        if isinstance(answer, BaseException):
            raise answer
        return answer

    def _settle(self, asking: _Asking, answers: Sequence[Prediction], tries: int) -> float:
        """Take what was answered; return how long to wait before the rest is asked again."""
        wait, moved = 0.0, False
        for place, prediction in zip(asking.open, answers, strict=True):
            if prediction.again is not None and prediction.problem is None:
                continue
            moved = True
            asking.attempts[place] += 1
            if prediction.again is None:
                asking.settled[place] = checked(prediction, asking.case.asks[place])
            elif asking.attempts[place] > self.retry.retries:
                asking.settled[place] = Prediction.failed(prediction.problem or "")
                asking.weather = True
            else:
                pause = self.retry.wait(asking.case.stimulus, asking.attempts[place], prediction.again)
                if pause is None:
                    why = self.retry.too_long(prediction.problem or "", prediction.again)
                    asking.settled[place] = Prediction.failed(why)
                    asking.weather = True
                else:
                    wait = max(wait, pause)
        if not moved and tries > self.retry.retries:
            for place in asking.open:
                asking.settled[place] = Prediction.failed(
                    "the predictor put the question off again and again"
                )
        return wait

    def _outcome(self, asking: _Asking, seconds: float) -> Outcome:
        done = tuple(one for one in asking.settled if one is not None)
        if asking.keys and self.cache is not None:
            new = {
                key: one
                for key, one, attempts in zip(asking.keys, done, asking.attempts, strict=True)
                if attempts and one.problem is None
            }
            if new:
                self.cache.keep(new)
        if asking.case.media is not None:
            asking.case.media.forget()
        lost = asking.weather and all(one.problem is not None for one in done)
        return Outcome(asking.case.stimulus, done, tuple(asking.attempts), seconds, asking.found, lost)


def told(error: BaseException) -> str:
    """An error in one line."""
    if isinstance(error, HeartfeltError):
        return error.problem
    if isinstance(error, OSError) and error.strerror and error.filename:
        return f"{error.strerror}: {error.filename}"
    text = " ".join(str(error).split())
    text = text if len(text) <= 300 else text[:299] + "…"
    if isinstance(error, TimeoutError) and text:
        return text
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
