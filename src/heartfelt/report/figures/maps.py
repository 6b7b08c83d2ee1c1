"""Maps of two questions with reference coordinates: where stimuli were perceived, and where they were meant to be."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TypeAlias

import polars as pl

from heartfelt.analysis import Analysis
from heartfelt.report.charts import (
    Absent,
    Axis,
    Chart,
    Dot,
    Map,
    MapRegion,
    Panels,
    PlaneChart,
    Point,
    Segment,
    Spot,
    estimated_point,
    lettered,
)
from heartfelt.report.charts import axis as axis_for
from heartfelt.report.figures.registry import chart_texts, figure
from heartfelt.report.layout.naming import QuadrantLook, quadrant_look, system_names
from heartfelt.report.palette import SHAPES, SOFT, colour
from heartfelt.snapshot import Snapshot
from heartfelt.stats.estimate import Estimate
from heartfelt.study import Study
from heartfelt.study.model import Question
from heartfelt.wording import interval, number, spaced

MOST_POINTS = 4000
NO_AXES = Absent("the study has no two questions with reference coordinates")


def mapped_questions(study: Study) -> tuple[Question, Question] | None:
    """The first two questions that measure an axis of the intents, if there are such."""
    axes = {axis for intent in study.intents for axis in intent.reference}
    mapped = [q for q in study.asked if q.axis in axes and study.scale_of(q.id).bounds() is not None]
    return (mapped[0], mapped[1]) if len(mapped) >= 2 else None


@figure("perceived-maps")
def perceived_maps(analysis: Analysis) -> Chart | Absent:
    """One panel per system."""
    study = analysis.snapshot.study
    pair = mapped_questions(study)
    if pair is None:
        return NO_AXES
    if not {"system", "intent"} <= set(analysis.labels.columns):
        return Absent("the stimuli have no systems and intents")
    look = quadrant_look(study)
    points = _points(analysis.labels, analysis.labels, pair, look)
    if not points.height:
        return Absent("no stimulus has labels on both axes")
    names = system_names(analysis.snapshot) | {"all": "all"}
    step = -(-points.height // MOST_POINTS)
    panels = []
    for (system,), system_points in points.group_by("system", maintain_order=True):
        panel = replace(
            _map(study, names[str(system)], system_points, pair, look, step),
            stars=_quadrant_means(system_points, names[str(system)], pair, look),
            ellipses=_ellipses(analysis, str(system)),
        )
        panels.append(panel)
    caption = (
        f"Perceived {spaced(pair[0].id)} and {spaced(pair[1].id)} of the stimuli of each system. Dots are stimuli,"
        " stars the means of a quadrant, crosses the references of its intents; an ellipse holds 95% of a quadrant's"
        " stimuli if they are normally distributed."
    )
    if step > 1:
        caption += f" One in {step} stimuli is drawn; means and ellipses are over all."
    return Chart(
        title="Intended and perceived", caption=caption, panels=panels, rows=points.to_dicts(), legend=look.legend()
    )


def _ellipses(analysis: Analysis, system: str) -> tuple[MapRegion, ...]:
    return tuple(
        MapRegion(
            x=e.centre[0], y=e.centre[1], long=e.semi_axes[0], short=e.semi_axes[1], angle=e.angle, group=e.quadrant
        )
        for e in analysis.summary.ellipses or ()
        if e.system == system and e.centre and e.semi_axes and e.angle is not None
    )


def _points(
    labels: pl.DataFrame, facts: pl.DataFrame, pair: tuple[Question, Question], look: QuadrantLook
) -> pl.DataFrame:
    """One row per stimulus with its label on both axes; ``facts`` has its system and intent."""
    spread = pl.col("sd") if "sd" in labels.columns else pl.lit(None, dtype=pl.Float64)
    points = facts.select("stimulus", "system", "intent").unique("stimulus")
    for name in (pair[0].id, pair[1].id):
        columns = {name: pl.col("value"), f"sd_{name}": spread, f"n_{name}": pl.col("n")}
        question_values = labels.filter(pl.col("question") == name).select("stimulus", **columns)
        points = points.join(question_values, on="stimulus", maintain_order="left")
    group = pl.col("intent").replace_strict(dict(look.of_intent), default=None, return_dtype=pl.String)
    return (
        points.drop_nulls([pair[0].id, pair[1].id])
        .with_columns(pl.col("system").fill_null("all"), group.alias("group"))
        .sort("system", "stimulus")
    )


def _map(
    study: Study, title: str, stimuli: pl.DataFrame, pair: tuple[Question, Question], look: QuadrantLook, step: int = 1
) -> Map:
    """The stimuli of a system, every ``step``-th of them, and a cross where each of their intents is meant to be."""
    across, up = pair[0].id, pair[1].id
    rounded = {"x": across, "y": up, "sx": f"sd_{across}", "sy": f"sd_{up}"}
    dots = stimuli.gather_every(step).select(
        "stimulus",
        "intent",
        "group",
        **{name: pl.col(column).round(3) for name, column in rounded.items()},
        nx=f"n_{across}",
        ny=f"n_{up}",
    )
    intents, crosses = set(stimuli["intent"].drop_nulls()), []
    for intent in study.intents:
        x, y = (intent.reference.get(str(question.axis)) for question in pair)
        if intent.id in intents and x is not None and y is not None:
            words = f"{intent.id}: intended\n{across} {number(x, 2)}, {up} {number(y, 2)}"
            crosses.append(Spot(x=x, y=y, group=look.of_intent.get(intent.id), words=words, label=intent.id))
    x_axis, y_axis = (_scale_axis(study, question) for question in pair)
    points = tuple(Dot(**row) for row in dots.iter_rows(named=True))
    colours = {**look.colours, "": SOFT}
    return Map(
        title=title,
        note=f"{stimuli.height} stimuli",
        x=x_axis,
        y=y_axis,
        points=points,
        colours=colours,
        crosses=tuple(crosses),
    )


def _scale_axis(study: Study, question: Question) -> Axis:
    low, high = study.scale_of(question.id).bounds() or (0.0, 1.0)
    return Axis(label=question.id, low=low, high=high, ticks=(low, (low + high) / 2, high))


def _means(
    stimuli: pl.DataFrame,
    by: str,
    pair: tuple[Question, Question],
    look: QuadrantLook,
    words: Callable[[str, int], str],
) -> tuple[Spot, ...]:
    """The mean of the stimuli of each quadrant or intent; ``words`` describe it, given its name and their number."""
    across, up = pair[0].id, pair[1].id
    means = stimuli.drop_nulls(by).group_by(by).agg(pl.mean(across, up), pl.len()).sort(by)
    spots = []
    for name, x, y, n in means.iter_rows():
        group = name if by == "group" else look.of_intent.get(name)
        text = f"{words(name, n)}\n{across} {number(x, 2)}, {up} {number(y, 2)}"
        spots.append(Spot(x=x, y=y, group=group, words=text, label=name))
    return tuple(spots)


def _quadrant_means(
    stimuli: pl.DataFrame, system: str, pair: tuple[Question, Question], look: QuadrantLook
) -> tuple[Spot, ...]:
    def words(group: str, n: int) -> str:
        return f"{system}, {look.name(group)}\nmean of {n} stimuli"

    return _means(stimuli, "group", pair, look, words)


@figure("deviation-maps")
def deviation_maps(analysis: Analysis) -> Chart | Absent:
    """A panel of systems and one of quadrants."""
    pair = mapped_questions(analysis.snapshot.study)
    if pair is None:
        return NO_AXES
    across, up = pair[0].id, pair[1].id
    look, names = quadrant_look(analysis.snapshot.study), system_names(analysis.snapshot)
    quadrants = analysis.summary.quadrants
    systems = {(row.system, row.question): row.means.deviation for row in analysis.summary.systems or ()}
    groups = {(row.quadrant, row.question): row.deviation for row in (quadrants.by_quadrant if quadrants else ())}
    builder = Panels()
    parts: dict[str, tuple[_Deviations, _LookOf]] = {
        "systems": (systems, lambda index, key: (names[key], names[key], colour(index))),
        "quadrants": (groups, lambda _, key: (look.short(key), look.name(key), look.colour(key))),
    }
    for part, (deviations, look_of) in parts.items():
        points = _deviation_points(deviations, across, up, look_of)
        if points:
            title = lettered(len(builder.panels), part)
            x_axis, y_axis = _square(points, across, up)
            builder.panels.append(
                PlaneChart(title=title, x=x_axis, y=y_axis, points=tuple(points), arrows=True, equal=True, named=True)
            )
        builder.table += [
            {
                "part": part,
                "name": point.label,
                across: point.x,
                f"{across}_low": point.xl,
                f"{across}_high": point.xh,
                up: point.y,
                f"{up}_low": point.yl,
                f"{up}_high": point.yh,
            }
            for point in points
        ]
    return builder.chart(*chart_texts("deviation-maps", across=spaced(across), up=spaced(up)))


_Deviations: TypeAlias = Mapping[tuple[str, str], Estimate]
"""Deviations of systems or quadrants, by id and question."""
_LookOf: TypeAlias = Callable[[int, str], tuple[str, str, str]]
"""The label, name and colour of a system or quadrant, given its place and id."""


def _deviation_points(deviations: _Deviations, across: str, up: str, look_of: _LookOf) -> list[Point]:
    """A point for what has deviations on both axes."""
    points = []
    for index, key in enumerate(dict.fromkeys(key for key, question in deviations if question in (across, up))):
        x, y = deviations.get((key, across)), deviations.get((key, up))
        if x is None or y is None or x.value is None or y.value is None:
            continue
        label, name, shade = look_of(index, key)
        words = f"{name}\n{across} {interval(x, 2)}\n{up} {interval(y, 2)}"
        points.append(estimated_point(x, y, label=label, colour=shade, shape=SHAPES[index % 4], words=words))
    return points


def _square(points: list[Point], across: str, up: str) -> tuple[Axis, Axis]:
    """Both axes of one width, with the origin in view."""
    x = axis_for(f"{across} deviation", [v for p in points for v in (p.x, p.xl, p.xh, 0.0)], pad=0.2)
    y = axis_for(f"{up} deviation", [v for p in points for v in (p.y, p.yl, p.yh, 0.0)], pad=0.2)
    half = max(x.high - x.low, y.high - y.low) / 2

    def widened(side: Axis) -> Axis:
        middle = (side.low + side.high) / 2
        return axis_for(side.label, [middle - half, middle + half], pad=0.0, lines=(0.0,))

    return widened(x), widened(y)


def intent_maps(snapshot: Snapshot, labels: pl.DataFrame, origin: str = "perceived") -> Chart | None:
    """One map per system with a line from where each intent is meant to be to the mean of its stimuli.

    ``labels`` has ``stimulus``, ``question``, ``value``, ``n`` and perhaps ``sd``; ``origin`` is what they are (perceived,
    predicted). None where the study has no two questions with reference coordinates, or the stimuli no systems and intents.
    """
    study = snapshot.study
    pair = mapped_questions(study)
    if pair is None or not {"system", "intent"} <= set(snapshot.stimuli.columns):
        return None
    look, names = quadrant_look(study), system_names(snapshot)

    def words(intent: str, n: int) -> str:
        return f"{intent}: {origin}, mean of {n} stimuli"

    points = _points(labels, snapshot.stimuli.drop_nulls("system"), pair, look)
    panels = []
    for (system,), system_points in points.group_by("system", maintain_order=True):
        panel = _map(study, names[str(system)], system_points, pair, look)
        intended = {cross.label: cross for cross in panel.crosses}
        means = _means(system_points, "intent", pair, look, words)
        lines = tuple(
            Segment(x1=intended[mean.label].x, y1=intended[mean.label].y, x2=mean.x, y2=mean.y, group=mean.group)
            for mean in means
            if mean.label in intended
        )
        panels.append(replace(panel, means=means, lines=lines))
    if not panels:
        return None
    key = f"✕ intended   ● {origin} mean of an intent   · one stimulus (select it to hear or see it)"
    return Chart(title=f"Intended and {origin}", caption="", panels=panels, rows=(), legend=look.legend(), key=key)
