"""The headphone check over HTTP: the page gets sounds that say nothing, and the server judges."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from heartfelt.collect import Collection, CollectOptions
from heartfelt.collect.simulation import SimulatedRater, Visit, visit
from heartfelt.web.requests.options import WebOptions
from heartfelt.web.security.signing import RATER_COOKIE, Signer
from heartfelt.web.serving.app import create_app
from heartfelt.web.serving.client import HttpClient
from heartfelt.web.serving.serve import serve_in_thread
from tests.collect.people import write_study

SECRET = b"a secret for the tests of the check"
PROBE = {"type": "headphones", "id": "ears", "trials": 6, "pass_at": 5, "blocks": True}
OPTIONS = WebOptions(secret=SECRET, address_per_minute=0, rater_per_minute=0, access_log=False)


@pytest.fixture
def collection(tmp_path: Path) -> Iterator[Collection]:
    folder = write_study(tmp_path / "study", "ears", 2, probes=[PROBE])
    with Collection.open(folder, options=CollectOptions(seed=3, durable=False)) as opened:
        yield opened


@pytest.fixture
def client(collection: Collection) -> Iterator[TestClient]:
    with TestClient(create_app(collection, OPTIONS), base_url="http://127.0.0.1") as made:
        made.get("/")
        yield made


def rater_of(client: TestClient) -> str:
    rater = Signer(SECRET).read("rater", client.cookies[RATER_COOKIE])
    assert rater is not None
    return rater


def check(client: TestClient, **body: Any) -> Any:
    return client.post("/rate/headphones", json={"probe": "headphones", **body})


@pytest.mark.slow
def test_nothing_but_the_sound_itself_tells_the_rounds_apart(client: TestClient, collection: Collection) -> None:
    step = client.get("/rate/step").json()["step"]
    assert step == {"kind": "headphones", "probe": "headphones", "trials": 6}
    rounds = [client.get(f"/rate/tones/{number}") for number in range(1, 7)]
    heads = [{name: text for name, text in got.headers.items() if name != "date"} for got in rounds]
    assert all(head == heads[0] for head in heads)
    assert (heads[0]["content-type"], heads[0]["cache-control"]) == ("audio/wav", "no-store")
    assert len({len(got.content) for got in rounds}) == 1
    assert len(set(collection.quietest_tones(rater_of(client)))) > 1
    assert client.get("/rate/tones/0").status_code == client.get("/rate/tones/7").status_code == 404
    client.cookies.clear()
    assert client.get("/rate/tones/1").status_code == 401


@pytest.mark.slow
def test_the_server_judges_and_a_page_that_says_what_is_right_is_refused(
    client: TestClient, collection: Collection
) -> None:
    right = collection.quietest_tones(rater_of(client))
    wrong = [place % 3 + 1 for place in right]
    old = check(client, given=wrong, right=wrong)
    assert (old.status_code, old.json()["fix"]) == (409, "Reload it and take the headphone check again.")
    assert collection.raters()["headphones_correct"].to_list() == [None]
    assert check(client, given=wrong).json()["step"]["ending"] == "screened-out"
    client.cookies.clear()
    client.get("/")
    assert check(client, given=collection.quietest_tones(rater_of(client))).json()["step"]["kind"] == "instructions"
    assert collection.raters()["headphones_correct"].to_list() == [0, 6]


@pytest.mark.slow
def test_a_simulated_rater_listens_to_the_tones(collection: Collection) -> None:
    app = create_app(collection, OPTIONS)
    done: list[Visit] = []
    with serve_in_thread(app) as url:
        rater = SimulatedRater(name="x", answer=lambda _: "leave", about={})
        list(visit(HttpClient(url, app.state.blinding), rater, done.append))
    assert collection.raters()["headphones_correct"].to_list() == [6]
