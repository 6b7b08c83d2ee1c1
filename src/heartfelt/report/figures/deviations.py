"""How far stimuli are from what was intended: by system, by quadrant, by both, and how far systems pull to neutral."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from heartfelt.analysis import Analysis
from heartfelt.analysis.effects import ADJUSTED, ONE_WAY
from heartfelt.analysis.results import ConfusionTable, QuadrantMeans
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
from heartfelt.report.figures.registry import figure
from heartfelt.report.naming import quadrant_look, questions, system_names, why_missing
from heartfelt.report.palette import INK, colour
from heartfelt.wording import interval, number, p_value, plural, spaced, stars

MARKS = 3
STARS = (
    "Of the pairs that differ significantly, the three with the smallest differences are marked"
    " (* p < .05, ** p < .01, *** p < .001; Tukey's test in the model of the analysis of variance)."
)


def brackets(
    analysis: Analysis, outcome: str, deviation: str, factor: str, names: Mapping[str, str]
) -> tuple[Bracket, ...]:
    """The three significant pairs that differ least, by the test of the model that compares them where there is one.

    ``names`` are the rows of the panel in order: what each is called, by id.
    """
    place = {key: at for at, key in enumerate(names)}
    pairs = [
        pair
        for pair in analysis.summary.pairwise or ()
        if (pair.outcome, pair.deviation, pair.factor) == (outcome, deviation, factor)
        and {pair.a, pair.b} <= set(names)
        and pair.difference.value is not None
    ]
    families = list(dict.fromkeys((pair.method, pair.model) for pair in pairs))
    first = min(families, key=lambda family: (family[0] != ADJUSTED, family[0] != ONE_WAY), default=None)
    significant = [pair for pair in pairs if pair.significant and (pair.method, pair.model) == first]
    marks = []
    for pair in sorted(significant, key=lambda pair: abs(float(pair.difference)))[:MARKS]:
        a, b = sorted((place[pair.a], place[pair.b]))
        size = number(abs(float(pair.difference)), 2)
        words = f"{names[pair.a]} and {names[pair.b]} differ by {size}\n{p_value(pair.p)}, {pair.method}"
        marks.append(Bracket(a, b, stars(pair.p), words))
    return tuple(marks)


@figure(
    "deviation-by-system",
    "mean signed deviation per system with 95% intervals and the three smallest significant differences",
)
def deviation_by_system(analysis: Analysis) -> Chart | Absent:
    """One panel per question with references."""
    names = system_names(analysis.snapshot)
    made = IntervalPanels("deviation")
    for question in questions(analysis):
        mine = [row for row in analysis.summary.systems or () if row.question == question]
        known = [row for row in mine if row.means.deviation.value is not None]
        items = []
        for row in known:
            counts = f"{plural(row.means.n_stimuli, 'stimulus', 'stimuli')}, {plural(row.means.n_ratings, 'rating')}"
            cells = {"question": question, "system": row.system}
            shade = colour(len(made.panels))
            items.append(Item(names[row.system], row.means.deviation, shade, cells, counts))
        marks = brackets(analysis, question, "signed", "system", {s.system: names[s.system] for s in known})
        made.add(question, f"{question} deviation", items, lines=(Line(0.0),), brackets=marks)
    caption = (
        f"Mean deviation of each system's stimuli from their intents' references, with 95% intervals. {STARS}"
    )
    return made.chart("Deviation by system", caption, "no system has a deviation from a reference")


@figure(
    "absolute-deviation-by-quadrant",
    "mean absolute deviation per quadrant with 95% intervals and the three smallest significant differences",
)
def absolute_deviation_by_quadrant(analysis: Analysis) -> Chart | Absent:
    """One panel per question with references: which intents are conveyed best."""
    look = quadrant_look(analysis.snapshot.study)
    quadrants = analysis.summary.quadrants
    made = IntervalPanels("absolute_deviation")
    for question in questions(analysis):
        known = {
            row.quadrant: row.absolute_deviation
            for row in (quadrants.by_quadrant if quadrants else ())
            if row.question == question and row.absolute_deviation.value is not None
        }
        order = sorted(known, key=lambda group: look.ids.index(group) if group in look.ids else len(look.ids))
        items = []
        for group in order:
            cells = {"question": question, "quadrant": group}
            items.append(Item(look.short(group), known[group], look.colour(group), cells, look.name(group)))
        marks = brackets(analysis, question, "absolute", "quadrant", {g: look.short(g) for g in order})
        made.add(question, f"absolute {question} deviation", items, include=[0.0], brackets=marks)
    short = [f"{look.short(g)} {look.name(g)}" for g in look.ids if look.short(g) != look.name(g)]
    meaning = f" ({'; '.join(short)})" if short else ""
    caption = (
        f"Mean absolute deviation from the reference per quadrant of the intents{meaning}, with 95%"
        f" intervals. {STARS}"
    )
    why = "the intents have no quadrants with references"
    return made.chart("Absolute deviation by quadrant", caption, why)


@figure(
    "absolute-deviation-by-system-and-quadrant", "mean absolute deviation of every system in every quadrant"
)
def absolute_deviation_by_system_and_quadrant(analysis: Analysis) -> Chart | Absent:
    """One panel per question: systems in rows, quadrants in columns."""
    look, names = quadrant_look(analysis.snapshot.study), system_names(analysis.snapshot)
    quadrants = analysis.summary.quadrants
    made = Panels()
    for question in questions(analysis):
        known = {
            (row.system, row.quadrant): row
            for row in (quadrants.by_system_quadrant if quadrants else ())
            if row.question == question and row.absolute_deviation.value is not None
        }
        systems = list(dict.fromkeys(system for system, _ in known))
        groups = [name for name in look.ids if any(group == name for _, group in known)]
        if len(systems) < 2 or len(groups) < 2:
            continue
        cells = tuple(
            tuple(_deviation_cell(known.get((s, g)), f"{names[s]}, {look.name(g)}") for g in groups)
            for s in systems
        )
        high = max(float(row.absolute_deviation) for row in known.values())
        rows, columns = tuple(names[s] for s in systems), tuple(map(look.short, groups))
        title = lettered(len(made.panels), question)
        made.panels.append(Heatmap(title, rows, columns, cells, "", "intended quadrant", high=high))
        made.table += [
            {
                "question": question,
                "system": system,
                "quadrant": group,
                **numbers(row.absolute_deviation, "absolute_deviation"),
                "deviation": row.deviation.value,
            }
            for (system, group), row in known.items()
        ]
    caption = (
        "Mean absolute deviation from the reference in scale points, of every system in every quadrant; paler is"
        " closer to what was intended."
    )
    why = "there are no two systems and two quadrants with references"
    return made.chart("Absolute deviation by system and quadrant", caption, why)


def _deviation_cell(row: QuadrantMeans | None, title: str) -> HeatCell:
    if row is None:
        return HeatCell(None, "–", f"{title}\nno stimuli")
    value = row.absolute_deviation.value
    words = f"{title}\nabsolute deviation {interval(row.absolute_deviation, 2)}\nsigned {interval(row.deviation, 2)}"
    return HeatCell(value, number(value, 1), f"{words}\n{row.n_stimuli} stimuli")


@figure(
    "slopes", "slope of perceived on intended per system: below 1 the stimuli are more neutral than intended"
)
def slopes(analysis: Analysis) -> Chart | Absent:
    """One panel per question with references."""
    names = system_names(analysis.snapshot)
    made = IntervalPanels("slope")
    for question in questions(analysis):
        shade = colour(len(made.panels))
        items = [
            Item(
                names[row.system],
                row.slope,
                INK if row.system == "all" else shade,
                {"question": question, "system": row.system},
                f"intercept {interval(row.intercept, 2)}",
            )
            for row in analysis.summary.slopes or ()
            if row.question == question
        ]
        made.add(question, "slope", items, lines=(Line(1.0, "as intended"), Line(0.0, "no relation")))
    caption = (
        "Slope of perceived on intended values with 95% intervals. At 1, differences between intents come across"
        " in full; below 1, stimuli are perceived as more neutral than intended; at 0, intents make no difference."
    )
    why = "no slope of perceived on intended could be fitted"
    return made.chart("Slopes of perceived on intended", caption, why)


@figure("confusion", "share of the stimuli meant for each quadrant or category that were perceived in each")
def intended_and_perceived(analysis: Analysis) -> Chart | Absent:
    """Intended in rows, perceived in columns: quadrants, or categories where the intents are among the answers."""
    made = Panels()
    quadrants, by_question = analysis.summary.quadrants, analysis.summary.intent_confusion or ()
    if quadrants and any(map(sum, quadrants.confusion.counts)):
        look = quadrant_look(analysis.snapshot.study)
        _add_confusion(made, "", quadrants.confusion, look.short, look.name)
        title, hits = "Intended and perceived quadrant", quadrants.hit_rate
        caption = (
            "Share of the stimuli meant for each quadrant that were perceived in each; a stimulus on a midline is in"
            " none."
        )
    elif by_question:
        for row in by_question:
            _add_confusion(made, row.question, row.confusion, spaced, spaced)
        title, hits = "Intended and perceived category", by_question[0].hit_rate
        caption = "Share of the stimuli of each intent by the answer given most often."
    else:
        no_quadrants = why_missing(analysis, "quadrants", "the study has no quadrants")
        return Absent(f"{no_quadrants}; {why_missing(analysis, 'intent_confusion', 'no intents to confuse')}")
    if hits.value is not None:
        caption += f" {interval(hits, 2)} of all are where they were meant to be."
    return Chart(title, caption, made.panels, made.table)


def _add_confusion(
    made: Panels, question: str, held: ConfusionTable, short: Callable[[str], str], full: Callable[[str], str]
) -> None:
    """Add a panel; columns beyond the intended ones are shown if anything is in them."""
    shown = [
        j for j in range(len(held.columns)) if j < len(held.rows) or any(line[j] for line in held.counts)
    ]
    columns = [held.columns[j] for j in shown]
    counts = [[line[j] for j in shown] for line in held.counts]
    rows_named, columns_named = (
        [(short(name), full(name)) for name in side] for side in (held.rows, columns)
    )
    made.panels.append(
        confusion(question, rows_named, columns_named, counts, ("intended", "perceived", "stimuli"))
    )
    where = {"question": question} if question else {}
    made.table += [
        {**where, "intended": row, "perceived": held.columns[j], "stimuli": line[j], "share": shares[j]}
        for row, line, shares in zip(held.rows, held.counts, held.proportions, strict=True)
        for j in shown
    ]
