"""How far up a sound reaches: the share of its energy in each thousand hertz up to 24,000, as a logarithm.

The one thing read at the file's own rate. Shares below a millionth count as that, so that what a codec leaves is nothing.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Floats: TypeAlias = npt.NDArray[np.float64]

BANDS = 24
_WIDTH = 1_000.0
_FRAME_SECONDS = 0.04
_LEAST = 1e-6


def bandwidth(samples: npt.NDArray[np.float32], rate: int) -> Floats:
    """One number a band, from -6 (nothing) to 0 (everything)."""
    import scipy.fft

    size = scipy.fft.next_fast_len(max(int(rate * _FRAME_SECONDS), 2), real=True)
    if len(samples) < size:
        samples = np.pad(samples, (0, size - len(samples)))
    frames = samples[: len(samples) // size * size].reshape(-1, size)
    spectrum = scipy.fft.rfft(frames * np.hanning(size).astype(np.float32), axis=1)
    power = (spectrum.real**2 + spectrum.imag**2).mean(axis=0, dtype=np.float64)
    hertz = np.arange(power.size) * rate / size
    # A frequency on an edge belongs to the band below, so that half the rate opens no band of its own.
    band = np.clip(np.ceil(hertz / _WIDTH) - 1, 0, BANDS).astype(np.int64)
    energy = np.bincount(band, power, BANDS + 1)[:BANDS]
    total = float(energy.sum())
    share = energy / total if total > 0 else np.zeros(BANDS)
    return np.asarray(np.log10(share + _LEAST))
