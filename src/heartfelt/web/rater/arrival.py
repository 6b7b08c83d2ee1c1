"""How raters come in: by the open link, a personal link, a link to continue, or from a recruiter with their id."""

from __future__ import annotations

from collections.abc import Mapping

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from heartfelt.collect.messages.commands import Arrive, Recruiter
from heartfelt.collect.messages.errors import StartedElsewhere, StudyClosed, UnknownRater
from heartfelt.collect.session.researcher import CountAutomated
from heartfelt.web.rater.automated import is_automated
from heartfelt.web.rater.pages import Notice, current_step
from heartfelt.web.rater.presentation import request_language
from heartfelt.web.requests.state import state_of
from heartfelt.web.security.signing import (
    EARLIER_COOKIE,
    RATER_COOKIE,
    RATER_SECONDS,
    earlier_raters,
    rater_of,
    set_cookie,
    signer_of,
)

MAX_ID_LENGTH = 200
MOST_RATERS = 8
"""How many people who took turns at one browser can each continue there."""
_UNACCEPTED = "ASSIGNMENT_ID_NOT_AVAILABLE"
_RECRUITERS: Mapping[Recruiter, tuple[str, Mapping[str, str]]] = {
    "prolific": ("PROLIFIC_PID", {"study": "STUDY_ID", "session": "SESSION_ID"}),
    "mturk": ("workerId", {"assignment": "assignmentId", "hit": "hitId"}),
}


def routes() -> list[Route]:
    """The ways in."""
    return [
        Route("/", open_link, methods=["GET"], name="rater-open-link"),
        Route("/i/{signed}", personal_link, methods=["GET"], name="rater-personal-link"),
        Route("/r/{signed}", resume_link, methods=["GET"], name="rater-resume-link"),
    ]


async def open_link(request: Request) -> Response:
    """The study's own address, with whatever a recruiter put behind it."""
    query = request.query_params
    if query.get("assignmentId") == _UNACCEPTED:
        raise Notice("preview", 200)
    await _stop_automated(request)
    for recruiter, (person, facts) in _RECRUITERS.items():
        if query.get(person):
            passed = {name: query[key][:MAX_ID_LENGTH] for name, key in facts.items() if query.get(key)}
            return await _enter(request, recruiter, query[person][:MAX_ID_LENGTH], passed)
    if not state_of(request).options.preview and await _is_known(request):
        return _to_the_page(request)
    return await _enter(request, "open", None, {})


async def personal_link(request: Request) -> Response:
    """An address made for one person."""
    return await _enter(request, "link", await _signed_for(request, "invite"), {})


async def resume_link(request: Request) -> Response:
    """An address the researcher made for somebody who lost the browser they began in."""
    rater = await _signed_for(request, "resume")
    await current_step(request, rater)
    return _signed_in(request, rater)


async def _signed_for(request: Request, purpose: str) -> str:
    """What the address was signed for. Addresses that were not get a page that says so."""
    value = signer_of(request).read(purpose, request.path_params["signed"])
    if value is None:
        raise Notice("stranger", 404)
    await _stop_automated(request)
    return value


async def _stop_automated(request: Request) -> None:
    """Count a fetch with nobody there; its page has a button, for a person who was taken for a robot."""
    if is_automated(request):
        await state_of(request).collection.ask(CountAutomated())
        raise Notice("automated", 200)


async def _is_known(request: Request) -> bool:
    """Whether the cookie is that of a rater the study has; one from another database is not."""
    try:
        await current_step(request, rater_of(request))
    except Notice:
        return False
    return True


async def _enter(request: Request, recruiter: Recruiter, person: str | None, facts: Mapping[str, str]) -> Response:
    arm = request.query_params.get("arm") if state_of(request).options.preview else None
    before = earlier_raters(request)
    device = device_of(request) | ({"raters_before": len(before)} if before else {})
    arrival = Arrive(
        recruiter=recruiter,
        person=person,
        facts=facts,
        language=request_language(request),
        device=device,
        proven=before,
        arm=arm,
    )
    try:
        arrived = await state_of(request).collection.ask(arrival)
    except StudyClosed as closed:
        raise Notice(closed.end, 503 if closed.ending == "wait" else 409) from closed
    except StartedElsewhere as error:
        raise Notice("elsewhere", 409) from error
    except UnknownRater as error:
        raise Notice("stranger", 404) from error
    return _signed_in(request, arrived.rater)


def _signed_in(request: Request, rater: str) -> Response:
    state = state_of(request)
    response = _to_the_page(request)
    signed = signer_of(request).sign("rater", rater, RATER_SECONDS)
    set_cookie(response, state.options, RATER_COOKIE, signed, RATER_SECONDS)
    raters = [rater, *(name for name in earlier_raters(request) if name != rater)][:MOST_RATERS]
    if len(raters) > 1:
        earlier = signer_of(request).sign("earlier", " ".join(raters), RATER_SECONDS)
        set_cookie(response, state.options, EARLIER_COOKIE, earlier, RATER_SECONDS)
    return response


def _to_the_page(request: Request) -> Response:
    """Send the browser on, so that a recruiter's ids do not stay in the address."""
    return RedirectResponse(f"{request.scope.get('root_path', '')}/rate", 303, {"cache-control": "no-store"})


def device_of(request: Request) -> dict[str, str | int | float | bool]:
    """The class of device, as far as the request says; nothing that would tell one person's from another's."""
    agent = request.headers.get("user-agent", "")
    if "iPad" in agent or ("Android" in agent and "Mobile" not in agent):
        return {"class": "tablet"}
    return {"class": "phone" if "Mobi" in agent else "computer"}
