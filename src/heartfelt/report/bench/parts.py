"""Agreement by part on a bench page: calibration by system, where models fail, what they are worth in ratings, and stacks."""

from __future__ import annotations

from collections.abc import Sequence

from heartfelt.report.charts import (
    Absent,
    Chart,
    Charts,
    HeatCell,
    Heatmap,
    IntervalPanels,
    Item,
    Line,
    Panels,
    PlaneChart,
    Point,
    axis,
    chart_or_reason,
    estimated_point,
)
from heartfelt.report.layout.page import Section
from heartfelt.report.layout.templates import section
from heartfelt.report.palette import COLOURS, SHAPES, distinct
from heartfelt.scoring import Scores
from heartfelt.scoring.results.parts import ON_LINE, PROBABILITIES, ModelCalibration, PartError, Stack, SystemBias
from heartfelt.scoring.results.scores import ScoringTask
from heartfelt.wording import interval, number, p_value, spaced

MOST_PANELS = 6
MOST_PARTS = 40
DIFFERS = "*"


def by_system(scores: Scores, task: ScoringTask) -> Chart | Absent:
    """Mean prediction and mean label of every system, one panel per model, with the calibration line."""
    builder = Panels()
    rows = [row for row in scores.parts.calibrations if row.task == task.id and row.systems]
    for row in rows[:MOST_PANELS]:
        builder.panels.append(_calibration_panel(row))
        builder.table += [
            {"model": row.model, "system": s.system, "prediction": s.prediction, "label": s.label.value}
            for s in row.systems
        ]
    caption = (
        "Each point is a system: its mean prediction across, its mean label up (95% intervals). On the dashed line"
        " predictions are right on average; below it the model is too high. The grey line is that of labels on predictions over"
        " all stimuli."
    )
    reason = "No model gives numbers or probabilities for two or more systems."
    return builder.chart(f"Calibration by system: {spaced(task.id)}", caption, reason)


def _calibration_panel(row: ModelCalibration) -> PlaneChart:
    systems = [_system_point(position, system) for position, system in enumerate(row.systems)]
    line = _calibration_line(row, [point.x for point in systems])
    points, slope = [*systems, *line], row.over_stimuli.slope
    ends = [value for p in points for value in (p.x, p.y, p.yl, p.yh)]
    probable = row.of == PROBABILITIES
    return PlaneChart(
        title=row.model,
        x=axis("probability given" if probable else "mean prediction", ends),
        y=axis("share right" if probable else "mean label", ends),
        points=tuple(points),
        links=((len(systems), len(systems) + 1),) if line else (),
        named=len(row.systems) <= 8,
        diagonal=True,
        note="" if slope.is_missing else f"slope {interval(slope, 2)}",
    )


def _calibration_line(row: ModelCalibration, across: list[float]) -> list[Point]:
    """The two ends of the line of labels on predictions; none where it is not known or predictions do not vary."""
    slope, intercept = row.over_stimuli.slope.value, row.over_stimuli.intercept.value
    ends = (min(across), max(across))
    if slope is None or intercept is None or row.of == ON_LINE or ends[0] >= ends[1]:
        return []
    words = f"labels = {intercept:.2f} + {slope:.2f} × prediction"
    return [
        Point(x=x, y=intercept + slope * x, label="", colour=COLOURS[6], shape=SHAPES[3], words=words) for x in ends
    ]


def _system_point(position: int, row: SystemBias) -> Point:
    words = f"{row.system}, {row.items:,} items\nbias {interval(row.bias, 2)}"
    words += f"\n{p_value(row.p_adjusted)} (Holm)" if row.p_adjusted is not None else ""
    look = {"colour": distinct(position), "shape": SHAPES[position % len(SHAPES)]}
    return estimated_point(row.prediction, row.label, label=row.system, words=words, **look)


def failures(scores: Scores, task: ScoringTask) -> Chart | Absent:
    """The error of every model in every part, beyond the noise of labels."""
    rows = [row for row in scores.parts.errors if row.task == task.id]
    builder = Panels()
    if rows:
        builder.panels.append(_failures_map(rows))
    builder.table += [
        {
            "model": row.model,
            "column": row.column,
            "value": row.value,
            "items": row.items,
            "error": row.error.value,
            "from noise": row.from_noise,
            "beyond noise": row.beyond,
            "p (Holm)": row.p_adjusted,
        }
        for row in rows
    ]
    measure, noise = "root mean squared error", "the noise of labels"
    if task.kind in ("binary", "categories"):
        measure, noise = "wrong answers", "those of labels that few votes got wrong"
    caption = (
        f"Darker is worse: {measure} beyond {noise} (the error itself where that is not known). A star marks parts"
        " that differ from the other items beyond chance (Holm over all parts shown)."
    )
    return builder.chart(f"Where models fail: {spaced(task.id)}", caption, "Errors are not given by part.")


def _failures_map(rows: Sequence[PartError]) -> Heatmap:
    parts = list(dict.fromkeys((row.column, row.value) for row in rows))[:MOST_PARTS]
    models = list(dict.fromkeys(row.model for row in rows))
    by_part = {(row.column, row.value, row.model): row for row in rows}
    cells = tuple(tuple(_part_cell(by_part.get((*part, model))) for model in models) for part in parts)
    most = max((cell.value for line in cells for cell in line if cell.value is not None), default=1.0)
    return Heatmap(
        title="",
        rows=tuple(f"{spaced(column)}: {spaced(value)}" for column, value in parts),
        columns=tuple(models),
        cells=cells,
        row_label="part",
        column_label="model",
        high=max(most, 1e-9),
    )


def _part_cell(row: PartError | None) -> HeatCell:
    if row is None:
        return HeatCell(None, "–", "")
    value = row.error.value if row.beyond is None else row.beyond
    words = f"{row.model}\n{row.column}: {row.value}, {row.items:,} items\nerror {interval(row.error, 2)}"
    words += "" if row.from_noise is None else f"\nfrom noise alone {number(row.from_noise, 2)}"
    words += "" if row.p_adjusted is None else f"\ncompared with the rest: {p_value(row.p_adjusted)} (Holm)"
    return HeatCell(value, number(value, 2) + (DIFFERS if row.differs else ""), words)


def worth(scores: Scores, task: ScoringTask) -> Chart | Absent:
    """How many ratings the answer of every model is worth."""
    items = []
    for row in scores.parts.worth:
        estimate = row.ratings
        if row.task != task.id or estimate.value is None or (row.at_least or 0.0) > estimate.value:
            continue
        note = f"at least {row.at_least:.1f} ratings; there is no upper end" if row.at_least is not None else ""
        items.append(Item(label=row.model, estimate=estimate, cells={"model": row.model}, note=note))
    drawing = IntervalPanels(letters=False)
    lines = (Line(1.0, "one rating"),)
    drawing.add("", "ratings per stimulus", items, include=(0.0,), bars=True, lines=lines)
    caption = (
        "The mean of this many new ratings of a stimulus correlates with its true value as well as the model does (failures"
        " counted; 95% intervals over stimuli and raters). A model without an interval may be as good as any number of ratings."
    )
    return drawing.chart(f"Worth in ratings: {spaced(task.id)}", caption, "No model has a worth in ratings.")


def stacks(scores: Scores, task: ScoringTask) -> Chart | Absent:
    """The best model and the combination of all, out of fold."""
    drawing = IntervalPanels()
    for row in scores.parts.stacks:
        if row.task == task.id and row.result.stack.value is not None:
            sides = (("best single model", row.result.best), ("all combined", row.result.stack))
            items = [
                Item(label=name, estimate=side, colour=COLOURS[at], cells={"what": name})
                for at, (name, side) in enumerate(sides)
            ]
            drawing.add(f"for other {row.unit}", "correlation, out of fold", items)
    caption = (
        "Weights, and which model is best, are learnt on other folds than those that are predicted. The difference of the two has"
        " its own interval, in the table: bars that overlap may still differ."
    )
    return drawing.chart(f"Models combined: {spaced(task.id)}", caption, "Fewer than two models can be combined.")


FIGURES = {"parts-worth": worth, "parts-system": by_system, "parts-failures": failures, "parts-stack": stacks}


def part_charts(scores: Scores) -> Charts:
    """The figures of every task, those without data left out."""
    charts = {
        f"{name}-{position}": chart_or_reason(name, figure, scores, task)
        for position, task in enumerate(scores.tasks)
        for name, figure in FIGURES.items()
    }
    return {name: chart for name, chart in charts.items() if isinstance(chart, Chart)}


def agreement_by_part(scores: Scores, charts: Charts | None = None) -> Section:
    """What models are worth, how they are calibrated, where they fail, and whether combining them helps."""
    parts = scores.parts
    with_errors = {row.task for row in parts.errors}
    tasks = [task for task in scores.tasks if task.id in with_errors or parts.sentences(task.id)]
    return section(
        "bench/parts",
        "parts",
        charts,
        parts=parts,
        tasks=tasks,
        figures_of=lambda task: [f"{name}-{scores.tasks.index(task)}" for name in FIGURES],
        biases_of=lambda rows: [(row.model, system) for row in rows for system in row.systems],
        weights_of=lambda rows: [(row.unit, weight) for row in rows for weight in row.result.weights],
        reasons_of=_reasons,
    )


def _reasons(row: Stack) -> str:
    return "; ".join(f"{model}: {reason}" for model, reason in row.left_out.items()) or "–"
