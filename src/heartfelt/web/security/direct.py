"""The application: FastAPI, with a direct way for the requests that raters' pages send all the time.

Answers go through :class:`~heartfelt.web.security.guard.Guard` like everything else, and from there to their endpoint: FastAPI's
own layers (telemetry, exit stacks, matching one route after another) cost a third of the time an answer takes.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeAlias, cast

from fastapi import FastAPI
from starlette.middleware.errors import ServerErrorMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from heartfelt.web.requests.options import WebOptions
from heartfelt.web.security.guard import Guard

Endpoint: TypeAlias = Callable[[Request], Awaitable[Response]]


class StudyApp(FastAPI):
    """FastAPI inside the guard, beside endpoints that are reached directly, by method and path."""

    def __init__(self, options: WebOptions, **settings: Any) -> None:
        super().__init__(**settings)
        self.direct: Mapping[tuple[str, str], Endpoint] = {}
        self.guard = Guard(self._dispatch, options)

    def build_middleware_stack(self) -> ASGIApp:
        """FastAPI's own layers without the outermost: faults are the guard's."""
        stack = super().build_middleware_stack()
        return stack.app if isinstance(stack, ServerErrorMiddleware) else stack

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a connection: requests by way of the guard."""
        scope["app"] = self
        await (self.guard if scope["type"] == "http" else super().__call__)(scope, receive, send)

    async def _dispatch(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope["path"].removeprefix(scope.get("root_path", ""))
        endpoint = self.direct.get((scope["method"], path))
        if endpoint is None:
            await super().__call__(scope, receive, send)
            return
        request = Request(scope, receive, send)
        try:
            response = await endpoint(request)
        except Exception as error:
            handlers = (self.exception_handlers.get(kind) for kind in type(error).__mro__)
            handler = next((handler for handler in handlers if handler is not None), None)
            if handler is None:
                raise
            response = await cast(Awaitable[Response], handler(request, error))
        await response(scope, receive, send)
