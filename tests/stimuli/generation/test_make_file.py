"""``make.yaml``: what it asks for, and mistakes with their place and fix."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from heartfelt.cli import main
from heartfelt.errors import HeartfeltError
from heartfelt.stimuli import GENERATORS, load_make
from heartfelt.stimuli.generation.make_file import safe_name
from tests.cases import check_all
from tests.stimuli.generation.tones import study_in

TONES = {"generator": "tones"}


def stimuli(folder: Path) -> list[tuple[str, str]]:
    return [(each.prompt.stimulus, each.prompt.text) for system in load_make(folder).systems for each in system.stimuli]


def test_texts_come_from_the_system_the_file_the_study_or_the_intent(tmp_path: Path) -> None:
    systems = {"A": TONES, "B": {**TONES, "templates": ["{intent}!", "so {intent}"]}}
    folder = study_in(tmp_path / "1", {"per_cell": 2, "template": "{intent}, slow", "systems": systems})
    made = stimuli(folder)
    assert made[:2] == [("A_calm_1", "calm, slow"), ("A_calm_2", "calm, slow")]
    assert made[4:7] == [("B_calm_1_1", "calm!"), ("B_calm_1_2", "calm!"), ("B_angry_1_1", "angry!")]
    assert len(made) == 12
    assert stimuli(study_in(tmp_path / "2", {"systems": {"A": TONES}}))[0] == ("A_calm_1", "calm")
    prompts = [{"id": "p", "text": "{intent} one", "systems": ["A"]}, {"id": "q", "text": "two {intent}"}]
    by_study = study_in(tmp_path / "3", {"systems": {"A": TONES, "B": TONES}}, prompts=prompts)
    assert stimuli(by_study) == [
        ("A_calm_p_1", "calm one"), ("A_angry_p_1", "angry one"), ("A_calm_q_1", "two calm"), ("A_angry_q_1", "two angry"),
        ("B_calm_1", "two calm"), ("B_angry_1", "two angry"),
    ]  # fmt: skip
    fixed = study_in(tmp_path / "4", {"systems": {"A": TONES}}, intents=[], prompts=[{"id": "p", "text": "a song"}])
    assert stimuli(fixed) == [("A_p", "a song")]
    first = load_make(folder).systems[0]
    assert first.stimuli[0].prompt.coordinates == {"valence": 6.0, "arousal": 2.0}
    assert first.stimuli[1].prompt.index == 2


def test_a_prompt_table_gives_the_ids(tmp_path: Path) -> None:
    folder = study_in(tmp_path, {"prompts": "p.csv", "systems": {"A": TONES}})
    table = folder / "p.csv"
    table.write_text("stimulus,system,prompt,text,intent\n01,A,p1,a calm song,calm\n02,A,p1,the same,\n")
    assert stimuli(folder) == [("01", "a calm song"), ("02", "the same")]
    (system,) = load_make(folder).systems
    assert [(each.prompt.intent, each.prompt.index) for each in system.stimuli] == [("calm", 1), ("", 1)]
    for text, words in (
        ("stimulus,system,text\n1,C,x\n", "there is no system 'C'"),
        ("stimulus,system,text,intent\n1,A,x,sad\n", "there is no intent 'sad'"),
        ("stimulus,system,text\n1,A,x\n1,A,y\n", "'1'"),
        ("stimulus,system,text\n1,A,\n", "no text"),
        ("stimulus,system\n1,A\n", "no column 'text'"),
    ):
        table.write_text(text)
        with pytest.raises(HeartfeltError, match=words):
            load_make(folder)


@pytest.mark.slow
def test_dealt_prompts_of_a_study_keep_their_intents(tmp_path: Path) -> None:
    prompts = [{"id": "p", "text": "{intent} one"}, {"id": "q", "text": "a song"}]
    folder = study_in(tmp_path, {"prompts": "p.csv", "systems": {"A": TONES, "B": TONES}}, prompts=prompts)
    assert main(["prompts", str(folder), "--to", str(folder / "p.csv")]) == 0
    planned = [each.prompt for each in load_make(folder).systems[0].stimuli]
    assert {(each.stimulus, each.intent, each.text) for each in planned} == {
        ("A_p_calm", "calm", "calm one"),
        ("A_p_angry", "angry", "angry one"),
        ("A_q", "", "a song"),
    }
    assert planned[0].coordinates or planned[1].coordinates


@check_all(
    ("make", "words"),
    [
        ({"sytems": {}}, r"line 1, sytems: there is no such key here.*\n.*'systems'"),
        ({"systems": {}}, "systems"),
        ({"systems": {"A": {"model": "x"}}}, r"systems\.A: this key is missing: 'generator'.*\n.*synth-music"),
        ({"systems": {"A": {"generator": "tone"}}}, r"no generator is called 'tone'\.\nDid you mean 'tones'"),
        ({"systems": {"A": {**TONES, "bach": 1}}}, r"line 3, systems\.A\.bach: there is no such key.*\nDid you mean 'batch'"),
        ({"systems": {"A": {**TONES, "batch": "many"}}}, r"systems\.A\.batch: input should be a valid integer"),
        ({"systems": {"C": TONES}}, r"study\.yaml has no system 'C'"),
        ({"template": "{intent}", "templates": ["{intent}"], "systems": {"A": TONES}}, "both given"),
        ({"template": "music", "systems": {"A": TONES}}, "does not mention the intent"),
        ({"per_cell": 0, "systems": {"A": TONES}}, "per_cell: input should be greater"),
        ({"prompts": "p.csv", "per_cell": 2, "systems": {"A": TONES}}, "lists every stimulus"),
        ({"prompts": "../p.csv", "systems": {"A": TONES}}, "leads out of"),
        ({"systems": {"A": {"generator": "command", "command": ["x"]}}}, r"no argument is {file}"),
        ({"systems": {"A": {"generator": "command", "command": ["{out}", "{file}"]}}}, r"{out} stands for nothing"),
        ({"systems": {"A": {"generator": "folder", "folder": "f", "pattern": "{emotion}.wav"}}}, "{emotion} stands for nothing"),
        ({"systems": {"A": {"generator": "folder", "folder": "f", "pattern": "../{intent}.wav"}}}, "leads out"),
        ({"systems": {"A": {"generator": "http", "url": "ftp://x"}}}, "is not an address"),
        ({"systems": {"A": {"generator": "http", "url": "https://me:pw@x.org"}}}, "holds a password"),
        ({"systems": {"A": {"generator": "http", "url": "https://x.org?api_key=1"}}}, "holds a key"),
        ({"systems": {"A": {"generator": "http", "url": "https://x.org", "headers": {"X-Api-Key": "abc"}}}}, "in plain text"),
        ({"systems": {"A": {"generator": "http", "url": "https://x.org", "json": {"a": "{promt}"}}}}, "{promt} stands for nothing"),
        ({"systems": {"A": {"generator": "http", "url": "https://x.org", "answer": "base64"}}}, "needs a place"),
        ({"systems": {"A": {"generator": "http", "url": "https://x.org", "job": {}}}}, "job needs its address"),
        ({"systems": {"A": {"generator": "http", "url": "https://x.org", "jsn": {}}}}, "Did you mean 'json'"),
    ],
)  # fmt: skip
def test_mistakes_are_named_with_their_place_and_fix(make: dict[str, Any], words: str, tmp_path: Path) -> None:
    with pytest.raises(HeartfeltError, match=words):
        load_make(study_in(tmp_path, make))


def test_a_file_that_is_no_make_file(tmp_path: Path) -> None:
    folder = study_in(tmp_path, {})
    for content, words in (
        (b"", "names no systems"),
        (b"\xff\xfe", "not UTF-8"),
        (b"systems: [", "not valid YAML"),
        (b"a: 1\na: 2", "given twice"),
    ):
        (folder / "make.yaml").write_bytes(content)
        with pytest.raises(HeartfeltError, match=words):
            load_make(folder)
    (folder / "make.yaml").unlink()
    with pytest.raises(HeartfeltError, match=r"There is no .*make\.yaml"):
        load_make(folder)


def test_file_names() -> None:
    assert safe_name("MusicGen_happy_1") == "MusicGen_happy_1"
    for text in ("..", "a/b", "a\\b", "nul", "x" * 300, "a:b", "e\u0301", "", " a", "-rf"):
        name = safe_name(text)
        assert name != text
        assert not set(name) & set('/\\:*?"<>|')
        assert not name.startswith((".", " ", "-"))
        assert len(name.encode()) <= 107
    assert safe_name("a/b") != safe_name("a:b")


def test_every_generator_says_what_it_is() -> None:
    for name, kind in GENERATORS.items():
        assert kind.name == name
        assert kind.about
        assert "generator" in kind.settings.model_fields


def test_a_plug_in_that_is_not_installed_names_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert GENERATORS.names()  # takes in what installed packages offer
    monkeypatch.delitem(GENERATORS._things, "mustango", raising=False)
    monkeypatch.delitem(GENERATORS._failed, "mustango", raising=False)
    with pytest.raises(HeartfeltError, match="is not installed") as caught:
        load_make(study_in(tmp_path, {"systems": {"A": {"generator": "mustango"}}}))
    assert caught.value.fix.startswith("Install it: ")
    assert "plugins/heartfelt-mustango" in caught.value.fix
