"""Signed texts that expire: cookies, personal links, form tokens.

A signed text opens only for the purpose it was made for, so a rater's cookie is nothing to the researcher's door.
"""

from __future__ import annotations

import time
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable
from hashlib import sha256
from typing import Literal

import itsdangerous
from starlette.requests import HTTPConnection
from starlette.responses import Response

from heartfelt.web.options import WebOptions

RATER_COOKIE = "heartfelt_rater"
EARLIER_COOKIE = "heartfelt_earlier"
STUDY_COOKIE = "heartfelt_study"
RATER_SECONDS = 90 * 24 * 3600
STUDY_SECONDS = 12 * 3600
INVITE_SECONDS = 180 * 24 * 3600
RESUME_SECONDS = 14 * 24 * 3600
_LONGEST = 4096
_REMEMBERED = 10_000


class Signer:
    """Signs values for a purpose and a time, and reads them back."""

    def __init__(self, secret: bytes, clock: Callable[[], float] = time.time) -> None:
        self._secret = secret
        self._clock = clock
        self._signers: dict[str, itsdangerous.Signer] = {}
        self._known: dict[tuple[str, str], tuple[str, int]] = {}

    def sign(self, purpose: str, value: str, seconds: int) -> str:
        """``value`` as a text that ``read`` opens for ``purpose`` during the next ``seconds``; fit for URLs and cookies."""
        plain = urlsafe_b64encode(value.encode()).rstrip(b"=")
        expires = format(int(self._clock()) + seconds, "x")
        return self._signer(purpose).sign(f"{expires}.{plain.decode()}").decode()

    def read(self, purpose: str, text: str | None) -> str | None:
        """The value, or None for anything forged, expired or made for another purpose."""
        if not text or len(text) > _LONGEST:
            return None
        known = self._known.get((purpose, text)) or self._checked(purpose, text)
        return known[0] if known is not None and known[1] > self._clock() else None

    def _checked(self, purpose: str, text: str) -> tuple[str, int] | None:
        """Value and expiry of a text that was signed here. Remembered, since a rater sends the same cookie all day."""
        signer = self._signer(purpose)
        try:
            signed = signer.unsign(text)
            # The last letter of a signature has two bits nobody reads: only the spelling given out counts.
            if signer.sign(signed).decode() != text:
                return None
            expires, _, plain = signed.decode().partition(".")
            found = urlsafe_b64decode(plain + "=" * (-len(plain) % 4)).decode(), int(expires, 16)
        except (itsdangerous.BadData, ValueError):
            return None
        if len(self._known) >= _REMEMBERED:
            self._known.clear()
        self._known[purpose, text] = found
        return found

    def _signer(self, purpose: str) -> itsdangerous.Signer:
        if purpose not in self._signers:
            self._signers[purpose] = itsdangerous.Signer(
                self._secret, salt=f"heartfelt {purpose}", key_derivation="hmac", digest_method=sha256
            )
        return self._signers[purpose]


def set_cookie(response: Response, options: WebOptions, name: str, signed: str, seconds: int) -> None:
    """Give a browser a signed text that scripts cannot read and other sites cannot send.

    Raters come by a link from another site, so theirs is lax; the researcher's is strict.
    """
    same_site: Literal["lax", "strict"] = "strict" if name == STUDY_COOKIE else "lax"
    response.set_cookie(
        name,
        signed,
        max_age=seconds,
        path=options.prefix or "/",
        secure=options.secure_cookies,
        httponly=True,
        samesite=same_site,
    )


def drop_cookie(response: Response, options: WebOptions, name: str) -> None:
    """Take a cookie back."""
    response.delete_cookie(
        name, path=options.prefix or "/", secure=options.secure_cookies, httponly=True, samesite="lax"
    )


def rater_of(request: HTTPConnection) -> str | None:
    """The rater whose cookie comes with a request."""
    signer: Signer = request.app.state.signer
    return signer.read("rater", request.cookies.get(RATER_COOKIE))


def earlier_raters(request: HTTPConnection) -> tuple[str, ...]:
    """Everybody this browser has been: the rater of its cookie, and those who used it before."""
    signer: Signer = request.app.state.signer
    before = (signer.read("earlier", request.cookies.get(EARLIER_COOKIE)) or "").split()
    current = rater_of(request)
    return tuple(dict.fromkeys([*([current] if current else []), *before]))


def is_researcher(request: HTTPConnection) -> bool:
    """Whether a request comes with the cookie of a login."""
    return login_of(request) is not None


def login_of(request: HTTPConnection) -> str | None:
    """The session of a login cookie that is valid and was not logged out."""
    signer: Signer = request.app.state.signer
    session = signer.read("study", request.cookies.get(STUDY_COOKIE))
    return None if session is None or request.app.state.logins.ended(session) else session
