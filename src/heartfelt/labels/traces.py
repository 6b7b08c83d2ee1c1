"""Labels of questions answered with traces: the course the raters of a stimulus share, with a band and the ceiling.

The traces of a stimulus are compared over the moments that all its raters cover
(:mod:`heartfelt.stats.traces.traces`). A trace that begins later than the others has a gap before its start; a trace
sampled at another rate is read off at the moments of the others. Where a source gives samples per beat or bar,
``rate`` is empty and moments are counted, not timed.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl

from heartfelt.labels.columns import ITEM, ITEM_COLUMNS, count, number, samples, text
from heartfelt.snapshot import Snapshot
from heartfelt.stats.columns.triples import Floats
from heartfelt.stats.traces.traces import Traces, consensus, trace_agreement, traces
from heartfelt.study.scales.set_scale import Trace
from heartfelt.tables import Contract

COURSES = Contract(
    "courses",
    "one row per stimulus and question answered with traces",
    (
        *ITEM_COLUMNS,
        samples("samples", "the mean of the raters' traces"),
        samples("low", "lower edge of the band over raters"),
        samples("high", "upper edge of the band over raters"),
        number("rate", "samples per second; empty where samples are per beat or bar", nullable=True),
        number("start", "seconds from the start of the clip to the first sample"),
        count("n", "raters"),
        text("method", "how the course was made"),
        number("agreement", "mean concordance (CCC) of two raters", nullable=True),
        number("ceiling", "CCC a perfect predictor can expect with this course", nullable=True),
        number("ceiling_low", "lower bound of the ceiling", nullable=True),
        number("ceiling_high", "upper bound of the ceiling", nullable=True),
        number("one_rater", "CCC a perfect predictor can expect with one rater", nullable=True),
        text("why_missing", "why there is no course, band or ceiling", nullable=True),
    ),
    key=tuple(ITEM),
)
TIMELESS = 1.0
"""The rate of samples that are not in seconds."""


def trace_questions(snapshot: Snapshot) -> list[str]:
    """The questions that have traces."""
    study, answered = snapshot.study, set(snapshot.traces["question"].unique().to_list())
    return [q.id for q in study.asked if q.id in answered and isinstance(study.scale_of(q.id), Trace)]


def is_timed(snapshot: Snapshot, question: str) -> bool:
    """Whether the samples of a question are in seconds, not per beat or bar."""
    table = snapshot.traces.filter(pl.col("question") == question)
    return "rate" in table.columns and table["rate"].count() > 0


def first_traces(snapshot: Snapshot, question: str) -> pl.DataFrame:
    """The traces of first presentations, without probes."""
    table = snapshot.without_probes.traces.filter(pl.col("question") == question)
    return table.filter(pl.col("repeat").fill_null(0) == 0) if "repeat" in table.columns else table


def aligned(snapshot: Snapshot, question: str) -> dict[str, Traces]:
    """For every stimulus, the traces of its first presentations over the moments that all raters cover."""
    table = first_traces(snapshot, question)
    for name in ("rate", "start"):
        if name not in table.columns:
            table = table.with_columns(pl.lit(None, pl.Float64).alias(name))
    return {
        str(key[0]): _aligned(part.sort("rater"))
        for key, part in table.sort("stimulus").partition_by("stimulus", as_dict=True).items()
    }


def _aligned(table: pl.DataFrame) -> Traces:
    common = table["rate"].drop_nulls().mode().sort()
    rate = float(common[0]) if common.len() else TIMELESS
    starts = table["start"].fill_null(0.0)
    begin = float(starts.min() or 0.0)  # type: ignore[arg-type]  # a number
    resampled = []
    for trace, own_rate, start in zip(table["samples"], table["rate"], starts, strict=True):
        values = trace.cast(pl.Float64).fill_null(np.nan).to_numpy()
        resampled.append(_at(values, own_rate or rate, start - begin, rate))
    aligned = traces(table["rater"].to_list(), resampled, rate)
    return replace(aligned, start=aligned.start + begin)


def _at(values: Floats, own_rate: float, start: float, rate: float) -> Floats:
    """A trace at the moments of the others: as it is where it has them, between its samples otherwise."""
    # At the same rate samples are taken as they are: interpolation would smooth them.
    if own_rate == rate:
        return np.concatenate([np.full(round(start * rate), np.nan), values])
    sample_times = start + np.arange(values.size) / own_rate
    moments = np.arange(int(sample_times[-1] * rate) + 1) / rate if values.size else np.zeros(0)
    between = np.interp(moments, sample_times, values) if values.size else moments
    return np.where(moments < start, np.nan, between)


def mean_traces(snapshot: Snapshot, least: int = 1) -> pl.DataFrame:
    """The course of every stimulus and trace question that at least so many raters followed, under ``COURSES``."""
    rows = []
    for question in trace_questions(snapshot):
        timed = is_timed(snapshot, question)
        for stimulus, data in aligned(snapshot, question).items():
            rows.append({"stimulus": stimulus, "question": question, **_course(data, timed, least)})
    return pl.DataFrame(rows, schema=COURSES.empty().schema)


def _course(data: Traces, timed: bool, least: int) -> dict[str, object]:
    raters = len(data.raters)
    row: dict[str, object] = {"start": data.start, "n": raters, "method": "mean"}
    row["rate"] = data.rate if timed else None
    if raters < least or not data.values.size:
        few = f"{raters} of the {least} ratings a label needs"
        row["why_missing"] = few if raters < least else "the raters have no moment in common"
        return row
    shared, agreement = consensus(data), trace_agreement(data)
    row["samples"] = shared.value.tolist()
    if shared.why_no_band is None:
        row |= {"low": shared.low.tolist(), "high": shared.high.tolist()}
    ceiling = agreement.ceiling
    row |= {"agreement": agreement.pairwise.value, "one_rater": agreement.one_rater.value}
    row |= {"ceiling": ceiling.value, "ceiling_low": ceiling.low, "ceiling_high": ceiling.high}
    row["why_missing"] = ceiling.why_missing or shared.why_no_band or ceiling.why_no_interval
    return row
