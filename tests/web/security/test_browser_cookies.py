"""The cookies a browser gets: what is signed, for how long, and who was here before."""

from __future__ import annotations

import pytest
from starlette.responses import Response

from heartfelt.collect import Collection
from heartfelt.web.requests.options import WebOptions
from heartfelt.web.security import signing
from heartfelt.web.security.signing import EARLIER_COOKIE, RATER_COOKIE, STUDY_COOKIE, Signer, delete_cookie
from heartfelt.web.serving.app import create_app
from tests.web.conftest import PASSWORD, SECRET
from tests.web.security.browsers import from_address, try_password
from tests.web.security.test_cookies import Clock
from tests.web.studies import rate

DAY = 86400.0


def test_how_long_signed_texts_live() -> None:
    lives = (signing.RATER_SECONDS, signing.STUDY_SECONDS, signing.INVITE_SECONDS, signing.RESUME_SECONDS)
    assert lives == (90 * DAY, 12 * 3600, 180 * DAY, 14 * DAY)


def test_a_cookie_has_4096_characters_at_most() -> None:
    signer = Signer(SECRET, Clock())
    frame = len(signer.sign("rater", "", 60))
    value = "x" * ((4096 - frame) * 3 // 4)
    signed = signer.sign("rater", value, 60)
    assert 4090 <= len(signed) <= 4096
    assert signer.read("rater", signed) == value
    longer = signer.sign("rater", value + "x" * 6, 60)
    assert 4097 <= len(longer) <= 4106
    assert signer.read("rater", longer) is None


def test_what_is_remembered_of_a_text_is_for_its_purpose_and_its_time() -> None:
    clock = Clock()
    signer = Signer(SECRET, clock)
    signed = signer.sign("rater", "r1", 60)
    for _ in range(2):
        assert signer.read("rater", signed) == "r1"
        assert signer.read("study", signed) is None
    clock.now += 60
    assert signer.read("rater", signed) is None


def test_memory_for_signed_texts_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(signing, "_CACHE_SIZE", 3)
    signer = Signer(SECRET, Clock())
    for number in range(7):
        assert signer.read("rater", signer.sign("rater", str(number), 60)) == str(number)
        assert len(signer._known) <= 3


def test_cookies_a_browser_gets(collection: Collection, hashed: str) -> None:
    options = WebOptions(secret=SECRET, password=hashed, public_url="https://public.example", secure_cookies=True)
    app = create_app(collection, options)
    door = from_address(app, "192.0.2.1")
    message = door.get("/").headers["set-cookie"].lower()
    assert message.startswith(f"{RATER_COOKIE}=")
    assert all(part in message for part in ("max-age=7776000", "samesite=lax", "secure", "httponly", "path=/"))
    message = try_password(door, PASSWORD).headers["set-cookie"].lower()
    assert message.startswith(f"{STUDY_COOKIE}=")
    assert all(part in message for part in ("max-age=43200", "samesite=strict", "secure", "httponly", "path=/"))
    response = Response()
    delete_cookie(response, options, STUDY_COOKIE)
    assert "max-age=0" in response.headers["set-cookie"].lower()
    assert "secure" in response.headers["set-cookie"].lower()


def test_a_browser_has_been_eight_raters_at_most(collection: Collection, options: WebOptions) -> None:
    door = from_address(create_app(collection, options), "192.0.2.1")
    for number in range(10):
        door.get(f"/?PROLIFIC_PID=person-{number}&STUDY_ID=s&SESSION_ID=t{number}")
        door.post("/rate/consent", json={"agreed": True})
    earlier = (Signer(SECRET).read("earlier", door.cookies[EARLIER_COOKIE]) or "").split()
    assert len(earlier) == len(set(earlier)) == 8
    assert earlier[0] == Signer(SECRET).read("rater", door.cookies[RATER_COOKIE])
    door.cookies.delete(RATER_COOKIE)
    assert door.get("/?PROLIFIC_PID=person-2").status_code == 303
    assert door.get("/?PROLIFIC_PID=person-1").status_code == 409, "the ninth person back has to prove it"


def test_a_rater_known_here_comes_in_again_without_a_second_place(collection: Collection, options: WebOptions) -> None:
    rater, _ = rate(collection, "a", most=1)
    door = from_address(create_app(collection, options), "192.0.2.1")
    door.cookies.set(RATER_COOKIE, Signer(SECRET).sign("rater", rater, 60))
    assert door.get("/").status_code == 303
    assert collection.raters().height == 1


def test_how_many_raters_used_the_browser_before_is_stored_and_nothing_else(
    collection: Collection, options: WebOptions
) -> None:
    app = create_app(collection, options)
    shared, other = from_address(app, "192.0.2.1"), from_address(app, "192.0.2.1")
    for door, person in ((shared, "a"), (shared, "b"), (shared, "a"), (other, "c")):
        assert door.get(f"/?PROLIFIC_PID={person}&STUDY_ID=s&SESSION_ID={person}").status_code == 303
    devices = collection.raters()["device"].to_list()
    assert devices == ['{"class":"computer"}', '{"class":"computer","raters_before":1}', devices[0]]
