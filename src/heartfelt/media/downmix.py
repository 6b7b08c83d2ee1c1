"""Several channels as one: their mean, unless they cancel each other.

In a recording whose channels are each other's opposite (a cable soldered the wrong way round, a vocal remover), the mean is
silent although everybody hears music. Where the mean has under a tenth of the channels' mean power, the loudest channel is
taken instead. Channels that have nothing in common keep half of it, so ordinary recordings are never touched.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from heartfelt.media.audio import channel_mean

LEAST_SHARE = 0.1
CANCELS = "the channels cancel each other; only the loudest one was listened to"


def loudest_if_cancelling(blocks: Iterable[npt.NDArray[Any]]) -> int | None:
    """The channel to listen to where the mean of all would lose the sound; None where it does not.

    ``blocks`` are stretches of ``(frames, channels)``.
    """
    mean_power, powers = 0.0, np.zeros(0)
    for block in blocks:
        if block.shape[1] < 2:
            return None
        with np.errstate(over="ignore", invalid="ignore"):
            mixed = channel_mean(block).astype(np.float64)
            each = np.square(block.astype(np.float32), dtype=np.float32).sum(axis=0, dtype=np.float64)
        if block.dtype == np.int16:
            each = each / 32_768.0**2
        mean_power += float(mixed @ mixed)
        powers = each if not powers.size else powers + each
    if not powers.size or not np.isfinite(powers).all() or powers.mean() <= 0.0:
        return None
    return int(np.argmax(powers)) if mean_power < LEAST_SHARE * float(powers.mean()) else None


def one_channel(frames: npt.NDArray[Any], channel: int | None) -> npt.NDArray[np.float32]:
    """The mean over the channels, or the one to listen to."""
    return channel_mean(frames if channel is None else frames[:, channel : channel + 1])
