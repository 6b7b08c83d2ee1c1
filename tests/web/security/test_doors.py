"""Who gets in where: logins, raters, programs, and what none of them may see of the others."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator

import pytest
from starlette.testclient import TestClient

from heartfelt.collect import Collection
from heartfelt.collect.messages.commands import Next, ShowTrial
from heartfelt.errors import HeartfeltError
from heartfelt.web.rater.presentation import Blinding
from heartfelt.web.requests import errors
from heartfelt.web.requests.options import WebOptions
from heartfelt.web.security.signing import RATER_COOKIE, STUDY_COOKIE, Signer
from heartfelt.web.serving.app import create_app
from tests.web.conftest import PASSWORD, SECRET, log_in
from tests.web.studies import INTENTS, SYSTEMS, rate

API = "/api/v1"


def researcher_routes(client: TestClient) -> Iterator[tuple[str, str]]:
    """Every route of the API, with names filled in."""
    for path, methods in client.get(f"{API}/openapi.json").json()["paths"].items():
        for method in methods:
            yield method.upper(), re.sub(r"\{\w+\}", "x1", path)


def test_nothing_of_the_researchers_opens_without_a_login(stranger: TestClient) -> None:
    routes = list(researcher_routes(stranger))
    assert len(routes) >= 24
    for method, path in routes:
        message = stranger.request(method, path, json={} if method in {"POST", "PATCH"} else None)
        assert message.status_code == 401, (method, path)
        assert set(message.json()) == {"problem", "fix"}
    assert stranger.get("/study").headers["location"] == "/study/login"
    assert stranger.get("/study/events").status_code == 401


def test_a_raters_cookie_opens_nothing_of_the_researchers(stranger: TestClient, collection: Collection) -> None:
    rater, _ = rate(collection, "a", most=2)
    signed = Signer(SECRET).sign("rater", rater, 60)
    for name in (RATER_COOKIE, STUDY_COOKIE):
        stranger.cookies.set(name, signed)
    for method, path in researcher_routes(stranger):
        message = stranger.request(method, path, json={} if method in {"POST", "PATCH"} else None)
        assert message.status_code == 401, (method, path)
    assert stranger.get("/study").status_code == 303
    assert stranger.get("/study/events").status_code == 401
    message = stranger.get(f"{API}/study", headers={"authorization": f"Bearer {signed}"})
    assert message.status_code == 401


def test_a_login_is_no_rater(researcher: TestClient) -> None:
    assert researcher.get("/rate/step").status_code == 401
    researcher.cookies.set(RATER_COOKIE, researcher.cookies[STUDY_COOKIE])
    assert researcher.get("/rate/step").status_code == 401
    assert researcher.post("/rate/consent", json={"agreed": True}).status_code == 401


def test_a_rater_cannot_touch_another_raters_trial(stranger: TestClient, collection: Collection) -> None:
    each, _ = rate(collection, "a", most=1)
    two, _ = rate(collection, "b", most=1)
    step = collection.do(Next(two))
    assert isinstance(step, ShowTrial)
    stranger.cookies.set(RATER_COOKIE, Signer(SECRET).sign("rater", each, 60))
    before = collection.ratings().height
    body = {"trial": step.trial, "key": "k", "values": {"valence": 1, "arousal": 1}, "heard": {}, "go_on": True}
    assert stranger.post("/rate/answer", json=body).status_code == 404
    assert stranger.post("/rate/beat", json={"trial": step.trial}).status_code == 404
    assert stranger.post("/rate/flag", json={"trial": step.trial, "reason": "x"}).status_code in {404, 422}
    assert collection.ratings().height == before
    again = collection.do(Next(two))
    assert isinstance(again, ShowTrial)
    assert again.trial == step.trial


@pytest.mark.parametrize("name", [RATER_COOKIE, STUDY_COOKIE])
@pytest.mark.parametrize("kind", ["forged", "expired", "other secret", "plain", "empty"])
def test_cookies_that_are_not_right_open_nothing(
    stranger: TestClient, collection: Collection, name: str, kind: str
) -> None:
    rater, _ = rate(collection, "a", most=1)
    purpose = "rater" if name == RATER_COOKIE else "study"
    right = Signer(SECRET).sign(purpose, rater, 60)
    cookie = {
        "forged": right[:-6] + "AAAAAA",
        "expired": Signer(SECRET, lambda: 0.0).sign(purpose, rater, 60),
        "other secret": Signer(b"not the secret of this server").sign(purpose, rater, 60),
        "plain": rater,
        "empty": "",
    }[kind]
    stranger.cookies.set(name, cookie)
    assert stranger.get("/rate/step").status_code == 401
    assert stranger.get(f"{API}/coverage").status_code == 401
    assert stranger.get("/study").headers["location"] == "/study/login"


def test_media_need_a_cookie(stranger: TestClient, collection: Collection) -> None:
    rater, _ = rate(collection, "a", most=1)
    step = collection.do(Next(rater))
    assert isinstance(step, ShowTrial)
    address = f"/media/{Blinding(SECRET, collection.study).media(step.trial, str(step.media))}"
    assert stranger.get(address).status_code == 401
    stranger.cookies.set(RATER_COOKIE, Signer(SECRET).sign("rater", rater, 60))
    assert stranger.get(address).status_code == 200
    assert stranger.get(f"/media/{step.media}").status_code == 404, "raters know media by the trial's name only"


@pytest.mark.slow
def test_a_wrong_password_does_not_let_in_and_too_many_wait(collection: Collection, hashed: str) -> None:
    options = WebOptions(secret=SECRET, password=hashed, logins_per_minute=3, access_log=False)
    with TestClient(create_app(collection, options), base_url="http://study.test", follow_redirects=False) as client:
        hidden = client.get("/study/login").text.split('name="page" value="')[1].split('"')[0]
        tried = [
            client.post("/study/login", data={"password": f"wrong {n}", "page": hidden}).status_code for n in range(5)
        ]
        assert tried == [401, 401, 401, 429, 429]
        message = client.post("/study/login", data={"password": PASSWORD, "page": hidden})
        assert message.status_code == 429
        assert int(message.headers["retry-after"]) >= 1
        assert STUDY_COOKIE not in client.cookies
        assert "Too many wrong passwords" in message.text


@pytest.mark.slow
def test_right_passwords_cost_nothing(stranger: TestClient) -> None:
    for _ in range(8):
        stranger.cookies.clear()
        log_in(stranger)


def test_the_right_password_lets_in_for_a_time(stranger: TestClient) -> None:
    log_in(stranger)
    assert stranger.get(f"{API}/coverage").status_code == 200
    assert stranger.get("/study").status_code == 200
    assert stranger.get("/study/login").headers["location"] == "/study"


@pytest.mark.slow
def test_without_a_password_nobody_gets_in(collection: Collection) -> None:
    with TestClient(
        create_app(collection, WebOptions(secret=SECRET, access_log=False)),
        base_url="http://study.test",
        follow_redirects=False,
    ) as client:
        hidden = client.get("/study/login").text.split('name="page" value="')[1].split('"')[0]
        for password in ("", "None", PASSWORD):
            assert client.post("/study/login", data={"password": password, "page": hidden}).status_code == 401


def test_changes_need_the_pages_own_token(researcher: TestClient) -> None:
    path, body = f"{API}/settings", {"cap": 7}
    token = researcher.headers.pop("x-heartfelt-token")
    assert researcher.patch(path, json=body).status_code == 403
    other = Signer(SECRET).sign("page", "another session", 60)
    for wrong in ("", "x", other, researcher.cookies[STUDY_COOKIE], token[:-4] + "AAAA"):
        assert researcher.patch(path, json=body, headers={"x-heartfelt-token": wrong}).status_code == 403, wrong
    assert researcher.get(path).json()["cap"] is None
    message = researcher.patch(path, json=body, headers={"x-heartfelt-token": token, "origin": "https://evil.test"})
    assert message.status_code == 403
    assert researcher.patch(path, json=body, headers={"x-heartfelt-token": token}).json()["cap"] == 7


def test_the_login_form_needs_its_own_token(stranger: TestClient) -> None:
    assert stranger.post("/study/login", data={"password": PASSWORD}).status_code == 403
    assert stranger.post("/study/login", data={"password": PASSWORD, "page": "x"}).status_code == 403
    assert STUDY_COOKIE not in stranger.cookies


def test_logging_out_needs_the_page_and_takes_the_cookie_back(researcher: TestClient) -> None:
    assert researcher.post("/study/logout", data={"page": "x"}).status_code == 403
    token = researcher.headers["x-heartfelt-token"]
    assert researcher.post("/study/logout", data={"page": token}).headers["location"] == "/study/login"
    assert researcher.get(f"{API}/coverage").status_code == 401


def test_raters_are_told_neither_system_nor_intent_nor_file(stranger: TestClient, collection: Collection) -> None:
    """Everything a rater's browser is sent, headers included, from the door to the end."""
    hidden = re.compile("|".join([*SYSTEMS, *INTENTS, r"\.wav", "stimuli.csv", str(collection.folder)]), re.IGNORECASE)
    seen = [stranger.get("/"), stranger.get("/rate")]
    scripts = set(re.findall(r'(?:src|href)="([^"]+)"', seen[-1].text))
    seen += [stranger.get(link) for link in scripts if link.startswith("/")]
    step = stranger.get("/rate/step")
    seen.append(step)
    now, trials = step.json()["step"], 0
    while now["kind"] != "end":
        if now["kind"] == "trial":
            trials += 1
            seen.append(stranger.get(f"/media/{now['media']}"))
            body = {
                "trial": now["trial"],
                "key": f"k{trials}",
                "values": dict.fromkeys(now["questions"], 5),
                "go_on": True,
            }
            message = stranger.post("/rate/answer", json={**body, "heard": {"plays": 1, "seconds": 2.0}})
            now = message.json()["then"]
        elif now["kind"] == "consent":
            message = stranger.post("/rate/consent", json={"agreed": True})
            now = message.json()["step"]
        else:
            message = stranger.post("/rate/ready", json={})
            now = message.json()["step"]
        seen.append(message)
    assert trials == 12
    assert len(seen) > 30
    for response in seen:
        assert response.status_code < 400, response.url
        result = hidden.search(str(response.headers)) or hidden.search(response.content.decode("latin-1"))
        assert result is None, (response.url, result)


@pytest.mark.slow
def test_secrets_stay_out_of_the_log(
    stranger: TestClient, collection: Collection, options: WebOptions, caplog: pytest.LogCaptureFixture
) -> None:
    loud = WebOptions(secret=SECRET, password=options.password)
    with (
        caplog.at_level(logging.DEBUG),
        TestClient(create_app(collection, loud), base_url="http://study.test", follow_redirects=False) as client,
    ):
        client.get("/?PROLIFIC_PID=person-5f3a&STUDY_ID=s1&SESSION_ID=t1")
        log_in(client)
        token = client.post(f"{API}/tokens", json={"name": "x"}).json()["token"]
        link = client.post(f"{API}/invitations", json={"count": 1}).json()["invitations"][0]["link"]
        client.get(link)
        cookies = [cookie.value for cookie in client.cookies.jar]
    lines = "\n".join(
        f"{record.name} {record.getMessage()}" for record in caplog.records if not record.name.startswith("http")
    )
    assert "GET /study 200" in lines
    for secret in ("person-5f3a", PASSWORD, token, link.rsplit("/", 1)[-1], SECRET.decode(), *filter(None, cookies)):
        assert secret not in lines


def test_headers_are_on_every_answer(stranger: TestClient, researcher: TestClient) -> None:
    paths = ["/", "/rate", "/study", "/study/login", f"{API}/coverage", f"{API}/docs", f"{API}/openapi.json", "/nothing",
             "/static/study/main.js", "/static/study/../../app.py", "/media/x", "/i/x"]  # fmt: skip
    for path in paths:
        response = researcher.get(path)
        assert response.status_code < 500
        assert "script-src 'self'" in response.headers["content-security-policy"], path
        assert response.headers["x-content-type-options"] == "nosniff"
        assert response.headers["cache-control"], path
        if "text/html" in response.headers.get("content-type", ""):
            assert not re.search(
                r"<script(?![^>]*\b(?:src=|type=\"application/json\"))|<style|\sstyle=|\son\w+=", response.text
            ), path
    assert researcher.get("/static/study/../../app.py").status_code == 404


def test_people_get_pages_and_programs_get_json(stranger: TestClient) -> None:
    page = stranger.get("/nothing", headers={"accept": "text/html,*/*"})
    assert page.status_code == 404
    assert "<h1>There is nothing here.</h1>" in page.text
    assert (
        stranger.get("/nothing", headers={"accept": "application/json"}).json()["problem"] == "There is nothing here."
    )
    message = stranger.get(f"{API}/coverage", headers={"accept": "text/html,*/*"})
    assert message.json()["problem"] == "This needs a login."


@pytest.mark.slow
def test_a_fault_is_told_without_its_inside(
    collection: Collection, options: WebOptions, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken() -> None:
        raise RuntimeError("the inside of the server")

    app = create_app(collection, options)
    with TestClient(app, base_url="http://study.test", raise_server_exceptions=False, follow_redirects=False) as client:
        log_in(client)
        monkeypatch.setattr(collection, "coverage", broken)
        message = client.get(f"{API}/coverage")
    assert message.status_code == 500
    assert "inside" not in message.text
    reference = re.search(r"reference (\w+)", message.json()["problem"])
    assert reference
    assert reference[1] in caplog.text
    assert "content-security-policy" in message.headers


def test_a_store_that_is_away_is_a_503_to_try_again(
    researcher: TestClient, collection: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    from heartfelt.collect.messages.errors import store_unavailable

    def away() -> None:
        raise store_unavailable("connection to db.internal refused")

    monkeypatch.setattr(collection, "coverage", away)
    message = researcher.get(f"{API}/coverage")
    assert message.status_code == 503
    assert int(message.headers["retry-after"]) >= 1
    assert "db.internal" not in message.text


def test_every_error_of_the_collection_has_its_status() -> None:
    from heartfelt.collect.messages import errors as collect

    expected = {"StoreUnavailable": 503, "UnknownRater": 404, "TrialNotFound": 404, "TrialClosed": 409, "InvalidAnswer": 422,
                "MissingAnswer": 422, "StudyClosed": 409, "StudyFull": 409, "StudyBusy": 409,
                "StartedElsewhere": 409, "StoreDamaged": 507, "UnknownAdjudicator": 401, "DecidedElsewhere": 409,
                "MediaChanged": 409, "PageAnswered": 409}  # fmt: skip
    results = {
        name: errors.status_of(kind("p", "f"))
        for name, kind in vars(collect).items()
        if isinstance(kind, type) and issubclass(kind, HeartfeltError) and kind.__module__ == collect.__name__
    }
    assert results == expected


@pytest.mark.slow
@pytest.mark.parametrize("strips", [True, False])
def test_everything_works_under_a_prefix(collection: Collection, hashed: str, strips: bool) -> None:
    prefix = "/lab/one"
    options = WebOptions(secret=SECRET, password=hashed, prefix=prefix, access_log=False)
    with TestClient(create_app(collection, options), base_url="http://study.test", follow_redirects=False) as client:
        before = "" if strips else prefix
        assert client.get(f"{before}/study").headers["location"] == f"{prefix}/study/login"
        assert client.get(f"{before}/").headers["location"] == f"{prefix}/rate"
        page = client.get(f"{prefix}/study/login").text
        assert f'action="{prefix}/study/login"' in page
        log_in(client, prefix)
        assert (
            "Path=/lab/one"
            in client.post(
                f"{prefix}/study/login",
                data={"password": PASSWORD, "page": page.split('name="page" value="')[1].split('"')[0]},
            ).headers["set-cookie"]
        )
        shown = client.get(f"{prefix}/study").text
        for link in re.findall(r'(?:src|href)="(/[^"]+)"', shown):
            assert link.startswith(prefix)
            path = link.removeprefix(prefix) if strips else link
            assert client.get(path, follow_redirects=True).status_code == 200, link
        message = client.get(f"{prefix}{API}/study").json()
        assert message["links"]["open"] == f"http://study.test{prefix}/"
        described = client.get(f"{before}{API}/openapi.json").json()
        assert described["servers"] == [{"url": prefix}]
