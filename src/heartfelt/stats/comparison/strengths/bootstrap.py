"""Bootstrap intervals of strengths: raters, stimuli or single comparisons drawn with replacement, the model fitted anew each time.

A resample in which some contestant wins or loses everything has no finite maximum. Such resamples are counted, and
beyond the share that the interval leaves out at one end there is no interval.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np

from heartfelt.stats._bounds import check_confidence
from heartfelt.stats.columns.triples import Floats, Ids, Ints, Values
from heartfelt.stats.comparison.pairs import Comparisons, add_up, as_comparisons
from heartfelt.stats.comparison.strengths.links import BRADLEY_TERRY
from heartfelt.stats.comparison.strengths.models import Strengths, bradley_terry, davidson
from heartfelt.stats.estimate import Estimate
from heartfelt.streams import stream

LANES = 256
"""Resamples fitted at a time."""


def bootstrap_strengths(
    rater: Ids | None,
    first: Ids,
    second: Ids,
    value: Values,
    *,
    stimulus: Ids | None = None,
    model: Literal["bradley-terry", "davidson"] = "bradley-terry",
    resamples: int = 10_000,
    confidence: float = 0.95,
    seed: int = 0,
) -> Strengths:
    """Strengths with percentile intervals over raters and stimuli. Columns as in :func:`bradley_terry`."""
    check_confidence(confidence)
    result = (bradley_terry if model == "bradley-terry" else davidson)(
        rater, first, second, value, stimulus=stimulus, confidence=confidence
    )
    if len(result.core) < len(result.names) or not result.core:
        return result
    data = as_comparisons(rater, first, second, value, stimulus)
    fits = _resampled(data, model == "davidson", result, resamples, seed)
    finite = np.isfinite(fits[:, 0])
    counts = result.counts | {"resamples": resamples}
    if (~finite).any():
        counts["resamples_without_maximum"] = int((~finite).sum())
    tail = (1 - confidence) / 2
    low, high = np.quantile(fits[finite] if finite.any() else fits, [tail, 1 - tail], axis=0)
    reason = None
    if (~finite).mean() > tail:
        reason = f"{(~finite).mean():.0%} of the resamples have no finite strengths"
    elif not (high > low).any():
        reason = "every resample gives the same strengths"
    if reason is not None:
        strengths = tuple(replace(strength.without_interval(reason), counts=counts) for strength in result.strengths)
        return replace(result, strengths=strengths, counts=counts)
    names = [name for name, unit in (("raters", rater), ("stimuli", stimulus)) if unit is not None]
    interval = f"bootstrap over {' and '.join(names) or 'comparisons'}, percentiles"
    strengths = tuple(
        Estimate(value=strength.value, method=strength.method, counts=counts).with_interval(
            float(a), float(b), interval, confidence
        )
        for strength, a, b in zip(result.strengths, low, high, strict=True)
    )
    return replace(result, strengths=strengths, counts=counts)


def _resampled(data: Comparisons, ties: bool, result: Strengths, resamples: int, seed: int) -> Floats:
    from heartfelt.stats.comparison._kernels_comparison import fit_each

    cells = add_up(data)
    size = len(data.names)
    start = np.array([float(strength) for strength in result.strengths])
    with_tie = ties and result.tie.value is not None and result.tie.value > 0
    if with_tie:
        start = np.append(start, np.log(float(result.tie)))
    rng = stream(seed, "comparison", "bootstrap")
    draw = _Resampler(data, cells.first * size + cells.second)
    out = []
    for begin in range(0, resamples, LANES):
        sums = draw(min(LANES, resamples - begin), rng)
        fitted = np.empty((sums.shape[0], size))
        # Without a tie Davidson's model is Bradley and Terry's, and its tie parameter has no place.
        tied = (sums[:, :, 1] > 0).any(axis=1) & with_tie
        for kind in (True, False):
            rows, at = tied == kind, start if kind else start[:size]
            fits = fit_each(cells.first, cells.second, sums[rows], kind, at, size, BRADLEY_TERRY.far)
            fitted[rows] = fits[:, :size]
        out.append(fitted)
    return np.concatenate(out)


class _Resampler:
    """Tables of pairs for resamples of raters and stimuli, or of single comparisons."""

    def __init__(self, data: Comparisons, pairs: Ints) -> None:
        size = len(data.names)
        swapped = data.first > data.second
        low, high = np.where(swapped, data.second, data.first), np.where(swapped, data.first, data.second)
        outcome = np.rint(2 - 2 * np.where(swapped, 1 - data.value, data.value)).astype(np.int64)
        self._cell = 3 * np.searchsorted(pairs, low * size + high) + outcome
        self._cells = 3 * pairs.size
        self._data = data
        self._units: Floats | None = None
        unit, count = (data.rater, data.raters) if data.rater is not None else (data.stimulus, data.stimuli)
        if data.rater is None or data.stimulus is None:
            if unit is None:
                self._units = np.bincount(self._cell, minlength=self._cells)[None].astype(np.float64)
            else:
                flat = np.bincount(unit * self._cells + self._cell, minlength=count * self._cells)
                self._units = flat.reshape(count, self._cells).astype(np.float64)

    def __call__(self, lanes: int, rng: np.random.Generator) -> Floats:
        data = self._data
        if data.rater is not None and data.stimulus is not None:
            raters = _counts(data.raters, lanes, rng)
            stimuli = _counts(data.stimuli, lanes, rng)
            rows = [
                np.bincount(self._cell, r[data.rater] * s[data.stimulus], minlength=self._cells)
                for r, s in zip(raters, stimuli, strict=True)
            ]
            sums = np.stack(rows).astype(np.float64)
        elif self._units is not None and self._units.shape[0] > 1:
            sums = _counts(self._units.shape[0], lanes, rng) @ self._units
        else:
            cell_counts = np.bincount(self._cell, minlength=self._cells)
            sums = rng.multinomial(data.size, cell_counts / data.size, lanes).astype(np.float64)
        return np.asarray(sums.reshape(lanes, -1, 3), np.float64)


def _counts(units: int, lanes: int, rng: np.random.Generator) -> Floats:
    sample = rng.integers(0, units, (lanes, units)) + units * np.arange(lanes)[:, None]
    return np.bincount(sample.ravel(), minlength=lanes * units).reshape(lanes, units).astype(np.float64)
