"""What the application's parts share, with its types: FastAPI keeps it in ``app.state``, which has none."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, cast

from starlette.requests import HTTPConnection

if TYPE_CHECKING:
    from heartfelt.collect import Collection
    from heartfelt.web.adjudication.desk import Desk
    from heartfelt.web.options import WebOptions
    from heartfelt.web.rater.pages import Pages
    from heartfelt.web.rater.presentation import Blinding
    from heartfelt.web.security.access import EndedLogins
    from heartfelt.web.security.guard import RateLimit
    from heartfelt.web.security.signing import Signer
    from heartfelt.web.study.background import Reader
    from heartfelt.web.study.figures import CoverageView, DashboardCache
    from heartfelt.web.study.preview import Preview
    from heartfelt.web.study.routes import ChangeCounter


class AppState(Protocol):
    """Set by :func:`heartfelt.web.app.create_app`."""

    collection: Collection
    options: WebOptions
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
    desk: Desk


def state_of(request: HTTPConnection) -> AppState:
    """The state of the application that handles a request."""
    return cast(AppState, request.app.state)
