"""The researcher's access: a login gives a signed cookie, programs bring a token, and both are rate-limited.

Changes from the dashboard need the cookie and the page's own form token. A login cookie is signed and needs no table; what
is stored are the logins that were ended, each until it would have expired anyway.
"""

from __future__ import annotations

import hmac
import json
import secrets
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from hashlib import sha256
from typing import NamedTuple, cast

from starlette.concurrency import run_in_threadpool
from starlette.requests import HTTPConnection, Request
from starlette.responses import Response

from heartfelt.collect import Collection
from heartfelt.collect.messages.adjudicators import CheckAdjudicator
from heartfelt.collect.messages.errors import UnknownAdjudicator
from heartfelt.errors import HeartfeltError, InputError, UnknownNameError
from heartfelt.web.requests.errors import RequestRefused
from heartfelt.web.requests.state import state_of
from heartfelt.web.security.guard import SAFE_METHODS, RateLimit
from heartfelt.web.security.signing import STUDY_COOKIE, STUDY_SECONDS, is_password, set_cookie, signer_of

TOKEN_DAYS = 365
TOKEN_HEADER = "x-heartfelt-token"
LOOK_SECONDS = 2.0
_TOKEN_LIST = "tokens"
_REVOKED = ""
_ENDED = "logged out "


def _refuse_if_limited(limit: RateLimit, address: str, problem: str, *, take: bool) -> None:
    wait = limit.take(address) if take else limit.wait(address)
    if wait:
        seconds = str(int(wait) + 1)
        raise RequestRefused(429, problem, f"Wait {seconds} seconds and try again.", {"retry-after": seconds})


def _address_of(request: Request) -> str:
    return request.client.host if request.client else ""


# --- logins -----------------------------------------------------------------------------------------------------------


class EndedLogins:
    """Logins that were logged out: their cookies are invalid in every process, and after a restart.

    Other processes learn of a log-out within seconds.
    """

    def __init__(self, collection: Collection, clock: Callable[[], float] = time.time) -> None:
        self._collection = collection
        self._clock = clock
        self._lock = threading.Lock()
        self._ended: dict[str, float] = {}
        self._looked = 0.0
        self._load()

    def end(self, session: str, seconds: int) -> None:
        """End a login; ``seconds`` is how long its cookie could live at most."""
        expires = self._clock() + seconds
        self._ended[_session_key(session)] = expires
        self._collection.set_value(_ENDED + _session_key(session), f"{expires:.0f}")

    def has_ended(self, session: str) -> bool:
        """Whether a login was ended, as far as is known now. Never waits for the database."""
        if self._clock() - self._looked > LOOK_SECONDS:
            self._looked = self._clock()
            threading.Thread(target=self._load, name="heartfelt-logins", daemon=True).start()
        return _session_key(session) in self._ended

    def _load(self) -> None:
        """Take in what other processes ended."""
        # An unavailable store is reported to requests that need it; here the next look comes soon enough.
        with self._lock, suppress(HeartfeltError):
            now = self._clock()
            stored = self._collection.values_with_prefix(_ENDED)
            expiries = {name.removeprefix(_ENDED): float(value) for name, value in stored.items()}
            self._ended |= {name: expires for name, expires in expiries.items() if expires > now}
            self._looked = now


def _session_key(session: str) -> str:
    return sha256(session.encode()).hexdigest()[:32]


def _ended_logins(request: HTTPConnection) -> EndedLogins:
    return cast(EndedLogins, request.app.state.ended_logins)


def login_of(request: HTTPConnection) -> str | None:
    """The session of a login cookie that is valid and was not logged out."""
    session = signer_of(request).read("study", request.cookies.get(STUDY_COOKIE))
    return None if session is None or _ended_logins(request).has_ended(session) else session


async def check_password(request: Request, password: str) -> None:
    """Refuse a wrong password, and every password from an address that tried too many."""
    limit, address = cast(RateLimit, request.app.state.login_limit), _address_of(request)
    _refuse_if_limited(limit, address, "Too many wrong passwords.", take=True)
    if not await run_in_threadpool(is_password, state_of(request).options.password, password):
        raise RequestRefused(401, "The password is wrong.", "Try again; it was shown when the study was first served.")
    limit.give_back(address)


def log_in(request: Request, response: Response) -> None:
    """Give the browser the cookie of a login."""
    signed = signer_of(request).sign("study", secrets.token_urlsafe(16), STUDY_SECONDS)
    set_cookie(response, state_of(request).options, STUDY_COOKIE, signed, STUDY_SECONDS)


async def log_out(request: Request, session: str) -> None:
    """End a login: copies of its cookie are invalid too."""
    await run_in_threadpool(_ended_logins(request).end, session, STUDY_SECONDS)


def form_token(request: Request, session: str) -> str:
    """What the dashboard's page sends with every change; only a page of this session has it."""
    return signer_of(request).sign("page", session, STUDY_SECONDS)


def check_form_token(request: Request, session: str, token: str | None) -> None:
    """Refuse a change that does not come from the session's own page."""
    owner = signer_of(request).read("page", token)
    if owner is None or not hmac.compare_digest(owner, session):
        raise RequestRefused(
            403,
            f"The header {TOKEN_HEADER} is missing or belongs to another login.",
            "Reload the dashboard; programs send 'Authorization: Bearer …' instead of a cookie.",
        )


def researcher(request: Request) -> str:
    """The requester: the name of a token, or the researcher at the dashboard. Anybody else is refused."""
    kind, _, text = request.headers.get("authorization", "").partition(" ")
    if text:
        limit, address = cast(RateLimit, request.app.state.token_limit), _address_of(request)
        _refuse_if_limited(limit, address, "Too many wrong tokens.", take=False)
        token = Tokens(state_of(request).collection).find(text) if kind.lower() == "bearer" else None
        if token is None:
            limit.take(address)
            problem = "The token is unknown, was revoked or has expired."
            raise RequestRefused(401, problem, "Make a new one.", {"www-authenticate": "Bearer"})
        return f"token {token.name}"
    session = login_of(request)
    if session is None:
        raise RequestRefused(401, headers={"www-authenticate": "Bearer"})
    if request.method not in SAFE_METHODS:
        check_form_token(request, session, request.headers.get(TOKEN_HEADER))
    return "researcher"


# --- senior raters -----------------------------------------------------------------------------------------------------


async def is_admitted(request: HTTPConnection, adjudicator: str | None) -> bool:
    """Whether a senior rater's link is valid now, in whichever process it was revoked."""
    if adjudicator is None:
        return False
    try:
        await state_of(request).collection.ask(CheckAdjudicator(adjudicator))
    except UnknownAdjudicator:
        return False
    return True


# --- tokens for programs ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """What is stored of a token: a hash, not its text."""

    id: str
    name: str
    hash: str
    made: float
    expires: float


class NewToken(NamedTuple):
    """A new token; its text is nowhere else."""

    token: Token
    text: str


class Tokens:
    """The API tokens of a study. A token is valid while it is listed, not revoked and not expired.

    Two processes that write the list at once can lose a new token, which is then invalid; they can never bring back
    a revoked one.
    """

    def __init__(self, collection: Collection, clock: Callable[[], float] = time.time) -> None:
        self._collection = collection
        self._clock = clock

    def make(self, name: str, days: int = TOKEN_DAYS) -> NewToken:
        """A new token under a name that people recognise."""
        if not name.strip() or len(name) > 100:
            raise InputError("A token needs a name of 1 to 100 characters.", "Name the program that will use it.")
        secret, now = secrets.token_urlsafe(32), self._clock()
        token = Token(
            id=secrets.token_hex(4), name=name.strip(), hash=_token_hash(secret), made=now, expires=now + days * 86400
        )
        self._collection.set_value(_token_key(token.id), json.dumps(asdict(token)))
        self._collection.set_value(_TOKEN_LIST, json.dumps([*(existing.id for existing in self.all()), token.id]))
        return NewToken(token, f"hf_{token.id}_{secret}")

    def all(self) -> list[Token]:
        """Every valid token, oldest first."""
        return [token for id in self._ids() if (token := self._valid(id)) is not None]

    def revoke(self, id: str) -> None:
        """Make a token invalid."""
        if id not in {token.id for token in self.all()}:
            raise UnknownNameError("There is no such token.", "See the list of tokens for their ids.")
        self._collection.set_value(_token_key(id), _REVOKED)

    def find(self, text: str) -> Token | None:
        mark, _, id_and_secret = text.partition("_")
        id, _, secret = id_and_secret.partition("_")
        if mark != "hf" or not secret or len(text) > 200 or id not in self._ids():
            return None
        token = self._valid(id)
        return token if token is not None and hmac.compare_digest(token.hash, _token_hash(secret)) else None

    def _ids(self) -> list[str]:
        return [str(id) for id in json.loads(self._collection.value(_TOKEN_LIST) or "[]")]

    def _valid(self, id: str) -> Token | None:
        text = self._collection.value(_token_key(id))
        token = Token(**json.loads(text)) if text else None
        return token if token is not None and token.expires > self._clock() else None


def _token_key(id: str) -> str:
    return f"token {id}"


def _token_hash(secret: str) -> str:
    return sha256(secret.encode()).hexdigest()
