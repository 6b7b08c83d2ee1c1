"""Maps of two questions with reference coordinates: where stimuli were perceived, and where they were meant to be."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import polars as pl

from heartfelt.analysis import Analysis
from heartfelt.report.charts import (
    Absent,
    Axis,
    Cell,
    Chart,
    Dot,
    Ellipse,
    Map,
    Plane,
    Point,
    Segment,
    Spot,
    bounds,
    lettered,
)
from heartfelt.report.charts import axis as axis_for
from heartfelt.report.figures.registry import figure
from heartfelt.report.naming import QuadrantLook, quadrant_look, system_names
from heartfelt.report.palette import SHAPES, SOFT, colour
from heartfelt.snapshot import Snapshot
from heartfelt.stats.estimate import Estimate
from heartfelt.study import Study
from heartfelt.study.model import Question
from heartfelt.wording import interval, number, spaced

MOST_POINTS = 4000
ALL = "all"
NO_AXES = Absent("the study has no two questions with reference coordinates")


def mapped_questions(study: Study) -> tuple[Question, Question] | None:
    """The first two questions that measure an axis of the intents, if there are such."""
    axes = {axis for intent in study.intents for axis in intent.reference}
    mapped = [q for q in study.asked if q.axis in axes and study.scale_of(q.id).bounds() is not None]
    return (mapped[0], mapped[1]) if len(mapped) >= 2 else None


def _axis(study: Study, question: Question) -> Axis:
    """The axis of a question: its scale from end to end."""
    low, high = study.scale_of(question.id).bounds() or (0.0, 1.0)
    return Axis(question.id, low, high, (low, (low + high) / 2, high))


def _references(
    study: Study, intents: set[str], pair: tuple[Question, Question], look: QuadrantLook
) -> tuple[Spot, ...]:
    """A cross where each of the intents is meant to be."""
    across, up = pair
    spots = []
    for intent in study.intents:
        if intent.id in intents and {across.axis, up.axis} <= set(intent.reference):
            x, y = intent.reference[str(across.axis)], intent.reference[str(up.axis)]
            words = f"{intent.id}: intended\n{across.id} {number(x, 2)}, {up.id} {number(y, 2)}"
            spots.append(Spot(x, y, look.of_intent.get(intent.id), words, intent.id))
    return tuple(spots)


@figure("perceived-maps", "one map per system: stimuli, quadrant means, references and 95% ellipses")
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
    step = -(-points.height // MOST_POINTS)
    panels = [
        _panel(analysis, str(system), mine, pair, step)
        for (system,), mine in points.group_by("system", maintain_order=True)
    ]
    caption = (
        f"Perceived {spaced(pair[0].id)} and {spaced(pair[1].id)} of the stimuli of each system. Dots are stimuli,"
        " stars the means of a quadrant, crosses the references of its intents; an ellipse holds 95% of a quadrant's"
        " stimuli if they are normally distributed."
    )
    if step > 1:
        caption += f" One in {step} stimuli is drawn; means and ellipses are over all."
    return Chart("Intended and perceived", caption, panels, points.to_dicts(), look.legend())


def _points(
    labels: pl.DataFrame, facts: pl.DataFrame, pair: tuple[Question, Question], look: QuadrantLook
) -> pl.DataFrame:
    """One row per stimulus with its label on both axes; ``facts`` has its system and intent."""
    spread = pl.col("sd") if "sd" in labels.columns else pl.lit(None, dtype=pl.Float64)
    points = facts.select("stimulus", "system", "intent").unique("stimulus")
    for question in pair:
        name = question.id
        own = labels.filter(pl.col("question") == name).select(
            "stimulus",
            pl.col("value").alias(name),
            spread.alias(f"sd_{name}"),
            pl.col("n").alias(f"n_{name}"),
        )
        points = points.join(own, on="stimulus")
    group = pl.col("intent").replace_strict(dict(look.of_intent), default=None, return_dtype=pl.String)
    return (
        points.drop_nulls([pair[0].id, pair[1].id])
        .with_columns(pl.col("system").fill_null(ALL), group.alias("group"))
        .sort("system", "stimulus")
    )


def _dots(mine: pl.DataFrame, pair: tuple[Question, Question]) -> tuple[Dot, ...]:
    across, up = pair[0].id, pair[1].id
    dots = mine.select(
        "stimulus",
        "intent",
        "group",
        pl.col(across).round(3).alias("x"),
        pl.col(up).round(3).alias("y"),
        pl.col(f"sd_{across}").round(3).alias("sx"),
        pl.col(f"sd_{up}").round(3).alias("sy"),
        pl.col(f"n_{across}").alias("nx"),
        pl.col(f"n_{up}").alias("ny"),
    )
    return tuple(Dot(**row) for row in dots.iter_rows(named=True))


def _mean_spots(
    mine: pl.DataFrame,
    by: str,
    pair: tuple[Question, Question],
    look: QuadrantLook,
    words: Callable[[str, int], str],
) -> tuple[Spot, ...]:
    """The mean of the stimuli of each quadrant or intent; ``words`` describe it, given its name and their number."""
    across, up = pair[0].id, pair[1].id
    means = mine.drop_nulls(by).group_by(by).agg(pl.mean(across, up), pl.len().alias("n")).sort(by)
    spots = []
    for row in means.iter_rows(named=True):
        name, x, y = row[by], row[across], row[up]
        group = name if by == "group" else look.of_intent.get(name)
        text = f"{words(name, row['n'])}\n{across} {number(x, 2)}, {up} {number(y, 2)}"
        spots.append(Spot(x, y, group, text, name))
    return tuple(spots)


def _panel(
    analysis: Analysis, system: str, mine: pl.DataFrame, pair: tuple[Question, Question], step: int
) -> Map:
    study, look = analysis.snapshot.study, quadrant_look(analysis.snapshot.study)
    label = system if system == ALL else system_names(analysis).get(system, system)
    stars = _mean_spots(
        mine, "group", pair, look, lambda group, n: f"{label}, {look.name(group)}\nmean of {n} stimuli"
    )
    return Map(
        label,
        f"{mine.height} stimuli",
        _axis(study, pair[0]),
        _axis(study, pair[1]),
        _dots(mine.gather_every(step), pair),
        {**look.colours, "": SOFT},
        crosses=_references(study, set(mine["intent"].drop_nulls()), pair, look),
        stars=stars,
        ellipses=tuple(
            Ellipse(*e.centre, *e.semi_axes, e.angle, e.quadrant)
            for e in analysis.summary.ellipses or ()
            if e.system == system and e.centre and e.semi_axes and e.angle is not None
        ),
    )


@figure(
    "deviation-maps",
    "mean deviation from the reference per system (a) and per quadrant (b) in two dimensions",
)
def deviation_maps(analysis: Analysis) -> Chart | Absent:
    """A panel of systems and one of quadrants."""
    pair = mapped_questions(analysis.snapshot.study)
    if pair is None:
        return NO_AXES
    across, up = pair[0].id, pair[1].id
    look, names = quadrant_look(analysis.snapshot.study), system_names(analysis)
    quadrants = analysis.summary.quadrants
    by_system = ((row.system, row.question, row.means.deviation) for row in analysis.summary.systems or ())
    by_quadrant = (
        (row.quadrant, row.question, row.deviation) for row in (quadrants.by_quadrant if quadrants else ())
    )
    systems, groups = _deviations(by_system, across, up), _deviations(by_quadrant, across, up)
    parts = {
        "systems": [
            _point(names.get(key, key), names.get(key, key), colour(place), place, both, (across, up))
            for place, (key, both) in enumerate(systems.items())
        ],
        "quadrants": [
            _point(look.short(key), look.name(key), look.colour(key), place, both, (across, up))
            for place, (key, both) in enumerate(groups.items())
        ],
    }
    panels: list[Plane] = []
    table: list[dict[str, Cell]] = []
    for title, points in parts.items():
        known = [point for point in points if point is not None]
        if known:
            x, y = _square(known, across, up)
            panels.append(
                Plane(lettered(len(panels), title), x, y, tuple(known), arrows=True, equal=True, named=True)
            )
            table += [_row(title, point, across, up) for point in known]
    if not panels:
        return Absent("no deviation from a reference could be computed")
    caption = (
        f"Mean deviation of perceived from intended {spaced(across)} and {spaced(up)}, per system and per quadrant of"
        " the intents, with 95% intervals. The origin is what was intended."
    )
    return Chart("Deviation from what was intended", caption, panels, table)


def _deviations(
    rows: Iterable[tuple[str, str, Estimate]], across: str, up: str
) -> dict[str, dict[str, Estimate]]:
    """The deviations on both axes, by name."""
    out: dict[str, dict[str, Estimate]] = {}
    for name, question, deviation in rows:
        if question in (across, up):
            out.setdefault(name, {})[question] = deviation
    return out


def _point(
    label: str, name: str, shade: str, place: int, both: Mapping[str, Estimate], axes: tuple[str, str]
) -> Point | None:
    x, y = both.get(axes[0]), both.get(axes[1])
    if x is None or y is None or x.value is None or y.value is None:
        return None
    words = f"{name}\n{axes[0]} {interval(x, 2)}\n{axes[1]} {interval(y, 2)}"
    return Point(x.value, y.value, label, shade, SHAPES[place % 4], words, *bounds(x), *bounds(y))


def _row(part: str, point: Point, across: str, up: str) -> dict[str, Cell]:
    return {
        "part": part,
        "name": point.label,
        across: point.x,
        f"{across}_low": point.xl,
        f"{across}_high": point.xh,
        up: point.y,
        f"{up}_low": point.yl,
        f"{up}_high": point.yh,
    }


def _square(points: list[Point], across: str, up: str) -> tuple[Axis, Axis]:
    """Both axes of one width, with the origin in view."""
    x = axis_for(f"{across} deviation", [v for p in points for v in (p.x, p.xl, p.xh, 0.0)], pad=0.2)
    y = axis_for(f"{up} deviation", [v for p in points for v in (p.y, p.yl, p.yh, 0.0)], pad=0.2)
    half = max(x.high - x.low, y.high - y.low) / 2
    middles = ((x.low + x.high) / 2, (y.low + y.high) / 2)
    first, second = (
        axis_for(row.label, [middle - half, middle + half], pad=0.0, lines=(0.0,))
        for row, middle in zip((x, y), middles, strict=True)
    )
    return first, second


def intent_maps(snapshot: Snapshot, labels: pl.DataFrame, origin: str = "perceived") -> Chart | None:
    """One map per system with a line from where each intent is meant to be to the mean of its stimuli.

    ``labels`` has ``stimulus``, ``question``, ``value``, ``n`` and perhaps ``sd``; ``origin`` is what they are (perceived,
    predicted). None where the study has no two questions with reference coordinates, or the stimuli no systems and intents.
    """
    study = snapshot.study
    pair = mapped_questions(study)
    if pair is None or not {"system", "intent"} <= set(snapshot.stimuli.columns):
        return None
    look = quadrant_look(study)
    names = {system.id: system.name or system.id for system in study.systems}
    points = _points(labels, snapshot.stimuli.drop_nulls("system"), pair, look)
    panels = []
    for (system,), mine in points.group_by("system", maintain_order=True):
        crosses = _references(study, set(mine["intent"].drop_nulls()), pair, look)
        means = _mean_spots(
            mine, "intent", pair, look, lambda intent, n: f"{intent}: {origin}, mean of {n} stimuli"
        )
        intended = {cross.label: cross for cross in crosses}
        lines = [
            Segment(intended[mean.label].x, intended[mean.label].y, mean.x, mean.y, mean.group)
            for mean in means
            if mean.label in intended
        ]
        panels.append(
            Map(
                names.get(str(system), str(system)),
                f"{mine.height} stimuli",
                _axis(study, pair[0]),
                _axis(study, pair[1]),
                _dots(mine, pair),
                {**look.colours, "": SOFT},
                crosses=crosses,
                means=means,
                lines=tuple(lines),
            )
        )
    if not panels:
        return None
    key = f"✕ intended   ● {origin} mean of an intent   · one stimulus (select it to hear or see it)"
    return Chart(f"Intended and {origin}", "", panels, (), look.legend(), key)
