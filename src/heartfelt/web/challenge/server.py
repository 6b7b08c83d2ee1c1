"""A challenge over HTTP.

``GET /`` says how to submit, ``GET /items.csv`` lists what is scored, ``POST /submissions`` takes a file, ``GET /submissions/{id}``
gives its result to whoever sent it, and ``GET /leaderboard`` shows what is published, as a page or as JSON. Everything that is
wrong with a request is answered as ``{"problem", "fix"}``; no answer depends on a label except through the ladder.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException
from starlette.formparsers import MultiPartException
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response

from heartfelt.errors import HeartfeltError, InputError
from heartfelt.formats.tables.delimited import csv_text
from heartfelt.publishing.submissions.ledger import Closed, Member, OverLimit, Submission
from heartfelt.serialization import to_json
from heartfelt.web.challenge.challenge import Challenge
from heartfelt.web.challenge.final import final_of, final_table
from heartfelt.web.challenge.guard import ChallengeGuard
from heartfelt.web.challenge.options import HostOptions
from heartfelt.web.challenge.pages import content_policy, how_to_submit, leaderboard_page, own_page
from heartfelt.web.challenge.reading import too_large
from heartfelt.web.requests.errors import RequestRefused, http_problem, problem_response
from heartfelt.web.security.guard import RateLimit, TooLarge

if TYPE_CHECKING:
    from fastapi import FastAPI

MOST_WAIT = 30.0
BODY_SECONDS = 120.0
WRONG_TOKENS = 20
"""Wrong tokens per minute from one address."""
SPARE_BYTES = 2**16
"""What a form may add to a file."""


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
    app.add_route("/final.json", routes.final, ["GET"])
    app.add_route("/final.csv", routes.final, ["GET"])
    app.add_route("/submissions", routes.submit, ["POST"])
    app.add_route("/submissions", routes.submissions, ["GET"])
    app.add_route("/submissions/{id}", routes.submission, ["GET"])
    app.add_route("/submissions/{id}/final", routes.choose, ["POST"])
    app.add_route("/mine", routes.own_submissions, ["GET", "POST"])
    app.add_exception_handler(HeartfeltError, _heartfelt_problem)
    app.add_exception_handler(HTTPException, http_problem)
    app.add_middleware(ChallengeGuard, options=options, most_bytes=challenge.sizes.bytes + SPARE_BYTES)
    return app


class _Routes:
    """What is answered at each address."""

    def __init__(self, challenge: Challenge, options: HostOptions) -> None:
        self._challenge, self._options = challenge, options
        self._wrong = RateLimit(WRONG_TOKENS)
        self._items, self._sets = csv_text(challenge.items), csv_text(challenge.sets)

    async def front(self, _: Request) -> Response:
        return _page(await run_in_threadpool(how_to_submit, self._challenge, self._options.address))

    async def items(self, _: Request) -> Response:
        return PlainTextResponse(self._items, media_type="text/csv")

    async def sets(self, _: Request) -> Response:
        return PlainTextResponse(self._sets, media_type="text/csv")

    async def leaderboard(self, request: Request) -> Response:
        challenge = self._challenge
        as_page = not request.url.path.endswith(".json") and "text/html" in request.headers.get("accept", "")
        if as_page:
            return _page(await run_in_threadpool(leaderboard_page, challenge))

        def boards() -> dict[str, object]:
            tries = len(challenge.ledger.scored())
            leaderboards = [
                {
                    "task": rung.task,
                    "metric": rung.metric,
                    "items": rung.items,
                    "step": rung.step,
                    "resolution": round(rung.resolution, 3),
                    "chance": rung.value(rung.start),
                    "appears_from": rung.appears_from(tries + 1),
                    "places": challenge.leaderboard(rung),
                }
                for rung in challenge.rungs
            ]
            facts = {"challenge": challenge.id, "closed": challenge.ledger.fact("closed") is not None}
            return {**facts, "submissions": tries, "leaderboards": leaderboards, "final": final_of(challenge)}

        return JSONResponse(to_json(await run_in_threadpool(boards)))

    async def final(self, request: Request) -> Response:
        final = await run_in_threadpool(final_of, self._challenge)
        if final is None:
            raise RequestRefused(404, "There is no final ranking yet.", "It is made when the challenge is closed.")
        if request.url.path.endswith(".csv"):
            return PlainTextResponse(csv_text(final_table(final)), media_type="text/csv")
        return JSONResponse(to_json(final))

    async def submit(self, request: Request) -> Response:
        member = await self._member(request)
        wait = _seconds(request.query_params.get("wait", "0"))
        model, challenge = request.query_params.get("name", ""), self._challenge
        size = 0
        try:
            content = await asyncio.wait_for(self._body(request), BODY_SECONDS)
            size = len(content)
            stored = await run_in_threadpool(challenge.submit, member, content, model)
        except TimeoutError:
            raise RequestRefused(
                408, "The file did not arrive in time.", "Try again over a faster connection."
            ) from None
        except (TooLarge, OverLimit) as error:
            size = error.size if isinstance(error, TooLarge) else size
            problem = too_large(challenge.sizes) if isinstance(error, TooLarge) else error
            await run_in_threadpool(challenge.ledger.note_refused, member, model, size, problem)
            if isinstance(error, OverLimit):
                raise
            raise RequestRefused(413, problem.problem, problem.fix) from error
        if wait:
            stored = await run_in_threadpool(challenge.wait_for, stored.id, wait)
        done = stored.status != "received"
        status = 202 if not done else 422 if stored.status == "refused" else 200
        answer = await run_in_threadpool(self._answer, stored)
        return JSONResponse(answer, status, {"location": f"{self._options.address}/submissions/{stored.id}"})

    async def submission(self, request: Request) -> Response:
        challenge = self._challenge
        stored = await self._own_submission(request, await self._member(request))
        if stored.status == "received":
            wait = _seconds(request.query_params.get("wait", "0"))
            stored = await run_in_threadpool(challenge.wait_for, stored.id, wait)
        return JSONResponse(await run_in_threadpool(self._answer, stored))

    async def submissions(self, request: Request) -> Response:
        member, challenge = await self._member(request), self._challenge

        def listed() -> dict[str, object]:
            submissions = challenge.ledger.of_team(member.team)
            today, in_all = challenge.ledger.remaining(member.team, challenge.options.limits)
            facts = {"team": member.team, "left_in_24_hours": today, "left_in_all": in_all}
            return {**facts, "submissions": [self._state(entry) for entry in submissions]}

        return JSONResponse(await run_in_threadpool(listed))

    async def choose(self, request: Request) -> Response:
        stored = await self._own_submission(request, await self._member(request))
        ledger = self._challenge.ledger
        chosen = await run_in_threadpool(ledger.choose, stored.submitter, stored.id)
        return JSONResponse(await run_in_threadpool(self._answer, chosen))

    async def own_submissions(self, request: Request) -> Response:
        if request.method == "GET":
            return _page(await run_in_threadpool(own_page, self._challenge, None))
        async with request.form(max_files=0, max_fields=1) as form:
            member = await self._holder(request, str(form.get("token", "")))
        submissions = await run_in_threadpool(self._challenge.ledger.of_team, member.team)
        return _page(await run_in_threadpool(own_page, self._challenge, member, submissions))

    async def _own_submission(self, request: Request, member: Member) -> Submission:
        """The submission a request names, if it is the team's own."""
        ledger = self._challenge.ledger
        try:
            stored = await run_in_threadpool(ledger.submission, request.path_params["id"])
        except InputError as error:
            raise RequestRefused(404, error.problem, error.fix) from error
        if stored.submitter != member.team:
            raise RequestRefused(404, "There is no such submission.", "Use the id that came back when you submitted.")
        return stored

    async def _member(self, request: Request) -> Member:
        """Whose token it is; refused without a valid one."""
        kind, _, token = request.headers.get("authorization", "").partition(" ")
        return await self._holder(request, token if kind.lower() == "bearer" else "")

    async def _holder(self, request: Request, token: str) -> Member:
        address = request.client.host if request.client else ""
        if self._wrong.wait(address):
            raise RequestRefused(429, "Too many wrong tokens.", "Wait a minute and try again.")
        ledger = self._challenge.ledger
        member = await run_in_threadpool(ledger.member_of, token.strip()) if token else None
        if member is None:
            self._wrong.take(address)
            fix = "Send 'Authorization: Bearer TOKEN' with the token the organisers gave you."
            raise RequestRefused(401, "The token is missing, unknown or revoked.", fix, {"www-authenticate": "Bearer"})
        return member

    async def _body(self, request: Request) -> bytes:
        """The file: the whole body, or the form field ``file``."""
        limit = self._challenge.sizes.bytes
        announced = int(request.headers.get("content-length", "0"))
        if announced > limit + SPARE_BYTES:
            raise TooLarge(announced)
        if request.headers.get("content-type", "").startswith("multipart/form-data"):
            try:
                async with request.form(max_files=1, max_fields=4) as form:
                    file = form.get("file")
                    content = await file.read(limit + 1) if isinstance(file, UploadFile) else None
            except RequestRefused:
                raise
            except (MultiPartException, HTTPException) as error:
                raise RequestRefused(400, "The form cannot be read.", "Send the file as the whole body.") from error
            if content is None:
                raise RequestRefused(422, "The form has no file.", "Call its field 'file'.")
        else:
            content = await request.body()
        if len(content) > limit:
            raise TooLarge(len(content))
        return content

    def _answer(self, stored: Submission) -> dict[str, object]:
        """What a team learns of a submission: nothing but what the ladder publishes."""
        challenge = self._challenge
        today, in_all = challenge.ledger.remaining(stored.submitter, challenge.options.limits)
        return self._state(stored) | {"left_in_24_hours": today, "left_in_all": in_all}

    def _state(self, stored: Submission) -> dict[str, object]:
        state: dict[str, object] = {
            "id": stored.id,
            "status": stored.status,
            "name": stored.model,
            "member": stored.member,
            "received": datetime.fromtimestamp(stored.at, UTC).isoformat(timespec="seconds"),
            "sha256": stored.sha256,
            "final": stored.chosen is not None,
        }
        if stored.status == "refused":
            return state | {"problem": stored.problem, "fix": stored.fix}
        if stored.status == "scored":
            state |= {"published": self._challenge.result(stored), "raised": list(stored.changed)}
        return state


def _page(text: str) -> Response:
    headers = {"content-security-policy": content_policy(text)}
    if "<form" in text:
        # Without a referrer a browser would call the form's own page another site.
        headers["referrer-policy"] = "same-origin"
    return HTMLResponse(text, headers=headers)


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        return 0.0
    return min(max(seconds, 0.0), MOST_WAIT) if math.isfinite(seconds) else 0.0


async def _heartfelt_problem(request: Request, error: Exception) -> Response:
    assert isinstance(error, HeartfeltError)
    if isinstance(error, OverLimit):
        headers = {} if error.retry_after is None else {"retry-after": str(int(error.retry_after) + 1)}
        return JSONResponse({"problem": error.problem, "fix": error.fix}, 429, headers)
    status = 410 if isinstance(error, Closed) else 422
    return problem_response(request, status, error.problem, error.fix)


def serve_challenge(challenge: Challenge, options: HostOptions) -> None:
    """Serve a challenge until stopped."""
    from heartfelt.web.serving.serve import bind_port, run_server

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
