"""The API at ``/api/v1``: everything the dashboard can do, for programs."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fastapi import FastAPI
    from starlette.routing import BaseRoute


def add_to(app: FastAPI) -> None:
    """Add the API, its description and the page that shows it."""
    from heartfelt.web.api import docs

    app.router.routes.extend(routes())
    docs.add_to(app)


@cache
def routes() -> tuple[BaseRoute, ...]:
    """The API's routes, which know nothing of the application they are in and take a tenth of a second to make."""
    from fastapi import APIRouter, Depends

    from heartfelt.web.api import adjudication, data, figures, raters, study
    from heartfelt.web.api.access import PROBLEMS, requester

    router = APIRouter(prefix="/api/v1", dependencies=[Depends(requester)], responses=dict(PROBLEMS))
    for part in (
        study.router,
        figures.router,
        raters.router,
        study.stimuli_router,
        data.router,
        study.recruiting_router,
    ):
        router.include_router(part)
    router.include_router(adjudication.router)
    router.include_router(study.tokens_router)
    return tuple(router.routes)
