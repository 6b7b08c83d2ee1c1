"""``chat``: any OpenAI-compatible server, asked every question about a stimulus, or a set of them, in one request.

The answer is asked for under a JSON schema; a server that refuses that is asked for a JSON object, then for plain text,
and what it accepts is remembered. The key never appears in an identity, a problem or a log.
"""

from __future__ import annotations

import hashlib
import json
import operator
import os
import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from heartfelt import clock
from heartfelt.errors import InputError
from heartfelt.predictors.execution.work import shortened
from heartfelt.predictors.hosted.chat_drafts import DRAFT_MEDIA, DRAFT_SYSTEM, draft_message, draft_schema, read_drafts
from heartfelt.predictors.hosted.chat_form import (
    CONTEXT,
    MEDIA_PARAMETERS,
    SYSTEM,
    UNCLOSED,
    Completion,
    completion_of,
    completion_text,
    groups,
    in_words,
    known_facts,
    message,
    read_form,
    schema,
)
from heartfelt.predictors.hosted.chat_sets import combined, orders_of
from heartfelt.predictors.hosted.http import (
    CUT_OFF,
    Connections,
    RemotePredictor,
    Response,
    UnusableAnswer,
    checked_address,
    ends_early,
    is_transient,
    secret,
)
from heartfelt.predictors.interface.calls import Call
from heartfelt.predictors.interface.predictor import PREDICTORS, Ask, Case, Prediction, PredictorInfo, TransientError
from heartfelt.predictors.interface.spec import number_option
from heartfelt.study.scales.answer import Scale
from heartfelt.study.scales.scale import Categories, FreeText, Numeric, Ordered, Points, Tags, YesNo

FORMS = ("json_schema", "json_object", "plain")
KEYS = ("HEARTFELT_CHAT_KEY", "OPENAI_API_KEY")
_LIMIT_REACHED = frozenset(
    {"length", "max_tokens", "max_output_tokens", "model_length", "model_context_window_exceeded"}
)
"""What servers give as the reason why an answer ended, where it met a limit."""
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

    name = "chat"
    extra = "predict"
    about = "a vision or audio language model behind an OpenAI-compatible server"
    argument = "MODEL@URL, such as qwen2-vl@http://localhost:8000/v1"
    options: ClassVar[Mapping[str, str]] = {
        "form": "auto, or how the answer is asked for: json_schema, json_object or plain",
        "reasons": "yes (default) asks for a sentence before each answer, no does not",
        "together": "yes (default) asks all questions about a stimulus in one request, no each in a request of its own",
        "temperature": "by default 0; above it, answers vary and repeats say how much",
        "seed": "a whole number sent as the seed of the first repeat, one more for each further one; none by default",
        "max_tokens": "how long an answer may be, by default 2000",
        "timeout": "seconds a request may take from start to end, by default 120",
        "task": "judge (default) asks how people on average would answer, draft what is there, for people to verify",
        "language": "of drafts: the language that texts are to be written in, such as en",
        "context": "none (default), or what the model is given about the stimulus: prompt, intent, system, joined by +",
        "input_price": "what a million input tokens cost; with output_price, the cost of every request is recorded",
        "output_price": "what a million output tokens cost",
        "key_from": f"the environment variable with the key; {' or '.join(KEYS)} by default; none sends no key",
        "version": "the version of what answers, where the model's name does not say it",
    }

    compares = True

    def __init__(self, argument: str, options: Mapping[str, str]) -> None:
        self._answered: dict[str, Sequence[Prediction]] = {}
        """The answers to one order of a pair while the other is open."""
        self._under_way: dict[int, dict[str, Call]] = {}
        """The requests of the case that each thread is at work on, by id."""
        self._paid: dict[tuple[str, int], Call] = {}
        """Requests of an earlier run whose answers are still to be used, by the hash of what was sent and the repeat."""
        self._digested: tuple[tuple[Ask, ...], str] = ((), "")
        """The last questions a request was hashed for, and the hash."""
        self.model, self._url = _parsed(argument)
        form = options.get("form", "auto")
        self.drafts, self.language = not _is_first(options, "task", "judge", "draft"), options.get("language", "")
        """Whether it describes what is there rather than take the place of raters, and in which language."""
        self.compares = not self.drafts
        if form not in {"auto", *FORMS}:
            raise InputError(f"No form is called '{form}'.", f"Give auto, {', '.join(FORMS)}.")
        self.reasons = _is_first(options, "reasons", "yes", "no")
        self.together = _is_first(options, "together", "yes", "no")
        prices = [name for name in ("input_price", "output_price") if name in options]
        if len(prices) == 1:
            raise InputError("Only one of the two prices is given.", "Give input_price and output_price.")
        self.temperature = number_option(options, "temperature", 0.0, 0.0, 2.0)
        seed = number_option(options, "seed", 0.0, 0.0, 2**31 - 1)
        self.seed = None if "seed" not in options else int(seed)
        """The seed of the first repeat; None where none is sent."""
        self.max_tokens = int(number_option(options, "max_tokens", 2_000, 1, 1_000_000))
        self.prices = tuple(number_option(options, name, 0.0, 0.0, 1e9) for name in prices)
        """What a million input and a million output tokens cost; empty where no prices were given."""
        self.context = _context_of(options.get("context", "none"))
        if self.drafts and self.context:
            raise InputError("A model that drafts is not told how the stimulus was made.", "Leave out 'context'.")
        self._timeout = number_option(options, "timeout", 120, 0, above=True)
        self._key_from = options.get("key_from")
        self._version = options.get("version", "")
        self._form = form
        self._forms: tuple[str, ...] = FORMS if form == "auto" else (form,)
        """The forms still to be tried, the best first; the first only once the server took it."""
        self._length_name, self._tempered = "max_tokens", True

    @property
    def identity(self) -> str:
        settings = (
            f"temperature {self.temperature:g}, reasons {self.reasons}, at most {self.max_tokens} tokens,"
            f" form {self._form}, context {'+'.join(self.context) or 'none'}"
            f"{f', drafts in {self.language!r}' if self.drafts else ''}"
            f"{'' if self.together else ', each question alone'}"
            f"{'' if self.seed is None else f', seed {self.seed}'}"
        )
        return (
            f"chat {self.model} at {self._url} version {self._version or 'by name'},"
            f" prompt {self._template_hash()}, {settings}"
        )

    def describe(self) -> PredictorInfo:
        info = super().describe()
        return replace(info, display_name=self.model, model=self.model, version=self._version or None)

    def request_digest(self, case: Case, ask: Ask) -> str:
        """A hash of the request a question goes into, media left out: the other questions in it and the context."""
        asks: tuple[Ask, ...] = (ask,)
        if self.together:
            asks = next(part for part in groups(case.all_asks) if ask.shown == part[0].shown)
        digested_asks, digest = self._digested
        if len(digested_asks) == len(asks) and all(map(operator.is_, digested_asks, asks)):
            return digest
        orders = _without_media(case)
        requests = [self._plain_request(order, asks, self._message(order, asks), "json_schema") for order in orders]
        digest = _digest([DRAFT_MEDIA if self.drafts else MEDIA_PARAMETERS, *requests])
        if self.drafts:
            # Drafts are asked for in the same words for every stimulus.
            self._digested = (asks, digest)
        return digest

    def _template_hash(self) -> str:
        """A hash of everything sent for one question of each kind of scale: any change of wording or settings changes it."""
        asks = tuple(
            Ask(question=name, scale=scale, text="text", words="words", about={}, shown="shown")
            for name, scale in _SPECIMENS.items()
        )
        case = Case(stimulus="stimulus", asks=asks, media=None, system="system", intent="intent", prompt="prompt")
        content = self._message(case, asks)
        requests = [self._plain_request(case, asks, content, form) for form in FORMS]
        return _digest([DRAFT_MEDIA if self.drafts else MEDIA_PARAMETERS, *requests])[:12]

    def _connect(self) -> Connections:
        key: str | None = None
        if self._key_from is None:
            key = next((os.environ[name] for name in KEYS if os.environ.get(name)), None)
        elif self._key_from != "none":
            key = secret(self._key_from)
        return Connections(f"{self._url}/chat/completions", self._timeout, key)

    def predict_case(self, case: Case) -> Sequence[Prediction]:
        """Ask every open question in the complete request it belongs to, even where the others are answered.

        There is one request per case, and one more for each text that raters were shown with some of the questions.
        """
        thread = threading.get_ident()
        self._under_way[thread] = {}
        try:
            return self._answers(case)
        finally:
            self._under_way.pop(thread, None)

    def reuse(self, calls: Sequence[Call]) -> None:
        self._paid = {(call.request, call.repeat): call for call in calls if call.completion is not None}

    def calls_under_way(self, thread: int | None) -> tuple[Call, ...]:
        return tuple(self._under_way.get(thread or 0, {}).values())

    def _note_call(self, call: Call) -> None:
        self._under_way.get(threading.get_ident(), {})[call.id] = call

    def _answers(self, case: Case) -> Sequence[Prediction]:
        answers: dict[str, Prediction] = {}
        for asks in self._open_groups(case):
            try:
                predictions = self._compared(case, asks) if case.members else self._group(case, asks)
            except TransientError as error:
                if not answers:
                    raise
                predictions = [Prediction.later(error.problem, error.after, error.lost_calls)] * len(asks)
            note = self._note(case, asks)
            for ask, prediction in zip(asks, predictions, strict=True):
                answers[ask.question] = _noted(prediction, note)
        return [answers[ask.question] for ask in case.asks]

    def _open_groups(self, case: Case) -> list[Sequence[Ask]]:
        """The questions of each request, of those requests that hold an open question."""
        wanted = {ask.question for ask in case.asks}
        requests = groups(case.all_asks) if self.together else [(ask,) for ask in case.all_asks]
        return [asks for asks in requests if not wanted.isdisjoint(ask.question for ask in asks)]

    def _note(self, case: Case, asks: Sequence[Ask]) -> str | None:
        parts = [f"the model was told {CONTEXT[name]}" for name in known_facts(case, self.context)]
        if asks[0].shown:
            subject = "the prompt" if asks[0].about.get("matches") == "prompt" else "the written level"
            parts.append(f"the model was shown {subject}, as raters were")
        return "; ".join(parts) or None

    def _compared(self, case: Case, asks: Sequence[Ask]) -> Sequence[Prediction]:
        """The questions about a set, in every order it is shown in; what one order gave is not asked and paid for twice."""
        orders = orders_of(case)
        answers: list[Sequence[Prediction]] = []
        keys = [
            f"{case.stimulus}\x1f{asks[0].question}\x1f{asks[0].shown}\x1f{index}\x1f{case.repeat}"
            for index in range(len(orders))
        ]
        for key, order in zip(keys, orders, strict=True):
            if key not in self._answered:
                try:
                    self._answered[key] = self._group(replace(case, members=order), asks)
                except TransientError as error:
                    paid = (call for predictions in answers for prediction in predictions for call in prediction.calls)
                    error.lost_calls = (*dict.fromkeys(paid), *error.lost_calls)
                    raise
            answers.append(self._answered[key])
        for key in keys:
            del self._answered[key]
        return [
            combined(predictions, orders, ask.scale)
            for ask, predictions in zip(asks, zip(*answers, strict=True), strict=True)
        ]

    def _group(self, case: Case, asks: Sequence[Ask]) -> Sequence[Prediction]:
        content = self._message(case, asks)
        problem = ""
        for form in self._forms:
            try:
                response, call = self._sent(case, asks, content, form)
                if response.status == 400 and self._adapts(response.text):
                    response, call = self._sent(case, asks, content, form)
            except UnusableAnswer as error:
                return [Prediction(problem=error.problem, call=error.call)] * len(asks)
            if response.status == 200:
                self._forms = (form,)
                return self._read(response.text, call, asks, case.members)
            problem = response.refusal
            if response.status in {401, 403}:
                problem += f" (set {self._key_from or KEYS[0]} to a key this server accepts)"
            if response.status not in _REFUSALS:
                break
        return [Prediction.failed(problem)] * len(asks)

    def _message(self, case: Case, asks: Sequence[Ask]) -> list[dict[str, object]]:
        if self.drafts:
            return draft_message(case, asks, self.language)
        return message(case, asks, self.context, reasons=self.reasons)

    def _adapts(self, text: str) -> bool:
        """Leave out, or rename, what newer models refuse; return whether anything changed."""
        before = self._length_name, self._tempered
        if "max_completion_tokens" in text:
            self._length_name = "max_completion_tokens"
        if "temperature" in text and self.temperature == 0.0:
            self._tempered = False
        return before != (self._length_name, self._tempered)

    def _request(
        self, case: Case, asks: Sequence[Ask], content: list[dict[str, object]], form: str
    ) -> dict[str, object]:
        request = self._plain_request(case, asks, content, form)
        request[self._length_name] = request.pop("max_tokens")
        if self.seed is not None:
            request["seed"] = self.seed + case.repeat
        if not self._tempered:
            del request["temperature"]
        return request

    def _messages(self, content: list[dict[str, object]]) -> list[dict[str, object]]:
        system = DRAFT_SYSTEM if self.drafts else SYSTEM
        return [{"role": "system", "content": system}, {"role": "user", "content": content}]

    def _plain_request(
        self, case: Case, asks: Sequence[Ask], content: list[dict[str, object]], form: str
    ) -> dict[str, object]:
        request: dict[str, object] = {
            "model": self.model,
            "messages": self._messages(content),
            "temperature": self.temperature,
            "max_tokens": self.max_tokens,
        }
        if form == "json_schema":
            filled = (
                draft_schema(asks) if self.drafts else schema(asks, reasons=self.reasons, members=len(case.members))
            )
            shape = {"name": "answers", "strict": True, "schema": filled}
            request["response_format"] = {"type": "json_schema", "json_schema": shape}
        elif form == "json_object":
            request["response_format"] = {"type": "json_object"}
        return request

    def _sent(
        self, case: Case, asks: Sequence[Ask], content: list[dict[str, object]], form: str
    ) -> tuple[Response, Call]:
        """Send one request; a transient failure is raised. The call is its record so far."""
        request = self._request(case, asks, content, form)
        body = json.dumps(request).encode()
        at, begun = clock.now().isoformat(timespec="microseconds"), clock.timer()
        digest = hashlib.sha256(body).hexdigest()
        if (paid := self._paid.pop((digest, case.repeat), None)) is not None:
            return Response(200, completion_text(paid).encode()), paid
        call = Call(
            id=hashlib.sha256(f"{digest} {at}".encode()).hexdigest()[:16],
            request=digest,
            at=at,
            questions=tuple(ask.question for ask in asks),
            requested_model=self.model,
            form=form,
            status=None,
            prompt=in_words(self._messages(content)),
        )
        self._note_call(call)
        try:
            response = self.connections.post(body)
        except TransientError as error:
            if error.begun:
                seconds = round(clock.timer() - begun, 6)
                error.lost_calls = (replace(call, seconds=seconds, lost=error.problem),)
            raise
        except UnusableAnswer as error:
            seconds = round(clock.timer() - begun, 6)
            error.call = replace(call, seconds=seconds, lost=error.problem)
            raise
        if response.status != 200:
            self._under_way.get(threading.get_ident(), {}).pop(call.id, None)
        return response, replace(call, status=response.status, seconds=round(clock.timer() - begun, 6))

    def _read(self, text: str, call: Call, asks: Sequence[Ask], shown: Sequence[Case]) -> Sequence[Prediction]:
        completion = completion_of(text)
        if completion is None:
            problem = _unusable(text)
            return [Prediction(problem=problem, call=replace(call, completion=text, lost=problem))] * len(asks)
        call = replace(call, completion=completion.content, **completion.recorded)
        call = replace(call, cost=self.cost(call.input_tokens, call.output_tokens))
        self._note_call(call)
        if completion.error is not None and completion.content is None:
            call = replace(call, completion=text, lost=f"the server answered with an error: {completion.error}")
            _raise_transient(completion, call)
            return [Prediction(problem=call.lost, call=call)] * len(asks)
        refused = self._problem(completion, call)
        if refused is None:
            return self._predictions(completion.content or "", call, asks, shown)
        return [Prediction(problem=refused, call=call)] * len(asks)

    def _problem(self, completion: Completion, call: Call) -> str | None:
        """Why what a model wrote is no answer; None where it may be one."""
        finish_reason = (call.finish_reason or "").casefold()
        if completion.refusal or finish_reason == "content_filter":
            return f"the model refused: {shortened(completion.refusal or 'content filter')}"
        if finish_reason in _LIMIT_REACHED:
            return self._cut_off(call.output_tokens)
        if completion.content is not None and completion.content.strip():
            return None
        return "the model answered with nothing" if call.reasoning is None else "the model reasoned but gave no answer"

    def _predictions(self, content: str, call: Call, asks: Sequence[Ask], shown: Sequence[Case]) -> list[Prediction]:
        read = read_drafts(content, asks, self.language) if self.drafts else read_form(content, asks, shown)
        unclosed = f"{UNCLOSED} (max_tokens={self.max_tokens}; raise it if the answer needs more)"
        return [
            replace(prediction, call=call, problem=unclosed if prediction.problem == UNCLOSED else prediction.problem)
            for prediction in read
        ]

    def _cut_off(self, written: int | None) -> str:
        """Which limit an answer that ended too early met, and how to raise it."""
        spec = f"chat[max_tokens={2 * self.max_tokens}]"
        if written is not None and written < self.max_tokens:
            return (
                f"the model's answer was cut off after {written:,} tokens, by a limit of the server: max_tokens={self.max_tokens}"
                " was not reached (raise the server's context length, or send shorter media)"
            )
        return f"the model's answer was cut off at the limit max_tokens={self.max_tokens} (raise it, as in {spec}:…)"

    def cost(self, input_tokens: int | None, output_tokens: int | None) -> float | None:
        if not self.prices or input_tokens is None or output_tokens is None:
            return None
        return (self.prices[0] * input_tokens + self.prices[1] * output_tokens) / 1e6


def _without_media(case: Case) -> list[Case]:
    """The case without media, in each order in which a set is shown."""
    bare = replace(case, media=None, members=tuple(replace(part, media=None) for part in case.members))
    return [replace(bare, members=order) for order in orders_of(bare)] if bare.members else [bare]


def _noted(prediction: Prediction, note: str | None) -> Prediction:
    if not note or prediction.problem:
        return prediction
    return replace(prediction, note="; ".join(filter(None, (prediction.note, note))))


def _raise_transient(completion: Completion, call: Call) -> None:
    if completion.status is not None and is_transient(completion.status):
        error = TransientError(call.lost or "", status=completion.status)
        error.lost_calls = () if call.input_tokens is None else (call,)
        raise error


def _unusable(text: str) -> str:
    if not text.strip():
        return "the server answered 200 with nothing"
    if ends_early(text):
        return f"{CUT_OFF}: its JSON has no end"
    return f"the server's answer is not a chat completion: '{shortened(text)}'"


def _digest(parts: Sequence[Any]) -> str:
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def _is_first(options: Mapping[str, str], name: str, first: str, second: str) -> bool:
    """Whether an option has the first of its two values, which is its default."""
    value = options.get(name, first)
    if value not in {first, second}:
        raise InputError(f"'{value}' is neither {first} nor {second}.", f"Give {name}={first} or {name}={second}.")
    return value == first


def _context_of(text: str) -> tuple[str, ...]:
    parts = [] if text == "none" else text.split("+")
    unknown = [part for part in parts if part not in CONTEXT]
    if unknown:
        raise InputError(f"No context is called '{unknown[0]}'.", f"Give none, or {', '.join(CONTEXT)} joined by +.")
    return tuple(name for name in CONTEXT if name in parts)


def _parsed(argument: str) -> tuple[str, str]:
    model, _, url = argument.strip().partition("@http")
    wrong = InputError(
        f"'{argument}' does not say which model to ask where." if argument else "chat has no model.",
        "Write chat:MODEL@http://localhost:8000/v1.",
    )
    if not model:
        raise wrong
    fix = f"Put the key into {KEYS[0]}, or name a variable: chat[key_from=VARIABLE]:MODEL@URL."
    return model, checked_address(f"http{url}", wrong, fix).rstrip("/").removesuffix("/chat/completions")
