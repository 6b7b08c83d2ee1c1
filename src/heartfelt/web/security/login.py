"""The researcher's door: a login gives a signed cookie; programs bring a token; pages bring both cookie and form token."""

from __future__ import annotations

import hmac
import secrets

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from heartfelt.web.errors import Refused
from heartfelt.web.security.cookies import STUDY_COOKIE, STUDY_SECONDS, Signer, login_of, set_cookie
from heartfelt.web.security.passwords import right_password
from heartfelt.web.security.tokens import Tokens

TOKEN_HEADER = "x-heartfelt-token"
_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})


async def check_password(request: Request, password: str) -> None:
    """Turn a wrong password away, and everybody from an address that tried too many."""
    state, address = request.app.state, request.client.host if request.client else ""
    wait = state.login_limit.take(address)
    if wait:
        raise Refused(
            429,
            "Too many wrong passwords.",
            f"Wait {int(wait) + 1} seconds and try again.",
            {"retry-after": str(int(wait) + 1)},
        )
    if not await run_in_threadpool(right_password, state.options.password, password):
        raise Refused(
            401, "The password is not right.", "Try again; it was shown when the study was first served."
        )
    state.login_limit.give_back(address)


def let_in(request: Request, response: Response) -> None:
    """Give the browser the cookie of a login."""
    state = request.app.state
    signed = state.signer.sign("study", secrets.token_urlsafe(16), STUDY_SECONDS)
    set_cookie(response, state.options, STUDY_COOKIE, signed, STUDY_SECONDS)


def session_of(request: Request) -> str | None:
    """The session of the login cookie."""
    return login_of(request)


async def let_out(request: Request, session: str) -> None:
    """End a login: its cookie opens nothing any more, whoever has a copy."""
    await run_in_threadpool(request.app.state.logins.end, session, STUDY_SECONDS)


def page_token(request: Request, session: str) -> str:
    """What the dashboard's page sends back with everything it changes; only a page of this session has it."""
    signer: Signer = request.app.state.signer
    return signer.sign("page", session, STUDY_SECONDS)


def check_page_token(request: Request, session: str, given: str | None) -> None:
    """Turn away a change that does not come from the session's own page."""
    found = request.app.state.signer.read("page", given)
    if found is None or not hmac.compare_digest(found, session):
        raise Refused(
            403,
            f"The header {TOKEN_HEADER} is missing or belongs to another login.",
            "Reload the dashboard; programs send 'Authorization: Bearer …' instead of a cookie.",
        )


def researcher(request: Request) -> str:
    """Who asks: the name of a token, or the researcher at the dashboard. Anybody else is turned away."""
    kind, _, text = request.headers.get("authorization", "").partition(" ")
    if text:
        state, address = request.app.state, request.client.host if request.client else ""
        wait = state.token_limit.wait(address)
        if wait:
            raise Refused(
                429, "Too many wrong tokens.", f"Wait {int(wait) + 1} seconds and try again.",
                {"retry-after": str(int(wait) + 1)},
            )  # fmt: skip
        holder = Tokens(state.collection).holder(text) if kind.lower() == "bearer" else None
        if holder is None:
            state.token_limit.take(address)
            raise Refused(
                401, "The token is not known, was revoked or has expired.", "Make a new one.",
                {"www-authenticate": "Bearer"},
            )  # fmt: skip
        return f"token {holder.name}"
    session = session_of(request)
    if session is None:
        raise Refused(401, headers={"www-authenticate": "Bearer"})
    if request.method not in _SAFE:
        check_page_token(request, session, request.headers.get(TOKEN_HEADER))
    return "researcher"
