"""Asking a predictor about a batch of cases, wherever that is done: look in the cache, ask, ask again, check.

:class:`PredictorWork` never raises for a case: what goes wrong is the prediction's problem. It travels to other processes by
pickling. A transient error is asked again after an exponential back-off with jitter from a named stream, or after as long as the
other side asks for.
"""

from __future__ import annotations

import math
import queue
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from numbers import Real
from typing import Any, TypeVar

from heartfelt import clock
from heartfelt.errors import HeartfeltError, InputError, nearest
from heartfelt.failures import report_bug
from heartfelt.predictors.execution.store import Cache, cache_key, question_digest
from heartfelt.predictors.interface.calls import Call
from heartfelt.predictors.interface.predictor import NO_MEDIA, Ask, Case, Prediction, Predictor, TransientError
from heartfelt.predictors.weights.network import PullError
from heartfelt.streams import stream
from heartfelt.study.scales.answer import NONE, Scale
from heartfelt.study.scales.set_scale import TIE

T = TypeVar("T")
_TURN = 0.2
"""Seconds between looks at the clock. Some libraries handle Ctrl-C in a way that lets an endless wait continue."""
GRACE = 15.0
"""Seconds that requests which may be paid for are given to end when a run is interrupted."""
LARGEST = 1e100
"""The largest number a prediction may hold: squares and sums of such numbers are still finite."""
_NUMBERS = ("value", "score", "low", "high", "against", "rate", "start", "answer_sd")


@dataclass(frozen=True, slots=True, kw_only=True)
class Retry:
    """How often and after how long a question that met a transient error is asked again."""

    retries: int = 4
    first_wait: float = 0.5
    longest_wait: float = 60.0
    """Seconds up to which waits double; what a server asks for may be longer."""
    seed: int = 0
    longest_retry_after: float = 900.0
    """Seconds a server may ask for (Retry-After); a question whose server asks for more fails with that as its problem."""

    def __post_init__(self) -> None:
        if min(self.retries, self.first_wait, self.longest_wait, self.longest_retry_after) < 0:
            raise InputError("Retries and waits cannot be negative.", "Give 0 retries to ask only once.")

    def wait(self, stimulus: str, attempt: int, retry_after: float = 0.0) -> float | None:
        """Seconds before the next attempt, after ``attempt`` of them; None where the server asks for too long a wait."""
        if retry_after > self.longest_retry_after:
            return None
        backoff = min(self.longest_wait, self.first_wait * 2.0 ** (attempt - 1))
        jitter = float(stream(self.seed, "retry", stimulus, attempt).random())
        return max(retry_after, backoff * (0.5 + 0.5 * jitter))


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseOutcome:
    """The result of one case: a prediction for every question, in order, and how often each was asked."""

    stimulus: str
    predictions: tuple[Prediction, ...]
    attempts: tuple[int, ...]
    seconds: float
    from_cache: int = 0
    """How many of the answers were in the cache."""
    lost: bool = False
    """Whether nothing was answered, all of it because of transient errors."""
    repeat: int = 0
    """Which repeat of the questions it is."""


class _TooLate(TimeoutError):
    """A case that is waited for no longer, with its requests so far."""

    def __init__(self, problem: str, lost_calls: tuple[Call, ...]) -> None:
        super().__init__(problem)
        self.lost_calls = tuple(
            replace(call, lost=problem) if call.input_tokens is None else call for call in lost_calls
        )


@dataclass(slots=True, kw_only=True)
class _Open:
    """A case with the questions that are still open."""

    case: Case
    settled: list[Prediction | None]
    attempts: list[int]
    errors: dict[int, list[str]] = field(default_factory=dict)
    """What attempts met after which the question at an index was asked again."""
    lost_calls: dict[int, dict[str, Call]] = field(default_factory=dict)
    """Requests of these attempts that may be paid for, by id."""
    keys: list[str] = field(default_factory=list)
    from_cache: int = 0
    transient_error: bool = False

    @property
    def unsettled(self) -> list[int]:
        """The indices of the questions without an answer."""
        return [index for index, prediction in enumerate(self.settled) if prediction is None]

    def note_attempt(self, index: int, prediction: Prediction) -> None:
        """Count an attempt at a question, with the requests it may have paid for in vain."""
        self.attempts[index] += 1
        if prediction.lost_calls:
            lost = {call.id: replace(call, repeat=self.case.repeat) for call in prediction.lost_calls}
            self.lost_calls.setdefault(index, {}).update(lost)

    def prediction(self, index: int, settled: Prediction) -> Prediction:
        """The answer to a question with what its earlier attempts met and paid for."""
        calls = self.lost_calls.get(index, {}).values()
        return replace(
            settled,
            errors=tuple(self.errors[index]) if index in self.errors else settled.errors,
            lost_calls=tuple(call for call in calls if call not in (settled.call, settled.second_call)),
        )


@dataclass(frozen=True, slots=True)
class PredictorWork:
    """A predictor with how patiently to ask it. Call it with a batch of cases."""

    predictor: Predictor
    retry: Retry = field(default_factory=Retry)
    timeout: float | None = None
    """Seconds a case may take at each attempt; None for no limit."""
    cache: Cache | None = None

    @property
    def grace(self) -> float:
        """Seconds that requests which may be paid for are given to end when a run is interrupted."""
        return GRACE if self.predictor.reach == "network" and self.predictor.metered else 0.0

    def __call__(self, cases: Sequence[Case]) -> list[CaseOutcome]:
        begun = clock.timer()
        started = [self._start(case) for case in cases]
        tries = 0
        while unsettled := [case for case in started if case.unsettled]:
            tries += 1
            answers = self._ask(unsettled)
            wait = max(
                self._settle(case, predictions, tries) for case, predictions in zip(unsettled, answers, strict=True)
            )
            if wait > 0:
                time.sleep(wait)
        share = (clock.timer() - begun) / max(1, len(cases))
        return [self._outcome(case, share) for case in started]

    def lost(self, cases: Sequence[Case], times: int) -> list[CaseOutcome]:
        problem = Prediction.failed(f"its worker was lost {times} times while it was worked on")
        return [
            CaseOutcome(
                stimulus=case.stimulus,
                predictions=(problem,) * len(case.asks),
                attempts=(times,) * len(case.asks),
                seconds=0.0,
                repeat=case.repeat,
            )
            for case in cases
        ]

    def from_cache(self, case: Case) -> CaseOutcome | None:
        """The outcome of a case that needs no asking; None for any other."""
        started = self._start(case)
        return None if started.unsettled else self._outcome(started, 0.0)

    def _start(self, case: Case) -> _Open:
        """The case with what needs no asking settled: missing media, and answers from the cache."""
        count, predictor = len(case.asks), self.predictor
        problem = case.problem
        if problem is None and predictor.needs_media:
            problem = _media_problem(case)
        if problem is not None:
            return _Open(case=case, settled=[Prediction.failed(problem)] * count, attempts=[0] * count)
        open_case = _Open(case=case, settled=[None] * count, attempts=[0] * count)
        if predictor.needs_media and predictor.cacheable and self.cache is not None:
            self._settle_from_cache(open_case, self.cache)
        return open_case

    def _settle_from_cache(self, open_case: _Open, cache: Cache) -> None:
        case, predictor = open_case.case, self.predictor
        try:
            content, identity = " ".join(file.hash for file in case.files), predictor.identity
        except OSError as error:
            problem = f"the media file cannot be read: {error.strerror}"
            open_case.settled = [Prediction.failed(problem)] * len(case.asks)
            return
        for ask in case.asks:
            question, sent = question_digest(ask, case.prompt), predictor.request_digest(case, ask)
            open_case.keys.append(cache_key(content, identity, question, sent, repeat=case.repeat))
        cached = cache.find(open_case.keys)
        open_case.settled = [cached.get(key) for key in open_case.keys]
        open_case.from_cache = len(case.asks) - len(open_case.unsettled)

    def _ask(self, open_cases: Sequence[_Open]) -> list[Sequence[Prediction]]:
        """The answers to what is open; an error of a batch is traced case by case."""
        if len(open_cases) > 1 and type(self.predictor).predict is Predictor.predict:
            # Cases that are asked one by one fail one by one: an error of one must not ask, and pay for, the others again.
            return self._ask_one_by_one(open_cases)
        cases = [open_case.case.only(open_case.unsettled) for open_case in open_cases]
        try:
            answers = self._predict(cases)
            if len(answers) != len(cases):
                raise ValueError(f"the predictor answered {len(answers)} cases of {len(cases)}")
        except TransientError as error:
            again = Prediction.later(error.problem, error.after, error.lost_calls)
            return [[again] * len(case.asks) for case in cases]
        except Exception as error:  # noqa: BLE001  # the edge: one case's failure is its prediction's problem
            if len(cases) > 1:
                return self._ask_one_by_one(open_cases)
            report_bug(f"the predictor '{self.predictor.spec}'", error)
            lost_calls = error.lost_calls if isinstance(error, _TooLate) else ()
            failed = Prediction(problem=error_line(error), lost_calls=lost_calls)
            return [[failed] * len(cases[0].asks)]
        return [_complete(predictions, case) for predictions, case in zip(answers, cases, strict=True)]

    def _ask_one_by_one(self, open_cases: Sequence[_Open]) -> list[Sequence[Prediction]]:
        return [answer for open_case in open_cases for answer in self._ask([open_case])]

    def _predict(self, cases: Sequence[Case]) -> Sequence[Sequence[Prediction]]:
        """Ask, within the time allowed; an answer that comes too late is dropped."""
        if self.timeout is None:
            return list(self.predictor.predict(cases))
        box: queue.SimpleQueue[Sequence[Sequence[Prediction]] | BaseException] = queue.SimpleQueue()

        def ask() -> None:
            try:
                box.put(self.predictor.predict(cases))
            except BaseException as error:  # noqa: BLE001  # raised again where it is waited for
                box.put(error)

        thread = threading.Thread(target=ask, daemon=True)
        thread.start()
        limit = self.timeout * len(cases)
        try:
            answer = next_from(box, limit)
        except queue.Empty:
            raise _TooLate(f"no answer within {limit:g} s", self.predictor.calls_under_way(thread.ident)) from None
        if isinstance(answer, BaseException):
            raise answer
        return list(answer)

    def _settle(self, open_case: _Open, answers: Sequence[Prediction], tries: int) -> float:
        """Take what was answered; return how long to wait before the rest is asked again."""
        wait, moved = 0.0, False
        for index, prediction in zip(open_case.unsettled, answers, strict=True):
            if prediction.retry_after is not None and prediction.problem is None:
                continue
            moved = True
            open_case.note_attempt(index, prediction)
            if prediction.retry_after is None:
                settled = checked(prediction, open_case.case.asks[index], open_case.case)
                open_case.settled[index] = replace(
                    settled,
                    call=_numbered(settled.call, open_case.case.repeat),
                    second_call=_numbered(settled.second_call, open_case.case.repeat),
                )
                continue
            wait = max(wait, self._postponed(open_case, index, prediction.problem or "", prediction.retry_after))
        if not moved and tries > self.retry.retries:
            for index in open_case.unsettled:
                open_case.settled[index] = Prediction.failed("the predictor kept postponing the question")
        return wait

    def _postponed(self, open_case: _Open, index: int, problem: str, retry_after: float) -> float:
        """Seconds to wait before a question that met a transient error is asked again; 0 where it is given up."""
        attempts = open_case.attempts[index]
        pause = self.retry.wait(open_case.case.stimulus, attempts, retry_after)
        if attempts <= self.retry.retries and pause is not None:
            open_case.errors.setdefault(index, []).append(problem)
            return pause
        if attempts <= self.retry.retries:
            problem += (
                f"; the server asks to wait {retry_after:,.0f} s, and no more than"
                f" {self.retry.longest_retry_after:,.0f} s is waited"
            )
        open_case.settled[index] = Prediction.failed(problem)
        open_case.transient_error = True
        return 0.0

    def _outcome(self, open_case: _Open, seconds: float) -> CaseOutcome:
        case, attempts = open_case.case, tuple(open_case.attempts)
        predictions = tuple(
            open_case.prediction(index, settled)
            for index, settled in enumerate(open_case.settled)
            if settled is not None
        )
        if open_case.keys and self.cache is not None:
            keyed = zip(open_case.keys, predictions, attempts, strict=True)
            self.cache.add(
                {key: prediction for key, prediction, times in keyed if times and prediction.problem is None}
            )
        for file in case.files:
            file.release()
        lost = open_case.transient_error and all(prediction.problem is not None for prediction in predictions)
        return CaseOutcome(
            stimulus=case.stimulus,
            predictions=predictions,
            attempts=attempts,
            seconds=seconds,
            from_cache=open_case.from_cache,
            lost=lost,
            repeat=case.repeat,
        )


def _media_problem(case: Case) -> str | None:
    part = next((part for part in case.parts if part.media is None), None)
    if part is None:
        return None
    return NO_MEDIA + (f": {part.facts['path']}" if "path" in part.facts else "")


def _complete(predictions: Sequence[Prediction], case: Case) -> Sequence[Prediction]:
    """The predictions, if there is one for each question; else each of them says so."""
    if len(predictions) == len(case.asks):
        return predictions
    wrong = f"the predictor gave {len(predictions)} answers to {len(case.asks)} questions"
    return [Prediction.failed(wrong)] * len(case.asks)


def _numbered(call: Call | None, repeat: int) -> Call | None:
    return replace(call, repeat=repeat) if call is not None and repeat else call


def next_from(box: queue.SimpleQueue[T], seconds: float | None = None) -> T:
    """The next thing from ``box``, waiting so that Ctrl-C is heard; ``queue.Empty`` if nothing came in time."""
    end = None if seconds is None else time.monotonic() + seconds
    while True:
        turn = _TURN if end is None else min(_TURN, end - time.monotonic())
        try:
            return box.get(timeout=max(0.0, turn))
        except queue.Empty:
            if end is not None and time.monotonic() >= end:
                raise


def error_line(error: BaseException) -> str:
    if isinstance(error, PullError):
        return f"{error.problem} {error.fix}"
    if isinstance(error, HeartfeltError):
        return error.problem
    if isinstance(error, OSError) and error.strerror and error.filename:
        return f"{error.strerror}: {error.filename}"
    text = shortened(str(error), 300)
    if isinstance(error, TimeoutError) and text:
        return text
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def shortened(text: str, most: int = 80) -> str:
    text = " ".join(text.split())
    return text if len(text) <= most else text[: most - 1] + "…"


def checked(prediction: Prediction, ask: Ask, case: Case | None = None) -> Prediction:
    """The prediction with plain numbers, and its category both as a word and as a code; or the problem with it."""
    call, second_call = prediction.call, prediction.second_call
    if prediction.problem is not None:
        problem = _storable(prediction.problem)
        return Prediction(problem=problem, flag=prediction.flag, call=call, second_call=second_call)
    answers = (prediction.value, prediction.score, prediction.answer, prediction.shares)
    if all(part is None for part in (*answers, prediction.members, prediction.samples)):
        return Prediction(problem="the predictor gave no answer", call=call, second_call=second_call)
    try:
        return _on_scale(_in_floats(prediction), ask, case)
    except ValueError as error:
        return Prediction(problem=str(error), call=call, second_call=second_call)


def _on_scale(prediction: Prediction, ask: Ask, case: Case | None) -> Prediction:
    """The prediction as the question's scale has it; an error for what is not on it."""
    _check_range(prediction, ask.scale)
    if case is not None and case.members:
        return _of_set(prediction, [member.stimulus for member in case.members])
    if ask.none and prediction.answer == NONE:
        return replace(prediction, value=None)
    in_words = ask.scale.level == "text" or not ask.scale.labels()
    return prediction if in_words else _with_category(prediction, ask)


def _samples(samples: Iterable[object]) -> tuple[float | None, ...]:
    numbers = tuple(None if sample is None else _number(sample, "sample") for sample in samples)
    if all(sample is None for sample in numbers):
        raise ValueError("the predictor's trace has no sample")
    return numbers


def _shares(shares: Mapping[str, object]) -> dict[str, float]:
    numbers = _numbers(shares, "share")
    for name, share in numbers.items():
        if share < 0:
            raise ValueError(f"the predictor's share of '{name}' is {share:g}")
    return numbers


def _numbers(parts: Mapping[str, object], kind: str) -> dict[str, float]:
    return {str(name): _number(part, f"{kind} of '{name}'") for name, part in parts.items()}


def _storable(text: str) -> str:
    """The text; unpaired surrogates, which no file can hold, become question marks."""
    return text.encode("utf-8", "replace").decode()


def _number(value: object, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, Real):
        raise ValueError(f"the predictor's {name} is {type(value).__name__}, not a number")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if math.isnan(number):
        raise ValueError(f"the predictor's {name} is nan")
    if abs(number) > LARGEST:
        raise ValueError(f"the predictor's {name} '{number:g}' is out of range")
    return number


_FLOATS_OF: Mapping[str, Callable[[Any], object]] = {
    **{name: partial(_number, name=name) for name in _NUMBERS},
    **dict.fromkeys(("answer", "reason", "note", "flag"), _storable),
    "members": partial(_numbers, kind="value"),
    "samples": _samples,
    "shares": _shares,
}


def _in_floats(prediction: Prediction) -> Prediction:
    """The prediction with Python's own numbers, whatever library they came from; an error for what is not a number."""
    values: dict[str, Any] = {
        name: read(part) for name, read in _FLOATS_OF.items() if (part := getattr(prediction, name)) is not None
    }
    if prediction.samples is not None and prediction.value is None:
        present = [sample for sample in values["samples"] if sample is not None]
        values["value"] = math.fsum(present) / len(present)
    return replace(prediction, **values)


def _check_range(prediction: Prediction, scale: Scale) -> None:
    """Raise where a number lies further beyond an end of the scale than the scale is long; a regression may overshoot a little.

    A number that compares a stimulus with others (a strength, in any unit) has no range.
    """
    bounds = scale.bounds()
    if bounds is None or scale.level == "comparison":
        return
    low, high = bounds
    for number in (prediction.value, *(prediction.samples or ())):
        if number is not None and not 2 * low - high <= number <= 2 * high - low:
            name = "value" if number is prediction.value else "sample"
            raise ValueError(
                f"the predictor's {name} '{number:g}' is out of range: the scale is from {low:g} to {high:g}"
            )


def _of_set(prediction: Prediction, names: Sequence[str]) -> Prediction:
    """A prediction about a set, refused where it names other stimuli than the set's."""
    shares, values = prediction.shares, prediction.members
    for parts, also in ((shares, (TIE,)), (values, ())):
        unknown = sorted(set(parts or ()) - {*names, *also})
        if unknown:
            raise ValueError(f"the predictor names '{unknown[0]}', which is not in this set")
    if values is not None and set(values) != set(names):
        missing = next(name for name in names if name not in values)
        raise ValueError(f"the predictor gave no value for '{missing}'")
    if shares is not None and sum(shares.values()) > 1 + 1e-6:
        raise ValueError(f"the predictor's probabilities add up to {sum(shares.values()):g}")
    return prediction


def _with_category(prediction: Prediction, ask: Ask) -> Prediction:
    words = ask.scale.labels()
    shares, value, answer = prediction.shares or {}, prediction.value, prediction.answer
    unknown = sorted(set(shares) - set(words.values()))
    if unknown:
        raise ValueError(f"the predictor's shares name '{unknown[0]}', which is not a category")
    if value is not None:
        answer = answer if answer is not None else _word_of(value, ask)
    elif answer is not None:
        value, answer = _category_read(answer, ask)
    elif shares:
        answer = max(shares, key=shares.__getitem__)
        value = {name: code for code, name in words.items()}[answer]
    return replace(prediction, value=value, answer=answer)


def _word_of(code: float, ask: Ask) -> str | None:
    """The word of a category; None for a number between the codes of ordered ones."""
    words = ask.scale.labels()
    if code not in words and ask.scale.level == "nominal" and len(words) > 2:
        raise ValueError(f"the predictor gave {code:g}, which is not the code of a category")
    return words.get(code)


def _category_read(answer: str, ask: Ask) -> tuple[float | None, str | None]:
    """The code and the word of a category as it was written; the error for another word names the nearest."""
    try:
        return ask.scale.read(answer)
    except InputError:
        near = nearest(answer, ask.scale.labels().values())
        hint = f" (the nearest is '{near}')" if near else ""
        raise ValueError(f"the predictor answered '{shortened(answer)}', which is not a category{hint}") from None
