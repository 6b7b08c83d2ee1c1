"""A team's side of a challenge over HTTP: its own submissions, and the one that counts in the end."""

from __future__ import annotations

import http.client
import json
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from heartfelt.errors import InputError
from heartfelt.serialization import from_json

_SECONDS = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SentFile:
    """One submission as its team sees it."""

    id: str
    status: str
    name: str
    """Of the model."""
    received: str
    final: bool
    """Whether the team chose it for the final ranking."""
    member: str | None = None
    problem: str | None = None
    fix: str | None = None
    published: Mapping[str, float] = field(default_factory=dict)
    """The team's published scores after it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnSubmissions:
    """Everything a team sent, and what it may still send."""

    team: str
    left_in_24_hours: int
    left_in_all: int
    submissions: tuple[SentFile, ...]


def own_submissions(url: str, token: str) -> OwnSubmissions:
    """Everything the token's team sent."""
    return from_json(OwnSubmissions, _answer(url, "/submissions", token, "GET"))


def choose_final(url: str, token: str, id: str) -> None:
    """Make a submission count in the final ranking."""
    _answer(url, f"/submissions/{urllib.parse.quote(id, safe='')}/final", token, "POST")


def _answer(url: str, path: str, token: str, method: str) -> dict[str, Any]:
    if not url.startswith(("http://", "https://")):
        raise InputError(f"'{url}' is not the address of a challenge.", "Give one that begins with https://.")
    request = urllib.request.Request(
        url.rstrip("/") + path, headers={"authorization": f"Bearer {token}"}, method=method
    )
    try:
        with urllib.request.urlopen(request, timeout=_SECONDS) as response:
            answer: dict[str, Any] = json.load(response)
    except urllib.error.HTTPError as error:
        try:
            words = json.load(error)
            problem, fix = str(words["problem"]), str(words["fix"])
        except (ValueError, KeyError, TypeError):
            problem, fix = f"{url} answered with status {error.code}.", "Check the address."
        raise InputError(problem, fix) from error
    except OSError as error:
        raise InputError(f"{url} cannot be reached: {error}.", "Check the address and the network.") from error
    except (http.client.HTTPException, ValueError) as error:
        raise InputError(
            f"The answer of {url} is cut off or not that of a challenge: {error}.", "Check the address, and try again."
        ) from error
    return answer
