"""Made ratings with a known truth: raters and items both drawn at random, crossed or sparse."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from heartfelt.stats.estimate import Estimate


@dataclass(frozen=True)
class Design:
    """``each`` of ``raters`` rate every one of ``items``; variances of items, raters and noise."""

    raters: int
    items: int
    each: int
    by_item: float = 1.0
    by_rater: float = 0.3
    noise: float = 1.0

    @property
    def correlation(self) -> float:
        """Correlation of two raters' answers to one item: alpha in the limit of many raters and items."""
        return self.by_item / (self.by_item + self.by_rater + self.noise)

    @property
    def agreement(self) -> float:
        """How often two raters fall on the same side of zero (two normals of this correlation)."""
        return 0.5 + math.asin(self.correlation) / math.pi

    @property
    def three_agree(self) -> float:
        """How often three raters fall on the same side of zero."""
        return 0.25 + 1.5 * math.asin(self.correlation) / math.pi

    def draw(self, rng: np.random.Generator) -> tuple[npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any]]:
        """Columns of rater, item and value."""
        if self.each == self.raters:
            rater = np.tile(np.arange(self.raters), self.items)
        else:
            rater = np.argsort(rng.random((self.items, self.raters)), axis=1)[:, : self.each].ravel()
        item = np.repeat(np.arange(self.items), self.each)
        value = (
            rng.normal(0, math.sqrt(self.by_item), self.items)[item]
            + rng.normal(0, math.sqrt(self.by_rater), self.raters)[rater]
            + rng.normal(0, math.sqrt(self.noise), item.size)
        )
        return rater, item, value


def matrix(rater: npt.NDArray[Any], item: npt.NDArray[Any], value: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Raters by items, NaN where there is no rating: for peers that want it so."""
    out = np.full((int(rater.max()) + 1, int(item.max()) + 1), np.nan)
    out[rater, item] = value
    return out


def columns(table: Any) -> tuple[npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any]]:
    """Columns of rater, item and value from a matrix of raters by items."""
    array = np.array(table, dtype=np.float64)
    rater, item = np.nonzero(np.isfinite(array))
    return rater, item, array[rater, item]


def headline(result: Any) -> Estimate:
    """The estimate itself, or the first of a result that holds several."""
    return result if isinstance(result, Estimate) else cast(Estimate, getattr(result, result.__slots__[0]))
