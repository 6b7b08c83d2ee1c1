"""``chat``: any OpenAI-compatible server, asked every question about a stimulus in one request.

The answer is asked for under a JSON schema; a server that refuses that is asked for a JSON object, then for plain text,
and what it accepts is remembered. The key never appears in an identity, a problem or a log.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, ClassVar
from urllib.parse import urlsplit

from heartfelt.errors import InputError
from heartfelt.predictors.asking import shortened
from heartfelt.predictors.calls import Call
from heartfelt.predictors.chat_form import (
    CONTEXT,
    MEDIA_PARAMETERS,
    SYSTEM,
    Completion,
    Prices,
    completion_of,
    groups,
    message,
    read_form,
    schema,
)
from heartfelt.predictors.http import (
    Connections,
    RemotePredictor,
    is_transient,
    number_option,
    refusal,
    secret,
    timeout_of,
    wait_of,
)
from heartfelt.predictors.predictor import (
    PREDICTORS,
    Ask,
    Case,
    Prediction,
    PredictorInfo,
    TransientError,
)
from heartfelt.study.scale import Categories, FreeText, Numeric, Ordered, Points, Scale, Tags, YesNo

FORMS = ("json_schema", "json_object", "plain")
KEYS = ("HEARTFELT_CHAT_KEY", "OPENAI_API_KEY")
_REFUSALS = frozenset({400, 406, 415, 422, 501})
"""What a server may answer to a form it does not know."""
_SPECIMENS: dict[str, Scale] = {
    "points": Points(type="points", points=3, anchors={1: "low", 3: "high"}),
    "numeric": Numeric(type="numeric", low=0, high=1),
    "categories": Categories(type="categories", categories=["a", "b"]),
    "ordered": Ordered(type="ordered", categories=["a", "b", "c"]),
    "yes-no": YesNo(type="yes-no"),
    "text": FreeText(type="text", min_words=1, max_words=2),
    "tags": Tags(type="tags", tags=["a"], open=False),
}
"""One scale of each kind, for the hash of what is sent."""


@PREDICTORS.register("chat")
class Chat(RemotePredictor):
    """A language model that sees or hears."""

    name: ClassVar[str] = "chat"
    about: ClassVar[str] = "a vision or audio language model behind an OpenAI-compatible server"
    argument: ClassVar[str] = "MODEL@URL, such as qwen2-vl@http://localhost:8000/v1"
    options: ClassVar[Mapping[str, str]] = {
        "form": "auto, or how the answer is asked for: json_schema, json_object or plain",
        "reasons": "yes (default) asks for a sentence before each answer, no does not",
        "temperature": "by default 0",
        "max_tokens": "how long an answer may be, by default 2000",
        "timeout": "seconds a request may take from start to end, by default 120",
        "context": "none (default), or what the model is given about the stimulus: prompt, intent, system, joined by +",
        "input_price": "what a million input tokens cost; with output_price, the cost of every request is recorded",
        "output_price": "what a million output tokens cost",
        "key_from": f"the environment variable with the key; {' or '.join(KEYS)} by default",
        "version": "the version of what answers, where the model's name does not say it",
    }

    def __init__(self, argument: str, options: Mapping[str, str]) -> None:
        self.model, self._url = _parsed(argument)
        form = options.get("form", "auto")
        if form not in {"auto", *FORMS}:
            raise InputError(f"There is no form '{form}'.", f"Give auto, {', '.join(FORMS)}.")
        if options.get("reasons", "yes") not in {"yes", "no"}:
            raise InputError(
                f"'{options['reasons']}' is neither yes nor no.", "Give reasons=yes or reasons=no."
            )
        self.reasons = options.get("reasons", "yes") == "yes"
        self.temperature = number_option(options, "temperature", 0.0, 0.0, 2.0)
        self.max_tokens = int(number_option(options, "max_tokens", 2_000, 1, 1_000_000))
        self._timeout = timeout_of(options.get("timeout", "120"))
        self._key_from = options.get("key_from")
        self._version = options.get("version", "")
        self.context = _context_of(options.get("context", "none"))
        self.prices = Prices(_price(options, "input_price"), _price(options, "output_price"))
        if (self.prices.input is None) != (self.prices.output is None):
            raise InputError("Only one of the two prices is given.", "Give input_price and output_price.")
        self._form = form
        self._forms: tuple[str, ...] = FORMS if form == "auto" else (form,)
        """The forms still to be tried, the best first; the first only once the server took it."""
        self._length_name, self._tempered = "max_tokens", True

    @classmethod
    def make(cls, argument: str = "", options: Mapping[str, str] | None = None) -> Chat:
        """From MODEL@URL."""
        return cls(argument, options or {})

    @property
    def identity(self) -> str:
        """The model, the server, and everything that is sent besides the stimulus and its questions."""
        settings = (
            f"temperature {self.temperature:g}, reasons {self.reasons}, at most {self.max_tokens} tokens,"
            f" form {self._form}, context {'+'.join(self.context) or 'none'}"
        )
        return (
            f"chat {self.model} at {self._url} version {self._version or 'by name'},"
            f" prompt {self._template_hash()}, {settings}"
        )

    def describe(self) -> PredictorInfo:
        """The model's name at the server."""
        return PredictorInfo(self.spec or self.name, self.model, self.name, self.model, self._version or None)

    def request_digest(self, case: Case, ask: Ask) -> str:
        """A hash of the request a question goes into, media left out: the other questions in it and the context."""
        asks = next(part for part in groups(case.all_asks) if ask.shown == part[0].shown)
        bare = replace(case, media=None)
        content = message(bare, asks, self.context, reasons=self.reasons)
        return _digest([MEDIA_PARAMETERS, self._plain_request(asks, content, "json_schema")])

    def _template_hash(self) -> str:
        """A hash of everything sent for one question of each kind of scale: any change of wording or settings changes it."""
        asks = tuple(Ask(name, scale, "text", "words", {}, "shown") for name, scale in _SPECIMENS.items())
        case = Case("stimulus", asks, None, "system", "intent", "prompt")
        content = message(case, asks, self.context, reasons=self.reasons)
        requests = [self._plain_request(asks, content, form) for form in FORMS]
        return _digest([MEDIA_PARAMETERS, *requests])[:12]

    def predict(self, cases: Sequence[Case]) -> Sequence[Sequence[Prediction]]:
        """One request per case, and one more for each text that raters were shown with some of the questions."""
        return [self._case(case) for case in cases]

    def _connect(self) -> Connections:
        key = self._key()
        headers = {"authorization": f"Bearer {key}"} if key else {}
        return Connections(f"{self._url}/chat/completions", headers, self._timeout)

    def _key(self) -> str | None:
        if self._key_from is None:
            return next((os.environ[name] for name in KEYS if os.environ.get(name)), None)
        return secret(self._key_from)

    def _case(self, case: Case) -> Sequence[Prediction]:
        """Every open question; each is asked in the complete request it belongs to, even where the others are answered."""
        answers: dict[str, Prediction] = {}
        wanted = {ask.question for ask in case.asks}
        for asks in groups(case.all_asks):
            if any(ask.question in wanted for ask in asks):
                try:
                    predictions = self._group(case, asks)
                except TransientError as error:
                    if not answers:
                        raise
                    predictions = [Prediction.later(error.problem, error.after)] * len(asks)
                note = self._note(case, asks)
                for ask, prediction in zip(asks, predictions, strict=True):
                    answers[ask.question] = (
                        prediction if prediction.problem else replace(prediction, note=note)
                    )
        return [answers[ask.question] for ask in case.asks]

    def _note(self, case: Case, asks: Sequence[Ask]) -> str | None:
        """What the model was given about the stimulus, in words."""
        known = {"prompt": case.prompt, "intent": case.intent, "system": case.system}
        parts = [f"the model was told {CONTEXT[name]}" for name in self.context if known[name]]
        if asks[0].shown:
            what = "the prompt" if asks[0].about.get("matches") == "prompt" else "the written level"
            parts.append(f"the model was shown {what}, as raters were")
        return "; ".join(parts) or None

    def _group(self, case: Case, asks: Sequence[Ask]) -> Sequence[Prediction]:
        content = message(case, asks, self.context, reasons=self.reasons)
        problem = ""
        for form in self._forms:
            sent = self._sent(asks, content, form)
            if sent.status == 400 and self._adapts(sent.text):
                sent = self._sent(asks, content, form)
            if sent.status == 200:
                self._forms = (form,)
                return self._read(sent, asks)
            problem = refusal(sent.status, sent.text)
            if sent.status in {401, 403}:
                problem += f" (set {self._key_from or KEYS[0]} to a key this server accepts)"
            if sent.status not in _REFUSALS:
                break
        return [Prediction.failed(problem)] * len(asks)

    def _adapts(self, text: str) -> bool:
        """Leave out, or rename, what newer models refuse; return whether anything changed."""
        before = self._length_name, self._tempered
        if "max_completion_tokens" in text:
            self._length_name = "max_completion_tokens"
        if "temperature" in text and self.temperature == 0.0:
            self._tempered = False
        return before != (self._length_name, self._tempered)

    def _request(self, asks: Sequence[Ask], content: list[dict[str, Any]], form: str) -> dict[str, Any]:
        """The request as this server accepts it."""
        request = self._plain_request(asks, content, form)
        request[self._length_name] = request.pop("max_tokens")
        if not self._tempered:
            del request["temperature"]
        return request

    def _plain_request(self, asks: Sequence[Ask], content: list[dict[str, Any]], form: str) -> dict[str, Any]:
        request: dict[str, Any] = {
            "model": self.model,
            "messages": [{"role": "system", "content": SYSTEM}, {"role": "user", "content": content}],
            "temperature": self.temperature,
            "max_tokens": self.max_tokens,
        }
        if form == "json_schema":
            shape = {"name": "answers", "strict": True, "schema": schema(asks, reasons=self.reasons)}
            request["response_format"] = {"type": "json_schema", "json_schema": shape}
        elif form == "json_object":
            request["response_format"] = {"type": "json_object"}
        return request

    def _sent(self, asks: Sequence[Ask], content: list[dict[str, Any]], form: str) -> _Answer:
        """Send one request; a transient failure is raised."""
        body = json.dumps(self._request(asks, content, form)).encode()
        at, begun = datetime.now(UTC).isoformat(timespec="microseconds"), time.perf_counter()
        response = self.connections.post(body)
        seconds = round(time.perf_counter() - begun, 6)
        text = self._hidden(response.text)
        if is_transient(response.status):
            raise TransientError(refusal(response.status, text), after=wait_of(response.retry_after))
        digest = hashlib.sha256(body).hexdigest()
        call = Call(
            hashlib.sha256(f"{digest} {at}".encode()).hexdigest()[:16],
            digest,
            at,
            tuple(ask.question for ask in asks),
            self.model,
            form,
            response.status,
            seconds=seconds,
        )
        return _Answer(response.status, text, call)

    def _read(self, answer: _Answer, asks: Sequence[Ask]) -> Sequence[Prediction]:
        completion = completion_of(answer.text)
        if completion is None:
            call = replace(answer.call, completion=answer.text)
            problem = f"the server's answer is not a chat completion: '{shortened(answer.text)}'"
            return [replace(Prediction.failed(problem), call=call)] * len(asks)
        call = self._recorded(answer.call, completion)
        ended = completion.finish_reason
        if completion.refusal or ended == "content_filter":
            problem = f"the model refused: {shortened(completion.refusal or 'content filter')}"
        elif ended == "length":
            problem = f"the model's answer was cut off at {self.max_tokens} tokens (raise max_tokens)"
        elif completion.content is not None and completion.content.strip():
            return [replace(each, call=call) for each in read_form(completion.content, asks)]
        elif completion.reasoning is not None:
            problem = "the model reasoned but gave no answer"
        else:
            problem = "the model answered with nothing"
        return [replace(Prediction.failed(problem), call=call)] * len(asks)

    def _recorded(self, call: Call, completion: Completion) -> Call:
        return replace(
            call,
            model=completion.model,
            fingerprint=completion.fingerprint,
            finish_reason=completion.finish_reason,
            input_tokens=completion.input_tokens,
            cached_tokens=completion.cached_tokens,
            output_tokens=completion.output_tokens,
            reasoning_tokens=completion.reasoning_tokens,
            cost=self.prices.cost(completion.input_tokens, completion.output_tokens),
            completion=completion.content,
            reasoning=completion.reasoning,
        )

    def _hidden(self, text: str) -> str:
        """The text without the key, in case the server repeated it."""
        key = self._key()
        return text.replace(key, "***") if key else text


@dataclass(frozen=True, slots=True)
class _Answer:
    """A server's answer to one request, and the record of that request so far."""

    status: int
    text: str
    call: Call


def _digest(parts: Sequence[Any]) -> str:
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def _context_of(text: str) -> tuple[str, ...]:
    """The parts of the option ``context``, in a fixed order."""
    parts = [] if text == "none" else text.split("+")
    unknown = [part for part in parts if part not in CONTEXT]
    if unknown:
        raise InputError(
            f"There is no context '{unknown[0]}'.", f"Give none, or {', '.join(CONTEXT)} joined by +."
        )
    return tuple(name for name in CONTEXT if name in parts)


def _price(options: Mapping[str, str], name: str) -> float | None:
    return number_option(options, name, 0.0, 0.0, 1e9) if name in options else None


def _parsed(argument: str) -> tuple[str, str]:
    model, _, url = argument.strip().partition("@http")
    parts = urlsplit(f"http{url}")
    if not model or parts.scheme not in {"http", "https"} or not parts.netloc:
        raise InputError(
            f"'{argument}' does not say which model to ask where." if argument else "chat has no model.",
            "Write chat:MODEL@http://localhost:8000/v1.",
        )
    if "@" in parts.netloc:
        raise InputError(
            "The address of the server holds a password, which would be written into every result.",
            f"Put the key into {KEYS[0]}, or name a variable: chat[key_from=VARIABLE]:MODEL@URL.",
        )
    return model, f"http{url}".rstrip("/").removesuffix("/chat/completions")
