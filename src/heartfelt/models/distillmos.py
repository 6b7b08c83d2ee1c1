"""DistillMOS: how good speech sounds on a scale from 1 to 5, distilled from a large self-supervised network.

Windows of 7.68 s spread evenly, at most a second apart, as in the package; a shorter clip is followed by silence.

Source: as in ``convert/distillmos.py``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import ceil

import numpy as np
import numpy.typing as npt

from heartfelt.models.loading import load_model
from heartfelt.models.samples import RATE
from heartfelt.models.session import Model
from heartfelt.models.speech import Windows, checked_speech, spread

Array = npt.NDArray[np.float32]

WINDOW = 122_880
_N_FFT = 320
_HOP = 160


@dataclass(frozen=True, slots=True)
class SpeechQuality:
    """The score of a clip: the mean over its windows."""

    score: float
    windows: int
    warnings: tuple[str, ...] = ()


def score(samples: Array, *, model: str | Model = "distillmos") -> SpeechQuality:
    """The quality of mono speech at 16 kHz."""
    samples, warnings = checked_speech(samples)
    samples = np.pad(samples, (0, max(0, WINDOW - len(samples))))
    windows = windows_of(len(samples))
    return score_windows(windows.cut(samples), model=model, warnings=warnings + windows.warnings)


def windows_of(frames: int) -> Windows:
    """Where the windows of a clip of so many samples begin."""
    over = frames - WINDOW
    return spread([int(place * over) for place in np.linspace(0, 1, ceil(over / RATE) + 1)], WINDOW)


def score_windows(
    windows: Iterable[Array], *, model: str | Model = "distillmos", warnings: tuple[str, ...] = ()
) -> SpeechQuality:
    """The mean score of windows of 122,880 samples."""
    loaded = load_model(model) if isinstance(model, str) else model
    scores = [
        float(loaded.run({"spectrograms": spectrogram(window)[None]})["score"][0]) for window in windows
    ]
    return SpeechQuality(float(np.mean(scores)), len(scores), warnings)


def spectrogram(window: Array) -> Array:
    """Real and imaginary parts with the magnitude to the power of 0.3, ``(2, 161, 768)``."""
    level = window / (np.abs(window).max() + np.float32(1e-8))
    padded = np.pad(level, (_N_FFT - _HOP) // 2, mode="reflect")
    hann = (0.5 - 0.5 * np.cos(2 * np.pi * np.arange(_N_FFT) / _N_FFT)).astype(np.float32)
    frames = np.lib.stride_tricks.sliding_window_view(padded, _N_FFT)[::_HOP] * hann
    spectrum = np.fft.rfft(frames, axis=1).T
    magnitude = np.maximum(np.abs(spectrum), np.float32(1e-12))
    compressed = spectrum * magnitude ** np.float32(0.3 - 1.0)
    return np.stack([compressed.real, compressed.imag]).astype(np.float32)
