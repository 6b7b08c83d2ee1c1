"""What a study's server needs to know before it opens: the secret that signs, and the hash of the password."""

from __future__ import annotations

import os
import secrets
from dataclasses import dataclass, field

from heartfelt.collect import Collection
from heartfelt.errors import InputError
from heartfelt.web.security.passwords import hash_password, make_password

SECRET = "HEARTFELT_SECRET"
PASSWORD = "HEARTFELT_ADMIN_PASSWORD"


@dataclass(frozen=True, slots=True)
class Keys:
    """The secret, the hash of the password, and the password itself if it was made just now."""

    secret: bytes = field(repr=False)
    password: str = field(repr=False)
    made: str | None = field(default=None, repr=False)


def keys_of(collection: Collection) -> Keys:
    """The keys from the environment or the store; made and kept on the first start."""
    secret = os.environ.get(SECRET) or collection.value("secret")
    if secret is None:
        secret = secrets.token_hex(32)
        collection.set_value("secret", secret)
    if len(secret) < 16:
        raise InputError(f"{SECRET} is shorter than 16 characters.", "Set a longer one, or leave it out.")
    given, made = os.environ.get(PASSWORD), None
    hashed = hash_password(given) if given else collection.value("admin_password")
    if hashed is None:
        made = make_password()
        hashed = hash_password(made)
        collection.set_value("admin_password", hashed)
    return Keys(secret.encode(), hashed, made)
