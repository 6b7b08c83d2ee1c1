"""The figures of a bench: leaderboards below their ceiling, shares of it, scatter, confusion, calibration."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
import polars as pl

from heartfelt.report.charts import (
    Absent,
    Axis,
    Chart,
    IntervalPanels,
    Intervals,
    Item,
    Line,
    Panels,
    PlaneChart,
    Point,
    axis,
    chart_or_reason,
    estimated_point,
)
from heartfelt.report.charts import confusion as confusion_panel
from heartfelt.report.figures.answers import tied_runs
from heartfelt.report.palette import COLOURS, SHAPES, colour
from heartfelt.scoring import Scores
from heartfelt.scoring.results.details import BinaryDetails, CategoryDetails, ChoiceDetails, ModelDetails
from heartfelt.scoring.results.metrics import Kind
from heartfelt.scoring.results.scores import ModelRank, ScoringTask
from heartfelt.stats.comparison.predicted.recalibration import ChoiceCalibration
from heartfelt.stats.prediction.probability import Calibration
from heartfelt.streams import stream
from heartfelt.wording import interval, number, spaced

MOST_POINTS = 1200
MOST_PANELS = 6
NO_CHANCE = "does not beat chance"
_OVER = {
    "choices": "raters and pairs",
    "strengths": "stimuli, or over systems where only these have strengths",
    "traces": "stimuli and raters",
}
"""What intervals of a headline are over, where it is not stimuli."""
ChartOf: TypeAlias = Callable[[Scores, ScoringTask], Chart | Absent]


@dataclass(frozen=True, slots=True)
class BenchFigure:
    """A figure of one task of a bench, for tasks of some kinds."""

    chart: ChartOf
    kinds: tuple[Kind, ...]


def rank_text(rank: ModelRank) -> str:
    """``2``, or ``1–3`` where the data leave it open; a dash, or ``does not beat chance``, for a model without a rank."""
    return NO_CHANCE if rank.below_chance else rank.words


def _labelled(rank: ModelRank) -> str:
    return rank.model + (f" ({NO_CHANCE})" if rank.below_chance else "")


def leaderboard(scores: Scores, task: ScoringTask, colours: Mapping[str, str] | None = None) -> Chart | Absent:
    """Models in order of the headline, below the ceiling; those next to one bar do not differ significantly.

    ``colours`` of models, by name, are by default in the order of the scores.
    """
    colours = colours or {model: colour(index) for index, model in enumerate(scores.models)}
    items, ties = [], {}
    for rank in scores.ranked(task.id):
        estimate = scores.headline(task.id, rank.model)
        if estimate.value is None:
            continue
        ties[rank.model] = tied = scores.tied_with(task.id, rank.model) if rank.place else []
        done, count = scores.answered(task.id, rank.model)
        note = _rank_note(rank, done, count, tied)
        shade, cells = colours[rank.model], {"model": rank.model, "rank": rank_text(rank)}
        after = {"answered": done, "items": count}
        items.append(Item(label=_labelled(rank), estimate=estimate, colour=shade, cells=cells, note=note, after=after))
    levels = {"chance": scores.chance, "one rater": scores.one_rater, "ceiling": scores.ceiling}
    lines = [Line(level.value, label) for label, of in levels.items() if (level := of(task.id)).value is not None]
    title = scores.metric_title(task.headline)
    builder = IntervalPanels(letters=False)
    builder.add("", title, items, lines=tuple(lines), ties=tied_runs(ties))
    builder.panels = [
        replace(panel, lines=_joined_labels(panel)) for panel in builder.panels if isinstance(panel, Intervals)
    ]
    caption = (
        f"{title[:1].upper()}{title[1:]} of each model over all items, failed and missing predictions counted, with 95%"
        f" intervals over {_OVER.get(task.kind, 'stimuli')}. Models next to the same grey bar do not differ"
        " significantly (paired, Holm's correction); a model that does not beat chance has no rank."
    )
    reason = f"No model has a score on {spaced(task.id)}."
    return builder.chart(f"Leaderboard: {spaced(task.id)}", caption, reason)


def _rank_note(rank: ModelRank, done: int, count: int, tied: Sequence[str]) -> str:
    note = f"rank {rank_text(rank)}" if rank.place else f"not ranked: {rank.why_none}"
    note += f"\nanswered {number(done)} of {number(count)} items"
    return note + (f"\ndoes not differ significantly from {', '.join(tied)} (Holm)" if tied else "")


def _joined_labels(panel: Intervals) -> tuple[Line, ...]:
    """The lines in order; those whose labels would overlap share one label."""
    width = 0.12 * (panel.value.high - panel.value.low)
    out: list[Line] = []
    for line in sorted(panel.lines, key=lambda line: line.at):
        if out and line.at - out[-1].at < width:
            line = replace(line, label=f"{out[-1].label} | {line.label}")
            out[-1] = replace(out[-1], label="")
        out.append(line)
    return tuple(out)


def shares(scores: Scores, task: ScoringTask) -> Chart | Absent:
    """How much of the way from chance to the ceiling each model covers, as bars."""
    items = [
        Item(
            label=_labelled(rank),
            estimate=scores.headline(task.id, rank.model, "of_ceiling"),
            cells={"model": rank.model},
        )
        for rank in scores.ranked(task.id)
    ]
    builder = IntervalPanels(letters=False)
    label, lines = "share of the way from chance to the ceiling", (Line(0.0, "chance"), Line(1.0, "ceiling"))
    builder.add("", label, items, include=(0.0, 1.0), bars=True, lines=lines)
    caption = (
        "(Score − chance) / (ceiling − chance), failures counted: 0 is chance, 1 is the best that can be expected against"
        " these labels. The interval includes the uncertainty of score and ceiling."
    )
    reason = f"No model's share of the way to the ceiling is known for {spaced(task.id)}."
    return builder.chart(f"From chance to the ceiling: {spaced(task.id)}", caption, reason)


def scatter(scores: Scores, task: ScoringTask) -> Chart | Absent:
    """Label against prediction, one panel per model; every point plays."""
    predicted = pl.coalesce("code", "score").alias("predicted")
    rows = scores.rows.filter((pl.col("task") == task.id) & pl.col("answered")).with_columns(predicted)
    builder = Panels()
    for rank in scores.ranked(task.id)[:MOST_PANELS]:
        shown = model_rows = rows.filter((pl.col("model") == rank.model) & pl.col("predicted").is_finite())
        if not model_rows.height:
            continue
        if model_rows.height > MOST_POINTS:
            draw = stream(scores.options.seed, "report", "scatter")
            shown = model_rows[np.sort(draw.choice(model_rows.height, MOST_POINTS, replace=False))]
        on_scale = task.kind == "numbers" and bool(model_rows["code"].is_not_null().all())
        across, up = model_rows["predicted"].to_list(), model_rows["truth"].to_list()
        points = []
        for name, x, y, *facts in shown.select("stimulus", "predicted", "truth", "system", "intent").iter_rows():
            words = f"{name}\nlabel {number(y, 2)}, prediction {number(x, 2)}"
            words += "".join(f"\n{fact}" for fact in facts if fact)
            points.append(Point(x=x, y=y, label="", colour=COLOURS[0], shape=SHAPES[0], words=words, stimulus=name))
            builder.table.append({"model": rank.model, "stimulus": name, "prediction": x, "label": y})
        if on_scale:
            across = up = [*across, *up]
        left_out = model_rows.height > shown.height
        panel = PlaneChart(
            title=rank.model,
            x=axis("prediction", across),
            y=axis("label", up),
            points=tuple(points),
            diagonal=on_scale,
            note=f"{number(shown.height)} of {number(model_rows.height)} items" if left_out else "",
        )
        builder.panels.append(panel)
    caption = (
        "Each point is an item: the model's prediction across, the raters' label up. Select one to hear or see it."
    )
    reason = f"No model gave a number for {spaced(task.id)}."
    return builder.chart(f"Prediction and label: {spaced(task.id)}", caption, reason)


def confusion(scores: Scores, task: ScoringTask) -> Chart | Absent:
    """Each model's predictions by label."""
    builder = Panels()
    for model in scores.models[:MOST_PANELS]:
        details = scores.details[task.id].models.get(model)
        if not isinstance(details, BinaryDetails | CategoryDetails) or not any(map(sum, details.confusion.matrix)):
            continue
        names, matrix = [spaced(str(name)) for name in details.confusion.categories], details.confusion.matrix
        named = [(name, name) for name in names]
        builder.panels.append(confusion_panel(model, named, named, matrix, ("label", "prediction", "items")))
        for name, counts in zip(names, matrix, strict=True):
            for prediction, count in zip(names, counts, strict=True):
                share = count / sum(counts) if sum(counts) else None
                builder.table.append(
                    {"model": model, "label": name, "said": prediction, "items": count, "share": share}
                )
    caption = "Share of the items with each label (rows) by the model's prediction (columns), over answered items."
    return builder.chart(f"Label and prediction: {spaced(task.id)}", caption, "No model answered any item.")


def calibration(scores: Scores, task: ScoringTask) -> Chart | Absent:
    """Of the cases given a probability, the share that came true."""
    builder = Panels()
    ends = Axis(label="probability given", low=-0.03, high=1.03, ticks=(0.0, 0.25, 0.5, 0.75, 1.0))
    for model in scores.models[:MOST_PANELS]:
        details = scores.details[task.id].models.get(model)
        found_calibration = _calibration_of(details)
        points = () if found_calibration is None else _calibration_points(found_calibration)
        if found_calibration is not None and points:
            links = tuple((index, index + 1) for index in range(len(points) - 1))
            up, note = replace(ends, label="share true"), f"error {interval(found_calibration.error)}"
            builder.panels.append(
                PlaneChart(title=model, x=ends, y=up, points=points, links=links, equal=True, diagonal=True, note=note)
            )
        builder.table += [{"model": model, "probability": p.x, "share_true": p.y} for p in points]
    caption = "On the dashed line, probabilities match the observed shares. Bars are 95% intervals of the share."
    reason = "No model gives probabilities, so there is no calibration to show."
    return builder.chart(f"Calibration: {spaced(task.id)}", caption, reason)


def _calibration_of(details: ModelDetails | None) -> Calibration | None:
    if isinstance(details, BinaryDetails) and isinstance(details.calibration, Calibration):
        return details.calibration
    if isinstance(details, ChoiceDetails) and isinstance(details.choice_calibration, ChoiceCalibration):
        return details.choice_calibration.table
    return None


def _calibration_points(calibration: Calibration) -> tuple[Point, ...]:
    points = []
    for row in calibration.bins:
        if row.count and row.mean_probability is not None and row.share_true.value is not None:
            words = f"given {number(row.mean_probability, 2)} on average\ntrue: {interval(row.share_true, 2)}"
            words += f"\n{row.count:,} items"
            look = {"label": "", "colour": COLOURS[0], "shape": SHAPES[0]}
            points.append(estimated_point(row.mean_probability, row.share_true, words=words, **look))
    return tuple(points)


EVERY: tuple[Kind, ...] = ("numbers", "binary", "categories", "ordinal", "text", "choices", "strengths", "traces")
BENCH_FIGURES: dict[str, BenchFigure] = {
    "leaderboard": BenchFigure(leaderboard, EVERY),
    "shares": BenchFigure(shares, EVERY),
    "scatter": BenchFigure(scatter, ("numbers", "strengths")),
    "confusion": BenchFigure(confusion, ("binary", "categories")),
    "calibration": BenchFigure(calibration, ("binary", "choices")),
}


def bench_charts(scores: Scores, names: Sequence[str] = tuple(BENCH_FIGURES)) -> dict[str, Chart | Absent]:
    """The named figures of every task, each under its name and the task's place."""
    return {
        f"{name}-{index}": chart_or_reason(name, BENCH_FIGURES[name].chart, scores, task)
        for index, task in enumerate(scores.tasks)
        for name in names
        if task.kind in BENCH_FIGURES[name].kinds
    }
