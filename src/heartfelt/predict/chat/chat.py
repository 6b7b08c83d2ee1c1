"""``chat``: any OpenAI-compatible server, asked everything about a stimulus in one request.

The answer is asked for under a JSON schema; a server that refuses that is asked for a JSON object, then for plain text,
and what it takes is remembered. The key never appears in an identity, a problem or a log.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import urlsplit

from heartfelt.errors import InputError
from heartfelt.predict.chat.form import read, schema
from heartfelt.predict.chat.message import SYSTEM, message
from heartfelt.predict.exchange import PASSING, Exchange, refusal, shortened, timeout_of, wait_of
from heartfelt.predict.predictor import PREDICTORS, Case, Prediction, Predictor, Transient

FORMS = ("json_schema", "json_object", "plain")
KEYS = ("HEARTFELT_CHAT_KEY", "OPENAI_API_KEY")
_REFUSALS = frozenset({400, 406, 415, 422, 501})
"""What a server may answer to a form it does not know."""
_PROMPT = "1"
_MAKING = threading.Lock()


@PREDICTORS.register("chat")
class Chat(Predictor):
    """A language model that sees or hears."""

    name: ClassVar[str] = "chat"
    about: ClassVar[str] = "a vision or audio language model behind an OpenAI-compatible server"
    argument: ClassVar[str] = "MODEL@URL, such as qwen2-vl@http://localhost:8000/v1"
    options: ClassVar[Mapping[str, str]] = {
        "form": "auto, or how the answer is asked for: json_schema, json_object or plain",
        "reasons": "yes (the usual) asks for a sentence before each answer, no does not",
        "temperature": "0 if left out",
        "max_tokens": "how long an answer may be, 2000 if left out",
        "timeout": "seconds to wait for an answer, 120 if left out",
        "key_from": f"the environment variable with the key; {' or '.join(KEYS)} if left out",
        "version": "the version of what answers, where the model's name does not say it",
    }
    reach = "network"
    at_once = 8

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
        self.temperature = _within(options, "temperature", 0.0, 0.0, 2.0)
        self.max_tokens = int(_within(options, "max_tokens", 2_000, 1, 1_000_000))
        self._timeout = timeout_of(options.get("timeout", "120"))
        self._key_from = options.get("key_from")
        self._version = options.get("version", "")
        self._forms: tuple[str, ...] = FORMS if form == "auto" else (form,)
        """The forms still to be tried, the best first; the first only once the server took it."""
        self._length_name, self._tempered = "max_tokens", True
        self._exchange: Exchange | None = None

    @classmethod
    def make(cls, argument: str = "", options: Mapping[str, str] | None = None) -> Chat:
        """From MODEL@URL."""
        return cls(argument, options or {})

    @classmethod
    def example(cls, folder: Path) -> str:
        """A server that is not there."""
        del folder
        return "nobody@http://127.0.0.1:9/v1"

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_exchange": None}

    @property
    def identity(self) -> str:
        """The model, the server, the prompt and the settings."""
        prompt = hashlib.sha256(f"{_PROMPT}{SYSTEM}".encode()).hexdigest()[:12]
        settings = (
            f"temperature {self.temperature:g}, reasons {self.reasons}, at most {self.max_tokens} tokens"
        )
        return f"chat {self.model} at {self._url} version {self._version or 'by name'}, prompt {prompt}, {settings}"

    def predict(self, cases: Sequence[Case]) -> Sequence[Sequence[Prediction]]:
        """One request a case."""
        return [self._case(case) for case in cases]

    def close(self) -> None:
        """Close the connections."""
        if self._exchange is not None:
            self._exchange.close()
            self._exchange = None

    @property
    def exchange(self) -> Exchange:
        """The connections, kept open between requests; made when first needed."""
        with _MAKING:
            if self._exchange is None:
                key = self._key()
                headers = {"content-type": "application/json", "accept": "application/json"}
                if key:
                    headers["authorization"] = f"Bearer {key}"
                self._exchange = Exchange(f"{self._url}/chat/completions", headers, self._timeout)
            return self._exchange

    def expect(self, cases: Sequence[Case]) -> None:
        """Look for the key, so that a missing one is told before anything is asked."""
        del cases
        _ = self.exchange

    def _key(self) -> str | None:
        if self._key_from is None:
            return next((os.environ[name] for name in KEYS if os.environ.get(name)), None)
        key = os.environ.get(self._key_from)
        if not key:
            raise InputError(
                f"The environment variable {self._key_from} is empty.", "Set it to the key the server wants."
            )
        return key

    def _case(self, case: Case) -> Sequence[Prediction]:
        if not case.asks:
            return []
        content = message(case, reasons=self.reasons)
        problem = ""
        for form in self._forms:
            status, text = self._posted(self._request(case, content, form))
            if status == 400 and self._gives_way(text):
                status, text = self._posted(self._request(case, content, form))
            if status == 200:
                self._forms = (form,)
                return self._read(text, case)
            problem = refusal(status, text)
            if status in {401, 403}:
                problem += f" (set {self._key_from or KEYS[0]} to a key this server takes)"
            if status not in _REFUSALS:
                break
        return [Prediction.failed(problem)] * len(case.asks)

    def _gives_way(self, text: str) -> bool:
        """Leave out, or rename, what newer models refuse; whether there was anything to change."""
        before = self._length_name, self._tempered
        if "max_completion_tokens" in text:
            self._length_name = "max_completion_tokens"
        if "temperature" in text and self.temperature == 0.0:
            self._tempered = False
        return before != (self._length_name, self._tempered)

    def _request(self, case: Case, content: list[dict[str, Any]], form: str) -> dict[str, Any]:
        request: dict[str, Any] = {
            "model": self.model,
            "messages": [{"role": "system", "content": SYSTEM}, {"role": "user", "content": content}],
            "temperature": self.temperature,
            self._length_name: self.max_tokens,
        }
        if not self._tempered:
            del request["temperature"]
        if form == "json_schema":
            shape = {"name": "answers", "strict": True, "schema": schema(case.asks, reasons=self.reasons)}
            request["response_format"] = {"type": "json_schema", "json_schema": shape}
        elif form == "json_object":
            request["response_format"] = {"type": "json_object"}
        return request

    def _posted(self, request: Mapping[str, Any]) -> tuple[int, str]:
        """The status and the text of one request; bad weather is raised."""
        said = self.exchange.post(json.dumps(request).encode())
        text = self._hidden(said.text)
        if said.status in PASSING:
            raise Transient(refusal(said.status, text), after=wait_of(said.retry_after))
        return said.status, text

    def _read(self, text: str, case: Case) -> Sequence[Prediction]:
        try:
            choice = json.loads(text)["choices"][0]
            said = choice["message"]
            content = said.get("content")
        except (ValueError, LookupError, TypeError, AttributeError):
            problem = f"the server's answer is no chat completion: '{shortened(text)}'"
            return [Prediction.failed(problem)] * len(case.asks)
        ended = choice.get("finish_reason")
        if said.get("refusal") or ended == "content_filter":
            problem = f"the model refused: {shortened(str(said.get('refusal') or 'content filter'))}"
        elif ended == "length":
            problem = f"the model's answer was cut off at {self.max_tokens} tokens (raise max_tokens)"
        elif isinstance(content, str) and content.strip():
            return read(content, case.asks)
        else:
            problem = "the model answered with nothing"
        return [Prediction.failed(problem)] * len(case.asks)

    def _hidden(self, text: str) -> str:
        """The text without the key, should the server have repeated it."""
        key = self._key()
        return text.replace(key, "***") if key else text


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


def _within(options: Mapping[str, str], name: str, usual: float, low: float, high: float) -> float:
    given = options.get(name, str(usual))
    try:
        value = float(given)
    except ValueError:
        value = math.nan
    if not low <= value <= high:
        raise InputError(f"'{given}' is no {name}.", f"Give a number from {low:g} to {high:g}.")
    return value
