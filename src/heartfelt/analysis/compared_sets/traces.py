"""Questions answered with traces: agreement of the raters of each stimulus over time, their lags, and the ceiling.

Means over stimuli have Student's t intervals with stimuli as the sample. A rater's lag is the mean over stimuli of the shift at
which the rater's trace follows the mean of the others best.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

import polars as pl

from heartfelt.analysis.findings.comparisons import TraceQuestion, TraceStimulus
from heartfelt.labels.traces import aligned, first_traces, is_timed, trace_questions
from heartfelt.snapshot import Snapshot
from heartfelt.stats._bounds import with_t
from heartfelt.stats.estimate import Estimate
from heartfelt.stats.traces.traces import Traces, agreement_over_time, rater_lags, trace_agreement

WINDOWS = 200
"""Moments at most that the spread over time is given at."""


def trace_results(snapshot: Snapshot) -> tuple[TraceQuestion, ...]:
    """Every question that has traces."""
    return tuple(_question(snapshot, question) for question in trace_questions(snapshot))


def _question(snapshot: Snapshot, question: str) -> TraceQuestion:
    timed = is_timed(snapshot, question)
    every = aligned(snapshot, question)
    stimuli = tuple(_stimulus(name, data, timed) for name, data in every.items())
    lags = _lags_by_rater(every.values())
    raters = sorted({str(rater) for data in every.values() for rater in data.raters})
    constant, overlong, duplicate = _odd_traces(snapshot, question, timed)
    return TraceQuestion(
        question=question,
        raters=len(raters),
        traces=sum(len(data.raters) for data in every.values()),
        timed=timed,
        pairwise=over_stimuli([stimulus.pairwise for stimulus in stimuli]),
        leave_one_out=over_stimuli([stimulus.leave_one_out for stimulus in stimuli]),
        ceiling=over_stimuli([stimulus.ceiling for stimulus in stimuli]),
        one_rater=over_stimuli([stimulus.one_rater for stimulus in stimuli]),
        lags={rater: _lag(lags.get(rater, []), timed) for rater in raters},
        stimuli=stimuli,
        constant=constant,
        overlong=overlong,
        duplicate=duplicate,
    )


def _lags_by_rater(stimuli: Iterable[Traces]) -> dict[str, list[float]]:
    """The lags of each rater behind the others, one for each stimulus on which the trace follows them."""
    lags: dict[str, list[float]] = {}
    for data in stimuli:
        for rater, lag in rater_lags(data).items() if data.values.shape[1] > 2 else ():
            if lag is not None:
                lags.setdefault(str(rater), []).append(lag)
    return lags


def _odd_traces(snapshot: Snapshot, question: str, timed: bool) -> tuple[int, int, int]:
    """How many traces never move, are longer than most of their stimulus, or repeat an earlier one that moves.

    Traces in seconds end when a rater stops the clip, so only lengths in beats or bars are compared.
    """
    samples = pl.col("samples")
    table = first_traces(snapshot, question).select(
        "stimulus",
        samples.list.len().alias("length"),
        (samples.list.drop_nulls().list.n_unique() > 1).alias("moves"),
        samples.cast(pl.List(pl.String)).list.eval(pl.element().fill_null("-")).list.join(" ").alias("course"),
    )
    usual = pl.col("length").mode().min().over("stimulus")
    repeated = pl.struct("stimulus", "course").is_first_distinct().not_()
    counts = table.select(
        (~pl.col("moves")).sum(),
        pl.lit(0) if timed else (pl.col("length") > usual).sum(),
        (pl.col("moves") & repeated).sum().alias("repeated"),
    )
    constant, overlong, duplicate = (int(count) for count in counts.row(0))
    return constant, overlong, duplicate


def _stimulus(name: str, data: Traces, timed: bool) -> TraceStimulus:
    agreement = trace_agreement(data)
    moments, spread = agreement_over_time(data, 10.0 if timed else 4.0)
    step = max(1, math.ceil(moments.size / WINDOWS))
    samples = int(data.values.shape[1])
    return TraceStimulus(
        stimulus=name,
        raters=len(data.raters),
        seconds=samples / data.rate if timed else None,
        samples=samples,
        pairwise=agreement.pairwise,
        leave_one_out=agreement.leave_one_out,
        ceiling=agreement.ceiling,
        one_rater=agreement.one_rater,
        spread_moments=tuple(moments[::step].tolist()),
        spread=tuple(spread[::step].tolist()),
        left_out={str(rater): reason for rater, reason in (data.left_out or {}).items()},
        why_no_band="fewer than three raters" if len(data.raters) < 3 else None,
    )


def over_stimuli(figures: Sequence[Estimate]) -> Estimate:
    """The mean of a figure over stimuli, with stimuli as the sample."""
    usable = [float(figure) for figure in figures if not figure.is_missing]
    method = f"{figures[0].method}, mean over stimuli" if figures else "mean over stimuli"
    counts = {"stimuli": len(usable)} | ({"left_out": len(figures) - len(usable)} if len(usable) < len(figures) else {})
    if not usable:
        reason = next((figure.why_missing for figure in figures if figure.why_missing), "there are no traces")
        return Estimate.missing(reason or "", method, counts)
    return _mean(usable, method, counts, "one stimulus")


def _lag(lags: Sequence[float], timed: bool) -> Estimate:
    method = f"mean lag behind the others, {'seconds' if timed else 'samples'}"
    counts = {"stimuli": len(lags)}
    if not lags:
        return Estimate.missing("no trace follows the others at any lag", method, counts)
    return _mean(lags, method, counts, "one stimulus")


def _mean(figures: Sequence[float], method: str, counts: Mapping[str, int], alone: str) -> Estimate:
    size = len(figures)
    centre = math.fsum(figures) / size
    estimate = Estimate(value=centre, method=method, counts=counts)
    if size < 2:
        return estimate.without_interval(alone)
    variance = math.fsum((value - centre) ** 2 for value in figures) / (size - 1) / size
    if variance <= 0:
        return estimate.without_interval("nothing varies")
    return with_t(estimate, math.sqrt(variance), size - 1, "Student's t over stimuli", 0.95)
