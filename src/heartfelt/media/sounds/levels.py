"""Integrated loudness of samples at 48 kHz, by ITU-R BS.1770-4.

The K weighting is a shelf for the head and a high-pass. The standard prints their coefficients for 48 kHz; here they follow from
the analogue filters that give those digits (De Man 2014, *Evaluation of implementations of the EBU R128 loudness measurement*,
AES). Blocks of 400 ms begin every 100 ms; those below -70 LUFS are left out, then those 10 LU below the mean of the rest.
"""

from __future__ import annotations

import math

import numpy as np

from heartfelt.media.sound import Samples
from heartfelt.stats.columns.triples import Floats

RATE = 48_000
CHANNEL_GAINS = np.array([1.0, 1.0, 1.0, 1.41, 1.41])
"""Left, right, centre and the two surround channels."""
_STEP = RATE // 10
_OFFSET = -0.691
_ABSOLUTE_GATE, _RELATIVE_GATE = -70.0, -10.0


def _shelf() -> Floats:
    """b0, b1, b2, a1, a2 of the shelf: about +4 dB above 1.7 kHz."""
    k, q = math.tan(math.pi * 1681.9744509555319 / RATE), 0.7071752369554196
    high = 10.0 ** (3.999843853973347 / 20.0)
    middle = high**0.4996667741545416
    a0 = 1.0 + k / q + k * k
    b = (high + middle * k / q + k * k, 2.0 * (k * k - high), high - middle * k / q + k * k)
    return np.array([*b, 2.0 * (k * k - 1.0), 1.0 - k / q + k * k]) / a0


def _high_pass() -> Floats:
    """b0, b1, b2, a1, a2 of the high-pass at 38 Hz."""
    k, q = math.tan(math.pi * 38.13547087602444 / RATE), 0.5003270373238773
    a0 = 1.0 + k / q + k * k
    return np.array([1.0, -2.0, 1.0, 2.0 * (k * k - 1.0) / a0, (1.0 - k / q + k * k) / a0])


_SHELF, _HIGH_PASS = _shelf(), _high_pass()


def integrated_loudness(samples: Samples) -> float | None:
    """LUFS of ``(frames, channels)`` at 48 kHz, at least 0.4 s of it; None where no block passes the gate."""
    from heartfelt.media.sounds._kernels_sound import weighted_power

    power = weighted_power(np.ascontiguousarray(samples), _SHELF, _HIGH_PASS, _STEP)
    blocks = np.convolve(power @ CHANNEL_GAINS[: samples.shape[1]], np.ones(4), "valid") / (4 * _STEP)
    heard = blocks[blocks > 10.0 ** ((_ABSOLUTE_GATE - _OFFSET) / 10.0)]
    if not heard.size:
        return None
    heard = heard[heard > heard.mean() * 10.0 ** (_RELATIVE_GATE / 10.0)]
    return float(_OFFSET + 10.0 * np.log10(heard.mean()))
