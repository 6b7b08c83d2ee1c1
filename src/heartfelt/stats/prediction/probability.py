"""Predicted probabilities: whether they mean what they say, and how far a distribution is from the votes.

``calibration`` bins the probabilities, compares each bin's mean probability with the share that came true, and sums up by the
expected calibration error (the bins' absolute gaps weighted by their size; 0 is best, at most 1) and the Brier score. A finite
sample shows an error even when every probability is right: ``error_if_calibrated`` is what to expect then, and
``p_calibrated`` tests it, both by drawing outcomes from the probabilities (Bröcker and Smith 2007). The error's interval is the
basic bootstrap, which corrects the sample's upward bias, so that it can lie below the value; its lower bound is 0 unless the
test rejects calibration. Naeini et al. (2015); Brier (1950).

Distributions over categories are rows that sum to 1, one column per category. The Jensen-Shannon divergence is in bits: 0 where
the two agree, 1 where they share no category (Lin 1991). An item is a hit among the first ``k`` where fewer than ``k``
categories have a larger share than its own; where the k-th place is shared, it counts the share of the tied that fit, so that
equal shares for all give ``k`` over the number of categories.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from heartfelt.errors import InputError
from heartfelt.stats import _bounds
from heartfelt.stats.columns.paired import Column, PairedValues, as_flags
from heartfelt.stats.columns.triples import Floats, Ints
from heartfelt.stats.estimate import Estimate
from heartfelt.stats.prediction.association import metric_estimate
from heartfelt.stats.prediction.metrics import METRICS, rows
from heartfelt.stats.prediction.resample import SamplingUnits, weight_batches
from heartfelt.streams import derived_seed

Binning = Literal["width", "count"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibrationBin:
    """One bin: its edges, how many cases, their mean probability and the share that came true."""

    low_edge: float
    high_edge: float
    count: int = field(metadata={"formerly": "n"})
    mean_probability: float | None
    share_true: Estimate


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """The expected calibration error, the Brier score and the reliability table."""

    error: Estimate
    brier: Estimate
    error_if_calibrated: float | None = None
    p_calibrated: float | None = None
    bins: tuple[CalibrationBin, ...] = ()


def brier(label: Column, probability: Column, *, positive: Any = None, confidence: float = 0.95) -> Estimate:
    """The mean squared difference of probability and outcome; 0 is best."""
    return metric_estimate("brier", label, probability, positive=positive, confidence=confidence)


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
        raise InputError(f"Cannot cut {bins} bins by '{binning}'.", "Ask for at least 1 bin, by 'width' or 'count'.")
    data = rows(METRICS["brier"], as_flags(label), probability)
    score = brier(label, probability, confidence=confidence)
    name = f"expected calibration error, {bins} bins of equal {binning}"
    if score.value is None:
        return Calibration(error=Estimate.missing(score.why_missing or "", name, data.counts), brier=score)
    edges = _edges(data.y, bins, binning)
    which = np.clip(np.searchsorted(edges, data.y, side="left") - 1, 0, edges.size - 2)
    gap = data.y - data.x
    value = float(np.abs(np.bincount(which, weights=gap, minlength=bins)).sum()) / data.n
    replicates = _resampled(data, gap, which, edges.size - 1, resamples, seed)
    null = _calibrated(data, which, edges.size - 1, resamples, seed)
    # The observed arrangement counts as one more draw, so that no p-value is 0 (Phipson and Smyth 2010).
    p = float(1 + np.count_nonzero(null >= value - 1e-12)) / (1 + resamples)
    point_estimate = Estimate(value=value, method=name, counts=data.counts | {"resamples": resamples})
    low, high = _bounds.basic(value, replicates, confidence)
    low = max(low, 0.0) if p <= (1 - confidence) / 2 else 0.0
    error = point_estimate.with_interval(low, min(max(high, 0.0), 1.0), "basic bootstrap", confidence)
    return Calibration(
        error=error,
        brier=score,
        error_if_calibrated=float(null.mean()),
        p_calibrated=p,
        bins=_table(data, which, edges, confidence),
    )


def expected_calibration_error(
    label: Column, probability: Column, *, bins: int = 10, binning: Binning = "width", seed: int = 0
) -> Estimate:
    """The error of ``calibration`` alone."""
    return calibration(label, probability, bins=bins, binning=binning, seed=seed).error


def _edges(probability: Floats, bins: int, binning: Binning) -> Floats:
    if binning == "width":
        return np.linspace(0.0, 1.0, bins + 1)
    inner = np.quantile(probability, np.linspace(0, 1, bins + 1)[1:-1], method="lower")
    return np.concatenate([[0.0], np.unique(inner[(inner > 0) & (inner < 1)]), [1.0]])


def _resampled(data: PairedValues, gap: Floats, which: Ints, bins: int, resamples: int, seed: int) -> Floats:
    from heartfelt.stats.compiled._kernels_resample import LANES, binned_gap

    batches = weight_batches(SamplingUnits(data), -(-resamples // LANES), seed)
    return np.concatenate([binned_gap(counts, gap, which, bins) for counts in batches])[:resamples]


def _calibrated(data: PairedValues, which: Ints, bins: int, resamples: int, seed: int) -> Floats:
    from heartfelt.stats.compiled._kernels_resample import calibrated_gap

    state = np.uint64(derived_seed(seed, "calibration"))
    return calibrated_gap(data.y, which.astype(np.int64), bins, resamples, state)


def _table(data: PairedValues, which: Ints, edges: Floats, confidence: float) -> tuple[CalibrationBin, ...]:
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
            share = Estimate(value=true[index] / size, method="share true", counts=counts)
            share = share.with_interval(low, high, "Wilson", confidence)
        mean = float(total[index] / size) if size else None
        out.append(
            CalibrationBin(
                low_edge=float(edges[index]),
                high_edge=float(edges[index + 1]),
                count=int(size),
                mean_probability=mean,
                share_true=share,
            )
        )
    return tuple(out)


def jensen_shannon(first: npt.ArrayLike, second: npt.ArrayLike) -> Floats:
    """The divergence of each row of ``first`` from that of ``second``, in bits."""
    a, b = _distributions(first), _distributions(second)
    if a.shape != b.shape:
        raise InputError("The two tables of distributions differ in shape.", "Use the same categories in both.")
    middle = (a + b) / 2
    return np.clip((_relative(a, middle) + _relative(b, middle)) / 2, 0.0, 1.0)


def top_k(label: npt.ArrayLike, shares: npt.ArrayLike, k: int) -> Floats:
    """For each row, whether the category ``label`` (a column number) is among the ``k`` with the largest shares."""
    table = _distributions(shares)
    labels: Ints = np.asarray(label, dtype=np.int64)
    if k < 1 or labels.shape != (table.shape[0],):
        raise InputError("There must be one label per row, and k at least 1.", "Pass the column number of each label.")
    label_score = table[np.arange(labels.size), labels][:, None]
    above = (table > label_score).sum(axis=1)
    tied = (table == label_score).sum(axis=1)
    return np.asarray(np.clip((k - above) / tied, 0.0, 1.0), dtype=np.float64)


def _distributions(shares: npt.ArrayLike) -> npt.NDArray[np.float64]:
    table: npt.NDArray[Any] = np.asarray(shares, dtype=np.float64)
    if table.ndim != 2 or not np.all(np.isfinite(table)) or np.any(table < 0):
        raise InputError(
            "Shares must be a table of numbers from 0 up.", "Pass one row per item, one column per category."
        )
    total = table.sum(axis=1, keepdims=True)
    if np.any(total <= 0):
        raise InputError("A row of shares sums to 0.", "Leave out items without shares.")
    return np.asarray(table / total)


def _relative(p: npt.NDArray[np.float64], middle: npt.NDArray[np.float64]) -> Floats:
    ratio = np.divide(p, middle, out=np.ones_like(p), where=p > 0)
    return np.asarray((p * np.log2(ratio)).sum(axis=1))
