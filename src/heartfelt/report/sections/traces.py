"""Questions answered while a clip played: traces over time, how far they agree, and who is late."""

from __future__ import annotations

from markupsafe import Markup

from heartfelt.analysis import Analysis
from heartfelt.analysis.comparison_results import TraceQuestion, TraceStimulus
from heartfelt.report.charts import Charts
from heartfelt.report.page import PLAY, Section, figure_block, folded, joined, paragraph
from heartfelt.report.tables import CellValue, Columns, table, table_of
from heartfelt.wording import plural, spaced

LEAD = "Agreement is Lin's concordance (CCC): 1 for identical traces, lower if they differ in shape, level or spread."


def traces(analysis: Analysis, charts: Charts) -> Section | None:
    """Traces of a choice of stimuli, agreement and ceilings by question and stimulus, and lags of raters."""
    results = analysis.summary.traces
    if not results:
        return None
    columns: Columns[TraceQuestion] = {
        "question": lambda row: spaced(row.question),
        "stimuli": lambda row: len(row.stimuli),
        "raters": lambda row: row.raters,
        "traces": lambda row: row.traces,
        "CCC of two raters": lambda row: row.pairwise,
        "CCC with the others": lambda row: row.leave_one_out,
        "ceiling, one rater": lambda row: row.one_rater,
        "ceiling, mean of raters": lambda row: row.ceiling,
    }
    html = joined(
        figure_block("traces", charts, look="wide-panels"),
        figure_block("trace-agreement", charts),
        table_of("Agreement of traces: means over stimuli, with 95% intervals", results, columns),
        _stimuli(analysis, results),
        figure_block("trace-lags", charts),
        _lags(results),
        _left_out(results),
    )
    return Section(id="traces", title="Ratings over time", lead=LEAD, html=html, short="Traces")


def _stimuli(analysis: Analysis, results: tuple[TraceQuestion, ...]) -> Markup:
    playable = _playable(analysis)
    columns: Columns[tuple[TraceQuestion, TraceStimulus]] = {
        "stimulus": lambda row: _named(row[1].stimulus, playable),
        "question": lambda row: spaced(row[0].question),
        "raters": lambda row: row[1].raters,
        "seconds": lambda row: row[1].seconds,
        "samples": lambda row: row[1].samples,
        "CCC of two raters": lambda row: row[1].pairwise,
        "CCC with the others": lambda row: row[1].leave_one_out,
        "ceiling, one rater": lambda row: row[1].one_rater,
        "ceiling, mean of raters": lambda row: row[1].ceiling,
    }
    rows = [(question, stimulus) for question in results for stimulus in question.stimuli]
    return folded("Every stimulus", table_of("Agreement by stimulus, with 95% intervals", rows, columns))


def _playable(analysis: Analysis) -> set[str]:
    stimuli = analysis.snapshot.stimuli
    if analysis.snapshot.source.media_root is None or not {"path", "found"} <= set(stimuli.columns):
        return set()
    return set(stimuli.filter(stimuli["found"])["stimulus"].to_list())


def _named(stimulus: str, playable: set[str]) -> CellValue:
    return PLAY.format(stimulus, stimulus) + stimulus if stimulus in playable else stimulus


def _lags(results: tuple[TraceQuestion, ...]) -> Markup:
    """Every rater's lag on every question."""
    raters = sorted({rater for question in results for rater in question.lags})
    units = {question.question: "s" if question.timed else "samples" for question in results}
    columns = ["rater", *(f"{spaced(name)} ({unit})" for name, unit in units.items())]
    lines: list[list[CellValue]] = [
        [rater, *(question.lags.get(rater) for question in results)] for rater in raters
    ]
    caption = "Mean lag behind the other raters, with 95% intervals over stimuli; negative is earlier"
    return folded("Lags of raters, as a table", table(caption, columns, lines))


def _left_out(results: tuple[TraceQuestion, ...]) -> Markup:
    """How many traces were left out of the comparison."""
    count = sum(len(stimulus.left_out) for question in results for stimulus in question.stimuli)
    if not count:
        return Markup("")
    return paragraph(
        f"{plural(count, 'trace')} of less than half the longest trace of its stimulus {'is' if count == 1 else 'are'} left out"
        " of these figures."
    )
