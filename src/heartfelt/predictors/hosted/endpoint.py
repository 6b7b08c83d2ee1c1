"""A server that speaks EmoLia's contract: POST a text and an audio file, get a similarity.

A request is ``{"text", "audio_filename", "audio_base64"}``, or ``audio_stem`` in place of the last two where audio is not to
be sent; the answer is ``{"similarity"}``, ``{"score"}`` or ``{"logit"}``. heartfelt's own variant sends all texts of a
stimulus at once: the same request with ``"texts"`` next to ``"text"`` (the first of them), answered with
``{"similarities": [...]}``. A server that does not know it answers the first text as usual, or refuses; the rest is then asked
one at a time, and so is everything after.

With ``compare=yes`` a set goes into one request, with ``members`` in place of a single file and the question's ``scale``; the
answer is ``{"members": [...]}`` (values in the order sent), ``{"shares": [...]}`` (probabilities, that of a tie last) or, of a
pair, ``{"probability"}`` of the first. A question answered with a trace is sent with its ``scale`` too, and may be answered with
``{"samples": [...], "rate", "start"}``.

The number is the score of the question's text. Unordered categories get a text each, and the one with the highest number is the
answer.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import Any, ClassVar
from urllib.parse import urlsplit

from heartfelt import clock
from heartfelt.errors import HeartfeltError, InputError
from heartfelt.predictors.answers.texts import best_match, file_name_of, stem_of, texts_to_match
from heartfelt.predictors.execution.work import LARGEST, shortened
from heartfelt.predictors.hosted.http import (
    Connections,
    RemotePredictor,
    UnusableAnswer,
    checked_address,
    refusal,
    secret,
)
from heartfelt.predictors.interface.calls import SIMILARITY, Call
from heartfelt.predictors.interface.predictor import PREDICTORS, Ask, Case, Prediction, PredictorInfo, TransientError
from heartfelt.predictors.interface.spec import number_option
from heartfelt.study.scales.set_scale import TIE, Trace

KEYS = ("similarity", "score", "logit")
_REFUSALS = frozenset({400, 404, 405, 406, 413, 415, 422, 501})
"""What a server may answer to a batch it does not know."""
_LONGEST_RECORD = 20_000
"""Characters of an answer that are recorded."""
_CHOICES = {
    "audio": ("send", "stem"),
    "names": ("unique", "plain"),
    "batch": ("auto", "never"),
    "compare": ("no", "yes"),
}


@PREDICTORS.register("endpoint")
class Endpoint(RemotePredictor):
    """A server behind a URL."""

    name = "endpoint"
    extra = "predict"
    about = "a server that answers a text and a media file with a similarity by HTTP POST"
    argument = "the URL to post to"
    options: ClassVar[Mapping[str, str]] = {
        "audio": "'send' the media (default), or only the 'stem' of their name",
        "names": "'unique' file names (default), or 'plain' ones without their folders",
        "batch": "'auto' tries all texts of a stimulus at once (default), 'never' sends one text per request",
        "compare": "'no' asks about each stimulus of a set (default), 'yes' sends all of them in one request",
        "timeout": "seconds a request may take from start to end, by default 60",
        "token_from": "the environment variable that holds a bearer token",
        "version": "the version of what answers; with it, answers may be cached between runs",
    }

    def __init__(self, url: str, options: Mapping[str, str]) -> None:
        settings = {"audio": "send", "names": "unique", "batch": "auto", "compare": "no", **options}
        for name, words in _CHOICES.items():
            if settings[name] not in words:
                raise InputError(
                    f"The option '{name}' of the endpoint is '{settings[name]}'.", f"Give one of: {', '.join(words)}."
                )
        self._url = checked_address(
            url.strip(),
            InputError(
                f"'{url}' is not the address of a server." if url else "The endpoint has no address.",
                "Write endpoint:http://localhost:8000/similarity, with the address to post to.",
            ),
            "Put a token into an environment variable, and name it: endpoint[token_from=VARIABLE]:URL.",
        )
        self._sends = settings["audio"] == "send"
        self._unique = settings["names"] == "unique"
        self._batches: bool | None = None if settings["batch"] == "auto" else False
        self._timeout = number_option(options, "timeout", 60, 0, above=True)
        self._token_from = settings.get("token_from")
        self._version = settings.get("version", "")
        self.cacheable = bool(self._version) and self._sends
        self.needs_media = self._sends
        self.compares = settings["compare"] == "yes"
        self.metered = False

    @property
    def identity(self) -> str:
        sent = ("audio" if self._sends else "stem") + (", unique names" if self._unique else ", plain names")
        compares = ", compares" if self.compares else ""
        return f"endpoint {self._url} version {self._version or 'unknown'}, sends {sent}{compares}"

    def describe(self) -> PredictorInfo:
        parts = urlsplit(self._url)
        shown = f"{parts.netloc}{parts.path}".rstrip("/")
        info = super().describe()
        return replace(info, display_name=shown, model=self._url, version=self._version or None)

    def _connect(self) -> Connections:
        return Connections(self._url, self._timeout, secret(self._token_from) if self._token_from else None)

    def predict_case(self, case: Case) -> Sequence[Prediction]:
        if case.members or any(isinstance(ask.scale, Trace) for ask in case.asks):
            return [self._scale_answer(case, ask) for ask in case.asks]
        lines = [
            _Line(index, self._name(case, ask), code, text)
            for index, ask in enumerate(case.asks)
            for code, text in texts_to_match(ask)
        ]
        scored = list(zip(lines, self._lines(case, lines), strict=True))
        return [
            _combined(ask, [(line.code, prediction) for line, prediction in scored if line.index == index])
            for index, ask in enumerate(case.asks)
        ]

    def _scale_answer(self, case: Case, ask: Ask) -> Prediction:
        """One question about a set, or one that a trace may answer, with its scale."""
        files = [
            {"audio_filename" if self._sends else "audio_stem": self._name(part, ask)}
            | ({"audio_base64": part.media.base64} if self._sends and part.media else {})
            for part in case.parts
        ]
        request: dict[str, object] = {"text": ask.words or ask.text, "scale": ask.scale.model_dump(mode="json")}
        request |= {"members": files} if case.members else files[0]
        sent = {"text": request["text"], "files": [self._name(part, ask) for part in case.parts]}
        try:
            reply = self._posted(json.dumps(request).encode(), sent, (ask.question,))
        except (TransientError, UnusableAnswer) as error:
            return _failure(error)
        if reply.status != 200:
            return reply.refused
        prediction = _of_members(reply.answer, case) if case.members else _of_trace(reply.answer)
        return replace(prediction, call=reply.call)

    def _name(self, case: Case, ask: Ask) -> str:
        if self._sends:
            return file_name_of(case, ask, unique=self._unique)
        if self._unique:
            return stem_of(case, ask)
        return PurePosixPath(file_name_of(case, ask, unique=False)).stem

    def _lines(self, case: Case, lines: Sequence[_Line]) -> list[Prediction]:
        """A score for every text: together where the server knows that, else one at a time until a transient error."""
        done: list[Prediction] = []
        together = len(lines) > 1 and self._batches is not False and len({line.name for line in lines}) == 1
        if together:
            done = self._together(case, lines)
        while len(done) < len(lines):
            prediction = self._single(case, lines[len(done)])
            done.append(prediction)
            if together and prediction.problem is None:
                self._batches = False
            if prediction.retry_after is not None:
                done += [Prediction.later(None, prediction.retry_after)] * (len(lines) - len(done))
        return done

    def _together(self, case: Case, lines: Sequence[_Line]) -> list[Prediction]:
        """All texts in one request; what the server's answer settles, in order, which may be nothing."""
        texts = [line.text for line in lines]
        sent = {"texts": texts, "file": lines[0].name}
        questions = tuple(dict.fromkeys(case.asks[line.index].question for line in lines))
        try:
            reply = self._posted(self._content(case, lines[0], texts), sent, questions)
        except (TransientError, UnusableAnswer) as error:
            # A server error may be this server's way to refuse a batch.
            if isinstance(error, TransientError) and error.status == 500 and not self._batches:
                return []
            return [_failure(error)] * len(lines)
        if reply.status in _REFUSALS and not self._batches:
            return []
        return [reply.refused] * len(lines) if reply.status != 200 else self._similarities(reply, len(lines))

    def _similarities(self, reply: _Reply, count: int) -> list[Prediction]:
        """The similarities in an answer; the only one of a server that does not know batches."""
        many = reply.answer.get("similarities") if isinstance(reply.answer, dict) else None
        if many is None and not self._batches:
            self._batches = False
            return [replace(_read(reply.answer), call=reply.call)]
        if not isinstance(many, list) or len(many) != count:
            returned = len(many) if isinstance(many, list) else "no"
            wrong = f"the server gave {returned} similarities for {count} texts"
            return [Prediction(problem=wrong, call=reply.call)] * count
        self._batches = True
        return [replace(_number(value, "similarities"), call=reply.call) for value in many]

    def _single(self, case: Case, line: _Line) -> Prediction:
        questions = (case.asks[line.index].question,)
        try:
            reply = self._posted(self._content(case, line), {"text": line.text, "file": line.name}, questions)
        except (TransientError, UnusableAnswer) as error:
            return _failure(error)
        return replace(_read(reply.answer), call=reply.call) if reply.status == 200 else reply.refused

    def _content(self, case: Case, line: _Line, texts: Sequence[str] = ()) -> bytes:
        """The body of a request; base64 needs no escaping, so the audio is inserted as it is."""
        request: dict[str, object] = {"text": line.text, **({"texts": list(texts)} if texts else {})}
        if not self._sends:
            return json.dumps({**request, "audio_stem": line.name}).encode()
        head = json.dumps({**request, "audio_filename": line.name}).encode()
        audio = case.media.base64 if case.media else ""
        return b'%s, "audio_base64": "%s"}' % (head[:-1], audio.encode("ascii"))

    def _posted(self, content: bytes, sent: Mapping[str, Any], questions: tuple[str, ...]) -> _Reply:
        """One request and its answer; a transient error is raised, and so is an answer that cannot be read."""
        at, begun = clock.now().isoformat(timespec="microseconds"), clock.timer()
        response = self.connections.post(content)
        digest = hashlib.sha256(content).hexdigest()
        call = Call(
            id=hashlib.sha256(f"{digest} {at}".encode()).hexdigest()[:16],
            request=digest,
            at=at,
            questions=questions,
            requested_model=self._url,
            form=SIMILARITY,
            status=response.status,
            seconds=round(clock.timer() - begun, 6),
            completion=response.text[:_LONGEST_RECORD],
            prompt=json.dumps(sent, ensure_ascii=False),
        )
        if response.status >= 300:
            return _Reply(response.status, response.text, call)
        if not response.body.strip():
            raise UnusableAnswer(f"the server answered {response.status} with nothing", call=call)
        try:
            return _Reply(200, json.loads(response.body), call)
        except (ValueError, RecursionError):
            problem = f"the server's answer is not JSON: '{shortened(response.text)}'"
            raise UnusableAnswer(problem, call=call) from None


@dataclass(frozen=True, slots=True)
class _Reply:
    """What came back, and the record of the request."""

    status: int
    answer: Any
    call: Call

    @property
    def refused(self) -> Prediction:
        return Prediction(problem=refusal(self.status, self.answer), call=self.call)


def _failure(error: HeartfeltError) -> Prediction:
    if isinstance(error, TransientError):
        return Prediction.later(error.problem, error.after)
    return Prediction(problem=error.problem, call=getattr(error, "call", None))


@dataclass(frozen=True, slots=True)
class _Line:
    """One text that is sent: for which question, under which name, and for which of its categories."""

    index: int
    name: str
    code: float | None
    text: str


def _combined(ask: Ask, scored: Sequence[tuple[float | None, Prediction]]) -> Prediction:
    """One prediction from those of a question's texts: a failure takes precedence over a retry, and that over scores."""
    predictions = [prediction for _, prediction in scored]
    first = min(predictions, key=_precedence, default=Prediction())
    if first.problem is not None or first.retry_after is not None:
        return first
    best = best_match(ask, [(code, prediction.score or 0.0) for code, prediction in scored])
    return replace(best, call=_together([prediction.call for prediction in predictions if prediction.call is not None]))


def _precedence(prediction: Prediction) -> int:
    """Failures come first, then retries after an error, then other retries, then scores."""
    if prediction.retry_after is None:
        return 3 if prediction.problem is None else 0
    return 2 if prediction.problem is None else 1


def _together(calls: Sequence[Call]) -> Call | None:
    unique = list({call.id: call for call in calls}.values())
    if len(unique) < 2:
        return unique[0] if unique else None
    prompt = "\n".join(call.prompt or "" for call in unique)
    completion = "\n".join(call.completion or "" for call in unique)
    seconds = round(sum(call.seconds for call in unique), 6)
    return replace(unique[0], prompt=prompt, completion=completion, seconds=seconds)


def _read(answer: Any) -> Prediction:
    if not isinstance(answer, dict):
        return Prediction.failed(f"the server's answer is {_kind(answer)}, not an object")
    for key in KEYS:
        if key in answer:
            return _number(answer[key], key)
    return Prediction.failed(f"the server's answer has no similarity, score or logit; it has {_keys(answer)}")


def _number(value: Any, key: str) -> Prediction:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return Prediction.failed(f"the server's {key} is {_kind(value)}, not a number")
    try:
        score = float(value)
    except OverflowError:
        score = math.inf
    if not abs(score) <= LARGEST:
        fault = "is" if math.isnan(score) else "is out of range:"
        return Prediction.failed(f"the server's {key} {fault} {shortened(str(value))}")
    return Prediction(score=score)


def _of_members(answer: Any, case: Case) -> Prediction:
    names = [member.stimulus for member in case.members]
    answer = answer if isinstance(answer, dict) else {}
    chance, tie = answer.get("probability"), answer.get("tie", 0.0)
    shares, values = answer.get("shares"), answer.get("members")
    if chance is not None and len(names) == 2 and _are_numbers([chance, tie]):
        shares = [chance, 1.0 - chance - tie, *([tie] if "tie" in answer else [])]
    if _are_numbers(shares) and len(shares) in (len(names), len(names) + 1):
        return Prediction(shares=dict(zip([*names, TIE], shares, strict=False)))
    if _are_numbers(values) and len(values) == len(names):
        return Prediction(members=dict(zip(names, values, strict=True)))
    return Prediction.failed(
        f"the server's answer has no probability and no list of {len(names)} members or shares; it has {_keys(answer)}"
    )


def _of_trace(answer: Any) -> Prediction:
    samples = answer.get("samples") if isinstance(answer, dict) else None
    if samples is None:
        return _read(answer)
    rate, start = answer.get("rate"), answer.get("start")
    if not isinstance(samples, list) or not _are_numbers([sample for sample in samples if sample is not None]):
        return Prediction.failed("the server's samples are not a list of numbers")
    if not _are_numbers([number for number in (rate, start) if number is not None]):
        return Prediction.failed("the server's rate and start are not numbers")
    return Prediction(samples=tuple(samples), rate=rate, start=start)


def _are_numbers(values: Any) -> bool:
    return isinstance(values, list) and all(_number(value, "value").problem is None for value in values)


def _keys(answer: Mapping[str, Any]) -> str:
    return ", ".join(f"'{shortened(str(key))}'" for key in answer) or "nothing"


def _kind(value: Any) -> str:
    names = {str: "text", bool: "true or false", list: "a list", dict: "an object", type(None): "null"}
    return names.get(type(value), "a number")
