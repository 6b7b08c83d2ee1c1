"""Categories such as emotions: balance, places on the map, consistency, confusion, attributes; agreement on every field."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import polars as pl

from heartfelt.analysis import Analysis
from heartfelt.analysis.findings.categories import AttributeTable, CategoryPlace, CategoryQuestion, CoOccurrence
from heartfelt.analysis.findings.parts import ConfusionTable
from heartfelt.report.charts import (
    Absent,
    Axis,
    Cell,
    Chart,
    Dot,
    HeatCell,
    Heatmap,
    IntervalPanels,
    Item,
    Key,
    Line,
    Map,
    MapRegion,
    Panels,
    Spot,
    TableRow,
    axis,
    lettered,
    numbers,
)
from heartfelt.report.charts import confusion as confusion_panel
from heartfelt.report.figures.registry import chart_texts, figure
from heartfelt.report.palette import SOFT, colour
from heartfelt.wording import interval, number, plural, spaced, stars

MOST_POINTS = 4000
STRONGEST = 4.0
"""Attributes are shaded up to this many standard deviations from independence, up and down."""
NO_CATEGORIES = "no question asks for one of three or more categories"


def _results(analysis: Analysis) -> tuple[CategoryQuestion, ...]:
    return analysis.summary.categories or ()


def category_colours(result: CategoryQuestion) -> dict[str, str]:
    """A colour for every category; grey for what has none."""
    return {"": SOFT} | {name: colour(index) for index, name in enumerate(result.categories)}


@figure("category-balance")
def category_balance(analysis: Analysis) -> Chart | Absent:
    """One panel per question: bars with intervals, next to an even share."""
    builder = IntervalPanels("share", letters=False)
    for result in _results(analysis):
        look, items = category_colours(result), []
        for row in result.balance.rows:
            note = plural(row.n_stimuli, "stimulus", "stimuli")
            after: dict[str, Cell] = {"stimuli": row.n_stimuli}
            if row.n_intended is not None and row.intended_share is not None:
                note += f"; intended for {row.n_intended:,} ({100 * row.intended_share:.0f}%)"
                after |= {"intended": row.n_intended, "intended_share": row.intended_share}
            cells = {"question": result.question, "category": row.category}
            items.append(
                Item(
                    label=spaced(row.category),
                    estimate=row.share,
                    colour=look[row.category],
                    cells=cells,
                    note=note,
                    after=after,
                )
            )
        even = Line(1 / len(result.categories), "even")
        label = "share of stimuli with a label"
        builder.add(spaced(result.question), label, items, include=[0.0], bars=True, lines=(even,))
    return builder.chart(*chart_texts("category-balance"))


@figure("category-map")
def category_map(analysis: Analysis) -> Chart | Absent:
    """All categories on one map, then each with its stimuli."""
    panels: list[Map] = []
    table: list[TableRow] = []
    legend: dict[str, Key] = {}
    step = 1
    for result in _results(analysis):
        if len(result.axes) != 2:
            continue
        points, look = _points(analysis, result), category_colours(result)
        step = max(step, -(-points.height // MOST_POINTS))
        placed = [category_place for category_place in result.places if category_place.ellipse is not None]
        panels += _maps(analysis, result, placed, points, step)
        table += [_row(result, category_place) for category_place in placed]
        legend |= {name: Key(spaced(name), look[name], "circle", name) for name in result.categories}
    if not panels:
        reason = "no study of categories asks for valence and arousal" if _results(analysis) else NO_CATEGORIES
        return Absent(reason)
    caption = (
        "Mean ratings of the stimuli of each category. Stars are means over stimuli; an ellipse holds 95% of a category's stimuli"
        " if they are normally distributed. The first map has all categories, the others one each with its stimuli as dots."
    )
    if step > 1:
        caption += f" One in {step} stimuli is drawn; means and ellipses are over all."
    return Chart(
        title="Categories on the map", caption=caption, panels=panels, rows=table, legend=list(legend.values())
    )


def _maps(
    analysis: Analysis, result: CategoryQuestion, placed: Sequence[CategoryPlace], points: pl.DataFrame, step: int
) -> Iterator[Map]:
    """One map of all categories, and one of each with every ``step``-th of its stimuli."""
    x, y = (_scale_axis(analysis, name) for name in result.axes)
    empty = Map(title="", note="", x=x, y=y, points=(), colours=category_colours(result))
    marks = [_marks(category_place, result) for category_place in placed]
    several = len(_results(analysis)) > 1
    yield replace(
        empty,
        title=f"all: {spaced(result.question)}" if several else "all categories",
        note=plural(points.height, "stimulus", "stimuli"),
        stars=tuple(mark for mark, _ in marks),
        ellipses=tuple(shape for _, shape in marks if shape is not None),
    )
    for category_place, (mark, shape) in zip(placed, marks, strict=True):
        category, words = category_place.category, spaced(category_place.category)
        drawn = points.filter(pl.col("category") == category).gather_every(step).select("stimulus", "x", "y")
        yield replace(
            empty,
            title=words,
            note=plural(category_place.n_stimuli, "stimulus", "stimuli"),
            points=tuple(
                Dot(stimulus=stimulus, intent=words, group=category, x=round(across, 3), y=round(up, 3))
                for stimulus, across, up in drawn.iter_rows()
            ),
            stars=(mark,),
            ellipses=() if shape is None else (shape,),
        )


def _points(analysis: Analysis, result: CategoryQuestion) -> pl.DataFrame:
    """Stimuli with their category and their means on both axes."""
    labels = analysis.labels
    named = pl.col("question") == result.question
    points = labels.filter(named).select("stimulus", pl.col("answer").alias("category")).drop_nulls()
    for column, name in zip(("x", "y"), result.axes, strict=True):
        question_values = labels.filter(pl.col("question") == name).select("stimulus", pl.col("value").alias(column))
        points = points.join(question_values, on="stimulus", maintain_order="left")
    return points.drop_nulls().sort("stimulus")


def _scale_axis(analysis: Analysis, question: str) -> Axis:
    bounds = analysis.snapshot.study.scale_of(question).bounds()
    if bounds is None:
        values = analysis.labels.filter(pl.col("question") == question)["value"].drop_nulls()
        return axis(spaced(question), values.to_list())
    low, high = bounds
    return Axis(label=spaced(question), low=low, high=high, ticks=(low, (low + high) / 2, high))


def _marks(category_place: CategoryPlace, result: CategoryQuestion) -> tuple[Spot, MapRegion | None]:
    x, y = (category_place.means[name] for name in result.axes)
    words = f"{spaced(category_place.category)}: mean of {plural(category_place.n_stimuli, 'stimulus', 'stimuli')}"
    words += f"\n{spaced(result.axes[0])} {interval(x, 2)}\n{spaced(result.axes[1])} {interval(y, 2)}"
    category = category_place.category
    spot = Spot(x=x.value or 0.0, y=y.value or 0.0, group=category, words=words, label=spaced(category))
    shape = category_place.ellipse
    if shape is None or shape.semi_axes is None or shape.angle is None:
        return spot, None
    long, short = shape.semi_axes
    return spot, MapRegion(x=spot.x, y=spot.y, long=long, short=short, angle=shape.angle, group=category)


def _row(result: CategoryQuestion, category_place: CategoryPlace) -> TableRow:
    row: dict[str, Cell] = {
        "question": result.question,
        "category": category_place.category,
        "stimuli": category_place.n_stimuli,
    }
    for name in result.axes:
        row |= numbers(category_place.means[name], name, prefix=f"{name}_")
    shape = category_place.ellipse
    long, short = shape.semi_axes if shape is not None and shape.semi_axes is not None else (None, None)
    angle = None if shape is None else shape.angle
    return row | {"semi_axis_long": long, "semi_axis_short": short, "angle": angle}


@figure("category-consistency")
def category_consistency(analysis: Analysis) -> Chart | Absent:
    """Eta squared by question, and the share of answers that fit by category."""
    builder = IntervalPanels()
    for result in _results(analysis):
        explained = [
            Item(
                label=spaced(row.question),
                estimate=row.eta_squared,
                cells={"question": result.question, "figure": "eta squared", "of": row.question},
            )
            for row in result.explained
        ]
        title = f"variance explained by {spaced(result.question)}"
        builder.add(title, "eta squared", explained, include=[0.0], reach=[1.0])
        fit = result.polarity
        if fit is None:
            continue
        look = category_colours(result)
        fits = [("all", fit.share), *fit.by_category.items()]
        items = [
            Item(
                label=spaced(name),
                estimate=share,
                colour=look.get(name, SOFT),
                cells={"question": result.question, "figure": "valence on the category's side", "of": name},
            )
            for name, share in fits
        ]
        chance = (Line(0.5),)
        builder.add(
            f"{spaced(fit.question)} on the category's side", "share of answers", items, reach=[1.0], lines=chance
        )
    reason = "no question of numbers goes with the categories" if _results(analysis) else NO_CATEGORIES
    return builder.chart(*chart_texts("category-consistency", absent=reason))


@figure("category-confusion")
def category_confusion(analysis: Analysis) -> Chart | Absent:
    """One panel between raters and one for the categories recovered from valence and arousal."""
    builder = Panels()
    for result in _results(analysis):
        raters, of = result.raters, f"{spaced(result.question)}, " if len(_results(analysis)) > 1 else ""
        if raters is not None:
            title = f"{of}raters of the same stimulus"
            _confused(
                builder, result.question, title, raters.confusion, ("one rater", "another rater", "pairs of answers")
            )
        recovered = result.recovered
        if recovered is not None and recovered.confusion is not None:
            title = f"{of}recovered from the map"
            _confused(builder, result.question, title, recovered.confusion, ("label", "recovered", "stimuli"))
    return builder.chart(*chart_texts("category-confusion"))


def _confused(builder: Panels, question: str, title: str, table: ConfusionTable, labels: tuple[str, str, str]) -> None:
    names = [(spaced(name), spaced(name)) for name in table.columns]
    panel = confusion_panel(lettered(len(builder.panels), title), names, names, table.counts, labels)
    cells = tuple(
        tuple(
            HeatCell(share, "–" if share is None else f"{100 * share:.0f}%", cell.words)
            for cell, share in zip(line, shares, strict=True)
        )
        for line, shares in zip(panel.cells, table.proportions, strict=True)
    )
    builder.panels.append(replace(panel, cells=cells))
    builder.table += [
        {"question": question, "table": title, "row": row, "column": column, "count": count, "share_of_row": share}
        for row, counts, shares in zip(table.rows, table.counts, table.proportions, strict=True)
        for column, count, share in zip(table.columns, counts, shares, strict=True)
    ]


@figure("attributes")
def attributes(analysis: Analysis) -> Chart | Absent:
    """One panel per field: attributes in rows, categories in columns, shaded by lift."""
    builder = Panels()
    for result in _results(analysis):
        for table in result.attributes:
            by_cell = {(cell.attribute, cell.category): cell for cell in table.cells}
            rows = tuple(f"{name} ({count:,})" for name, count in table.attributes.items())
            cells = tuple(
                tuple(_lift(by_cell[name, category], table) for category in result.categories)
                for name in table.attributes
            )
            columns = tuple(spaced(name) for name in result.categories)
            title = lettered(len(builder.panels), spaced(table.question))
            builder.panels.append(
                Heatmap(
                    title=title,
                    rows=rows,
                    columns=columns,
                    cells=cells,
                    column_label=spaced(result.question),
                    low=-STRONGEST,
                    high=STRONGEST,
                    middle=0.0,
                )
            )
            builder.table += [_cooccurrence(table, cell) for cell in table.cells]
    reason = "no attribute was named for five or more stimuli" if _results(analysis) else NO_CATEGORIES
    return builder.chart(*chart_texts("attributes", absent=reason))


def _lift(cell: CoOccurrence, table: AttributeTable) -> HeatCell:
    size = plural(table.by_category[cell.category], "stimulus", "stimuli")
    words = f"{cell.attribute}, {spaced(cell.category)}\n{cell.n_both:,} of {size}"
    words += f", {number(cell.expected, 1)} expected"
    if cell.lift is None:
        return HeatCell(None, "–", words)
    words += f"\nlift {number(cell.lift, 2)}"
    if cell.residual is not None:
        words += f", standardised residual {number(cell.residual, 1)}"
    shade = min(max(cell.residual or 0.0, -STRONGEST), STRONGEST)
    return HeatCell(shade, f"{number(cell.lift, 1)}{stars(cell.p)[:1]}", words)


def _cooccurrence(table: AttributeTable, cell: CoOccurrence) -> TableRow:
    return {
        "field": table.question,
        "attribute": cell.attribute,
        "category": cell.category,
        "stimuli": cell.n_both,
        "expected": cell.expected,
        "lift": cell.lift,
        "residual": cell.residual,
        "p": cell.p_alone,
        "p_holm": cell.p,
    }


@figure("field-agreement")
def field_agreement(analysis: Analysis) -> Chart | Absent:
    """One row per field."""
    fields = analysis.summary.field_agreement
    if not fields:
        return Absent("no question asks for tags or is filled in by a machine first")
    builder = IntervalPanels("alpha", letters=False)
    kinds = list(dict.fromkeys(row.answers for row in fields))
    items = [
        Item(
            label=spaced(row.question),
            estimate=row.alpha,
            colour=colour(kinds.index(row.answers)),
            cells={"field": row.question, "answers": row.answers},
            note=f"{row.answers}; {plural(row.n_answers, 'answer')} to {plural(row.n_stimuli, 'stimulus', 'stimuli')}",
            after={"jaccard": None if row.jaccard is None else row.jaccard.value, "n_answers": row.n_answers},
        )
        for row in fields
    ]
    lines = (Line(0.0), Line(0.667, "tentative"), Line(0.8, "good"))
    builder.add("", "Krippendorff's alpha", items, reach=[0.0, 1.0], lines=lines)
    return builder.chart(*chart_texts("field-agreement"))
