"""Settings of the generator ``http``: what is sent where, how the answer is read, and how a job is asked for.

Keys are never settings: they come from environment variables, which ``${NAME}`` stands for.
"""

from __future__ import annotations

import json
import re
from typing import Annotated, Any, ClassVar, Literal
from urllib.parse import parse_qs, urlsplit

from pydantic import ConfigDict, Field, field_validator, model_validator

from heartfelt.errors import InputError
from heartfelt.predictors.hosted.http import checked_address
from heartfelt.stimuli.generators.generator import GeneratorSettings
from heartfelt.study.model import Part

PART = re.compile(r"\{(\w+)\}")
VARIABLE = re.compile(r"\$\{(\w+)\}")
_NAMES = ("prompt", "system", "intent", "stimulus", "index", "seed", "seconds", "size")
_SECRET_HEADERS = re.compile(r"(?i)authorization|cookie|key|token|secret|password")


class JobSettings(Part):
    """How a job is asked for: where, and what its answers mean. Paths such as ``data.0.id`` lead into the JSON answer."""

    id: Annotated[str, Field(description="path of the job's id in the first answer")] = "id"
    url: Annotated[str | None, Field(description="address of the job, with {id} in it")] = None
    url_path: Annotated[str | None, Field(description="path of the job's address in the first answer")] = None
    status: Annotated[str, Field(description="path of the status in the job's answer")] = "status"
    done: Annotated[tuple[str, ...], Field(description="statuses of a job that is done")] = (
        "succeeded",
        "completed",
        "complete",
        "success",
        "finished",
        "done",
    )
    failed: Annotated[tuple[str, ...], Field(description="statuses of a job that failed")] = (
        "failed",
        "error",
        "canceled",
        "cancelled",
    )
    error: Annotated[str, Field(description="path of why a job failed")] = "error"
    every: Annotated[float, Field(gt=0, le=600, description="seconds between questions")] = 2.0
    result_url: Annotated[
        str | None, Field(description="address of the result, with {id} in it, where the job's answer has none")
    ] = None

    @model_validator(mode="after")
    def _has_an_address(self) -> JobSettings:
        if (self.url is None) == (self.url_path is None):
            raise ValueError("a job needs its address. Give either 'url' or 'url_path'")
        return self


class HttpSettings(GeneratorSettings):
    """What is sent where, and how the answer is read."""

    model_config = ConfigDict(validate_by_name=False, validate_by_alias=True)
    operational: ClassVar[frozenset[str]] = GeneratorSettings.operational | {
        "headers", "job", "retries", "wait", "max_mib", "request_timeout",
    }  # fmt: skip

    url: Annotated[str, Field(description="where requests are sent")]
    body: Annotated[
        dict[str, Any],
        Field(
            alias="json",
            default_factory=lambda: {"prompt": "{prompt}", "seed": "{seed}"},
            description=(
                "the request; {prompt}, {seed}, {seconds}, {size}, {system}, {intent}, {stimulus} and {index} are filled in, and a "
                'value that is nothing but "{seed}" becomes a number'
            ),
        ),
    ]
    headers: Annotated[
        dict[str, str],
        Field(default_factory=dict, description="keys as ${NAME}: environment variables, never written to a file"),
    ]
    answer: Annotated[Literal["bytes", "base64", "url"], Field(description="what the service answers with")] = "bytes"
    path: Annotated[str, Field(description="where in the JSON answer that is, such as data.0.audio")] = ""
    job: Annotated[JobSettings | None, Field(description="where the answer is a job: how it is asked for")] = None
    model: Annotated[str | None, Field(description="the model's name, for the provenance")] = None
    revision: Annotated[str | None, Field(description="of the model, for the provenance")] = None
    licence: Annotated[str | None, Field(description="the terms of use, for the provenance")] = None
    timeout: Annotated[float, Field(gt=0, description="seconds one stimulus may take in all")] = 600.0
    request_timeout: Annotated[float, Field(gt=0, description="seconds one request may take")] = 120.0
    retries: Annotated[int, Field(ge=0, le=20, description="further requests after a transient error")] = 4
    wait: Annotated[float, Field(ge=0, description="seconds before the first of them; then twice as long")] = 0.5
    max_mib: Annotated[float, Field(gt=0, le=2048, description="largest answer")] = 64.0
    at_once: Annotated[int, Field(ge=1, le=256, description="requests under way at the same time")] = 4

    @field_validator("url")
    @classmethod
    def _address(cls, value: str) -> str:
        wrong = InputError(f"'{value}' is not an address.", "Write http:// or https:// before the host.")
        try:
            checked_address(value, wrong, "Put it into a header: 'headers: {Authorization: \"Bearer ${MY_KEY}\"}'.")
        except InputError as error:
            raise ValueError(f"{error.problem.rstrip('.')}. {error.fix}") from None
        if any(_SECRET_HEADERS.search(name) for name in parse_qs(urlsplit(value).query)):
            raise ValueError(
                "the address holds a key, which would be written into the provenance. Put it into a header"
            )
        return value

    @field_validator("body")
    @classmethod
    def _known_names(cls, value: dict[str, Any]) -> dict[str, Any]:
        for name in PART.findall(VARIABLE.sub("", json.dumps(value))):
            if name not in _NAMES:
                raise ValueError(
                    f"{{{name}}} stands for nothing. Known: {', '.join(f'{{{placeholder}}}' for placeholder in _NAMES)}"
                )
        return value

    @field_validator("headers")
    @classmethod
    def _no_secrets(cls, value: dict[str, str]) -> dict[str, str]:
        for name, text in value.items():
            if _SECRET_HEADERS.search(name) and not VARIABLE.search(text):
                raise ValueError(
                    f"the header '{name}' holds its key in plain text. Set an environment variable and write ${{NAME}} here"
                )
            if not re.fullmatch(r"[\w!#$%&'*+.^`|~-]+", name) or re.search(r"[\r\n\0]", text):
                raise ValueError(f"'{name}' is not a header. Use letters, digits and hyphens")
        return value

    @model_validator(mode="after")
    def _says_where(self) -> HttpSettings:
        if self.answer != "bytes" and not self.path:
            raise ValueError(f"'answer: {self.answer}' needs a place. Give 'path', such as data.0.{self.answer}")
        if self.answer == "bytes" and self.path:
            raise ValueError("'path' has no meaning for 'answer: bytes'. Give 'answer: base64' or 'answer: url'")
        if self.answer == "bytes" and self.job is not None and self.job.result_url is None:
            raise ValueError("a job that ends in bytes needs 'result_url'. Or give 'answer: url' and 'path'")
        return self
