"""Valence and arousal of files: every format, every kind of bad file, long ones, and one bad among many."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import soundfile

import heartfelt
from heartfelt.predictors.trained.valence_arousal import shipped
from tests.predictors.file_answers import by_stem

RATE = 16_000
TONE = (0.3 * np.sin(2 * np.pi * 440 * np.arange(RATE * 11) / RATE)).astype(np.float32)
pytestmark = pytest.mark.usefixtures("musicnn")


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["wav", "flac", "ogg", "opus", "mp3"])
def test_every_format_is_answered(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"tone.{ending}"
    subtype = {"opus": ("OGG", "OPUS"), "ogg": ("OGG", "VORBIS")}.get(ending, (ending.upper(), None))
    soundfile.write(path, TONE[: RATE * 4], RATE, format=subtype[0], subtype=subtype[1])
    rows = by_stem(heartfelt.predict(path))["tone"]
    for row in rows.values():
        assert row["ok"], row["problem"]
        assert 1 <= row["low"] <= row["value"] <= row["high"] <= 9
        assert row["confidence"] == 0.9
    assert set(rows) == {"valence", "arousal"}


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
    results = by_stem(heartfelt.predict(tmp_path))
    assert sorted(results) == sorted(files)
    rows = {name: result["arousal"] for name, result in results.items()}
    assert all(row["ok"] for row in rows.values())
    assert "silent" in rows["silence"]["warning"]
    assert (rows["silence"]["low"], rows["silence"]["high"]) == (1.0, 9.0)
    assert "0.05 s" in rows["blink"]["warning"]
    assert "8,000" in rows["slow"]["warning"]
    assert rows["slow"]["flag"] == "unlike training"
    # The same sound on seven channels or in eight bits is nearly the same sound.
    assert abs(rows["seven"]["value"] - rows["eight"]["value"]) < 1.5


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
    table = heartfelt.predict([tmp_path / name for name in names])
    assert table["ok"].to_list() == [False] * 10 + [True] * 2
    reasons = table["problem"].to_list()[:10:2]
    for reason, words in zip(reasons, ("not finite", "holds text", "empty", "cut off", "missing"), strict=True):
        assert words in reason


@pytest.mark.slow
def test_a_few_samples_get_an_answer_or_a_reason(tmp_path: Path) -> None:
    for count, rate in ((1, 192_000), (5, 192_000), (1, 48_000), (2, 8_000), (9_600, 192_000)):
        soundfile.write(tmp_path / f"{count}-{rate}.wav", np.full(count, 0.3, np.float32), rate)
    results = by_stem(heartfelt.predict(tmp_path))
    assert "no sound" in results["1-192000"]["valence"]["problem"]
    for name in ("2-8000", "9600-192000"):
        assert results[name]["valence"]["ok"]
        assert "lasts" in results[name]["valence"]["warning"]


@pytest.mark.slow
def test_real_clips_go_with_what_people_said(shared_data: Path) -> None:
    """Clips of a real system: people heard the happy ones as more pleasant and more arousing, and so does the head."""
    folder = shared_data / "aimoclips" / "music_clips" / "Suno"
    known = {retained.stimulus for retained in shipped().out_of_fold.values()}
    means = {}
    for intent in ("happy", "scared", "calm"):
        files = sorted(folder.glob(f"Suno_{intent}_*.opus"))[:4]
        result = by_stem(heartfelt.predict(files))
        for file in files:
            seen = "out of fold" in (result[file.stem]["valence"]["warning"] or "")
            assert seen == (f"{file.stem}_crop.wav" in known)
        means[intent] = {
            question: sum(rows[question]["value"] for rows in result.values()) / len(result)
            for question in ("valence", "arousal")
        }
    assert means["happy"]["valence"] > means["scared"]["valence"] + 1
    assert means["happy"]["arousal"] > means["calm"]["arousal"] + 1
