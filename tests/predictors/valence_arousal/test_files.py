"""Valence and arousal of files: every format, every kind of bad file, long ones, and one bad among many."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import soundfile

from heartfelt.errors import InputError
from heartfelt.predictors.valence_arousal import predict, shipped

RATE = 16_000
TONE = (0.3 * np.sin(2 * np.pi * 440 * np.arange(RATE * 11) / RATE)).astype(np.float32)
pytestmark = pytest.mark.usefixtures("musicnn")


@pytest.mark.parametrize("ending", ["wav", "flac", "ogg", "opus", "mp3"])
def test_every_format_is_answered(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"tone.{ending}"
    subtype = {"opus": ("OGG", "OPUS"), "ogg": ("OGG", "VORBIS")}.get(ending, (ending.upper(), None))
    soundfile.write(path, TONE[: RATE * 4], RATE, format=subtype[0], subtype=subtype[1])
    (found,) = predict([path])
    assert found.ok, found.problem
    plain = found.to_json()
    for question in ("valence", "arousal"):
        one = plain[question]
        assert 1 <= one["low"] <= one["value"] <= one["high"] <= 9
    assert json.loads(json.dumps(plain, allow_nan=False))["level"] == 0.9


def test_odd_files_are_answered_with_a_warning_or_as_they_are(tmp_path: Path) -> None:
    files = {
        "silence": (np.zeros(RATE * 3), RATE, None),
        "blink": (TONE[:800], RATE, None),
        "eight": (TONE[: RATE * 3], RATE, "PCM_U8"),
        "seven": (np.stack([TONE[: RATE * 3]] * 7, axis=1), RATE, None),
        "fast": (np.resize(TONE, 192_000 * 2), 192_000, None),
        "slow": (TONE[: 8_000 * 4], 8_000, None),
    }
    for name, (samples, rate, subtype) in files.items():
        soundfile.write(tmp_path / f"{name}.wav", samples, rate, subtype=subtype)
    found = {Path(one.file).stem: one for one in predict([tmp_path])}
    assert sorted(found) == sorted(files)
    assert all(one.ok for one in found.values())
    assert "silent" in found["silence"].warnings[0]
    assert found["silence"].values["valence"]["low"] == 1.0
    assert found["silence"].values["valence"]["high"] == 9.0
    assert "0.05 s" in found["blink"].warnings[0]
    assert any("8,000" in words for words in found["slow"].warnings)
    assert found["slow"].flag == "unlike training"
    # The same sound on seven channels or in eight bits is nearly the same sound.
    assert abs(found["seven"].values["arousal"]["value"] - found["eight"].values["arousal"]["value"]) < 1.5


def test_bad_files_say_why_and_do_not_stop_the_rest(tmp_path: Path) -> None:
    broken = TONE.copy()
    broken[100] = np.nan
    soundfile.write(tmp_path / "nan.wav", broken, RATE, subtype="FLOAT")
    (tmp_path / "text.wav").write_text("this is not sound\n")
    (tmp_path / "empty.wav").write_bytes(b"")
    soundfile.write(tmp_path / "whole.mp3", TONE, RATE, format="MP3")
    content = (tmp_path / "whole.mp3").read_bytes()
    (tmp_path / "cut.mp3").write_bytes(content[: len(content) // 2 + 17])
    soundfile.write(tmp_path / "good.wav", TONE[: RATE * 3], RATE)
    names = ["nan.wav", "text.wav", "empty.wav", "cut.mp3", "gone.wav", "good.wav"]
    found = predict([tmp_path / name for name in names])
    assert [one.ok for one in found] == [False] * 5 + [True]
    for one, words in zip(
        found, ("not finite", "holds text", "empty", "cut off", "no audio file"), strict=False
    ):
        assert words in str(one.problem)
        assert one.fix
        assert set(one.to_json()) == {"file", "problem", "fix"}


def test_a_long_file_is_a_curve_too(tmp_path: Path) -> None:
    quiet_then_loud = np.concatenate([0.01 * TONE[: RATE * 10], TONE[: RATE * 10], 0.5 * TONE[: RATE * 3]])
    soundfile.write(tmp_path / "long.wav", quiet_then_loud, RATE)
    (found,) = predict([tmp_path / "long.wav"])
    assert [point["start"] for point in found.curve] == [0.0, 10.0]
    mean = np.mean([point["arousal"] for point in found.curve])
    assert found.values["arousal"]["value"] == pytest.approx(mean, abs=1e-3)
    assert found.seconds == pytest.approx(23.0)


def test_a_few_samples_get_an_answer_or_a_reason(tmp_path: Path) -> None:
    for count, rate in ((1, 192_000), (5, 192_000), (1, 48_000), (2, 8_000), (9_600, 192_000)):
        soundfile.write(tmp_path / f"{count}-{rate}.wav", np.full(count, 0.3, np.float32), rate)
    found = {Path(one.file).stem: one for one in predict([tmp_path])}
    assert "no sound" in (found["1-192000"].problem or "")
    for name in ("2-8000", "9600-192000"):
        assert found[name].ok
        assert any("lasts" in warning for warning in found[name].warnings)


def test_an_empty_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no sound files"):
        predict([tmp_path])


def test_real_clips_go_with_what_people_said(shared_data: Path) -> None:
    """Clips of a real system: people heard the happy ones as more pleasant and more arousing, and so does the head."""
    folder = shared_data / "aimoclips" / "music_clips" / "Suno"
    known = {kept.stimulus for kept in shipped().out_of_fold.values()}
    means = {}
    for intent in ("happy", "scared", "calm"):
        files = sorted(folder.glob(f"Suno_{intent}_*.opus"))[:4]
        found = predict(files)
        for file, one in zip(files, found, strict=True):
            assert (one.note is not None) == (f"{file.stem}_crop.wav" in known)
        means[intent] = {
            question: sum(one.values[question]["value"] for one in found) / len(found)
            for question in ("valence", "arousal")
        }
    assert means["happy"]["valence"] > means["scared"]["valence"] + 1
    assert means["happy"]["arousal"] > means["calm"]["arousal"] + 1
