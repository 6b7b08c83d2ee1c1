"""What is wrong with a clip, and fingerprints that survive coding but not another clip."""

from __future__ import annotations

import io

import numpy as np
import pytest
from tests.facts import mentions

from heartfelt.media.images.duplicates import HASH_BITS
from heartfelt.media.sound import Samples, resample
from heartfelt.media.sounds.checks import check_sound, energetic_starts, sound_hash

RATE = 16_000


def faded(samples: Samples, size: int = 320) -> Samples:
    out = samples.astype(np.float32).copy()
    ramp = (0.5 - 0.5 * np.cos(np.pi * np.arange(size) / size)).astype(np.float32)
    out[:size] *= ramp
    out[-size:] *= ramp[::-1]
    return out


def music(seed: int, seconds: float = 3.0) -> Samples:
    """Notes of changing pitch and level, as a clip has them."""
    rng = np.random.default_rng(seed)
    t = np.arange(round(seconds * RATE)) / RATE
    parts = [
        rng.uniform(0.05, 0.2)
        * np.sin(2 * np.pi * rng.uniform(120, 3000) * t)
        * (rng.random(40).repeat(t.size // 40 + 1)[: t.size])
        for _ in range(12)
    ]
    return faded(np.clip(np.sum(parts, axis=0), -0.99, 0.99).astype(np.float32))


def test_a_sound_clip_has_no_problem() -> None:
    found = check_sound(music(1), RATE)
    assert found.problems == ()
    assert (found.seconds, found.channels, found.clipped_runs) == (3.0, 1, 0)
    assert found.silent_share < 0.1


def test_silence_is_told_by_its_share() -> None:
    assert check_sound(np.zeros(RATE, np.float32), RATE).problems == ("silent",)
    assert check_sound(np.full(RATE, 0.0009, np.float32), RATE).silent
    clip = np.concatenate([np.zeros(2 * RATE, np.float32), music(1, 1.0)])
    assert check_sound(clip, RATE).problems == ("silent for 67% of its length",)


@pytest.mark.slow
def test_clipping_needs_runs_at_a_high_level() -> None:
    """A second of 100 Hz has 200 tops, of which the fades lower four at either end."""
    t = np.arange(RATE) / RATE
    loud = faded(np.clip(3 * np.sin(2 * np.pi * 100 * t), -1, 1).astype(np.float32))
    assert check_sound(loud, RATE).problems == ("clipped 192 times",)
    assert check_sound(loud * np.float32(0.5), RATE).problems == (), "flat tops far below full scale are a waveform"
    assert check_sound(faded(np.sin(2 * np.pi * 100 * t).astype(np.float32)), RATE).clipped_runs < 10


def test_offset_and_edges() -> None:
    assert mentions(check_sound(music(1) + np.float32(0.02), RATE).problems[0], "DC", "2.0%")
    assert check_sound(music(1)[RATE:], RATE).problems == ("begins abruptly",)
    assert check_sound(music(1)[:-RATE], RATE).problems == ("ends abruptly",)
    stereo = np.stack([music(1), music(2) + np.float32(0.05)], axis=1)
    assert "DC offset of 5.0%" in " ".join(check_sound(stereo, RATE).problems)


def bits(first: Samples, rate: int, second: Samples, other_rate: int) -> int:
    a, b = sound_hash(first, rate), sound_hash(second, other_rate)
    assert a is not None
    assert b is not None
    return int((np.unpackbits(a) != np.unpackbits(b)).sum())


@pytest.mark.slow
def test_copies_are_recognised_and_strangers_are_not() -> None:
    import soundfile

    own = music(3)
    coded = io.BytesIO()
    soundfile.write(coded, own * 0.4, RATE, format="MP3")
    coded.seek(0)
    copy, rate = soundfile.read(coded, dtype="float32")
    assert bits(own, RATE, copy, rate) <= HASH_BITS
    assert bits(own, RATE, resample(own, RATE, 44_100), 44_100) <= 8
    assert bits(own, RATE, np.stack([own, -own], axis=1), RATE) == 0, "channels that cancel each other"
    assert min(bits(music(a), RATE, music(b), RATE) for a in range(6) for b in range(a)) > 2 * HASH_BITS
    assert sound_hash(own[:4000], RATE) is None
    assert sound_hash(np.zeros(RATE, np.float32), RATE) is None


def test_energetic_starts_avoid_quiet_stretches() -> None:
    clip = np.concatenate([music(1, 1.0) * np.float32(0.05), music(2, 1.0), music(1, 1.0) * np.float32(0.05)])
    starts = energetic_starts(clip, RATE, 1.0)
    assert starts.min() > 0.05
    assert starts.max() < 1.95
    assert 1.0 in starts.round(2)
    every = energetic_starts(np.full(RATE, 0.1, np.float32), RATE, 0.5)
    assert every[0] == 0.0
    assert every[-1] == pytest.approx(0.5)
