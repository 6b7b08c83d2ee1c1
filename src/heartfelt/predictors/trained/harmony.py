"""The tones of a sound: its key, its chords, how they change and how rough they are together.

Conventions: samples are mono float32 at 16,000 Hz. Energy in the twelve tones is counted from the key's own root, chords are
triads on any root, roughness is that of the thirty strongest partials against each other, relative to their sum and as a
logarithm. Silence gives zeros.

Source: the key profiles are C. Krumhansl and E. Kessler's (1982) listeners' ratings of the twelve tones; roughness is
W. Sethares' (1993) fit to R. Plomp and W. Levelt's curve.
"""

from __future__ import annotations

from functools import cache
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Array: TypeAlias = npt.NDArray[np.float32]
Floats: TypeAlias = npt.NDArray[np.float64]

RATE = 16_000
FRAME, _HOP = 4096, 2048
_MAJOR = (6.35, 2.23, 3.48, 2.33, 4.38, 4.09, 2.52, 5.19, 2.39, 3.66, 2.29, 2.88)
_MINOR = (6.33, 2.68, 3.52, 5.38, 2.60, 3.53, 2.54, 4.75, 3.98, 2.69, 3.34, 3.17)
_CHORDS = {
    "major": (0, 4, 7), "minor": (0, 3, 7), "diminished": (0, 3, 6), "augmented": (0, 4, 8), "suspended": (0, 5, 7),
}  # fmt: skip
_AROUND = 2
_PARTIALS = 30
_TINY = 1e-9

NAMES: tuple[str, ...] = (
    *(f"tone_{step:02d}" for step in range(12)),
    *(f"{chord}_share" for chord in _CHORDS),
    *(f"{chord}_fit" for chord in _CHORDS),
    *("change_mean", "change_sd", "spread_mean", "spread_sd", "chord_clarity", "chord_changes"),
    *(f"interval_{step}" for step in range(1, 7)),
)
ROUGHNESS_NAMES: tuple[str, ...] = tuple(
    f"{name}_{over}" for over in ("mean", "sd") for name in ("relative", "logarithm", "tonal")
)


def strengths(samples: Array) -> Array:
    """The strength of every frequency, one row an eighth of a second."""
    import scipy.fft

    if len(samples) < FRAME:
        samples = np.pad(samples, (0, FRAME - len(samples)))
    frames = np.lib.stride_tricks.sliding_window_view(samples, FRAME)[::_HOP]
    rows: Array = np.abs(scipy.fft.rfft(frames * np.hanning(FRAME).astype(np.float32), axis=1))
    return rows


def chroma(strength: Array) -> Floats:
    """Energy in the twelve tones, row by row."""
    bins, tones = _tones()
    # The root keeps one loud tone from being the whole key.
    rows: Floats = np.sqrt(strength[:, bins].astype(np.float64)) @ tones
    return rows


def harmony(tones: Floats) -> Floats:
    """The row of :data:`NAMES` from the energy in the twelve tones."""
    total = tones.sum(axis=0)
    if float(total.sum()) <= _TINY:
        return np.zeros(len(NAMES))
    fits = key_fits(total)
    root = int(np.unravel_index(int(fits.argmax()), fits.shape)[1])
    smooth = np.stack(
        [tones[max(0, at - _AROUND) : at + _AROUND + 1].sum(axis=0) for at in range(len(tones))]
    )
    smooth /= np.linalg.norm(smooth, axis=1, keepdims=True) + _TINY
    likeness = smooth @ _triads().T
    by_kind = likeness.reshape(len(tones), len(_CHORDS), 12).max(axis=2)
    best = likeness.argmax(axis=1)
    share = np.bincount(best // 12, minlength=len(_CHORDS)) / len(best)
    moves = np.linalg.norm(np.diff(smooth, axis=0), axis=1) if len(tones) > 1 else np.zeros(1)
    spread = -(smooth**2 * np.log(smooth**2 + _TINY)).sum(axis=1)
    turns = float(np.mean(np.diff(best) != 0)) if len(best) > 1 else 0.0
    intervals = [float(total @ np.roll(total, step) / (total @ total)) for step in range(1, 7)]
    whole = [moves.mean(), moves.std(), spread.mean(), spread.std(), likeness.max(axis=1).mean(), turns]
    return np.concatenate(
        [np.roll(total / total.sum(), -root), share, by_kind.mean(axis=0), whole, intervals]
    )


def roughness(strength: Array) -> Floats:
    """The row of :data:`ROUGHNESS_NAMES`."""
    hertz = np.arange(strength.shape[1]) * RATE / FRAME
    inside = (hertz > 60.0) & (hertz < 5_000.0)
    rows, hertz = strength[::2, inside].astype(np.float64), hertz[inside]
    whole = rows.sum(axis=1)
    peak = np.zeros(rows.shape, bool)
    peak[:, 1:-1] = (rows[:, 1:-1] > rows[:, :-2]) & (rows[:, 1:-1] >= rows[:, 2:])
    peaks = np.where(peak, rows, 0.0)
    at = np.argpartition(-peaks, _PARTIALS, axis=1)[:, :_PARTIALS]
    strong, pitch = np.take_along_axis(peaks, at, axis=1), hertz[at]
    low = np.minimum(pitch[:, :, None], pitch[:, None, :])
    apart = np.abs(pitch[:, :, None] - pitch[:, None, :]) * 0.24 / (0.021 * low + 19.0)
    beating = np.exp(-3.5 * apart) - np.exp(-5.75 * apart)
    rough = (beating * np.minimum(strong[:, :, None], strong[:, None, :])).sum(axis=(1, 2))
    total = strong.sum(axis=1)
    table = np.stack(
        [rough / 2 / (total + _TINY), np.log(rough + 1e-6), total / np.maximum(whole, _TINY)], axis=1
    )
    table[total <= _TINY] = 0.0
    return np.concatenate([table.mean(axis=0), table.std(axis=0)])


def key_fits(total: Floats) -> Floats:
    """Correlation of the tones' energy with the 12 major and the 12 minor keys, ``(2, 12)``."""
    centred = total - total.mean()
    length = float(np.sqrt(centred @ centred))
    if length <= 1e-12:
        return np.zeros((2, 12))
    return np.asarray(_profiles() @ (centred / length))


@cache
def _tones() -> tuple[npt.NDArray[np.int64], Floats]:
    """The bins between 65 and 2,100 Hz, and each one's share of the twelve tones."""
    hertz = np.arange(FRAME // 2 + 1) * RATE / FRAME
    bins = np.flatnonzero((hertz >= 65.0) & (hertz <= 2_100.0))
    pitch = 12.0 * np.log2(hertz[bins] / 440.0) + 9.0
    apart = (pitch[:, None] - np.arange(12)[None, :] + 6.0) % 12.0 - 6.0
    near = np.exp(-0.5 * (apart / 0.35) ** 2)
    return bins, near / hertz[bins, None] ** 0.5


@cache
def _profiles() -> Floats:
    rows = np.array([[np.roll(profile, key) for key in range(12)] for profile in (_MAJOR, _MINOR)])
    rows = rows - rows.mean(axis=2, keepdims=True)
    return np.asarray(rows / np.sqrt((rows**2).sum(axis=2, keepdims=True)))


@cache
def _triads() -> Floats:
    rows = np.zeros((len(_CHORDS), 12, 12))
    for kind, steps in enumerate(_CHORDS.values()):
        for root in range(12):
            rows[kind, root, [(root + step) % 12 for step in steps]] = 1.0 / np.sqrt(3.0)
    return rows.reshape(-1, 12)
