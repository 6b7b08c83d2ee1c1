"""A voice in a clip that is meant to be instrumental is noticed, through the command and its report."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from heartfelt.cli import main
from heartfelt.media.audio import write_audio
from heartfelt.media.sound import resample
from heartfelt.stimuli.synthesis.music import render_clip
from heartfelt.stimuli.synthesis.speech import render_voice
from tests.stimuli.preparation.test_preparing import STUDY

RATE = 22_050


@pytest.mark.slow
def test_prepare_names_clips_with_a_voice(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Solo voices score above .9, music below .6, and a voice over music clearly above the music alone."""
    (tmp_path / "study.yaml").write_text(STUDY.format(media="audio"))
    music = {
        place: render_clip(8.0, 7.0, system=name, seconds=5.0, rate=RATE, name="m")
        for place, name in enumerate(("Sinewood", "Pluckbox"))
    }
    voices = [render_voice(8.0, 8.0, system=name, seconds=5.0, rate=RATE, name="v") for name in ("Parlour", "Attic")]
    mixed = music[0].reshape(music[0].shape[0], -1).mean(axis=1) + voices[1][: music[0].shape[0]]
    clips = {
        "m0": music[0],
        "m1": music[1],
        "v0": voices[0],
        "v1": voices[1],
        "mixed": 0.5 * mixed / np.abs(mixed).max(),
    }
    rows = ["stimulus,system,path"]
    for place, (name, clip) in enumerate(clips.items()):
        write_audio(
            tmp_path / f"media/{name}.wav", np.clip(resample(clip.astype(np.float32), RATE, 44_100), -1, 1), 44_100
        )
        rows.append(f"{name},{'AB'[place % 2]},{name}.wav")
    (tmp_path / "stimuli.csv").write_text("\n".join(rows) + "\n")
    command = [
        "prepare",
        str(tmp_path),
        "--content",
        "instrumental",
        "--format",
        ".wav",
        "--out",
        str(tmp_path / "report"),
    ]
    assert main(command) == 0
    shown = capsys.readouterr().out
    scores = dict(pl.read_csv(tmp_path / "stimuli.csv").select("stimulus", "vocals").iter_rows())
    assert min(scores["v0"], scores["v1"]) > 0.9
    assert max(scores["m0"], scores["m1"]) < 0.6
    assert scores["mixed"] > scores["m0"] + 0.1
    assert "v1: a voice is likely (score 0.9" in shown
    assert "m0: a voice" not in shown
    assert "voice score: eta squared" in shown
    assert "a voice is likely" in (tmp_path / "report" / "report.html").read_text(encoding="utf-8")
    assert main(["prepare", str(tmp_path), "--content", "song"]) == 2
    assert "any, instrumental, speech" in capsys.readouterr().err
