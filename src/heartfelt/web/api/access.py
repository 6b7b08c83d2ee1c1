"""What every route of the API depends on: who asks, the study's collection, and its figures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, TypeAlias

import polars as pl
from anyio import to_thread
from fastapi import Depends, Request, Security
from fastapi.concurrency import run_in_threadpool
from fastapi.security import APIKeyCookie, HTTPBearer

from heartfelt.collect import Collection
from heartfelt.web.api.models import ProblemModel
from heartfelt.web.requests.state import state_of
from heartfelt.web.security.access import researcher
from heartfelt.web.security.signing import STUDY_COOKIE
from heartfelt.web.study.background import Reader, reader_of
from heartfelt.web.study.figures import DashboardState, figures_of

_bearer = HTTPBearer(auto_error=False, description="a token made in the dashboard or by 'heartfelt study token'")
_cookie = APIKeyCookie(
    name=STUDY_COOKIE, auto_error=False, description="a login; changes also need the header x-heartfelt-token"
)


def requester(
    request: Request, bearer: Annotated[object, Security(_bearer)], cookie: Annotated[object, Security(_cookie)]
) -> str:
    """Who asks; a request without login or token is refused."""
    del bearer, cookie
    return researcher(request)


def _collection(request: Request) -> Collection:
    return state_of(request).collection


async def _board(request: Request) -> DashboardState:
    """Whoever waits for figures holds none of the threads that serve media to raters."""
    figures = figures_of(request)
    board: DashboardState | None = await run_in_threadpool(figures.ready)
    return board if board is not None else await to_thread.run_sync(figures.board, limiter=figures.waiting)


def _reader(request: Request) -> Reader:
    return reader_of(request)


def _study_url(request: Request) -> str:
    options = state_of(request).options
    if options.public_url is not None:
        return options.public_url.rstrip("/")
    return f"{request.url.scheme}://{request.url.netloc}{options.prefix}"


def with_media(collection: Collection, table: pl.DataFrame) -> list[dict[str, Any]]:
    """The rows of a table of stimuli, each with the id its media are served under."""
    media = collection.media_ids()
    return [row | {"media": media.get(row["stimulus"])} for row in table.iter_rows(named=True)]


Requester: TypeAlias = Annotated[str, Depends(requester)]
CollectionDep: TypeAlias = Annotated[Collection, Depends(_collection)]
BoardDep: TypeAlias = Annotated[DashboardState, Depends(_board)]
"""The latest figures."""
ReaderDep: TypeAlias = Annotated[Reader, Depends(_reader)]
StudyUrl: TypeAlias = Annotated[str, Depends(_study_url)]
"""Where people reach the study, for links."""

_REASONS = {
    400: "malformed",
    401: "no login and no token",
    403: "from another site, or without the page's token",
    404: "not found",
    409: "not possible in this state",
    413: "too large",
    415: "not JSON",
    422: "not as described",
    429: "too many requests",
    503: "the store is unavailable; try again",
}
PROBLEMS: Mapping[int | str, dict[str, object]] = {
    status: {"model": ProblemModel, "description": reason} for status, reason in _REASONS.items()
}
"""The error responses of every route."""
