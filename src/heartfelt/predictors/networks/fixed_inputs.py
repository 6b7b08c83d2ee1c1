"""The fixed inputs that a converted model has to answer as an independent run of the same weights did, made by formula."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Tensors: TypeAlias = Mapping[str, npt.NDArray[Any]]
TEXTS = ("A calm piano piece that slowly turns sad.", "Wütend & laut: 120 BPM, distorted guitars!")


def sound(frames: int, rate: int = 16_000) -> npt.NDArray[np.float32]:
    t = np.arange(frames) / rate
    pitch = 140.0 * t + 6.0 * np.sin(2 * np.pi * 0.7 * t)
    tone = sum(np.sin(2 * np.pi * k * pitch + k * k) / k for k in range(1, 12))
    beat = 0.55 + 0.45 * np.sin(2 * np.pi * 2.3 * t)
    # The multiples of the golden ratio's fraction fill the unit interval evenly but without a period.
    hiss = np.sin(1e4 * np.modf(np.arange(frames) * 0.6180339887498949)[0])
    out: npt.NDArray[np.float32] = (0.15 * tone * beat + 0.02 * hiss).astype(np.float32)
    return out


def picture(height: int, width: int) -> npt.NDArray[np.uint8]:
    y, x = np.mgrid[0:height, 0:width]
    waves = [
        np.sin(x / (7.0 + 3 * c)) * np.cos(y / (11.0 - 2 * c)) + 0.3 * np.sin((x + y) / 23.0 + c) for c in range(3)
    ]
    return np.clip(127.5 + 90.0 * np.stack(waves, axis=-1), 0, 255).astype(np.uint8)
