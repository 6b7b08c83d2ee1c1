"""Means over stimuli, and lines through them, with intervals that take both stimuli and raters as samples.

The statistic is a mean over stimuli of some score of a stimulus's mean ratings (the mean itself, its deviation, its
absolute deviation, whether it lies in a quadrant), or the slope of the means on a reference. Its variance is

    V = V(stimuli) + (1 + 4 / R) max(V(raters) - V(ratings), 0)

for R raters (:func:`heartfelt.stats.reliability.two_way_jackknife.two_way_variance`).

V(stimuli) is that of a sample of stimuli within (system, intent) cells: another run of the same study would have the
same systems and intents, but other stimuli. Cells with a single stimulus are taken together. The other two come from
recomputing the statistic without each rater and without each rating (one rater's answers to one stimulus), exactly and in
time linear in the ratings, since a rater's absence changes just the stimuli they rated. This is the inclusion and
exclusion of two-way clusters (Cameron, Gelbach & Miller 2011; Efron & Stein 1981), with Student's t and Satterthwaite
degrees of freedom. Where raters are unknown or fewer than three, only stimuli count, and the interval's name says so.

Resampling with replacement would not do here: a resampled panel has noisier means, which moves every absolute
deviation outwards.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl

from heartfelt.stats.columns.triples import Floats, Ints, code
from heartfelt.stats.estimate import Estimate
from heartfelt.stats.reliability.two_way_jackknife import RaterVariance, jackknife_variance
from heartfelt.wording import plural

Matrix: TypeAlias = npt.NDArray[np.float64]
Bools: TypeAlias = npt.NDArray[np.bool_]
Score: TypeAlias = Callable[[Matrix, Ints], Floats]
"""Scores of stimuli from their mean ratings (one column per question) and the stimuli's codes."""

LEAST_RATERS = 3
NO_WIDTH = "leaving out any stimulus or rater changes nothing, which would make an interval without width"


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Stimuli:
    """Mean ratings of stimuli under one or more questions, and the ratings behind them.

    ``value`` has a row per (rater, stimulus) and a column per question, NaN where that question was not answered.
    """

    names: list[str]
    mean: Matrix
    n: Matrix
    rater: Ints
    stimulus: Ints
    value: Matrix
    raters: int
    cell: Ints
    why_items_only: str = ""


@dataclass(frozen=True, slots=True)
class Sampled:
    """A variance with its degrees of freedom and the number of units behind it."""

    variance: float
    df: float
    units: int


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Changes:
    """A statistic, the variance from its stimuli, and how it changes without each rater and each rating.

    ``by_rater`` covers all raters, with 0 for those who took no part.
    """

    value: float
    stimuli: Sampled
    ratings: Sampled
    by_rater: Floats
    took_part: Bools
    why_items_only: str = ""

    @property
    def counts(self) -> dict[str, int]:
        """What took part."""
        out = {"stimuli": self.stimuli.units}
        if self.ratings.units:
            out["ratings"] = self.ratings.units
        if not self.why_items_only:
            out["raters"] = int(np.count_nonzero(self.took_part))
        return out


def stimuli_of(
    items: pl.DataFrame, parts: Sequence[pl.DataFrame], means: Sequence[str], why_no_raters: str | None
) -> Stimuli:
    """Stimuli from items (item, system, intent, ``means``) and their ratings (rater, item, value), one table per question."""
    names = items["item"].to_list()
    mean = items.select(means).to_numpy().astype(np.float64, copy=True)
    size = len(names)
    design_cell = pl.struct(pl.col(name).fill_null("") for name in ("system", "intent"))
    cell = items.select(design_cell.rank("dense").cast(pl.Int64)).to_series().to_numpy()
    if not any(part.height for part in parts):
        none = np.zeros(0, np.int64)
        empty = np.zeros((0, len(means)))
        return Stimuli(
            names=names,
            mean=mean,
            n=np.ones_like(mean),
            rater=none,
            stimulus=none,
            value=empty,
            raters=0,
            cell=cell,
            why_items_only="no single ratings",
        )
    wide = parts[0].select("rater", "item", pl.col("value").alias("0"))
    for part_number, part in enumerate(parts[1:], 1):
        part_values = part.select("rater", "item", pl.col("value").alias(str(part_number)))
        wide = wide.join(part_values, on=["rater", "item"], how="full", coalesce=True, maintain_order="left_right")
    where = pl.DataFrame({"item": names}, schema={"item": pl.String}).with_row_index("_at")
    wide = wide.join(where, on="item", how="inner", maintain_order="left").sort("_at", "rater")
    value = wide.select(str(part_index) for part_index in range(len(parts))).to_numpy().astype(np.float64)
    stimulus = wide["_at"].to_numpy().astype(np.int64)
    raters = code(wide["rater"])
    rated = np.isfinite(value)
    n = np.column_stack([np.bincount(stimulus, rated[:, k], minlength=size) for k in range(value.shape[1])]).astype(
        np.float64
    )
    reason = ""
    if why_no_raters:
        reason = "raters unknown"
    elif raters.count < LEAST_RATERS:
        reason = f"only {plural(raters.count, 'rater')}"
    return Stimuli(
        names=names,
        mean=mean,
        n=n,
        rater=raters.codes,
        stimulus=stimulus,
        value=value,
        raters=raters.count,
        cell=cell,
        why_items_only=reason,
    )


def _without_rating(data: Stimuli, rows: Ints) -> tuple[Matrix, Bools]:
    """Mean ratings of the rows' stimuli without the row's rating, and which then have none left."""
    at = data.stimulus[rows]
    n, mean, value = data.n[at], data.mean[at], data.value[rows]
    answered = np.isfinite(value)
    remaining = n - answered
    gone = np.asarray(((remaining < 0.5) & (n > 0.5)).any(axis=1))
    shifted = mean - (np.where(answered, value, mean) - mean) / np.maximum(remaining, 1.0)
    return shifted, gone


def mean_changes(data: Stimuli, chosen: Bools, score: Score) -> Changes | str:
    """The mean score of the chosen stimuli, or why there is none."""
    at = np.flatnonzero(chosen & np.isfinite(data.mean).all(axis=1))
    if not at.size:
        return "there are no such stimuli with a label"
    full_score = score(data.mean[at], at)
    size, total = at.size, float(full_score.sum())
    value = total / size
    rows, row_position = _rows_of(data, at)
    shifted, gone = _without_rating(data, rows)
    after = np.where(gone, 0.0, score(shifted, data.stimulus[rows]))
    change, lost = after - full_score[row_position], gone.astype(np.float64)
    row_rater = data.rater[rows]
    sums = np.bincount(row_rater, change, minlength=data.raters)
    fewer = np.bincount(row_rater, lost, minlength=data.raters)
    took = np.bincount(row_rater, minlength=data.raters) > 0
    reason = data.why_items_only
    if not reason and (fewer >= size).any():
        reason = "one rater alone rated all of them"
    by_rater = np.zeros(data.raters) if reason else (total + sums) / (size - fewer) - value
    by_rating = (total + change) / np.maximum(size - lost, 1.0) - value
    stimuli = _within(full_score - value, np.full(size, 1.0 / size), data.cell[at])
    return Changes(
        value=value,
        stimuli=stimuli,
        ratings=Sampled(jackknife_variance(by_rating), 1.0, rows.size),
        by_rater=by_rater,
        took_part=took,
        why_items_only=reason,
    )


def slope_changes(data: Stimuli, chosen: Bools, x: Floats) -> tuple[Changes, Changes] | str:
    """Slope and intercept of the first question's means on ``x`` over the chosen stimuli, or why there is no line."""
    at = np.flatnonzero(chosen & np.isfinite(data.mean[:, 0]) & np.isfinite(x))
    if at.size < 3:
        return f"{at.size} stimuli; a line needs at least 3"
    centre = float(x[at].mean())
    centred = x[at] - centre
    spread = float(centred @ centred)
    if spread <= 1e-18 * max(centre * centre, 1.0):
        return "the intended coordinate does not vary"
    y = data.mean[at, 0]
    slope, level = float(centred @ y) / spread, float(y.mean())
    residual = y - level - slope * centred
    free = 1.0 - (1.0 / at.size + centred * centred / spread)
    # Without one stimulus, least squares moves by its residual over what its leverage leaves (Cook 1977).
    without = -residual / np.where(free > 1e-9, free, np.inf)
    rows, row_position = _rows_of(data, at)
    shifted, gone = _without_rating(data, rows)
    moved = np.where(gone, without[row_position], shifted[:, 0] - y[row_position])
    row_rater, reason = data.rater[rows], data.why_items_only
    took = np.bincount(row_rater, minlength=data.raters) > 0
    out = []
    steep = centred / spread
    for value, weight in ((slope, steep), (level - slope * centre, 1.0 / at.size - centre * steep)):
        change = weight[row_position] * moved
        by_rater = np.bincount(row_rater, change, minlength=data.raters).astype(np.float64)
        stimuli = _within(residual, weight, data.cell[at])
        out.append(
            Changes(
                value=value,
                stimuli=stimuli,
                ratings=Sampled(jackknife_variance(change), 1.0, rows.size),
                by_rater=by_rater,
                took_part=took,
                why_items_only=reason,
            )
        )
    return out[0], out[1]


def _rows_of(data: Stimuli, at: Ints) -> tuple[Ints, Ints]:
    """The ratings of the stimuli ``at``, and each one's place among them."""
    position = np.full(len(data.names), -1, np.int64)
    position[at] = np.arange(at.size)
    rows = np.flatnonzero(position[data.stimulus] >= 0)
    return rows, position[data.stimulus[rows]]


def _within(values: Floats, weight: Floats, cell: Ints) -> Sampled:
    """Variance of the weighted sum of values drawn within cells; single ones are taken together."""
    _, codes = np.unique(cell, return_inverse=True)
    sizes = np.bincount(codes)
    if (sizes == 1).any():
        codes = np.where(sizes[codes] == 1, sizes.size, codes)
        if np.count_nonzero(codes == sizes.size) == 1:
            codes = np.where(codes == sizes.size, codes.min(), codes)
        _, codes = np.unique(codes, return_inverse=True)
        sizes = np.bincount(codes)
    if values.size < 2:
        return Sampled(0.0, 1.0, values.size)
    pulled = weight * values
    residuals = pulled - (np.bincount(codes, pulled) / sizes)[codes]
    parts = np.bincount(codes, residuals * residuals) * sizes / (sizes - 1.0)
    total = float(parts.sum())
    below = float(np.sum(parts**2 / (sizes - 1.0)))
    return Sampled(total, max(total**2 / below, 1.0) if below > 0 else 1.0, values.size)


def difference(a: Changes, b: Changes) -> Changes:
    """The first statistic less the second, of different stimuli rated by the same raters."""
    total = a.stimuli.variance + b.stimuli.variance
    below = a.stimuli.variance**2 / a.stimuli.df + b.stimuli.variance**2 / b.stimuli.df
    alone = min(a.stimuli.units, b.stimuli.units) < 2
    units = 1 if alone else a.stimuli.units + b.stimuli.units
    return Changes(
        value=a.value - b.value,
        stimuli=Sampled(total, total**2 / below if below > 0 else 1.0, units),
        ratings=Sampled(a.ratings.variance + b.ratings.variance, 1.0, a.ratings.units + b.ratings.units),
        by_rater=a.by_rater - b.by_rater,
        took_part=a.took_part | b.took_part,
        why_items_only=a.why_items_only or b.why_items_only,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class JointTest:
    """Whether several means are one: an F test."""

    contrasts: int
    df: float
    f: float
    p: float


def joint_test(parts: Sequence[Changes]) -> JointTest | str:
    """A Wald test that statistics of different stimuli, rated by the same raters, are equal; or why there is none."""
    from scipy.special import fdtrc

    if len(parts) < 2:
        return "there are no two systems to compare"
    reason = next((part.why_items_only for part in parts if part.why_items_only), "")
    if reason:
        return reason
    took = np.logical_or.reduce([part.took_part for part in parts])
    raters = int(np.count_nonzero(took))
    contrast_matrix = np.eye(len(parts))[1:] - np.eye(len(parts))[:1]
    gaps = contrast_matrix @ np.array([part.value for part in parts])
    inside = contrast_matrix @ _covariance(parts, took) @ contrast_matrix.T
    if float(np.linalg.eigvalsh(inside)[0]) <= 1e-24:
        return NO_WIDTH
    contrasts = len(parts) - 1
    df = min(raters - 1.0, float(sum(part.stimuli.df for part in parts)))
    # Hotelling's correction for a covariance that was itself estimated with so many degrees of freedom.
    residual_df = df - contrasts + 1
    if residual_df < 1:
        return f"{raters} raters are too few to test {len(parts)} systems at once"
    f = float(gaps @ np.linalg.solve(inside, gaps)) / contrasts * residual_df / df
    return JointTest(contrasts=contrasts, df=residual_df, f=f, p=float(fdtrc(contrasts, residual_df, f)))


def _covariance(parts: Sequence[Changes], took_part: Bools) -> Matrix:
    """The two-way jackknife's covariance of statistics of different stimuli, over the raters who took part in any."""
    raters = int(np.count_nonzero(took_part))
    moved = np.stack([part.by_rater[took_part] for part in parts], axis=1)
    moved -= moved.mean(axis=0)
    by_rater = moved.T @ moved * (raters - 1) / raters - np.diag([part.ratings.variance for part in parts])
    # Taking the variance of the ratings out, lest it count twice, can leave directions with less than no variance.
    sizes, turns = np.linalg.eigh(by_rater)
    stimuli = np.array([part.stimuli.variance for part in parts])
    return np.asarray(np.diag(stimuli) + (turns * np.maximum(sizes, 0.0)) @ turns.T)


@dataclass(frozen=True, slots=True)
class Error:
    """A standard error with its degrees of freedom, and the interval's name."""

    value: float
    df: float
    name: str


def error_of(changes: Changes) -> Error | str:
    """The standard error of a statistic, or why it has none."""
    if changes.stimuli.units < 2:
        return "a single stimulus says nothing about how stimuli differ"
    items, df = changes.stimuli.variance, changes.stimuli.df
    total = items
    name, reason = "jackknife over stimuli", changes.why_items_only
    by_rater = changes.by_rater[changes.took_part]
    if not reason and by_rater.size < LEAST_RATERS:
        reason = f"only {plural(by_rater.size, 'rater')}"
    if reason:
        name += f" ({reason})"
    else:
        name = "two-way jackknife over stimuli and raters"
        raters = RaterVariance(jackknife_variance(by_rater), changes.ratings.variance, by_rater.size)
        total, df = raters.added_to(items, df)
    if not math.isfinite(total) or total <= 1e-24:
        return NO_WIDTH
    return Error(math.sqrt(total), df, f"{name}, Student's t")


def estimate(changes: Changes | str, method: str, scale: Literal["plain", "share"] = "plain") -> Estimate:
    """A statistic with its 95% interval; a share's is made on the logit scale."""
    if isinstance(changes, str):
        return Estimate.missing(changes, method)
    without_interval = Estimate(value=changes.value, method=method, counts=changes.counts)
    error = error_of(changes)
    if isinstance(error, str):
        return replace(without_interval, counts=dict(without_interval.counts), why_no_interval=error)
    from scipy.special import stdtrit

    reach = float(stdtrit(error.df, 0.975)) * error.value
    value = changes.value
    if scale == "plain":
        return without_interval.with_interval(value - reach, value + reach, error.name)
    if not 1e-12 < value < 1 - 1e-12:
        reason = "the share lies on the edge of its range"
        return replace(without_interval, counts=dict(without_interval.counts), why_no_interval=reason)
    centre, reach = math.log(value / (1 - value)), reach / (value * (1 - value))
    low, high = (1 / (1 + math.exp(-(centre + side * reach))) for side in (-1, 1))
    return without_interval.with_interval(low, high, f"{error.name}, logit scale")


def p_value(changes: Changes | str, null: float = 0.0) -> float | None:
    """The two-sided p-value of a statistic being ``null``; None where it has no standard error."""
    error = changes if isinstance(changes, str) else error_of(changes)
    if isinstance(changes, str) or isinstance(error, str):
        return None
    from scipy.special import stdtr

    return float(2 * stdtr(error.df, -abs(changes.value - null) / error.value))
