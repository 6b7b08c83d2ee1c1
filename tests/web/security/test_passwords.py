"""The password: hashed, checked, never too short."""

from __future__ import annotations

import pytest

from heartfelt.errors import InputError
from heartfelt.web.security.signing import hash_password, is_password, make_password


@pytest.mark.slow
def test_only_the_right_password_is_right() -> None:
    hashed = hash_password("correct horse")
    assert hashed.startswith("$argon2id$")
    assert "correct" not in hashed
    assert is_password(hashed, "correct horse")
    assert not is_password(hashed, "correct horsf")
    assert not is_password(hashed, "")
    assert not is_password(None, "correct horse")
    assert not is_password("not a hash", "correct horse")


def test_made_passwords_differ_and_are_long_enough() -> None:
    made = {make_password() for _ in range(50)}
    assert len(made) == 50
    assert all(len(each) == 19 for each in made)


def test_a_short_password_is_refused_with_a_fix() -> None:
    with pytest.raises(InputError, match="shorter than 8") as message:
        hash_password("short")
    assert "HEARTFELT_ADMIN_PASSWORD" in message.value.fix
    assert "short" not in message.value.fix
