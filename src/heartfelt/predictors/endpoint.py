"""A server that speaks EmoLia's contract: POST a text and an audio file, get a similarity.

One request is ``{"text", "audio_filename", "audio_base64"}``, or ``audio_stem`` in place of the last two where audio is not to
be sent; the answer is ``{"similarity"}``, ``{"score"}`` or ``{"logit"}``. heartfelt's own variant sends all texts of a
stimulus at once: the same request with ``"texts"`` beside ``"text"`` (the first of them), answered with
``{"similarities": [...]}``. A server that does not know it answers the first text as ever, or refuses; the rest is then asked
one by one, and so is everything after.

The number is the score of the question's text. Of categories without an order each gets a text of its own, and the one with the
highest number is the answer.
"""

from __future__ import annotations

import json
import math
import os
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any, ClassVar
from urllib.parse import urlsplit

from heartfelt.errors import InputError
from heartfelt.predictors.exchange import (
    Exchange,
    UnusableAnswer,
    is_transient,
    refusal,
    shortened,
    timeout_of,
    wait_of,
)
from heartfelt.predictors.info import PredictorInfo
from heartfelt.predictors.names import file_name_of, stem_of
from heartfelt.predictors.predictor import PREDICTORS, Ask, Case, Prediction, Predictor, Transient
from heartfelt.predictors.sentences import asked_texts, matched

KEYS = ("similarity", "score", "logit")
_REFUSALS = frozenset({400, 404, 405, 406, 413, 415, 422, 501})
"""What a server may answer to a batch it does not know."""
_MAKING = threading.Lock()


class Endpoint(Predictor):
    """A server behind a URL."""

    name: ClassVar[str] = "endpoint"
    about: ClassVar[str] = "a server that answers a text and a media file with a similarity by HTTP POST"
    argument: ClassVar[str] = "the URL to post to"
    options: ClassVar[Mapping[str, str]] = {
        "audio": "'send' the media (the usual), or only the 'stem' of their name",
        "names": "'unique' file names (the usual), or 'plain' ones without their folders",
        "batch": "'auto' tries all texts of a stimulus at once (the usual), 'never' sends one text a request",
        "timeout": "seconds a request may take from start to end, 60 if left out",
        "token_from": "the environment variable that holds a bearer token",
        "version": "the version of what answers; with it, answers may be kept between runs",
    }
    reach = "network"
    at_once = 8

    def __init__(self, url: str, options: Mapping[str, str] | None = None) -> None:
        given = {"audio": "send", "names": "unique", "batch": "auto", "timeout": "60", **(options or {})}
        for name, words in (
            ("audio", ("send", "stem")),
            ("names", ("unique", "plain")),
            ("batch", ("auto", "never")),
        ):
            if given[name] not in words:
                raise InputError(
                    f"The option '{name}' of the endpoint is '{given[name]}'.",
                    f"Give one of: {', '.join(words)}.",
                )
        self._url = _checked_url(url)
        self._sends = given["audio"] == "send"
        self._unique = given["names"] == "unique"
        self._batches: bool | None = None if given["batch"] == "auto" else False
        self._timeout = timeout_of(given["timeout"])
        self._token_from = given.get("token_from")
        self._version = given.get("version", "")
        self.lasting = bool(self._version) and self._sends
        self.needs_media = self._sends
        self._exchange: Exchange | None = None

    @classmethod
    def make(cls, argument: str = "", options: Mapping[str, str] | None = None) -> Endpoint:
        """From a URL."""
        return cls(argument, options)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_exchange": None}

    @property
    def identity(self) -> str:
        """The URL, the version it was given, and what is sent."""
        sent = ("audio" if self._sends else "stem") + (", unique names" if self._unique else ", plain names")
        return f"endpoint {self._url} version {self._version or 'unknown'}, sends {sent}"

    def describe(self) -> PredictorInfo:
        """The server's address, without the scheme."""
        parts = urlsplit(self._url)
        shown = f"{parts.netloc}{parts.path}".rstrip("/")
        return PredictorInfo(self.asked or self.name, shown, self.name, self._url, self._version or None)

    @property
    def exchange(self) -> Exchange:
        """The connections, kept open between requests; made when first needed."""
        with _MAKING:
            if self._exchange is None:
                headers = {"content-type": "application/json", "accept": "application/json"}
                if self._token_from:
                    headers["authorization"] = f"Bearer {_token(self._token_from)}"
                self._exchange = Exchange(self._url, headers, self._timeout)
            return self._exchange

    def expect(self, cases: Sequence[Case]) -> None:
        """Look for the token, so that a missing one is told before anything is asked."""
        del cases
        _ = self.exchange

    def predict(self, cases: Sequence[Case]) -> list[list[Prediction]]:
        """Ask everything of every case."""
        return [self._case(case) for case in cases]

    def close(self) -> None:
        """Close the connections."""
        if self._exchange is not None:
            self._exchange.close()
            self._exchange = None

    def _case(self, case: Case) -> list[Prediction]:
        lines = [
            _Line(place, self._name(case, ask), code, text)
            for place, ask in enumerate(case.asks)
            for code, text in asked_texts(ask)
        ]
        found = self._lines(case, lines)
        return [
            _folded(
                ask, [(line.code, one) for line, one in zip(lines, found, strict=True) if line.place == place]
            )
            for place, ask in enumerate(case.asks)
        ]

    def _name(self, case: Case, ask: Ask) -> str:
        """What the stimulus is called in a request."""
        if self._sends:
            return file_name_of(case, ask, unique=self._unique)
        return (
            stem_of(case, ask) if self._unique else PurePosixPath(file_name_of(case, ask, unique=False)).stem
        )

    def _lines(self, case: Case, lines: Sequence[_Line]) -> list[Prediction]:
        """A score for every text: together where the server knows that, else one by one until it is in bad weather."""
        done: list[Prediction] = []
        together = len(lines) > 1 and self._batches is not False and len({line.name for line in lines}) == 1
        if together:
            done = self._together(case, lines)
        while len(done) < len(lines):
            one = self._single(case, lines[len(done)])
            done.append(one)
            if together and one.problem is None:
                self._batches = False
            if one.again is not None:
                done += [Prediction.later(None, one.again)] * (len(lines) - len(done))
        return done

    def _together(self, case: Case, lines: Sequence[_Line]) -> list[Prediction]:
        """All texts in one request; what the server's answer settles, in order, which may be nothing."""
        try:
            status, answer = self._posted(self._content(case, lines[0], [line.text for line in lines]))
        except Transient as error:
            if isinstance(error, _Broken) and not self._batches:
                return []
            return [Prediction.later(error.problem, error.after)] * len(lines)
        except _Garbled as error:
            return [Prediction.failed(str(error))] * len(lines)
        if status in _REFUSALS and not self._batches:
            return []
        if status != 200:
            return [Prediction.failed(refusal(status, answer))] * len(lines)
        many = answer.get("similarities") if isinstance(answer, dict) else None
        if many is None and not self._batches:
            self._batches = False
            return [_read(answer)]
        if not isinstance(many, list) or len(many) != len(lines):
            given = len(many) if isinstance(many, list) else "no"
            return [Prediction.failed(f"the server gave {given} similarities for {len(lines)} texts")] * len(
                lines
            )
        self._batches = True
        return [_number(one, "similarities") for one in many]

    def _single(self, case: Case, line: _Line) -> Prediction:
        try:
            status, answer = self._posted(self._content(case, line))
        except Transient as error:
            return Prediction.later(error.problem, error.after)
        except _Garbled as error:
            return Prediction.failed(str(error))
        return _read(answer) if status == 200 else Prediction.failed(refusal(status, answer))

    def _content(self, case: Case, line: _Line, texts: Sequence[str] = ()) -> bytes:
        """The body of a request; base64 needs no escaping, so the audio goes in as it is."""
        said: dict[str, Any] = {"text": line.text, **({"texts": list(texts)} if texts else {})}
        if not self._sends:
            return json.dumps({**said, "audio_stem": line.name}).encode()
        head = json.dumps({**said, "audio_filename": line.name}).encode()
        audio = case.media.base64 if case.media else ""
        return b'%s, "audio_base64": "%s"}' % (head[:-1], audio.encode("ascii"))

    def _posted(self, content: bytes) -> tuple[int, Any]:
        """The status and the answer of one request; bad weather is raised."""
        try:
            said = self.exchange.post(content)
        except UnusableAnswer as error:
            raise _Garbled(error.problem) from None
        if is_transient(said.status):
            kind = _Broken if said.status == 500 else Transient
            raise kind(refusal(said.status, said.text), after=wait_of(said.retry_after))
        if said.status >= 300:
            return said.status, said.text
        if not said.body.strip():
            raise _Garbled(f"the server answered {said.status} with nothing")
        try:
            return 200, json.loads(said.body)
        except (ValueError, RecursionError):
            raise _Garbled(f"the server's answer is not JSON: '{shortened(said.text)}'") from None


class _Garbled(Exception):
    """An answer that cannot be read."""


class _Broken(Transient):
    """The server failed at the request; a batch may be what it failed at."""


@dataclass(frozen=True, slots=True)
class _Line:
    """One text that is sent: for which question, under which name, and for which of its categories."""

    place: int
    name: str
    code: float | None
    text: str


def _folded(ask: Ask, found: Sequence[tuple[float | None, Prediction]]) -> Prediction:
    """One prediction from those of a question's texts: a failure goes before what is to be asked again, and that before scores."""
    failed = [one for _, one in found if one.problem is not None and one.again is None]
    again = sorted((one for _, one in found if one.again is not None), key=lambda one: one.problem is None)
    if failed or again:
        return (failed or again)[0]
    return matched(ask, [(code, one.score or 0.0) for code, one in found])


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


def _checked_url(url: str) -> str:
    parts = urlsplit(url.strip())
    if parts.scheme not in {"http", "https"} or not parts.netloc:
        raise InputError(
            f"'{url}' is no address of a server." if url else "The endpoint has no address.",
            "Write endpoint:http://localhost:8000/similarity, with the address to post to.",
        )
    if "@" in parts.netloc:
        raise InputError(
            "The address of the endpoint holds a password, which would be written into every result.",
            "Put a token into an environment variable, and name it: endpoint[token_from=VARIABLE]:URL.",
        )
    return url.strip()


def _token(variable: str) -> str:
    token = os.environ.get(variable)
    if not token:
        raise InputError(
            f"The environment variable {variable} is empty.", "Set it to the token the server wants."
        )
    return token


PREDICTORS.add(Endpoint.name, Endpoint)
