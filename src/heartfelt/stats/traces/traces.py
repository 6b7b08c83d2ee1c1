"""Continuous ratings: one number per moment while a clip plays.

A trace is a list of samples at a constant rate; a missing sample (NaN) is a gap. The traces of a stimulus are compared over the
moments that all of its raters cover; gaps of up to a second are bridged by a straight line, and a rater who covers less than half
of the longest trace is left out and named. Traces of one moment, or of one rater, say why they have no agreement.

Raters follow the sound with a delay. Between raters only differences of delay can be seen: each rater's lag is the
shift, in seconds, at which the trace correlates best with the mean of the others (positive: later than the others).
Against something that is not delayed, such as a predicted trace, the same search gives the delay of the people.

With x_rt = m_t + b_r + e_rt (the shared course, each rater's level, the rest) and their variances s2_m, s2_b, s2_e over moments and
raters, a perfect predictor of m_t can expect this concordance with the mean of R raters:

    ceiling = 2 s2_m / (2 s2_m + (s2_b + s2_e) / R)

Sources: Lin (1989) for the concordance correlation; Grimm and Kroschel (2005) for the evaluator-weighted estimator; Mariooryad
and Busso (2015) for lags; Searle (1971) for the variances from mean squares.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

import numpy as np

from heartfelt.errors import InputError, require
from heartfelt.stats._bounds import check_confidence, t_quantile
from heartfelt.stats.columns.triples import Floats
from heartfelt.stats.estimate import Estimate
from heartfelt.stats.reliability.two_way_jackknife import half_width, jackknife_variance
from heartfelt.streams import stream

BRIDGED_SECONDS = 1.0
LEAST_COVER = 0.5
LONGEST_LAG = 6.0
RESAMPLES = 2_000


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Traces:
    """The traces of one stimulus over the moments that all raters cover: raters by moments."""

    values: Floats
    raters: tuple[Any, ...]
    rate: float
    """Samples per second."""
    start: float = 0.0
    """The first moment, in seconds."""
    left_out: Mapping[Any, str] | None = None

    @property
    def seconds(self) -> Floats:
        return self.start + np.arange(self.values.shape[1]) / self.rate

    @property
    def counts(self) -> dict[str, int]:
        out = {"raters": len(self.raters), "moments": int(self.values.shape[1])}
        return out | ({"left_out": len(self.left_out)} if self.left_out else {})


def traces(raters: Sequence[Hashable], samples: Sequence[Any], rate: float) -> Traces:
    """Bring the traces of one stimulus to their common moments."""
    fix = "Keep one trace per rater and stimulus."
    require(
        len(raters) == len(samples), f"{len(raters)} raters but {len(samples)} traces.", "Pass one trace per rater."
    )
    positive = math.isfinite(rate) and rate > 0
    require(positive, f"rate must be above 0; got {rate}.", "Pass samples per second, such as 10.")
    require(len(set(raters)) == len(raters), "A rater has two traces of the same stimulus.", fix)
    arrays = [np.asarray([math.nan if v is None else v for v in trace], np.float64) for trace in samples]
    longest = max((array.size for array in arrays), default=0)
    retained: list[Any] = []
    rows: list[Floats] = []
    left_out: dict[Any, str] = {}
    for rater, array in zip(raters, arrays, strict=True):
        padded = np.full(longest, math.nan)
        padded[: array.size] = np.where(np.isfinite(array), array, math.nan)
        bridged = _bridge(padded, int(BRIDGED_SECONDS * rate))
        cover = float(np.isfinite(bridged).mean()) if longest else 0.0
        if cover < LEAST_COVER:
            left_out[rater] = f"covers {cover:.0%} of the longest trace, less than half"
        else:
            retained.append(rater)
            rows.append(bridged)
    values = np.vstack(rows) if rows else np.zeros((0, longest))
    common = np.isfinite(values).all(axis=0) if rows else np.zeros(longest, bool)
    inside = _longest_run(common)
    return Traces(
        values=values[:, inside], raters=tuple(retained), rate=rate, start=inside.start / rate, left_out=left_out
    )


def _bridge(values: Floats, most: int) -> Floats:
    """Fill gaps of at most ``most`` samples that have values on both sides by straight lines."""
    finite = np.flatnonzero(np.isfinite(values))
    if finite.size < 2:
        return values
    out = values.copy()
    for begin, end in pairwise(finite.tolist()):
        if 1 < end - begin <= most + 1:
            out[begin : end + 1] = np.linspace(values[begin], values[end], end - begin + 1)
    return out


def _longest_run(flags: Any) -> slice:
    edges = np.flatnonzero(np.diff(np.concatenate([[False], flags, [False]]).astype(np.int8)))
    if not edges.size:
        return slice(0, 0)
    begins, ends = edges[::2], edges[1::2]
    best = int(np.argmax(ends - begins))
    return slice(int(begins[best]), int(ends[best]))


def _ccc(covariance: Any, first: Any, second: Any, mean_gap: Any) -> Floats:
    """Lin's concordance from a covariance, two variances and the difference of the means; NaN where neither varies."""
    spread = np.asarray(first + second + mean_gap**2)
    return np.where(spread > 0, 2.0 * covariance / np.where(spread > 0, spread, 1.0), np.nan)


def concordance(x: Floats, y: Floats) -> float | None:
    """Lin's concordance correlation of two traces; None where neither varies or they have fewer than two moments."""
    if x.size < 2:
        return None
    shared = np.mean((x - x.mean()) * (y - y.mean()))
    value = float(_ccc(shared, x.var(), y.var(), x.mean() - y.mean()))
    return None if math.isnan(value) else value


def _correlation(x: Floats, y: Floats) -> Floats:
    """Pearson's correlation along the last axis, 0 where one of the two does not vary."""
    a, b = x - x.mean(axis=-1, keepdims=True), y - y.mean(axis=-1, keepdims=True)
    spread = np.sqrt((a * a).sum(axis=-1) * (b * b).sum(axis=-1))
    size = np.maximum(np.abs(x).max(axis=-1), np.abs(y).max(axis=-1))
    varies = spread > 1e-12 * np.maximum(size, 1e-300) ** 2
    return np.asarray(np.where(varies, (a * b).sum(axis=-1) / np.where(varies, spread, 1.0), 0.0))


# --- consensus --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class TraceConsensus:
    """The course the raters share, with a band that holds at all moments together."""

    seconds: Floats
    value: Floats
    low: Floats
    high: Floats
    weights: Mapping[Any, float]
    """Each rater's share in the consensus."""
    method: str
    interval: str
    confidence: float
    counts: Mapping[str, int]
    why_no_band: str | None = None


def consensus(
    data: Traces, method: Literal["mean", "evaluator-weighted"] = "mean", *, confidence: float = 0.95, seed: int = 0
) -> TraceConsensus:
    """The mean of the traces, or their mean weighted by each rater's correlation with the mean of the others."""
    check_confidence(confidence)
    weights = np.full(len(data.raters), 1.0)
    if method == "evaluator-weighted":
        weights = np.maximum(_with_others(data.values), 0.0)
        if not weights.any():
            weights = np.full(len(data.raters), 1.0)
    shares = weights / weights.sum() if weights.size else weights
    value = shares @ data.values
    low = high = np.full(value.size, math.nan)
    reason = None
    if len(data.raters) < 3:
        reason = "fewer than three raters"
    elif value.size:
        half = _band(data.values, weights, confidence, seed)
        low, high = value - half, value + half
    names = dict(zip(data.raters, shares.tolist(), strict=True))
    interval = "" if reason else "simultaneous band, bootstrap over raters"
    return TraceConsensus(
        seconds=data.seconds,
        value=value,
        low=low,
        high=high,
        weights=names,
        method=method,
        interval=interval,
        confidence=confidence,
        counts=data.counts,
        why_no_band=reason,
    )


def _with_others(values: Floats) -> Floats:
    """Each rater's correlation with the mean of the others."""
    raters = values.shape[0]
    if raters < 2 or not values.size:
        return np.zeros(raters)
    return _correlation(values, (values.sum(axis=0) - values) / (raters - 1))


def _band(values: Floats, weights: Floats, confidence: float, seed: int) -> Floats:
    """Half-widths such that the whole course lies within them: the bootstrap of the largest t ratio over moments."""
    raters = values.shape[0]
    shares = weights / weights.sum()
    centre = shares @ values
    moves = shares[:, None] * (values - centre)
    error = np.sqrt((moves**2).sum(axis=0) * raters / (raters - 1))
    steady = error > 1e-9 * max(float(error.max()), 1e-300)
    rng = stream(seed, "traces", "band")
    signs = rng.choice(np.array([-1.0, 1.0]), (RESAMPLES, raters))
    # Signs by rater (the wild bootstrap) keep each rater's course whole; each resample has its own standard error.
    flipped = signs @ moves[:, steady]
    squares = (moves[:, steady] ** 2).sum(axis=0)
    standard_error = np.sqrt(np.maximum(squares - flipped**2 / raters, 1e-12 * squares) * raters / (raters - 1))
    largest = np.quantile((np.abs(flipped) / standard_error).max(axis=1), confidence) if steady.any() else 0.0
    factor = max(float(largest), t_quantile(confidence, raters - 1))
    return np.asarray(factor * error)


# --- agreement and ceiling --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class TraceAgreement:
    """How far raters' traces agree, and what a predictor of their consensus can expect."""

    pairwise: Estimate
    """Mean concordance of two raters."""
    leave_one_out: Estimate
    """Mean concordance of a rater with the mean of the others."""
    ceiling: Estimate
    """Concordance a perfect predictor of the shared course can expect with the mean of these raters."""
    one_rater: Estimate
    """The same with a single rater."""


def trace_agreement(data: Traces, *, confidence: float = 0.95) -> TraceAgreement:
    """Agreement of the traces of one stimulus, with jackknife intervals over raters."""
    methods = (
        "mean pairwise CCC",
        "mean CCC with the others",
        "CCC ceiling of the consensus",
        "CCC ceiling of one rater",
    )
    reason = _why_not(data)
    if reason:
        return TraceAgreement(*(Estimate.missing(reason, method, data.counts) for method in methods))
    level = data.values.mean(axis=1)
    centred = data.values - level[:, None]
    moments = data.values.shape[1]
    every, without = _figures(centred @ centred.T / moments, level, moments)
    columns = zip(methods, every, without if len(data.raters) > 3 else [()] * 4, strict=True)
    return TraceAgreement(*(_jackknifed(*column, data.counts, confidence) for column in columns))


def _why_not(data: Traces) -> str | None:
    if len(data.raters) < 2:
        return "fewer than two raters"
    if data.values.shape[1] < 2:
        return "the raters have fewer than two moments in common"
    if not (data.values.std(axis=1) > 0).any():
        return "no trace varies"
    return None


def _figures(shared: Floats, level: Floats, moments: int) -> tuple[list[float | None], list[list[float | None]]]:
    """Mean concordance of two raters, of a rater with the mean of the others, and the two ceilings: of all raters, and
    without each of them in turn.

    All follow from the covariances of the raters' traces (``shared``) and their means (``level``).
    """
    raters = level.size
    level = level - level.mean()
    variance = np.diagonal(shared)
    # One row for all raters, from which nobody is taken, and one without each.
    shared_without = np.vstack([np.zeros(raters), shared])
    variance_without = np.append(0.0, variance)
    size = np.append(raters, np.full(raters, raters - 1))
    inside = np.vstack([np.ones(raters, bool), ~np.eye(raters, dtype=bool)])
    pairs = _ccc(shared, variance[:, None], variance, level[:, None] - level)
    np.fill_diagonal(pairs, np.nan)
    finite, pairs = np.isfinite(pairs), np.nan_to_num(pairs)
    between = _ratio(
        pairs.sum() / 2 - np.append(0.0, pairs.sum(axis=1)), finite.sum() / 2 - np.append(0, finite.sum(axis=1))
    )
    sums = shared.sum(axis=0) - shared_without
    total = shared.sum() - 2.0 * shared_without.sum(axis=1) + variance_without
    other_count = np.maximum(size - 1, 1)[:, None]
    of_others = (total[:, None] - 2.0 * sums + variance) / other_count**2
    of_others = np.where(of_others > 1e-14 * variance.max(initial=0.0), of_others, 0.0)
    together = (inside * level).sum(axis=1)[:, None]
    mean_gap = level - (together - level) / other_count
    concord = np.where(inside, _ccc((sums - variance) / other_count, variance, of_others, mean_gap), np.nan)
    with_others = _ratio(np.nansum(concord, axis=1), np.isfinite(concord).sum(axis=1))
    spread = (inside * (level - together / size[:, None]) ** 2).sum(axis=1)
    course, remainder = _variances(total, variance.sum() - variance_without, spread, size, moments)
    ceilings = [_ratio(2.0 * course, 2.0 * course + remainder / count) for count in (size, 1)]
    columns = [
        [None if math.isnan(value) else value for value in column.tolist()]
        for column in (between, with_others, *ceilings)
    ]
    return [column[0] for column in columns], [column[1:] for column in columns]


def _ratio(of: Floats, by: Floats) -> Floats:
    """A ratio; NaN where there is nothing to divide by."""
    return np.where(by > 0, of / np.where(by > 0, by, 1.0), np.nan)


def _variances(shared: Any, total_variance: Any, level: Any, raters: Any, moments: int) -> tuple[Floats, Floats]:
    """Variance of the shared course, and of everything else about a single rater, by mean squares.

    Of the raters' traces: the sum of all covariances, the sum of variances, and the sum of squares of the means.
    """
    between = np.maximum(raters - 1, 1)
    of_course = moments * shared / raters / max(moments - 1, 1)
    residual = moments * np.maximum(total_variance - shared / raters, 0.0) / (between * max(moments - 1, 1))
    of_level = moments * level / between
    course = np.maximum((of_course - residual) / raters, 0.0)
    return course, residual + np.maximum((of_level - residual) / moments, 0.0)


def _jackknifed(
    method: str, value: float | None, without: Sequence[float | None], counts: Mapping[str, int], confidence: float
) -> Estimate:
    if value is None:
        return Estimate.missing("no trace varies", method, counts)
    estimate = Estimate(value=value, method=method, counts=counts)
    replicates = np.array([number for number in without if number is not None])
    if replicates.size < 3 or replicates.size < len(without):
        return estimate.without_interval("fewer than four raters whose traces vary")
    # On Fisher's scale the bounds stay within -1 and 1.
    z = np.arctanh(np.clip(replicates, -0.999999, 0.999999))
    half = half_width(jackknife_variance(z), z.size - 1, confidence)
    centre = math.atanh(min(max(value, -0.999999), 0.999999))
    return estimate.with_interval(
        math.tanh(centre - half), math.tanh(centre + half), "jackknife over raters", confidence
    )


def agreement_over_time(data: Traces, window: float = 10.0) -> tuple[Floats, Floats]:
    """The middle of each window, in seconds, and the raters' standard deviation there: how far apart they are, moment by moment."""
    size = max(round(window * data.rate), 1)
    if len(data.raters) < 2 or data.values.shape[1] < size:
        return np.zeros(0), np.zeros(0)
    spread = data.values.var(axis=0, ddof=1)
    running = np.convolve(spread, np.ones(size) / size, mode="valid")
    middle = data.seconds[: running.size] + (size - 1) / (2 * data.rate)
    return middle, np.sqrt(np.maximum(running, 0.0))


# --- lag --------------------------------------------------------------------------------------------------------------


def best_lag(trace: Floats, reference: Floats, rate: float, longest: float = LONGEST_LAG) -> float | None:
    """The shift, in seconds, at which a trace follows a reference best (positive: later); None where one does not vary."""
    moments = min(trace.size, reference.size)
    return _best_lags(trace[None, :moments], reference[None, :moments], rate, longest)[0]


def _best_lags(rows: Floats, references: Floats, rate: float, longest: float) -> list[float | None]:
    """The best lag of each row behind its reference; of equally good ones the shortest."""
    moments = rows.shape[1]
    most = min(round(longest * rate), moments // 2)
    best, where = np.zeros(rows.shape[0]), np.full(rows.shape[0], math.nan)
    # From the shortest shift outwards, so that a longer one has to be better.
    for shift in sorted(range(-most, most + 1), key=abs):
        if moments - abs(shift) <= 2:
            continue
        a = rows[:, max(shift, 0) : moments + min(shift, 0)]
        b = references[:, max(-shift, 0) : moments - max(shift, 0)]
        r = _correlation(a, b)
        better = r > best + 1e-12
        best, where = np.where(better, r, best), np.where(better, shift, where)
    return [None if math.isnan(shift) else shift / rate for shift in where.tolist()]


def rater_lags(data: Traces, longest: float = LONGEST_LAG) -> dict[Any, float | None]:
    """Each rater's lag behind the mean of the others, in seconds."""
    if len(data.raters) < 2:
        return dict.fromkeys(data.raters)
    others_mean = (data.values.sum(axis=0) - data.values) / (len(data.raters) - 1)
    return dict(zip(data.raters, _best_lags(data.values, others_mean, data.rate, longest), strict=True))


def shifted(data: Traces, lags: Mapping[Any, float | None]) -> Traces:
    """The traces with each rater's lag taken out, over the moments all still cover."""
    steps = [round((lags.get(rater) or 0.0) * data.rate) for rater in data.raters]
    moments = data.values.shape[1]
    begin, end = max(0, -min(steps, default=0)), moments - max(0, max(steps, default=0))
    if end <= begin:
        raise InputError("No moment is left after the lags are taken out.", "Allow shorter lags.")
    rows = [data.values[r, begin + step : end + step] for r, step in enumerate(steps)]
    return Traces(
        values=np.vstack(rows) if rows else data.values,
        raters=data.raters,
        rate=data.rate,
        start=data.start + begin / data.rate,
        left_out=data.left_out,
    )
