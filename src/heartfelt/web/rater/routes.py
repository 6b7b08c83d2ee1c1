"""What the page's modules ask: JSON in, JSON out. Who the rater is comes from the signed cookie alone."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

import orjson
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from heartfelt.collect.commands import Command, Leave, Next, Ready, Step
from heartfelt.collect.errors import InvalidAnswer
from heartfelt.web.errors import Refused
from heartfelt.web.rater import parse
from heartfelt.web.rater.blinding import Blinding
from heartfelt.web.rater.language import language_of
from heartfelt.web.rater.steps import step_json
from heartfelt.web.security.cookies import rater_of

Endpoint: TypeAlias = Callable[[Request], Awaitable[Response]]
_NO_STORE = {"cache-control": "no-store"}


def routes() -> list[Route]:
    """Every route of the rating pages that speaks JSON."""
    stepping: dict[str, Callable[[str, parse.Body, Blinding], Command[Step]]] = {
        "consent": parse.consent_of,
        "demographics": parse.demographics_of,
        "headphones": parse.headphones_of,
        "ready": lambda rater, *_: Ready(rater),
        "flag": parse.flag_of,
        "media-problem": parse.media_problem_of,
        "leave": lambda rater, *_: Leave(rater),
    }
    return [
        Route("/rate/step", step, methods=["GET"], name="rater-step"),
        Route("/rate/answer", answer, methods=["POST"], name="rater-answer"),
        Route("/rate/beat", beat, methods=["POST"], name="rater-beat"),
        *(
            Route(f"/rate/{name}", _leads_on(command), methods=["POST"], name=f"rater-{name}")
            for name, command in stepping.items()
        ),
    ]


async def step(request: Request) -> Response:
    """Where the rater is."""
    found = await request.app.state.collection.ask(Next(known_rater(request)))
    return _json({"step": step_json(found, request.app.state.blinding, _language(request))})


async def answer(request: Request) -> Response:
    """Take the answers to a trial, durably, and bring the next step in the same transaction."""
    state = request.app.state
    blinding: Blinding = state.blinding
    command = parse.answer_of(known_rater(request), parse.body_of(await request.body()), blinding)
    try:
        receipt = await state.collection.ask(command)
    except InvalidAnswer as error:
        raise blinding.retold(error, _language(request)) from error
    then = None if receipt.next_step is None else step_json(receipt.next_step, blinding, _language(request))
    return _json({"trial": receipt.trial, "status": receipt.status, "then": then})


async def beat(request: Request) -> Response:
    """Keep a trial for a rater who is still there."""
    command = parse.beat_of(known_rater(request), parse.body_of(await request.body()))
    return _json({"seconds": await request.app.state.collection.ask(command)})


def _leads_on(command_of: Callable[[str, parse.Body, Blinding], Command[Step]]) -> Endpoint:
    async def endpoint(request: Request) -> Response:
        blinding: Blinding = request.app.state.blinding
        command = command_of(known_rater(request), parse.body_of(await request.body()), blinding)
        found = await request.app.state.collection.ask(command)
        return _json({"step": step_json(found, blinding, _language(request))})

    return endpoint


def _language(request: Request) -> str:
    return language_of(request, request.app.state.collection.study.languages)


def known_rater(request: Request) -> str:
    """The rater of the cookie; without a valid one nothing is done."""
    rater = rater_of(request)
    if rater is None:
        raise Refused(401, "This page does not know you.", "Open the link you were given.")
    return rater


def _json(content: Any) -> Response:
    return Response(orjson.dumps(content, default=dict), media_type="application/json", headers=_NO_STORE)
