"""Fixed inputs by formula, and the outputs a converted model must give to them.

The reference outputs lie beside this file, one JSON file per model, each with the independent run they came from.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from heartfelt.errors import DamagedError
from heartfelt.models.pretrained import MODELS, Pretrained

if TYPE_CHECKING:
    from heartfelt.models.session import Model

Array = npt.NDArray[np.float32]


def sound(frames: int, rate: int = 16_000) -> Array:
    """A made-up sound with pitch, harmonics, a slow beat and hiss."""
    t = np.arange(frames) / rate
    pitch = 140.0 * t + 6.0 * np.sin(2 * np.pi * 0.7 * t)
    tone = sum(np.sin(2 * np.pi * k * pitch + k * k) / k for k in range(1, 12))
    beat = 0.55 + 0.45 * np.sin(2 * np.pi * 2.3 * t)
    # The multiples of the golden ratio's fraction fill the unit interval evenly but without a period.
    hiss = np.sin(1e4 * np.modf(np.arange(frames) * 0.6180339887498949)[0])
    out: Array = (0.15 * tone * beat + 0.02 * hiss).astype(np.float32)
    return out


def picture(height: int, width: int) -> npt.NDArray[np.uint8]:
    """A made-up picture of waves in three colours."""
    y, x = np.mgrid[0:height, 0:width]
    waves = [
        np.sin(x / (7.0 + 3 * c)) * np.cos(y / (11.0 - 2 * c)) + 0.3 * np.sin((x + y) / 23.0 + c)
        for c in range(3)
    ]
    return np.clip(127.5 + 90.0 * np.stack(waves, axis=-1), 0, 255).astype(np.uint8)


@cache
def reference(name: str) -> Mapping[str, Any]:
    """The stored reference of a model: ``source``, ``tolerance`` and ``outputs``."""
    text = (files(MODELS[name].home) / "reference" / f"{name}.json").read_text(encoding="utf-8")
    stored: Mapping[str, Any] = json.loads(text)
    return stored


def hold_against_reference(pretrained: Pretrained, model: Model) -> float:
    """The largest difference from the reference, relative to the reference's size; raise where it is too large."""
    stored = reference(pretrained.name)
    worst = 0.0
    given = pretrained.answers(model)
    for output, expected in stored["outputs"].items():
        wanted = np.asarray(expected, dtype=np.float64)
        found = np.asarray(given[output], dtype=np.float64).ravel()[: wanted.size]
        size = max(float(np.abs(wanted).max()), 1e-12)
        off = float(np.abs(found - wanted).max()) / size if found.size == wanted.size else np.inf
        if not off <= stored["tolerance"]:
            raise DamagedError(
                f"The converted model '{pretrained.name}' does not give its reference outputs: '{output}' is off by "
                f"{off:.2g} of its size, {stored['tolerance']:.2g} is allowed. It was not kept.",
                "Update ONNX Runtime and pull the model again; if it stays so, tell heartfelt's maintainers.",
            )
        worst = max(worst, off)
    return worst
