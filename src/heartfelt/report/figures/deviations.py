"""How far stimuli are from what was intended: by system, by quadrant, by both, and how far systems pull to neutral."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from heartfelt.analysis import Analysis
from heartfelt.analysis.findings.parts import ConfusionTable, PairDifference, QuadrantMeans
from heartfelt.analysis.systems.effects import ADJUSTED, ONE_WAY
from heartfelt.report.charts import (
    Absent,
    Bracket,
    Chart,
    HeatCell,
    Heatmap,
    IntervalPanels,
    Item,
    Line,
    Panels,
    confusion,
    lettered,
    numbers,
)
from heartfelt.report.figures.registry import chart_texts, figure
from heartfelt.report.layout.naming import QuadrantLook, quadrant_look, questions, system_names, why_missing
from heartfelt.report.palette import INK, colour
from heartfelt.wording import interval, number, p_value, plural, spaced, stars

MARKS = 3


def brackets(
    analysis: Analysis, outcome: str, deviation: str, factor: str, names: Mapping[str, str]
) -> tuple[Bracket, ...]:
    """The three significant pairs that differ least, by the test of the model that compares them where there is one.

    ``names`` are the rows of the panel in order: what each is called, by id.
    """
    row_of = {key: at for at, key in enumerate(names)}
    pairs = [
        pair
        for pair in analysis.summary.pairwise or ()
        if (pair.outcome, pair.deviation, pair.factor) == (outcome, deviation, factor)
        and {pair.a, pair.b} <= set(names)
        and pair.difference.value is not None
    ]
    marks = []
    for pair in sorted(_significant(pairs), key=lambda pair: abs(float(pair.difference)))[:MARKS]:
        a, b = sorted((row_of[pair.a], row_of[pair.b]))
        size = number(abs(float(pair.difference)), 2)
        words = f"{names[pair.a]} and {names[pair.b]} differ by {size}\n{p_value(pair.p)}, {pair.method}"
        marks.append(Bracket(a, b, stars(pair.p), words))
    return tuple(marks)


def _significant(pairs: Sequence[PairDifference]) -> list[PairDifference]:
    """The pairs that differ by the first of the tests there are."""
    families = list(dict.fromkeys((pair.method, pair.model) for pair in pairs))
    first = min(families, key=lambda family: (family[0] != ADJUSTED, family[0] != ONE_WAY), default=None)
    return [pair for pair in pairs if pair.significant and (pair.method, pair.model) == first]


def _with_deviation(rows: Sequence[QuadrantMeans], question: str) -> list[QuadrantMeans]:
    return [row for row in rows if row.question == question and row.absolute_deviation.value is not None]


@figure("deviation-by-system")
def deviation_by_system(analysis: Analysis) -> Chart | Absent:
    """One panel per question with references."""
    names = system_names(analysis.snapshot)
    builder = IntervalPanels("deviation")
    for question in questions(analysis):
        question_rows = [row for row in analysis.summary.systems or () if row.question == question]
        deviating = [row for row in question_rows if row.means.deviation.value is not None]
        items = []
        for row in deviating:
            counts = f"{plural(row.means.n_stimuli, 'stimulus', 'stimuli')}, {plural(row.means.n_ratings, 'rating')}"
            cells = {"question": question, "system": row.system}
            shade = colour(len(builder.panels))
            items.append(
                Item(label=names[row.system], estimate=row.means.deviation, colour=shade, cells=cells, note=counts)
            )
        marks = brackets(analysis, question, "signed", "system", {s.system: names[s.system] for s in deviating})
        builder.add(question, f"{question} deviation", items, lines=(Line(0.0),), brackets=marks)
    return builder.chart(*chart_texts("deviation-by-system"))


@figure("absolute-deviation-by-quadrant")
def absolute_deviation_by_quadrant(analysis: Analysis) -> Chart | Absent:
    """One panel per question with references: which intents are conveyed best."""
    look = quadrant_look(analysis.snapshot.study)
    quadrants = analysis.summary.quadrants
    builder = IntervalPanels("absolute_deviation")
    for question in questions(analysis):
        question_rows = _with_deviation(quadrants.by_quadrant if quadrants else (), question)
        by_group = {row.quadrant: row.absolute_deviation for row in question_rows}
        order = sorted(by_group, key=lambda group: look.ids.index(group) if group in look.ids else len(look.ids))
        items = []
        for group in order:
            cells = {"question": question, "quadrant": group}
            items.append(
                Item(
                    label=look.short(group),
                    estimate=by_group[group],
                    colour=look.colour(group),
                    cells=cells,
                    note=look.name(group),
                )
            )
        marks = brackets(analysis, question, "absolute", "quadrant", {g: look.short(g) for g in order})
        builder.add(question, f"absolute {question} deviation", items, include=[0.0], brackets=marks)
    short = [f"{look.short(g)} {look.name(g)}" for g in look.ids if look.short(g) != look.name(g)]
    meaning = f" ({'; '.join(short)})" if short else ""
    return builder.chart(*chart_texts("absolute-deviation-by-quadrant", meaning=meaning))


@figure("absolute-deviation-by-system-and-quadrant")
def absolute_deviation_by_system_and_quadrant(analysis: Analysis) -> Chart | Absent:
    """One panel per question: systems in rows, quadrants in columns."""
    look, names = quadrant_look(analysis.snapshot.study), system_names(analysis.snapshot)
    quadrants = analysis.summary.quadrants
    builder = Panels()
    for question in questions(analysis):
        question_rows = _with_deviation(quadrants.by_system_quadrant if quadrants else (), question)
        by_cell = {(row.system, row.quadrant): row for row in question_rows}
        heatmap = _deviation_heatmap(lettered(len(builder.panels), question), by_cell, names, look)
        if heatmap is None:
            continue
        builder.panels.append(heatmap)
        builder.table += [
            {
                "question": question,
                "system": system,
                "quadrant": group,
                **numbers(row.absolute_deviation, "absolute_deviation"),
                "deviation": row.deviation.value,
            }
            for (system, group), row in by_cell.items()
        ]
    return builder.chart(*chart_texts("absolute-deviation-by-system-and-quadrant"))


def _deviation_heatmap(
    title: str, by_cell: Mapping[tuple[str, str], QuadrantMeans], names: Mapping[str, str], look: QuadrantLook
) -> Heatmap | None:
    """Systems in rows, quadrants in columns; None with fewer than two of either."""
    systems, used = dict.fromkeys(system for system, _ in by_cell), {group for _, group in by_cell}
    groups = [name for name in look.ids if name in used]
    if min(len(systems), len(groups)) < 2:
        return None
    cells = tuple(
        tuple(_deviation_cell(by_cell.get((s, g)), f"{names[s]}, {look.name(g)}") for g in groups) for s in systems
    )
    high = max(float(row.absolute_deviation) for row in by_cell.values())
    rows, columns = tuple(names[s] for s in systems), tuple(map(look.short, groups))
    return Heatmap(title=title, rows=rows, columns=columns, cells=cells, column_label="intended quadrant", high=high)


def _deviation_cell(row: QuadrantMeans | None, title: str) -> HeatCell:
    if row is None:
        return HeatCell(None, "–", f"{title}\nno stimuli")
    value = row.absolute_deviation.value
    words = f"{title}\nabsolute deviation {interval(row.absolute_deviation, 2)}\nsigned {interval(row.deviation, 2)}"
    return HeatCell(value, number(value, 1), f"{words}\n{row.n_stimuli} stimuli")


@figure("slopes")
def slopes(analysis: Analysis) -> Chart | Absent:
    """One panel per question with references."""
    names = system_names(analysis.snapshot)
    builder = IntervalPanels("slope")
    for question in questions(analysis):
        shade = colour(len(builder.panels))
        items = [
            Item(
                label=names[row.system],
                estimate=row.slope,
                colour=INK if row.system == "all" else shade,
                cells={"question": question, "system": row.system},
                note=f"intercept {interval(row.intercept, 2)}",
            )
            for row in analysis.summary.slopes or ()
            if row.question == question
        ]
        builder.add(question, "slope", items, lines=(Line(1.0, "as intended"), Line(0.0, "no relation")))
    return builder.chart(*chart_texts("slopes"))


@figure("confusion")
def intended_and_perceived(analysis: Analysis) -> Chart | Absent:
    """Intended in rows, perceived in columns: quadrants, or categories where the intents are among the answers."""
    builder = Panels()
    quadrants, by_question = analysis.summary.quadrants, analysis.summary.intent_confusion or ()
    if quadrants and any(map(sum, quadrants.confusion.counts)):
        look = quadrant_look(analysis.snapshot.study)
        _add_confusion(builder, "", quadrants.confusion, look.short, look.name)
        title, hits = "Intended and perceived quadrant", quadrants.hit_rate
        caption = (
            "Share of the stimuli meant for each quadrant that were perceived in each; a stimulus on a midline is in"
            " none."
        )
    elif by_question:
        for row in by_question:
            _add_confusion(builder, row.question, row.confusion, spaced, spaced)
        title, hits = "Intended and perceived category", by_question[0].hit_rate
        caption = "Share of the stimuli of each intent by the answer given most often."
    else:
        no_quadrants = why_missing(analysis, "quadrants", "the study has no quadrants")
        return Absent(f"{no_quadrants}; {why_missing(analysis, 'intent_confusion', 'no intents to confuse')}")
    if hits.value is not None:
        caption += f" {interval(hits, 2)} of all are where they were meant to be."
    return Chart(title=title, caption=caption, panels=builder.panels, rows=builder.table)


def _add_confusion(
    builder: Panels, question: str, crossed: ConfusionTable, short: Callable[[str], str], full: Callable[[str], str]
) -> None:
    """Add a panel; columns beyond the intended ones are shown if anything is in them."""
    shown = _shown_columns(crossed)
    columns = [crossed.columns[j] for j in shown]
    counts = [[line[j] for j in shown] for line in crossed.counts]
    rows_named, columns_named = ([(short(name), full(name)) for name in side] for side in (crossed.rows, columns))
    builder.panels.append(confusion(question, rows_named, columns_named, counts, ("intended", "perceived", "stimuli")))
    where = {"question": question} if question else {}
    builder.table += [
        {**where, "intended": row, "perceived": crossed.columns[j], "stimuli": line[j], "share": shares[j]}
        for row, line, shares in zip(crossed.rows, crossed.counts, crossed.proportions, strict=True)
        for j in shown
    ]


def _shown_columns(crossed: ConfusionTable) -> list[int]:
    intended = len(crossed.rows)
    return [j for j in range(len(crossed.columns)) if j < intended or any(line[j] for line in crossed.counts)]
