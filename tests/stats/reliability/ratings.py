"""Simulated ratings shared by the reliability tests."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Triple = tuple[Ints, Ints, Floats]


@dataclass(frozen=True)
class Crossed:
    """Items rated by ``per_item`` raters drawn afresh; normal effects with these variances."""

    items: int
    raters: int
    per_item: int
    item: float = 1.0
    rater: float = 0.3
    residual: float = 1.0

    def draw(self, rng: np.random.Generator) -> Triple:
        item = np.repeat(np.arange(self.items), self.per_item)
        rater = np.concatenate([rng.permutation(self.raters)[: self.per_item] for _ in range(self.items)])
        value = (
            rng.normal(0, self.item**0.5, self.items)[item]
            + rng.normal(0, self.rater**0.5, self.raters)[rater]
            + rng.normal(0, self.residual**0.5, item.size)
        )
        return rater, item, value


def ragged(seed: int, items: int, raters: int, share: float) -> Triple:
    """A complete design of which a share of the ratings is kept, at least one per item."""
    rng = np.random.default_rng(seed)
    item, rater = (a.ravel() for a in np.indices((items, raters)))
    keep = rng.random(item.size) < share
    keep[:: raters + 1] = True
    value = rng.normal(0, 1, items)[item] + rng.normal(0, 0.7, raters)[rater] + rng.normal(0, 1.2, item.size)
    return rater[keep], item[keep], value[keep]


def complete(seed: int, items: int, raters: int) -> Triple:
    return ragged(seed, items, raters, 1.1)
