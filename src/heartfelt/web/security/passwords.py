"""The researcher's password: only its argon2 hash is kept."""

from __future__ import annotations

import secrets
from functools import lru_cache

import argon2

from heartfelt.errors import InputError

SHORTEST = 8
_ALPHABET = "abcdefghjkmnpqrstuvwxyz23456789"


@lru_cache(maxsize=1)
def _hasher() -> argon2.PasswordHasher:
    return argon2.PasswordHasher()


def make_password() -> str:
    """A password worth about 79 bits that can be read aloud."""
    return "-".join("".join(secrets.choice(_ALPHABET) for _ in range(4)) for _ in range(4))


def hash_password(password: str) -> str:
    """The argon2 hash of a password."""
    if len(password) < SHORTEST:
        raise InputError(
            f"The password is shorter than {SHORTEST} characters.",
            "Set a longer one in HEARTFELT_ADMIN_PASSWORD, or leave that out and have one made.",
        )
    return _hasher().hash(password)


def right_password(hashed: str | None, password: str) -> bool:
    """Whether the password is the one that was hashed; takes as long when there is none."""
    known = hashed or _nobody()
    try:
        _hasher().verify(known, password[:1024])
    except (argon2.exceptions.VerificationError, argon2.exceptions.InvalidHashError):
        return False
    return hashed is not None


@lru_cache(maxsize=1)
def _nobody() -> str:
    return _hasher().hash(secrets.token_urlsafe(24))
