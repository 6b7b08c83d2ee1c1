"""The researcher's dashboard at ``/study``: login, one page, and the events that keep it live."""

from __future__ import annotations

from typing import TYPE_CHECKING

from heartfelt.web.study.routes import routes

if TYPE_CHECKING:
    from fastapi import FastAPI


def add_to(app: FastAPI) -> None:
    """Add the dashboard's routes."""
    app.router.routes.extend(routes())
