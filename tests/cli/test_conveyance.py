"""``heartfelt conveyance`` on folders of clips: by subfolder, by CSV, with a few ratings, and what must be refused."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest
import soundfile
from typer.testing import CliRunner

from heartfelt.api.sources import read_source
from heartfelt.cli.app import app
from heartfelt.collect import Collection
from heartfelt.errors import InputError
from heartfelt.predictors.weights import load_model
from heartfelt.predictors.weights.store import PullError
from heartfelt.scoring.conveyance import clips_of
from heartfelt.streams import stream
from tests.collect.people import Person, write_study

RATE = 16_000


@pytest.fixture
def clips(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two systems, two intents, three short clips each."""
    monkeypatch.setenv("HEARTFELT_FEATURES", str(tmp_path / "features"))
    rng = stream(1, "clips")
    for system in ("old", "new"):
        for intent, speed in (("happy", 0.25), ("sad", 0.06)):
            folder = tmp_path / "clips" / system / intent
            folder.mkdir(parents=True)
            for place in range(3):
                tone = 0.2 * np.sin(np.arange(RATE * 3) * speed) + rng.normal(0, 0.02, RATE * 3)
                soundfile.write(folder / f"{place}.wav", tone, RATE)
    return tmp_path / "clips"


@pytest.fixture
def models() -> None:
    try:
        for name in ("musicnn-msd", "musicnn-mtt"):
            load_model(name)
    except PullError as error:
        pytest.skip(f"MusicNN cannot be pulled: {error.problem}")


def ask(*words: str) -> tuple[int, str, BaseException | None]:
    done = CliRunner().invoke(app, ["conveyance", *words])
    return done.exit_code, done.stdout, done.exception


@pytest.mark.slow
@pytest.mark.usefixtures("models")
def test_subfolders_called_like_intents_with_and_without_ratings(clips: Path, tmp_path: Path) -> None:
    left_out = ["broken.wav", "moved.wav", "song.m4a", "caf\\xe9.wav"]
    (clips / "new" / "sad" / "broken.wav").write_text("no sound")
    (clips / "new" / "sad" / "song.m4a").write_text("no sound")
    (clips / "new" / "sad" / "moved.wav").symlink_to(tmp_path / "gone.wav")
    (clips / "new" / "sad" / os.fsdecode(b"caf\xe9.wav")).write_text("no name")
    code, answer, error = ask(str(clips), "-o", str(tmp_path / "out"))
    assert code == 0, error
    assert "Predicted, not rated" in answer
    page = (tmp_path / "out" / "report.html").read_text()
    assert "map-predicted" in page
    assert "map-rated" not in page
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert summary["marked"] == "predicted"
    assert summary["stimuli"] == 12
    assert {row["system"] for row in summary["deviation_by_system"]} == {"all", "old", "new"}
    assert all(row["deviation"]["low"] is not None for row in summary["deviation_by_system"])
    ledger = (tmp_path / "out" / "ledger.csv").read_text()
    assert not [name for name in left_out if name not in ledger]
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "Predicted, not rated" in page

    lines = ["rater,stimulus,valence,arousal"]
    lines += [
        f"r{rater},{system}/{intent}/{place}.wav,{6 + rater % 2 - place},{5 - rater % 3}"
        for system in ("old", "new") for intent in ("happy", "sad") for place in range(2) for rater in range(3)
    ]  # fmt: skip
    (tmp_path / "few.csv").write_text("\n".join(lines) + "\n")
    code, _, error = ask(str(clips), "-o", str(tmp_path / "rated"), "--ratings", str(tmp_path / "few.csv"))
    assert code == 0, error
    summary = json.loads((tmp_path / "rated" / "summary.json").read_text())
    assert summary["rated"] == 8
    assert "prediction-powered" in summary["deviation_by_system"][0]["deviation"]["method"]


def test_a_csv_names_files_and_intents(clips: Path) -> None:
    (clips / "list.csv").write_text("file,intent,system\nold/happy/0.wav,happy,old\nnew/sad/1.wav,sad,new\n")
    result = clips_of(clips)
    assert result.stimuli["stimulus"].to_list() == ["old/happy/0.wav", "new/sad/1.wav"]
    assert result.stimuli["system"].to_list() == ["old", "new"]
    (clips / "list.csv").write_text("file,intent\nold/happy/0.wav,hapy\n")
    with pytest.raises(InputError, match="'hapy' has no reference") as message:
        clips_of(clips)
    assert "Did you mean 'happy'" in message.value.fix


def test_a_folder_that_says_nothing_is_refused(tmp_path: Path) -> None:
    soundfile.write(tmp_path / "a.wav", np.zeros(RATE), RATE)
    with pytest.raises(InputError, match="meant to convey"):
        clips_of(tmp_path)
    with pytest.raises(InputError, match="no file or folder"):
        clips_of(tmp_path / "gone")


@pytest.mark.slow
def test_a_study_comes_with_what_it_has_collected(tmp_path: Path) -> None:
    folder = write_study(
        tmp_path / "study",
        "rated",
        systems=[{"id": "old"}],
        intents=[{"id": "happy", "valence": 8, "arousal": 7}],
        rows=["stimulus,system,intent", "a,old,happy", "b,old,happy"],
    )
    with Collection.open(folder) as collection:
        Person(collection).finish()
    assert clips_of(folder).counts["ratings"] == 0
    assert clips_of(folder, read=read_source).counts["ratings"] == 2


@pytest.mark.slow
@pytest.mark.usefixtures("models")
def test_ratings_of_unknown_clips_are_refused(clips: Path, tmp_path: Path) -> None:
    (tmp_path / "few.csv").write_text("rater,stimulus,valence\nr1,elsewhere.wav,5\n")
    _, _, error = ask(str(clips), "-o", str(tmp_path / "out"), "--ratings", str(tmp_path / "few.csv"))
    assert isinstance(error, InputError)
    assert "not a clip of the folder" in error.problem
    assert not (tmp_path / "out").exists()
