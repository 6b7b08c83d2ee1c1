"""The pitch of tones that are known, and of a voice as librosa hears it."""

from __future__ import annotations

import numpy as np
import pytest

from heartfelt.media.sounds.pitch import HIGHEST, LOWEST, pitch_track
from heartfelt.stimuli.synthesis.speech import render_voice
from heartfelt.streams import stream


@pytest.mark.parametrize("rate", [16_000, 44_100])
@pytest.mark.parametrize("hertz", [LOWEST + 2, 110.0, 220.5, 440.0, HIGHEST - 10])
def test_the_pitch_of_a_tone_with_harmonics(hertz: float, rate: int) -> None:
    t = np.arange(rate) / rate
    tone = sum(np.sin(2 * np.pi * hertz * k * t) / k for k in range(1, 6))
    track = pitch_track(np.asarray(tone, np.float32), rate)
    assert np.isfinite(track).all()
    assert np.abs(track / hertz - 1).max() < 0.003


def test_noise_and_silence_have_no_pitch() -> None:
    noise = stream(3, "noise").normal(size=16_000).astype(np.float32)
    assert np.isnan(pitch_track(noise, 16_000)).mean() > 0.98
    assert np.isnan(pitch_track(np.zeros(16_000, np.float32), 16_000)).all()
    assert pitch_track(noise[:100], 16_000).size == 0


def test_a_quiet_stretch_has_no_pitch_and_a_glide_is_followed() -> None:
    t = np.arange(32_000) / 16_000
    glide = np.sin(2 * np.pi * (100 * t + 50 * t**2)).astype(np.float32)
    glide[16_000:] *= 1e-3
    track = pitch_track(glide, 16_000)
    moments = np.arange(len(track)) * 0.01 + 0.03
    early = moments < 0.9
    np.testing.assert_allclose(track[early], 100 + 100 * moments[early], rtol=0.03)
    assert np.isnan(track[moments > 1.1]).all()


@pytest.mark.peer
@pytest.mark.slow
def test_a_voice_has_the_pitch_that_librosa_hears() -> None:
    librosa = pytest.importorskip("librosa")
    voice = render_voice(6, 4, system="Parlour", seconds=4, rate=16_000, seed=3, name="q")
    expected = librosa.yin(voice, fmin=LOWEST, fmax=HIGHEST, sr=16_000, frame_length=1024, hop_length=160, center=False)
    track = pitch_track(voice, 16_000)
    count = min(len(track), len(expected))
    both = np.isfinite(track[:count])
    assert both.mean() > 0.3
    assert np.median(track[:count][both]) == pytest.approx(np.median(expected[:count][both]), rel=0.02)
