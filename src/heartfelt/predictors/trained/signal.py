"""What the sound itself tells of its feel: level, brightness, change, pulse and mode, as one row of numbers.

Conventions: samples are mono float32 at 16,000 Hz. Levels are in decibels, brightness in mel bands, change per frame of
16 ms, pulse in beats a minute and as a share of the onset energy, mode as the lead of the best major over the best minor
key. Silence gives zeros where a ratio has no meaning.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from heartfelt.predictors.trained.harmony import RATE as RATE
from heartfelt.predictors.trained.harmony import key_fits

Array: TypeAlias = npt.NDArray[np.float32]
Floats: TypeAlias = npt.NDArray[np.float64]

_FRAME_RATE = 62.5
_BANDS = 24

NAMES: tuple[str, ...] = (
    *(f"level_{name}" for name in ("mean", "sd", "p10", "p90", "slope", "peak", "crest")),
    *(f"brightness_{name}" for name in ("mean", "sd")),
    *(f"spread_{name}" for name in ("mean", "sd")),
    *(f"change_{name}" for name in ("mean", "sd", "p90")),
    *(f"flatness_{name}" for name in ("mean", "sd")),
    *(f"pulse_{name}" for name in ("tempo", "clarity", "density", "low", "high")),
    *(f"mode_{name}" for name in ("lead", "major", "minor", "clarity", "change", "entropy")),
    *(f"band_{place:02d}_mean" for place in range(_BANDS)),
    *(f"band_{place:02d}_sd" for place in range(_BANDS)),
)


def signal_features(samples: Array, mel: Floats, tones: Floats) -> Floats:
    """The row of one clip; ``mel`` is MusicNN's spectrogram of the same samples, ``tones`` their energy in the twelve."""
    return np.concatenate([_level(samples), *_shape(mel), _pulse(mel), _mode(tones), _bands(mel)])


def _level(samples: Array) -> Floats:
    block = RATE // 20
    whole = samples[: max(len(samples) // block, 1) * block].astype(np.float64)
    if len(whole) < block:
        whole = np.pad(whole, (0, block - len(whole)))
    power = np.mean(whole.reshape(-1, block) ** 2, axis=1)
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
    place = np.arange(mel.shape[1])
    bright = weight @ place / total
    spread = np.sqrt(np.maximum(weight @ place**2 / total - bright**2, 0.0))
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
    size = 1 << int(2 * centred.size - 1).bit_length()
    spectrum = np.fft.rfft(centred, size)
    match = np.fft.irfft(spectrum.real**2 + spectrum.imag**2, size)[: centred.size] / energy
    lags = np.arange(18, min(94, centred.size))
    beat = 60.0 * _FRAME_RATE / lags
    # Listeners hear pulses near two a second first.
    liked = match[lags] * np.exp(-0.5 * (np.log2(beat / 120.0) / 0.9) ** 2)
    best = int(np.argmax(liked))
    peaks = (
        (onset[1:-1] > onset[:-2]) & (onset[1:-1] >= onset[2:]) & (onset[1:-1] > onset.mean() + onset.std())
    )
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


def _bands(mel: Floats) -> Floats:
    wide = mel[:, : _BANDS * 4].reshape(len(mel), _BANDS, 4).mean(axis=2)
    return np.concatenate([wide.mean(axis=0), wide.std(axis=0)])
