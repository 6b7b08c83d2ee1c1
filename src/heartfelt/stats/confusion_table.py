"""The confusion of labels and predictions: ``matrix[i][j]`` counts label ``categories[i]`` predicted as
``[j]``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from heartfelt.stats._bounds import wilson
from heartfelt.stats.estimate import Estimate
from heartfelt.stats.triples import Ints


@dataclass(frozen=True, slots=True)
class Confusion:
    """Counts of label by prediction, over the categories of both in sorted order."""

    categories: tuple[Any, ...]
    matrix: tuple[tuple[int, ...], ...]
    left_out: int = 0

    @property
    def counts(self) -> Ints:
        """The matrix as an array."""
        return np.asarray(self.matrix, dtype=np.int64).reshape(len(self.categories), len(self.categories))

    @property
    def pairs(self) -> int:
        """How many pairs were counted."""
        return int(self.counts.sum())

    @property
    def labels(self) -> Ints:
        """How often each category is the label."""
        return np.asarray(self.counts.sum(axis=1))

    @property
    def predictions(self) -> Ints:
        """How often each category was predicted."""
        return np.asarray(self.counts.sum(axis=0))

    @property
    def hits(self) -> Ints:
        """How often each category was predicted rightly."""
        return np.asarray(np.diagonal(self.counts))

    @property
    def accuracy(self) -> Estimate:
        """The headline: the share on the diagonal."""
        counts = {"pairs": self.pairs, **({"left_out": self.left_out} if self.left_out else {})}
        if not self.pairs:
            return Estimate.missing("no pairs", "accuracy", counts)
        hits = int(self.hits.sum())
        low, high = wilson(hits, self.pairs, 0.95)
        return Estimate(hits / self.pairs, low, high, "accuracy", "Wilson", counts=counts)

    @property
    def value(self) -> float | None:
        """Accuracy."""
        return self.accuracy.value

    @property
    def low(self) -> float | None:
        """Accuracy's lower bound."""
        return self.accuracy.low

    @property
    def high(self) -> float | None:
        """Accuracy's upper bound."""
        return self.accuracy.high

    def recall(self, category: Any, confidence: float = 0.95) -> Estimate:
        """The share of one category's labels that were predicted as it."""
        index = self.categories.index(category)
        total, hits = int(self.labels[index]), int(self.hits[index])
        if total == 0:
            return Estimate.missing(f"no label is '{category}'", "recall", {"pairs": 0})
        low, high = wilson(hits, total, confidence)
        return Estimate(hits / total, low, high, "recall", "Wilson", confidence, {"pairs": total})

    def to_json(self) -> dict[str, Any]:
        """Plain lists."""
        return {
            "categories": list(self.categories),
            "matrix": [list(row) for row in self.matrix],
            "accuracy": self.accuracy.to_json(),
            "n_left_out": self.left_out,
        }
