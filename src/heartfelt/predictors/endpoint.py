"""A server that speaks EmoLia's contract: POST a text and an audio file, get a similarity.

A request is ``{"text", "audio_filename", "audio_base64"}``, or ``audio_stem`` in place of the last two where audio is not to
be sent; the answer is ``{"similarity"}``, ``{"score"}`` or ``{"logit"}``. heartfelt's own variant sends all texts of a
stimulus at once: the same request with ``"texts"`` next to ``"text"`` (the first of them), answered with
``{"similarities": [...]}``. A server that does not know it answers the first text as usual, or refuses; the rest is then asked
one at a time, and so is everything after.

The number is the score of the question's text. Unordered categories get a text each, and the one with the highest number is the
answer.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any, ClassVar
from urllib.parse import urlsplit

from heartfelt.errors import HeartfeltError, InputError
from heartfelt.predictors.asking import shortened
from heartfelt.predictors.http import (
    Connections,
    RemotePredictor,
    UnusableAnswer,
    checked_address,
    refusal,
    secret,
)
from heartfelt.predictors.predictor import PREDICTORS, Ask, Case, Prediction, PredictorInfo, TransientError
from heartfelt.predictors.spec import number_option
from heartfelt.predictors.texts import best_match, file_name_of, stem_of, texts_to_match

KEYS = ("similarity", "score", "logit")
_REFUSALS = frozenset({400, 404, 405, 406, 413, 415, 422, 501})
"""What a server may answer to a batch it does not know."""
_CHOICES = {"audio": ("send", "stem"), "names": ("unique", "plain"), "batch": ("auto", "never")}


@PREDICTORS.register("endpoint")
class Endpoint(RemotePredictor):
    """A server behind a URL."""

    name = "endpoint"
    about = "a server that answers a text and a media file with a similarity by HTTP POST"
    argument = "the URL to post to"
    options: ClassVar[Mapping[str, str]] = {
        "audio": "'send' the media (default), or only the 'stem' of their name",
        "names": "'unique' file names (default), or 'plain' ones without their folders",
        "batch": "'auto' tries all texts of a stimulus at once (default), 'never' sends one text per request",
        "timeout": "seconds a request may take from start to end, by default 60",
        "token_from": "the environment variable that holds a bearer token",
        "version": "the version of what answers; with it, answers may be cached between runs",
    }

    def __init__(self, url: str, options: Mapping[str, str]) -> None:
        given = {"audio": "send", "names": "unique", "batch": "auto", **options}
        for name, words in _CHOICES.items():
            if given[name] not in words:
                raise InputError(
                    f"The option '{name}' of the endpoint is '{given[name]}'.",
                    f"Give one of: {', '.join(words)}.",
                )
        self._url = checked_address(
            url.strip(),
            InputError(
                f"'{url}' is not the address of a server." if url else "The endpoint has no address.",
                "Write endpoint:http://localhost:8000/similarity, with the address to post to.",
            ),
            "Put a token into an environment variable, and name it: endpoint[token_from=VARIABLE]:URL.",
        )
        self._sends = given["audio"] == "send"
        self._unique = given["names"] == "unique"
        self._batches: bool | None = None if given["batch"] == "auto" else False
        self._timeout = number_option(options, "timeout", 60, 0, above=True)
        self._token_from = given.get("token_from")
        self._version = given.get("version", "")
        self.cacheable = bool(self._version) and self._sends
        self.needs_media = self._sends

    @property
    def identity(self) -> str:
        """The URL, the version it was given, and what is sent."""
        sent = ("audio" if self._sends else "stem") + (", unique names" if self._unique else ", plain names")
        return f"endpoint {self._url} version {self._version or 'unknown'}, sends {sent}"

    def describe(self) -> PredictorInfo:
        """The server's address, without the scheme."""
        parts = urlsplit(self._url)
        shown = f"{parts.netloc}{parts.path}".rstrip("/")
        return PredictorInfo(self.spec or self.name, shown, self.name, self._url, self._version or None)

    def _connect(self) -> Connections:
        return Connections(self._url, self._timeout, secret(self._token_from) if self._token_from else None)

    def predict_case(self, case: Case) -> Sequence[Prediction]:
        """Ask everything about a case."""
        lines = [
            _Line(place, self._name(case, ask), code, text)
            for place, ask in enumerate(case.asks)
            for code, text in texts_to_match(ask)
        ]
        scored = list(zip(lines, self._lines(case, lines), strict=True))
        return [
            _combined(ask, [(line.code, prediction) for line, prediction in scored if line.place == place])
            for place, ask in enumerate(case.asks)
        ]

    def _name(self, case: Case, ask: Ask) -> str:
        """What the stimulus is called in a request."""
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
        try:
            status, answer = self._posted(self._content(case, lines[0], [line.text for line in lines]))
        except (TransientError, UnusableAnswer) as error:
            # A server error may be this server's way to refuse a batch.
            if isinstance(error, TransientError) and error.status == 500 and not self._batches:
                return []
            return [_failure(error)] * len(lines)
        if status in _REFUSALS and not self._batches:
            return []
        if status != 200:
            return [Prediction.failed(refusal(status, answer))] * len(lines)
        many = answer.get("similarities") if isinstance(answer, dict) else None
        if many is None and not self._batches:
            self._batches = False
            return [_read(answer)]
        if not isinstance(many, list) or len(many) != len(lines):
            count = len(many) if isinstance(many, list) else "no"
            wrong = f"the server gave {count} similarities for {len(lines)} texts"
            return [Prediction.failed(wrong)] * len(lines)
        self._batches = True
        return [_number(value, "similarities") for value in many]

    def _single(self, case: Case, line: _Line) -> Prediction:
        try:
            status, answer = self._posted(self._content(case, line))
        except (TransientError, UnusableAnswer) as error:
            return _failure(error)
        return _read(answer) if status == 200 else Prediction.failed(refusal(status, answer))

    def _content(self, case: Case, line: _Line, texts: Sequence[str] = ()) -> bytes:
        """The body of a request; base64 needs no escaping, so the audio is inserted as it is."""
        request: dict[str, Any] = {"text": line.text, **({"texts": list(texts)} if texts else {})}
        if not self._sends:
            return json.dumps({**request, "audio_stem": line.name}).encode()
        head = json.dumps({**request, "audio_filename": line.name}).encode()
        audio = case.media.base64 if case.media else ""
        return b'%s, "audio_base64": "%s"}' % (head[:-1], audio.encode("ascii"))

    def _posted(self, content: bytes) -> tuple[int, Any]:
        """The status and the answer of one request; a transient error is raised, and so is an answer that cannot be read."""
        response = self.connections.post(content)
        if response.status >= 300:
            return response.status, response.text
        if not response.body.strip():
            raise UnusableAnswer(f"the server answered {response.status} with nothing")
        try:
            return 200, json.loads(response.body)
        except (ValueError, RecursionError):
            raise UnusableAnswer(f"the server's answer is not JSON: '{shortened(response.text)}'") from None


def _failure(error: HeartfeltError) -> Prediction:
    if isinstance(error, TransientError):
        return Prediction.later(error.problem, error.after)
    return Prediction.failed(error.problem)


@dataclass(frozen=True, slots=True)
class _Line:
    """One text that is sent: for which question, under which name, and for which of its categories."""

    place: int
    name: str
    code: float | None
    text: str


def _combined(ask: Ask, scored: Sequence[tuple[float | None, Prediction]]) -> Prediction:
    """One prediction from those of a question's texts: a failure takes precedence over a retry, and that over scores."""
    failed = [each for _, each in scored if each.problem is not None and each.retry_after is None]
    retried = sorted(
        (each for _, each in scored if each.retry_after is not None), key=lambda each: each.problem is None
    )
    if failed or retried:
        return (failed or retried)[0]
    return best_match(ask, [(code, each.score or 0.0) for code, each in scored])


def _read(answer: Any) -> Prediction:
    """The number in an answer, whatever it is called."""
    if not isinstance(answer, dict):
        return Prediction.failed(f"the server's answer is {_kind(answer)}, not an object")
    for key in KEYS:
        if key in answer:
            return _number(answer[key], key)
    has = ", ".join(f"'{shortened(str(key))}'" for key in answer) or "nothing"
    return Prediction.failed(f"the server's answer has no similarity, score or logit; it has {has}")


def _number(value: Any, key: str) -> Prediction:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return Prediction.failed(f"the server's {key} is {_kind(value)}, not a number")
    try:
        score = float(value)
    except OverflowError:
        score = math.inf
    if not math.isfinite(score):
        return Prediction.failed(f"the server's {key} is {shortened(str(value))}")
    return Prediction(score=score)


def _kind(value: Any) -> str:
    names = {str: "text", bool: "true or false", list: "a list", dict: "an object", type(None): "null"}
    return names.get(type(value), "a number")
