"""The exact limits of access control: expiry, throttling, origins, addresses, sizes. Fake clocks, several addresses."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import pytest
from starlette.responses import Response
from starlette.testclient import TestClient
from starlette.types import ASGIApp
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from heartfelt.collect import Collection
from heartfelt.errors import InputError, UnknownNameError
from heartfelt.web import serve as serving
from heartfelt.web.app import create_app
from heartfelt.web.options import WebOptions
from heartfelt.web.security import access, guard, signing
from heartfelt.web.security.access import TOKEN_DAYS, EndedLogins, Tokens
from heartfelt.web.security.guard import RateLimit
from heartfelt.web.security.signing import (
    EARLIER_COOKIE,
    RATER_COOKIE,
    STUDY_COOKIE,
    STUDY_SECONDS,
    Signer,
    delete_cookie,
    hash_password,
    is_password,
    load_keys,
)
from heartfelt.web.serve import ServeOptions, web_options
from tests.web.conftest import PASSWORD, SECRET, log_in
from tests.web.security.test_cookies import Clock
from tests.web.security.test_guard import JSON, client
from tests.web.studies import rate

API = "/api/v1"
DAY = 86400.0


def from_address(app: ASGIApp, address: str, **headers: str) -> TestClient:
    """A browser at an address."""
    return TestClient(
        app,
        base_url="http://study.test",
        follow_redirects=False,
        raise_server_exceptions=False,
        client=(address, 50000),
        headers=headers,
    )


# --- tokens -----------------------------------------------------------------------------------------------------------


def test_a_token_works_until_the_second_it_expires(collection: Collection) -> None:
    clock = Clock()
    tokens = Tokens(collection, clock)
    made = tokens.make("short", days=2)
    assert (made.token.made, made.token.expires) == (1_000_000.0, 1_000_000.0 + 2 * DAY)
    clock.now = made.token.expires - 0.001
    assert tokens.find(made.text) == made.token
    assert [token.id for token in tokens.all()] == [made.token.id]
    clock.now = made.token.expires
    assert tokens.find(made.text) is None
    assert tokens.all() == []
    with pytest.raises(UnknownNameError):
        tokens.revoke(made.token.id)


def test_a_token_lasts_a_year_unless_told_otherwise(collection: Collection) -> None:
    made = Tokens(collection, Clock()).make("default").token
    assert TOKEN_DAYS == 365
    assert made.expires - made.made == 365 * DAY


def test_a_new_token_leaves_the_older_ones_working(collection: Collection) -> None:
    tokens = Tokens(collection, Clock())
    made = [tokens.make(name) for name in ("one", "two", "three")]
    assert [token.name for token in tokens.all()] == ["one", "two", "three"]
    assert [tokens.find(token.text) for token in made] == [token.token for token in made]
    tokens.revoke(made[1].token.id)
    assert [token.name for token in tokens.all()] == ["one", "three"]
    assert tokens.find(made[1].text) is None
    four = tokens.make("four")
    assert [token.name for token in tokens.all()] == ["one", "three", "four"]
    assert [tokens.find(token.text) is not None for token in (*made, four)] == [True, False, True, True]
    with pytest.raises(UnknownNameError):
        tokens.revoke(made[1].token.id)


def test_a_token_is_its_id_and_its_own_secret(collection: Collection) -> None:
    tokens = Tokens(collection, Clock())
    each, two = tokens.make("one"), tokens.make("two")
    mark, id, secret = each.text.split("_", 2)
    other = two.text.split("_", 2)[2]
    assert (mark, id, len(secret)) == ("hf", each.token.id, 43)
    wrong = [f"hf_{id}_{other}", f"hx_{id}_{secret}", f"hf_{id}_", f"hf_{id}", f"hf__{secret}", secret, ""]
    wrong += [f"hf_{id}_{secret[:-1]}", f"hf_{id}_{secret}x", each.text.upper(), f"hf_{id}_{each.token.hash}"]
    assert [tokens.find(text) for text in wrong] == [None] * len(wrong)
    assert each.token.hash not in each.text
    assert len({each.token.hash, two.token.hash}) == 2


def test_a_text_too_long_for_a_token_is_not_looked_up(
    collection: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    tokens = Tokens(collection, Clock())
    asked: list[str] = []
    known = collection.value

    def look_up(name: str) -> str | None:
        asked.append(name)
        return known(name)

    monkeypatch.setattr(collection, "value", look_up)
    assert tokens.find("hf_" + "x" * 196 + "_" + "y") is None
    assert asked == []
    assert tokens.find("hf_" + "x" * 195 + "_" + "y") is None
    assert asked == ["tokens"]


@pytest.mark.parametrize(
    ("name", "works"), [("x", True), ("x" * 100, True), ("x" * 101, False), ("  ", False)]
)
def test_a_tokens_name_has_1_to_100_characters(collection: Collection, name: str, works: bool) -> None:
    tokens = Tokens(collection, Clock())
    if works:
        assert tokens.make(name).token.name == name
        assert tokens.make(" x ").token.name == "x"
        return
    with pytest.raises(InputError, match="1 to 100"):
        tokens.make(name)
    assert tokens.all() == []


def test_an_expired_token_opens_nothing_of_the_api(collection: Collection, options: WebOptions) -> None:
    app = create_app(collection, options)
    old = Tokens(collection, lambda: time.time() - 365 * DAY - 60).make("old").text
    young = Tokens(collection, lambda: time.time() - 365 * DAY + 600).make("young").text
    door = from_address(app, "192.0.2.1")
    for token, status in ((old, 401), (young, 200)):
        message = door.get(f"{API}/study", headers={"authorization": f"Bearer {token}"})
        assert message.status_code == status
    assert "expired" in door.get(f"{API}/study", headers={"authorization": f"Bearer {old}"}).json()["problem"]
    assert door.get(f"{API}/study", headers={"authorization": f"Basic {young}"}).status_code == 401
    assert door.get(f"{API}/study", headers={"authorization": f"bearer {young}"}).status_code == 200


def test_a_token_may_change_things_without_a_page(collection: Collection, options: WebOptions) -> None:
    token = Tokens(collection).make("program").text
    door = from_address(create_app(collection, options), "192.0.2.1", authorization=f"Bearer {token}")
    assert door.patch(f"{API}/settings", json={"cap": 7}).json()["cap"] == 7


def test_wrong_tokens_are_counted_by_address_and_right_ones_are_not(
    collection: Collection, options: WebOptions
) -> None:
    assert WebOptions(SECRET).wrong_tokens_per_minute == 30
    app = create_app(collection, options)
    app.state.token_limit = RateLimit(3, clock := Clock())
    right = {"authorization": f"Bearer {Tokens(collection).make('right').text}"}
    wrong = {"authorization": "Bearer hf_0_0"}
    here, there = from_address(app, "192.0.2.1"), from_address(app, "192.0.2.2")
    assert [here.get(f"{API}/study", headers=right).status_code for _ in range(5)] == [200] * 5
    assert [here.get(f"{API}/study", headers=wrong).status_code for _ in range(4)] == [401, 401, 401, 429]
    message = here.get(f"{API}/study", headers=right)
    assert (message.status_code, message.headers["retry-after"]) == (429, "21")
    assert "21 seconds" in message.json()["fix"]
    assert there.get(f"{API}/study", headers=right).status_code == 200
    assert there.get(f"{API}/study", headers=wrong).status_code == 401
    clock.now += 19.999
    assert here.get(f"{API}/study", headers=right).status_code == 429
    clock.now += 0.002
    assert here.get(f"{API}/study", headers=right).status_code == 200


# --- logins -----------------------------------------------------------------------------------------------------------


def try_password(door: TestClient, password: str, **headers: str) -> Response:
    door.cookies.clear()
    hidden = door.get("/study/login").text.split('name="page" value="')[1].split('"')[0]
    message: Response = door.post(
        "/study/login", data={"password": password, "page": hidden}, headers=headers
    )  # type: ignore[assignment]  # the test client's own response class
    return message


def test_wrong_passwords_are_counted_by_address(
    collection: Collection, options: WebOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert WebOptions(SECRET).logins_per_minute == 6
    monkeypatch.setattr(access, "is_password", lambda _, given: given == PASSWORD)
    app = create_app(collection, options)
    assert app.state.login_limit.per_minute == 6
    app.state.login_limit = RateLimit(6, clock := Clock())
    here, there = from_address(app, "192.0.2.1"), from_address(app, "192.0.2.2")
    assert [try_password(here, "no").status_code for _ in range(8)] == [401] * 6 + [429] * 2
    message = try_password(here, PASSWORD)
    assert (message.status_code, message.headers["retry-after"]) == (429, "11")
    assert try_password(there, PASSWORD).status_code == 303
    clock.now += 9.999
    assert try_password(here, PASSWORD).status_code == 429
    clock.now += 0.002
    assert try_password(here, PASSWORD).status_code == 303
    assert try_password(here, "no").status_code == 401, "the right one was given back"
    assert try_password(here, "no").status_code == 429


def test_a_login_lasts_twelve_hours(collection: Collection, options: WebOptions) -> None:
    app = create_app(collection, options)
    clock = Clock()
    app.state.signer = Signer(SECRET, clock)
    door = from_address(app, "192.0.2.1")
    log_in(door)
    clock.now += 12 * 3600 - 1
    assert door.get(f"{API}/study").status_code == 200
    assert door.patch(f"{API}/settings", json={"cap": 3}).status_code == 200
    clock.now += 1
    assert door.get(f"{API}/study").status_code == 401
    assert door.get("/study").headers["location"] == "/study/login"
    log_in(door)
    fresh = door.headers["x-heartfelt-token"]
    clock.now += 6 * 3600
    assert (
        door.patch(f"{API}/settings", json={"cap": 4}, headers={"x-heartfelt-token": fresh}).status_code
        == 200
    )


def test_a_page_of_one_login_does_not_speak_for_another(collection: Collection, options: WebOptions) -> None:
    app = create_app(collection, options)
    each, two = log_in(from_address(app, "192.0.2.1")), log_in(from_address(app, "192.0.2.2"))
    foreign = {"x-heartfelt-token": each.headers["x-heartfelt-token"]}
    before_login = {"x-heartfelt-token": Signer(SECRET).sign("page", "before login", 60)}
    for headers in (foreign, before_login, {"x-heartfelt-token": str(two.cookies[STUDY_COOKIE])}):
        for method, path in (("PATCH", "settings"), ("POST", "tokens"), ("POST", "invitations")):
            assert two.request(method, f"{API}/{path}", json={}, headers=headers).status_code == 403
        assert two.post("/study/logout", data={"page": headers["x-heartfelt-token"]}).status_code == 403
    assert two.get(f"{API}/study", headers=foreign).status_code == 200, "reading needs no page"


def test_a_login_comes_from_the_login_page(stranger: TestClient) -> None:
    for page in ("", "x", Signer(SECRET).sign("page", "a session", 60)):
        message = stranger.post("/study/login", data={"password": PASSWORD, "page": page})
        assert message.status_code == 403
        assert STUDY_COOKIE not in stranger.cookies


def test_the_login_form_is_open_for_twelve_hours(collection: Collection, options: WebOptions) -> None:
    app = create_app(collection, options)
    clock = Clock()
    app.state.signer = Signer(SECRET, clock)
    door = from_address(app, "192.0.2.1")
    hidden = door.get("/study/login").text.split('name="page" value="')[1].split('"')[0]
    clock.now += 12 * 3600 - 1
    assert door.post("/study/login", data={"password": PASSWORD, "page": hidden}).status_code == 303
    door.cookies.clear()
    clock.now += 1
    assert door.post("/study/login", data={"password": PASSWORD, "page": hidden}).status_code == 403


def test_logged_out_logins_are_remembered_as_long_as_their_cookies(
    collection: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock()
    logins = EndedLogins(collection, clock)
    looks: list[float] = []
    daemons: list[bool] = []

    def start(thread: threading.Thread) -> None:
        looks.append(clock.now)
        daemons.append(thread.daemon)

    monkeypatch.setattr("threading.Thread.start", start)
    logins.end("session", STUDY_SECONDS)
    assert logins.has_ended("session")
    assert not logins.has_ended("sessio")
    assert "session" not in str(collection.values_with_prefix(""))
    clock.now += 2.0
    logins.has_ended("session")
    assert looks == []
    clock.now += 0.001
    logins.has_ended("session")
    logins.has_ended("session")
    assert looks == [clock.now], "one look at a time"
    assert daemons == [True], "no look holds up the end of the process"
    clock.now = 1_000_000.0 + STUDY_SECONDS - 1
    assert EndedLogins(collection, clock).has_ended("session")
    clock.now += 1
    assert not EndedLogins(collection, clock).has_ended("session")


# --- passwords and keys -----------------------------------------------------------------------------------------------


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


# --- cookies ----------------------------------------------------------------------------------------------------------


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
    monkeypatch.setattr(signing, "_REMEMBERED", 3)
    signer = Signer(SECRET, Clock())
    for number in range(7):
        assert signer.read("rater", signer.sign("rater", str(number), 60)) == str(number)
        assert len(signer._known) <= 3


def test_cookies_a_browser_gets(collection: Collection, hashed: str) -> None:
    options = WebOptions(SECRET, password=hashed, public_url="https://public.example", secure_cookies=True)
    app = create_app(collection, options)
    door = from_address(app, "192.0.2.1")
    message = door.get("/").headers["set-cookie"].lower()
    assert message.startswith(f"{RATER_COOKIE}=")
    assert all(
        part in message for part in ("max-age=7776000", "samesite=lax", "secure", "httponly", "path=/")
    )
    message = try_password(door, PASSWORD).headers["set-cookie"].lower()
    assert message.startswith(f"{STUDY_COOKIE}=")
    assert all(
        part in message for part in ("max-age=43200", "samesite=strict", "secure", "httponly", "path=/")
    )
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


# --- origins ----------------------------------------------------------------------------------------------------------

HOSTILE = [
    "https://public.example.evil",
    "https://public.example.evil:443",
    "https://evilpublic.example",
    "https://evil.public.example",
    "https://public.exampl",
    "http://public.example",
    "https://public.example:8443",
    "https://public.example@evil.example",
    "https://public.example:x@evil.example",
    "https://evil.example/https://public.example",
    "https://evil.example#https://public.example",
    "https://evil.example?https://public.example",
    "https://PUBLIC.example.evil",
    "ftp://public.example",
    "//public.example.evil",
    "public.example.evil",
    "file://",
    "null",
    "NULL",
    " ",
]


@pytest.mark.parametrize("site", [None, "cross-site", "same-site", "", "Same-Origin?"])
@pytest.mark.parametrize("origin", HOSTILE)
def test_another_origin_is_turned_away(origin: str, site: str | None) -> None:
    door = client(WebOptions(SECRET, public_url="https://public.example/one", access_log=False))
    headers = JSON | {"origin": origin} | ({} if site is None else {"sec-fetch-site": site})
    assert door.post("/here", content=b"{}", headers=headers).status_code == 403


@pytest.mark.parametrize(
    "origin", [*HOSTILE, "https://public.example", "http://study.test.evil", "http://study.test:81"]
)
def test_without_a_public_address_only_the_host_itself_is_home(origin: str) -> None:
    door = client(WebOptions(SECRET, access_log=False))
    assert door.post("/here", content=b"{}", headers=JSON | {"origin": origin}).status_code == 403


@pytest.mark.parametrize(
    ("host", "origin", "passes"),
    [
        ("study.test:8000", "http://study.test:8000", True),
        ("study.test:8000", "http://study.test", False),
        ("study.test", "http://study.test:8000", False),
        ("[::1]:8000", "http://[::1]:8000", True),
        ("study.test", "http://study.test", True),
        ("public.example", "https://public.example", True),
        ("public.example", "http://public.example", False),
        ("", "null", False),
    ],
)
def test_the_port_is_part_of_the_origin(host: str, origin: str, passes: bool) -> None:
    door = client(WebOptions(SECRET, public_url="https://public.example", access_log=False))
    message = door.post("/here", content=b"{}", headers=JSON | {"origin": origin, "host": host})
    assert (message.status_code == 200) == passes


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
def test_every_method_that_changes_something_is_held_to_its_origin(method: str) -> None:
    door = client()
    assert door.request(method, "/here", headers={"origin": "https://evil.example"}).status_code == 403
    assert door.request(method, "/here", headers={"origin": "http://study.test"}).status_code in {200, 405}


@pytest.mark.parametrize("said", ["Basic x", "Bearer", "bearerx y", " Bearer x", "Token Bearer x"])
def test_only_a_bearer_token_stands_for_an_origin(said: str) -> None:
    headers = {"origin": "https://evil.example", "authorization": said}
    assert client().post("/here", content=b"{}", headers=JSON | headers).status_code == 403


def test_forms_are_held_to_their_origin_too(stranger: TestClient) -> None:
    assert try_password(stranger, PASSWORD, origin="https://study.test.evil").status_code == 403
    assert STUDY_COOKIE not in stranger.cookies


# --- addresses --------------------------------------------------------------------------------------------------------


def guarded(**limits: int) -> tuple[ASGIApp, Clock]:
    """A small guarded application whose limits go by a fake clock."""
    options = WebOptions(SECRET, access_log=False, **limits)  # type: ignore[arg-type]  # limits by name
    app = client(options).app
    clock = Clock()
    built = app.build_middleware_stack()  # type: ignore[attr-defined]  # a Starlette application
    app.middleware_stack = built  # type: ignore[attr-defined]
    guard = built
    while not hasattr(guard, "_addresses"):
        guard = guard.app
    guard._addresses._clock = guard._raters._clock = clock
    return app, clock


def test_every_address_has_a_bucket_of_its_own() -> None:
    app, clock = guarded(address_per_minute=3)
    here, there = from_address(app, "192.0.2.1"), from_address(app, "192.0.2.2")
    assert [here.get("/here").status_code for _ in range(4)] == [200, 200, 200, 429]
    assert [there.get("/here").status_code for _ in range(4)] == [200, 200, 200, 429]
    assert here.get("/here").headers["retry-after"] == "21"
    assert from_address(app, "2001:db8::1").get("/here").status_code == 200
    clock.now += 19.999
    assert here.get("/here").status_code == 429
    clock.now += 0.002
    assert [here.get("/here").status_code for _ in range(2)] == [200, 429]
    assert there.get("/here").status_code == 200
    clock.now += 600
    assert [here.get("/here").status_code for _ in range(4)] == [200, 200, 200, 429], (
        "no more than a minute's"
    )


def test_raters_are_counted_by_themselves_and_strangers_by_address() -> None:
    app, _ = guarded(address_per_minute=2, rater_per_minute=3)
    door = from_address(app, "192.0.2.1")
    each, two = ({"cookie": f"{RATER_COOKIE}={Signer(SECRET).sign('rater', name, 60)}"} for name in "ab")
    assert [door.get("/here", headers=each).status_code for _ in range(4)] == [200, 200, 200, 429]
    elsewhere = from_address(app, "192.0.2.2")
    assert elsewhere.get("/here", headers=each).status_code == 429, (
        "a rater has one bucket, wherever they are"
    )
    assert [door.get("/here", headers=two).status_code for _ in range(4)] == [200, 200, 200, 429]
    assert [door.get("/here").status_code for _ in range(3)] == [200, 200, 429]
    forged = {"cookie": f"{RATER_COOKIE}={Signer(b'some other secret').sign('rater', 'c', 60)}"}
    expired = {"cookie": f"{RATER_COOKIE}={Signer(SECRET, lambda: 0.0).sign('rater', 'c', 60)}"}
    login_cookie = {"cookie": f"{RATER_COOKIE}={Signer(SECRET).sign('study', 'c', 60)}"}
    for headers in (forged, expired, login_cookie):
        assert door.get("/here", headers=headers).status_code == 429, "no rater: counted with the address"
    quoted = {"cookie": f'a=b; {RATER_COOKIE}="{Signer(SECRET).sign("rater", "d", 60)}"; c=d'}
    assert door.get("/here", headers=quoted).status_code == 200


@pytest.mark.parametrize("path", ["/static/x/deep", "/media/x"])
def test_files_and_media_are_not_counted(path: str) -> None:
    app, _ = guarded(address_per_minute=1)
    door = from_address(app, "192.0.2.1")
    assert {door.get(path).status_code for _ in range(5)} & {429} == set()
    assert [door.get("/here").status_code for _ in range(2)] == [200, 429]
    assert door.get("/mediax").status_code == 429


def test_forwarded_addresses_count_only_behind_a_proxy_that_is_trusted() -> None:
    app, _ = guarded(address_per_minute=2)

    def statuses(door: TestClient, forwarded: str, count: int) -> list[int]:
        return [door.get("/here", headers={"x-forwarded-for": forwarded}).status_code for _ in range(count)]

    plain = from_address(app, "192.0.2.1")
    assert [statuses(plain, f"198.51.100.{n}", 1)[0] for n in range(3)] == [200, 200, 429]
    behind = ProxyHeadersMiddleware(app, trusted_hosts="10.0.0.1")  # type: ignore[arg-type]  # uvicorn's own ASGI types
    stranger = from_address(behind, "192.0.2.9")  # type: ignore[arg-type]
    assert [statuses(stranger, f"198.51.100.{n}", 1)[0] for n in range(3)] == [200, 200, 429]
    proxy = from_address(behind, "10.0.0.1")  # type: ignore[arg-type]
    assert statuses(proxy, "203.0.113.1", 3) == [200, 200, 429]
    assert statuses(proxy, "203.0.113.2", 3) == [200, 200, 429]
    assert statuses(proxy, "203.0.113.3, 203.0.113.1", 1) == [429], (
        "what came before the proxy is not believed"
    )


@pytest.mark.parametrize("proxy", [None, "10.0.0.1", "10.0.0.1,10.0.0.2"])
def test_the_server_trusts_the_proxies_it_was_told_of(
    folder: object, proxy: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    import uvicorn

    started: list[dict[str, object]] = []
    monkeypatch.setattr(uvicorn, "run", lambda _, **options: started.append(options))
    monkeypatch.delenv("HEARTFELT_SERVE", raising=False)
    monkeypatch.setenv("HEARTFELT_SERVE", "")
    serving.serve(folder, ServeOptions(proxy=proxy))  # type: ignore[arg-type]  # a folder
    options = started[0]
    assert options["proxy_headers"] is (proxy is not None)
    assert options["forwarded_allow_ips"] == proxy
    assert (options["host"], options["port"], options["server_header"]) == ("127.0.0.1", 8000, False)


def test_the_limits_that_are_served() -> None:
    keys = type("Keys", (), {"secret": SECRET, "password": "hash"})()
    made: Callable[[ServeOptions], WebOptions] = lambda options: web_options(options, keys)  # noqa: E731
    plain = made(ServeOptions())
    assert (plain.address_per_minute, plain.rater_per_minute, plain.body_limit) == (3000, 240, 1_048_576)
    assert (plain.secure_cookies, plain.prefix, plain.origin) == (False, "", None)
    public = made(
        ServeOptions(url="https://public.example:8443/one/", rater_per_minute=9, address_per_minute=8)
    )
    assert (public.address_per_minute, public.rater_per_minute) == (8, 9)
    assert (public.secure_cookies, public.prefix) == (True, "/one")
    assert public.origin == "https://public.example:8443"
    assert not made(ServeOptions(url="http://public.example")).secure_cookies


def test_a_bucket_is_forgotten_only_when_there_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard, "MOST_KEYS", 3)
    limit = RateLimit(1, Clock())
    for key in "abc":
        assert limit.take(key) == 0.0
    assert [limit.take(key) for key in "abc"] == [60.0] * 3
    assert limit.take("d") == 0.0
    assert limit.wait("b") == 60.0
    assert limit.wait("a") == 0.0, "the one that was longest not seen"
    assert limit.wait("e") == 0.0
    assert len(limit._buckets) == 3, "looking takes no bucket"


def test_part_of_a_minute_fills_part_of_a_bucket() -> None:
    clock = Clock()
    limit = RateLimit(4, clock)
    assert [limit.take("a") for _ in range(5)] == [0.0, 0.0, 0.0, 0.0, 15.0]
    clock.now += 6
    assert limit.take("a") == pytest.approx(9.0)
    assert limit.wait("a") == pytest.approx(9.0)
    clock.now += 9
    assert limit.take("a") == 0.0
    limit.give_back("a")
    assert limit.take("a") == 0.0
    assert limit.take("a") == pytest.approx(15.0)
    clock.now += 3600
    limit.give_back("a")
    assert [limit.take("a") for _ in range(5)] == [0.0, 0.0, 0.0, 0.0, 15.0]


# --- sizes ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("size", "works"), [(15, False), (16, True)])
def test_the_secret_has_sixteen_bytes(size: int, works: bool) -> None:
    if works:
        assert WebOptions(b"x" * size).secret
        return
    with pytest.raises(InputError, match="too short"):
        WebOptions(b"x" * size)


@pytest.mark.parametrize("address", ["public.example", "ftp://public.example", "//public.example", ""])
def test_a_public_address_is_a_web_address(address: str) -> None:
    with pytest.raises(InputError, match="web address"):
        WebOptions(SECRET, public_url=address)


@pytest.mark.parametrize("prefix", ["one", "/one/", "//one", "/one//two", "/"])
def test_a_prefix_is_a_path(prefix: str) -> None:
    with pytest.raises(InputError, match="not a path"):
        WebOptions(SECRET, prefix=prefix)


def test_a_body_of_exactly_the_limit_is_read() -> None:
    door = client()
    assert door.post("/here", content=b"x" * 1_048_576, headers=JSON).status_code == 200
    assert door.post("/here", content=b"x" * 1_048_577, headers=JSON).status_code == 413


@pytest.mark.parametrize("path", ["/study/login", "/study/logout"])
def test_forms_are_read_at_these_addresses_only(stranger: TestClient, path: str) -> None:
    form = {"content-type": "application/x-www-form-urlencoded; charset=utf-8"}
    assert stranger.post(path, content=b"page=x", headers=form).status_code in {303, 403}
    assert stranger.post(f"{path}x", content=b"page=x", headers=form).status_code == 415
    assert stranger.post("/rate/consent", content=b"agreed=true", headers=form).status_code == 415


def test_a_rater_known_here_comes_in_again_without_a_second_place(
    collection: Collection, options: WebOptions
) -> None:
    rater, _ = rate(collection, "a", most=1)
    door = from_address(create_app(collection, options), "192.0.2.1")
    door.cookies.set(RATER_COOKIE, Signer(SECRET).sign("rater", rater, 60))
    assert door.get("/").status_code == 303
    assert collection.raters().height == 1
