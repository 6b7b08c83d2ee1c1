"""Drawing the resamples of a named metric: 32 at a time, in memory proportional to the number of rows.

Three sources of counts. *Rows*: every row independently. *Clusters*: whole clusters, every row taking its
cluster's count. *Cells*: where few distinct pairs hold many rows, one multinomial draw over the distinct
pairs, which has exactly the distribution of drawing rows and costs nothing per row.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from heartfelt.stats._metrics import Metric, Rows
from heartfelt.stats.triples import Floats, Ints
from heartfelt.streams import derived_seed, stream

# A multinomial draw costs about as much per cell as this many rows drawn one by one.
_ROWS_PER_CELL = 40
# Sums of counts stay exact in single precision below 2**24; clusters can draw more rows than there are.
_EXACT_ROWS = 2_000_000


@dataclass(frozen=True, slots=True)
class Sample:
    """Rows with what is resampled: rows themselves, clusters (``unit``) or cells (``copies`` of each row)."""

    rows: Rows
    unit: Ints | None = None
    units: int = 0
    copies: Ints | None = None

    @property
    def size(self) -> int:
        """How many draws a resample makes one by one."""
        if self.copies is not None:
            return int(self.copies.size)
        return self.rows.n


def condense(data: Rows) -> Sample:
    """Fold equal pairs together when that makes resampling cheaper."""
    n = data.n
    if n < 2 * _ROWS_PER_CELL:
        return Sample(data)
    first, x = np.unique(data.x, return_inverse=True)
    if first.size * _ROWS_PER_CELL > n:
        return Sample(data)
    second, y = np.unique(data.y, return_inverse=True)
    if first.size * second.size * _ROWS_PER_CELL > n:
        return Sample(data)
    copies = np.bincount(x * second.size + y, minlength=first.size * second.size)
    cells = np.flatnonzero(copies)
    folded = replace(data, x=first[cells // second.size], y=second[cells % second.size])
    return Sample(folded, copies=copies[cells].astype(np.int64))


def weight_batches(sample: Sample, batches: int, seed: int) -> Iterator[npt.NDArray[np.floating[Any]]]:
    """Yield ``counts[row, lane]`` for each batch; the array is reused from one batch to the next."""
    from heartfelt.stats._kernels_resample import LANES, draw, spread

    if sample.copies is not None:
        generator, total = stream(seed, "bootstrap", "cells"), int(sample.copies.sum())
        share = sample.copies / total
        for _ in range(batches):
            yield np.ascontiguousarray(generator.multinomial(total, share, size=LANES).T, dtype=np.float64)
        return
    state = np.uint64(derived_seed(seed, "bootstrap", "rows"))
    kind = np.float32 if sample.rows.n < _EXACT_ROWS else np.float64
    counts = np.empty((sample.rows.n, LANES), kind)
    if sample.unit is None:
        for _ in range(batches):
            state = np.uint64(draw(state, counts))
            yield counts
        return
    drawn = np.empty((sample.units, LANES), kind)
    for _ in range(batches):
        state = np.uint64(draw(state, drawn))
        spread(drawn, sample.unit, counts)
        yield counts


def replicates(metric: Metric, sample: Sample, resamples: int, seed: int) -> Floats:
    """The metric of each resample; NaN where it is undefined."""
    from heartfelt.stats._kernels_resample import LANES

    lanes = metric.lanes(sample.rows)
    batches = -(-resamples // LANES)
    out = np.empty(batches * LANES)
    for batch, counts in enumerate(weight_batches(sample, batches, seed)):
        out[batch * LANES : (batch + 1) * LANES] = lanes(counts)
    return out[:resamples]


def full_value(metric: Metric, sample: Sample) -> float:
    """The metric of the sample itself."""
    weights = np.ones(sample.rows.n) if sample.copies is None else sample.copies.astype(np.float64)
    return float(metric.lanes(sample.rows)(np.ascontiguousarray(weights[:, None]))[0])
