"""The generator ``http``: any service that makes a stimulus for a request.

The body is a JSON template. The answer is the file itself (``answer: bytes``), base64 in JSON (``base64``), or an address to fetch
it from (``url``); with ``job`` the service answers with a job that is asked for until it is done. Keys come from environment
variables (``${NAME}``), go to the service's own origin only, and are never written down. Transient errors are asked again, after
as long as the server asks for.
"""

from __future__ import annotations

import base64
import binascii
import ipaddress
import json
import re
import socket
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urljoin, urlsplit

import httpcore

from heartfelt.errors import InputError
from heartfelt.predictors.execution.work import Retry, shortened
from heartfelt.predictors.hosted.http import Connections, Response, UnusableAnswer, secret
from heartfelt.predictors.interface.predictor import TransientError
from heartfelt.stimuli.generators.generator import (
    CannotGenerate,
    GenerationRefused,
    GeneratorFacts,
    GeneratorKind,
    NoStimulus,
    NotReached,
    register,
)
from heartfelt.stimuli.generators.http_settings import PART, VARIABLE, HttpSettings, JobSettings
from heartfelt.stimuli.generators.results import FileMedia, media_kind, suffix_of
from heartfelt.stimuli.prompts.prompt import StimulusPrompt

_STOP = {301, 302, 303, 307, 308, 401, 402, 403, 404, 405, 410, 501}
"""Answers that every other request would get too."""
_REDIRECTS = 5
_MIB = 2**20


@dataclass(slots=True, kw_only=True)
class HttpGenerator:
    """Asks the service for one stimulus at a time, from several threads."""

    settings: HttpSettings
    connections: Connections
    kind: str = "audio"
    suffix: str = ".wav"
    batch: int = 1
    systems: tuple[str, ...] = ()
    _retry: Retry = field(init=False)
    _lost: threading.local = field(init=False, default_factory=threading.local)

    def __post_init__(self) -> None:
        self._retry = Retry(retries=self.settings.retries, first_wait=self.settings.wait)

    def generate(self, prompt: StimulusPrompt, seed: int = 0) -> FileMedia:
        self._lost.count = 0
        end = time.monotonic() + self.settings.timeout
        body = json.dumps(_filled(self.settings, prompt, seed), ensure_ascii=False).encode()
        answer = self._asked("POST", self.settings.url, prompt, end, body)
        if self.settings.job is not None:
            answer = self._finished(self.settings.job, answer, prompt, end)
        content = self._content(answer, prompt, end)
        suffix = suffix_of(content)
        if suffix is None:
            kind = answer.content_type or "no content type"
            words = shortened(content[:400].decode("utf-8", "replace"), 120)
            raise NoStimulus(
                f"The service answered {kind} that is no audio or image a browser knows: {words}",
                "Check 'answer' and 'path' in make.yaml.",
            )
        return FileMedia(content, media_kind(suffix), suffix)

    @property
    def lost_requests(self) -> int:
        """Orders of this thread's last stimulus that the service received and did not answer: each may be charged for."""
        return int(getattr(self._lost, "count", 0))

    def generate_many(self, prompts: Any, seeds: Any) -> list[FileMedia]:
        """One after the other; requests run side by side because batches do."""
        return [self.generate(prompt, seed) for prompt, seed in zip(prompts, seeds, strict=True)]

    def facts(self) -> GeneratorFacts:
        settings = self.settings
        return GeneratorFacts(
            model=settings.model or "", revision=settings.revision or "", licence=settings.licence or ""
        )

    def close(self) -> None:
        self.connections.close()

    def _asked(self, method: str, url: str, prompt: StimulusPrompt, end: float, body: bytes | None = None) -> Response:
        """The answer to one request; transient errors are asked again while there is time."""
        attempt = 0
        while True:
            attempt += 1
            try:
                response = self._requested(method, url, body, max(0.001, end - time.monotonic()))
                break
            except UnusableAnswer as error:
                raise NoStimulus(error.problem, error.fix) from error
            except TransientError as error:
                lost = method == "POST" and error.begun
                self._lost.count = self.lost_requests + lost
                pause = self._retry.wait(prompt.stimulus, attempt, error.after or 0.0)
                if attempt > self.settings.retries or pause is None or time.monotonic() + pause >= end:
                    # What is fetched was paid for when it was ordered; an order that was lost is counted already.
                    unpaid = method == "POST" and (
                        lost or error.status is not None or isinstance(error.__context__, httpcore.ConnectError)
                    )
                    problem = NotReached if unpaid else InputError
                    raise problem(f"{error.problem} ({attempt} requests)", error.fix) from error
                time.sleep(pause)
        if response.status in _STOP and method == "POST":
            raise CannotGenerate(
                f"{url.partition('?')[0]}: {response.refusal}.",
                "Check the address, and the key in the environment variable that 'headers' names.",
            )
        if not 200 <= response.status <= 299:
            refused = GenerationRefused if method == "POST" else NoStimulus
            raise refused(response.refusal, "Check 'json' in make.yaml, and whether the service allows this text.")
        return response

    def _requested(self, method: str, url: str, body: bytes | None, seconds: float) -> Response:
        """One request. To other hosts it goes without the headers, and results may be redirected; requests may not."""
        for _ in range(_REDIRECTS + 1):
            same_host = urlsplit(url)[:2] == urlsplit(self.settings.url)[:2]
            if same_host:
                response = self.connections.request(method, url, body, seconds)
            else:
                check_public(url, self.settings.url)
                longest = round(self.settings.max_mib * _MIB)
                connections = Connections(
                    url, self.settings.request_timeout, headers={"accept": "*/*"}, longest=longest
                )
                try:
                    response = connections.request(method, url, body, seconds)
                finally:
                    connections.close()
            if method != "GET" or not 300 <= response.status <= 399 or not response.location:
                return response
            url = urljoin(url, response.location)
        raise NoStimulus(f"the result was redirected more than {_REDIRECTS} times", "Check the service.")

    def _finished(self, job: JobSettings, answer: Response, prompt: StimulusPrompt, end: float) -> Response:
        first = _json(answer)
        number = str(_at(first, job.id)) if "{id}" in f"{job.url}{job.result_url}" else ""
        if not re.fullmatch(r"[\w.~-]*", number) or number in {".", ".."}:
            raise NoStimulus(f"the job's id is '{shortened(number)}'", "Check 'id' of 'job' in make.yaml.")
        url = job.url.replace("{id}", number) if job.url else str(_at(first, job.url_path or ""))
        url = urljoin(self.settings.url, url)
        while True:
            answer = self._asked("GET", url, prompt, end)
            decoded = _json(answer)
            status = str(_at(decoded, job.status))
            if status.lower() in {word.lower() for word in job.failed}:
                reason = _at(decoded, job.error, missing="")
                raise InputError(f"the job failed: {shortened(str(reason or status), 200)}", "Try again.")
            if status.lower() in {word.lower() for word in job.done}:
                break
            if time.monotonic() + job.every >= end:
                raise InputError(
                    f"the job was still '{shortened(status)}' after {self.settings.timeout:g} s",
                    "Raise 'timeout', or add the status to 'done' or 'failed' of 'job'.",
                )
            time.sleep(job.every)
        if job.result_url is not None:
            result = urljoin(self.settings.url, job.result_url.replace("{id}", number))
            return self._asked("GET", result, prompt, end)
        return answer

    def _content(self, answer: Response, prompt: StimulusPrompt, end: float) -> bytes:
        if self.settings.answer == "bytes":
            return answer.body
        value = _at(_json(answer), self.settings.path)
        if not isinstance(value, str) or not value:
            raise NoStimulus(f"'{self.settings.path}' of the answer is no text", "Check 'path' in make.yaml.")
        if self.settings.answer == "url":
            return self._asked("GET", urljoin(self.settings.url, value), prompt, end).body
        text = value.partition(",")[2] if value.startswith("data:") else value
        try:
            return base64.b64decode("".join(text.split()), validate=True)
        except (binascii.Error, ValueError) as error:
            raise NoStimulus(f"'{self.settings.path}' is not base64: {error}", "Check 'path' in make.yaml.") from error


def check_public(url: str, service_url: str) -> None:
    """Refuse an address that a service must not send us to: other schemes, and private networks that are not its own."""
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise NoStimulus(f"the service points to '{shortened(url)}', which is not fetched", "Check the service.")
    if parts.hostname == urlsplit(service_url).hostname:
        return
    try:
        addresses = {str(entry[4][0]) for entry in socket.getaddrinfo(parts.hostname, parts.port or 443)}
    except OSError as error:
        raise TransientError(f"{parts.hostname} cannot be found: {error.strerror}") from error
    if not all(ipaddress.ip_address(address.partition("%")[0]).is_global for address in addresses):
        raise NoStimulus(
            f"the service points to {parts.hostname}, which is in a private network and is not fetched",
            "Check the service.",
        )


def _filled(settings: HttpSettings, prompt: StimulusPrompt, seed: int) -> Any:
    """The request: a text that is nothing but a number's name becomes that number."""
    numbers = {"index": prompt.index, "seed": seed, "seconds": settings.seconds, "size": settings.size}
    texts = {"prompt": prompt.text, "system": prompt.system, "intent": prompt.intent, "stimulus": prompt.stimulus}
    replacements = {**texts, **{name: "" if value is None else f"{value:g}" if isinstance(value, float) else str(value)
             for name, value in numbers.items()}}  # fmt: skip

    def fill(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: fill(nested) for key, nested in value.items()}
        if isinstance(value, list):
            return [fill(element) for element in value]
        if not isinstance(value, str):
            return value
        placeholder = PART.fullmatch(value)
        if placeholder and placeholder[1] in numbers:
            return numbers[placeholder[1]]
        # Variables first: a prompt is never read as the name of one.
        return PART.sub(lambda part: replacements[part[1]], _expanded(value))

    return fill(settings.body)


def _expanded(text: str) -> str:
    return VARIABLE.sub(lambda part: secret(part[1]), text)


def _json(answer: Response) -> Any:
    try:
        return json.loads(answer.body)
    except (ValueError, RecursionError) as error:
        kind = answer.content_type or "no content type"
        raise NoStimulus(
            f"the service answered {kind}, not JSON: {shortened(answer.text)}", "Check 'url' in make.yaml."
        ) from error


def _at(data: Any, path: str, missing: Any = ...) -> Any:
    for part in path.split("."):
        if isinstance(data, Mapping) and part in data:
            data = data[part]
        elif isinstance(data, list) and part.isdigit() and int(part) < len(data):
            data = data[int(part)]
        elif missing is not ...:
            return missing
        else:
            key_list = f" It has {', '.join(map(str, list(data)[:8]))}." if isinstance(data, Mapping) else ""
            raise NoStimulus(f"the answer has nothing at '{path}'.{key_list}", "Correct the path in make.yaml.")
    return data


def _keys(settings: HttpSettings) -> list[str]:
    """The keys and tokens that the settings name; an error where a variable is empty."""
    return [secret(name) for name in VARIABLE.findall(json.dumps([settings.headers, settings.body]))]


def _check(settings: HttpSettings) -> None:
    _keys(settings)


def _build(settings: HttpSettings, device: str) -> HttpGenerator:
    del device
    connections = Connections(
        settings.url,
        settings.request_timeout,
        headers={"accept": "*/*", **{name: _expanded(text) for name, text in settings.headers.items()}},
        # A short value, such as a plan's name, is no secret and may be part of any word.
        secrets=[key for key in _keys(settings) if len(key) >= 6],
        longest=round(settings.max_mib * _MIB),
    )
    suffix = settings.suffix or (".png" if settings.size is not None else ".wav")
    kind = media_kind(suffix)
    return HttpGenerator(settings=settings, connections=connections, kind=kind, suffix=suffix)


register(
    GeneratorKind(
        name="http",
        about="any web service: a file, base64 in JSON, an address, or a job",
        settings=HttpSettings,
        build=_build,
        where="network",
        check=_check,
        at_once=4,
    )
)
