"""Heads: from an embedding's columns to a number on the scale. Four kinds, all plain NumPy when they answer.

``ridge`` is linear. The others look at the embedding through its leading components: ``kernel`` (radial basis functions
around the training clips), ``mlp`` (two hidden layers, tanh) and ``ordinal`` (the same, ending in probabilities of the
scale's points, whose mean is the answer). Every block of columns counts alike; a column beyond what training has seen is
taken at the edge of it, so that silence or a pure tone is not carried off the map.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from heartfelt.errors import DamagedError

Floats: TypeAlias = npt.NDArray[Any]
KINDS = ("ridge", "kernel", "mlp", "ordinal")

_ARRAYS = {
    "ridge": ("mean", "factor", "reach", "weight"),
    "kernel": ("mean", "factor", "reach", "basis", "centres", "weight"),
    "mlp": ("mean", "factor", "reach", "basis", "w1", "b1", "w2", "b2", "w3"),
    "ordinal": ("mean", "factor", "reach", "basis", "w1", "b1", "w2", "b2", "w3", "b3", "points"),
}


@dataclass(frozen=True, slots=True, eq=False)
class Head:
    """A fitted head. ``level`` is added to what the arrays say; ``width`` is the kernel's."""

    kind: str
    intercept: float
    arrays: Mapping[str, Floats]
    width: float = 0.0

    def answer(self, rows: Floats) -> npt.NDArray[np.float64]:
        """The predicted value of each row."""
        a = self.arrays
        scaled = (rows.astype(np.float64) - a["mean"]) * a["factor"]
        scaled = np.clip(scaled, -a["reach"], a["reach"])
        if self.kind == "ridge":
            return np.asarray(self.intercept + scaled @ a["weight"])
        seen = scaled @ a["basis"]
        if self.kind == "kernel":
            return np.asarray(self.intercept + radial(seen, a["centres"], self.width) @ a["weight"])
        hidden = np.tanh(np.tanh(seen @ a["w1"] + a["b1"]) @ a["w2"] + a["b2"])
        if self.kind == "mlp":
            return np.asarray(self.intercept + hidden @ a["w3"])
        return np.asarray(softmax(hidden @ a["w3"] + a["b3"]) @ a["points"])

    def along(self, offset: float, slope: float) -> Head:
        """The head that answers ``offset + slope *`` what this one does."""
        key = {"mlp": "w3", "ordinal": "points"}.get(self.kind, "weight")
        moved = self.arrays[key] * slope + (offset if key == "points" else 0.0)
        return Head(self.kind, offset + slope * self.intercept, {**self.arrays, key: moved}, self.width)

    def to_arrays(self, name: str) -> dict[str, Floats]:
        """What is stored, under names that begin with ``name``; single precision is plenty."""
        return {f"{name}/{key}": np.asarray(self.arrays[key], np.float32) for key in _ARRAYS[self.kind]}

    def stored(self) -> Head:
        """The head as it will answer after it was stored and read: in single precision."""
        rounded = {
            key: np.asarray(value, np.float32).astype(np.float64) for key, value in self.arrays.items()
        }
        return Head(self.kind, self.intercept, rounded, self.width)

    @classmethod
    def from_arrays(cls, name: str, said: Mapping[str, Any], arrays: Mapping[str, Floats]) -> Head:
        """The head that was stored under ``name``."""
        kind = str(said.get("kind"))
        wanted = _ARRAYS.get(kind)
        if wanted is None or any(f"{name}/{key}" not in arrays for key in wanted):
            raise DamagedError(
                f"The head of '{name}' is incomplete.", "Restore the model's folder, or train it again."
            )
        found = {key: np.asarray(arrays[f"{name}/{key}"], np.float64) for key in wanted}
        return cls(kind, float(said["level"]), found, float(said.get("width", 0.0)))

    def to_json(self) -> dict[str, Any]:
        """What is stored beside the arrays."""
        return {"kind": self.kind, "level": self.intercept, "width": self.width}


def radial(rows: Floats, centres: Floats, width: float) -> npt.NDArray[np.float64]:
    """Radial basis functions of the rows around the centres."""
    apart = (rows**2).sum(axis=1)[:, None] + (centres**2).sum(axis=1)[None, :] - 2.0 * rows @ centres.T
    return np.asarray(np.exp(-width * np.maximum(apart, 0.0)))


def softmax(logits: Floats) -> npt.NDArray[np.float64]:
    """Probabilities that add up to 1 in each row."""
    raised = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(raised / raised.sum(axis=1, keepdims=True))
