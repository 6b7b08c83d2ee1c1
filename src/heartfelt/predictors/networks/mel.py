"""Samples as the models of sound take them (one channel, 16,000 a second, float32), and their mel spectrograms.

Conventions: frames are centred, the clip is padded with zeros at both ends; a spectrogram is
``(frames, bands)``. Filters are triangles on Slaney's mel scale with equal area.

Source: M. Slaney, Auditory Toolbox (1998); the defaults of librosa 0.11, with which the tests compare.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import numpy.typing as npt

from heartfelt.errors import InputError

Array = npt.NDArray[np.float32]

RATE = 16_000
_SILENCE = 10.0 ** (-60 / 20)

# Small enough to stay near the processor, and for the linear algebra library not to start threads over them: on a
# busy machine those wait for one another ten times longer than the work takes.
_FRAMES_AT_ONCE = 128
_BANDS_AT_ONCE = 12


def mono(samples: Array) -> Array:
    """The samples as float32; raise where they are not a mono clip or not finite."""
    array = np.asarray(samples)
    if array.ndim != 1 or array.dtype.kind != "f":
        raise InputError(
            f"Samples of shape {array.shape} and type {array.dtype} are not a mono clip.",
            "Pass floating-point samples of shape (frames,) at 16,000 Hz.",
        )
    array = array.astype(np.float32, copy=False)
    if not np.isfinite(array).all():
        raise InputError(
            "The samples hold values that are not finite numbers.", "Leave this clip out or make it again."
        )
    return array


def no_sound() -> InputError:
    return InputError("There is no sound (0 samples).", "Give a clip with sound in it.")


def need_length(samples: Array, rate: int, seconds: float, method: str) -> None:
    if not len(samples):
        raise no_sound()
    if len(samples) < seconds * rate:
        raise InputError(
            f"The clip lasts {len(samples) / rate:.3f} s; {method} needs at least {seconds:g} s.", "Give a longer clip."
        )


def is_silent(peak: float) -> bool:
    return peak < _SILENCE


def silence_doubts(samples: Array) -> tuple[str, ...]:
    """What to know about the score of a silent clip; nothing about any other."""
    silent = is_silent(float(np.abs(samples).max(initial=0.0)))
    return ("the clip is silent; the score is meaningless",) if silent else ()


@cache
def mel_filters(rate: int, n_fft: int, bands: int) -> Array:
    """Triangles from 0 Hz to half the rate, ``(bands, n_fft // 2 + 1)``."""
    edges = _to_hertz(np.linspace(0.0, float(_to_mel(rate / 2)), bands + 2))
    bins = np.arange(n_fft // 2 + 1) * (rate / n_fft)
    widths = np.diff(edges)
    slopes = edges[:, None] - bins[None, :]
    rising, falling = -slopes[:-2] / widths[:-1, None], slopes[2:] / widths[1:, None]
    filters = np.maximum(0.0, np.minimum(rising, falling)) * (2.0 / (edges[2:] - edges[:-2]))[:, None]
    return filters.astype(np.float32)


def mel_power(samples: Array, rate: int, n_fft: int, hop: int, bands: int) -> Array:
    """Power in mel bands, ``(1 + len(samples) // hop, bands)``."""
    half = n_fft // 2
    return framed_mel_power(np.pad(samples, half), rate, n_fft, hop, bands)


def framed_mel_power(padded: Array, rate: int, n_fft: int, hop: int, bands: int) -> Array:
    """The same of samples that already have what stands before the first and after the last frame."""
    count = 1 + (len(padded) - n_fft) // hop if len(padded) >= n_fft else 0
    out = np.empty((count, bands), dtype=np.float32)
    if count == 0:
        return out
    frames = np.lib.stride_tricks.sliding_window_view(padded, n_fft)[::hop]
    window, groups = _window(n_fft), _groups(rate, n_fft, bands)
    for start in range(0, count, _FRAMES_AT_ONCE):
        rows = slice(start, start + _FRAMES_AT_ONCE)
        spectrum = np.fft.rfft(frames[rows] * window, axis=1)
        power = spectrum.real**2
        power += spectrum.imag**2
        for columns, bins, filters in groups:
            out[rows, columns] = power[:, bins] @ filters
    return out


@cache
def _groups(rate: int, n_fft: int, bands: int) -> tuple[tuple[slice, slice, Array], ...]:
    """Neighbouring bands with the bins they cover and their filters over these."""
    filters = mel_filters(rate, n_fft, bands)
    out = []
    for first in range(0, bands, _BANDS_AT_ONCE):
        columns = slice(first, min(first + _BANDS_AT_ONCE, bands))
        covered = np.flatnonzero(filters[columns].any(axis=0))
        bins = slice(int(covered[0]), int(covered[-1]) + 1) if covered.size else slice(0, 1)
        out.append((columns, bins, np.ascontiguousarray(filters[columns, bins].T)))
    return tuple(out)


@cache
def _window(size: int) -> Array:
    return (0.5 - 0.5 * np.cos(2 * np.pi * np.arange(size) / size)).astype(np.float32)


# Slaney's scale is even up to 1,000 Hz (200/3 Hz a step) and grows by 6.4 over 27 steps above.
_STEP = 200.0 / 3.0
_KNEE = 1000.0
_GROWTH = np.log(6.4) / 27.0


def _to_mel(hertz: float) -> float:
    return hertz / _STEP if hertz < _KNEE else _KNEE / _STEP + float(np.log(hertz / _KNEE)) / _GROWTH


def _to_hertz(mels: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    knee = _KNEE / _STEP
    even = mels * _STEP
    grown = _KNEE * np.exp(_GROWTH * (np.maximum(mels, knee) - knee))
    return np.where(mels < knee, even, grown)
