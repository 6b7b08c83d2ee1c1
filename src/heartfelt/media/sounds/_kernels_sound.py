"""Compiled loops over samples: the weighted power that loudness is made of, and steps of power."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from heartfelt.stats.columns.triples import Floats
from heartfelt.stats.compiled.kernel import compiled

Samples = npt.NDArray[np.float32]


@compiled
def weighted_power(samples: Samples, shelf: Floats, cut: Floats, step: int) -> Floats:
    """Sums of squares per step and channel of ``(frames, channels)`` after two second-order filters in a row.

    A filter is b0, b1, b2, a1, a2. Frames after the last whole step are left out.
    """
    frames, channels = samples.shape
    steps = frames // step
    out = np.zeros((steps, channels))
    for channel in range(channels):
        p1 = p2 = q1 = q2 = 0.0
        frame = 0
        for at in range(steps):
            total = 0.0
            for _ in range(step):
                x = float(samples[frame, channel])
                y = shelf[0] * x + p1
                p1 = shelf[1] * x - shelf[3] * y + p2
                p2 = shelf[2] * x - shelf[4] * y
                z = cut[0] * y + q1
                q1 = cut[1] * y - cut[3] * z + q2
                q2 = cut[2] * y - cut[4] * z
                total += z * z
                frame += 1
            out[at, channel] = total
    return out


@compiled
def step_power(samples: Samples, step: int) -> tuple[Floats, Floats, np.float32]:
    """The largest mean square over the channels of every step of ``(frames, channels)``; the last may be shorter.

    Also the sum of each channel, and the largest absolute value.
    """
    frames, channels = samples.shape
    steps = (frames + step - 1) // step
    power, sums, peak = np.zeros(steps), np.zeros(channels), np.float32(0.0)
    for at in range(steps):
        first, last = at * step, min((at + 1) * step, frames)
        for channel in range(channels):
            squares = total = 0.0
            for frame in range(first, last):
                x = samples[frame, channel]
                squares += float(x) * float(x)
                total += float(x)
                peak = max(peak, abs(x))
            power[at] = max(power[at], squares / (last - first))
            sums[channel] += total
    return power, sums, peak


@compiled
def peak_runs(samples: Samples, peak: np.float32, least: int) -> int:
    """How often ``least`` or more samples in a row stand at ``peak`` or its opposite, over all channels."""
    frames, channels = samples.shape
    count = 0
    limit = peak * np.float32(0.9999)
    for channel in range(channels):
        run = 0
        sign = False
        for frame in range(frames):
            x = samples[frame, channel]
            at_peak = abs(x) >= limit
            if at_peak and (run == 0 or (x > 0) == sign):
                run += 1
                sign = x > 0
            else:
                run = 1 if at_peak else 0
                sign = x > 0
            if run == least:
                count += 1
    return count
