"""What every part of the application needs; FastAPI keeps it in ``app.state``, which has no types.

Whatever only some parts need has its own function where it is defined, such as ``signer_of``.
"""

from __future__ import annotations

from typing import Protocol, cast

from starlette.requests import HTTPConnection

from heartfelt.collect import Collection
from heartfelt.web.requests.options import WebOptions


class SharedState(Protocol):
    """Set by :func:`heartfelt.web.serving.app.create_app`."""

    collection: Collection
    options: WebOptions


def state_of(request: HTTPConnection) -> SharedState:
    """The state of the application that handles a request."""
    return cast(SharedState, request.app.state)
