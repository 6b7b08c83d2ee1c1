"""The routes of senior raters: the personal link, the page, and the JSON it sends and gets.

Who the senior rater is comes from a signed cookie alone, and every request asks the store whether they are still admitted:
a link that is revoked ends at once, in every process. Stimuli, questions and media have names of their own here, as on the
rating pages.
"""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable
from typing import Annotated, Any, TypeAlias

import orjson
from pydantic import Field, StringConstraints
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from heartfelt.collect.messages.adjudicators import Adjudicate, CheckAdjudicator
from heartfelt.collect.reading.adjudication import AdjudicationDecision
from heartfelt.study.model import say
from heartfelt.web.adjudication.desk import ShownItem, chosen_option, desk_of, draft_words
from heartfelt.web.rater.forms import present
from heartfelt.web.rater.pages import Notice, assets, compressed
from heartfelt.web.rater.presentation import blinding_of, request_language
from heartfelt.web.rater.routes import Id, RaterRequest, Text, Value
from heartfelt.web.rater.texts import direction, run_direction, texts_for
from heartfelt.web.requests.errors import RequestRefused
from heartfelt.web.requests.state import state_of
from heartfelt.web.requests.templates import page_environment
from heartfelt.web.security.access import is_admitted
from heartfelt.web.security.signing import ADJUDICATOR_COOKIE, RATER_SECONDS, adjudicator_of, set_cookie, signer_of

Endpoint: TypeAlias = Callable[[Request, str], Awaitable[dict[str, object]]]
SCRIPT = "adjudicate.js"
_MOST_SKIPPED = 2_000
_LATEST = 2**62


class NextRequest(RaterRequest):
    """What the senior rater has passed over since the page was opened."""

    skipped: Annotated[list[Id], Field(default_factory=list, max_length=_MOST_SKIPPED)]


class BackRequest(RaterRequest):
    """The decision before which number is asked for; the latest if left out."""

    before: Annotated[int, Field(ge=0, le=_LATEST)] = _LATEST


class DecideRequest(NextRequest):
    """A decision: one of the options by its place, or another answer."""

    item: Id
    sight: Id
    seen: Annotated[int, Field(ge=0, le=_LATEST)]
    key: Annotated[str, StringConstraints(min_length=1, max_length=80, pattern=r"^[^\x00]*$")]
    option: Annotated[int, Field(ge=0, le=10_000)] | None = None
    value: Value = None
    comment: Text | None = None


def routes() -> list[Route]:
    """The ways in and everything the page asks for."""
    return [
        Route("/a/{signed}", personal_link, methods=["GET"], name="adjudicator-link"),
        Route("/adjudicate", page, methods=["GET"], name="adjudicator-page"),
        *(
            Route(f"/adjudicate/{name}", _admitted(endpoint), methods=["POST"], name=f"adjudicator-{name}")
            for name, endpoint in (("next", next_item), ("decide", decide), ("back", back))
        ),
    ]


async def personal_link(request: Request) -> Response:
    """The address made for one senior rater: it gives their browser a cookie, and nothing else happens."""
    state = state_of(request)
    adjudicator = signer_of(request).read("adjudicate", request.path_params["signed"])
    if not await is_admitted(request, adjudicator):
        raise Notice("stranger", 401)
    address = f"{request.scope.get('root_path', '')}/adjudicate"
    response = RedirectResponse(address, 303, {"cache-control": "no-store"})
    signed = signer_of(request).sign("adjudicator", str(adjudicator), RATER_SECONDS)
    set_cookie(response, state.options, ADJUDICATOR_COOKIE, signed, RATER_SECONDS)
    return response


async def page(request: Request) -> Response:
    """The page; its script asks for the items."""
    if not await is_admitted(request, adjudicator_of(request)):
        raise Notice("stranger", 401)
    state, language = state_of(request), request_language(request)
    study, folder = state.collection.study, state.collection.folder
    texts = texts_for(language, folder)
    base = request.scope.get("root_path", "")
    data = {"base": base, "study": present(study, language, texts), "texts": {**texts["live"], **texts["adjudicate"]}}
    html = (
        page_environment("heartfelt.web.rater")
        .get_template("adjudicate.html")
        .render(
            static=f"{base}/static/rater/{assets()[1]}",
            script=SCRIPT,
            language=language,
            direction=direction(language),
            fixed_scales=study.design.rtl_scales == "fixed",
            languages=[(tag, texts_for(tag, folder)["language"]) for tag in study.languages],
            t=texts,
            run_direction=functools.partial(run_direction, language=language),
            title=say(study.title, language) or study.name,
            audio=study.media != "image",
            data=orjson.dumps(data).decode().replace("<", "\\u003c"),
        )
    )
    headers = {"cache-control": "no-store", "vary": "accept-encoding, accept-language, cookie"}
    return compressed(request, html.encode(), "text/html", headers)


def _admitted(endpoint: Endpoint) -> Callable[[Request], Awaitable[Response]]:
    async def respond(request: Request) -> Response:
        adjudicator = adjudicator_of(request) or ""
        await state_of(request).collection.ask(CheckAdjudicator(adjudicator))
        content = await endpoint(request, adjudicator)
        counts = await run_in_threadpool(desk_of(request).counts, adjudicator)
        body = orjson.dumps({**content, **counts._asdict()}, default=dict)
        return Response(body, media_type="application/json", headers={"cache-control": "no-store"})

    return respond


async def next_item(request: Request, adjudicator: str) -> dict[str, object]:
    """The next item that waits, or none."""
    body = await NextRequest.of(request)
    return {"item": await _next(request, adjudicator, body.skipped)}


async def back(request: Request, adjudicator: str) -> dict[str, object]:
    """The item of this senior rater's own decision before that number, with the decision; none if it is the first."""
    body = await BackRequest.of(request)
    state = state_of(request)
    earlier = await run_in_threadpool(state.collection.decision_before, adjudicator, body.before)
    if earlier is None:
        return {"item": None}
    stimulus, question, decision = earlier
    shown = await run_in_threadpool(desk_of(request).shown, adjudicator, desk_of(request).id_of(stimulus, question))
    return {"item": None if shown is None else _item(request, shown, decision)}


async def decide(request: Request, adjudicator: str) -> dict[str, object]:
    """Store a decision durably, and give the next item."""
    body = await DecideRequest.of(request)
    state = state_of(request)
    shown = await run_in_threadpool(desk_of(request).shown, adjudicator, body.item, body.sight)
    if shown is None:
        raise RequestRefused(409, "The answers to this item have changed since it was shown.", "Look at it again.")
    value: Any = body.value
    if body.option is not None:
        if body.option >= len(shown.options):
            raise RequestRefused(422, "There is no such answer.", "Pick one of the answers that are shown.")
        value = shown.options[body.option].words
    item, study = shown.item, state.collection.study
    shows_draft = study.adjudication is not None and study.adjudication.draft
    decided = await state.collection.ask(
        Adjudicate(
            adjudicator,
            stimulus=item.stimulus,
            question=item.question,
            value=value,
            key=body.key,
            seen=body.seen,
            rule=",".join(item.rules or (item.decisions[-1].rule.split(",") if item.decisions else ())),
            trials=tuple(answer.trial for answer in item.answers if not answer.planted),
            draft=item.draft if shows_draft and draft_words(item, study) is not None else None,
            comment=body.comment or None,
        )
    )
    desk_of(request).decided(body.item, decided.seq)
    return {"status": decided.status, "item": await _next(request, adjudicator, body.skipped)}


async def _next(request: Request, adjudicator: str, skipped: list[str]) -> dict[str, object] | None:
    shown = await run_in_threadpool(desk_of(request).next, adjudicator, frozenset(skipped))
    return None if shown is None else _item(request, shown)


def _item(request: Request, shown: ShownItem, decision: AdjudicationDecision | None = None) -> dict[str, object]:
    """An item as the page takes it: nothing of who answered, when, or in which order."""
    state, item = state_of(request), shown.item
    out: dict[str, object] = {
        "id": shown.id,
        "sight": shown.sight,
        "seen": max(shown.seen, 0 if decision is None else decision.seq),
        "form": blinding_of(request).form(item.question),
        "media": None if item.media is None else blinding_of(request).media(shown.id, item.media),
        "prompt": item.prompt,
        "rules": item.rules,
        "options": [option._asdict() for option in shown.options],
        "rejected": shown.rejected,
    }
    if decision is not None:
        words = decision.value if decision.answer is None else decision.answer
        option = chosen_option(shown.options, decision, item.question, state.collection.study)
        out["decision"] = {"seq": decision.seq, "option": option, "words": words, "comment": decision.comment}
    return out
