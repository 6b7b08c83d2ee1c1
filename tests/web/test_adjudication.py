"""The pages of senior raters: who gets in, what they see, what is stored, and what is refused."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from starlette.testclient import TestClient

from heartfelt.collect import Collection, CollectOptions
from heartfelt.collect.messages.adjudicators import AddAdjudicator, RevokeAdjudicator
from heartfelt.collect.messages.commands import Exclude
from heartfelt.web.requests.options import WebOptions
from heartfelt.web.security.signing import Signer, adjudicator_link
from heartfelt.web.serving.app import create_app
from tests.web.conftest import SECRET, log_in
from tests.web.studies import rate

RULES = (
    "\nadjudication: {rules: [{type: disagreement, range_above: 2}], questions: [valence]}\nlanguages: [en, ko, zh]\n"
)
PEOPLE = (2, 5, 8)
"""What three people answer to everything."""


@pytest.fixture
def collection(folder: Path) -> Iterator[Collection]:
    text = (folder / "study.yaml").read_text(encoding="utf-8")
    text = text.replace("ratings_per_item: 4", "ratings_per_item: 3") + RULES
    (folder / "study.yaml").write_text(text, encoding="utf-8")
    rows = (folder / "stimuli.csv").read_text(encoding="utf-8").splitlines()[:4]
    (folder / "stimuli.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    with Collection.open(folder, options=CollectOptions(seed=1, durable=False)) as opened:
        for place, answer in enumerate(PEOPLE):
            rate(opened, f"p{place}", 100, {"valence": answer, "arousal": 5})
        yield opened


def client_of(collection: Collection, options: WebOptions) -> TestClient:
    app = create_app(collection, options)
    return TestClient(app, base_url="http://study.test", follow_redirects=False, raise_server_exceptions=False)


@pytest.fixture
def senior(collection: Collection, options: WebOptions) -> TestClient:
    return enter(client_of(collection, options), collection)


def enter(client: TestClient, collection: Collection, note: str = "one") -> TestClient:
    """Come in by a link of one's own."""
    who = collection.do(AddAdjudicator(note))
    link = adjudicator_link(Signer(SECRET), "", who)
    answered = client.get(link)
    assert (answered.status_code, answered.headers["location"]) == (303, "/adjudicate")
    return client


def ask(client: TestClient, path: str, **body: Any) -> Any:
    reply = client.post(f"/adjudicate/{path}", json=body)
    assert reply.status_code == 200, reply.text
    return reply.json()


def decide(client: TestClient, shown: dict[str, Any], /, **what: Any) -> Any:
    told = {"item": shown["id"], "sight": shown["sight"], "seen": shown["seen"], "key": f"key {shown['id']}", **what}
    return client.post("/adjudicate/decide", json=told)


def test_only_a_personal_link_opens_the_page(stranger: TestClient, collection: Collection) -> None:
    for path in ("/adjudicate", "/a/forged", f"/a/{Signer(SECRET).sign('invite', 'x', 60)}"):
        refused = stranger.get(path, headers={"accept": "text/html"})
        assert refused.status_code == 401
        assert "Open the link you were given" in refused.text
    for path in ("next", "decide", "back"):
        assert stranger.post(f"/adjudicate/{path}", json={}).status_code == 401
    signed = Signer(SECRET).sign("adjudicator", "a0123", 60)
    stranger.cookies.set("heartfelt_adjudicator", signed)
    assert stranger.post("/adjudicate/next", json={}).status_code == 401, "signed, but of nobody"
    assert "set-cookie" not in stranger.get("/a/forged").headers


def test_a_link_that_is_revoked_ends_at_once(senior: TestClient, collection: Collection) -> None:
    assert senior.get("/adjudicate").status_code == 200
    item = ask(senior, "next")["item"]
    assert senior.get(f"/media/{item['media']}").status_code == 200
    [who] = collection.adjudicators()["adjudicator"]
    collection.do(RevokeAdjudicator(who))
    assert senior.get("/adjudicate").status_code == 401
    assert senior.post("/adjudicate/next", json={}).status_code == 401
    assert decide(senior, item, option=0).status_code == 401
    assert senior.get(f"/media/{item['media']}").status_code == 401
    assert senior.get(adjudicator_link(Signer(SECRET), "", who)).status_code == 401
    assert collection.adjudication().decided == 0


def test_the_cookie_is_no_scripts_and_other_sites_are_refused(senior: TestClient, collection: Collection) -> None:
    who = collection.do(AddAdjudicator())
    cookie = senior.get(adjudicator_link(Signer(SECRET), "", who)).headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=lax" in cookie
    other = senior.post("/adjudicate/next", json={}, headers={"origin": "https://elsewhere.test"})
    assert other.status_code == 403
    assert senior.get("/api/v1/adjudication").status_code == 401, "a senior rater is no researcher"


def test_links_are_not_logged(collection: Collection, options: WebOptions, caplog: pytest.LogCaptureFixture) -> None:
    client = client_of(collection, replace(options, access_log=True))
    with caplog.at_level(logging.INFO, logger="heartfelt.access"):
        enter(client, collection)
    lines = [record.getMessage() for record in caplog.records if record.name == "heartfelt.access"]
    assert any("/a/…" in line for line in lines)
    assert all("/a/" not in line or "/a/…" in line for line in lines)


def test_an_item_shows_answers_and_nobody(senior: TestClient, collection: Collection) -> None:
    reply = ask(senior, "next")
    waiting = [item for item in collection.adjudication().items if not item.decisions]
    assert (reply["waiting"], reply["decided"], reply["mine"]) == (len(waiting), 0, 0)
    item = reply["item"]
    assert sorted(option["words"] for option in item["options"]) == [2, 5, 8]
    assert {option["raters"] for option in item["options"]} == {1}
    assert item["rules"] == ["disagreement"]
    text = str(reply)
    for secret in (*collection.raters()["rater"], *collection.opened.stimuli["stimulus"], "Quillbox", "zestful", "p0"):
        assert secret not in text
    again = ask(senior, "next")
    assert again["item"] == item, "the same order after a reload"
    assert senior.get(f"/media/{item['media']}").headers["content-type"] == "audio/wav"


def test_answers_come_in_an_order_of_their_own_for_every_item_and_person(
    collection: Collection, options: WebOptions
) -> None:
    client = client_of(collection, options)
    orders = set()
    for note in "abcdef":
        enter(client, collection, note)
        orders.add(tuple(option["words"] for option in ask(client, "next")["item"]["options"]))
    assert len(orders) > 1


def test_deciding_is_stored_and_the_next_item_comes(senior: TestClient, collection: Collection) -> None:
    item = ask(senior, "next")["item"]
    place = next(n for n, option in enumerate(item["options"]) if option["words"] == 5)
    reply = decide(senior, item, option=place, comment="It soars.").json()
    assert (reply["status"], reply["decided"], reply["mine"]) == ("stored", 1, 1)
    assert reply["item"]["id"] != item["id"]
    assert decide(senior, item, option=place).json()["status"] == "already", "the same key, sent again"
    own = decide(senior, reply["item"], value=7).json()
    assert own["decided"] == 2
    frozen = collection.snapshot().adjudications
    assert sorted(frozen["value"]) == [5.0, 7.0]
    assert frozen["comment"].drop_nulls().to_list() == ["It soars."]
    assert set(frozen["rule"]) == {"disagreement"}

    before = ask(senior, "back")["item"]
    assert before["decision"] == {"seq": before["decision"]["seq"], "option": None, "words": 7.0, "comment": None}
    first = ask(senior, "back", before=before["decision"]["seq"])["item"]
    assert (first["id"], first["decision"]["option"], first["decision"]["comment"]) == (item["id"], place, "It soars.")
    assert ask(senior, "back", before=first["decision"]["seq"])["item"] is None
    assert decide(senior, first, value=6, key="revised").status_code == 200
    row = collection.snapshot().adjudications.filter(pl.col("decisions") == 2).row(0, named=True)
    assert row["value"] == 6.0
    assert '"value": 5.0' in row["history"]


REFUSED: list[tuple[dict[str, Any], int]] = [
    ({"option": 3}, 422),
    ({"option": -1}, 422),
    ({"value": 10}, 422),
    ({"value": "great"}, 422),
    ({"value": [1]}, 422),
    ({}, 422),
    ({"value": 5, "comment": "x" * 10_001}, 422),
    ({"value": 5, "item": "123"}, 409),
    ({"value": 5, "sight": "000000000000000000000000"}, 409),
    ({"value": 5, "key": ""}, 422),
    ({"value": 5, "seen": "1"}, 422),
]


def test_what_is_no_decision_is_refused(senior: TestClient, collection: Collection) -> None:
    item = ask(senior, "next")["item"]
    for what, status in REFUSED:
        refused = decide(senior, item, **what)
        assert refused.status_code == status, (what, refused.text)
        assert refused.json()["fix"]
    assert collection.adjudication().decided == 0


def test_two_seniors_get_different_items_and_whoever_decides_first_wins(
    collection: Collection, options: WebOptions
) -> None:
    first, second = client_of(collection, options), client_of(collection, options)
    enter(first, collection, "one")
    enter(second, collection, "two")
    # Two applications stand for two processes: neither knows what the other holds.
    item = ask(first, "next")["item"]
    skipped: list[str] = []
    while (other := ask(second, "next", skipped=skipped)["item"])["id"] != item["id"]:
        skipped.append(other["id"])
    assert decide(first, item, value=3).status_code == 200
    late = decide(second, other, value=4, key="late")
    assert late.status_code == 409
    assert "in the meantime" in late.json()["problem"]
    assert collection.snapshot().adjudications["value"].to_list() == [3.0]
    # In one process the item that somebody holds is given to others only when nothing else is left.
    third = client_of(collection, options)
    given = [ask(enter(third, collection, f"more {n}"), "next")["item"]["id"] for n in range(3)]
    assert given[0] != given[1]
    assert given[2] in given[:2]


def test_an_answer_that_came_in_since_is_shown_first(senior: TestClient, collection: Collection) -> None:
    item = ask(senior, "next")["item"]
    [careless] = collection.participants().filter(participant="p0")["rater"]
    collection.do(Exclude(careless, "careless"))
    rate(collection, "p3", 100, {"valence": 9, "arousal": 5})
    refused = decide(senior, item, option=0)
    assert refused.status_code == 409
    assert "have changed" in refused.json()["problem"]


def test_skipped_items_come_back_when_asked_for(senior: TestClient) -> None:
    seen: list[str] = []
    while (item := ask(senior, "next", skipped=seen)["item"]) is not None:
        assert item["id"] not in seen
        seen.append(item["id"])
    assert len(seen) == 3
    assert ask(senior, "next")["item"]["id"] == seen[0]


def test_the_page_in_every_language(senior: TestClient) -> None:
    for language, words in {"en": "Another answer", "ko": "다른 답", "zh": "其他答案"}.items():
        page = senior.get(f"/adjudicate?lang={language}")
        assert page.status_code == 200
        assert words in page.text
        assert "Quillbox" not in page.text
        assert senior.get(page.text.split('type="module" src="')[1].split('"')[0]).status_code == 200


def test_the_api_makes_and_ends_links(
    collection: Collection, options: WebOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("heartfelt.web.study.background.IDLE_SHARE", 1e9)  # reading takes long, so it rests
    researcher, senior = log_in(client_of(collection, options)), client_of(collection, options)
    before = researcher.get("/api/v1/adjudication").json()
    assert before == {"used": True, "waiting": 3, "decided": 0, "adjudicators": []}
    made = researcher.post("/api/v1/adjudicators", json={"note": "for one"}).json()
    path = made["link"].removeprefix("http://study.test")
    assert senior.get(path).status_code == 303
    decide(senior, ask(senior, "next")["item"], value=5)
    now = researcher.get("/api/v1/adjudication").json()
    assert (now["waiting"], now["decided"]) == (2, 1)
    assert [(each["note"], each["active"], each["decisions"]) for each in now["adjudicators"]] == [("for one", True, 1)]
    again = researcher.post(f"/api/v1/adjudicators/{made['adjudicator']}/link", json={}).json()["link"]
    assert senior.get(again.removeprefix("http://study.test")).status_code == 303
    assert researcher.post(f"/api/v1/adjudicators/{made['adjudicator']}/revoke", json={}).status_code == 204
    assert senior.post("/adjudicate/next", json={}).status_code == 401
    assert researcher.post(f"/api/v1/adjudicators/{made['adjudicator']}/link", json={}).status_code == 404
    assert researcher.delete(f"/api/v1/adjudicators/{made['adjudicator']}").status_code == 204
    gone = researcher.get("/api/v1/adjudication").json()
    assert (gone["waiting"], gone["decided"], gone["adjudicators"]) == (3, 0, [])
    assert researcher.post("/api/v1/adjudicators/nobody/revoke", json={}).status_code == 404
