"""The application: one FastAPI app around one collection."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Protocol, cast

from heartfelt import __version__
from heartfelt.collect import Collection
from heartfelt.web.requests.options import WebOptions
from heartfelt.web.requests.state import SharedState

if TYPE_CHECKING:
    from fastapi import FastAPI

    from heartfelt.web.adjudication.desk import AdjudicationQueue
    from heartfelt.web.rater.pages import Pages
    from heartfelt.web.rater.presentation import Blinding
    from heartfelt.web.security.access import EndedLogins
    from heartfelt.web.security.guard import RateLimit
    from heartfelt.web.security.signing import Signer
    from heartfelt.web.study.background import Reader
    from heartfelt.web.study.coverage import CoverageView
    from heartfelt.web.study.figures import DashboardCache
    from heartfelt.web.study.preview import Preview
    from heartfelt.web.study.routes import ChangeCounter

__all__ = ["WebOptions", "create_app"]


class AppState(SharedState, Protocol):
    """What the parts of the application share."""

    signer: Signer
    login_limit: RateLimit
    token_limit: RateLimit
    ended_logins: EndedLogins
    change_counter: ChangeCounter
    reader: Reader
    figures: DashboardCache
    coverage: CoverageView
    preview: Preview
    blinding: Blinding
    rater_pages: Pages
    desk: AdjudicationQueue


def create_app(
    collection: Collection, options: WebOptions, *, closes: bool = False, reader: Reader | None = None
) -> FastAPI:
    """The rating pages, the dashboard and the API of one study; ``closes`` the collection when it stops.

    ``reader`` computes figures and exports; in the server's own threads if left out. The parts share what is in
    :class:`AppState`.
    """
    from heartfelt.web import adjudication, api, rater
    from heartfelt.web.requests import errors
    from heartfelt.web.security.access import EndedLogins
    from heartfelt.web.security.direct import StudyApp
    from heartfelt.web.security.guard import RateLimit
    from heartfelt.web.security.signing import Signer
    from heartfelt.web.serving import health, media
    from heartfelt.web.study import background, preview, routes
    from heartfelt.web.study.coverage import CoverageView
    from heartfelt.web.study.figures import DashboardCache

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        state.reader.close()
        if not options.preview:
            state.preview.close()
        if closes:
            collection.close()

    app = StudyApp(
        options,
        title=f"heartfelt: {collection.study.name}",
        version=__version__,
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
    )
    state = cast(AppState, app.state)
    state.collection = collection
    state.options = options
    state.signer = Signer(options.secret)
    state.login_limit = RateLimit(options.logins_per_minute)
    state.token_limit = RateLimit(options.wrong_tokens_per_minute)
    state.ended_logins = EndedLogins(collection)
    state.change_counter = routes.ChangeCounter(collection)
    state.reader = reader or background.Reader(collection)
    state.figures = DashboardCache(collection, options.refresh_seconds, reader=state.reader)
    state.coverage = CoverageView(collection)
    errors.add_to(app)
    for part in (health, rater, adjudication, media, routes, api):
        part.add_to(app)
    if not options.preview:
        preview.add_to(app, create_app)
    return app
