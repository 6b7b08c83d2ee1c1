"""What a sound itself conveys, as rows of numbers: level, brightness, rhythm, harmony, roughness and bandwidth.

Conventions: samples are mono float32 at 16,000 Hz, except for bandwidth and pauses, which are measured at the file's own rate;
``mel`` is MusicNN's spectrogram of the same samples, 62.5 frames per second. Silence gives zeros where a ratio has no meaning.

*Signal*: levels are in decibels, brightness in mel bands, change per frame of 16 ms, pulse in beats per minute and as a share of
the onset energy, mode as the lead of the best major over the best minor key. *Rhythm*, in three ranges of pitch and in all:
repetition is the largest autocorrelation of the onsets in each of twelve ranges of lag, from a sixth of a second to three
seconds; strengths are mean, standard deviation and upper percentiles; rare onsets are the share of frames two deviations above
the mean. *Harmony*: energy in the twelve tones is counted from the key's own root, chords are triads on any root. *Roughness* is
that of the thirty strongest partials against each other, relative to their sum and as a logarithm. *Bandwidth*: the share of
energy in each thousand hertz up to 24,000, as a logarithm; shares below a millionth count as that, so that what a codec leaves
is nothing.

*Pauses*: the share of frames of 16 ms whose level is under half the mean level of the second around them. Talk has pauses
between its syllables and words; music rarely does.

Source: the key profiles are C. Krumhansl and E. Kessler's (1982) listeners' ratings of the twelve tones; roughness is
W. Sethares' (1993) fit to R. Plomp and W. Levelt's curve; pauses are the low-energy frames of E. Scheirer and M. Slaney (1997),
*Construction and evaluation of a robust multifeature speech/music discriminator*.
"""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from heartfelt.predictors.networks.mel import RATE

Array: TypeAlias = npt.NDArray[np.float32]
Floats: TypeAlias = npt.NDArray[np.float64]

_FRAME_RATE = 62.5
_MEL_GROUPS = 24

SIGNAL_NAMES: tuple[str, ...] = (
    *(f"level_{name}" for name in ("mean", "sd", "p10", "p90", "slope", "peak", "crest")),
    *(f"brightness_{name}" for name in ("mean", "sd")),
    *(f"spread_{name}" for name in ("mean", "sd")),
    *(f"change_{name}" for name in ("mean", "sd", "p90")),
    *(f"flatness_{name}" for name in ("mean", "sd")),
    *(f"pulse_{name}" for name in ("tempo", "clarity", "density", "low", "high")),
    *(f"mode_{name}" for name in ("lead", "major", "minor", "clarity", "change", "entropy")),
    *(f"band_{band:02d}_mean" for band in range(_MEL_GROUPS)),
    *(f"band_{band:02d}_sd" for band in range(_MEL_GROUPS)),
)

_RANGES = {"low": slice(0, 16), "middle": slice(16, 48), "high": slice(48, 96), "all": slice(0, 96)}
_LAGS = tuple(int(lag) for lag in np.geomspace(10, 180, 13))
_STRENGTHS = ("mean", "sd", "p95", "p99", "rare")

RHYTHM_NAMES: tuple[str, ...] = tuple(
    f"{name}_{part}" for name in _RANGES for part in (*(f"repeat_{lag:03d}" for lag in _LAGS[:-1]), *_STRENGTHS)
)

FRAME, _HOP = 4096, 2048
_MAJOR = (6.35, 2.23, 3.48, 2.33, 4.38, 4.09, 2.52, 5.19, 2.39, 3.66, 2.29, 2.88)
_MINOR = (6.33, 2.68, 3.52, 5.38, 2.60, 3.53, 2.54, 4.75, 3.98, 2.69, 3.34, 3.17)
_CHORDS = {
    "major": (0, 4, 7), "minor": (0, 3, 7), "diminished": (0, 3, 6), "augmented": (0, 4, 8), "suspended": (0, 5, 7),
}  # fmt: skip
_AROUND = 2
_PARTIALS = 30
_TINY = 1e-9

HARMONY_NAMES: tuple[str, ...] = (
    *(f"tone_{step:02d}" for step in range(12)),
    *(f"{chord}_share" for chord in _CHORDS),
    *(f"{chord}_fit" for chord in _CHORDS),
    *("change_mean", "change_sd", "spread_mean", "spread_sd", "chord_clarity", "chord_changes"),
    *(f"interval_{step}" for step in range(1, 7)),
)
ROUGHNESS_NAMES: tuple[str, ...] = tuple(
    f"{name}_{over}" for over in ("mean", "sd") for name in ("relative", "logarithm", "tonal")
)

BANDWIDTH_BANDS = 24
_BAND_HERTZ = 1_000.0
_BAND_FRAME_SECONDS = 0.04
_LEAST_SHARE = 1e-6
_PAUSE_FRAME_SECONDS = 0.016
_SMALL_PRODUCT = 1 << 20
"""From this many multiplications on, threads are worth it: in training, not in predicting."""


def product(rows: npt.NDArray[Any], matrix: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """``rows @ matrix``, up to rounding; on one thread for the small tables of a clip.

    The linear algebra library starts threads even for one row, and they use a processor for longer than predicting a clip takes.
    """
    if rows.size * matrix.shape[1] > _SMALL_PRODUCT:
        return np.asarray(rows @ matrix)
    return np.asarray(np.einsum("ij,jk->ik", rows, matrix))


def signal_features(samples: Array, mel: Floats, tones: Floats) -> Floats:
    """The row of one clip; ``mel`` is MusicNN's spectrogram of the same samples, ``tones`` their energy in the twelve."""
    return np.concatenate([_level(samples), *_shape(mel), _pulse(mel), _mode(tones), _mel_groups(mel)])


def _level(samples: Array) -> Floats:
    block = RATE // 20
    padded = samples[: max(len(samples) // block, 1) * block].astype(np.float64)
    if len(padded) < block:
        padded = np.pad(padded, (0, block - len(padded)))
    power = np.mean(padded.reshape(-1, block) ** 2, axis=1)
    level = 10.0 * np.log10(power + 1e-8)
    peak = 20.0 * np.log10(float(np.abs(samples).max(initial=0.0)) + 1e-4)
    time = np.linspace(-1.0, 1.0, level.size)
    slope = float(time @ level / (time @ time)) if level.size > 1 else 0.0
    low, high = np.percentile(level, [10, 90])
    whole_level = 10.0 * np.log10(float(power.mean()) + 1e-8)
    return np.array([whole_level, level.std(), low, high, slope, peak, peak - whole_level])


def _shape(mel: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """Brightness, spread, change and flatness over the frames."""
    weight = mel + 1e-6
    total = weight.sum(axis=1)
    bins = np.arange(mel.shape[1])
    first, second = (product(weight, power[:, None])[:, 0] for power in (bins, bins**2))
    bright = first / total
    spread = np.sqrt(np.maximum(second / total - bright**2, 0.0))
    change = np.maximum(np.diff(mel, axis=0), 0.0).mean(axis=1) if len(mel) > 1 else np.zeros(1)
    flat = np.exp(np.log(weight).mean(axis=1)) / weight.mean(axis=1)
    return (
        np.array([bright.mean(), bright.std()]),
        np.array([spread.mean(), spread.std()]),
        np.array([change.mean(), change.std(), np.percentile(change, 90)]),
        np.array([flat.mean(), flat.std()]),
    )


def _pulse(mel: Floats) -> Floats:
    """Tempo, how clear it is, onsets a second, and onset energy in low and high bands."""
    if len(mel) < 64:
        return np.zeros(5)
    rises = np.maximum(np.diff(mel, axis=0), 0.0)
    onset = rises.mean(axis=1)
    low, high = float(rises[:, :24].mean()), float(rises[:, 60:].mean())
    centred = onset - onset.mean()
    energy = float(centred @ centred)
    if energy <= 1e-9:
        return np.array([0.0, 0.0, 0.0, low, high])
    match = _autocorrelation(centred, centred.size, centred.size) / energy
    lags = np.arange(18, min(94, centred.size))
    beat = 60.0 * _FRAME_RATE / lags
    # Listeners hear pulses near two a second first.
    liked = match[lags] * np.exp(-0.5 * (np.log2(beat / 120.0) / 0.9) ** 2)
    best = int(np.argmax(liked))
    peaks = (onset[1:-1] > onset[:-2]) & (onset[1:-1] >= onset[2:]) & (onset[1:-1] > onset.mean() + onset.std())
    density = float(np.count_nonzero(peaks)) * _FRAME_RATE / onset.size
    return np.array([np.log2(beat[best] / 120.0), match[lags[best]], density, low, high])


def _mode(tones: Floats) -> Floats:
    total = tones.sum(axis=0)
    if float(total.sum()) <= 1e-9:
        return np.zeros(6)
    fits = key_fits(total)
    ordered = np.sort(fits.ravel())
    share = total / total.sum()
    entropy = -float(np.sum(share * np.log(share + 1e-12)))
    parts = [piece.sum(axis=0) for piece in np.array_split(tones, 4) if len(piece)]
    leads = [float(f[0].max() - f[1].max()) for f in (key_fits(part) for part in parts)]
    major, minor = float(fits[0].max()), float(fits[1].max())
    return np.array([major - minor, major, minor, ordered[-1] - ordered[-3], np.std(leads), entropy])


def _mel_groups(mel: Floats) -> Floats:
    wide = mel[:, : _MEL_GROUPS * 4].reshape(len(mel), _MEL_GROUPS, 4).mean(axis=2)
    return np.concatenate([wide.mean(axis=0), wide.std(axis=0)])


def rhythm(mel: Floats) -> Floats:
    if len(mel) < 2:
        return np.zeros(len(RHYTHM_NAMES))
    rises = np.maximum(np.diff(mel, axis=0), 0.0)
    parts: list[Floats | list[float]] = []
    for bands in _RANGES.values():
        onset = rises[:, bands].mean(axis=1)
        centred = onset - onset.mean()
        energy = float(centred @ centred)
        longest = _LAGS[-1]
        match = np.zeros(longest)
        if energy > 1e-9:
            match = _autocorrelation(centred, max(centred.size, longest), longest) / energy
        mean, sd = float(onset.mean()), float(onset.std())
        parts.append([float(match[a:b].max()) for a, b in pairwise(_LAGS)])
        parts.append([mean, sd, *np.percentile(onset, [95, 99]), float(np.mean(onset > mean + 2 * sd))])
    return np.concatenate(parts)


def _autocorrelation(centred: Floats, reach: int, lags: int) -> Floats:
    """At lags from 0, by way of the spectrum, with room for lags up to ``reach``."""
    size = 1 << int(2 * reach - 1).bit_length()
    spectrum = np.fft.rfft(centred, size)
    return np.asarray(np.fft.irfft(spectrum.real**2 + spectrum.imag**2, size)[:lags])


def strengths(samples: Array) -> Array:
    """The strength of every frequency, one row per eighth of a second."""
    if len(samples) < FRAME:
        samples = np.pad(samples, (0, FRAME - len(samples)))
    frames = np.lib.stride_tricks.sliding_window_view(samples, FRAME)[::_HOP]
    rows: Array = np.abs(np.fft.rfft(frames * np.hanning(FRAME).astype(np.float32), axis=1))
    return rows


def chroma(strength: Array) -> Floats:
    """Energy in the twelve tones, row by row."""
    bins, tones = _tones()
    # The root keeps one loud tone from being the whole key.
    rows: Floats = product(np.sqrt(strength[:, bins].astype(np.float64)), tones)
    return rows


def harmony(tones: Floats) -> Floats:
    """The row of :data:`HARMONY_NAMES` from the energy in the twelve tones."""
    total = tones.sum(axis=0)
    if float(total.sum()) <= _TINY:
        return np.zeros(len(HARMONY_NAMES))
    fits = key_fits(total)
    root = int(np.unravel_index(int(fits.argmax()), fits.shape)[1])
    smooth = np.stack([tones[max(0, at - _AROUND) : at + _AROUND + 1].sum(axis=0) for at in range(len(tones))])
    smooth /= np.linalg.norm(smooth, axis=1, keepdims=True) + _TINY
    likeness = smooth @ _triads().T
    by_kind = likeness.reshape(len(tones), len(_CHORDS), 12).max(axis=2)
    best = likeness.argmax(axis=1)
    share = np.bincount(best // 12, minlength=len(_CHORDS)) / len(best)
    moves = np.linalg.norm(np.diff(smooth, axis=0), axis=1) if len(tones) > 1 else np.zeros(1)
    spread = -(smooth**2 * np.log(smooth**2 + _TINY)).sum(axis=1)
    turns = float(np.mean(np.diff(best) != 0)) if len(best) > 1 else 0.0
    intervals = [float(total @ np.roll(total, step) / (total @ total)) for step in range(1, 7)]
    whole_clip = [moves.mean(), moves.std(), spread.mean(), spread.std(), likeness.max(axis=1).mean(), turns]
    return np.concatenate([np.roll(total / total.sum(), -root), share, by_kind.mean(axis=0), whole_clip, intervals])


def roughness(strength: Array) -> Floats:
    hertz = np.arange(strength.shape[1]) * RATE / FRAME
    inside = (hertz > 60.0) & (hertz < 5_000.0)
    rows, hertz = strength[::2, inside].astype(np.float64), hertz[inside]
    energy = rows.sum(axis=1)
    peak = np.zeros(rows.shape, bool)
    peak[:, 1:-1] = (rows[:, 1:-1] > rows[:, :-2]) & (rows[:, 1:-1] >= rows[:, 2:])
    peaks = np.where(peak, rows, 0.0)
    at = np.argpartition(-peaks, _PARTIALS, axis=1)[:, :_PARTIALS]
    strong, pitch = np.take_along_axis(peaks, at, axis=1), hertz[at]
    low = np.minimum(pitch[:, :, None], pitch[:, None, :])
    pitch_distance = np.abs(pitch[:, :, None] - pitch[:, None, :]) * 0.24 / (0.021 * low + 19.0)
    beating = np.exp(-3.5 * pitch_distance) - np.exp(-5.75 * pitch_distance)
    rough = (beating * np.minimum(strong[:, :, None], strong[:, None, :])).sum(axis=(1, 2))
    total = strong.sum(axis=1)
    table = np.stack([rough / 2 / (total + _TINY), np.log(rough + 1e-6), total / np.maximum(energy, _TINY)], axis=1)
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
    pitch_distance = (pitch[:, None] - np.arange(12)[None, :] + 6.0) % 12.0 - 6.0
    near = np.exp(-0.5 * (pitch_distance / 0.35) ** 2)
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


def pauses(samples: Array, rate: int) -> float:
    """The share of frames that are quiet for the second around them, from 0 to 1; 0 for under a second."""
    size = max(round(rate * _PAUSE_FRAME_SECONDS), 1)
    count, second = len(samples) // size, rate // size
    if count < second:
        return 0.0
    frames = samples[: count * size].reshape(count, size)
    level = np.sqrt(np.einsum("ij,ij->i", frames, frames, dtype=np.float64) / size)
    around = np.ones(second)
    mean = np.convolve(level, around, "same") / np.convolve(np.ones(count), around, "same")
    return float(np.mean(level < mean / 2))


def bandwidth(samples: npt.NDArray[np.float32], rate: int) -> Floats:
    """One number per band, from -6 (nothing) to 0 (everything)."""
    size = _fast_length(max(int(rate * _BAND_FRAME_SECONDS), 2))
    if len(samples) < size:
        samples = np.pad(samples, (0, size - len(samples)))
    frames = samples[: len(samples) // size * size].reshape(-1, size)
    spectrum = np.fft.rfft(frames * np.hanning(size).astype(np.float32), axis=1)
    power = (spectrum.real**2 + spectrum.imag**2).mean(axis=0, dtype=np.float64)
    hertz = np.arange(power.size) * rate / size
    # A frequency on an edge belongs to the band below, so that half the rate opens no band of its own.
    band = np.clip(np.ceil(hertz / _BAND_HERTZ) - 1, 0, BANDWIDTH_BANDS).astype(np.int64)
    energy = np.bincount(band, power, BANDWIDTH_BANDS + 1)[:BANDWIDTH_BANDS]
    total = float(energy.sum())
    share = energy / total if total > 0 else np.zeros(BANDWIDTH_BANDS)
    return np.asarray(np.log10(share + _LEAST_SHARE))


def _fast_length(least: int) -> int:
    """The next number without prime factors above 5, whose spectrum is fast to compute.

    NumPy's transforms take a few milliseconds more than SciPy's, whose import costs a tenth of a second of every cold start.
    """
    size = least
    while (30 ** size.bit_length()) % size:
        size += 1
    return size
