"""Stimuli judged together: strengths, wins, the order of presentation, raters, MUSHRA grades and ABX answers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from heartfelt.analysis import Analysis
from heartfelt.analysis.findings.comparisons import ComparisonQuestion, MushraCondition
from heartfelt.analysis.findings.parts import ALL
from heartfelt.report.charts import (
    Absent,
    Axis,
    Chart,
    HeatCell,
    Heatmap,
    IntervalPanels,
    Item,
    Line,
    Panels,
    PlaneChart,
    Point,
    TableRow,
    axis,
    first_of,
)
from heartfelt.report.figures.registry import chart_texts, figure
from heartfelt.report.layout.naming import DisplayNames, system_names
from heartfelt.report.palette import BASE_COLOUR, COLOURS, SOFT
from heartfelt.stats.comparison.judges.consistency import RaterConsistency
from heartfelt.stats.estimate import Estimate
from heartfelt.wording import number, percent, spaced

NONE = "no question compares stimuli in pairs, ranks or best and worst"
MOST_ROWS = 60
MOST_CELLS = 24
MOST_ITEMS = 7
HALF = Line(0.5, "no preference")
SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)
ROLES = {"member": COLOURS[0], "hidden-reference": COLOURS[2], "anchor": SOFT}

RATER_COLUMNS = (
    "rater", "comparisons", "ties", "first_share", "p_side", "agreement", "p_chance", "triads", "circular", "zeta",
)  # fmt: skip


def _compared(analysis: Analysis) -> list[ComparisonQuestion]:
    return [comparison for comparison in analysis.summary.comparisons or () if comparison.contestants]


def _names(analysis: Analysis, comparison: ComparisonQuestion) -> DisplayNames:
    return system_names(analysis.snapshot) if comparison.of == "system" else DisplayNames()


def _unit(comparison: ComparisonQuestion) -> str:
    return "grades" if comparison.scale == "preference" else "log odds"


@figure("strengths")
def strengths(analysis: Analysis) -> Chart | Absent:
    """One panel per question, the strongest first."""
    builder, most = IntervalPanels(letters=False), 0
    for comparison in _compared(analysis):
        names, ranked = _names(analysis, comparison), comparison.ranked
        most = max(most, len(ranked))
        items = [
            Item(
                label=names[c.name],
                estimate=c.strength,
                cells={"question": comparison.question, "name": names[c.name]},
                note="" if c.rank is None else f"rank {c.rank} ({c.rank_low} to {c.rank_high})",
                after={
                    "rank": c.rank,
                    "rank_low": c.rank_low,
                    "rank_high": c.rank_high,
                    "best": c.best,
                    "answers": c.answers,
                },
            )
            for c in ranked
        ]
        label = f"strength ({_unit(comparison)}, 0 is the average)"
        builder.add(spaced(comparison.question), label, items[:MOST_ROWS], lines=(Line(0.0),))
    return builder.chart(*chart_texts("strengths", first_of(MOST_ROWS, most, "contestants")))


@figure("win-matrix")
def win_matrix(analysis: Analysis) -> Chart | Absent:
    """One shaded table per question: the row's share of the answers against the column."""
    builder = Panels()
    for comparison in _compared(analysis):
        if not comparison.pairs or len(comparison.contestants) > MOST_CELLS:
            continue
        names = _names(analysis, comparison)
        order = [c.name for c in comparison.contestants]
        wins: dict[tuple[str, str], tuple[int, int, int]] = {}
        for pair in comparison.pairs:
            wins[pair.a, pair.b] = (pair.a_wins, pair.ties, pair.b_wins)
            wins[pair.b, pair.a] = (pair.b_wins, pair.ties, pair.a_wins)
        cells = tuple(tuple(_win(names, a, b, wins.get((a, b))) for b in order) for a in order)
        labels = tuple(names[name] for name in order)
        builder.panels.append(
            Heatmap(
                title=spaced(comparison.question),
                rows=labels,
                columns=labels,
                cells=cells,
                row_label="preferred",
                column_label="to",
                square=len(order) <= 12,
            )
        )
        builder.table += [
            {
                "question": comparison.question,
                "a": p.a,
                "b": p.b,
                "a wins": p.a_wins,
                "ties": p.ties,
                "b wins": p.b_wins,
            }
            for p in comparison.pairs
        ]
    return builder.chart(*chart_texts("win-matrix"))


def _win(names: DisplayNames, a: str, b: str, counts: tuple[int, int, int] | None) -> HeatCell:
    if a == b or counts is None or not sum(counts):
        return HeatCell(None, "", names[a] if a == b else f"{names[a]} and {names[b]} did not meet")
    won, tied, lost = counts
    share = (won + tied / 2) / sum(counts)
    words = f"{names[a]} against {names[b]}\n{won} won, {tied} tied, {lost} lost"
    return HeatCell(share, percent(share), words)


@figure("order-effect")
def order_effect(analysis: Analysis) -> Chart | Absent:
    """The share of first choices of every question answered by choosing between two."""
    builder = IntervalPanels(letters=False)
    items = [
        Item(
            label=spaced(comparison.question),
            estimate=comparison.order.first_share,
            cells={"question": comparison.question},
            after={"p": comparison.order.p},
        )
        for comparison in analysis.summary.comparisons or ()
        if comparison.order is not None
    ]
    builder.add(
        "", Axis(label="share of decided answers for the first", low=0.0, high=1.0, ticks=SHARES), items, lines=(HALF,)
    )
    return builder.chart(*chart_texts("order-effect"))


@figure("comparison-raters")
def comparison_raters(analysis: Analysis) -> Chart | Absent:
    """One panel per question: share of first choices across, agreement with the others up."""
    builder = Panels()
    flagged = analysis.summary.screening.flagged
    for comparison in _compared(analysis):
        judged = [c for c in comparison.consistency if c.agreement is not None and c.first_share is not None]
        if not judged:
            continue
        points = tuple(_rater_point(c, str(c.rater) in flagged) for c in judged)
        builder.panels.append(
            PlaneChart(
                title=spaced(comparison.question),
                x=Axis(label="share of first choices", low=0.0, high=1.0, ticks=SHARES, lines=(0.5,)),
                y=Axis(label="agreement with the others", low=0.0, high=1.0, ticks=SHARES, lines=(0.5,)),
                points=points,
            )
        )
        builder.table += [_rater_row(comparison.question, c) for c in judged]
    return builder.chart(*chart_texts("comparison-raters"))


def _rater_point(c: RaterConsistency, flagged: bool) -> Point:
    return Point(
        x=float(c.first_share or 0.0),
        y=float(c.agreement or 0.0),
        label=str(c.rater),
        colour=COLOURS[1] if flagged else BASE_COLOUR,
        shape="diamond" if flagged else "circle",
        words=f"{c.rater}\n{c.comparisons} comparisons, {c.ties} ties\n{percent(c.first_share)} for the first\n"
        f"{percent(c.agreement)} with the others\n{c.circular} of {c.triads} triads circular",
    )


def _rater_row(question: str, c: RaterConsistency) -> TableRow:
    return {"question": question, **{name: getattr(c, name) for name in RATER_COLUMNS}}


@figure("best-worst")
def best_worst(analysis: Analysis) -> Chart | Absent:
    """One panel per question."""
    builder = IntervalPanels(letters=False)
    for comparison in _compared(analysis):
        names = _names(analysis, comparison)
        scored = [c for c in comparison.contestants if c.score is not None]
        items = [
            Item(
                label=names[c.name],
                estimate=c.score or Estimate.missing("none"),
                cells={"question": comparison.question, "name": names[c.name]},
            )
            for c in scored[:MOST_ROWS]
        ]
        builder.add(
            spaced(comparison.question), "times best less times worst, per time shown", items, lines=(Line(0.0),)
        )
    return builder.chart(*chart_texts("best-worst"))


# --- MUSHRA and ABX ---------------------------------------------------------------------------------------------------


def _mushra(analysis: Analysis) -> Iterator[tuple[str, tuple[MushraCondition, ...]]]:
    for comparison in analysis.summary.comparisons or ():
        if comparison.mushra is not None:
            yield comparison.question, comparison.mushra.conditions


GRADES = Axis(label="grade", low=-2.0, high=102.0, ticks=(0.0, 20.0, 40.0, 60.0, 80.0, 100.0))


@figure("mushra")
def mushra(analysis: Analysis) -> Chart | Absent:
    """All items first, then a panel per item."""
    builder, most, names = IntervalPanels(), 0, system_names(analysis.snapshot)
    for question, conditions in _mushra(analysis):
        overall = {condition.name: condition.mean for condition in conditions}
        builder.add(f"{spaced(question)}, all items", GRADES, _grades(question, ALL, conditions, overall, names))
        every = [item.item for item in conditions[0].items] if conditions else []
        most = max(most, len(every))
        for index, name in enumerate(every):
            means = {c.name: item.mean for c in conditions for item in c.items if item.item == name}
            items = _grades(question, name, conditions, means, names)
            builder.add(name, GRADES, items, visible=index < MOST_ITEMS)
    return builder.chart(*chart_texts("mushra", first_of(MOST_ITEMS, most, "items")))


def _grades(
    question: str,
    item: str,
    conditions: Sequence[MushraCondition],
    means: Mapping[str, Estimate],
    names: Mapping[str, str],
) -> list[Item]:
    """The conditions that were graded on an item, or on all."""
    return [
        Item(
            label=names[c.name],
            estimate=means[c.name],
            colour=ROLES.get(c.role, BASE_COLOUR),
            cells={"question": question, "item": item, "condition": c.name},
        )
        for c in conditions
        if c.name in means
    ]


@figure("mushra-medians")
def mushra_medians(analysis: Analysis) -> Chart | Absent:
    """The display that BS.1534 recommends."""
    builder, names = IntervalPanels("median", letters=False), system_names(analysis.snapshot)
    for question, conditions in _mushra(analysis):
        items = [
            Item(
                label=names[c.name],
                estimate=Estimate(
                    value=c.median, low=c.quartiles[0], high=c.quartiles[1], method="median", interval="quartiles"
                ),
                colour=ROLES.get(c.role, BASE_COLOUR),
                cells={"question": question, "condition": c.name},
                note=f"from {number(c.lowest)} to {number(c.highest)}",
                after={"lowest": c.lowest, "highest": c.highest},
            )
            for c in conditions
        ]
        builder.add(spaced(question), GRADES, items)
    return builder.chart(*chart_texts("mushra-medians"))


@figure("abx")
def abx(analysis: Analysis) -> Chart | Absent:
    """One panel per question: all answers, then each pair of systems."""
    builder, names = IntervalPanels(letters=False), system_names(analysis.snapshot)
    for comparison in analysis.summary.comparisons or ():
        items = [
            Item(
                label="all pairs" if pair.a == ALL else f"{names[pair.a]} / {names[pair.b]}",
                estimate=pair.share,
                colour=SOFT if pair.a == ALL else BASE_COLOUR,
                cells={"question": comparison.question, "a": pair.a, "b": pair.b},
                after={"p": pair.p_corrected, "d_prime": pair.d_prime.value, "equivalence_p": pair.equivalence_p},
            )
            for pair in comparison.abx[: MOST_ROWS + 1]
        ]
        builder.add(
            spaced(comparison.question),
            Axis(label="share correct", low=0.0, high=1.0, ticks=SHARES),
            items,
            lines=(Line(0.5, "guessing"),),
        )
    return builder.chart(*chart_texts("abx"))


@figure("against-reference")
def against_reference(analysis: Analysis) -> Chart | Absent:
    """One panel per question."""
    builder, names = IntervalPanels(letters=False), system_names(analysis.snapshot)
    for comparison in analysis.summary.comparisons or ():
        ordered = sorted(comparison.reference, key=lambda row: -(row.mean.value or 0.0))
        items = [
            Item(
                label=names[row.system],
                estimate=row.mean,
                cells={"question": comparison.question, "system": row.system},
            )
            for row in ordered[:MOST_ROWS]
        ]
        bounds = analysis.snapshot.study.scale_of(comparison.question).bounds() or (0.0, 1.0)
        builder.add(spaced(comparison.question), axis("mean", bounds, include=bounds), items)
    return builder.chart(*chart_texts("against-reference"))
