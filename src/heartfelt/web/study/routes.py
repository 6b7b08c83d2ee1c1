"""The pages of the dashboard. Everything on them comes from the API; these only let people in and out."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

from jinja2 import Environment
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles

from heartfelt.web.errors import Refused
from heartfelt.web.security.cookies import STUDY_COOKIE, drop_cookie
from heartfelt.web.security.login import (
    check_page_token,
    check_password,
    let_in,
    let_out,
    page_token,
    session_of,
)
from heartfelt.web.study.events import events
from heartfelt.web.templates import page_environment

_BEFORE_LOGIN = "before login"


def routes() -> list[BaseRoute]:
    """Every route of the dashboard."""
    return [
        Route("/study", page, methods=["GET"], name="study"),
        Route("/study/login", login_page, methods=["GET"]),
        Route("/study/login", login, methods=["POST"]),
        Route("/study/logout", logout, methods=["POST"]),
        Route("/study/events", events, methods=["GET"]),
        Mount("/static/study", StaticFiles(directory=Path(__file__).parent / "static"), name="study-static"),
    ]


async def page(request: Request) -> Response:
    """The dashboard, or the way to the login."""
    session = session_of(request)
    if session is None:
        return _to(request, "/study/login")
    return _rendered(request, "study.html", token=page_token(request, session))


async def login_page(request: Request) -> Response:
    """The form that asks for the password."""
    if session_of(request) is not None:
        return _to(request, "/study")
    return _form(request)


async def login(request: Request) -> Response:
    """Let somebody in who knows the password."""
    given = await _fields(request)
    try:
        check_page_token(request, _BEFORE_LOGIN, given.get("page"))
        await check_password(request, given.get("password", ""))
    except Refused as refused:
        fix = refused.fix if refused.status_code != 403 else "The page was open too long; try again."
        return _form(request, refused.status_code, refused.problem, fix, refused.headers)
    response = _to(request, "/study")
    let_in(request, response)
    return response


async def logout(request: Request) -> Response:
    """Let somebody out."""
    session = session_of(request)
    if session is not None:
        check_page_token(request, session, (await _fields(request)).get("page"))
        await let_out(request, session)
    response = _to(request, "/study/login")
    drop_cookie(response, request.app.state.options, STUDY_COOKIE)
    return response


async def _fields(request: Request) -> dict[str, str]:
    body = (await request.body()).decode("utf-8", "replace")
    return {name: values[-1] for name, values in parse_qs(body, max_num_fields=10).items()} if body else {}


def _form(
    request: Request, status: int = 200, problem: str = "", fix: str = "", headers: Any = None
) -> Response:
    token = page_token(request, _BEFORE_LOGIN)
    response = _rendered(request, "login.html", status, page=token, problem=problem, fix=fix)
    response.headers.update(headers or {})
    return response


def _to(request: Request, path: str) -> Response:
    return RedirectResponse(request.app.state.options.prefix + path, 303)


def _rendered(request: Request, name: str, status: int = 200, /, **values: str) -> Response:
    title = study_title(request.app.state.collection.study)
    base = request.app.state.options.prefix
    return HTMLResponse(_environment().get_template(name).render(title=title, base=base, **values), status)


def study_title(study: Any) -> str:
    """The study's title in its first language, or its name."""
    title = study.title
    if isinstance(title, str):
        return title or str(study.name)
    return str(title.get(study.languages[0]) or next(iter(title.values()), study.name))


@cache
def _environment() -> Environment:
    return page_environment("heartfelt.web.study")
