"""Signed texts that expire (cookies, personal links, form tokens), the secret that signs them, and the password.

A signed text is valid only for the purpose it was made for, so a rater's cookie never opens the dashboard. Only the argon2
hash of the researcher's password is stored.
"""

from __future__ import annotations

import logging
import os
import secrets
import time
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import sha256
from typing import cast

import argon2
import itsdangerous
from starlette.requests import HTTPConnection
from starlette.responses import Response

from heartfelt.collect import Collection
from heartfelt.collect.stored import STORED_SECRET
from heartfelt.errors import InputError
from heartfelt.files import write_text
from heartfelt.web.requests.options import WebOptions

RATER_COOKIE = "heartfelt_rater"
RATER_IN_SCOPE = "heartfelt.rater"
"""Where the guard leaves the rater of a request's cookie."""
EARLIER_COOKIE = "heartfelt_earlier"
STUDY_COOKIE = "heartfelt_study"
ADJUDICATOR_COOKIE = "heartfelt_adjudicator"
RATER_SECONDS = 90 * 24 * 3600
STUDY_SECONDS = 12 * 3600
INVITE_SECONDS = 180 * 24 * 3600
RESUME_SECONDS = 14 * 24 * 3600
SECRET = "HEARTFELT_SECRET"
PASSWORD = "HEARTFELT_ADMIN_PASSWORD"
SHORTEST_PASSWORD = 8
_MAX_PASSWORD_LENGTH = 1024
_ALPHABET = "abcdefghjkmnpqrstuvwxyz23456789"
_MAX_LENGTH = 4096
_CACHE_SIZE = 10_000
_SECRET_WRITTEN = "secret is in a file"
_log = logging.getLogger(__name__)


class Signer:
    """Signs values for a purpose and a time, and reads them back."""

    def __init__(self, secret: bytes, clock: Callable[[], float] = time.time) -> None:
        self._secret = secret
        self._clock = clock
        self._signers: dict[str, itsdangerous.Signer] = {}
        self._known: dict[tuple[str, str], tuple[str, int]] = {}

    def sign(self, purpose: str, value: str, seconds: int) -> str:
        """``value`` as a text that ``read`` accepts for ``purpose`` during the next ``seconds``; safe in URLs and cookies."""
        encoded = urlsafe_b64encode(value.encode()).rstrip(b"=")
        expires = format(int(self._clock()) + seconds, "x")
        return self._signer(purpose).sign(f"{expires}.{encoded.decode()}").decode()

    def read(self, purpose: str, text: str | None) -> str | None:
        """The value, or None for anything forged, expired or made for another purpose."""
        if not text or len(text) > _MAX_LENGTH:
            return None
        verified = self._known.get((purpose, text)) or self._verified(purpose, text)
        return verified[0] if verified is not None and verified[1] > self._clock() else None

    def _verified(self, purpose: str, text: str) -> tuple[str, int] | None:
        """Value and expiry of a text that was signed here. Cached, since a rater sends the same cookie all day."""
        signer = self._signer(purpose)
        try:
            signed = signer.unsign(text)
            # The last letter of a signature has two bits nobody reads: only the spelling given out counts.
            if signer.sign(signed).decode() != text:
                return None
            expires, _, encoded = signed.decode().partition(".")
            verified = urlsafe_b64decode(encoded + "=" * (-len(encoded) % 4)).decode(), int(expires, 16)
        except (itsdangerous.BadData, ValueError):
            return None
        if len(self._known) >= _CACHE_SIZE:
            self._known.clear()
        self._known[purpose, text] = verified
        return verified

    def _signer(self, purpose: str) -> itsdangerous.Signer:
        if purpose not in self._signers:
            self._signers[purpose] = itsdangerous.Signer(
                self._secret, salt=f"heartfelt {purpose}", key_derivation="hmac", digest_method=sha256
            )
        return self._signers[purpose]


# --- cookies ----------------------------------------------------------------------------------------------------------


def set_cookie(response: Response, options: WebOptions, name: str, signed: str, seconds: int) -> None:
    """Set a cookie that scripts cannot read and other sites cannot send.

    Raters come by a link from another site, so theirs is lax; the researcher's is strict.
    """
    response.set_cookie(
        name,
        signed,
        max_age=seconds,
        path=options.prefix or "/",
        secure=options.secure_cookies,
        httponly=True,
        samesite="strict" if name == STUDY_COOKIE else "lax",
    )


def delete_cookie(response: Response, options: WebOptions, name: str) -> None:
    response.delete_cookie(
        name, path=options.prefix or "/", secure=options.secure_cookies, httponly=True, samesite="lax"
    )


def signer_of(request: HTTPConnection) -> Signer:
    """What signs and reads the links and cookies of the application that handles a request."""
    return cast(Signer, request.app.state.signer)


def rater_of(request: HTTPConnection) -> str | None:
    """The rater whose cookie comes with a request; the guard has read it already, as a rule."""
    rater: str | None = request.scope.get(RATER_IN_SCOPE)
    return rater or signer_of(request).read("rater", request.cookies.get(RATER_COOKIE))


def adjudicator_of(request: HTTPConnection) -> str | None:
    """The senior rater whose cookie comes with a request; whether they are still admitted is for the store to say."""
    return signer_of(request).read("adjudicator", request.cookies.get(ADJUDICATOR_COOKIE))


def adjudicator_link(signer: Signer, url: str, adjudicator: str) -> str:
    """The personal link of a senior rater."""
    return f"{url.rstrip('/')}/a/{signer.sign('adjudicate', adjudicator, INVITE_SECONDS)}"


def earlier_raters(request: HTTPConnection) -> tuple[str, ...]:
    """Every rater who used this browser: the one of its cookie, and those before."""
    before = (signer_of(request).read("earlier", request.cookies.get(EARLIER_COOKIE)) or "").split()
    current = rater_of(request)
    return tuple(dict.fromkeys([*([current] if current else []), *before]))


# --- secret and password ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SigningKeys:
    """The secret that signs, the hash of the password, and the password itself if it was made just now."""

    secret: bytes = field(repr=False)
    password: str = field(repr=False)
    new_password: str | None = field(default=None, repr=False)


def load_keys(collection: Collection) -> SigningKeys:
    """The keys from the environment or from where they were stored; made and stored on the first start."""
    secret = os.environ.get(SECRET) or _stored_secret(collection)
    if len(secret) < 16:
        raise InputError(f"{SECRET} is shorter than 16 characters.", "Set a longer one, or leave it unset.")
    password, new_password = os.environ.get(PASSWORD), None
    hashed = hash_password(password) if password else collection.value("admin_password")
    if hashed is None:
        new_password = make_password()
        hashed = hash_password(new_password)
        collection.set_value("admin_password", hashed)
    return SigningKeys(secret.encode(), hashed, new_password)


def _stored_secret(collection: Collection) -> str:
    """The secret in PostgreSQL, which several servers share, or in a file beside a SQLite store.

    Stores of earlier versions hold it themselves.
    """
    stored, path = collection.value(STORED_SECRET), collection.secret_file
    if stored is None and path is not None and path.is_file():
        stored = path.read_text(encoding="ascii").strip()
    if stored:
        return stored
    secret = secrets.token_hex(32)
    if path is None:
        collection.set_value(STORED_SECRET, secret)
        return secret
    if collection.value(_SECRET_WRITTEN):
        _log.warning("%s is missing: earlier cookies and personal links are not valid any more.", path)
    write_text(path, f"{secret}\n", private=True)
    collection.set_value(_SECRET_WRITTEN, "yes")
    return secret


@lru_cache(maxsize=1)
def _hasher() -> argon2.PasswordHasher:
    return argon2.PasswordHasher()


def make_password() -> str:
    """A password of about 79 bits that can be read aloud."""
    return "-".join("".join(secrets.choice(_ALPHABET) for _ in range(4)) for _ in range(4))


def hash_password(password: str) -> str:
    """The argon2 hash of a password."""
    if not SHORTEST_PASSWORD <= len(password) <= _MAX_PASSWORD_LENGTH:
        length = "shorter" if len(password) < SHORTEST_PASSWORD else "longer"
        limit = SHORTEST_PASSWORD if length == "shorter" else _MAX_PASSWORD_LENGTH
        raise InputError(
            f"The password is {length} than {limit} characters.",
            f"Set {PASSWORD} to another one, or leave it unset to have one made.",
        )
    return _hasher().hash(password)


def is_password(hashed: str | None, password: str) -> bool:
    """Whether the password is the one that was hashed; takes equally long when there is none."""
    checked_hash = hashed or _unknown_hash()
    try:
        _hasher().verify(checked_hash, password[:_MAX_PASSWORD_LENGTH])
    except (argon2.exceptions.VerificationError, argon2.exceptions.InvalidHashError):
        return False
    return hashed is not None


@lru_cache(maxsize=1)
def _unknown_hash() -> str:
    return _hasher().hash(secrets.token_urlsafe(24))
