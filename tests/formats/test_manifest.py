"""A study folder: its manifest, items and media."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
import soundfile

import heartfelt
from heartfelt.errors import InputError, StudyError
from heartfelt.formats.study_folder.manifest import open_study

STUDY = """\
name: small
systems: [{id: One}, {id: Two}]
intents: [{id: happy}, {id: sad}]
scales: {nine: {type: points, points: 9}}
questions: [{id: valence, text: V, scale: nine}, {id: arousal, text: A, scale: nine}]
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "media").mkdir()
    soundfile.write(tmp_path / "media" / "a.wav", np.zeros(800, np.float32), 8000)
    (tmp_path / "study.yaml").write_text(STUDY)
    (tmp_path / "stimuli.csv").write_text(
        "stimulus,system,intent,path,tempo\n1,One,happy,a.wav,120\n2,Two,sad,b.wav,60\n"
    )
    return tmp_path


def test_extra_columns_are_kept_and_missing_media_are_listed(folder: Path) -> None:
    opened = open_study(folder)
    assert opened.stimuli["tempo"].to_list() == [120, 60]
    assert opened.missing_media == ["2"]
    assert opened.items.height == 4
    assert opened.media_root == folder / "media"


def test_a_parquet_manifest(folder: Path) -> None:
    pl.DataFrame({"stimulus": [1, 2], "note": ["x", None]}).write_parquet(folder / "stimuli.parquet")
    (folder / "study.yaml").write_text(STUDY + "stimuli: {manifest: stimuli.parquet}\n")
    assert open_study(folder).stimuli.rows() == [("1", "x"), ("2", None)]


def test_listed_items(folder: Path) -> None:
    (folder / "study.yaml").write_text(STUDY + "stimuli: {items: items.csv}\n")
    (folder / "items.csv").write_text("stimulus,question,why\n1,valence,first\n")
    assert open_study(folder).items.rows() == [("1", "valence", "first")]


def test_a_study_without_ratings_is_a_snapshot_too(folder: Path, tmp_path: Path) -> None:
    snapshot = heartfelt.read(folder)
    assert (snapshot.counts["stimuli"], snapshot.counts["ratings"], snapshot.source.format) == (2, 0, "study")
    snapshot.write(tmp_path / "out")
    assert heartfelt.load(tmp_path / "out").hash == snapshot.hash


@pytest.mark.parametrize(
    ("file", "text", "problem", "fix"),
    [
        (
            "stimuli.csv",
            "stimulus,system\n1,On\n",
            "line 2, column 'system': the study has no system 'On'",
            "Did you mean 'One'?",
        ),
        ("stimuli.csv", "stimulus,intent\n1,happpy\n", "the study has no intent 'happpy'", "Did you mean 'happy'?"),
        ("stimuli.csv", "stimulus\n1\n1\n", "stimulus '1' is there more than once", "Keep one row"),
        ("stimuli.csv", "stimuli\n1\n", "has no column 'stimulus'", "Did you mean 'stimuli'?"),
        ("stimuli.csv", "stimulus,path\n1,../../etc/passwd\n", "'../../etc/passwd' leads out of", "relative"),
        ("stimuli.csv", "stimulus,path\n1,/etc/passwd\n", "'/etc/passwd' leads out of", "relative"),
        ("stimuli.csv", "", "is empty", "header"),
    ],
)
def test_mistakes_in_the_manifest(folder: Path, file: str, text: str, problem: str, fix: str) -> None:
    (folder / file).write_text(text)
    with pytest.raises(InputError) as caught:
        open_study(folder)
    assert problem in caught.value.problem
    assert fix in caught.value.fix


@pytest.mark.parametrize(
    "line", ["stimuli: {manifest: ../stimuli.csv}", "stimuli: {media: /tmp}", "stimuli: {items: ../../items.csv}"]
)
def test_the_study_cannot_point_out_of_its_folder(folder: Path, line: str) -> None:
    (folder / "study.yaml").write_text(STUDY + line + "\n")
    with pytest.raises(InputError, match="leads out of"):
        open_study(folder)


def test_items_must_be_of_the_study(folder: Path) -> None:
    (folder / "study.yaml").write_text(STUDY + "stimuli: {items: items.csv}\n")
    (folder / "items.csv").write_text("stimulus,question\n1,valense\n")
    with pytest.raises(InputError, match="Did you mean 'valence'"):
        open_study(folder)


def test_no_study_there(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match="There is no"):
        open_study(tmp_path)
