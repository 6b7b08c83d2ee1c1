"""What every route of the API stands on: who asks, the study's collection, and its figures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, TypeAlias

from fastapi import Depends, Request, Security
from fastapi.security import APIKeyCookie, HTTPBearer

from heartfelt.collect import Collection
from heartfelt.web.api.models import Problem
from heartfelt.web.options import WebOptions
from heartfelt.web.security.cookies import STUDY_COOKIE
from heartfelt.web.security.login import researcher
from heartfelt.web.study.background import Reader
from heartfelt.web.study.figures import Figures

_bearer = HTTPBearer(auto_error=False, description="a token made in the dashboard or by 'heartfelt token'")
_cookie = APIKeyCookie(
    name=STUDY_COOKIE, auto_error=False, description="a login; changes also need the header x-heartfelt-token"
)


def asker(
    request: Request,
    bearer: Annotated[object, Security(_bearer)],
    cookie: Annotated[object, Security(_cookie)],
) -> str:
    """Who asks; anybody without login or token is turned away."""
    del bearer, cookie
    return researcher(request)


def _collection(request: Request) -> Collection:
    found: Collection = request.app.state.collection
    return found


def _figures(request: Request) -> Figures:
    found: Figures = request.app.state.figures
    return found


def _reader(request: Request) -> Reader:
    found: Reader = request.app.state.reader
    return found


def _options(request: Request) -> WebOptions:
    found: WebOptions = request.app.state.options
    return found


Asker: TypeAlias = Annotated[str, Depends(asker)]
Collected: TypeAlias = Annotated[Collection, Depends(_collection)]
Figured: TypeAlias = Annotated[Figures, Depends(_figures)]
Read: TypeAlias = Annotated[Reader, Depends(_reader)]
Optioned: TypeAlias = Annotated[WebOptions, Depends(_options)]

_WHY = {
    400: "cannot be understood",
    401: "no login and no token",
    403: "from another site, or without the page's token",
    404: "not there",
    409: "not in this state",
    413: "too large",
    415: "not JSON",
    422: "not as described",
    429: "too often",
    503: "the store cannot be reached; try again",
}
REFUSALS: Mapping[int | str, dict[str, Any]] = {
    status: {"model": Problem, "description": words} for status, words in _WHY.items()
}
"""How any route may refuse."""


def address_of(request: Request, options: WebOptions) -> str:
    """Where people reach the study, for links."""
    if options.public_url is not None:
        return options.public_url.rstrip("/")
    return f"{request.url.scheme}://{request.url.netloc}{options.prefix}"
