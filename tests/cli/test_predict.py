"""``heartfelt predict``: words for people, and JSON. What every model owes: tests/predictors/test_media_files.py."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import soundfile
from typer.testing import CliRunner

from heartfelt.cli.app import app
from heartfelt.predictors.weights import load_model
from heartfelt.predictors.weights.store import PullError

pytestmark = pytest.mark.slow  # what they look at takes seconds to make

RATE = 16_000


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    try:
        for name in ("musicnn-msd", "musicnn-mtt"):
            load_model(name)
    except PullError as error:
        pytest.skip(f"MusicNN cannot be pulled: {error.problem}")
    path = tmp_path_factory.mktemp("clips") / "tone.wav"
    soundfile.write(path, 0.3 * np.sin(np.arange(RATE * 4) * 0.17), RATE)
    return path


def ask(*words: str) -> tuple[int, str]:
    done = CliRunner().invoke(app, ["predict", *words])
    return done.exit_code, done.stdout


def test_words_for_people(clip: Path) -> None:
    code, out = ask(str(clip))
    assert code == 0
    assert "valence" in out
    assert "[" in out


def test_tags_and_speech_quality_as_json(clip: Path) -> None:
    code, out = ask(str(clip), "--model", "music-tags", "--json")
    assert code == 0
    (tags,) = json.loads(out)
    assert tags["answer"].split(";") == list(tags["shares"])
    assert all(0 <= share <= 1 for share in tags["shares"].values())
    assert ask(str(clip.parent / "gone.wav"), "--model", "music-tags")[0] == 2
    rows = json.loads(ask(str(clip), "--model", "speech-mos", "--json")[1])
    assert {row["question"] for row in rows} == {"sig", "bak", "ovrl", "p808", "distillmos"}
