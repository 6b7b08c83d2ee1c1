"""How fast somebody speaks: syllable nuclei counted in the sound alone, without words or a model.

A syllable nucleus is a peak of the intensity contour that is at most 25 dB below the loudest (the 99th percentile), rises at least
2 dB above the dip before it, and is voiced. *Speech rate* is nuclei per second of the clip, *articulation rate* nuclei per second
without silences of 0.3 s or more. Intensity is as in Praat with a lowest pitch of 50 Hz: squared samples under a Kaiser window
of 128 ms, every 16 ms. A peak is voiced where the autocorrelation of the 50 ms around it, corrected for the window's own, reaches
0.45 at a lag of 60 to 450 Hz.

Source: N. H. de Jong and T. Wempe (2009), Praat script to detect syllable nuclei and measure speech rate automatically, Behavior
Research Methods 41; P. Boersma (1993) for the autocorrelation.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from heartfelt.media.sound import Samples, checked_samples, resample, to_one_channel
from heartfelt.stats.columns.triples import Floats

_RATE, _STEP = 16_000, 256
_BELOW_DB, _DIP_DB, _PAUSE = 25.0, 2.0, 0.3
_WINDOW, _VOICE_WINDOW = 2_048, 800
_LOWEST, _HIGHEST, _VOICED = 60.0, 450.0, 0.45


@dataclass(frozen=True, slots=True)
class SpeechRate:
    """The syllables of a clip, and the time they take."""

    syllables: int
    seconds: float
    speaking: float
    """Seconds without silences of 0.3 s or more."""

    @property
    def rate(self) -> float:
        """Syllables per second of the clip."""
        return self.syllables / self.seconds

    @property
    def articulation(self) -> float | None:
        """Syllables per second of speaking; None where nobody speaks."""
        return self.syllables / self.speaking if self.speaking > 0 else None


def speech_rate(samples: Samples, rate: int) -> SpeechRate | None:
    """The speech rate of a clip of ``(frames, channels)`` or ``(frames,)``; None where it is silent or shorter than 0.3 s."""
    samples = checked_samples(samples)
    seconds = samples.shape[0] / rate
    mono = resample(to_one_channel(samples), rate, _RATE)
    if seconds < _PAUSE or not mono.any():
        return None
    padded = np.pad(mono - mono.mean(dtype=np.float64).astype(np.float32), _WINDOW // 2)
    level = _intensity(padded)
    threshold = float(np.quantile(level, 0.99)) - _BELOW_DB
    nuclei = [peak for peak in _risen_peaks(level) if level[peak] >= threshold]
    voiced = _voiced(padded, np.array(nuclei, np.int64))
    return SpeechRate(int(voiced.sum()), seconds, _speaking(level >= threshold, seconds))


@cache
def _kaiser() -> Samples:
    window = np.kaiser(_WINDOW, 2 * np.pi**2 + 0.5)
    out: Samples = (window / window.sum()).astype(np.float32)
    return out


def _intensity(padded: Samples) -> Floats:
    """The level in dB every 16 ms."""
    frames = np.lib.stride_tricks.sliding_window_view(np.square(padded), _WINDOW)[::_STEP]
    power = (frames @ _kaiser()).astype(np.float64)
    level: Floats = 10.0 * np.log10(power + 1e-12)
    return level


def _risen_peaks(level: Floats) -> list[int]:
    """Local maxima that lie at least 2 dB above the lowest level since the peak before."""
    out, dip = [], float(level[0])
    for frame in range(1, level.size - 1):
        current = float(level[frame])
        if level[frame - 1] < current >= level[frame + 1]:
            if current - dip >= _DIP_DB:
                out.append(frame)
            dip = current
        dip = min(dip, current)
    return out


def _voiced(
    padded: Samples, positions: np.ndarray[tuple[int], np.dtype[np.int64]]
) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    starts = positions * _STEP + (_WINDOW - _VOICE_WINDOW) // 2
    window = np.hanning(_VOICE_WINDOW)
    frames = padded[starts[:, None] + np.arange(_VOICE_WINDOW)] * window
    correlations = _autocorrelation(frames - frames.mean(axis=1, keepdims=True))
    lags = slice(round(_RATE / _HIGHEST), round(_RATE / _LOWEST))
    share = (
        correlations[:, lags]
        / np.maximum(correlations[:, :1], 1e-20)
        / _autocorrelation(window[None])[:, lags]
        * (window @ window)
    )
    return np.asarray(share.max(axis=1) >= _VOICED)


def _autocorrelation(frames: Floats) -> Floats:
    power = np.square(np.abs(np.fft.rfft(frames, 2 * _VOICE_WINDOW, axis=1)))
    return np.fft.irfft(power, axis=1)


def _speaking(loud: np.ndarray[tuple[int], np.dtype[np.bool_]], seconds: float) -> float:
    """Seconds that are loud or lie in a silence shorter than 0.3 s."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], (~loud).astype(np.int8), [0]])))
    lengths = (edges[1::2] - edges[::2]) * _STEP / _RATE
    return max(0.0, seconds - float(lengths[lengths >= _PAUSE].sum()))
