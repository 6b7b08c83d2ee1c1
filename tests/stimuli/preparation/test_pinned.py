"""The same seed renders the same media: levels and colours of every system of every generator, pinned."""

from __future__ import annotations

import numpy as np
import pytest

from heartfelt.stimuli.synthesis.image import IMAGE_SYSTEMS, render_image
from heartfelt.stimuli.synthesis.music import MUSIC_SYSTEMS, render_clip
from heartfelt.stimuli.synthesis.speech import VOICE_SYSTEMS, render_voice

FIGURES: dict[str, tuple[float, ...]] = {
    "Sinewood": (0.0564576768, 0.0420874403, 546.984111, 33075),
    "Pluckbox": (0.0655170681, 0.0596843442, 1048.68862, 33075),
    "Brassline": (0.0624783606, 0.0349821612, 538.786366, 33075),
    "Chipling": (0.0588615073, 0.0560561166, 924.846324, 33075),
    "Cellar": (0.0626474065, 0.0538554859, 1680.6478, 88200),
    "Parlour": (0.069776888, 0.0600687083, 2184.62171, 88200),
    "Attic": (0.074904089, 0.0560097053, 2700.7469, 88200),
    "Gouache": (185.003174, 130.704834, 68.1464844, 52.9485559),
    "Linocut": (157.061035, 90.3991699, 50.717041, 53.3241013),
    "Papercut": (175.427246, 136.543213, 76.9589844, 46.3130976),
    "Neonlight": (168.052002, 92.9968262, 65.1721191, 45.6993618),
}


def of_sound(samples: np.ndarray) -> tuple[float, ...]:
    """Root mean square, share of sign changes, and the middle of the power spectrum, of mono samples."""
    mono = np.asarray(samples, dtype=np.float64)
    mono = mono.mean(axis=1) if mono.ndim > 1 else mono
    power = np.abs(np.fft.rfft(mono)) ** 2
    centre = float((power * np.arange(power.size)).sum() / power.sum())
    return (float(np.sqrt((mono**2).mean())), float((np.diff(np.sign(mono)) != 0).mean()), centre, float(mono.size))


@pytest.mark.parametrize("system", MUSIC_SYSTEMS)
def test_clips(system: str) -> None:
    clip = render_clip(7.0, 3.0, system=system, seconds=1.5, seed=3)
    assert of_sound(clip) == pytest.approx(FIGURES[system], rel=1e-5)


@pytest.mark.parametrize("system", VOICE_SYSTEMS)
def test_voices(system: str) -> None:
    clip = render_voice(3.0, 7.0, system=system, seed=3)
    assert of_sound(clip) == pytest.approx(FIGURES[system], rel=1e-5)


@pytest.mark.parametrize("system", IMAGE_SYSTEMS)
def test_images(system: str) -> None:
    pixels = np.asarray(render_image(6.0, 8.0, system=system, size=64, seed=3), dtype=np.float64)
    assert (*pixels.mean(axis=(0, 1)), float(pixels.std())) == pytest.approx(FIGURES[system], rel=1e-3)
