"""The pages of senior raters, who decide items: ``/adjudicate``, entered by a personal signed link."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fastapi import FastAPI

__all__ = ["add_to"]


def add_to(app: FastAPI) -> None:
    """Give the application the pages; it finds collection, options, signer and reader in ``app.state``."""
    from heartfelt.web.adjudication import desk, routes

    state = app.state
    state.desk = desk.AdjudicationQueue(
        state.collection, state.options.secret, state.options.refresh_seconds, state.reader
    )
    app.router.routes.extend(routes.routes())
