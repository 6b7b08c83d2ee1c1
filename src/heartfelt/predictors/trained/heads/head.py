"""Heads on a frozen embedding: from its columns to a number on the scale, in plain NumPy.

``ridge`` is linear. The
others look at the embedding through its leading components: ``kernel`` (radial basis functions around the training clips),
``mlp`` (two hidden layers, tanh) and ``ordinal`` (the same, ending in probabilities of the scale's points, whose mean is the
answer). Every block of columns counts alike; a column beyond what training has seen is taken at the edge of it, so that silence
or a pure tone is not carried off the map.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from heartfelt.errors import DamagedError
from heartfelt.predictors.networks.sound_features import product
from heartfelt.predictors.trained.answers import AnswerSpread
from heartfelt.predictors.trained.domain import DomainDistance
from heartfelt.predictors.trained.folder import RESTORE

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
    """A fitted head. ``intercept`` is added to what the arrays say; ``width`` is the kernel's."""

    kind: str
    intercept: float = field(metadata={"formerly": "level"})
    arrays: Mapping[str, Floats] = field(default_factory=dict, metadata={"skip": True})
    width: float = 0.0

    def answer(self, rows: Floats) -> npt.NDArray[np.float64]:
        a = self.arrays
        scaled = (rows.astype(np.float64) - a["mean"]) * a["factor"]
        scaled = np.clip(scaled, -a["reach"], a["reach"])
        if self.kind == "ridge":
            return np.asarray(self.intercept + scaled @ a["weight"])
        projected = product(scaled, a["basis"])
        if self.kind == "kernel":
            return np.asarray(self.intercept + radial(projected, a["centres"], self.width) @ a["weight"])
        hidden = np.tanh(np.tanh(projected @ a["w1"] + a["b1"]) @ a["w2"] + a["b2"])
        if self.kind == "mlp":
            return np.asarray(self.intercept + hidden @ a["w3"])
        return np.asarray(softmax(hidden @ a["w3"] + a["b3"]) @ a["points"])

    def along(self, offset: float, slope: float) -> Head:
        """The head that answers ``offset + slope *`` what this one does."""
        key = {"mlp": "w3", "ordinal": "points"}.get(self.kind, "weight")
        moved = self.arrays[key] * slope + (offset if key == "points" else 0.0)
        return replace(self, intercept=offset + slope * self.intercept, arrays={**self.arrays, key: moved})

    def to_arrays(self, name: str) -> dict[str, Floats]:
        """What is stored, under names that begin with ``name``; arrays in single precision, which is plenty."""
        arrays = {f"{name}/{key}": np.ascontiguousarray(self.arrays[key], np.float32) for key in _ARRAYS[self.kind]}
        return arrays | {f"{name}/{key}": np.array([number]) for key, number in self._numbers.items()}

    def stored(self) -> Head:
        """The head as it will answer after it was stored and read: in single precision."""
        single = {key: np.asarray(value, np.float32).astype(np.float64) for key, value in self.arrays.items()}
        return replace(self, arrays=single)

    def with_arrays(self, name: str, arrays: Mapping[str, Floats]) -> Head:
        wanted = _ARRAYS.get(self.kind)
        if wanted is None or any(f"{name}/{key}" not in arrays for key in wanted):
            raise DamagedError(f"The head of '{name}' is incomplete.", RESTORE)
        head_arrays = {key: np.asarray(arrays[f"{name}/{key}"], np.float64) for key in wanted}
        intercept, width = (arrays.get(f"{name}/{key}", [number])[0] for key, number in self._numbers.items())
        return replace(self, arrays=head_arrays, intercept=float(intercept), width=float(width))

    @property
    def _numbers(self) -> dict[str, float]:
        return {"intercept": self.intercept, "width": self.width}


def radial(rows: Floats, centres: Floats, width: float) -> npt.NDArray[np.float64]:
    squared_distance = (
        (rows**2).sum(axis=1)[:, None] + (centres**2).sum(axis=1)[None, :] - 2.0 * product(rows, centres.T)
    )
    return np.asarray(np.exp(-width * np.maximum(squared_distance, 0.0)))


def softmax(logits: Floats) -> npt.NDArray[np.float64]:
    """Probabilities that add up to 1 in each row."""
    raised = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(raised / raised.sum(axis=1, keepdims=True))


def growth(slope: float, distance: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """How much wider an interval is at a distance than at distance 0, up to four times; closer, it is not narrower."""
    return np.asarray(np.clip(np.exp(slope * distance), 1.0, 4.0))


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class QuestionHead:
    """What a model predicts for one question: the head, the scale, and how far off it is on systems it has not met.

    ``errors`` are the standard deviations of the error between systems, between intents of a system, and between stimuli.
    """

    question: str
    head: Head
    bounds: tuple[float, float] | None
    half_width: float
    confidence: float = field(metadata={"formerly": "level"})
    errors: Mapping[str, float] = field(default_factory=dict)
    slope: float = 0.0
    """How fast the interval grows with the distance from what was trained on; ``half_width`` is that at distance 0."""
    answers: AnswerSpread | None = field(default=None, metadata={"omit": True})
    """How the answers of single people spread around the predicted value; None in models that learned from means."""

    def half(self, domain: DomainDistance) -> float:
        """The half-width of the interval of a stimulus that is not foreign."""
        return float(self.half_width * growth(self.slope, np.array(domain.distance)))

    def on_scale(self, values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        return values if self.bounds is None else np.clip(values, *self.bounds)
