"""``heartfelt predict``: JSON and words, exit codes, one bad file among many."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import soundfile
from typer.testing import CliRunner

from heartfelt.cli.app import app
from heartfelt.models import load_model
from heartfelt.models.store import PullError

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


def test_json_is_a_list_of_files_with_values_and_intervals(clip: Path) -> None:
    code, out = ask("valence-arousal", str(clip), "--json")
    assert code == 0
    (each,) = json.loads(out)
    assert each["file"] == str(clip)
    for question in ("valence", "arousal"):
        assert each[question]["low"] <= each[question]["value"] <= each[question]["high"]


def test_one_bad_file_leaves_with_one_and_the_rest_is_answered(clip: Path, tmp_path: Path) -> None:
    (tmp_path / "text.wav").write_text("no sound")
    code, out = ask("valence-arousal", str(tmp_path / "text.wav"), str(clip), "--json")
    assert code == 1
    bad, good = json.loads(out)
    assert "holds text" in bad["problem"]
    assert good["valence"]["value"]


def test_no_good_file_leaves_with_two(clip: Path, tmp_path: Path) -> None:
    assert clip.is_file()
    assert ask("valence-arousal", str(tmp_path / "gone.wav"), "--json")[0] == 2


def test_words_for_people(clip: Path) -> None:
    code, out = ask("valence-arousal", str(clip))
    assert code == 0
    assert "valence" in out
    assert "[" in out


def test_tags_are_probabilities(clip: Path) -> None:
    code, out = ask("tags", str(clip), "--json")
    assert code == 0
    (each,) = json.loads(out)
    assert len(each["values"]) == 50
    assert all(0 <= tag["value"] <= 1 for tag in each["values"].values())
    assert ask("tags", str(clip.parent / "gone.wav"))[0] == 2
