"""Whether probabilities mean what they say: of the cases given 0.7, do seven in ten come true?

``calibration`` bins the probabilities, compares each bin's mean probability with the share that came true,
and sums up by the expected calibration error (the bins' absolute gaps weighted by their size; 0 is best, at
most 1) and the Brier score. A finite sample shows an error even when every probability is right:
``error_if_calibrated`` is what to expect then, and ``p_calibrated`` tests it, both by drawing outcomes from
the probabilities (Bröcker and Smith 2007).

The error's interval is the basic bootstrap, which takes the sample's upward bias off, so that it can lie
below the value; its lower end is 0 unless the test rejects calibration. Naeini et al. (2015); Brier (1950).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from heartfelt.errors import InputError
from heartfelt.stats import _bounds
from heartfelt.stats._metrics import METRICS, Rows, rows
from heartfelt.stats._paired import Column, as_flags, counted
from heartfelt.stats._replicates import Sample, weight_batches
from heartfelt.stats.estimate import Estimate
from heartfelt.stats.triples import Floats, Ints
from heartfelt.streams import derived_seed

Binning = Literal["width", "count"]


@dataclass(frozen=True, slots=True)
class CalibrationBin:
    """One bin: its edges, how many cases, their mean probability and the share that came true."""

    low_edge: float
    high_edge: float
    count: int = field(metadata={"key": "n"})
    mean_probability: float | None
    share_true: Estimate


@dataclass(frozen=True, slots=True)
class Calibration:
    """The reliability table, the expected calibration error (the headline) and the Brier score."""

    error: Estimate
    brier: Estimate
    error_if_calibrated: float | None = None
    p_calibrated: float | None = None
    bins: tuple[CalibrationBin, ...] = ()


def brier(label: Column, probability: Column, *, positive: Any = None, confidence: float = 0.95) -> Estimate:
    """The mean squared difference of probability and outcome; 0 is best."""
    data = rows(METRICS["brier"], as_flags(label, positive), probability)
    counts = counted(data.n, int(data.kept.size - data.n))
    if data.n < 2:
        return Estimate.missing(f"{data.n} pairs; at least 2 are needed", "Brier score", counts)
    losses = (data.y - data.x) ** 2
    plain = Estimate(float(losses.mean()), method="Brier score", counts=counts)
    bounds = _bounds.t_mean(losses, confidence)
    clipped = None if bounds is None else (max(bounds[0], 0.0), min(bounds[1], 1.0))
    return _bounds.bounded(plain, clipped, "Student t on the squared errors", confidence, "")


def calibration(
    label: Column,
    probability: Column,
    *,
    bins: int = 10,
    binning: Binning = "width",
    resamples: int = 1000,
    seed: int = 0,
    confidence: float = 0.95,
) -> Calibration:
    """Compare probabilities with two-class outcomes (for many classes: confidence with whether it was right).

    ``binning`` cuts [0, 1] into bins of equal ``width``, or at the sample's quantiles into bins of equal
    ``count``; equal probabilities always share a bin. Resamples keep the edges.
    """
    if bins < 1 or binning not in ("width", "count"):
        raise InputError(
            f"Cannot cut {bins} bins by '{binning}'.", "Ask for 1 or more bins by 'width' or 'count'."
        )
    data = rows(METRICS["brier"], as_flags(label), probability)
    score = brier(label, probability, confidence=confidence)
    name = f"expected calibration error, {bins} bins of equal {binning}"
    counts = counted(data.n, int(data.kept.size - data.n))
    if data.n < 2:
        return Calibration(Estimate.missing(score.why_missing or "", name, counts), score)
    edges = _edges(data.y, bins, binning)
    which = np.clip(np.searchsorted(edges, data.y, side="left") - 1, 0, edges.size - 2)
    gap = data.y - data.x
    value = float(np.abs(np.bincount(which, weights=gap, minlength=bins)).sum()) / data.n
    found = _resampled(data, gap, which, edges.size - 1, resamples, seed)
    null = _calibrated(data, which, edges.size - 1, resamples, seed)
    p = float(1 + np.count_nonzero(null >= value - 1e-12)) / (1 + resamples)
    plain = Estimate(value, method=name, counts=counts | {"resamples": resamples})
    low, high = _bounds.basic(value, found, confidence)
    low = max(low, 0.0) if p <= (1 - confidence) / 2 else 0.0
    error = plain.with_interval(low, min(max(high, 0.0), 1.0), "basic bootstrap", confidence)
    return Calibration(error, score, float(null.mean()), p, _table(data, which, edges, confidence))


def expected_calibration_error(
    label: Column, probability: Column, *, bins: int = 10, binning: Binning = "width", seed: int = 0
) -> Estimate:
    """The headline of ``calibration`` alone."""
    return calibration(label, probability, bins=bins, binning=binning, seed=seed).error


def _edges(probability: Floats, bins: int, binning: Binning) -> Floats:
    if binning == "width":
        return np.linspace(0.0, 1.0, bins + 1)
    inner = np.quantile(probability, np.linspace(0, 1, bins + 1)[1:-1], method="lower")
    return np.concatenate([[0.0], np.unique(inner[(inner > 0) & (inner < 1)]), [1.0]])


def _resampled(data: Rows, gap: Floats, which: Ints, bins: int, resamples: int, seed: int) -> Floats:
    from heartfelt.stats._kernels_resample import LANES, binned_gap

    batches = -(-resamples // LANES)
    drawn = weight_batches(Sample(data), batches, seed)
    return np.concatenate([binned_gap(counts, gap, which, bins) for counts in drawn])[:resamples]


def _calibrated(data: Rows, which: Ints, bins: int, resamples: int, seed: int) -> Floats:
    from heartfelt.stats._kernels_resample import calibrated_gap

    state = np.uint64(derived_seed(seed, "calibration"))
    return calibrated_gap(data.y, which.astype(np.int64), bins, resamples, state)


def _table(data: Rows, which: Ints, edges: Floats, confidence: float) -> tuple[CalibrationBin, ...]:
    bins = edges.size - 1
    sizes = np.bincount(which, minlength=bins)
    true = np.bincount(which, weights=data.x, minlength=bins)
    total = np.bincount(which, weights=data.y, minlength=bins)
    out = []
    for index, size in enumerate(sizes):
        share = Estimate.missing("no case in this bin", "share true", {"pairs": 0})
        if size:
            low, high = _bounds.wilson(true[index], size, confidence)
            counts = {"pairs": int(size)}
            share = Estimate(true[index] / size, low, high, "share true", "Wilson", confidence, counts)
        mean = float(total[index] / size) if size else None
        out.append(CalibrationBin(float(edges[index]), float(edges[index + 1]), int(size), mean, share))
    return tuple(out)
