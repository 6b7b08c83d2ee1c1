"""Predicted traces: read off at the moments of the raters' course, and compared with it (:mod:`heartfelt.stats.traces.scores`).

A prediction at another rate is taken between its samples and must cover half of the moments that raters followed. A failed
prediction counts as a constant course, whose concordance is 0. The score is given after the lag and without it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from heartfelt.labels.traces import aligned
from heartfelt.scoring.ground_truth.truth import ITEM, Truth
from heartfelt.scoring.measurement.ceilings import mean_ceiling
from heartfelt.scoring.measurement.measure import NO_SYSTEMS, Marked, MetricMeasurer, from_chance, of_ceiling
from heartfelt.scoring.measurement.sheet import NOT_GIVEN, Flags, PredictionSheet
from heartfelt.scoring.options import ScoreOptions
from heartfelt.scoring.results.details import TraceDetails
from heartfelt.scoring.results.metrics import chance_of
from heartfelt.scoring.results.scores import ModelScore, ScoringTask
from heartfelt.stats.columns.triples import Floats, Ints
from heartfelt.stats.estimate import Estimate
from heartfelt.stats.inference.no_association import too_few_ways
from heartfelt.stats.traces.scores import (
    PredictedCourse,
    course_lag,
    mean_concordance,
    mean_over_stimuli,
    no_concordance,
)
from heartfelt.stats.traces.traces import Traces

METRIC = "trace_ccc"
WITHOUT = "without lag"
LEAST_COVER = 0.5
_NOT_OVER_SYSTEMS = "traces are compared over stimuli and raters"
_PARTS = ("samples", "rate", "start", "ok", "problem", "note")
_READ = ("ok", "problem", "samples", "rate", "start", "_samples", "_rate", "_start")


def trace_sheet(truth: Truth, predictions: pl.DataFrame, task: ScoringTask, model: str) -> PredictionSheet:
    """A model's traces next to the raters' courses; a course that does not vary has nothing to agree with."""
    courses = truth.courses_of(task).select(
        *ITEM, *(pl.col(name).alias(f"_{name}") for name in ("samples", "rate", "start"))
    )
    of_model = (pl.col("model") == model) & pl.col("question").is_in(task.questions)
    model_traces = predictions.filter(of_model)
    model_traces = model_traces.with_columns(
        pl.lit(None, pl.Float64).alias(name) for name in ("rate", "start") if name not in model_traces.columns
    )
    items = truth.items_of(task)
    items = items.drop([name for name in _PARTS if name in items.columns])
    rows = items.join(courses, on=ITEM, how="inner", maintain_order="left")
    rows = rows.join(model_traces.select(*ITEM, *_PARTS), on=ITEM, how="left", maintain_order="left")
    varies = pl.col("_samples").list.max() > pl.col("_samples").list.min()
    flat = rows.filter(~varies).height
    rows = rows.filter(varies)
    read = [_read(*row) for row in rows.select(*_READ).iter_rows()]
    predicted = [None if isinstance(trace, str) else trace.tolist() for trace in read]
    problems = [trace if isinstance(trace, str) else None for trace in read]
    rows = rows.with_columns(
        pl.lit(1.0).alias("truth"),
        pl.Series("_predicted", predicted, dtype=pl.List(pl.Float64)),
        pl.Series("problem", problems, dtype=pl.String),
        *(pl.lit(None, pl.Float64).alias(name) for name in ("score", "against")),
        *(pl.lit(None, pl.String).alias(name) for name in ("answer", "shares")),
    ).with_columns(
        pl.col("problem").is_null().alias("ok"), pl.when(pl.col("problem").is_null()).then(1.0).alias("code")
    )
    return PredictionSheet(
        model=model,
        task=task,
        scale=truth.study.scale_of(task.questions[0]),
        rows=rows,
        unlabelled=items.height - rows.height if flat else 0,
    )


def _read(
    ok: bool | None,
    problem: str | None,
    samples: str | None,
    own_rate: float | None,
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
    predicted = np.array([math.nan if sample is None else float(sample) for sample in json.loads(samples)], np.float64)
    if not np.isfinite(predicted).any():
        return "the trace has no sample"
    return _placed(predicted, own_rate, begin or 0.0, len(raters), rate, start or 0.0)


def _placed(
    predicted: Floats, own_rate: float | None, begin: float, size: int, rate: float | None, start: float
) -> Floats | str:
    """Samples at ``own_rate`` from second ``begin``, at the ``size`` moments of a course; or why there are none."""
    if own_rate is None or rate is None:
        # Samples are the raters' own moments, counted from the start of the clip.
        skipped = 0 if rate is None else round(start * rate)
        if own_rate is not None:
            return "the trace is in seconds, and the raters' course is not"
        if predicted.size not in (size, size + skipped):
            return f"the trace has {predicted.size} samples, the raters' course {size}; give its rate in samples per second"
        return predicted[predicted.size - size :]
    moments = start + np.arange(size) / rate
    finite = np.isfinite(predicted)
    times = (begin + np.arange(predicted.size) / own_rate)[finite]
    inside = (moments >= times[0] - 1.0 / own_rate) & (moments <= times[-1] + 1.0 / own_rate)
    if inside.mean() < LEAST_COVER:
        return f"the trace covers {inside.mean():.0%} of the moments that raters followed"
    return np.where(inside, np.interp(moments, times, predicted[finite]), np.nan)


def traces(sheet: PredictionSheet, measure: MetricMeasurer) -> Marked:
    """The mean concordance with the raters' courses, after the lag and without."""
    options = measure.options
    single = _single_traces(sheet.task, measure.truth)
    courses = [
        PredictedCourse(
            course=np.array(course),
            predicted=None if trace_samples is None else np.array(trace_samples, np.float64),
            rate=rate,
            raters=raters,
            traces=values,
        )
        for name, course, trace_samples, rate in sheet.rows.select(
            "stimulus", "_samples", "_predicted", "_rate"
        ).iter_rows()
        for raters, values in (_of_raters(single.get(name), len(course)),)
    ]
    lag = course_lag(courses)
    top = mean_ceiling(measure.truth.courses_of(sheet.task), "ceiling", options.confidence)
    if not options.ceilings:
        top = Estimate.missing("ceilings were not asked for", f"ceiling, {METRIC}")
    at = "" if lag is None else f"lag {lag:.1f} s"
    scores = [_score(sheet, courses, lag, top, at, options)]
    if lag:
        scores.append(_score(sheet, courses, None, top, WITHOUT, options))
    after = np.array([course_pair.concordance(lag or 0.0) for course_pair in courses])
    details = TraceDetails(lag, int(sheet.answered.sum()))

    def slice_of(inside: Flags) -> Estimate:
        return _slice(after, inside & sheet.answered, options.confidence)

    return Marked(
        scores=scores, details=details, predicted=after, fallback=np.zeros(after.size), sliced={}, slice_of=slice_of
    )


def _slice(values: Floats, rows: Flags, confidence: float) -> Estimate:
    if not rows.any():
        return Estimate.missing("no item was answered", METRIC)
    return mean_over_stimuli(values[rows], METRIC, confidence)[0]


def _single_traces(task: ScoringTask, truth: Truth) -> dict[str, Traces]:
    """The raters' traces by stimulus; nothing where the source has courses only."""
    return {} if truth.snapshot is None else aligned(truth.snapshot, task.questions[0])


def _of_raters(single: Traces | None, size: int) -> tuple[Sequence[Any], Floats | None]:
    """Raters and their traces, where they have the moments of the course."""
    if single is None or single.values.shape[1] != size:
        return (), None
    return single.raters, single.values


def _against_chance(
    courses: Sequence[PredictedCourse], group: Ints | None, lag: float | None, options: ScoreOptions
) -> Estimate:
    """The p-value of predictions that say nothing of the courses; missing where courses, or groups, are too few."""
    p = no_concordance(courses, group=group, lagged=lag is not None, seed=options.seed)
    count = len(courses) if group is None else np.unique(group).size
    unit = "course" if group is None else "system"
    too_few = too_few_ways(count, 2 ** min(count, 60), options.confidence, unit)
    return Estimate.missing(too_few, p.method) if too_few else p


def _score(
    sheet: PredictionSheet,
    courses: Sequence[PredictedCourse],
    lag: float | None,
    top: Estimate,
    at: str,
    options: ScoreOptions,
) -> ModelScore:
    full, _ = mean_concordance(courses, lag or 0.0, confidence=options.confidence)
    answered = [course for course in courses if course.predicted is not None]
    of_answered = full
    if len(answered) < len(courses):
        of_answered = mean_concordance(answered, lag or 0.0, confidence=options.confidence)[0]
    chance = chance_of(METRIC, np.zeros(1)).estimate(METRIC)
    p = _against_chance(courses, None, lag, options)
    has_system = sheet.system >= 0
    over_p = Estimate.missing(NO_SYSTEMS, p.method)
    if has_system.any():
        named = [course for course, system in zip(courses, has_system.tolist(), strict=True) if system]
        over_p = _against_chance(named, sheet.system[has_system], lag, options)
    beyond = from_chance(full, 0.0, 1, METRIC)
    return ModelScore(
        model=sheet.model,
        task=sheet.task.id,
        aggregation="item",
        metric=METRIC,
        at=at,
        estimate=of_answered,
        with_failures=full,
        over_systems=Estimate.missing(_NOT_OVER_SYSTEMS, f"{METRIC}, over systems"),
        ceiling=top,
        of_ceiling=of_ceiling(METRIC, full, top, chance, beyond),
        chance=chance,
        beyond_chance=beyond,
        p_chance=p,
        p_chance_over_systems=over_p,
    )
