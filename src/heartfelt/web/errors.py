"""From an exception to an answer: ``{"problem", "fix"}`` with the right status, or a plain page for people."""

from __future__ import annotations

import logging
import re
import secrets
from collections.abc import Mapping
from functools import lru_cache
from html import escape
from typing import TYPE_CHECKING, Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response

from heartfelt.errors import HeartfeltError, InputError, MissingPartError, StudyError, UnknownNameError

if TYPE_CHECKING:
    from fastapi import FastAPI

RETRY_SECONDS = 2
_log = logging.getLogger("heartfelt.web")

_WORDS: Mapping[int, tuple[str, str]] = {
    400: ("The request cannot be understood.", "Send it as the API's description says."),
    401: ("This needs a login.", "Log in at /study, or send a token as 'Authorization: Bearer …'."),
    403: (
        "This is not allowed.",
        "Reload the page and try again; programs send a token instead of a cookie.",
    ),
    404: ("There is nothing here.", "Check the address."),
    405: ("This address cannot be used in that way.", "Use one of the methods named in the header 'Allow'."),
    413: ("The request is too large.", "Send less at once."),
    415: (
        "The request is not in a form that is read here.",
        "Send JSON with 'Content-Type: application/json'.",
    ),
    429: ("Too many requests.", "Wait a little and go on."),
    507: (
        "The study's database is damaged; nothing is stored until the researcher has repaired it.",
        "Leave this page open and tell the researcher; what you answered is kept on this device.",
    ),
    503: ("The study's store cannot be reached just now.", "Nothing is lost; try again in a moment."),
}


class Refused(HTTPException):
    """A request that is turned away, with words of its own."""

    def __init__(
        self,
        status: int,
        problem: str | None = None,
        fix: str | None = None,
        headers: dict[str, str] | None = None,
    ) -> None:
        known = _WORDS.get(status, _WORDS[400])
        super().__init__(status, problem or known[0], headers)
        self.problem, self.fix = problem or known[0], fix or known[1]


@lru_cache(maxsize=1)
def _statuses() -> tuple[tuple[type[HeartfeltError], int], ...]:
    from heartfelt.collect import errors as collect

    return (
        (collect.StoreDamaged, 507),
        (collect.StoreUnavailable, 503),
        (collect.UnknownRater, 404),
        (collect.TrialNotFound, 404),
        (collect.TrialClosed, 409),
        (collect.StudyClosed, 409),
        (collect.StartedElsewhere, 409),
        (UnknownNameError, 404),
        (MissingPartError, 501),
        (StudyError, 409),
        (InputError, 422),
    )


def status_of(error: HeartfeltError) -> int:
    """The status an error is answered with."""
    return next((status for kind, status in _statuses() if isinstance(error, kind)), 400)


def answer(
    request: Request, status: int, problem: str, fix: str, headers: Mapping[str, str] | None = None
) -> Response:
    """A refusal as JSON, or as a page where a person asked for a page."""
    extra = dict(headers or {})
    if status in {429, 503}:
        extra.setdefault("retry-after", str(RETRY_SECONDS))
    if wants_page(request):
        return HTMLResponse(_page(request, status, problem, fix), status, extra)
    return JSONResponse({"problem": problem, "fix": fix}, status, extra)


def wants_page(request: Request) -> bool:
    """Whether the answer is read by a person in a browser's window."""
    if "/api/" in request.url.path or request.headers.get("sec-fetch-mode", "navigate") != "navigate":
        return False
    return request.method in {"GET", "HEAD", "POST"} and "text/html" in request.headers.get("accept", "")


def _page(request: Request, status: int, problem: str, fix: str) -> str:
    base = escape(request.scope.get("root_path", ""), quote=True)
    return (
        "<!doctype html><html lang='en'><head><meta charset='utf-8'>"
        "<meta name='viewport' content='width=device-width, initial-scale=1'>"
        f"<title>{status}</title><link rel='icon' href='{base}/static/study/icon.svg' type='image/svg+xml'>"
        f"<link rel='stylesheet' href='{base}/static/study/plain.css'></head>"
        f"<body class='plain'><main><h1>{escape(problem)}</h1><p>{escape(fix)}</p></main></body></html>"
    )


def add_to(app: FastAPI) -> None:
    """Answer every refusal in words; faults are caught at the door (``Guard``)."""
    from fastapi.exceptions import RequestValidationError

    app.add_exception_handler(HeartfeltError, _heartfelt)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(RequestValidationError, _invalid)


async def _heartfelt(request: Request, error: Exception) -> Response:
    assert isinstance(error, HeartfeltError)
    status = status_of(error)
    if status == 507:
        _log.error("%s %s: %s %s", request.method, request.scope.get("path", ""), error.problem, error.fix)
        if "/api/" in request.url.path:
            # The file's name without the folders above it: whoever asks may not be logged in yet.
            problem = re.sub(r"\S*[/\\](?=[^/\\\s]+ with)", "", error.problem)
            return answer(request, status, problem, error.fix)
        return answer(request, status, *_WORDS[status])
    if status == 503:
        # What the database said is for the log: it may name hosts and files.
        _log.warning("%s %s: %s", request.method, request.scope.get("path", ""), error.problem)
        return answer(request, status, *_WORDS[status])
    return answer(request, status, error.problem, error.fix)


async def _http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    if isinstance(error, Refused):
        return answer(request, error.status_code, error.problem, error.fix, error.headers)
    problem, fix = _WORDS.get(error.status_code, (str(error.detail), _WORDS[400][1]))
    return answer(request, error.status_code, problem, fix, error.headers)


async def _invalid(request: Request, error: Exception) -> Response:
    found: list[dict[str, Any]] = list(getattr(error, "errors", list)())
    first = found[0] if found else {"loc": ("body",), "msg": "is not as described"}
    if first.get("type") == "json_invalid":
        return answer(request, 422, "The body is not valid JSON.", _WORDS[415][1])
    place = ".".join(str(part) for part in first["loc"] if part != "body") or "the body"
    return answer(
        request,
        422,
        f"{place}: {str(first['msg'])[:300]}.",
        "Send what the API's description at /api/v1/docs asks for."
        + (f" {len(found) - 1} more places are wrong." if len(found) > 1 else ""),
    )


def fault(request: Request, error: Exception) -> Response:
    """The answer to something that should not have happened; what it was goes to the log."""
    reference = secrets.token_hex(4)
    _log.error("fault %s: %s %s", reference, request.method, request.scope.get("path", ""), exc_info=error)
    return answer(
        request,
        500,
        f"heartfelt failed (reference {reference}).",
        "This is a fault in heartfelt; the server's log says more under that reference. Please report it.",
    )
