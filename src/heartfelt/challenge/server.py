"""A challenge over HTTP.

``GET /`` says how to submit, ``GET /items.csv`` lists what is scored, ``POST /submissions`` takes a file, ``GET /submissions/{id}``
gives its result to whoever sent it, and ``GET /leaderboard`` shows what is published, as a page or as JSON. Everything that is
wrong with a request is answered as ``{"problem", "fix"}``; no answer depends on a label except through the ladder.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException
from starlette.formparsers import MultiPartException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from heartfelt.challenge.challenge import Challenge
from heartfelt.challenge.ledger import OverLimit, Submission
from heartfelt.challenge.pages import content_policy, how_to_submit, leaderboard_page
from heartfelt.challenge.reading import too_large
from heartfelt.errors import HeartfeltError, InputError
from heartfelt.formats.delimited import csv_text
from heartfelt.serialization import to_json
from heartfelt.web.errors import Refused, http_problem, internal_error, problem_response
from heartfelt.web.security.guard import SAFE_METHODS, RateLimit

if TYPE_CHECKING:
    from fastapi import FastAPI

MOST_WAIT = 30.0
BODY_SECONDS = 120.0
WRONG_TOKENS = 20
"""Wrong tokens per minute from one address."""
SPARE_BYTES = 2**16
"""What a form may add to a file."""
_HEADERS = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
}
_log = logging.getLogger("heartfelt.challenge")


class _TooLarge(Exception):
    """A body beyond the limit."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.size = size


@dataclass(frozen=True, slots=True)
class HostOptions:
    """Where a challenge is served."""

    host: str = "127.0.0.1"
    port: int = 8200
    url: str | None = None
    """The public address, where a proxy is in front."""
    proxy: str | None = None
    """Addresses of proxies whose forwarded headers are trusted; none if left out."""

    @property
    def address(self) -> str:
        """Where it is reached, without a slash at the end."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return (self.url or f"http://{host}:{self.port}").rstrip("/")


def challenge_app(challenge: Challenge, options: HostOptions | None = None) -> FastAPI:
    """The application that serves a challenge; it scores while it runs."""
    from fastapi import FastAPI

    options = options or HostOptions()

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        with challenge:
            yield

    app = FastAPI(title=challenge.title, lifespan=lifespan, openapi_url=None, docs_url=None, redoc_url=None)
    routes = _Routes(challenge, options)
    app.add_route("/", routes.front, ["GET"])
    app.add_route("/items.csv", routes.items, ["GET"])
    if challenge.sets.height:
        app.add_route("/sets.csv", routes.sets, ["GET"])
    app.add_route("/leaderboard", routes.leaderboard, ["GET"])
    app.add_route("/leaderboard.json", routes.leaderboard, ["GET"])
    app.add_route("/submissions", routes.submit, ["POST"])
    app.add_route("/submissions/{id}", routes.submission, ["GET"])
    app.add_exception_handler(HeartfeltError, _heartfelt_problem)
    app.add_exception_handler(HTTPException, http_problem)
    app.add_middleware(_Guard, options=options, most_bytes=challenge.sizes.bytes + SPARE_BYTES)
    return app


class _Routes:
    """What is answered at each address."""

    def __init__(self, challenge: Challenge, options: HostOptions) -> None:
        self._challenge, self._options = challenge, options
        self._wrong = RateLimit(WRONG_TOKENS)
        self._front = how_to_submit(challenge, options.address)
        self._items, self._sets = csv_text(challenge.items), csv_text(challenge.sets)

    async def front(self, _: Request) -> Response:
        return _page(self._front)

    async def items(self, _: Request) -> Response:
        return PlainTextResponse(self._items, media_type="text/csv")

    async def sets(self, _: Request) -> Response:
        return PlainTextResponse(self._sets, media_type="text/csv")

    async def leaderboard(self, request: Request) -> Response:
        challenge = self._challenge
        as_page = not request.url.path.endswith(".json") and "text/html" in request.headers.get("accept", "")
        if as_page:
            return _page(await run_in_threadpool(leaderboard_page, challenge))

        def boards() -> list[dict[str, object]]:
            return [
                {
                    "task": rung.task,
                    "metric": rung.metric,
                    "items": rung.items,
                    "step": rung.step,
                    "chance": rung.value(rung.start),
                    "places": challenge.leaderboard(rung),
                }
                for rung in challenge.rungs
            ]

        made = await run_in_threadpool(boards)
        return JSONResponse(to_json({"benchmark": challenge.benchmark_hash, "leaderboards": made}))

    async def submit(self, request: Request) -> Response:
        submitter = await self._submitter(request)
        wait = _seconds(request.query_params.get("wait", "0"))
        model, challenge = request.query_params.get("name", ""), self._challenge
        size = 0
        try:
            content = await asyncio.wait_for(self._body(request), BODY_SECONDS)
            size = len(content)
            stored = await run_in_threadpool(challenge.submit, submitter, content, model)
        except TimeoutError:
            raise Refused(
                408, "The file did not arrive in time.", "Try again over a faster connection."
            ) from None
        except (_TooLarge, OverLimit) as error:
            size = error.size if isinstance(error, _TooLarge) else size
            problem = too_large(challenge.sizes) if isinstance(error, _TooLarge) else error
            await run_in_threadpool(challenge.ledger.note_refused, submitter, model, size, problem)
            if isinstance(error, OverLimit):
                raise
            raise Refused(413, problem.problem, problem.fix) from error
        if wait:
            stored = await run_in_threadpool(challenge.wait_for, stored.id, wait)
        done = stored.status != "received"
        status = 202 if not done else 422 if stored.status == "refused" else 200
        answer = await run_in_threadpool(self._answer, stored)
        return JSONResponse(answer, status, {"location": f"{self._options.address}/submissions/{stored.id}"})

    async def submission(self, request: Request) -> Response:
        submitter = await self._submitter(request)
        challenge = self._challenge
        try:
            stored = await run_in_threadpool(challenge.ledger.submission, request.path_params["id"])
        except InputError as error:
            raise Refused(404, error.problem, error.fix) from error
        if stored.submitter != submitter:
            raise Refused(
                404, "There is no such submission.", "Use the id that came back when you submitted."
            )
        if stored.status == "received":
            wait = _seconds(request.query_params.get("wait", "0"))
            stored = await run_in_threadpool(challenge.wait_for, stored.id, wait)
        return JSONResponse(await run_in_threadpool(self._answer, stored))

    async def _submitter(self, request: Request) -> str:
        """Whose token it is; refused without a valid one."""
        address = request.client.host if request.client else ""
        if self._wrong.wait(address):
            raise Refused(429, "Too many wrong tokens.", "Wait a minute and try again.")
        kind, _, token = request.headers.get("authorization", "").partition(" ")
        ledger = self._challenge.ledger
        submitter = await run_in_threadpool(ledger.submitter_of, token.strip()) if token else None
        if submitter is None or kind.lower() != "bearer":
            self._wrong.take(address)
            fix = "Send 'Authorization: Bearer TOKEN' with the token the organisers gave you."
            raise Refused(
                401, "The token is missing, unknown or revoked.", fix, {"www-authenticate": "Bearer"}
            )
        return submitter

    async def _body(self, request: Request) -> bytes:
        """The file: the whole body, or the form field ``file``."""
        limit = self._challenge.sizes.bytes
        announced = int(request.headers.get("content-length", "0"))
        if announced > limit + SPARE_BYTES:
            raise _TooLarge(announced)
        if request.headers.get("content-type", "").startswith("multipart/form-data"):
            try:
                async with request.form(max_files=1, max_fields=4) as form:
                    file = form.get("file")
                    content = await file.read(limit + 1) if isinstance(file, UploadFile) else None
            except Refused:
                raise
            except (MultiPartException, HTTPException) as error:
                raise Refused(400, "The form cannot be read.", "Send the file as the whole body.") from error
            if content is None:
                raise Refused(422, "The form has no file.", "Call its field 'file'.")
        else:
            content = await request.body()
        if len(content) > limit:
            raise _TooLarge(len(content))
        return content

    def _answer(self, stored: Submission) -> dict[str, object]:
        """What a submitter learns of a submission: nothing but what the ladder publishes."""
        challenge = self._challenge
        today, in_all = challenge.ledger.left(stored.submitter, challenge.options.limits)
        answer: dict[str, object] = {
            "id": stored.id,
            "status": stored.status,
            "name": stored.model,
            "received": datetime.fromtimestamp(stored.at, UTC).isoformat(timespec="seconds"),
            "sha256": stored.sha256,
            "left_in_24_hours": today,
            "left_in_all": in_all,
        }
        if stored.status == "refused":
            return answer | {"problem": stored.problem, "fix": stored.fix}
        if stored.status == "scored":
            answer |= {"published": challenge.result(stored), "raised": list(stored.changed)}
        return answer


def _page(text: str) -> Response:
    return HTMLResponse(text, headers={"content-security-policy": content_policy(text)})


def _seconds(text: str) -> float:
    try:
        return min(max(float(text), 0.0), MOST_WAIT)
    except ValueError:
        return 0.0


async def _heartfelt_problem(request: Request, error: Exception) -> Response:
    assert isinstance(error, HeartfeltError)
    if isinstance(error, OverLimit):
        headers = {} if error.retry_after is None else {"retry-after": str(int(error.retry_after) + 1)}
        return JSONResponse({"problem": error.problem, "fix": error.fix}, 429, headers)
    return problem_response(request, 422, error.problem, error.fix)


class _Guard:
    """Around every request: limited bodies, no requests from other sites, security headers, and no tracebacks."""

    def __init__(self, app: ASGIApp, options: HostOptions, most_bytes: int) -> None:
        self._app, self._most = app, most_bytes
        self._origin = "{0.scheme}://{0.netloc}".format(urlsplit(options.address))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begun, size = False, 0

        async def send_with_headers(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = True
                present = {name for name, _ in message["headers"]}
                added = [(k.encode(), v.encode()) for k, v in _HEADERS.items() if k.encode() not in present]
                message = {**message, "headers": [*message["headers"], *added]}
            await send(message)

        async def limited() -> Message:
            nonlocal size
            message = await receive()
            size += len(message.get("body", b""))
            if size > self._most:
                raise _TooLarge(size)
            return message

        try:
            self._check(scope)
            await self._app(scope, limited, send_with_headers)
        except (ClientDisconnect, _TooLarge):
            return
        except Refused as refused:
            response = problem_response(Request(scope), refused.status_code, *refused.words, refused.headers)
            if not begun:
                await response(scope, receive, send_with_headers)
        except Exception as error:  # noqa: BLE001  # the outermost edge: every fault becomes a message
            response = internal_error(Request(scope), error)
            if not begun:
                await response(scope, receive, send_with_headers)

    def _check(self, scope: Scope) -> None:
        headers: dict[bytes, bytes] = dict(scope["headers"])
        length = headers.get(b"content-length", b"0")
        if not length.isdigit() or len(length) > 12:
            raise Refused(
                400, "The header Content-Length is not a number.", "Send the size of the body in bytes."
            )
        origin = headers.get(b"origin", b"").decode("latin-1")
        if scope["method"] not in SAFE_METHODS and origin and origin != self._origin:
            raise Refused(403, "The request comes from another site.", "Submit with a program such as curl.")


def serve_challenge(challenge: Challenge, options: HostOptions) -> None:
    """Serve a challenge until stopped."""
    from heartfelt.web.serve import bind_port, run_server

    run_server(
        challenge_app(challenge, options),
        listener=bind_port(options.host, options.port),
        proxy_headers=options.proxy is not None,
        forwarded_allow_ips=options.proxy,
        server_header=False,
        access_log=False,
        log_level="warning",
        limit_concurrency=200,
        timeout_keep_alive=15,
        timeout_graceful_shutdown=10,
    )
