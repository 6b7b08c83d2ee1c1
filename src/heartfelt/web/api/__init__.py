"""The API at ``/api/v1``: everything the dashboard can do, for programs."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fastapi import FastAPI


def add_to(app: FastAPI) -> None:
    """Add the API, its description and the page that shows it."""
    from heartfelt.web.api import docs, routes

    app.include_router(routes.router())
    docs.add_to(app)
