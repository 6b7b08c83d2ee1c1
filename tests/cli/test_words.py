"""``heartfelt words`` on tables, text files, snapshots and studies; and what it says about bad input."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from heartfelt.cli import main
from heartfelt.formats.tables.texts import file_texts, snapshot_texts
from heartfelt.report.pages.words import WordStatistics
from heartfelt.serialization import read_json
from heartfelt.snapshot import Snapshot
from heartfelt.study import parse_study
from tests.facts import mentions

STUDY = """
name: captions
scales: {words: {type: text}, five: {type: points, points: 5}}
questions:
  - {id: description, text: Describe it, scale: words}
  - {id: quality, text: How good, scale: five}
"""
WORDS = ("a", "bright", "red", "bird", "sits", "on", "the", "old", "stone", "wall", "and", "looks", "at", "two", "sea")


def captions(number: int, step: int = 3) -> list[str]:
    return [" ".join(WORDS[(i * step + k * (1 + i % 3)) % len(WORDS)] for k in range(9)) for i in range(number)]


def run(*arguments: object, capsys: pytest.CaptureFixture[str]) -> tuple[int, str, list[str]]:
    code = main([str(argument) for argument in arguments])
    answer = capsys.readouterr()
    return code, answer.out, answer.err.strip().splitlines()


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "images.csv"
    pl.DataFrame({"image": range(30), "caption": captions(30), "human": captions(30, 5)}).write_csv(path)
    return path


def snapshot() -> Snapshot:
    stimuli = pl.DataFrame({"stimulus": ["s1", "s2", "s3"], "prompt": ["a dog", "a cat", "a bird"]})
    ratings = pl.DataFrame({
        "rater": ["r1", "r2", "r1"], "stimulus": ["s1", "s1", "s2"], "question": "description",
        "value": [None, None, None], "answer": ["a happy dog", "some dog", "cat"],
    }, schema_overrides={"value": pl.Float64})  # fmt: skip
    fields = pl.DataFrame({
        "stimulus": ["s1", "s1", "s2", "s3"], "field": "caption", "source": "m",
        "machine": ["one dog", "one dog", "one cat", "one fish"], "verdict": ["accepted", "fixed", None, "rejected"],
        "final": ["one dog", "a big dog", None, None], "verified_by": ["r1", "r2", None, "r1"],
    })  # fmt: skip
    return Snapshot.build(parse_study(STUDY), stimuli=stimuli, ratings=ratings, fields=fields)


@pytest.mark.slow
def test_a_table_next_to_other_texts(table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = tmp_path / "chinese.txt"
    lines.write_text("一只猫走过明亮的街道\n\n两只狗在海边\n", encoding="utf-8")
    coco = tmp_path / "coco.json"
    coco.write_text(json.dumps({"info": {}, "annotations": [{"id": 1, "text": t} for t in captions(25, 7)]}))
    folder = tmp_path / "out"
    code, out, err = run(
        "words", table, "--field", "caption", "--field", "human", "--with", f"zh={lines}",
        "--with", f"coco={coco}#text", "--out", folder, capsys=capsys,
    )  # fmt: skip
    assert (code, err) == (0, [])
    result = read_json(folder / "words.json", WordStatistics)
    assert list(result.corpora) == ["caption", "human", "zh", "coco"]
    assert [own.texts for own in result.corpora.values()] == [30, 30, 2, 25]
    assert result.corpora["zh"].unit == "characters"
    rows = pl.read_csv(folder / "words.csv")
    assert rows.height == 4 * 9
    assert rows.filter(pl.col("value").is_null() & pl.col("reason").is_null()).is_empty()
    assert rows.filter(pl.col("low").is_null() & pl.col("reason").is_null()).is_empty()
    shown = (folder / "words.md").read_text(encoding="utf-8")
    assert shown.strip() in out
    assert "do not compare them with words" in shown
    assert "| zh | characters | 2 |" in shown
    assert (folder / "report.html").stat().st_size > 10_000
    assert {path.suffix for path in (folder / "figures").iterdir()} == {".csv", ".pdf", ".png", ".svg"}


@pytest.mark.slow
def test_references(
    table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    folder = tmp_path / "out"
    code, out, _ = run("words", table, "--field", "caption", "--against", "human", "-o", folder, capsys=capsys)
    assert code == 0
    assert "| against human, 30 texts | value |" in out
    assert "| METEOR | none: " in out
    close = read_json(folder / "words.json", WordStatistics).closeness
    assert close is not None
    assert close.items == 30
    assert close.cider.low is not None


@pytest.mark.slow
def test_a_snapshot_has_answers_fields_and_columns(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = snapshot()
    assert snapshot_texts(made, "description").texts == ("a happy dog", "some dog", "cat")
    assert snapshot_texts(made, "caption").texts == ("one dog", "a big dog", "one cat")
    assert snapshot_texts(made, "caption.machine").texts == ("one dog", "one cat", "one fish")
    assert snapshot_texts(made, "caption.final").items == ("s1", "s1")
    assert snapshot_texts(made, "prompt").items == ("s1", "s2", "s3")
    made.write(tmp_path / "snapshot")
    arguments = ("words", tmp_path / "snapshot", "--out", tmp_path / "out")
    code, out, _ = run(*arguments, "--field", "description", "--against", "prompt", capsys=capsys)
    assert code == 0
    assert "| description | words | 3 | 6 |" in out
    assert "against prompt, 3 texts" in out
    code, _, err = run(*arguments[:2], "-o", tmp_path / "no", "--field", "captions", capsys=capsys)
    assert code == 2
    assert mentions(err[0], "texts", "'captions'")
    assert err[1].startswith("Did you mean 'caption'?")
    code, _, err = run(*arguments[:2], "-o", tmp_path / "no", capsys=capsys)
    assert (code, len(err)) == (2, 2)


def test_fields_without_verdicts() -> None:
    stimuli = pl.DataFrame({"stimulus": ["s1"]})
    fields = pl.DataFrame({"stimulus": ["s1"], "field": ["caption"], "machine": ["one dog"]})
    made = Snapshot.build(parse_study(STUDY), stimuli=stimuli, fields=fields)
    assert snapshot_texts(made, "caption").texts == ("one dog",)


@pytest.mark.parametrize(
    ("name", "content", "arguments", "problem"),
    [
        ("a.csv", "image,caption\n1,x\n", ["--field", "captoin"], "has no column 'captoin'"),
        ("a.csv", "image,caption\n1,x\n", [], "is a table"),
        ("a.txt", "x\n", ["--field", "a", "--against", "b"], "no fields"),
        ("a.csv", "caption\nx\n", ["--against", "caption"], "References belong to one field"),
        ("a.csv", "caption\nx\n", ["--field", "caption", "--with", "other"], "not of the form"),
        ("a.csv", "caption\nx\n", ["--field", "caption", "--with", "o=no.txt"], "There is no file no.txt"),
        ("a.csv", "caption\nx\n", ["--field", "caption", "--with", "caption=a.csv"], "Two sets"),
        ("a.csv", "caption\nx\n", ["--field", "caption", "--window", "0"], "window"),
        ("a.json", '[{"caption": ["x", "y"]}]', ["--field", "caption"], "lists or objects"),
        ("a.json", "{", ["--field", "caption"], "not valid JSON"),
    ],
)
def test_bad_input_is_explained(
    name: str, content: str, arguments: list[str], problem: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / name).write_text(content, encoding="utf-8")
    code, _, err = run("words", tmp_path / name, "--out", tmp_path / "out", *arguments, capsys=capsys)
    assert (code, len(err)) == (2, 2)
    assert problem in err[0]
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_empty_texts_and_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "empty.txt"
    path.write_text("\n\n", encoding="utf-8")
    assert file_texts(path, None).texts == ()
    code, out, _ = run("words", path, "--out", tmp_path / "out", capsys=capsys)
    assert code == 0
    assert "none: no texts" in out
    listed = tmp_path / "list.json"
    listed.write_text(json.dumps(["one text", ""]), encoding="utf-8")
    assert file_texts(listed, None).texts == ("one text", "")
    blank = tmp_path / "blank.csv"
    blank.write_text("id,caption\n1,\n2,some words\n", encoding="utf-8")
    assert file_texts(blank, "caption").texts == ("", "some words")


@pytest.mark.data
def test_the_prompts_of_ai_images(shared_data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    prompts = shared_data / "avt_ai_images" / "prompts.csv"
    code, out, _ = run("words", prompts, "--field", "prompts", "--out", tmp_path / "out", capsys=capsys)
    assert code == 0
    assert "HD-D" in out
