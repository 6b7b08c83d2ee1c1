"""Samples as the models of sound take them: one channel, 16,000 a second, float32."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from heartfelt.errors import InputError

Samples = npt.NDArray[np.float32]

RATE = 16_000
_SILENCE = 10.0 ** (-60 / 20)


def mono(samples: Samples) -> Samples:
    """The samples as float32; raise where they are no mono clip or hold what is no number."""
    array = np.asarray(samples)
    if array.ndim != 1 or array.dtype.kind != "f":
        raise InputError(
            f"Samples of shape {array.shape} and type {array.dtype} are no mono clip.",
            "Pass floating-point samples of shape (frames,) at 16,000 Hz.",
        )
    array = array.astype(np.float32, copy=False)
    if not np.isfinite(array).all():
        raise InputError(
            "The samples hold values that are not finite numbers.", "Leave this clip out or make it again."
        )
    return array


def no_sound() -> InputError:
    """The error for a clip without samples."""
    return InputError("There is no sound (0 samples).", "Give a clip with sound in it.")


def is_silent(peak: float) -> bool:
    """Whether a clip whose largest sample is ``peak`` has nothing to hear in it."""
    return peak < _SILENCE
