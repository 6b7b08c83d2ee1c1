"""Speech cut into the windows a quality network looks at.

Conventions: samples are mono float32 at 16,000 Hz.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from heartfelt.models.samples import RATE as RATE
from heartfelt.models.samples import is_silent, mono, no_sound

Array = npt.NDArray[np.float32]

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
    samples = mono(samples)
    if samples.size == 0:
        raise no_sound()
    warnings = []
    if is_silent(float(np.abs(samples).max())):
        warnings.append("the clip is silent; the score says nothing")
    if samples.size < RATE:
        warnings.append(
            f"the clip lasts {samples.size / RATE:.2f} s; scores of less than a second say little"
        )
    return samples, tuple(warnings)


def spread(starts: list[int], length: int) -> Windows:
    """The windows to look at: all, or :data:`MOST_WINDOWS` of them spread evenly, with a word about it."""
    if len(starts) <= MOST_WINDOWS:
        return Windows(tuple(starts), length)
    chosen = np.linspace(0, len(starts) - 1, MOST_WINDOWS).round().astype(int)
    word = f"a long clip: judged on {MOST_WINDOWS} windows spread evenly over it"
    return Windows(tuple(starts[i] for i in chosen), length, (word,))
