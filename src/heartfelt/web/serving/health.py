"""Whether the server and its store are well, for proxies, containers and monitors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fastapi import Request
from fastapi.responses import JSONResponse

from heartfelt.web.requests.state import state_of

if TYPE_CHECKING:
    from fastapi import FastAPI


def add_to(app: FastAPI) -> None:
    """Add ``GET /health``."""
    app.add_api_route("/health", health, methods=["GET"], include_in_schema=False)


def health(request: Request) -> JSONResponse:
    """200 if the store can be read and written to; else the error that every page would give, 503 or 507."""
    collection = state_of(request).collection
    collection.change()
    collection.check_writing()
    return JSONResponse({"status": "ok"}, headers={"cache-control": "no-store"})
