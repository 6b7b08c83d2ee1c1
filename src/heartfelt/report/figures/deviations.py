"""How far stimuli are from what was intended: by system, by quadrant, by both, and how far systems pull to neutral."""

from __future__ import annotations

from collections.abc import Callable

from heartfelt.analysis import Analysis
from heartfelt.analysis.effects import ADJUSTED, ONE_WAY
from heartfelt.analysis.results import Confusion, QuadrantMeans
from heartfelt.report.charts import (
    Absent,
    Bracket,
    Cell,
    Chart,
    HeatCell,
    Heatmap,
    IntervalFigure,
    Item,
    Line,
    lettered,
    numbers,
)
from heartfelt.report.figures.registry import figure
from heartfelt.report.naming import QuadrantLook, quadrant_look, questions, system_names, why_missing
from heartfelt.report.palette import INK, colour
from heartfelt.stats.estimate import Estimate
from heartfelt.wording import interval, number, p_value, plural, spaced, stars

MARKS = 3
STARS = (
    "Of the pairs that differ significantly, the three with the smallest differences are marked"
    " (* p < .05, ** p < .01, *** p < .001; Tukey's test in the model of the analysis of variance)."
)


def brackets(
    analysis: Analysis, outcome: str, deviation: str, factor: str, names: dict[str, str]
) -> tuple[Bracket, ...]:
    """The three significant pairs that differ least, by the test of the model that compares them where there is one.

    ``names`` are the rows of the panel in order: what each is called, by id.
    """
    keys, labels = list(names), list(names.values())
    pairs = [
        pair
        for pair in analysis.summary.pairwise or ()
        if (pair.outcome, pair.deviation, pair.factor) == (outcome, deviation, factor)
        and {pair.a, pair.b} <= set(keys)
        and pair.difference.value is not None
    ]
    families = list(dict.fromkeys((pair.method, pair.model) for pair in pairs))
    first = min(families, key=lambda family: (family[0] != ADJUSTED, family[0] != ONE_WAY), default=None)
    significant = [pair for pair in pairs if pair.significant and (pair.method, pair.model) == first]
    out = []
    for pair in sorted(significant, key=lambda pair: abs(float(pair.difference)))[:MARKS]:
        a, b = sorted((keys.index(pair.a), keys.index(pair.b)))
        first_name, second_name = labels[keys.index(pair.a)], labels[keys.index(pair.b)]
        words = f"{first_name} and {second_name} differ by {number(abs(float(pair.difference)), 2)}"
        out.append(Bracket(a, b, stars(pair.p), f"{words}\n{p_value(pair.p)}, {pair.method}"))
    return tuple(out)


@figure(
    "deviation-by-system",
    "mean signed deviation per system with 95% intervals and the three smallest significant differences",
)
def deviation_by_system(analysis: Analysis) -> Chart | Absent:
    """One panel per question with references."""
    names = system_names(analysis)
    figure = IntervalFigure("deviation")
    for question in questions(analysis):
        known = [
            row
            for row in analysis.summary.systems or ()
            if row.question == question and row.means.deviation.value is not None
        ]
        labels = {row.system: names.get(row.system, row.system) for row in known}
        shade = colour(len(figure.panels))
        items = [
            Item(
                labels[row.system],
                row.means.deviation,
                shade,
                {"question": question, "system": row.system},
                f"{plural(row.means.n_stimuli, 'stimulus', 'stimuli')}, {plural(row.means.n_ratings, 'rating')}",
            )
            for row in known
        ]
        marks = brackets(analysis, question, "signed", "system", labels)
        figure.add(question, f"{question} deviation", items, lines=(Line(0.0),), brackets=marks)
    caption = (
        f"Mean deviation of each system's stimuli from their intents' references, with 95% intervals. {STARS}"
    )
    return figure.chart("Deviation by system", caption, "no system has a deviation from a reference")


@figure(
    "absolute-deviation-by-quadrant",
    "mean absolute deviation per quadrant with 95% intervals and the three smallest significant differences",
)
def absolute_deviation_by_quadrant(analysis: Analysis) -> Chart | Absent:
    """One panel per question with references: which intents are conveyed best."""
    look = quadrant_look(analysis.snapshot.study)
    quadrants = analysis.summary.quadrants
    figure = IntervalFigure("absolute_deviation")
    for question in questions(analysis):
        known = {
            row.quadrant: row.absolute_deviation
            for row in (quadrants.by_quadrant if quadrants else ())
            if row.question == question and row.absolute_deviation.value is not None
        }
        order = [group for group in look.ids if group in known] + [g for g in known if g not in look.ids]
        items = [
            Item(
                look.short(group),
                known[group],
                look.colour(group),
                {"question": question, "quadrant": group},
                look.name(group),
            )
            for group in order
        ]
        marks = brackets(analysis, question, "absolute", "quadrant", {g: look.short(g) for g in order})
        figure.add(question, f"absolute {question} deviation", items, include=[0.0], brackets=marks)
    caption = (
        f"Mean absolute deviation from the reference per quadrant of the intents{_short_names(look)}, with 95%"
        f" intervals. {STARS}"
    )
    why = "the intents have no quadrants with references"
    return figure.chart("Absolute deviation by quadrant", caption, why)


def _short_names(look: QuadrantLook) -> str:
    """What the short names mean."""
    short = [f"{look.short(g)} {look.name(g)}" for g in look.ids if look.short(g) != look.name(g)]
    return f" ({'; '.join(short)})" if short else ""


@figure(
    "absolute-deviation-by-system-and-quadrant", "mean absolute deviation of every system in every quadrant"
)
def absolute_deviation_by_system_and_quadrant(analysis: Analysis) -> Chart | Absent:
    """One panel per question: systems in rows, quadrants in columns."""
    look, names = quadrant_look(analysis.snapshot.study), system_names(analysis)
    quadrants = analysis.summary.quadrants
    panels: list[Heatmap] = []
    table: list[dict[str, Cell]] = []
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
            tuple(
                _deviation_cell(
                    known.get((system, group)), f"{names.get(system, system)}, {look.name(group)}"
                )
                for group in groups
            )
            for system in systems
        )
        panels.append(
            Heatmap(
                lettered(len(panels), question),
                tuple(names.get(system, system) for system in systems),
                tuple(map(look.short, groups)),
                cells,
                "",
                "intended quadrant",
                high=max(float(row.absolute_deviation) for row in known.values()),
            )
        )
        table += [
            {
                "question": question,
                "system": system,
                "quadrant": group,
                **numbers(row.absolute_deviation, "absolute_deviation"),
                "deviation": row.deviation.value,
            }
            for (system, group), row in known.items()
        ]
    if not panels:
        return Absent("there are no two systems and two quadrants with references")
    caption = (
        "Mean absolute deviation from the reference in scale points, of every system in every quadrant; paler is"
        " closer to what was intended."
    )
    return Chart("Absolute deviation by system and quadrant", caption, panels, table)


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
    names = system_names(analysis)
    figure = IntervalFigure("slope")
    for question in questions(analysis):
        shade = colour(len(figure.panels))
        items = [
            Item(
                names.get(row.system, row.system),
                row.slope,
                INK if row.system == "all" else shade,
                {"question": question, "system": row.system},
                f"intercept {interval(row.intercept, 2)}",
            )
            for row in analysis.summary.slopes or ()
            if row.question == question
        ]
        figure.add(question, "slope", items, lines=(Line(1.0, "as intended"), Line(0.0, "no relation")))
    caption = (
        "Slope of perceived on intended values with 95% intervals. At 1, differences between intents come across"
        " in full; below 1, stimuli are perceived as more neutral than intended; at 0, intents make no difference."
    )
    why = "no slope of perceived on intended could be fitted"
    return figure.chart("Slopes of perceived on intended", caption, why)


@figure("confusion", "share of the stimuli meant for each quadrant or category that were perceived in each")
def confusion(analysis: Analysis) -> Chart | Absent:
    """Intended in rows, perceived in columns: quadrants, or categories where the intents are among the answers."""
    look = quadrant_look(analysis.snapshot.study)
    quadrants = analysis.summary.quadrants
    if quadrants and any(map(sum, quadrants.confusion.counts)):
        panel, cells = _confusion_panel("", quadrants.confusion, look.short, look.name)
        caption = (
            "Share of the stimuli meant for each quadrant that were perceived in each; a stimulus on a midline is in"
            " none."
        )
        return Chart("Intended and perceived quadrant", caption + _hits(quadrants.hit_rate), [panel], cells)
    panels: list[Heatmap] = []
    table: list[dict[str, Cell]] = []
    by_question = analysis.summary.intent_confusion or ()
    for row in by_question:
        panel, own = _confusion_panel(row.question, row.confusion, spaced, spaced)
        panels.append(panel)
        table += [{"question": row.question, **line} for line in own]
    if not panels:
        return Absent(
            why_missing(analysis, "quadrants", "the study has no quadrants")
            + "; "
            + why_missing(analysis, "intent_confusion", "no intents to confuse")
        )
    caption = "Share of the stimuli of each intent by the answer given most often." + _hits(
        by_question[0].hit_rate
    )
    return Chart("Intended and perceived category", caption, panels, table)


def _hits(rate: Estimate) -> str:
    return f" {interval(rate, 2)} of all are where they were meant to be." if rate.value is not None else ""


def _confusion_panel(
    title: str, confusion: Confusion, short: Callable[[str], str], full: Callable[[str], str]
) -> tuple[Heatmap, list[dict[str, Cell]]]:
    intended, perceived = confusion.rows, confusion.columns
    shown = [
        j for j in range(len(perceived)) if j < len(intended) or any(line[j] for line in confusion.counts)
    ]
    cells: list[tuple[HeatCell, ...]] = []
    table: list[dict[str, Cell]] = []
    for name, counts, shares in zip(intended, confusion.counts, confusion.proportions, strict=True):
        own = []
        for j in shown:
            share = shares[j]
            words = f"intended: {full(name)}\nperceived: {full(perceived[j])}\n{counts[j]} stimuli"
            words += "" if share is None else f", {100 * share:.1f}% of the row"
            own.append(HeatCell(share, "–" if share is None else f"{100 * share:.0f}%", words))
            table.append({"intended": name, "perceived": perceived[j], "stimuli": counts[j], "share": share})
        cells.append(tuple(own))
    columns = tuple(short(perceived[j]) for j in shown)
    rows = tuple(map(short, intended))
    square = len(intended) <= 8
    return Heatmap(title, rows, columns, tuple(cells), "intended", "perceived", square=square), table
