"""The pages of the dashboard: login, logout, the page itself, and server-sent events. Its data come from the API."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import parse_qs

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from heartfelt.collect import Collection
from heartfelt.collect.messages.errors import StoreUnavailable
from heartfelt.study import Study
from heartfelt.study.model import say
from heartfelt.web.requests.errors import RequestRefused
from heartfelt.web.requests.state import state_of
from heartfelt.web.requests.templates import page_environment
from heartfelt.web.security.access import check_form_token, check_password, form_token, log_in, log_out, login_of
from heartfelt.web.security.signing import STUDY_COOKIE, delete_cookie

if TYPE_CHECKING:
    from fastapi import FastAPI

LOOK_SECONDS = 0.5
QUIET_SECONDS = 15.0
_BEFORE_LOGIN = "before login"


def add_to(app: FastAPI) -> None:
    """Add the dashboard's routes."""
    static = StaticFiles(directory=Path(__file__).parent / "static")
    app.router.routes += [
        Route("/study", page, methods=["GET"], name="study"),
        Route("/study/login", login_page, methods=["GET"]),
        Route("/study/login", login, methods=["POST"]),
        Route("/study/logout", logout, methods=["POST"]),
        Route("/study/events", events, methods=["GET"]),
        Mount("/static/study", static, name="study-static"),
    ]


async def page(request: Request) -> Response:
    """The dashboard, or a redirect to the login."""
    session = login_of(request)
    if session is None:
        return _redirect(request, "/study/login")
    return _rendered(request, "study.html", token=form_token(request, session))


async def login_page(request: Request) -> Response:
    """The form that asks for the password."""
    if login_of(request) is not None:
        return _redirect(request, "/study")
    return _form(request)


async def login(request: Request) -> Response:
    """Log in with the password."""
    form = await _fields(request)
    try:
        check_form_token(request, _BEFORE_LOGIN, form.get("page"))
        await check_password(request, form.get("password", ""))
    except RequestRefused as refused:
        fix = refused.words[1] if refused.status_code != 403 else "The page was open for too long; try again."
        return _form(request, refused.status_code, refused.words[0], fix, refused.headers)
    response = _redirect(request, "/study")
    log_in(request, response)
    return response


async def logout(request: Request) -> Response:
    """Log out."""
    session = login_of(request)
    if session is not None:
        check_form_token(request, session, (await _fields(request)).get("page"))
        await log_out(request, session)
    response = _redirect(request, "/study/login")
    delete_cookie(response, state_of(request).options, STUDY_COOKIE)
    return response


async def _fields(request: Request) -> dict[str, str]:
    body = (await request.body()).decode("utf-8", "replace")
    return {name: values[-1] for name, values in parse_qs(body, max_num_fields=10).items()} if body else {}


def _form(request: Request, status: int = 200, problem: str = "", fix: str = "", headers: Any = None) -> Response:
    token = form_token(request, _BEFORE_LOGIN)
    response = _rendered(request, "login.html", status, page=token, problem=problem, fix=fix)
    response.headers.update(headers or {})
    return response


def _redirect(request: Request, path: str) -> Response:
    return RedirectResponse(state_of(request).options.prefix + path, 303)


def _rendered(request: Request, name: str, status: int = 200, /, **values: str) -> Response:
    title = study_title(state_of(request).collection.study)
    base = state_of(request).options.prefix
    template = page_environment("heartfelt.web.study").get_template(name)
    return HTMLResponse(template.render(title=title, base=base, **values), status)


def study_title(study: Study) -> str:
    """The study's title in its first language, or its name."""
    return say(study.title, study.languages[0]) or study.name


# --- server-sent events -----------------------------------------------------------------------------------------------


class ChangeCounter:
    """The number of the study's latest change, looked up at most twice a second for any number of dashboards."""

    def __init__(self, collection: Collection) -> None:
        self._collection = collection
        self._lock = asyncio.Lock()
        self._number = 0
        self._looked = float("-inf")

    async def number(self) -> int:
        """The number now, or half a second ago."""
        async with self._lock:
            if time.monotonic() - self._looked >= LOOK_SECONDS:
                self._number = await run_in_threadpool(self._collection.change)
                self._looked = time.monotonic()
            return self._number


async def events(request: Request) -> Response:
    """Send a dashboard the number of every change until it disconnects or its login ends."""
    if login_of(request) is None:
        raise RequestRefused(401)
    headers = {"cache-control": "no-store", "x-accel-buffering": "no"}
    if request.method == "HEAD":
        return Response(media_type="text/event-stream", headers=headers)
    return StreamingResponse(_stream(request), media_type="text/event-stream", headers=headers)


async def _stream(request: Request) -> AsyncIterator[str]:
    counter = cast(ChangeCounter, request.app.state.change_counter)
    last: int | None = -1
    sent = time.monotonic()
    yield "retry: 2000\n\n"
    while login_of(request) is not None and not await request.is_disconnected():
        try:
            now: int | None = await counter.number()
        except StoreUnavailable:
            now = None
        if now != last:
            yield "event: away\ndata: \n\n" if now is None else f"event: change\ndata: {now}\n\n"
            last, sent = now, time.monotonic()
        elif time.monotonic() - sent > QUIET_SECONDS:
            yield ": still here\n\n"
            sent = time.monotonic()
        await asyncio.sleep(LOOK_SECONDS)
