"""Any figure of a report as a Matplotlib figure, for a notebook."""

from __future__ import annotations

from typing import TYPE_CHECKING

from heartfelt.analysis import Analysis
from heartfelt.errors import InputError, UnknownNameError, suggestion
from heartfelt.report.bench.figures import BENCH_FIGURES
from heartfelt.report.charts import Absent, Chart
from heartfelt.report.figures import FIGURES
from heartfelt.scoring import Scores

if TYPE_CHECKING:
    from matplotlib.figure import Figure

USUAL = ("perceived-maps", "system-ranking", "agreement", "answers", "ratings-per-item")
"""What is drawn of an analysis where no figure is named: the first that the study has data for."""


def plot(result: object, figure: str | None = None, *, task: str | None = None) -> Figure:
    """Draw a figure of an analysis or of a bench.

    Parameters
    ----------
    result
        What ``heartfelt.analyze`` or ``heartfelt.bench`` returned.
    figure
        The figure's name: one of ``heartfelt.report.FIGURES`` for an analysis (such as ``"slopes"`` or ``"ceiling"``);
        ``"leaderboard"``, ``"shares"``, ``"scatter"``, ``"confusion"`` or ``"calibration"`` for a bench. By default the map
        or ranking of an analysis, and the leaderboard of a bench.
    task
        Of a bench, the task to draw; the first by default.

    Returns
    -------
    matplotlib.figure.Figure
        The figure as in the report, to show, to change or to save with ``savefig``.

    Raises
    ------
    heartfelt.errors.InputError
        If the data have no such figure; the message says why.

    Examples
    --------
    >>> import heartfelt
    >>> analysis = heartfelt.analyze(heartfelt.load("aimoclips"))  # doctest: +SKIP
    >>> heartfelt.plot(analysis, "slopes").savefig("slopes.pdf")  # doctest: +SKIP
    """
    from heartfelt.report.drawing.files import draw

    chart = _chart(result, figure, task)
    if isinstance(chart, Absent):
        named = f"'{figure}'" if figure else "figure"
        raise InputError(
            f"There is no {named} to draw: {chart.reason.rstrip('.')}.",
            "The report's section 'Files' lists all figures.",
        )
    return draw(chart)


def _chart(result: object, figure: str | None, task: str | None) -> Chart | Absent:
    from heartfelt.scoring.bench import Bench

    if isinstance(result, Analysis):
        return _analysis_chart(result, figure)
    if isinstance(result, Bench | Scores):
        return _bench_chart(result if isinstance(result, Scores) else result.scores, figure, task)
    raise InputError(
        f"heartfelt.plot draws an analysis or a bench, not a value of type '{type(result).__name__}'.",
        "Draw heartfelt.plot(heartfelt.analyze(ratings)) or heartfelt.plot(heartfelt.bench(ratings, models)).",
    )


def _analysis_chart(analysis: Analysis, figure: str | None) -> Chart | Absent:
    if figure is not None:
        return FIGURES[figure].chart(analysis)
    charts = [FIGURES[name].chart(analysis) for name in USUAL]
    return next((chart for chart in charts if isinstance(chart, Chart)), charts[-1])


def _bench_chart(scores: Scores, figure: str | None, task: str | None) -> Chart | Absent:
    name = figure or "leaderboard"
    if name not in BENCH_FIGURES:
        raise UnknownNameError(f"No figure of a bench is called '{name}'.", suggestion(name, BENCH_FIGURES, "Figures"))
    tasks = {known_task.id: known_task for known_task in scores.tasks}
    if task is not None and task not in tasks:
        raise UnknownNameError(f"The bench has no task called '{task}'.", suggestion(task, tasks, "Tasks"))
    if not tasks:
        return Absent("no model answered anything")
    chosen = tasks[task] if task is not None else scores.tasks[0]
    kinds = BENCH_FIGURES[name].kinds
    if chosen.kind not in kinds:
        return Absent(f"it is drawn for tasks of kind {' or '.join(kinds)}, and '{chosen.id}' is of kind {chosen.kind}")
    return BENCH_FIGURES[name].chart(scores, chosen)
