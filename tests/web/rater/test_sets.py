"""Sets and traces over HTTP: what the page is sent, what it may answer, and what the researcher sees of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import soundfile
import yaml
from starlette.testclient import TestClient

from heartfelt.collect import Collection, CollectOptions
from heartfelt.web.rater.forms import present
from heartfelt.web.rater.presentation import Blinding
from heartfelt.web.requests.options import WebOptions
from heartfelt.web.serving.app import create_app
from heartfelt.web.serving.client import decode
from tests.web.conftest import SECRET, log_in

SCALES: dict[str, Any] = {
    "which": {"type": "choice", "ties": True, "tie_text": {"en": "The same", "ko": "같다"}},
    "forced": {"type": "choice"},
    "cmos": {"type": "preference", "steps": 2},
    "cmos5": {
        "type": "preference",
        "steps": 1,
        "anchors": {"0": {"en": "Same", "ko": "같다"}, "1": {"en": "Better", "ko": "낫다"}},
    },
    "grade": {"type": "grade", "bands": [{"en": "Bad", "ko": "나쁨"}, {"en": "Good", "ko": "좋음"}]},
    "rank": {"type": "rank", "best": {"en": "Top", "ko": "위"}},
    "extremes": {"type": "best-worst", "worst": {"en": "Least", "ko": "최소"}},
    "course": {"type": "trace", "rate": 20, "low_text": {"en": "Sad", "ko": "슬픔"}},
}
ANSWERS: dict[str, Any] = {
    "which": "tie", "cmos": -2, "grade": [10, 20.5, 30], "rank": [2, 0, 1], "extremes": {"best": 0, "worst": 2},
    "five": 3, "forced": 1, "course": {"samples": [None, 0.25, 1]},
}  # fmt: skip


def write(folder: Path, scale: str, sets: dict[str, Any] | None, **parts: Any) -> Path:
    """A study of two prompts by three systems, whose every file names its system."""
    (folder / "media").mkdir(parents=True)
    rows = ["stimulus,system,prompt,path"]
    for place, system in enumerate(("Quillbox", "Marrowtone", "Vellum")):
        for prompt in ("p1", "p2"):
            name = f"{system}_{prompt}"
            tone = np.sin(np.arange(800) * (0.1 + 0.05 * place)) * 0.1
            soundfile.write(folder / "media" / f"{name}.wav", tone, 8000)
            rows.append(f"{name},{system},{prompt},{name}.wav")
    study = {
        "heartfelt": 1,
        "name": f"sets-{scale}",
        "languages": ["en", "ko"],
        "scales": {**SCALES, "five": {"type": "points", "points": 5}},
        "questions": [{"id": "hiddenname", "text": {"en": "How good?", "ko": "어때요?"}, "scale": scale}],
        "design": {"ratings_per_item": 3, "practice": 0, "listening": "free"},
        **({} if sets is None else {"sets": sets}),
        **parts,
    }
    (folder / "study.yaml").write_text(yaml.safe_dump(study, allow_unicode=True), encoding="utf-8")
    (folder / "stimuli.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    return folder


@pytest.fixture
def served(request: pytest.FixtureRequest, tmp_path: Path, hashed: str) -> Iterator[tuple[TestClient, Collection, str]]:
    kind, scale = request.param
    sets: dict[str, Any] | None = None if kind is None else {"type": kind}
    if sets is not None and kind in {"mushra", "reference"}:
        sets["reference"] = "Quillbox"
    options = WebOptions(secret=SECRET, password=hashed, address_per_minute=0, rater_per_minute=0, access_log=False)
    with (
        Collection.open(write(tmp_path / "s", scale, sets), options=CollectOptions(seed=1, durable=False)) as it,
        TestClient(create_app(it, options), base_url="http://study.test", follow_redirects=False) as client,
    ):
        yield client, it, scale


def begin(client: TestClient) -> dict[str, Any]:
    """Come in, and go on to the first trial."""
    client.get("/")
    step: dict[str, Any] = client.get("/rate/step").json()["step"]
    return step if step["kind"] == "trial" else client.post("/rate/ready", json={}).json()["step"]


EVERY = [
    ("pair", "which"), ("ab", "cmos"), ("abx", "forced"), ("reference", "five"), ("mushra", "grade"), ("ranking", "rank"),
    ("best-worst", "extremes"), (None, "course"),
]  # fmt: skip
KINDS = {
    "abx": ["judged", "judged", "x"],
    "reference": ["reference", "judged"],
    "mushra": ["reference", *["judged"] * 3],
}


@pytest.mark.parametrize("served", EVERY, indirect=True, ids=str)
def test_a_rater_answers_everything_and_the_researcher_sees_it(served: tuple[TestClient, Collection, str]) -> None:
    client, collection, scale = served
    step, kind = begin(client), None if collection.study.sets is None else collection.study.sets.type
    trials = 0
    while step["kind"] == "trial":
        trials += 1
        members = step.get("members", [])
        sizes = {"pair": 2, "ab": 2, "ranking": 3, "best-worst": 3}
        expected = KINDS.get(kind or "") or ["judged"] * sizes.get(kind or "", 0)
        assert [member["kind"] for member in members] == expected
        assert all(set(member) <= {"media", "kind", "prompt"} for member in members)
        log: dict[str, Any] = {"played": [[[0, 0.1]]] * len(members), "away": 0.5, "seconds": 2}
        if not members:
            log = {"intervals": [[0, 0.1]], "away": 0.5}
        body = {"trial": step["trial"], "key": str(trials), "values": {step["questions"][0]: ANSWERS[scale]}}
        reply = client.post("/rate/answer", json={**body, "heard": log})
        assert reply.status_code == 200, reply.text
        step = reply.json()["then"]
    assert trials == collection.coverage().units
    snapshot = collection.snapshot()
    assert snapshot.ratings.height >= trials
    assert snapshot.traces.height == (trials if kind is None else 0)
    researcher = log_in(client)
    rater = snapshot.raters["rater"][0]
    listed = ("study", "coverage", "machine", "reliability", "systems", "stimuli", "problems", "raters", "ratings")
    for path in (*listed, f"raters/{rater}/trials", f"raters/{rater}/effect"):
        reply = researcher.get(f"/api/v1/{path}")
        assert reply.status_code == 200, (path, reply.text)
    coverage = researcher.get("/api/v1/coverage").json()
    assert (coverage["of"], coverage["complete"]) == ("stimuli" if kind is None else "sets", trials)
    first = researcher.get(f"/api/v1/raters/{rater}/trials").json()["trials"][0]
    assert len(first["members"]) == len(KINDS.get(kind or "", []) or expected)
    assert first["away"] == 0.5
    table = researcher.get("/api/v1/ratings", params={"as": "csv"}).text
    assert table.count("\n") == snapshot.ratings.height + 1


@pytest.mark.parametrize("served", [("mushra", "grade")], indirect=True, ids=str)
def test_the_hidden_reference_looks_like_any_other(served: tuple[TestClient, Collection, str]) -> None:
    client, collection, _ = served
    step = begin(client)
    page = client.get("/rate").text
    for word in ("quillbox", "marrowtone", "vellum", "hiddenname", "hidden-reference"):
        assert word not in page.lower().split("<script", 1)[1].rsplit("</script>", 1)[0], word
    names = [member["media"] for member in step["members"]]
    assert len(set(names)) == 4
    assert len({name.partition("-")[2] for name in names}) == 4
    blinding = Blinding(SECRET, collection.study)
    files = [blinding.media_of(name) for name in names]
    assert len(set(files)) == 3
    assert files.count(files[0]) == 2, "the reference is there twice, under different names"
    replies = [client.get(f"/media/{name}") for name in names]
    assert [reply.status_code for reply in replies] == [200] * 4
    assert len({reply.headers["etag"] for reply in replies}) == 4
    constant = [{k: v for k, v in reply.headers.items() if k != "etag"} for reply in replies]
    assert all(headers == constant[0] for headers in constant)
    ahead = [member["media"] for trial in step["following"] for member in trial["members"]]
    assert len(set(ahead) | set(names)) == len(ahead) + 4
    again = client.get("/rate/step").json()["step"]
    assert [member["media"] for member in again["members"]] == names, "a reload shows the same names and order"
    shown = decode({"step": step}, blinding)
    assert [member.media for member in shown.members] == files  # type: ignore[union-attr]  # a trial


@pytest.mark.parametrize("name", ["1.0-", "1.-" + "0" * 24, "1.100-" + "0" * 24, ".1-" + "0" * 24, "1.1.1-" + "0" * 24])
@pytest.mark.parametrize("served", [("pair", "which")], indirect=True, ids=str)
def test_names_that_no_place_has(served: tuple[TestClient, Collection, str], name: str) -> None:
    assert Blinding(SECRET, served[1].study).media_of(name) is None


WRONG: list[tuple[dict[str, Any], int]] = [
    ({"values": {"q": {"best": 1}}}, 422),
    ({"values": {"q": {"worse": 1}}}, 422),
    ({"values": {"q": [[1]]}}, 422),
    ({"values": {"q": [1.5] * 26}}, 422),
    ({"values": {"q": {"best": 0, "worst": 25}}}, 422),
    ({"values": {"q": {"samples": ["x"]}}}, 422),
    ({"values": {"q": 7}}, 422),
    ({"values": {"q": None}}, 422),
    ({"values": {"q": 0}, "heard": {"played": [[[0, 1]]] * 26}}, 422),
    ({"values": {"q": 0}, "heard": {"played": [[["x", 1]]]}}, 422),
    ({"values": {"q": 0}, "heard": {"away": -1}}, 422),
    ({"values": {"q": 0}, "heard": {"played": [[[0, 0.1]]] * 2, "away": 3}}, 200),
]


@pytest.mark.parametrize("served", [("pair", "which")], indirect=True, ids=str)
def test_bodies_that_are_refused(served: tuple[TestClient, Collection, str]) -> None:
    client, collection, _ = served
    step = begin(client)
    for body, status in WRONG:
        values = {step["questions"][0]: body["values"]["q"]}
        sent = {"trial": step["trial"], "key": "k", **body, "values": values}
        reply = client.post("/rate/answer", json=sent)
        assert reply.status_code == status, (body, reply.text)
        assert "Traceback" not in reply.text
        assert collection.ratings().height == (2 if status == 200 else 0)


@pytest.mark.parametrize("served", [(None, "course")], indirect=True, ids=str)
def test_a_long_trace_is_taken_and_an_endless_one_is_not(served: tuple[TestClient, Collection, str]) -> None:
    client, collection, _ = served
    step = begin(client)
    # Twelve thousand samples with every digit a browser can print: ten minutes at 20 Hz, or at 10 Hz on two axes.
    samples = np.random.default_rng(1).uniform(-1, 1, 12_000).tolist()
    body = {"trial": step["trial"], "key": "k", "values": {step["questions"][0]: {"samples": samples}}}
    assert client.post("/rate/answer", json=body).status_code == 200
    assert collection.snapshot().traces["samples"].list.len().to_list() == [12_000]
    body["values"] = {step["questions"][0]: {"samples": samples * 6}}
    assert client.post("/rate/answer", json=body).status_code == 413


def test_scales_in_the_language_of_the_rater(tmp_path: Path) -> None:
    folder = write(tmp_path / "s", "which", {"type": "pair"})
    with Collection.open(folder, options=CollectOptions(durable=False)) as collection:
        scales = {scale["type"]: scale for scale in present(collection.study, "ko")["scales"]}
        assert present(collection.study, "ko")["set_type"] == "pair"
    assert scales["choice"] == {"type": "choice", "ties": True, "tie": "같다"}
    assert scales["preference"] == {"type": "preference", "steps": 1, "anchors": [[0, "같다"], [1, "낫다"]]}
    assert scales["grade"] == {"type": "grade", "low": 0.0, "high": 100.0, "step": 1.0, "bands": ["나쁨", "좋음"]}
    assert scales["rank"] == {"type": "rank", "best": "위", "worst": "가장 나쁨"}
    assert scales["best-worst"] == {"type": "best-worst", "best": "가장 좋음", "worst": "최소"}
    trace = {"low": -1.0, "high": 1.0, "rate": 20.0, "low_text": "슬픔", "high_text": ""}
    assert scales["trace"] == {"type": "trace", **trace}


@pytest.mark.parametrize("served", [("pair", "which")], indirect=True, ids=str)
def test_a_stimulus_counts_with_all_its_sets(served: tuple[TestClient, Collection, str]) -> None:
    client, collection, _ = served
    step = begin(client)
    body = {"trial": step["trial"], "key": "k", "values": {step["questions"][0]: 0}}
    client.post("/rate/answer", json=body)
    stimuli = pl.DataFrame(log_in(client).get("/api/v1/stimuli").json()["stimuli"])
    assert stimuli["complete"].sum() == 2
    assert set(stimuli["quota"]) == {6}
    assert collection.coverage().complete == 1
