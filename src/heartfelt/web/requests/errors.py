"""From an exception to a response: ``{"problem", "fix"}`` with the right status, or a plain page for people."""

from __future__ import annotations

import logging
import re
import secrets
from collections.abc import Callable, Mapping
from html import escape
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response

from heartfelt.collect.messages import errors as collect
from heartfelt.errors import HeartfeltError, InputError, MissingPartError, StudyError, UnknownNameError

if TYPE_CHECKING:
    from fastapi import FastAPI

RETRY_SECONDS = 2
_log = logging.getLogger(__name__)

_WORDS: Mapping[int, tuple[str, str]] = {
    400: ("The request is malformed.", "Send it as the API's description says."),
    401: ("This needs a login.", "Log in at /study, or send a token as 'Authorization: Bearer …'."),
    403: ("This is not allowed.", "Reload the page and try again; programs send a token instead of a cookie."),
    404: ("There is nothing here.", "Check the address."),
    405: ("This address does not support that method.", "Use one of the methods in the header 'Allow'."),
    413: ("The request is too large.", "Send less at once."),
    415: ("The format of the request is not supported.", "Send JSON with 'Content-Type: application/json'."),
    429: ("Too many requests.", "Wait a little, then continue."),
    503: ("The study's database is unavailable at the moment.", "Nothing is lost; try again in a moment."),
    507: (
        "The study's database is damaged; nothing is stored until the researcher has repaired it.",
        "Leave this page open and tell the researcher; your answers are saved on this device.",
    ),
}
_STATUSES: tuple[tuple[type[HeartfeltError], int], ...] = (
    (collect.StoreDamaged, 507),
    (collect.StoreUnavailable, 503),
    (collect.UnknownRater, 404),
    (collect.UnknownAdjudicator, 401),
    (collect.DecidedElsewhere, 409),
    (collect.TrialNotFound, 404),
    (collect.TrialClosed, 409),
    (collect.PageAnswered, 409),
    (collect.StudyClosed, 409),
    (collect.MediaChanged, 409),
    (collect.StartedElsewhere, 409),
    (UnknownNameError, 404),
    (MissingPartError, 501),
    (StudyError, 409),
    (InputError, 422),
)


class LocalizedRefusal(NamedTuple):
    """A refusal in the rater's language."""

    language: str
    direction: Literal["ltr", "rtl"]
    text: str


Localize: TypeAlias = Callable[[Request, int, tuple[str, ...]], LocalizedRefusal | None]
"""What the rating pages say of a refused request, by its status and the questions with a wrong answer; None: the usual words."""


class RequestRefused(HTTPException):
    """A request that is refused, with a problem and a fix."""

    def __init__(
        self, status: int, problem: str | None = None, fix: str | None = None, headers: dict[str, str] | None = None
    ) -> None:
        defaults = _WORDS.get(status, _WORDS[400])
        self.words = (problem or defaults[0], fix or defaults[1])
        super().__init__(status, self.words[0], headers)


def status_of(error: HeartfeltError) -> int:
    return next((status for kind, status in _STATUSES if isinstance(error, kind)), 400)


def problem_response(
    request: Request,
    status: int,
    problem: str,
    fix: str,
    headers: Mapping[str, str] | None = None,
    questions: tuple[str, ...] = (),
) -> Response:
    """A problem as JSON, or as a page where a person asked for a page; to raters in the language they read.

    ``questions`` are the texts of questions with a missing or wrong answer.
    """
    language, way = "en", "ltr"
    localize: Localize | None = getattr(getattr(request.scope.get("app"), "state", None), "localize_refusal", None)
    refusal = None if localize is None else localize(request, status, questions)
    if refusal is not None:
        language, way, problem, fix = refusal.language, refusal.direction, refusal.text, ""
    extra = dict(headers or {})
    if status in {429, 503}:
        extra.setdefault("retry-after", str(RETRY_SECONDS))
    if not _wants_page(request):
        return JSONResponse({"problem": problem, "fix": fix}, status, extra)
    base = escape(request.scope.get("root_path", ""), quote=True)
    page = (
        f"<!doctype html><html lang='{language}' dir='{way}'><head><meta charset='utf-8'>"
        "<meta name='viewport' content='width=device-width, initial-scale=1'>"
        f"<title>{status}</title><link rel='icon' href='{base}/static/study/icon.svg' type='image/svg+xml'>"
        f"<link rel='stylesheet' href='{base}/static/study/plain.css'></head>"
        f"<body class='plain'><main><h1>{escape(problem)}</h1><p>{escape(fix)}</p></main></body></html>"
    )
    return HTMLResponse(page, status, extra)


def _wants_page(request: Request) -> bool:
    """Whether a person reads the response in a browser's window."""
    if "/api/" in request.url.path or request.headers.get("sec-fetch-mode", "navigate") != "navigate":
        return False
    return request.method in {"GET", "HEAD", "POST"} and "text/html" in request.headers.get("accept", "")


def add_to(app: FastAPI) -> None:
    """Handle every error with a message; other faults are caught by the middleware (``Guard``)."""
    from fastapi.exceptions import RequestValidationError

    app.add_exception_handler(HeartfeltError, _heartfelt)
    app.add_exception_handler(HTTPException, http_problem)
    app.add_exception_handler(RequestValidationError, _invalid)


async def _heartfelt(request: Request, error: Exception) -> Response:
    assert isinstance(error, HeartfeltError)
    status = status_of(error)
    if status == 507:
        _log.error("%s %s: %s %s", request.method, request.scope.get("path", ""), error.problem, error.fix)
        if "/api/" in request.url.path:
            # The file's name without the folders above it: the requester may not be logged in yet.
            problem = re.sub(r"\S*[/\\](?=[^/\\\s]+ with)", "", error.problem)
            return problem_response(request, status, problem, error.fix)
    elif status == 503:
        # What the database said is for the log: it may name hosts and files.
        _log.warning("%s %s: %s", request.method, request.scope.get("path", ""), error.problem)
    words = _WORDS[status] if status in {503, 507} else (error.problem, error.fix)
    questions = error.questions if isinstance(error, collect.InvalidAnswer) else ()
    return problem_response(request, status, *words, questions=questions)


async def http_problem(request: Request, error: Exception) -> Response:
    """The response to an HTTP exception."""
    assert isinstance(error, HTTPException)
    defaults = _WORDS.get(error.status_code, (str(error.detail), _WORDS[400][1]))
    words = error.words if isinstance(error, RequestRefused) else defaults
    return problem_response(request, error.status_code, *words, error.headers)


async def _invalid(request: Request, error: Exception) -> Response:
    """A body or query that its model does not accept: the first problem, and how many more there are."""
    from fastapi.exceptions import RequestValidationError

    assert isinstance(error, RequestValidationError)
    problems = error.errors()
    first = problems[0] if problems else {"loc": ("body",), "msg": "is not as described"}
    if first.get("type") == "json_invalid":
        return problem_response(request, 422, "The body is not valid JSON.", _WORDS[415][1])
    location = ".".join(ascii(str(part)[:60])[1:-1] for part in first["loc"] if part != "body") or "the body"
    fix = (
        "Reload the page and try again."
        if request.url.path.startswith(f"{request.scope.get('root_path', '')}/rate/")
        else "Send what the API's description at /api/v1/docs asks for."
    )
    more = f" {len(problems) - 1} more problems." if len(problems) > 1 else ""
    return problem_response(request, 422, f"{location}: {str(first['msg'])[:300]}.", fix + more)


def internal_error(request: Request, error: Exception) -> Response:
    """The response to a fault of heartfelt's own; the details go to the log."""
    reference = secrets.token_hex(4)
    _log.error("fault %s: %s %s", reference, request.method, request.scope.get("path", ""), exc_info=error)
    return problem_response(
        request,
        500,
        f"heartfelt failed (reference {reference}).",
        "This is a bug in heartfelt; the server's log has the details under that reference. Please report it.",
    )
