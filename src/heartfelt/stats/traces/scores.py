"""Predicted courses against the raters': the concordance over time, averaged over stimuli.

The score is the mean over stimuli of Lin's concordance (CCC) of the prediction with the mean of the raters' traces. People
follow what they hear by a second or more, so the course may be compared with the prediction one lag earlier; one lag serves all
stimuli, the median of the shifts at which courses follow predictions best. A stimulus without a prediction, or with one that
does not vary, has a concordance of 0. Moments without a prediction (NaN) are left out.

Intervals are over stimuli, and over raters too where single traces are known: the mean is taken without each stimulus, each
rater and each trace (:mod:`heartfelt.stats.reliability.two_way_jackknife`), on Fisher's scale.

Whether predictions follow the courses at all is tested by turning predictions upside down, all those of a stimulus (or of a
system) together: a prediction that says nothing agrees as well either way. The lag is found anew each time, since a lag that
fits best favours even noise.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from heartfelt.stats.columns.triples import Floats, Ints
from heartfelt.stats.estimate import Estimate
from heartfelt.stats.prediction.jackknife import LEAST_UNITS, JackknifeError, df_of_spread
from heartfelt.stats.reliability.two_way_jackknife import TwoWaySpread, effective, jackknife_variance
from heartfelt.stats.traces.traces import best_lag, concordance
from heartfelt.streams import stream

METHOD = "mean concordance with the raters' course"
_CONSTANT = 1e-9
TURNS = 2000
"""Ways to turn predictions over that are compared, or all of them where they are fewer."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class PredictedCourse:
    """The raters' course of one stimulus and the prediction at the same moments; None without one."""

    course: Floats
    predicted: Floats | None
    rate: float | None
    """Samples per second; None where samples are per beat or bar."""
    raters: Sequence[Any] = ()
    traces: Floats | None = None
    """The raters' own traces at these moments, raters by moments."""

    def concordance(self, lag: float = 0.0, course: Floats | None = None) -> float:
        """The concordance of the prediction with the course, which follows it by ``lag`` seconds."""
        if self.predicted is None:
            return 0.0
        course = self.course if course is None else course
        step, size = round(lag * (self.rate or 1.0)), course.size
        follows = course[max(step, 0) : size + min(step, 0)]
        shifted = self.predicted[max(-step, 0) : size - max(step, 0)]
        finite = np.isfinite(shifted)
        if not finite.any() or np.ptp(shifted[finite]) <= _CONSTANT:
            return 0.0
        return concordance(follows[finite], shifted[finite]) or 0.0


def course_lag(courses: Sequence[PredictedCourse]) -> float | None:
    """By how many seconds courses follow predictions; None where no prediction varies, or none is timed."""
    lags = [lag for lag in map(_lag, courses) if lag is not None]
    return float(np.median(lags)) if lags else None


def _lag(course: PredictedCourse) -> float | None:
    if course.predicted is None or course.rate is None:
        return None
    finite = np.isfinite(course.predicted)
    return best_lag(course.course[finite], course.predicted[finite], course.rate)


def mean_concordance(
    courses: Sequence[PredictedCourse], lag: float = 0.0, *, confidence: float = 0.95
) -> tuple[Estimate, JackknifeError | None]:
    """The mean concordance over stimuli with its interval, and its spread for tests; None where it has none."""
    if not courses:
        return Estimate.missing("there are no stimuli", METHOD), None
    values = np.array([course.concordance(lag) for course in courses])
    point_estimate, over_stimuli = mean_over_stimuli(values, METHOD, confidence)
    if over_stimuli is None or any(course.traces is None for course in courses):
        return point_estimate, over_stimuli
    spread = _crossed(courses, values, lag)
    if spread is None:
        return point_estimate, over_stimuli
    result = _spread(values, math.sqrt(spread.variance), spread.df, "jackknife over stimuli and raters")
    names = {name for course in courses for name in course.raters}
    bare = replace(point_estimate, low=None, high=None, counts={**point_estimate.counts, "raters": len(names)})
    return result.estimate(bare, confidence), result


def no_concordance(
    courses: Sequence[PredictedCourse], *, lagged: bool, group: Ints | None = None, seed: int = 0
) -> Estimate:
    """The two-sided p-value of a mean concordance of 0; ``group`` has the courses that are turned over together."""
    name = "p-value, predictions turned upside down"
    codes = np.arange(len(courses)) if group is None else np.unique(group, return_inverse=True)[1]
    units = int(codes.max()) + 1 if codes.size else 0
    # Every way to turn them is compared where there are few, which makes the p-value exact.
    exact = 2**units <= TURNS
    if exact:
        upright = (np.arange(2**units)[:, None] >> np.arange(units)) & 1 == 0
    else:
        upright = stream(seed, "no concordance").random((TURNS, units)) < 0.5
        upright[0] = True
    means = _turned_means(courses, upright[:, codes], lagged)
    counts = {"pairs": len(courses), **({} if exact else {"resamples": TURNS - 1})}
    if not units or float(np.ptp(means)) <= _CONSTANT:
        return Estimate.missing("no prediction varies", name, counts)
    above = means >= means[0] - _CONSTANT if means[0] > 0 else means <= means[0] + _CONSTANT
    p = min(2 * float(above.mean()), 1.0)
    return Estimate(value=p, method=name, counts=counts, why_no_interval="exact" if exact else "a p-value")


def _turned_means(courses: Sequence[PredictedCourse], upright: npt.NDArray[np.bool_], lagged: bool) -> Floats:
    """The mean concordance for each row of ``upright``, which says whose predictions stay as they are."""
    both = courses, [replace(course, predicted=_upside_down(course.predicted)) for course in courses]
    lags = np.zeros(upright.shape[0])
    if lagged:
        of_upright, of_turned = (np.array([_lag(course) for course in side], np.float64) for side in both)
        turned_lags = np.where(upright, of_upright, of_turned)
        some = np.isfinite(turned_lags).any(axis=1)
        lags[some] = np.nanmedian(turned_lags[some], axis=1)
    means = np.empty(upright.shape[0])
    for lag in np.unique(lags):
        rows = lags == lag
        of_upright, of_turned = (np.array([course.concordance(lag) for course in side]) for side in both)
        means[rows] = np.where(upright[rows], of_upright, of_turned).mean(axis=1)
    return means


def _upside_down(predicted: Floats | None) -> Floats | None:
    return None if predicted is None else 2 * np.nanmean(predicted) - predicted


def mean_over_stimuli(values: Floats, method: str, confidence: float) -> tuple[Estimate, JackknifeError | None]:
    """The mean of a figure per stimulus with Student's interval on Fisher's scale, and its spread."""
    point_estimate = Estimate(value=float(values.mean()), method=method, counts={"pairs": int(values.size)})
    if values.size < LEAST_UNITS:
        return point_estimate.without_interval(f"{values.size} stimuli; at least {LEAST_UNITS} are needed"), None
    error = float(values.std(ddof=1)) / math.sqrt(values.size)
    if error <= 0:
        return point_estimate.without_interval("all stimuli have the same value"), None
    spread = _spread(values, error, values.size - 1.0, "jackknife over stimuli")
    return spread.estimate(point_estimate, confidence), spread


def _spread(values: Floats, error: float, df: float, how: str) -> JackknifeError:
    """A spread on Fisher's scale, whose bounds stay within -1 and 1; a few stimuli that decide leave few degrees of freedom."""
    mean = float(values.mean())
    free = max(min(df, df_of_spread(values)), 1.0)
    return JackknifeError(
        value=mean, scale="fisher", units=int(values.size), error=error / max(1.0 - mean**2, 1e-12), df=free, how=how
    )


def _crossed(courses: Sequence[PredictedCourse], values: Floats, lag: float) -> TwoWaySpread | None:
    """How far the mean varies with stimuli, raters and single traces; None with fewer than three raters."""
    size = values.size
    code_of: dict[Any, int] = {}
    codes, moves = [], []
    for course, value in zip(courses, values.tolist(), strict=True):
        assert course.traces is not None  # only such courses come here
        count = len(course.raters)
        if count < 2:
            continue
        total = course.traces.sum(axis=0)
        for rater, trace in zip(course.raters, course.traces, strict=True):
            codes.append(code_of.setdefault(rater, len(code_of)))
            moves.append(course.concordance(lag, (total - trace) / (count - 1)) - value)
    if len(code_of) < LEAST_UNITS:
        return None
    change, of_rater = np.array(moves), np.array(codes)
    return TwoWaySpread(
        items=jackknife_variance((values.sum() - values) / (size - 1)),
        raters=jackknife_variance(np.bincount(of_rater, change) / size),
        ratings=jackknife_variance(change / size),
        item_count=float(size),
        rater_count=effective(np.bincount(of_rater)),
    )
