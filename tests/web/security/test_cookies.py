"""Signed texts: for one purpose, for a time, and only from whoever has the secret."""

from __future__ import annotations

from string import ascii_letters, digits

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.responses import Response

from heartfelt.web.requests.options import WebOptions
from heartfelt.web.security.signing import RATER_COOKIE, STUDY_COOKIE, Signer, set_cookie

SECRET = b"a secret of sixteen bytes or more"


class Clock:
    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@given(st.text(max_size=200))
def test_what_was_signed_is_read_back(value: str) -> None:
    signer = Signer(SECRET)
    signed = signer.sign("rater", value, 60)
    assert signer.read("rater", signed) == value
    assert signed.isascii()
    assert not set(signed) & set(' ;,"\\/?&=#%')


def test_a_text_opens_only_for_its_purpose() -> None:
    signer = Signer(SECRET)
    signed = signer.sign("rater", "r1", 60)
    assert [signer.read(purpose, signed) for purpose in ("study", "invite", "page", "rate", "raterr1")] == [None] * 5


def test_a_text_expires() -> None:
    clock = Clock()
    signer = Signer(SECRET, clock)
    signed = signer.sign("study", "s", 60)
    clock.now += 59
    assert signer.read("study", signed) == "s"
    clock.now += 1
    assert signer.read("study", signed) is None


def test_a_later_expiry_cannot_be_written_in() -> None:
    signer = Signer(SECRET, Clock())
    expires, rest = signer.sign("study", "s", 1).split(".", 1)
    assert signer.read("study", f"{int(expires, 16) + 10**6:x}.{rest}") is None


def test_another_secret_signs_nothing_here() -> None:
    assert Signer(SECRET).read("rater", Signer(b"some other secret bytes").sign("rater", "r1", 60)) is None


@given(st.text(max_size=300), st.integers(0, 200), st.characters())
def test_nothing_forged_is_read(noise: str, place: int, letter: str) -> None:
    signer = Signer(SECRET)
    signed = signer.sign("rater", "r1", 60)
    place %= len(signed)
    changed = signed[:place] + letter + signed[place + 1 :]
    assert signer.read("rater", noise) is None
    assert changed == signed or signer.read("rater", changed) is None


def test_the_same_signature_in_another_last_letter_is_not_read() -> None:
    signer = Signer(SECRET)
    signed = signer.sign("rater", "r1", 60)
    read = [letter for letter in ascii_letters + digits + "-_" if signer.read("rater", signed[:-1] + letter) == "r1"]
    assert read == [signed[-1]]


@pytest.mark.parametrize("given_text", [None, "", ".", "..", "a.b.c", "0." + "A" * 10_000, "\x00", "é.é.é"])
def test_odd_texts_are_read_as_nothing(given_text: str | None) -> None:
    assert Signer(SECRET).read("rater", given_text) is None


@pytest.mark.parametrize(("name", "site"), [(RATER_COOKIE, "lax"), (STUDY_COOKIE, "strict")])
def test_cookies_are_kept_from_scripts_and_other_sites(name: str, site: str) -> None:
    response = Response()
    set_cookie(response, WebOptions(secret=SECRET, prefix="/one", secure_cookies=True), name, "x", 60)
    message = response.headers["set-cookie"].lower()
    assert all(part in message for part in ("httponly", "secure", f"samesite={site}", "path=/one", "max-age=60"))
    plain = Response()
    set_cookie(plain, WebOptions(secret=SECRET), name, "x", 60)
    assert "secure" not in plain.headers["set-cookie"].lower()
