"""Crops do not fall into silence: drawn ones move, fixed ones are refused with the file, the place and what to do."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from heartfelt.cli import main
from heartfelt.errors import InputError
from heartfelt.media.audio import Audio, crop_start, write_audio
from heartfelt.media.sound import Samples
from heartfelt.media.sounds.checks import StepLevels
from heartfelt.stimuli.options import PrepareOptions
from heartfelt.stimuli.preparation.cropping import cropped
from tests.facts import mentions

RATE = 1_000


def parts(*seconds_and_levels: tuple[float, float]) -> Samples:
    """A square wave whose level changes: (seconds, root mean square)."""
    return np.concatenate(
        [
            np.tile(np.array([level, -level], np.float32), round(seconds * RATE / 2))
            for seconds, level in seconds_and_levels
        ]
    )[:, None]


def clip(*seconds_and_levels: tuple[float, float]) -> Audio:
    return Audio(parts(*seconds_and_levels), RATE)


LATE = clip((6.0, 0.0), (4.0, 0.3))
"""Sound begins after six of ten seconds."""


def test_a_crop_with_sound_stays_where_the_rule_puts_it() -> None:
    sound = clip((10.0, 0.3))
    for rule, start in (("start", 1.5), ("centre", 4.0)):
        crop = cropped(sound, "a", "a.wav", PrepareOptions(seconds=2.0, crop=rule), 1)  # type: ignore[arg-type]  # both are rules
        assert crop.start == pytest.approx(start)
        assert crop.note is None
    drawn = cropped(sound, "a", "a.wav", PrepareOptions(seconds=2.0), 7)
    assert drawn.start * RATE == pytest.approx(crop_start(10 * RATE, RATE, 2.0, seed=7, name="a"))
    assert drawn.samples.shape == (2 * RATE, 1)
    whole = cropped(LATE, "a", "a.wav", PrepareOptions(), 1)
    assert (whole.start, whole.samples.shape[0]) == (0.0, 10 * RATE)


@pytest.mark.parametrize("seed", range(8))
def test_a_drawn_crop_moves_to_where_there_is_sound(seed: int) -> None:
    options = PrepareOptions(seconds=2.0, between=(0.0, 1.0))
    crop = cropped(LATE, "a", "a.wav", options, seed)
    drawn = crop_start(10 * RATE, RATE, 2.0, seed=seed, name="a", between=(0.0, 1.0)) / RATE
    if drawn < 4.98:
        assert 6.0 <= crop.start <= 8.0, "where there is least silence, not only less than half"
        assert crop.note == f"moved to {crop.start:.2f} s: the crop at {drawn:.2f} s was silent"
    else:
        assert crop.start == pytest.approx(drawn)
        assert crop.note is None
    assert cropped(LATE, "a", "a.wav", options, seed).start == crop.start, "the same seed, the same place"


def test_an_energetic_crop_moves_too() -> None:
    """One bang makes a stretch loud; it is silent all the same."""
    bang = clip((4.0, 0.0), (0.02, 0.9), (3.0, 0.0), (3.0, 0.05))
    options = PrepareOptions(seconds=2.0, crop="energy", between=(0.0, 1.0))
    for seed in range(5):
        crop = cropped(bang, "a", "a.wav", options, seed)
        assert StepLevels.of(bang.samples, RATE).silent_share(round(crop.start * RATE), 2 * RATE) <= 0.5


def test_an_energetic_crop_moves_to_the_loud_stretch_and_not_to_a_quiet_one_without_silence() -> None:
    burst = clip((4.0, 0.0), (1.2, 0.9), (3.0, 0.0), (3.0, 0.05))
    options = PrepareOptions(seconds=2.0, crop="energy", between=(0.0, 1.0))
    crops = [cropped(burst, "a", "a.wav", options, seed) for seed in range(8)]
    assert all(3.2 - 0.02 <= crop.start <= 4.0 + 0.02 for crop in crops if crop.note)
    assert any(crop.note for crop in crops)


@pytest.mark.parametrize(("rule", "start"), [("start", "1.50"), ("centre", "4.00")])
def test_a_fixed_crop_in_silence_is_refused_with_the_place_and_the_fix(rule: str, start: str) -> None:
    with pytest.raises(InputError) as caught:
        cropped(LATE, "a", "Suno/a.wav", PrepareOptions(seconds=2.0, crop=rule), 1)  # type: ignore[arg-type]  # both are rules
    assert caught.value.problem == (f"Suno/a.wav: the crop of 2 s at {start} s is silent for 100% of its length.")
    assert mentions(caught.value.fix, "2", "6.00", "--between", "0.6..0.8", "--crop")


def test_a_drawn_crop_is_refused_where_there_is_nothing_between_the_marks() -> None:
    with pytest.raises(InputError, match=re.escape("Suno/a.wav: the crop of 2 s at")):
        cropped(LATE, "a", "Suno/a.wav", PrepareOptions(seconds=2.0, between=(0.0, 0.6)), 1)


def test_marks_that_leave_less_than_the_crop_centre_it() -> None:
    crop = cropped(clip((4.0, 0.3)), "a", "a.wav", PrepareOptions(seconds=3.5, crop="start"), 1)
    assert crop.start == pytest.approx(0.25)


def test_silence_is_absolute_and_relative_to_the_clip() -> None:
    """Below -60 dB, and over 40 dB below the clip's own level."""
    for low, share in ((0.0009, 1.0), (0.0011, 1.0), (0.0020, 1.0), (0.0023, 0.0)):
        levels = StepLevels.of(parts((2.0, low), (2.0, 0.3)), RATE)
        assert levels.silent_share(0, 2 * RATE) == share
        assert levels.silent_share(2 * RATE, 2 * RATE) == 0.0
    quiet = StepLevels.of(parts((2.0, 0.0011)), RATE)
    assert quiet.silent_share(0, RATE) == 0.0, "a quiet clip is not silent"
    assert StepLevels.of(parts((1.0, 0.0)), RATE).silent_share(0, RATE) == 1.0


def test_half_silent_is_allowed_and_the_loudest_stretch_is_found() -> None:
    half = clip((1.0, 0.3), (1.0, 0.0), (1.0, 0.3), (7.0, 0.0))
    crop = cropped(half, "a", "a.wav", PrepareOptions(seconds=2.0, crop="start", between=(0.0, 1.0)), 1)
    assert crop.start == 0.0
    levels = StepLevels.of(half.samples, RATE)
    assert levels.silent_share(0, 2 * RATE) == 0.5
    assert levels.silent_share(RATE, RATE) == 1.0
    assert levels.loudest(RATE) in {0, 2 * RATE}
    assert levels.loudest(20 * RATE) == 0
    assert levels.silent_share(10 * RATE - 1, 1) == 1.0, "the last, shorter than a step"


def test_cut_ends_fade_and_those_of_the_clip_do_not() -> None:
    options = PrepareOptions(seconds=2.0, crop="start", between=(0.0, 1.0), fade=0.1)
    from_start = cropped(clip((4.0, 0.4)), "a", "a.wav", options, 1).samples[:, 0]
    assert abs(from_start[0]) == pytest.approx(0.4)
    assert abs(from_start[-1]) < 0.001
    assert np.abs(from_start[1000:1800]) == pytest.approx(0.4)
    to_end = cropped(clip((4.0, 0.4)), "a", "a.wav", PrepareOptions(seconds=2.0, crop="start", between=(0.5, 1.0)), 1)
    assert abs(to_end.samples[0, 0]) < 0.1
    assert abs(to_end.samples[-1, 0]) == pytest.approx(0.4)


def test_places_to_move_to_end_at_the_last_mark() -> None:
    """Only the very last place between the marks has sound in most of the crop."""
    clip_of = clip((4.0, 0.0), (1.0, 0.3))
    crop = cropped(clip_of, "a", "a.wav", PrepareOptions(seconds=1.0, between=(0.0, 1.0)), 3)
    assert crop.start == pytest.approx(4.0)
    bang = clip((2.0, 0.3), (2.0, 0.05), (6.0, 0.0))
    options = PrepareOptions(seconds=2.0, crop="energy", between=(0.0, 0.3))
    assert {cropped(bang, "a", "a.wav", options, seed).start <= 1.0 for seed in range(6)} == {True}


def test_a_fade_begins_near_zero_and_rises() -> None:
    options = PrepareOptions(seconds=2.0, crop="start", between=(0.25, 1.0), fade=0.1)
    ramp = np.abs(cropped(clip((4.0, 0.4)), "a", "a.wav", options, 1).samples[:100, 0]) / 0.4
    assert ramp == pytest.approx(0.5 - 0.5 * np.cos(np.pi * (np.arange(100) + 0.5) / 100), abs=1e-6)


@pytest.mark.slow
def test_the_command_names_file_place_and_fix(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "study.yaml").write_text(
        "heartfelt: 1\nname: quiet\nmedia: audio\nscales: {v: {type: points, points: 9}}\n"
        "questions: [{id: v, text: Pleasant, scale: v}]\nstimuli: {manifest: stimuli.csv, media: media}\n"
    )
    rng = np.random.default_rng(0)
    sound = (0.1 * rng.standard_normal(4 * 16_000)).astype(np.float32)
    write_audio(tmp_path / "media/late.wav", np.concatenate([np.zeros(6 * 16_000, np.float32), sound]), 16_000)
    (tmp_path / "stimuli.csv").write_text("stimulus,path\nlate,late.wav\n")
    assert main(["prepare", str(tmp_path), "--seconds", "2", "--crop", "start", "--format", ".wav"]) == 2
    assert mentions(" ".join(capsys.readouterr().out.split()), "late", "late.wav", "2", "1.50", "100%")
    assert not (tmp_path / "media/prepared").exists() or not list((tmp_path / "media/prepared").iterdir())
    assert main(["prepare", str(tmp_path), "--seconds", "2", "--format", ".wav"]) == 0
    shown = capsys.readouterr().out
    assert "silent for" not in shown
    assert re.search(r"late: moved to 6\.\d\d s: the crop at 4\.74 s was silent", shown)
