"""People at the door: by the open link, a personal link, or from a recruiter who says who they are."""

from __future__ import annotations

from collections.abc import Mapping

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from heartfelt.collect.commands import Arrive, Next, Recruiter
from heartfelt.collect.errors import StudyClosed, UnknownRater
from heartfelt.web.rater.language import language_of
from heartfelt.web.rater.pages import Pages
from heartfelt.web.security.cookies import RATER_COOKIE, RATER_SECONDS, rater_of, set_cookie

LONGEST_ID = 200
_UNACCEPTED = "ASSIGNMENT_ID_NOT_AVAILABLE"
_RECRUITERS: Mapping[Recruiter, tuple[str, Mapping[str, str]]] = {
    "prolific": ("PROLIFIC_PID", {"study": "STUDY_ID", "session": "SESSION_ID"}),
    "mturk": ("workerId", {"assignment": "assignmentId", "hit": "hitId"}),
}


def routes() -> list[Route]:
    """The two ways in."""
    return [
        Route("/", open_link, methods=["GET"], name="rater-open-link"),
        Route("/i/{signed}", personal_link, methods=["GET"], name="rater-personal-link"),
    ]


async def open_link(request: Request) -> Response:
    """The study's own address, with whatever a recruiter put behind it."""
    if request.query_params.get("assignmentId") == _UNACCEPTED:
        pages: Pages = request.app.state.rater_pages
        return pages.notice(request, "preview", 200)
    for recruiter, (person, facts) in _RECRUITERS.items():
        if request.query_params.get(person):
            told = {name: _told(request, key) for name, key in facts.items() if request.query_params.get(key)}
            return await _enter(request, recruiter, _told(request, person), told)
    if not request.app.state.options.preview and await _known(request):
        return _to_the_page(request)
    return await _enter(request, "open", None, {})


async def personal_link(request: Request) -> Response:
    """An address made for one person."""
    invitation = request.app.state.signer.read("invite", request.path_params["signed"])
    if invitation is None:
        pages: Pages = request.app.state.rater_pages
        return pages.notice(request, "stranger", 404)
    return await _enter(request, "link", invitation, {})


async def _known(request: Request) -> bool:
    """Whether the cookie is that of a rater the study has; one from another database is not."""
    rater = rater_of(request)
    if rater is None:
        return False
    try:
        await request.app.state.collection.ask(Next(rater))
    except UnknownRater:
        return False
    return True


async def _enter(
    request: Request, recruiter: Recruiter, person: str | None, facts: Mapping[str, str]
) -> Response:
    state = request.app.state
    pages: Pages = state.rater_pages
    language = language_of(request, state.collection.study.languages)
    try:
        arrived = await state.collection.ask(Arrive(recruiter, person, facts, language, device_of(request)))
    except StudyClosed as closed:
        return pages.notice(request, closed.ending, 409)
    except UnknownRater:
        return pages.notice(request, "stranger", 404)
    response = _to_the_page(request)
    signed = state.signer.sign("rater", arrived.rater, RATER_SECONDS)
    set_cookie(response, state.options, RATER_COOKIE, signed, RATER_SECONDS)
    return response


def _to_the_page(request: Request) -> Response:
    """Send the browser on, so that a recruiter's ids do not stay in the address."""
    return RedirectResponse(f"{request.scope.get('root_path', '')}/rate", 303, {"cache-control": "no-store"})


def _told(request: Request, key: str) -> str:
    return request.query_params[key][:LONGEST_ID]


def device_of(request: Request) -> dict[str, str | int | float | bool]:
    """The class of device, as far as the request says; nothing that would tell one person's from another's."""
    agent = request.headers.get("user-agent", "")
    if "iPad" in agent or ("Android" in agent and "Mobile" not in agent):
        return {"class": "tablet"}
    return {"class": "phone" if "Mobi" in agent else "computer"}
