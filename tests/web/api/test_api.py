"""The API: what the dashboard shows and does, over HTTP."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from starlette.testclient import TestClient

import heartfelt
from heartfelt.collect import Collection, CollectOptions
from heartfelt.collect.messages.commands import Flag, MediaProblem, Next, ShowTrial
from heartfelt.stats import alpha
from heartfelt.web.requests.options import WebOptions
from heartfelt.web.serving.app import create_app
from tests.docs.reference import meanings, settings_pages
from tests.web.conftest import log_in
from tests.web.studies import INTENTS, fill, rate, write_study

API = "/api/v1"


@pytest.fixture
def filled(collection: Collection) -> list[str]:
    """Three raters who answered everything."""
    return fill(collection, ["a", "b", "c"])


def test_the_study(researcher: TestClient) -> None:
    message = researcher.get(f"{API}/study").json()
    assert (message["name"], message["stimuli"], message["items"], message["ratings_per_item"]) == ("small", 12, 24, 4)
    assert [q["id"] for q in message["questions"]] == ["valence", "arousal"]
    assert message["questions"][0]["bounds"] == [1, 9]
    assert message["links"]["open"] == "http://study.test/"
    ending = "/?PROLIFIC_PID={{%PROLIFIC_PID%}}&STUDY_ID={{%STUDY_ID%}}&SESSION_ID={{%SESSION_ID%}}"
    assert message["links"]["prolific"].endswith(ending)


def test_coverage_counts_what_was_answered(researcher: TestClient, collection: Collection) -> None:
    empty = researcher.get(f"{API}/coverage").json()
    assert (empty["complete"], empty["wanted"], empty["units"], empty["of"]) == (0, 48, 12, "stimuli")
    assert empty["finish"] is None
    assert "0 trials" in empty["why_no_finish"]
    rate(collection, "a")
    rate(collection, "b", most=3)
    message = researcher.get(f"{API}/coverage").json()
    assert message["complete"] == 15
    assert message["leased"] >= 1
    assert sum(each["units"] for each in message["histogram"]) == 12
    assert sum(each["units"] * each["ratings"] for each in message["histogram"]) == 15
    assert sum(each["units_with_leases"] * each["ratings"] for each in message["histogram"]) == 15 + message["leased"]
    assert message["raters"] == {"all": 2, "active": 1, "complete": 1, "excluded": 0}
    assert message["finish"] is not None
    assert message["change"] > empty["change"]


def test_reliability_is_that_of_the_ratings(researcher: TestClient, collection: Collection, filled: list[str]) -> None:
    messages = {q["question"]: q for q in researcher.get(f"{API}/reliability").json()["questions"]}
    ratings = collection.ratings()
    for name in ("valence", "arousal"):
        mine = ratings.filter(pl.col("question") == name)
        expected = alpha(mine["rater"], mine["stimulus"], mine["value"], "interval")
        assert messages[name]["alpha"]["value"] == pytest.approx(expected.value)
        assert messages[name]["alpha"]["low"] == pytest.approx(expected.low)
        assert messages[name]["over_time"][-1]["ratings"] == 36


def test_without_ratings_reliability_says_why(researcher: TestClient) -> None:
    message = researcher.get(f"{API}/reliability").json()["questions"]
    assert [q["alpha"]["value"] for q in message] == [None, None]
    assert all(q["alpha"]["why_missing"] for q in message)


@pytest.mark.slow
def test_system_means_with_what_a_precision_takes(
    researcher: TestClient, collection: Collection, filled: list[str]
) -> None:
    wide = researcher.get(f"{API}/systems", params={"precision": 5}).json()
    assert len(wide["systems"]) == 4
    assert all(row["needed"]["value"] == 0 for row in wide["systems"])
    fine = researcher.get(f"{API}/systems", params={"precision": 0.2}).json()
    assert all(row["needed"]["value"] or row["needed"]["why_missing"] for row in fine["systems"])
    mine = collection.ratings().filter(pl.col("question") == "valence", pl.col("stimulus").str.starts_with("Quill"))
    by_stimulus = mine.group_by("stimulus").agg(pl.mean("value"))["value"].mean()
    row = next(r for r in fine["systems"] if (r["question"], r["system"]) == ("valence", "Quillbox"))
    assert row["mean"]["value"] == pytest.approx(by_stimulus)


@pytest.mark.slow
def test_careless_raters_come_first(tmp_path: Path, options: WebOptions) -> None:
    folder = write_study(tmp_path / "larger", each=4, quota=9)
    with (
        Collection.open(folder, options=CollectOptions(seed=1, durable=False)) as collection,
        TestClient(create_app(collection, options), base_url="http://study.test", follow_redirects=False) as client,
    ):
        fill(collection, "abcdef")
        careless, _ = rate(collection, "z", values={"valence": 5, "arousal": 5})
        idle, _ = rate(collection, "idle", most=0)
        researcher = log_in(client)
        message = researcher.get(f"{API}/raters").json()["raters"]
        assert message[0]["rater"] == careless
        assert "straight-lining" in message[0]["flagged_by"]
        assert any(words.startswith("straight-lining: All 48 answers are the same") for words in message[0]["reasons"])
        assert message[0]["score"] > 2 * message[1]["score"]
        assert (message[-1]["rater"], message[-1]["rank"]) == (idle, None)
        assert researcher.get(f"{API}/raters/{careless}").json() == message[0]
        assert message[0]["recruiter"] == "prolific"


def test_every_trial_of_a_rater(researcher: TestClient, collection: Collection, filled: list[str]) -> None:
    assert researcher.get(f"{API}/raters/{filled[0]}/trials").json()["about"] == {}
    message = researcher.get(f"{API}/raters/{filled[0]}/trials").json()["trials"]
    assert len(message) == 12
    assert [t["position"] for t in message] == list(range(1, 13))
    assert {t["stimulus"].split("_")[1] for t in message} == set(INTENTS)
    assert all(set(t["answers"]) == {"valence", "arousal"} for t in message)
    assert all(2 <= t["seconds"] <= 3 for t in message)
    assert researcher.get(f"/media/{message[0]['media']}").status_code == 200


@pytest.mark.slow
def test_excluding_opens_slots_and_restoring_takes_them_back(
    researcher: TestClient, collection: Collection, filled: list[str]
) -> None:
    who = filled[1]
    effect = researcher.get(f"{API}/raters/{who}/effect").json()
    assert effect["excluded"] is False
    assert effect["ratings"] == {"before": 72, "after": 48}
    done = researcher.post(f"{API}/raters/{who}/exclude", json={"reason": "in a hurry"}).json()
    assert done == {"rater": who, "excluded": True, "slots": 12}
    assert researcher.get(f"{API}/coverage").json()["complete"] == 24
    now = researcher.get(f"{API}/raters/{who}").json()
    assert (now["excluded"], now["reason"]) == (True, "in a hurry")
    after = {q["question"]: q["alpha"]["value"] for q in researcher.get(f"{API}/reliability").json()["questions"]}
    promised = {row["question"]: row["after"]["value"] for row in effect["alpha"]}
    assert after == pytest.approx(promised)
    means = {
        (r["question"], r["system"]): r["mean"]["value"] for r in researcher.get(f"{API}/systems").json()["systems"]
    }
    assert means == pytest.approx({(r["question"], r["system"]): r["after"]["value"] for r in effect["systems"]})
    back = researcher.get(f"{API}/raters/{who}/effect").json()
    assert back["excluded"] is True
    assert {r["question"]: r["after"]["value"] for r in back["alpha"]} == pytest.approx(
        {r["question"]: r["before"]["value"] for r in effect["alpha"]}
    )
    assert researcher.post(f"{API}/raters/{who}/restore").json()["slots"] == 12
    assert researcher.get(f"{API}/coverage").json()["complete"] == 36


def test_settings_change_one_by_one(researcher: TestClient) -> None:
    before = researcher.get(f"{API}/settings").json()
    assert before["open"] is True
    now = researcher.patch(f"{API}/settings", json={"open": False, "cap": 3}).json()
    assert now == {**before, "open": False, "cap": 3}
    assert researcher.patch(f"{API}/settings", json={"cap": None}).json()["cap"] is None
    assert researcher.patch(f"{API}/settings", json={"code_complete": "DONE-1"}).json()["code_complete"] == "DONE-1"
    for wrong in ({"cap": 0}, {"cap": "many"}, {"open": "perhaps"}, {"code_complete": ""}, {"speed": 1},
                  {"return_url": "javascript:alert(1)"}):  # fmt: skip
        message = researcher.patch(f"{API}/settings", json=wrong)
        assert message.status_code == 422, wrong
        assert set(message.json()) == {"problem", "fix"}


def test_a_closed_study_takes_nobody_until_it_opens(researcher: TestClient, stranger: TestClient) -> None:
    researcher.patch(f"{API}/settings", json={"open": False})
    assert stranger.get("/").status_code != 303
    researcher.patch(f"{API}/settings", json={"open": True})
    assert stranger.get("/").status_code == 303


def test_personal_links_open_the_study_for_one_person(researcher: TestClient, collection: Collection) -> None:
    made = researcher.post(f"{API}/invitations", json={"count": 3, "note": "pilot"}).json()["invitations"]
    assert len({each["link"] for each in made}) == 3
    path = made[0]["link"].removeprefix("http://study.test")
    for _ in range(2):
        researcher.cookies.delete("heartfelt_rater")
        assert researcher.get(path).status_code == 303
    assert collection.raters().height == 1
    listed = {each["invitation"]: each for each in researcher.get(f"{API}/invitations").json()["invitations"]}
    assert listed[made[0]["invitation"]]["rater"] == collection.raters()["rater"][0]
    assert listed[made[1]["invitation"]]["rater"] is None
    forged = path[:-3] + ("abc" if not path.endswith("abc") else "xyz")
    assert researcher.get(forged).status_code == 404


def test_stimuli_with_counts_and_search(researcher: TestClient, collection: Collection, filled: list[str]) -> None:
    rate(collection, "d", most=1)
    message = researcher.get(f"{API}/stimuli", params={"limit": 5}).json()
    assert message["total"] == 12
    assert len(message["stimuli"]) == 5
    assert [each["complete"] for each in message["stimuli"]] == [3] * 5
    result = researcher.get(f"{API}/stimuli", params={"search": "FORLORN"}).json()
    assert result["total"] == 4
    assert {each["intent"] for each in result["stimuli"]} == {"forlorn"}
    last = researcher.get(f"{API}/stimuli", params={"offset": 11}).json()["stimuli"]
    assert [each["complete"] for each in last] == [4]
    assert [m["n"] for m in last[0]["means"]] == [4, 4]


def test_flags_and_media_problems(researcher: TestClient, collection: Collection) -> None:
    rater, _ = rate(collection, "a", most=1)
    step = collection.do(Next(rater))
    assert isinstance(step, ShowTrial)
    step = collection.do(Flag(rater, step.trial, reason="silence", comment="nothing to hear", skip=True))
    assert isinstance(step, ShowTrial)
    collection.do(MediaProblem(rater, step.trial, "would not decode"))
    (flag,) = researcher.get(f"{API}/flags").json()["flags"]
    assert (flag["rater"], flag["reason"], flag["comment"], flag["skipped"]) == (
        rater,
        "silence",
        "nothing to hear",
        True,
    )
    assert flag["media"]
    (problem,) = researcher.get(f"{API}/problems").json()["problems"]
    assert (problem["rater"], problem["problem"]) == (rater, "would not decode")


def test_ratings_by_the_page_and_whole(researcher: TestClient, collection: Collection, filled: list[str]) -> None:
    seen: list[dict[str, Any]] = []
    offset: int | None = 0
    while offset is not None:
        page = researcher.get(f"{API}/ratings", params={"offset": offset, "limit": 30}).json()
        seen += page["ratings"]
        offset = page["next"]
    assert page["total"] == len(seen) == 72
    parquet = pl.read_parquet(researcher.get(f"{API}/ratings", params={"as": "parquet"}).content)
    csv = pl.read_csv(researcher.get(f"{API}/ratings", params={"as": "csv"}).content)
    keys = ["rater", "stimulus", "question", "value"]
    rows = sorted(tuple(row[key] for key in keys) for row in seen)
    assert sorted(parquet.select(keys).iter_rows()) == rows
    assert sorted(csv.select(keys).iter_rows()) == rows
    assert parquet.equals(collection.ratings())


def test_freezing_writes_a_snapshot_that_loads(
    researcher: TestClient, collection: Collection, filled: list[str], tmp_path: Path
) -> None:
    made = researcher.post(f"{API}/snapshots")
    assert made.status_code == 201
    message = made.json()
    assert (message["ratings"], message["raters"], message["stimuli"]) == (72, 3, 12)
    assert heartfelt.load(collection.folder / "snapshots" / message["name"]).hash == message["hash"]
    assert researcher.get(f"{API}/snapshots").json()["snapshots"] == [message]
    answer = researcher.get(f"{API}/snapshots/{message['name']}/download")
    assert answer.headers["content-disposition"].endswith(f'filename="small-{message["name"]}.zip"')
    with zipfile.ZipFile(io.BytesIO(answer.content)) as archive:
        archive.extractall(tmp_path / "out")
    assert heartfelt.load(tmp_path / "out" / message["name"]).hash == message["hash"]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["..", "../../etc", "2026-01-01T00-00-00Z", "%2e%2e%2f", "2026"])
def test_only_snapshots_are_given_out(researcher: TestClient, name: str) -> None:
    assert researcher.get(f"{API}/snapshots/{name}/download").status_code in {404, 422}


@pytest.mark.slow
def test_exports_in_every_format_or_says_why_not(
    researcher: TestClient, collection: Collection, filled: list[str]
) -> None:
    names = [each["name"] for each in researcher.get(f"{API}/formats").json()["formats"]]
    assert {"long", "wide"} <= set(names)
    for name in names:
        answer = researcher.get(f"{API}/export/{name}")
        if answer.status_code == 200:
            with zipfile.ZipFile(io.BytesIO(answer.content)) as archive:
                assert archive.testzip() is None
                assert archive.namelist()
        else:
            assert answer.status_code in {409, 422}, (name, answer.text)
            assert answer.json()["fix"]
    assert researcher.get(f"{API}/export/long").status_code == 200
    assert researcher.get(f"{API}/export/word").status_code == 404


def test_tokens_open_the_api_until_they_are_revoked(researcher: TestClient, collection: Collection) -> None:
    made = researcher.post(f"{API}/tokens", json={"name": "backup"})
    assert made.status_code == 201
    token = made.json()["token"]
    researcher.cookies.clear()
    del researcher.headers["x-heartfelt-token"]
    program = {"authorization": f"Bearer {token}"}
    assert researcher.get(f"{API}/study").status_code == 401
    assert researcher.get(f"{API}/study", headers=program).status_code == 200
    assert researcher.patch(f"{API}/settings", json={"cap": 9}, headers=program).json()["cap"] == 9
    (listed,) = researcher.get(f"{API}/tokens", headers=program).json()["tokens"]
    assert listed["name"] == "backup"
    assert "token" not in listed
    store = b"".join(path.read_bytes() for path in collection.folder.rglob("*") if path.is_file())
    assert token.split("_", 2)[2].encode() not in store
    for wrong in (token[:-1], token + "x", token.upper(), "hf__", "x", ""):
        assert researcher.get(f"{API}/study", headers={"authorization": f"Bearer {wrong}"}).status_code == 401
    assert researcher.delete(f"{API}/tokens/{listed['id']}", headers=program).status_code == 204
    assert researcher.get(f"{API}/study", headers=program).status_code == 401


@pytest.mark.slow
def test_who_excluded_is_written_down(researcher: TestClient, collection: Collection, filled: list[str]) -> None:
    token = researcher.post(f"{API}/tokens", json={"name": "screener"}).json()["token"]
    researcher.post(
        f"{API}/raters/{filled[0]}/exclude", json={"reason": "copied"}, headers={"authorization": f"Bearer {token}"}
    )
    with collection._database.reading() as connection:
        rows = connection.exec_driver_sql("SELECT made_by, reason FROM exclusions").all()
    assert [tuple(row) for row in rows] == [("token screener", "copied")]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "path"),
    [("GET", "raters/nobody"), ("GET", "raters/nobody/trials"), ("GET", "raters/nobody/effect"),
     ("POST", "raters/nobody/restore"), ("DELETE", "tokens/none"), ("GET", "nowhere")],
)  # fmt: skip
def test_what_is_not_there_is_said_in_words(researcher: TestClient, method: str, path: str) -> None:
    message = researcher.request(method, f"{API}/{path}")
    assert message.status_code == 404
    assert set(message.json()) == {"problem", "fix"}


def test_bad_bodies_are_refused_in_words(researcher: TestClient, filled: list[str]) -> None:
    path = f"{API}/raters/{filled[0]}/exclude"
    headers = {"content-type": "application/json"}
    for body, status in [
        (b"", 422), (b"{", 422), (b"[]", 422), (b'"x"', 422), (b'{"reason": 3}', 422), (b'{"reason": ""}', 422),
        (b'{"reason": "x", "by": "me"}', 422), (json.dumps({"reason": "x" * 501}).encode(), 422),
        (b'{"reason": "' + b"x" * 1_100_000 + b'"}', 413), (b"\xff\xfe", 422), (b"[" * 100_000, 400), (b'{"reason": NaN}', 422),
    ]:  # fmt: skip
        message = researcher.post(path, content=body, headers=headers)
        assert message.status_code == status, (body[:40], message.text)
        assert set(message.json()) == {"problem", "fix"}
    assert researcher.post(path, content=b"reason=x", headers={"content-type": "text/plain"}).status_code == 415


@pytest.mark.slow
def test_the_description_is_a_page_that_asks_nothing_of_others(stranger: TestClient) -> None:
    page = stranger.get(f"{API}/docs")
    assert page.status_code == 200
    described = stranger.get(f"{API}/openapi.json").json()
    for path in described["paths"]:
        assert path in page.text
    assert "http://" not in page.text.replace("http://study.test", "")
    assert "https://" not in page.text
    assert "<script" not in page.text
    assert all(path.startswith("/api/v1/") for path in described["paths"])
    written = meanings(settings_pages()["web-api.md"])
    for path, methods in described["paths"].items():
        for method in methods:
            assert len(written[f"{method.upper()} {path.removeprefix('/api/v1')}"]) > 10, path
    assert set(described["components"]["securitySchemes"]) == {"HTTPBearer", "APIKeyCookie"}
