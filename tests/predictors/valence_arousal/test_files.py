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


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["wav", "flac", "ogg", "opus", "mp3"])
def test_every_format_is_answered(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"tone.{ending}"
    subtype = {"opus": ("OGG", "OPUS"), "ogg": ("OGG", "VORBIS")}.get(ending, (ending.upper(), None))
    soundfile.write(path, TONE[: RATE * 4], RATE, format=subtype[0], subtype=subtype[1])
    (result,) = predict([path])
    assert result.ok, result.problem
    plain = result.to_json()
    for question in ("valence", "arousal"):
        each = plain[question]
        assert 1 <= each["low"] <= each["value"] <= each["high"] <= 9
    assert json.loads(json.dumps(plain, allow_nan=False))["level"] == 0.9


@pytest.mark.slow
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
    results = {Path(each.file).stem: each for each in predict([tmp_path])}
    assert sorted(results) == sorted(files)
    assert all(each.ok for each in results.values())
    assert "silent" in results["silence"].warnings[0]
    assert results["silence"].values["valence"]["low"] == 1.0
    assert results["silence"].values["valence"]["high"] == 9.0
    assert "0.05 s" in results["blink"].warnings[0]
    assert any("8,000" in words for words in results["slow"].warnings)
    assert results["slow"].flag == "unlike training"
    # The same sound on seven channels or in eight bits is nearly the same sound.
    assert (
        abs(results["seven"].values["arousal"]["value"] - results["eight"].values["arousal"]["value"]) < 1.5
    )


@pytest.mark.slow
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
    result = predict([tmp_path / name for name in names])
    assert [entry.ok for entry in result] == [False] * 5 + [True]
    for each, words in zip(
        result, ("not finite", "holds text", "empty", "cut off", "no audio file"), strict=False
    ):
        assert words in str(each.problem)
        assert each.fix
        assert set(each.to_json()) == {"file", "problem", "fix"}


@pytest.mark.slow
def test_a_long_file_is_a_curve_too(tmp_path: Path) -> None:
    quiet_then_loud = np.concatenate([0.01 * TONE[: RATE * 10], TONE[: RATE * 10], 0.5 * TONE[: RATE * 3]])
    soundfile.write(tmp_path / "long.wav", quiet_then_loud, RATE)
    (result,) = predict([tmp_path / "long.wav"])
    assert [point["start"] for point in result.curve] == [0.0, 10.0]
    mean = np.mean([point["arousal"] for point in result.curve])
    assert result.values["arousal"]["value"] == pytest.approx(mean, abs=1e-3)
    assert result.seconds == pytest.approx(23.0)


@pytest.mark.slow
def test_a_few_samples_get_an_answer_or_a_reason(tmp_path: Path) -> None:
    for count, rate in ((1, 192_000), (5, 192_000), (1, 48_000), (2, 8_000), (9_600, 192_000)):
        soundfile.write(tmp_path / f"{count}-{rate}.wav", np.full(count, 0.3, np.float32), rate)
    results = {Path(each.file).stem: each for each in predict([tmp_path])}
    assert "no sound" in (results["1-192000"].problem or "")
    for name in ("2-8000", "9600-192000"):
        assert results[name].ok
        assert any("lasts" in warning for warning in results[name].warnings)


def test_an_empty_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no sound files"):
        predict([tmp_path])


@pytest.mark.slow
def test_real_clips_go_with_what_people_said(shared_data: Path) -> None:
    """Clips of a real system: people heard the happy ones as more pleasant and more arousing, and so does the head."""
    folder = shared_data / "aimoclips" / "music_clips" / "Suno"
    known = {retained.stimulus for retained in shipped().out_of_fold.values()}
    means = {}
    for intent in ("happy", "scared", "calm"):
        files = sorted(folder.glob(f"Suno_{intent}_*.opus"))[:4]
        result = predict(files)
        for file, each in zip(files, result, strict=True):
            assert (each.note is not None) == (f"{file.stem}_crop.wav" in known)
        means[intent] = {
            question: sum(entry.values[question]["value"] for entry in result) / len(result)
            for question in ("valence", "arousal")
        }
    assert means["happy"]["valence"] > means["scared"]["valence"] + 1
    assert means["happy"]["arousal"] > means["calm"]["arousal"] + 1
