"""Speech cut into the windows a quality network looks at.

Conventions: samples are mono float32 at 16,000 Hz.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from heartfelt.errors import InputError

Array = npt.NDArray[np.float32]

RATE = 16_000
MOST_WINDOWS = 40
"""A recording with more windows than this is judged on so many, spread evenly over it."""


@dataclass(frozen=True, slots=True)
class Windows:
    """Where the windows of a recording begin, and what to know about them."""

    starts: tuple[int, ...]
    length: int
    warnings: tuple[str, ...] = ()

    def cut(self, samples: Array) -> Iterator[Array]:
        """The windows, one at a time."""
        for start in self.starts:
            yield samples[start : start + self.length]


def checked_speech(samples: Array) -> tuple[Array, tuple[str, ...]]:
    """The samples as float32, and what is doubtful about them; raise where there is nothing to judge."""
    array = np.asarray(samples)
    if array.ndim != 1 or array.dtype.kind != "f":
        raise InputError(
            f"Samples of shape {array.shape} and type {array.dtype} are no mono clip.",
            "Pass floating-point samples of shape (frames,) at 16,000 Hz.",
        )
    if array.size == 0:
        raise InputError("There is no sound (0 samples).", "Give a clip with sound in it.")
    array = array.astype(np.float32, copy=False)
    if not np.isfinite(array).all():
        raise InputError(
            "The samples hold values that are not finite numbers.", "Leave this clip out or make it again."
        )
    warnings = []
    peak = float(np.abs(array).max())
    if peak < 10 ** (-60 / 20):
        warnings.append("the clip is silent; the score says nothing")
    if array.size < RATE:
        warnings.append(f"the clip lasts {array.size / RATE:.2f} s; scores of less than a second say little")
    return array, tuple(warnings)


def spread(starts: list[int], length: int) -> Windows:
    """The windows to look at: all, or :data:`MOST_WINDOWS` of them spread evenly, with a word about it."""
    if len(starts) <= MOST_WINDOWS:
        return Windows(tuple(starts), length)
    chosen = np.linspace(0, len(starts) - 1, MOST_WINDOWS).round().astype(int)
    word = f"a long clip: judged on {MOST_WINDOWS} windows spread evenly over it"
    return Windows(tuple(starts[i] for i in chosen), length, (word,))
