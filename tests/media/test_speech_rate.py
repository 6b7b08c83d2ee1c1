"""Syllables are counted as they were spoken, whatever the level, the rate of the file or the noise."""

from __future__ import annotations

import numpy as np
import pytest

from heartfelt.media.sound import Samples, resample
from heartfelt.media.sounds.speech import speech_rate
from heartfelt.stimuli.synthesis.speech import VOICE_SYSTEMS, render_voice, utterance

RATE = 22_050


def syllables(clip: Samples, rate: int = RATE) -> int:
    measured = speech_rate(clip, rate)
    assert measured is not None
    return measured.syllables


@pytest.mark.slow
def test_syllables_of_known_utterances() -> None:
    spoken, counted = [], []
    for system in VOICE_SYSTEMS:
        for arousal in (2.0, 5.0, 8.0):
            made = {"system": system, "seconds": 6.0, "seed": 4, "name": f"{arousal}"}
            spoken.append(utterance(5.0, arousal, **made)[1].syllables)  # type: ignore[arg-type]  # one table for both
            counted.append(syllables(render_voice(5.0, arousal, **made)))  # type: ignore[arg-type]  # the same
    assert np.corrcoef(spoken, counted)[0, 1] > 0.97
    assert np.abs(np.subtract(spoken, counted)).mean() < 1.0
    assert sum(counted) == pytest.approx(sum(spoken), rel=0.05)


@pytest.mark.slow
def test_the_level_the_rate_and_the_channels_do_not_matter() -> None:
    clip = render_voice(6.0, 6.0, system="Parlour", seconds=5.0, name="same")
    count = syllables(clip)
    assert syllables(clip * np.float32(0.05)) == count
    assert syllables(np.stack([clip, clip], axis=1)) == count
    assert abs(syllables(resample(clip, RATE, 48_000), 48_000) - count) <= 1
    assert abs(syllables(clip + np.float32(0.1)) - count) <= 1, "a DC offset"


def test_a_pause_counts_for_speech_but_not_for_articulation() -> None:
    clip = render_voice(5.0, 6.0, system="Cellar", seconds=4.0, name="pause")
    longer = np.concatenate([clip, np.zeros(4 * RATE, np.float32)])
    short, long = speech_rate(clip, RATE), speech_rate(longer, RATE)
    assert short is not None
    assert long is not None
    assert long.syllables == short.syllables
    assert long.rate == pytest.approx(short.rate / 2)
    assert long.articulation == pytest.approx(short.articulation, rel=0.1)
    assert short.articulation is not None
    assert short.articulation >= short.rate


def test_noise_and_a_held_tone_are_no_syllables() -> None:
    rng = np.random.default_rng(0)
    bursts = rng.normal(0, 0.1, 3 * RATE) * (np.sin(2 * np.pi * 4 * np.arange(3 * RATE) / RATE) > 0)
    assert syllables(bursts.astype(np.float32)) <= 1, "peaks without a voice"
    tone = 0.3 * np.sin(2 * np.pi * 150 * np.arange(3 * RATE) / RATE)
    assert syllables(tone.astype(np.float32)) <= 1


def test_where_nothing_can_be_measured() -> None:
    assert speech_rate(np.zeros(RATE, np.float32), RATE) is None
    assert speech_rate(np.ones(100, np.float32), RATE) is None
