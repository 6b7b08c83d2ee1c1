"""The pitch of one voice or instrument over time, by YIN.

Frames of 64 ms every 10 ms: the period is the shortest lag at which the normalised difference of a frame with itself has a dip
below 0.15, refined by a parabola; a frame without such a dip has no pitch, nor has one more than 40 dB below the loudest.

Conventions: samples are mono; the result is in hertz, NaN where there is no pitch.

Source: A. de Cheveigné and H. Kawahara (2002), *YIN, a fundamental frequency estimator for speech and music*, steps 1 to 5.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

LOWEST, HIGHEST = 60.0, 800.0
"""The range of pitch that is looked for, in hertz: speech and most singing."""
_HOP_SECONDS, _WINDOW_SECONDS = 0.01, 0.032
SHORTEST_SECONDS = 0.05
"""A frame: a window and the longest lag."""
_DIP, _RANGE = 0.15, 40.0
_FRAMES_AT_ONCE = 512


def pitch_track(samples: npt.NDArray[np.float32], rate: int) -> Floats:
    """The pitch every 10 ms."""
    window, shortest, longest = round(_WINDOW_SECONDS * rate), int(rate / HIGHEST), int(rate / LOWEST) + 2
    size = window + longest
    if len(samples) < size:
        return np.zeros(0)
    frames = np.lib.stride_tricks.sliding_window_view(samples, size)[:: round(_HOP_SECONDS * rate)]
    levels, pitches = [], []
    for start in range(0, len(frames), _FRAMES_AT_ONCE):
        block = frames[start : start + _FRAMES_AT_ONCE].astype(np.float64)
        levels.append(10 * np.log10(np.mean(block**2, axis=1) + 1e-12))
        pitches.append(_pitches(_differences(block, window, longest), shortest, rate))
    level = np.concatenate(levels)
    return np.where(level > level.max() - _RANGE, np.concatenate(pitches), np.nan)


def _differences(frames: Floats, window: int, longest: int) -> Floats:
    """The difference of each frame's first ``window`` samples with those a lag later, over its mean up to that lag."""
    import scipy.fft

    size = scipy.fft.next_fast_len(frames.shape[1] + window, real=True)
    first = scipy.fft.rfft(frames[:, :window], size, axis=1)
    product = scipy.fft.irfft(np.conj(first) * scipy.fft.rfft(frames, size, axis=1), size, axis=1)[:, : longest + 1]
    energy = np.cumsum(np.pad(frames**2, ((0, 0), (1, 0))), axis=1)
    later = energy[:, window : window + longest + 1] - energy[:, : longest + 1]
    difference = np.maximum(later[:, :1] + later - 2 * product, 0)
    mean = np.cumsum(difference[:, 1:], axis=1) / np.arange(1, longest + 1)
    normalised = np.ones_like(difference)
    np.divide(difference[:, 1:], mean, out=normalised[:, 1:], where=mean > 1e-12)
    return normalised


def _pitches(difference: Floats, shortest: int, rate: int) -> Floats:
    before, now, after = (difference[:, shortest - 1 : -2], difference[:, shortest:-1], difference[:, shortest + 1 :])
    dips = (now <= before) & (now < after) & (now < _DIP)
    dip = dips.argmax(axis=1)
    rows = np.arange(len(difference))
    low, middle, high = (part[rows, dip] for part in (before, now, after))
    bend = low - 2 * middle + high
    shift = np.divide(low - high, 2 * bend, out=np.zeros_like(bend), where=bend > 1e-12)
    return np.where(dips.any(axis=1), rate / (shortest + dip + np.clip(shift, -1, 1)), np.nan)
