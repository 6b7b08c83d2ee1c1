"""The JSON routes of the rating pages. Who the rater is comes from the signed cookie alone."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

import orjson
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from heartfelt.collect.commands import Next
from heartfelt.collect.errors import InvalidAnswer
from heartfelt.web.errors import Refused
from heartfelt.web.rater import requests
from heartfelt.web.rater.pages import language_of
from heartfelt.web.rater.presentation import Blinding, step_json
from heartfelt.web.security.signing import rater_of

Endpoint: TypeAlias = Callable[[Request], Awaitable[Response]]
_NO_STORE = {"cache-control": "no-store"}
_STEP_REQUESTS: dict[str, type[requests.StepRequest]] = {
    "consent": requests.ConsentRequest,
    "demographics": requests.DemographicsRequest,
    "headphones": requests.HeadphonesRequest,
    "ready": requests.StepRequest,
    "flag": requests.FlagRequest,
    "media-problem": requests.MediaProblemRequest,
    "leave": requests.LeaveRequest,
}


def routes() -> list[Route]:
    """Plain Starlette routes: FastAPI's dependency solving would cost a tenth of the throughput of answers."""
    return [
        Route("/rate/step", step, methods=["GET"], name="rater-step"),
        Route("/rate/answer", answer, methods=["POST"], name="rater-answer"),
        Route("/rate/beat", heartbeat, methods=["POST"], name="rater-beat"),
        *(
            Route(f"/rate/{name}", _step_endpoint(model), methods=["POST"], name=f"rater-{name}")
            for name, model in _STEP_REQUESTS.items()
        ),
    ]


async def step(request: Request) -> Response:
    """Where the rater is."""
    current = await request.app.state.collection.ask(Next(authenticated_rater(request)))
    return _json({"step": step_json(current, request.app.state.blinding, _language(request))})


async def answer(request: Request) -> Response:
    """Store the answers to a trial durably; the next step comes from the same transaction."""
    state, rater = request.app.state, authenticated_rater(request)
    blinding: Blinding = state.blinding
    body = await requests.AnswerRequest.of(request)
    try:
        receipt = await state.collection.ask(body.command(rater, blinding))
    except InvalidAnswer as error:
        raise blinding.readable(error, _language(request)) from error
    following = receipt.next_step
    then = None if following is None else step_json(following, blinding, _language(request))
    return _json({"trial": receipt.trial, "status": receipt.status, "then": then})


async def heartbeat(request: Request) -> Response:
    """Keep a trial reserved for a rater who is still there."""
    rater = authenticated_rater(request)
    body = await requests.HeartbeatRequest.of(request)
    return _json({"seconds": await request.app.state.collection.ask(body.command(rater))})


def _step_endpoint(model: type[requests.StepRequest]) -> Endpoint:
    async def endpoint(request: Request) -> Response:
        state, rater = request.app.state, authenticated_rater(request)
        body = await model.of(request)
        following = await state.collection.ask(body.command(rater, state.blinding))
        return _json({"step": step_json(following, state.blinding, _language(request))})

    return endpoint


def _language(request: Request) -> str:
    return language_of(request, request.app.state.collection.study.languages)


def authenticated_rater(request: Request) -> str:
    """The rater of the cookie; a request without a valid one is refused."""
    rater = rater_of(request)
    if rater is None:
        raise Refused(401, "This page does not know you.", "Open the link you were given.")
    return rater


def _json(content: Any) -> Response:
    return Response(orjson.dumps(content, default=dict), media_type="application/json", headers=_NO_STORE)
