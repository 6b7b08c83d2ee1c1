"""STOI and extended STOI: how much of clean speech survives in a processed copy, from its envelopes in short stretches.

Frames of 25.6 ms in which the clean speech is more than 40 dB below its loudest frame are left out. Both spectra become 15 bands of
a third of an octave from 150 Hz; in every stretch of 30 frames (384 ms) the envelopes of clean and processed speech are compared.
STOI scales each band of the processed speech to the clean one, cuts it 15 dB above and takes the correlation; extended
STOI takes the correlation of whole stretches, normalised over time, then over bands, and is meant for modulated noise. The result
is the mean: about 0 for nothing in common, 1 for identity; it rises with the share of words understood and is no such share.

Conventions: ``clean`` and ``processed`` are mono, equally long, aligned, at 10,000 Hz.

Source: C. H. Taal et al. (2011), *An algorithm for intelligibility prediction of time-frequency weighted noisy speech*; J. Jensen
and C. H. Taal (2016), *An algorithm for predicting the intelligibility of speech masked by modulated noise maskers*. The tests
compare with the package pystoi 0.4.1.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import numpy.typing as npt

from heartfelt.errors import InputError

Floats = npt.NDArray[np.float64]

RATE = 10_000
_FRAME, _HOP, _FFT = 256, 128, 512
_BANDS, _LOWEST = 15, 150.0
_STRETCH = 30
_RANGE = 40.0
_CUT = 10 ** (15 / 20)
_TINY = float(np.finfo(np.float64).eps)


def stoi(clean: npt.ArrayLike, processed: npt.ArrayLike, *, extended: bool = False) -> float:
    """The intelligibility of ``processed``; an error where too little of the clean speech is loud enough."""
    first, second = _voiced(np.asarray(clean, np.float64), np.asarray(processed, np.float64))
    ours, theirs = _stretches(first), _stretches(second)
    if extended:
        return float(np.sum(_normalised(ours) * _normalised(theirs)) / _STRETCH / len(ours))
    level = np.linalg.norm(ours, axis=2, keepdims=True) / (np.linalg.norm(theirs, axis=2, keepdims=True) + _TINY)
    theirs = np.minimum(theirs * level, ours * (1 + _CUT))
    return float(np.mean(np.sum(_centred(ours, 2) * _centred(theirs, 2), axis=2)))


def _frames(samples: Floats) -> Floats:
    count = max(-(-(len(samples) - _FRAME) // _HOP), 0)
    return np.lib.stride_tricks.sliding_window_view(samples, _FRAME)[::_HOP][:count] * _window()


def _voiced(clean: Floats, processed: Floats) -> tuple[Floats, Floats]:
    """Both signals without the frames in which the clean one is quiet, put together again."""
    if clean.shape != processed.shape or clean.ndim != 1:
        raise InputError(
            f"Signals of {clean.shape} and {processed.shape} samples cannot be compared.", "Cut them to one length."
        )
    if len(clean) < _FRAME + _STRETCH * _HOP:
        raise InputError("The clip is shorter than half a second.", "Give a longer one.")
    ours, theirs = _frames(clean), _frames(processed)
    level = 20 * np.log10(np.linalg.norm(ours, axis=1) + _TINY)
    loud = level > level.max() - _RANGE
    joined = []
    for frames in (ours[loud], theirs[loud]):
        signal = np.zeros((len(frames) + 1) * _HOP)
        for part, start in ((frames[:, :_HOP], 0), (frames[:, _HOP:], _HOP)):
            signal[start : start + part.size] += part.ravel()
        joined.append(signal)
    return joined[0], joined[1]


def _stretches(samples: Floats) -> Floats:
    """The envelopes of the bands in every stretch: ``(stretches, bands, frames)``."""
    power = np.abs(np.fft.rfft(_frames(samples), n=_FFT, axis=1)) ** 2
    bands = np.sqrt(power @ _band_matrix())
    if len(bands) < _STRETCH:
        raise InputError(
            "Less than half a second of the reference is loud enough to compare.", "Give a reference with speech in it."
        )
    return np.lib.stride_tricks.sliding_window_view(bands, _STRETCH, axis=0)


def _centred(values: Floats, axis: int) -> Floats:
    """Without the mean and with length one along an axis."""
    centred = values - values.mean(axis=axis, keepdims=True)
    return np.asarray(centred / (np.linalg.norm(centred, axis=axis, keepdims=True) + _TINY))


def _normalised(stretches: Floats) -> Floats:
    return _centred(_centred(stretches, 2), 1)


@cache
def _window() -> Floats:
    return np.hanning(_FRAME + 2)[1:-1]


@cache
def _band_matrix() -> Floats:
    """Which bin belongs to which band, ``(bins, bands)``."""
    hertz = np.linspace(0, RATE, _FFT + 1)[: _FFT // 2 + 1]
    edges = _LOWEST * 2.0 ** ((2 * np.arange(_BANDS + 1) - 1) / 6)
    bins = [int(np.argmin((hertz - edge) ** 2)) for edge in edges]
    matrix = np.zeros((len(hertz), _BANDS))
    for band in range(_BANDS):
        matrix[bins[band] : bins[band + 1], band] = 1
    return matrix
