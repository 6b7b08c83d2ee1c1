"""The confusion of labels and predictions: ``matrix[i][j]`` counts label ``categories[i]`` predicted as
``[j]``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from heartfelt.stats._bounds import wilson
from heartfelt.stats.estimate import Estimate
from heartfelt.stats.triples import Ints


@dataclass(frozen=True, slots=True)
class Confusion:
    """Counts of label by prediction, over the categories of both in sorted order; ``accuracy`` is the share on the
    diagonal.
    """

    categories: tuple[Any, ...]
    matrix: tuple[tuple[int, ...], ...]
    accuracy: Estimate
    left_out: int = field(default=0, metadata={"key": "n_left_out"})

    @property
    def counts(self) -> Ints:
        """The matrix as an array."""
        return np.asarray(self.matrix, dtype=np.int64).reshape(len(self.categories), len(self.categories))

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
        """How often each category was predicted correctly."""
        return np.asarray(np.diagonal(self.counts))

    def recall(self, category: Any, confidence: float = 0.95) -> Estimate:
        """The share of a category's labels that were predicted as it."""
        index = self.categories.index(category)
        total, hits = int(self.labels[index]), int(self.hits[index])
        if total == 0:
            return Estimate.missing(f"no label is '{category}'", "recall", {"pairs": 0})
        low, high = wilson(hits, total, confidence)
        return Estimate(hits / total, low, high, "recall", "Wilson", confidence, {"pairs": total})
