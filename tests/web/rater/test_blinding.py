"""Blinding: whatever a rater's browser is sent, header or body, says nothing of systems, intents, prompts and probes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from starlette.testclient import TestClient

from heartfelt.collect import Collection, CollectOptions
from heartfelt.web.rater.presentation import Blinding
from heartfelt.web.requests.options import WebOptions
from heartfelt.web.serving.app import create_app
from tests.media.metadata.tagged import MARK, PICTURES, SOUNDS

SECRET = b"a secret for the tests of blinding"
STUDY = """
heartfelt: 1
name: blind
title: A study
media: {media}
languages: [en, ko]
systems: [{{id: Quillbox}}, {{id: Marrowtone}}]
intents: [{{id: zestful, reference: {{mood: 3}}}}, {{id: forlorn}}]
prompts: [{{id: secretprompt, text: "a hidden prompt of {{intent}}"}}]
scales: {{scalename: {{type: points, points: 5, pictures: {{1: pictures/marrowface.png}}}}}}
questions:
  - {{id: "Gladness/affirmative", text: "Is there joy?", scale: scalename}}
  - {{id: "Gladness/contrastive", text: "Is there joy?", scale: scalename, required: false}}
  - {{id: otherquestion, text: "How much?", scale: scalename, axis: mood}}
probes:
  - {{type: anchor, id: anchorprobe, stimuli: [known], question: otherquestion, at_least: 2}}
  - {{type: repeat, id: repeatprobe, gap: 1}}
  - {{type: attention, id: lookprobe, text: {{en: "Please choose 4.", ko: "4를 고르세요."}}, question: otherquestion, answer: 4}}
  - {{type: headphones, id: phonesprobe, trials: 1, pass_at: 1}}
consent: {{text: You may stop at any time.}}
design: {{ratings_per_item: 30, practice: 1, listening: free, expected_seconds: 5}}
"""
FORBIDDEN = (
    "quillbox", "marrowtone", "zestful", "forlorn", "secretprompt", "hidden prompt", "scalename", "marrowface", "gladness",
    "affirmative", "contrastive", "otherquestion", "anchorprobe", "repeatprobe",
    "lookprobe", "attention", "phonesprobe",
)  # fmt: skip


def write_study(folder: Path, media: str, makers: dict[str, Any]) -> Path:
    """A study whose every file names its system."""
    (folder / "media").mkdir(parents=True)
    (folder / "pictures").mkdir()
    PICTURES["png"](folder / "pictures" / "marrowface.png")
    (folder / "study.yaml").write_text(STUDY.format(media=media), encoding="utf-8")
    lines = ["stimulus,system,intent,prompt,path"]
    for place, (suffix, make) in enumerate(makers.items()):
        system = ("Quillbox", "Marrowtone")[place % 2]
        name = "known" if not place else f"{system}_{place}"
        make(folder / "media" / f"{system}_{place}.{suffix}")
        lines.append(f"{name},{system},zestful,secretprompt,{system}_{place}.{suffix}")
    (folder / "stimuli.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


@pytest.fixture(scope="module", params=["audio", "image"])
def collection(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Collection]:
    folder = tmp_path_factory.mktemp("blind") / "study"
    readable = {kind: make for kind, make in SOUNDS.items() if kind != "oga"}
    write_study(folder, request.param, readable if request.param == "audio" else PICTURES)
    with Collection.open(folder, options=CollectOptions(seed=3, durable=False)) as opened:
        assert not opened.opened.missing_media
        yield opened


@pytest.fixture
def client(collection: Collection) -> Iterator[TestClient]:
    options = WebOptions(secret=SECRET, address_per_minute=0, rater_per_minute=0, access_log=False)
    with TestClient(create_app(collection, options), base_url="http://127.0.0.1") as made:
        yield made


def walk(client: TestClient) -> tuple[list[Any], list[dict[str, Any]]]:
    """A rater's whole way: everything the server said, and every trial."""
    seen = [client.get("/"), client.get("/rate/step")]
    page = seen[0].text
    seen += [client.get(link) for link in re.findall(r"(?:href|src)=\"(/static[^\"]+)\"", page)]
    seen += [client.get(link) for link in re.findall(r"/rate/picture/\d+/\d+", page)]
    step, trials = seen[1].json()["step"], []
    while step["kind"] != "end":
        if step["kind"] != "trial":
            body = {"consent": {"agreed": True}, "headphones": {"probe": step.get("probe"), "given": [1]}}.get(
                step["kind"], {}
            )
            path = {"consent": "consent", "headphones": "headphones"}.get(step["kind"], "ready")
            message = client.post(f"/rate/{path}", json=body)
            step = message.json()["step"]
        else:
            trials.append(step)
            if step["media"]:
                seen.append(client.get(f"/media/{step['media']}"))
                seen.append(client.get(f"/media/{step['media']}", headers={"range": "bytes=0-400"}))
            seen.append(client.get("/rate"))
            empty = {"trial": step["trial"], "key": "e", "values": {}}
            seen.append(client.post("/rate/answer", json=empty))
            off = {**empty, "values": dict.fromkeys(step["questions"], 77)}
            seen.append(client.post("/rate/answer", json=off))
            strange = {**empty, "values": {"otherquestion": 2}}
            seen.append(client.post("/rate/answer", json=strange))
            body = {"trial": step["trial"], "key": f"k{len(trials)}", "values": dict.fromkeys(step["questions"], 4)}
            message = client.post("/rate/answer", json=body)
            step = message.json()["then"]
        assert message.status_code == 200, message.text
        seen.append(message)
    seen.append(client.get("/rate"))
    return seen, trials


@pytest.mark.slow
def test_nothing_a_browser_is_sent_gives_anything_away(client: TestClient, collection: Collection) -> None:
    seen, trials = walk(client)
    assert len(trials) == collection.opened.stimuli.height - 1 + 3 + 1, "every stimulus, three probes, one practice"
    assert {response.status_code for response in seen} == {200, 206, 422}
    for response in seen:
        where = response.request.url.path
        heads = " ".join(f"{name}: {value}" for name, value in response.headers.items()).lower()
        body = response.content.decode("latin-1").lower()
        if "/static/" in response.request.url.path:
            continue
        for word in FORBIDDEN:
            assert word not in heads, where
            assert word not in body, (where, word, body[max(0, body.index(word) - 60) :][:150])
        assert not {"last-modified", "content-disposition"} & set(response.headers), where
    stored = collection.ratings()
    assert set(stored["question"].to_list()) == {q.id for q in collection.study.asked}


@pytest.mark.slow
def test_every_trial_looks_like_every_other(client: TestClient) -> None:
    """Same keys, same questions, a medium: an attention trial differs only in what the rater reads."""
    _, trials = walk(client)
    ratings = [trial for trial in trials if trial["sort"] == "rating"]
    assert {tuple(trial) for trial in trials} == {tuple(trials[0])}
    assert {tuple(trial["forms"]) for trial in ratings} == {tuple(trials[0]["forms"])}
    assert all(trial["media"] for trial in ratings)
    assert sum(trial["words"] is not None for trial in ratings) == 1
    assert {trial["sort"] for trial in trials} == {"practice", "rating"}
    media = [trial["media"] for trial in trials]
    assert len(set(media)) == len(media), "a repeat has another address"
    names = [name for trial in trials for name in trial["questions"]]
    assert len(set(names)) == len(names)


@pytest.mark.slow
def test_an_attention_trial_speaks_the_language_the_rater_reads_now(client: TestClient) -> None:
    _, trials = walk(client)
    assert [trial["words"] for trial in trials if trial["words"]] == ["Please choose 4."]
    client.cookies.clear()
    client.get("/", headers={"accept-language": "en"})
    client.headers["accept-language"] = "ko"
    _, trials = walk(client)
    assert [trial["words"] for trial in trials if trial["words"]] == ["4를 고르세요."]


@pytest.mark.slow
def test_only_the_probes_own_answer_of_an_attention_trial_is_kept(client: TestClient, collection: Collection) -> None:
    before = collection.ratings().filter(kind="attention").height
    walk(client)
    retained = collection.ratings().filter(kind="attention")
    assert retained.height == before + 1
    assert set(retained["question"].to_list()) == {"otherquestion"}


@pytest.mark.slow
def test_tags_of_media_say_nothing(client: TestClient) -> None:
    """ETags of files that were made at the same moment do not look alike, and two names of one file have two."""
    _, trials = walk(client)
    tags = [client.get(f"/media/{trial['media']}").headers["etag"] for trial in trials]
    assert len(set(tags)) == len(tags)
    assert all(re.fullmatch(r'"[0-9a-f]{24}"', tag) for tag in tags)


def test_names_do_not_sort_by_system(collection: Collection) -> None:
    blinding = Blinding(SECRET, collection.study)
    ids = collection.media_ids()
    names = sorted((blinding.media(str(trial), media), str(name)) for trial, (name, media) in enumerate(ids.items()))
    assert [name for _, name in names] != sorted(str(name) for name in ids)


def test_names_read_back_and_forged_ones_do_not(collection: Collection) -> None:
    blinding, rng = Blinding(SECRET, collection.study), np.random.default_rng(1)
    for trial in ("1", "17", "123456"):
        for place, question in enumerate(q.id for q in collection.study.asked):
            name = blinding.question(trial, place, question)
            assert blinding.question_of(trial, name) == question
            assert blinding.question_of(trial + "1", name) is None
            assert Blinding(b"another secret altogether", collection.study).question_of(trial, name) is None
        media = rng.bytes(12).hex()
        assert blinding.media_of(blinding.media(trial, media)) == media
    for name in ("", "-", "1-", "1-zz", "x-0123456789abcdef", "٣-0123456789abcdef", "1-0123456789ABCDEF", "1" * 400):
        assert blinding.question_of("1", name) is None
        assert blinding.media_of(name) is None


def test_the_marks_are_in_the_originals(collection: Collection) -> None:
    files = list((collection.folder / "media").iterdir())
    assert all(MARK.encode() in path.read_bytes() for path in files)
