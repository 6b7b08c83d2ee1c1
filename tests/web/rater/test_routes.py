"""The JSON routes: what is refused, with which status and words, and that a cookie opens one rater's door only."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest
from starlette.testclient import TestClient

from heartfelt.collect import Collection, CollectOptions
from heartfelt.web.rater.routes import MAX_TEXT_LENGTH
from heartfelt.web.requests.options import WebOptions
from heartfelt.web.security.signing import RATER_COOKIE, Signer
from heartfelt.web.serving.app import create_app
from tests.cases import check_all
from tests.collect.people import write_study
from tests.web.rater.studies import small_study

SECRET = b"a secret for the tests of the routes"


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Collection]:
    folder = tmp_path_factory.mktemp("routes") / "study"
    small_study("aimoclips", folder, count=6, design={"practice": 0, "ratings_per_item": 40})
    with Collection.open(folder, options=CollectOptions(seed=3, durable=False)) as opened:
        yield opened


@pytest.fixture
def client(collection: Collection) -> Iterator[TestClient]:
    options = WebOptions(secret=SECRET, address_per_minute=0, rater_per_minute=0, access_log=False)
    with TestClient(create_app(collection, options), base_url="http://127.0.0.1") as made:
        yield made


def enter(client: TestClient) -> dict[str, Any]:
    """A new rater at their first trial."""
    client.cookies.clear()
    assert client.get("/").status_code == 200
    client.post("/rate/consent", json={"agreed": True})
    client.post("/rate/demographics", json={"answers": {"age": 30, "gender": "other"}})
    step: dict[str, Any] = client.post("/rate/ready", json={}).json()["step"]
    assert (step["kind"], step["sort"]) == ("trial", "rating")
    return step


def good(step: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """An answer, with questions under the names they have in the trial."""
    body = {"trial": step["trial"], "key": "k" * 32, "values": {"valence": 3, "arousal": 9}, **changes}
    text = orjson.dumps(body, option=orjson.OPT_NON_STR_KEYS).decode()
    for name, message in zip(("valence", "arousal"), step["questions"], strict=True):
        text = text.replace(f'"{name}"', f'"{message}"')
    named: dict[str, Any] = orjson.loads(text)
    return named


def refused(response: Any, status: int) -> str:
    assert response.status_code == status, response.text
    message = response.json()
    assert set(message) == {"problem", "fix"}
    assert message["fix"]
    return str(message["problem"])


def test_an_answer_brings_the_next_step(client: TestClient, collection: Collection) -> None:
    step = enter(client)
    heard = {
        "seconds": 2.5, "first_play": 0.5, "plays": 1, "intervals": [[0, 0.5]], "focus_losses": 2,
        "changes": [[1.5, "valence", "3"]], "device": "phone", "began": 1.7e9,
    }  # fmt: skip
    message = client.post("/rate/answer", json=good(step, heard=heard, comment="soft")).json()
    assert (message["status"], message["then"]["kind"], message["then"]["number"]) == ("stored", "trial", 2)
    again = client.post("/rate/answer", json=good(step)).json()
    assert (again["status"], again["then"]["trial"]) == ("already", message["then"]["trial"])
    quiet = client.post("/rate/answer", json=good(message["then"], go_on=False)).json()
    assert (quiet["status"], quiet["then"]) == ("stored", None)
    assert client.get("/rate/step").json()["step"]["number"] == 3
    assert (
        client.post("/rate/beat", json={"trial": client.get("/rate/step").json()["step"]["trial"]}).json()["seconds"]
        > 60
    )
    stored = collection.ratings().filter(trial=int(step["trial"])).to_dicts()
    assert {(row["question"], row["value"]) for row in stored} == {("valence", 3.0), ("arousal", 9.0)}
    assert {(r["seconds"], r["plays"], r["focus_losses"], r["device"], r["comment"]) for r in stored} == {
        (2.5, 1, 2, "phone", "soft")
    }


@check_all(
    ("changes", "words"),
    [
        ({"trial": 5}, "trial"),
        ({"trial": ""}, "trial"),
        ({"key": None}, "key"),
        ({"key": "k" * 81}, "key"),
        ({"values": [1]}, "values"),
        ({"values": {"valence": {"deep": 1}}}, "valence"),
        ({"values": {"valence": [1, 2]}}, "valence"),
        ({"values": {"valence": "x" * (MAX_TEXT_LENGTH + 1)}}, "valence"),
        ({"values": {"valence": "a\x00b"}}, "valence"),
        ({"values": {"valence": 10, "arousal": 1}}, "valence"),
        ({"values": {"valence": 0, "arousal": 1}}, "valence"),
        ({"values": {"valence": 2.5, "arousal": 1}}, "valence"),
        ({"values": {"valence": True, "arousal": 1}}, "valence"),
        ({"values": {"valence": 3}}, "arousal"),
        ({"values": {"valence": 3, "arousal": 1, "other": 2}}, "other"),
        ({"verdicts": {"valence": "perhaps"}}, "verdicts"),
        ({"comment": 5}, "comment"),
        ({"go_on": "yes"}, "go_on"),
        ({"heard": {"seconds": -1}}, "heard.seconds"),
        ({"heard": {"seconds": "soon"}}, "heard.seconds"),
        ({"heard": {"plays": 1.5}}, "heard.plays"),
        ({"heard": {"plays": -1}}, "heard.plays"),
        ({"heard": {"intervals": [[1]]}}, "heard.intervals"),
        ({"heard": {"intervals": [[1, "x"]]}}, "heard.intervals"),
        ({"heard": {"changes": [[1, 2, 3]]}}, "heard.changes"),
        ({"heard": {"changes": [[1, "valence", "3"]] * 5001}}, "heard.changes"),
        ({"heard": {"device": 5}}, "heard.device"),
        ({"heard": {"machine": "x"}}, "heard.machine"),
        ({"heard": {"fields": {"valence": {"seconds": -1}}}}, "seconds"),
        ({"heard": {"fields": {"valence": {"keystrokes": 1.5}}}}, "keystrokes"),
        ({"heard": {"fields": {"valence": {"first": {"deep": 1}}}}}, "first"),
        ({"heard": {"fields": {"valence": {"by": "x"}}}}, "by"),
    ],
)
def test_what_is_not_an_answer_is_refused_in_words(client: TestClient, changes: dict[str, Any], words: str) -> None:
    step = enter(client)
    message = refused(client.post("/rate/answer", json=good(step, **changes)), 422)
    valence, arousal = step["questions"]
    names = {"valence": (valence, "How pleasant"), "arousal": (arousal, "How arousing"), "other": ("not asked",)}
    assert any(word in message for word in names.get(words, (words,))), message
    assert client.get("/rate/step").json()["step"]["trial"] == step["trial"]


@pytest.mark.parametrize("raw", [b"{", b"[]", b"3", b'"x"', b"\xff", b"null", b'{"trial": 1e999}'])
def test_a_body_that_is_no_object_is_refused(client: TestClient, raw: bytes) -> None:
    enter(client)
    response = client.post("/rate/answer", content=raw, headers={"content-type": "application/json"})
    refused(response, 422)


def test_type_and_size_of_a_body(client: TestClient) -> None:
    step = enter(client)
    plain = client.post("/rate/answer", content=orjson.dumps(good(step)), headers={"content-type": "text/plain"})
    refused(plain, 415)
    huge = client.post("/rate/answer", json=good(step, comment="x" * 2_000_000))
    refused(huge, 413)
    refused(client.post("/rate/headphones", json={"probe": "p", "given": [4]}), 422)
    refused(client.post("/rate/consent", json={"agreed": "yes"}), 422)
    refused(client.post("/rate/flag", json={"trial": step["trial"]}), 422)
    refused(client.post("/rate/flag", json={"trial": step["trial"], "reason": "x", "skip": 1}), 422)
    refused(client.post("/rate/media-problem", json={"trial": step["trial"]}), 422)
    assert client.get("/rate/answer").status_code == 405


def test_only_a_valid_cookie_speaks_for_a_rater(client: TestClient) -> None:
    step = enter(client)
    mine = client.cookies[RATER_COOKIE]
    signer = Signer(SECRET)
    rater = signer.read("rater", mine)
    assert rater is not None
    forged = [
        "", "x", mine[:-1] + ("A" if mine[-1] != "A" else "B"), rater, signer.sign("study", rater, 60),
        signer.sign("rater", rater, -1), Signer(b"another secret of somebody").sign("rater", rater, 60),
    ]  # fmt: skip
    for cookie in forged:
        client.cookies.clear()
        client.cookies.set(RATER_COOKIE, cookie)
        refused(client.get("/rate/step"), 401)
        refused(client.post("/rate/answer", json=good(step)), 401)
        refused(client.get(f"/media/{step['media']}"), 401)
        assert client.get("/rate").status_code == 401
    client.cookies.clear()
    client.cookies.set(RATER_COOKIE, signer.sign("rater", "nobody", 60))
    refused(client.get("/rate/step"), 404)
    assert "Please open your link" in client.get("/rate").text


def test_no_way_to_another_raters_trial(client: TestClient, collection: Collection) -> None:
    theirs = enter(client)
    enter(client)
    before = len(collection.ratings())
    refused(client.post("/rate/answer", json=good(theirs)), 404)
    refused(client.post("/rate/flag", json={"trial": theirs["trial"], "reason": "broken", "skip": True}), 404)
    refused(client.post("/rate/beat", json={"trial": theirs["trial"]}), 404)
    assert len(collection.ratings()) == before


def test_the_address_of_a_recruiter_makes_one_rater(client: TestClient, collection: Collection) -> None:
    before = len(collection.raters())
    for _ in range(2):
        client.cookies.clear()
        page = client.get("/?workerId=w-1&assignmentId=a&hitId=h")
        assert page.status_code == 200
    assert len(collection.raters()) == before + 1
    last = collection.raters().tail(1).to_dicts()[0]
    assert (last["recruiter"], last["language"]) == ("mturk", "en")
    assert "w-1" not in str(collection.raters().to_dicts())
    assert collection.participants().filter(participant="w-1")["assignment"].to_list() == ["a"]


def test_the_language_is_the_one_asked_for(client: TestClient) -> None:
    client.cookies.clear()
    page = client.get("/", headers={"accept-language": "fr, ko;q=0.8, en;q=0.5"})
    assert '<html lang="ko" dir="ltr">' in page.text
    assert "시작하기 전에" in page.text
    assert '<html lang="en" dir="ltr">' in client.get("/rate?lang=en", headers={"accept-language": "ko"}).text
    assert '<html lang="en" dir="ltr">' in client.get("/rate", headers={"accept-language": "ko"}).text


def test_a_page_has_no_script_or_style_of_its_own(client: TestClient) -> None:
    enter(client)
    page = client.get("/rate")
    assert "unsafe" not in page.headers["content-security-policy"]
    assert "<style" not in page.text
    assert " style=" not in page.text
    assert " onclick=" not in page.text
    assert page.text.count("<script") == 2
    assert page.headers["cache-control"] == "no-store"


def test_files_of_the_pages_can_be_kept_for_ever(client: TestClient) -> None:
    enter(client)
    text = client.get("/rate").text
    start = text.index("/static/rater/")
    address = text[start : text.index('"', start)]
    retained = client.get(address)
    assert retained.headers["cache-control"] == "public, max-age=31536000, immutable"
    assert client.get("/static/rater/main.js").headers["cache-control"] == "no-cache"
    assert client.get("/static/rater/main.js").headers["content-type"].startswith("text/javascript")
    assert client.get("/static/rater/0/../../pages.py").status_code == 404
    assert client.get("/static/rater/pages.py").status_code == 404


def test_a_rater_who_accepts_two_hundred_drafts_in_a_minute(tmp_path: Path) -> None:
    """Nothing is refused at the limits a study is served with, and every verdict is stored."""
    asked = [{"id": "style", "text": "Style", "scale": "nine", "machine_first": True}]
    rows = ["stimulus,style", *(f"s{n},{1 + n % 9}" for n in range(200))]
    folder = write_study(tmp_path / "study", "hasty", rows=rows, questions=asked, design={"ratings_per_item": 1})
    options = CollectOptions(seed=3, durable=False, hidden=0.0, planted=0.2)
    with Collection.open(folder, options=options) as collection:
        app = create_app(collection, WebOptions(secret=SECRET, access_log=False))
        with TestClient(app, base_url="http://127.0.0.1") as client:
            assert client.get("/").status_code == 200
            step = client.post("/rate/ready", json={}).json()["step"]
            while step["kind"] == "trial":
                [name] = step["questions"]
                log = {"fields": {name: {"seconds": 0.2, "keystrokes": 1, "first": "(rejected)"}}}
                answer = {"trial": step["trial"], "key": step["trial"], "verdicts": {name: "accepted"}, "heard": log}
                response = client.post("/rate/answer", json=answer)
                assert response.status_code == 200, response.text
                step = response.json()["then"]
        fields = collection.snapshot().fields
        assert fields.height == 200
        assert set(fields["verdict"]) == {"accepted"}
        assert set(fields["shown"]) == {"true", "planted"}
        assert set(fields["first"]) == {"(rejected)"}


def test_an_answer_sent_again_is_told_from_one_of_another_tab(client: TestClient) -> None:
    step = enter(client)
    assert client.post("/rate/answer", json=good(step)).json()["status"] == "stored"
    assert client.post("/rate/answer", json=good(step)).json()["status"] == "already"
    other = client.post("/rate/answer", json=good(step, key="o" * 32)).json()
    assert (other["status"], other["then"]["number"]) == ("elsewhere", 2)
