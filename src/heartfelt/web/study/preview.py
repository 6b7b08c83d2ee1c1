"""The rating pages as a preview inside a running server, for the researcher only: the study's own store is never touched.

The preview is an application of its own under ``/study/preview``, over a temporary store that is created with the first visit and
deleted when the server stops. Server processes of one study share it, since a visit may reach any of them.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse
from starlette.routing import Mount

from heartfelt.collect import Collection, CollectOptions
from heartfelt.formats.study_folder.manifest import OpenStudy
from heartfelt.web.requests.errors import RequestRefused
from heartfelt.web.requests.options import WebOptions
from heartfelt.web.security.access import login_of

if TYPE_CHECKING:
    from fastapi import FastAPI
    from starlette.types import ASGIApp, Receive, Scope, Send

    CreateApp: TypeAlias = Callable[[Collection, WebOptions], ASGIApp]

PATH = "/study/preview"
_RATINGS = 10_000
"""Ratings each item takes in a preview: it is never full, however often it is tried."""


def open_preview(opened: OpenStudy, store_folder: Path) -> Collection:
    """A collection of the study that is never full, over a store of its own in ``store_folder``."""
    design = opened.study.design.model_copy(update={"ratings_per_item": _RATINGS})
    # Whoever looks at the pages answers at once, and is to see the end that raters see.
    recruiting = opened.study.recruiting.model_copy(update={"impossible_share": 1.0})
    changed = opened.study.changed(design=design, recruiting=recruiting, database=None)
    study = replace(opened, study=changed)
    store = f"sqlite:///{store_folder}/preview.sqlite"
    return Collection.open(study, database=store, options=CollectOptions(durable=False))


def preview_options(secret: bytes, prefix: str = "", *, secure_cookies: bool = False) -> WebOptions:
    """The options of an application that previews: nobody can log in, and no visit is limited."""
    return WebOptions(
        secret=secret,
        prefix=prefix,
        secure_cookies=secure_cookies,
        address_per_minute=0,
        rater_per_minute=0,
        access_log=False,
        preview=True,
    )


class Preview:
    """The application of the preview, opened with the first visit of the researcher."""

    def __init__(self, collection: Collection, options: WebOptions, create_app: CreateApp) -> None:
        self._study = collection
        self._create_app = create_app
        self._secret = hmac.new(options.secret, b"preview", hashlib.sha256).digest()
        self._options = preview_options(self._secret, options.prefix + PATH, secure_cookies=options.secure_cookies)
        self._lock = asyncio.Lock()
        self._store = Path()
        self._opened: tuple[Collection, ASGIApp] | None = None

    def _folder(self) -> Path:
        """Where the store is: a name that cannot be guessed, and another one for every version of the study."""
        about = f"{self._study.folder.resolve()}\0{self._study.study.hash}".encode()
        name = hmac.new(self._secret, about, hashlib.sha256).hexdigest()[:24]
        return Path(tempfile.gettempdir()) / f"heartfelt-preview-{name}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request of the researcher on to the preview; everybody else gets the login, or is refused."""
        request = Request(scope)
        if login_of(request) is None:
            if scope["method"] != "GET":
                raise RequestRefused(401)
            prefix = self._options.prefix.removesuffix(PATH)
            await RedirectResponse(f"{prefix}/study/login", 303)(scope, receive, send)
            return
        app = await self._app()
        await app({**scope, "headers": _first_of_each_cookie(scope["headers"])}, receive, send)

    async def _app(self) -> ASGIApp:
        async with self._lock:
            if self._opened is None:
                self._opened = await run_in_threadpool(self._open)
            return self._opened[1]

    def _open(self) -> tuple[Collection, ASGIApp]:
        self._store = self._folder()
        self._store.mkdir(mode=0o700, exist_ok=True)
        collection = open_preview(self._study.opened, self._store)
        return collection, self._create_app(collection, self._options)

    def close(self) -> None:
        """Delete the store, if there is one."""
        if self._opened is not None:
            self._opened[0].close()
            shutil.rmtree(self._store, ignore_errors=True)


def _first_of_each_cookie(headers: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """Browsers send the cookie of the longest path first: the preview's own before that of a rater of the study."""
    out = []
    for name, value in headers:
        if name == b"cookie":
            cookies: dict[bytes, bytes] = {}
            for cookie in value.split(b";"):
                cookies.setdefault(cookie.split(b"=", 1)[0].strip(), cookie.strip())
            value = b"; ".join(cookies.values())
        out.append((name, value))
    return out


def add_to(app: FastAPI, create_app: CreateApp) -> None:
    """Mount the preview, an application that ``create_app`` makes."""
    app.state.preview = Preview(app.state.collection, app.state.options, create_app)
    app.router.routes.append(Mount(PATH, app.state.preview, name="study-preview"))
