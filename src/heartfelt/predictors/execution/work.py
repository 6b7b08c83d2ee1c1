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
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
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
    """What attempts met after which the question at a place was asked again."""
    lost_calls: dict[int, dict[str, Call]] = field(default_factory=dict)
    """Requests of these attempts that may be paid for, by id."""
    keys: list[str] = field(default_factory=list)
    from_cache: int = 0
    transient_error: bool = False

    @property
    def places(self) -> list[int]:
        return [index for index, prediction in enumerate(self.settled) if prediction is None]


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
        while unsettled := [case for case in started if case.places]:
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
        return None if started.places else self._outcome(started, 0.0)

    def _start(self, case: Case) -> _Open:
        """The case with what needs no asking settled: missing media, and answers from the cache."""
        count, predictor = len(case.asks), self.predictor
        open_case = _Open(case=case, settled=[None] * count, attempts=[0] * count)
        if case.problem is not None:
            open_case.settled = [Prediction.failed(case.problem)] * count
            return open_case
        if not predictor.needs_media:
            return open_case
        missing = [part for part in case.parts if part.media is None]
        if missing:
            where = f": {missing[0].facts['path']}" if "path" in missing[0].facts else ""
            open_case.settled = [Prediction.failed(NO_MEDIA + where)] * count
        elif self.cache is not None and predictor.cacheable:
            try:
                content, identity = " ".join(file.hash for file in case.files), predictor.identity
            except OSError as error:
                problem = f"the media file cannot be read: {error.strerror}"
                open_case.settled = [Prediction.failed(problem)] * count
                return open_case
            for ask in case.asks:
                question, sent = question_digest(ask, case.prompt), predictor.request_digest(case, ask)
                open_case.keys.append(cache_key(content, identity, question, sent, repeat=case.repeat))
            cached = self.cache.find(open_case.keys)
            open_case.settled = [cached.get(key) for key in open_case.keys]
            open_case.from_cache = count - len(open_case.places)
        return open_case

    def _ask(self, open_cases: Sequence[_Open]) -> list[Sequence[Prediction]]:
        """The answers to what is open; an error of a batch is traced case by case."""
        if len(open_cases) > 1 and type(self.predictor).predict is Predictor.predict:
            # Cases that are asked one by one fail one by one: an error of one must not ask, and pay for, the others again.
            return [answer for open_case in open_cases for answer in self._ask([open_case])]
        cases = [open_case.case.only(open_case.places) for open_case in open_cases]
        try:
            answers = list(self._predict(cases))
            if len(answers) != len(cases):
                raise ValueError(f"the predictor answered {len(answers)} cases of {len(cases)}")
        except TransientError as error:
            again = Prediction.later(error.problem, error.after, error.lost_calls)
            return [[again] * len(case.asks) for case in cases]
        except Exception as error:  # noqa: BLE001  # the edge: one case's failure is its prediction's problem
            if len(cases) > 1:
                return [answer for open_case in open_cases for answer in self._ask([open_case])]
            report_bug(f"the predictor '{self.predictor.spec}'", error)
            lost_calls = error.lost_calls if isinstance(error, _TooLate) else ()
            failed = Prediction(problem=error_line(error), lost_calls=lost_calls)
            return [[failed] * len(cases[0].asks)]
        for index, (case, predictions) in enumerate(zip(cases, answers, strict=True)):
            if len(predictions) != len(case.asks):
                wrong = f"the predictor gave {len(predictions)} answers to {len(case.asks)} questions"
                answers[index] = [Prediction.failed(wrong)] * len(case.asks)
        return answers

    def _predict(self, cases: Sequence[Case]) -> Sequence[Sequence[Prediction]]:
        """Ask, within the time allowed; an answer that comes too late is dropped."""
        if self.timeout is None:
            return self.predictor.predict(cases)
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
        return answer

    def _settle(self, open_case: _Open, answers: Sequence[Prediction], tries: int) -> float:
        """Take what was answered; return how long to wait before the rest is asked again."""
        wait, moved = 0.0, False
        for index, prediction in zip(open_case.places, answers, strict=True):
            if prediction.retry_after is not None and prediction.problem is None:
                continue
            moved = True
            open_case.attempts[index] += 1
            if prediction.lost_calls:
                repeat = open_case.case.repeat
                lost = {call.id: replace(call, repeat=repeat) for call in prediction.lost_calls}
                open_case.lost_calls.setdefault(index, {}).update(lost)
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
            for index in open_case.places:
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
            replace(
                settled,
                errors=tuple(open_case.errors[index]) if index in open_case.errors else settled.errors,
                lost_calls=tuple(
                    call
                    for call in open_case.lost_calls.get(index, {}).values()
                    if call not in (settled.call, settled.second_call)
                ),
            )
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
        prediction = _plain(prediction)
        _check_range(prediction, ask.scale)
        if case is not None and case.members:
            return _of_set(prediction, [member.stimulus for member in case.members])
        if ask.none and prediction.answer == NONE:
            return replace(prediction, value=None)
        in_words = ask.scale.level == "text" or not ask.scale.labels()
        return prediction if in_words else _with_category(prediction, ask)
    except ValueError as error:
        return Prediction(problem=str(error), call=call, second_call=second_call)


def _plain(prediction: Prediction) -> Prediction:
    """The prediction with plain numbers, whatever library they came from; an error for what is not a number."""
    values: dict[str, Any] = {
        name: _number(samples, name) for name in _NUMBERS if (samples := getattr(prediction, name)) is not None
    }
    for name in ("answer", "reason", "note", "flag"):
        if (text := getattr(prediction, name)) is not None:
            values[name] = _storable(text)
    if prediction.members is not None:
        values["members"] = {
            str(name): _number(part, f"value of '{name}'") for name, part in prediction.members.items()
        }
    if prediction.samples is not None:
        values["samples"] = _plain_samples(prediction.samples)
        if prediction.value is None:
            present = [sample for sample in values["samples"] if sample is not None]
            values["value"] = math.fsum(present) / len(present)
    if prediction.shares is not None:
        values["shares"] = _plain_shares(prediction.shares)
    return replace(prediction, **values)


def _plain_samples(samples: Iterable[object]) -> tuple[float | None, ...]:
    plain = tuple(None if sample is None else _number(sample, "sample") for sample in samples)
    if all(sample is None for sample in plain):
        raise ValueError("the predictor's trace has no sample")
    return plain


def _plain_shares(shares: Mapping[str, object]) -> dict[str, float]:
    plain = {str(name): _number(part, f"share of '{name}'") for name, part in shares.items()}
    for name, share in plain.items():
        if share < 0:
            raise ValueError(f"the predictor's share of '{name}' is {share:g}")
    return plain


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
    if answer is not None and value is None:
        value, answer = _category_read(answer, ask)
    elif value is None and shares:
        answer = max(shares, key=shares.__getitem__)
        value = {name: code for code, name in words.items()}[answer]
    elif value is not None and answer is None:
        answer = words.get(value)
        if answer is None and ask.scale.level == "nominal" and len(words) > 2:
            raise ValueError(f"the predictor gave {value:g}, which is not the code of a category")
    return replace(prediction, value=value, answer=answer)


def _category_read(answer: str, ask: Ask) -> tuple[float | None, str | None]:
    """The code and the word of a category as it was written; the error for another word names the nearest."""
    try:
        return ask.scale.read(answer)
    except InputError:
        near = nearest(answer, ask.scale.labels().values())
        hint = f" (the nearest is '{near}')" if near else ""
        raise ValueError(f"the predictor answered '{shortened(answer)}', which is not a category{hint}") from None
