"""Folders of clips: which system and intent every clip has."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import soundfile

from heartfelt.errors import InputError
from heartfelt.scoring.conveyance import clips_of
from tests.collect.people import write_study


def write_clips(folder: Path, *names: str) -> Path:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        soundfile.write(path, np.zeros(800), 8000)
    return folder


def facts(folder: Path, study: Path | None = None) -> dict[str, tuple[str, str]]:
    table = clips_of(folder, study).stimuli
    return {row["stimulus"]: (row["system"], row["intent"]) for row in table.iter_rows(named=True)}


def test_what_comes_before_the_intent_is_the_system(tmp_path: Path) -> None:
    folder = write_clips(
        tmp_path / "runs", "happy/a.wav", "v2/step9/Sad/b.wav", "v2/sad/happy/c.wav", "v2/other/d.wav", "e.wav"
    )
    assert facts(folder) == {
        "happy/a.wav": ("runs", "happy"),
        "v2/step9/Sad/b.wav": ("v2/step9", "sad"),
        "v2/sad/happy/c.wav": ("v2", "sad"),
    }


def test_a_table_of_clips_may_leave_the_system_out(tmp_path: Path) -> None:
    folder = write_clips(tmp_path / "runs", "a.wav", "b.wav")
    (folder / "a_notes.csv").write_text("file,note\na.wav,nothing\n")
    (folder / "b_notes.csv").write_text("intent,note\nhappy,nothing\n")
    (folder / "clips.csv").write_text("audio_file,intent\na.wav,happy\nb.wav,sad\n")
    assert facts(folder) == {"a.wav": ("runs", "happy"), "b.wav": ("runs", "sad")}
    (folder / "clips.csv").write_text("audio_file,intent\n")
    write_clips(folder, "calm/c.wav")
    with pytest.raises(InputError, match="convey"):
        facts(write_clips(tmp_path / "none", "a.wav"))
    assert facts(folder)["calm/c.wav"] == ("runs", "calm")


def test_a_study_names_intents_of_its_own(tmp_path: Path) -> None:
    study = write_study(
        tmp_path / "study",
        "intended",
        systems=[{"id": "old"}],
        intents=[{"id": "bored", "valence": 3, "arousal": 2}],
        rows=["stimulus,system,intent", "a,old,bored"],
    )
    folder = write_clips(tmp_path / "runs", "new/bored/a.wav")
    assert facts(folder, study) == {"new/bored/a.wav": ("new", "bored")}
    assert facts(study) == {"a": ("old", "bored")}


def test_stimuli_without_intents_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError) as error:
        clips_of(write_study(tmp_path / "study", "aimless"))
    assert "intents" in error.value.problem


def test_a_table_of_ratings_is_read_as_what_it_is(tmp_path: Path) -> None:
    rows = "\n".join(f"r{rater},{name},{3 + rater}" for name in "ab" for rater in range(3))
    (tmp_path / "ratings.csv").write_text(f"rater,stimulus,valence\n{rows}\n")
    with pytest.raises(InputError, match="systems and intents"):
        clips_of(tmp_path / "ratings.csv")
