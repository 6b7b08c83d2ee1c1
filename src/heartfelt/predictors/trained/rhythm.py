"""The rhythm of a sound in three ranges of pitch and in all: how onsets repeat, how strong and how rare they are.

Conventions: taken from MusicNN's spectrogram, 62.5 frames a second. Repetition is the largest autocorrelation of the onsets in
each of twelve ranges of lag, from a sixth of a second to three seconds; strengths are mean, standard deviation and upper
percentiles; rare onsets are the share of frames two deviations above the mean.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Floats: TypeAlias = npt.NDArray[np.float64]

_RANGES = {"low": slice(0, 16), "middle": slice(16, 48), "high": slice(48, 96), "all": slice(0, 96)}
_LAGS = tuple(int(lag) for lag in np.geomspace(10, 180, 13))
_STRENGTHS = ("mean", "sd", "p95", "p99", "rare")

NAMES: tuple[str, ...] = tuple(
    f"{name}_{part}"
    for name in _RANGES
    for part in (*(f"repeat_{lag:03d}" for lag in _LAGS[:-1]), *_STRENGTHS)
)


def rhythm(mel: Floats) -> Floats:
    """The row of :data:`NAMES`."""
    if len(mel) < 2:
        return np.zeros(len(NAMES))
    rises = np.maximum(np.diff(mel, axis=0), 0.0)
    parts: list[Floats | list[float]] = []
    for bands in _RANGES.values():
        onset = rises[:, bands].mean(axis=1)
        match = _autocorrelation(onset - onset.mean())
        mean, sd = float(onset.mean()), float(onset.std())
        parts.append([float(match[a:b].max()) for a, b in pairwise(_LAGS)])
        parts.append([mean, sd, *np.percentile(onset, [95, 99]), float(np.mean(onset > mean + 2 * sd))])
    return np.concatenate(parts)


def _autocorrelation(centred: Floats) -> Floats:
    """At lags up to the longest; zeros for what never changes."""
    energy = float(centred @ centred)
    if energy <= 1e-9:
        return np.zeros(_LAGS[-1])
    size = 1 << int(2 * max(centred.size, _LAGS[-1]) - 1).bit_length()
    spectrum = np.fft.rfft(centred, size)
    return np.asarray(np.fft.irfft(spectrum.real**2 + spectrum.imag**2, size)[: _LAGS[-1]] / energy)
