"""Traces over time: the raters of a stimulus, what they share, how far apart they are, and who is late."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from heartfelt.analysis import Analysis
from heartfelt.analysis.findings.comparisons import TraceQuestion, TraceStimulus
from heartfelt.labels.traces import aligned
from heartfelt.report.charts import (
    Absent,
    Axis,
    Cell,
    Chart,
    IntervalPanels,
    Item,
    Line,
    TracePanel,
    axis,
    first_of,
    ticks,
)
from heartfelt.report.figures.registry import chart_texts, figure
from heartfelt.report.layout.naming import why_missing
from heartfelt.report.palette import COLOURS, INK
from heartfelt.stats.estimate import Estimate
from heartfelt.stats.traces.traces import Traces
from heartfelt.wording import interval, plural, spaced

MOST_STIMULI = 6
MOST_QUESTIONS = 4
MOST_LINES = 24
MOST_MOMENTS = 240
MOST_RATERS = 24
NO_TRACES = "no question was answered with traces"


def shown_stimuli(question: TraceQuestion, most: int = MOST_STIMULI) -> list[TraceStimulus]:
    """A choice of stimuli from the one raters agree on most to the one they agree on least, evenly between."""
    concordant = [stimulus for stimulus in question.stimuli if stimulus.pairwise.value is not None]
    concordant.sort(key=lambda stimulus: (-float(stimulus.pairwise.value or 0.0), stimulus.stimulus))
    single_traces = [stimulus for stimulus in question.stimuli if stimulus.pairwise.value is None and stimulus.samples]
    if len(concordant) > most:
        positions = np.linspace(0, len(concordant) - 1, most).round().astype(int)
        return [concordant[index] for index in dict.fromkeys(positions.tolist())]
    return (concordant + single_traces)[:most]


@figure("traces")
def traces(analysis: Analysis) -> Chart | Absent:
    """One panel per stimulus and question; the table behind it has the shared course of every stimulus."""
    results = analysis.summary.traces
    if not results:
        return Absent(why_missing(analysis, "traces", NO_TRACES))
    shared = analysis.courses.drop_nulls("samples").iter_rows(named=True)
    courses = {(row["question"], row["stimulus"]): row for row in shared}
    panels: list[TracePanel] = []
    for question in results[:MOST_QUESTIONS]:
        every = aligned(analysis.snapshot, question.question)
        limits = analysis.snapshot.study.scale_of(question.question).bounds()
        for stimulus in shown_stimuli(question, MOST_STIMULI if len(results) < 3 else MOST_STIMULI // 2):
            course = courses.get((question.question, stimulus.stimulus))
            if course is not None:
                panels.append(_panel(question, stimulus, every[stimulus.stimulus], course, limits))
    if not panels:
        return Absent("no stimulus has a moment that all its raters cover")
    caption = (
        "Thin lines are raters; the thick line is their mean, the band is where the mean of many raters lies at all moments"
        " together, with 95% confidence. Below: the raters' standard deviation over time. Stimuli run from the one raters"
        " agree on most to the one they agree on least"
    )
    every_stimulus = sum(len(question.stimuli) for question in results)
    caption += f"; {len(panels)} of {every_stimulus} are drawn." if len(panels) < every_stimulus else "."
    caption += first_of(MOST_QUESTIONS, len(results))
    key = "Play a stimulus to move the cursor; select a moment to play from there."
    return Chart(title="Traces over time", caption=caption, panels=panels, rows=_table(analysis), key=key)


def _panel(
    question: TraceQuestion,
    stimulus: TraceStimulus,
    data: Traces,
    course: Mapping[str, Any],
    limits: Sequence[float] | None,
) -> TracePanel:
    step = max(1, math.ceil(data.values.shape[1] / MOST_MOMENTS))
    moments = data.seconds[::step]
    lines = data.values[:MOST_LINES, ::step]
    low, high = (course["low"] or [])[::step], (course["high"] or [])[::step]
    reach = axis("", [*lines.ravel().tolist(), *low, *high], include=limits or ())
    start, end = 0.0, float(moments[-1])
    label = "seconds" if question.timed else "samples"
    agree = stimulus.pairwise
    note = plural(stimulus.raters, "rater") + ("" if agree.value is None else f", CCC of two {interval(agree)}")
    return TracePanel(
        title=f"{spaced(question.question)}: {stimulus.stimulus}",
        note=note,
        stimulus=stimulus.stimulus,
        timed=question.timed,
        x=Axis(label=label, low=start, high=end, ticks=ticks(start, end) if end > start else ()),
        y=Axis(label=spaced(question.question), low=reach.low, high=reach.high, ticks=ticks(reach.low, reach.high)),
        moments=tuple(np.round(moments, 3).tolist()),
        raters=tuple(tuple(line) for line in np.round(lines, 4).tolist()),
        shared=_rounded(course["samples"][::step]),
        low=_rounded(low),
        high=_rounded(high),
        spread=tuple(zip(_rounded(stimulus.spread_moments), _rounded(stimulus.spread), strict=True)),
    )


def _rounded(values: Sequence[float]) -> tuple[float, ...]:
    return tuple(round(value, 4) for value in values)


def _table(analysis: Analysis) -> list[Mapping[str, Cell]]:
    """The shared course of every stimulus, one row per moment."""
    rows: list[Mapping[str, Cell]] = []
    for course in analysis.courses.iter_rows(named=True):
        samples = course["samples"] or []
        nothing = [None] * len(samples)
        step = 1.0 / (course["rate"] or 1.0)
        edges = zip(samples, course["low"] or nothing, course["high"] or nothing, strict=True)
        for index, (value, low, high) in enumerate(edges):
            about = {"question": course["question"], "stimulus": course["stimulus"]}
            at = round(course["start"] + index * step, 6)
            rows.append({**about, "at": at, "mean": value, "low": low, "high": high})
    return rows


@figure("trace-agreement")
def trace_agreement(analysis: Analysis) -> Chart | Absent:
    """One panel per question: two raters, a rater and the others, and what a perfect predictor could reach."""
    results = analysis.summary.traces
    if not results:
        return Absent(why_missing(analysis, "traces", NO_TRACES))
    builder = IntervalPanels("ccc")
    for index, question in enumerate(results):
        rows = {
            "two raters": question.pairwise,
            "a rater and the others": question.leave_one_out,
            "ceiling, one rater": question.one_rater,
            "ceiling, mean of raters": question.ceiling,
        }
        items = [
            Item(
                label=label,
                estimate=estimate,
                colour=COLOURS[0] if "ceiling" not in label else INK,
                cells={"question": question.question, "figure": label},
            )
            for label, estimate in rows.items()
        ]
        title = spaced(question.question)
        builder.add(title, "CCC, mean over stimuli", items, include=[0.0, 1.0], visible=index < MOST_QUESTIONS)
    return builder.chart(*chart_texts("trace-agreement"))


@figure("trace-lags")
def trace_lags(analysis: Analysis) -> Chart | Absent:
    """One panel per question: the raters that are latest and earliest."""
    results = analysis.summary.traces
    if not results:
        return Absent(why_missing(analysis, "traces", NO_TRACES))
    builder, cut = IntervalPanels("lag"), False
    for index, question in enumerate(results):
        unit = "seconds" if question.timed else "samples"
        items = sorted(
            (
                _lag(question.question, rater, lag, unit)
                for rater, lag in question.lags.items()
                if lag.value is not None
            ),
            key=lambda item: -float(item.estimate),
        )
        shown = _latest_and_earliest(items)
        cut |= len(shown) < len(items)
        title = spaced(question.question)
        builder.add(title, f"later than the others ({unit})", shown, lines=(Line(0.0),), visible=index < MOST_QUESTIONS)
        builder.add("", "", [item for item in items if item not in shown], visible=False)
    return builder.chart(
        *chart_texts(
            "trace-lags",
            " The latest and the earliest raters are drawn, of those with several stimuli if any." if cut else "",
        )
    )


def _latest_and_earliest(items: list[Item]) -> list[Item]:
    # A lag on one stimulus says little: raters of several are drawn first.
    several = [item for item in items if item.estimate.low is not None] or items
    half = MOST_RATERS // 2
    return several if len(several) <= MOST_RATERS else several[:half] + several[-half:]


def _lag(question: str, rater: str, lag: Estimate, unit: str) -> Item:
    note = plural(lag.counts.get("stimuli", 0), "stimulus", "stimuli")
    return Item(label=rater, estimate=lag, cells={"question": question, "rater": rater, "unit": unit}, note=note)
