"""A tagger that an author plugs in: ``heartfelt draft`` with a module in the working folder, well-behaved and hostile."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from heartfelt.cli import main
from heartfelt.errors import HeartfeltError, InputError
from heartfelt.formats.study_folder.drafts import read_drafts
from heartfelt.predictors import predictor_from
from heartfelt.predictors.drafts import draft
from heartfelt.predictors.measures.pictures.tagger import tags_seen
from heartfelt.study import load_study
from tests.predictors.drafts.studies import STUDY, options, write_study

DETECTOR = """
def see(path):
    seen = {
        "p0": [{"tag": "dog", "confidence": 0.92, "box": [0.1, 0.2, 0.60001, 0.9]}, ("grass", 0.7), ("cat", 0.2)],
        "p1": ["sky", {"tag": "sea"}],
        "p2": [],
    }
    return seen[path.stem]

see.limits = "It knows  dogs."
see.version = 3

def pixels(path):
    return [{"tag": "dog", "confidence": 0.9, "box": (8, 4, 16, 32)}]

def twice(path, question):
    return []
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with a study of three images and the author's module."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    sys.modules.pop("my_detector", None)
    (tmp_path / "my_detector.py").write_text(DETECTOR, encoding="utf-8")
    return write_study(tmp_path / "study", 3)


def drafts_of(folder: Path) -> pl.DataFrame:
    return read_drafts(folder, load_study(folder))


@pytest.mark.slow
def test_a_detector_of_the_authors_own_by_the_command(here: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "heartfelt",
        "draft",
        str(here),
        "--with",
        "things=tagger:my_detector:see",
        "--no-duplicates",
    ]
    done = subprocess.run(
        command, capture_output=True, text=True, cwd=here.parent, env={**os.environ, "COLUMNS": "200"}
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "It knows dogs." in done.stdout
    rows = {row["stimulus"]: row for row in drafts_of(here).iter_rows(named=True)}
    assert {name: row["value"] for name, row in rows.items()} == {"p0": "dog;grass", "p1": "sky;sea", "p2": "(none)"}
    assert json.loads(rows["p0"]["boxes"]) == [{"tag": "dog", "confidence": 0.92, "box": [0.1, 0.2, 0.6, 0.9]}]
    assert (rows["p0"]["confidence"], rows["p1"]["confidence"]) == (0.92, None)
    assert rows["p1"]["boxes"] is None
    assert {row["limits"] for row in rows.values()} == {"It knows dogs."}
    assert {(row["source"], row["version"]) for row in rows.values()} == {("tagger:my_detector:see", "3")}


def test_boxes_in_pixels_become_fractions(here: Path) -> None:
    done = draft(here, options("tagger[boxes=pixels]:my_detector:pixels", fields=["things"]))
    assert json.loads(done.drafts["boxes"][0]) == [{"tag": "dog", "confidence": 0.9, "box": [0.25, 0.125, 0.5, 1.0]}]


HOSTILE = {
    "'dog'": "the tagger gave str, not a list of tags",
    "None": "the tagger gave NoneType, not a list of tags",
    "{'dog': 0.9}": "the tagger gave dict, not a list of tags",
    "['x'] * 10_000": "the tagger gave 10,000 tags; at most 1,000 are read",
    "[('dog', 7)]": "the confidence of 'dog' is 7, not from 0 to 1",
    "[('dog', -0.01)]": "the confidence of 'dog' is -0.01, not from 0 to 1",
    "[('dog', float('nan'))]": "the confidence of 'dog' is nan",
    "[('dog', 'high')]": "the confidence of 'dog' is str, not a number",
    "[('dog', True)]": "the confidence of 'dog' is bool, not a number",
    "[7]": "tag 1 of the tagger is int, not a text, a pair or a mapping",
    "['dog', '']": "tag 2 of the tagger is no text of 1 to 80 characters",
    "['x' * 81]": "tag 1 of the tagger is no text of 1 to 80 characters",
    "[{'tag': None}]": "tag 1 of the tagger is no text of 1 to 80 characters",
    "[{'name': 'dog'}]": "tag 1 of the tagger has an unknown part 'name'; known: tag, confidence and box",
    "[{'tag': 'dog', 'box': [0, 0, 1]}]": "the box of 'dog' is not left, top, right and bottom",
    "[{'tag': 'dog', 'box': 'wide'}]": "the box of 'dog' is not left, top, right and bottom",
    "[{'tag': 'dog', 'box': [0, 0, 1, None]}]": "an edge of the box of 'dog' is NoneType, not a number",
    "[{'tag': 'dog', 'box': [0, 0, 1, float('inf')]}]": "an edge of the box of 'dog' is inf",
    "[{'tag': 'dog', 'box': [0, 0, 1.2, 1]}]": "the box of 'dog' (0, 0, 1.2 and 1) is not inside the image",
    "[{'tag': 'dog', 'box': [-0.1, 0, 1, 1]}]": "is not inside the image",
    "[{'tag': 'dog', 'box': [0, -0.1, 1, 1]}]": "is not inside the image",
    "[{'tag': 'dog', 'box': [0, 0, 1, 1.1]}]": "is not inside the image",
    "[{'tag': 'dog', 'box': [0.5, 0, 0.5, 1]}]": "the box of 'dog' (0.5, 0, 0.5 and 1) has no area",
    "[{'tag': 'dog', 'box': [0, 0.9, 1, 0.1]}]": "has no area",
    "1 / 0": "ZeroDivisionError",
    "[('dog', 0.4)]": "",
    "[f'tag {n}' for n in range(31)]": "",
}  # fmt: skip


def test_hostile_taggers_are_rows_of_the_ledger(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One image for every kind of nonsense: each has its reason, no other image suffers, nobody sees a traceback."""
    folder = write_study(here.parent / "many", len(HOSTILE), STUDY)
    lines = "".join(f"    if path.stem == 'p{n}': return {text}\n" for n, text in enumerate(HOSTILE))
    (here.parent / "nonsense.py").write_text(f"def see(path):\n{lines}", encoding="utf-8")
    sys.modules.pop("nonsense", None)
    monkeypatch.setenv("COLUMNS", "200")
    assert main(["draft", str(folder), "--with", "things=tagger:nonsense:see", "--no-duplicates"]) == 1
    shown = capsys.readouterr()
    assert "Traceback" not in shown.out + shown.err
    ledger = pl.read_csv(folder / "drafts_ledger.csv")
    reasons = dict(ledger.select("stimulus", "reason").iter_rows())
    for place, (text, reason) in enumerate(HOSTILE.items()):
        if reason:
            assert reason in reasons[f"p{place}"], text
            assert "\n" not in reasons[f"p{place}"]
        else:
            assert f"p{place}" not in reasons, text
    drafts = {row["stimulus"]: row["value"] for row in drafts_of(folder).iter_rows(named=True)}
    assert drafts == {f"p{len(HOSTILE) - 2}": "(none)", f"p{len(HOSTILE) - 1}": ";".join(f"tag {n}" for n in range(30))}


def test_what_a_tagger_may_return() -> None:
    assert [tag.written for tag in tags_seen((["dog", 1], {"tag": " a  cat ", "confidence": 0}))] == [
        {"tag": "dog", "confidence": 1.0},
        {"tag": "a cat", "confidence": 0.0},
    ]
    assert len(tags_seen(["x"] * 1_000)) == 1_000
    least = tags_seen(["x" * 80, {"tag": "y", "box": None, "confidence": None}])
    assert [tag.written for tag in least] == [{"tag": "x" * 80}, {"tag": "y"}]


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        ("tagger[boxes=feet]:my_detector:see", "Boxes are not given in 'feet'"),
        ("tagger[least=2]:my_detector:see", "'2' is not a valid least"),
        ("tagger[top=31]:my_detector:see", "'31' is not a valid top"),
        ("tagger:my_detector:twice", "is called with path and question"),
        ("tagger:my_detector:nothing", "has no function 'nothing'"),
    ],
)
def test_a_tagger_that_cannot_be_made_says_why(here: Path, spec: str, problem: str) -> None:
    with pytest.raises(HeartfeltError) as message:
        predictor_from(spec)
    assert problem in message.value.problem
    assert here.is_dir()


def test_a_study_of_somebody_elses_runs_no_tagger(here: Path) -> None:
    text = STUDY.replace(
        "text: Things in it, scale: tags,", "text: Things in it, scale: tags, draft: 'tagger:my_detector:see',"
    )
    (here / "study.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=r"functions.*keys"):
        draft(here, options(fields=["things"]))
    assert not (here / "drafts.parquet").exists() or drafts_of(here).is_empty()
