"""The figures of an experiment: conditions next to the ceiling, the matrix of a transfer, curves over amounts of data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from heartfelt.report.charts import (
    Absent,
    Chart,
    CurvePoint,
    Curves,
    HeatCell,
    Heatmap,
    IntervalPanels,
    Item,
    Line,
    Panel,
    Series,
    TableRow,
    axis,
    bounds,
    numbers,
)
from heartfelt.report.palette import COLOURS, SOFT
from heartfelt.stats.estimate import Estimate
from heartfelt.training.experiments.results import Ahead, Curve, Experiment, ScoreRow
from heartfelt.wording import interval, number, plural, share

FIGURE, MATRIX, LAW = "experiment", "matrix", "learning-curve"
TITLES = {
    "ablate": "Ablation",
    "mix": "Mixing data",
    "transfer": "Transfer",
    "learning-curve": "Learning curve",
    "sweep": "Sweep",
}
SCORES = {"pearson": ("Pearson r", "RMSE"), "accuracy": ("accuracy", "macro F1")}
"""The scores of numbers, and of categories."""


def experiment_charts(experiment: Experiment) -> dict[str, Chart | Absent]:
    """The figures of an experiment."""
    if experiment.kind == "learning-curve":
        return {LAW: _law(experiment)}
    if experiment.kind == "mix":
        return {FIGURE: _shares(experiment)}
    charts = {FIGURE: _intervals(experiment)}
    return {MATRIX: _matrix(experiment), **charts} if experiment.kind == "transfer" else charts


def _intervals(experiment: Experiment) -> Chart | Absent:
    """Every condition's score, and the ceiling of each part that was tested on."""
    numeric = all(row.accuracy is None for row in experiment.rows)
    builder = IntervalPanels("pearson" if numeric else "score")
    for question in experiment.questions:
        rows = [row for row in experiment.rows if row.question == question]
        items = [
            Item(
                label=row.condition,
                estimate=row.score,
                colour=COLOURS[1] if row.baseline else COLOURS[0],
                cells={"question": question, "condition": row.condition},
                note=f"{plural(round(row.training_stimuli), 'training stimulus', 'training stimuli')}, tested on {row.n:,}",
            )
            for row in rows
        ]
        items += [
            Item(
                label=f"best of {selection.variants} on its own folds",
                estimate=selection.inner_best,
                colour=COLOURS[2],
                cells={"question": question, "condition": "inner best"},
            )
            for selection in experiment.selections
            if selection.question == question
        ]
        items += _ceilings(question, rows)
        builder.add(question, SCORES[rows[0].metric][0], items, reach=(0.0, 1.0))
    return builder.chart(
        TITLES[experiment.kind],
        f"{experiment.about} 95% intervals; the ceiling is that of the labels.",
        "no score is defined",
    )


def _ceilings(question: str, rows: Sequence[ScoreRow]) -> Iterator[Item]:
    by_part = {row.tested_on: row.ceiling for row in rows}
    for part, estimate in by_part.items():
        name = "ceiling" if len(by_part) == 1 else f"ceiling: {part}"
        yield Item(label=name, estimate=estimate, colour=SOFT, cells={"question": question, "condition": name})


def _matrix(experiment: Experiment) -> Chart | Absent:
    panels: list[Panel] = []
    table: list[TableRow] = []
    parts = [source.name for source in experiment.sources]
    for question in experiment.questions:
        rows = [row for row in experiment.rows if row.question == question and not row.baseline]
        panels.append(_heatmap(question, rows, parts))
        table += [
            {
                "question": question,
                "trained_on": row.trained_on,
                "tested_on": row.tested_on,
                **numbers(row.score, row.metric),
                **numbers(row.ceiling, "ceiling", prefix="ceiling_"),
            }
            for row in rows
        ]
    if not panels:
        return Absent("no score is defined")
    return Chart(title="Trained on rows, tested on columns", caption=experiment.about, panels=panels, rows=table)


def _heatmap(question: str, rows: Sequence[ScoreRow], parts: Sequence[str]) -> Heatmap:
    """Scores by what was trained and tested on, with the ceilings below."""
    trained = list(dict.fromkeys(row.trained_on for row in rows))
    by_cell = {(row.trained_on, row.tested_on): row for row in rows}
    tops = {row.tested_on: row.ceiling for row in rows}
    ceilings = (
        HeatCell(tops[b].value, share(tops[b].value), f"ceiling of {b}: {interval(tops[b], bare=True)}") for b in parts
    )
    return Heatmap(
        title=question,
        rows=(*trained, "ceiling"),
        columns=tuple(parts),
        cells=(*(tuple(_heat(by_cell.get((a, b)), a, b) for b in parts) for a in trained), tuple(ceilings)),
        row_label="trained on",
        column_label="tested on",
        square=len(parts) <= 8,
    )


def _heat(row: ScoreRow | None, trained: str, tested: str) -> HeatCell:
    if row is None:
        return HeatCell(None, "–", f"trained on {trained}, tested on {tested}: not part of the experiment")
    words = f"trained on: {trained}\ntested on: {tested}\n{_named(row)}\nceiling {interval(row.ceiling, bare=True)}"
    return HeatCell(row.score.value, share(row.score.value), words)


def _named(row: ScoreRow) -> str:
    """A score with its symbol."""
    return f"{'r' if row.accuracy is None else 'accuracy'} = {interval(row.score, bare=True)}"


def _shares(experiment: Experiment) -> Chart | Absent:
    panels: list[Panel] = []
    table: list[TableRow] = []
    for question in experiment.questions:
        rows = [row for row in experiment.rows if row.question == question and row.level is not None]
        series = Series(SCORES[rows[0].metric][0], COLOURS[0], _points(rows, experiment.axis))
        panels.append(_curves(question, experiment, rows, (series,)))
        table += _numbers(question, experiment.axis, rows)
    return Chart(
        title=TITLES["mix"],
        caption=f"{experiment.about} Bands: 95% intervals; dashed: ceiling.",
        panels=panels,
        rows=table,
    )


def _law(experiment: Experiment) -> Chart | Absent:
    panels: list[Panel] = []
    table: list[TableRow] = []
    laws = {curve.question: curve for curve in experiment.curves if not curve.why_missing}
    for question in experiment.questions:
        rows = [row for row in experiment.rows if row.question == question and row.level is not None]
        series = [Series("measured", COLOURS[0], _points(rows, experiment.axis))]
        table += _numbers(question, experiment.axis, rows)
        curve = laws.get(question)
        if curve is not None:
            series.append(Series("power law (extrapolated)", COLOURS[1], _fitted(curve, rows)))
            table += [
                {
                    "question": question,
                    "what": "extrapolated",
                    experiment.axis: prediction.amount,
                    **numbers(prediction.score, rows[0].metric),
                }
                for prediction in curve.ahead
            ]
        panels.append(_curves(question, experiment, rows, tuple(series), curve))
    caption = (
        f"{experiment.about} Bands: 95% intervals; dashed: ceiling. Beyond the last measured point: extrapolation."
    )
    return Chart(title=TITLES["learning-curve"], caption=caption, panels=panels, rows=table)


def _points(rows: Sequence[ScoreRow], label: str) -> tuple[CurvePoint, ...]:
    return tuple(
        _point(row.level or 0.0, row.score, f"{row.condition}\n{number(row.level or 0.0, 0)} {label}\n{_named(row)}")
        for row in rows
        if row.score.value is not None
    )


def _fitted(curve: Curve, rows: Sequence[ScoreRow]) -> tuple[CurvePoint, ...]:
    """The curve at the measured amounts, and beyond them with its interval."""
    limit, scale, power = float(curve.limit), curve.scale or 0.0, curve.power or 1.0
    levels = [row.level for row in rows if row.level]
    within = [
        CurvePoint(x=level, y=limit - scale * level**-power, words=f"power law at {number(level, 0)}")
        for level in levels
    ]
    return (*within, *(_extrapolated(prediction) for prediction in curve.ahead))


def _extrapolated(prediction: Ahead) -> CurvePoint:
    words = f"extrapolated to {number(prediction.amount, 0)}\n{interval(prediction.score, bare=True)}"
    return _point(prediction.amount, prediction.score, words)


def _point(amount: float, score: Estimate, words: str) -> CurvePoint:
    low, high = bounds(score)
    return CurvePoint(x=amount, y=float(score), words=words, low=low, high=high)


def _curves(
    question: str,
    experiment: Experiment,
    rows: Sequence[ScoreRow],
    series: tuple[Series, ...],
    curve: Curve | None = None,
) -> Curves:
    every = [point for line in series for point in line.points]
    top = rows[0].ceiling.value
    tops = [limit for point in every for limit in (point.y, point.low, point.high)]
    lines = () if top is None else (Line(top, share(top)),)
    reached = None if curve is None else Line(max(row.level or 0.0 for row in rows), "all data")
    return Curves(
        title=question,
        x=axis(experiment.axis, [point.x for point in every], include=(0.0,)),
        y=axis(SCORES[rows[0].metric][0], [*tops, top]),
        series=series,
        lines=lines,
        here=reached,
    )


def _numbers(question: str, label: str, rows: Sequence[ScoreRow]) -> list[TableRow]:
    return [
        {
            "question": question,
            "what": "measured",
            label: row.level,
            **numbers(row.score, row.metric),
            **numbers(row.ceiling, "ceiling", prefix="ceiling_"),
        }
        for row in rows
    ]
