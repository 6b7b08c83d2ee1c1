"""Predicted courses against the raters': the concordance of the two over time, stimulus by stimulus, after the reaction lag.

Predictions are read off at the moments of the raters' course, between their own samples where those are fewer. People follow what
they hear by a second or more, so the prediction is moved by one lag, the median over stimuli of the shift at which the course
follows the prediction best; the concordance without it is given too. The score is the mean over stimuli, with an interval over
stimuli and raters where single traces are known. A failed prediction counts as a constant course, whose concordance is 0.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from heartfelt.labels.courses import aligned
from heartfelt.scoring.details import TraceDetails
from heartfelt.scoring.measure import Marked, Measure, from_chance, of_ceiling
from heartfelt.scoring.metrics import chance_of
from heartfelt.scoring.pair_ceilings import mean_ceiling, mean_over_stimuli
from heartfelt.scoring.scores import Score, Task
from heartfelt.scoring.sheet import NOT_GIVEN, Flags, Sheet
from heartfelt.scoring.truth import ITEM, Truth
from heartfelt.stats.estimate import Estimate
from heartfelt.stats.jackknife import Spread
from heartfelt.stats.traces import best_lag, concordance
from heartfelt.stats.triples import Floats
from heartfelt.stats.two_way_jackknife import TwoWaySpread, effective, jackknife_variance

METRIC = "trace_ccc"
WITHOUT = "without lag"
LEAST_COVER = 0.5
_NOT_OVER_SYSTEMS = "traces are compared over stimuli and raters"
_PARTS = ("samples", "rate", "start", "ok", "problem", "note")
_READ = ("ok", "problem", "samples", "rate", "start", "_samples", "_rate", "_start")


@dataclass(frozen=True, slots=True, eq=False)
class Course:
    """The raters' course of a stimulus and the prediction at the same moments; None without one."""

    stimulus: str
    raters: Floats
    predicted: Floats | None
    rate: float | None
    """Samples per second; None where samples are per beat or bar."""
    start: float = 0.0
    """Seconds to the first sample."""

    def concordance(self, lag: float, course: Floats | None = None) -> float:
        """The concordance of prediction and course, the course following by ``lag`` seconds; 0 without a prediction."""
        if self.predicted is None:
            return 0.0
        course = self.raters if course is None else course
        step = round(lag * (self.rate or 1.0))
        size = course.size
        follows = course[max(step, 0) : size + min(step, 0)]
        given = self.predicted[max(-step, 0) : size - max(step, 0)]
        known = np.isfinite(given)
        if not known.any() or np.ptp(given[known]) <= 1e-9:
            return 0.0
        return concordance(follows[known], given[known]) or 0.0


def trace_sheet(truth: Truth, predictions: pl.DataFrame, task: Task, model: str) -> Sheet:
    """A model's traces next to the raters' courses; a course that does not vary has nothing to agree with."""
    courses = truth.courses_of(task).select(
        *ITEM, *(pl.col(name).alias(f"_{name}") for name in ("samples", "rate", "start"))
    )
    of_model = (pl.col("model") == model) & pl.col("question").is_in(task.questions)
    mine = predictions.filter(of_model)
    mine = mine.with_columns(
        pl.lit(None, pl.Float64).alias(name) for name in ("rate", "start") if name not in mine.columns
    )
    items = truth.items_of(task)
    items = items.drop([name for name in _PARTS if name in items.columns])
    rows = items.join(courses, on=ITEM, how="inner", maintain_order="left")
    rows = rows.join(mine.select(*ITEM, *_PARTS), on=ITEM, how="left", maintain_order="left")
    varies = pl.col("_samples").list.max() > pl.col("_samples").list.min()
    flat = rows.filter(~varies).height
    rows = rows.filter(varies)
    made = [_read(*row) for row in rows.select(*_READ).iter_rows()]
    rows = rows.with_columns(
        pl.lit(1.0).alias("truth"),
        pl.Series(
            "_predicted",
            [None if isinstance(each, str) else each.tolist() for each in made],
            dtype=pl.List(pl.Float64),
        ),
        pl.Series("problem", [each if isinstance(each, str) else None for each in made], dtype=pl.String),
        pl.Series("ok", [not isinstance(each, str) for each in made], dtype=pl.Boolean),
        pl.Series("code", [None if isinstance(each, str) else 1.0 for each in made], dtype=pl.Float64),
        *(pl.lit(None, pl.Float64).alias(name) for name in ("score", "against")),
        *(pl.lit(None, pl.String).alias(name) for name in ("answer", "shares")),
    )
    return Sheet(
        model, task, truth.study.scale_of(task.questions[0]), rows, items.height - rows.height if flat else 0
    )


def _read(
    ok: bool | None,
    problem: str | None,
    samples: str | None,
    own: float | None,
    begin: float | None,
    raters: list[float],
    rate: float | None,
    start: float | None,
) -> Floats | str:
    """A prediction at the moments of its course, or why there is none."""
    if not ok:
        return problem or NOT_GIVEN
    if samples is None:
        return "there is a value but no trace"
    given = np.array([math.nan if each is None else float(each) for each in json.loads(samples)], np.float64)
    if not np.isfinite(given).any():
        return "the trace has no sample"
    return _placed(given, own, begin or 0.0, Course("", np.array(raters), None, rate, start or 0.0))


def _placed(given: Floats, own: float | None, begin: float, course: Course) -> Floats | str:
    """Samples ``given`` at a rate of their ``own`` from second ``begin``, at the moments of the course; or why there are none."""
    size = course.raters.size
    if own is None or course.rate is None:
        # Samples are the raters' own moments, counted from the start of the clip.
        skipped = 0 if course.rate is None else round(course.start * course.rate)
        if own is not None:
            return "the trace is in seconds, and the raters' course is not"
        if given.size not in (size, size + skipped):
            return f"the trace has {given.size} samples, the raters' course {size}; give its rate in samples per second"
        return given[given.size - size :]
    moments = course.start + np.arange(size) / course.rate
    known = np.isfinite(given)
    times = (begin + np.arange(given.size) / own)[known]
    inside = (moments >= times[0] - 1.0 / own) & (moments <= times[-1] + 1.0 / own)
    if inside.mean() < LEAST_COVER:
        return f"the trace covers {inside.mean():.0%} of the moments that raters followed"
    return np.where(inside, np.interp(moments, times, given[known]), np.nan)


def traces(sheet: Sheet, measure: Measure) -> Marked:
    """The mean concordance with the raters' courses, after the lag and without."""
    options = measure.options
    columns = sheet.rows.select("stimulus", "_samples", "_predicted", "_rate").iter_rows()
    courses = [
        Course(name, np.array(course), None if given is None else np.array(given, np.float64), rate)
        for name, course, given, rate in columns
    ]
    timed = bool(courses) and courses[0].rate is not None
    lag = _lag(courses) if timed else None
    single = _single_traces(sheet.task, measure.truth)
    top = mean_ceiling(measure.truth.courses_of(sheet.task), "ceiling", options.confidence)
    if not options.ceilings:
        top = Estimate.missing("ceilings were not asked for", f"ceiling, {METRIC}")
    after = np.array([each.concordance(lag or 0.0) for each in courses])
    scores = [
        _score(
            sheet,
            courses,
            lag or 0.0,
            single,
            top,
            f"lag {lag:.1f} s" if lag is not None else "",
            options.confidence,
        )
    ]
    if lag:
        scores.append(_score(sheet, courses, 0.0, single, top, WITHOUT, options.confidence))
    details = TraceDetails(lag, int(sheet.answered.sum()))
    return Marked(
        scores,
        details,
        after,
        np.zeros(after.size),
        {},
        slice_of=lambda inside: _slice(after, inside & sheet.answered, options.confidence),
    )


def _slice(values: Floats, rows: Flags, confidence: float) -> Estimate:
    if not rows.any():
        return Estimate.missing("no item was answered", METRIC)
    return mean_over_stimuli(values[rows], METRIC, confidence)[0]


def _lag(courses: Sequence[Course]) -> float | None:
    """By how many seconds courses follow predictions; None where no prediction varies."""
    lags = []
    for each in courses:
        if each.predicted is None or each.rate is None:
            continue
        known = np.isfinite(each.predicted)
        lag = best_lag(each.raters[known], each.predicted[known], each.rate)
        lags += [] if lag is None else [lag]
    return float(np.median(lags)) if lags else None


def _single_traces(task: Task, truth: Truth) -> dict[str, tuple[Sequence[str], Floats]]:
    """Raters and their traces by stimulus; nothing where the source has courses only."""
    if truth.snapshot is None:
        return {}
    return {
        stimulus: (data.raters, data.values)
        for stimulus, data in aligned(truth.snapshot, task.questions[0]).items()
    }


def _score(
    sheet: Sheet,
    courses: Sequence[Course],
    lag: float,
    single: dict[str, tuple[Sequence[str], Floats]],
    top: Estimate,
    at: str,
    confidence: float,
) -> Score:
    full, spread = _mean(courses, lag, single, confidence)
    answered = [each for each in courses if each.predicted is not None]
    own = full if len(answered) == len(courses) else _mean(answered, lag, single, confidence)[0]
    chance = chance_of(METRIC, np.zeros(1)).estimate(METRIC)
    test = f"p-value of {METRIC} against chance"
    if full.value is None or spread is None:
        why = full.why_missing or full.why_no_interval or "no spread is known"
        p = Estimate.missing(why, test)
    else:
        p = Estimate(float(spread.p(0.0) or 0.0), method=test, why_no_interval="a p-value")
    beyond = from_chance(full, 0.0, 1, METRIC)
    over = Estimate.missing(_NOT_OVER_SYSTEMS, f"{METRIC}, over systems")
    share = of_ceiling(METRIC, full, top, chance, beyond)
    return Score(
        sheet.model, sheet.task.id, "item", METRIC, at, own, full, over, top, share, chance, beyond, p
    )


def _mean(
    courses: Sequence[Course], lag: float, single: dict[str, tuple[Sequence[str], Floats]], confidence: float
) -> tuple[Estimate, Spread | None]:
    """The mean concordance, its interval over stimuli and raters, and their spread."""
    if not courses:
        return Estimate.missing("no item was answered", METRIC), None
    values = np.array([each.concordance(lag) for each in courses])
    plain, over_stimuli = mean_over_stimuli(values, METRIC, confidence)
    if over_stimuli is None or not all(each.stimulus in single for each in courses):
        return plain, over_stimuli
    moves: list[tuple[str, float]] = []
    for each, value in zip(courses, values.tolist(), strict=True):
        raters, rows = single[each.stimulus]
        total = rows.sum(axis=0)
        if len(raters) > 1 and rows.shape[1] == each.raters.size:
            without = ((total - row) / (len(raters) - 1) for row in rows)
            moves += [
                (str(r), each.concordance(lag, course) - value)
                for r, course in zip(raters, without, strict=True)
            ]
    names = sorted({name for name, _ in moves})
    if len(names) < 3:
        return plain, over_stimuli
    place = {name: k for k, name in enumerate(names)}
    codes = np.array([place[name] for name, _ in moves])
    change = np.array([move for _, move in moves])
    size = values.size
    spread = TwoWaySpread(
        jackknife_variance((values.sum() - values) / (size - 1)),
        jackknife_variance(np.bincount(codes, change) / size),
        jackknife_variance(change / size),
        float(size),
        effective(np.bincount(codes)),
    )
    how = "jackknife over stimuli and raters"
    result = Spread(float(values.mean()), "identity", size, math.sqrt(spread.variance), spread.df, how=how)
    bare = replace(plain, low=None, high=None, counts={**plain.counts, "raters": len(names)})
    bounded = result.estimate(bare, confidence)
    low, high = max(bounded.low or -1.0, -1.0), min(bounded.high if bounded.high is not None else 1.0, 1.0)
    return replace(bounded, low=low, high=high), result
