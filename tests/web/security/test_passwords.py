"""The password: hashed, checked, never too short."""

from __future__ import annotations

import pytest

from heartfelt.collect import Collection
from heartfelt.errors import InputError
from heartfelt.web.security import signing
from heartfelt.web.security.signing import hash_password, is_password, load_keys, make_password

REAL_HASHER = signing._hasher
"""As the server uses it; the other tests run with a hasher that costs next to nothing."""


def test_hashes_cost_an_attacker_64_mib_and_three_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    """SOURCE: RFC 9106, section 4, the second recommended option: Argon2id, t=3, p=4, m=2^16 KiB."""
    monkeypatch.setattr(signing, "_hasher", REAL_HASHER)
    hashed = hash_password("correct horse")
    assert hashed.startswith("$argon2id$v=19$m=65536,t=3,p=4$")
    assert is_password(hashed, "correct horse")


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


def test_passwords_have_eight_characters() -> None:
    assert signing.SHORTEST_PASSWORD == 8
    with pytest.raises(InputError, match="shorter than 8"):
        hash_password("x" * 7)
    assert is_password(hash_password("x" * 8), "x" * 8)
    with pytest.raises(InputError, match="longer than 1024"):
        hash_password("x" * 1025)


def test_a_hash_of_nothing_takes_as_long(monkeypatch: pytest.MonkeyPatch) -> None:
    checked: list[str] = []

    class Hasher:
        def hash(self, _: str) -> str:
            return "made up"

        def verify(self, hashed: str, password: str) -> bool:
            checked.append(f"{hashed} {len(password)}")
            return True

    signing._unknown_hash.cache_clear()
    monkeypatch.setattr(signing, "_hasher", Hasher)
    assert not is_password(None, "anything")
    assert is_password("known", "x" * 5000)
    assert checked == ["made up 8", "known 1024"]
    signing._unknown_hash.cache_clear()


def test_keys_come_from_the_environment_or_are_made_once(
    collection: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HEARTFELT_SECRET", raising=False)
    monkeypatch.delenv("HEARTFELT_ADMIN_PASSWORD", raising=False)
    first, again = load_keys(collection), load_keys(collection)
    assert len(first.secret) == 64
    assert first.secret == again.secret
    assert first.new_password is not None
    assert is_password(first.password, first.new_password)
    assert (again.password, again.new_password) == (first.password, None), "shown once"
    assert first.new_password not in repr(first)
    assert collection.value("admin_password") == first.password
    monkeypatch.setenv("HEARTFELT_ADMIN_PASSWORD", "another password")
    given = load_keys(collection)
    assert is_password(given.password, "another password")
    assert given.new_password is None
    assert collection.value("admin_password") == first.password
    monkeypatch.setenv("HEARTFELT_SECRET", "x" * 16)
    assert load_keys(collection).secret == b"x" * 16
    monkeypatch.setenv("HEARTFELT_SECRET", "x" * 15)
    with pytest.raises(InputError, match="shorter than 16"):
        load_keys(collection)
