"""The raters: information and bias of each, what leaving some out would change, and how groups of raters differ."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import polars as pl

from heartfelt.analysis import Analysis
from heartfelt.analysis.summary import SensitivityFigure
from heartfelt.report.charts import (
    Absent,
    Cell,
    Chart,
    DumbbellEnd,
    Dumbbells,
    IntervalPanels,
    Item,
    Key,
    PlaneChart,
    Point,
    ValueChange,
    axis,
    bounds,
)
from heartfelt.report.figures.registry import chart_texts, figure
from heartfelt.report.layout.naming import DisplayNames, coefficient, effect, system_names, why_missing
from heartfelt.report.palette import BASE_COLOUR, FLAGGED, INK
from heartfelt.screening.rule import error_controlled_flags
from heartfelt.stats.estimate import Estimate
from heartfelt.wording import interval, number, plural

MOST_RATERS = 3000
MOST_ROWS = 24
MOST_QUESTIONS = 4
PLANNED = {("signed", "system"), ("absolute", "quadrant"), ("value", "system")}
RELIABILITY = ("alpha_interval", "alpha_ordinal", "alpha_nominal", "icc1k", "ceiling", "quadrant hit rate")
UNITS = {
    "reliability": ("Reliability", "coefficient"),
    "slope": ("Slopes", "slope"),
    "strength": ("Strengths", "strength"),
    "deviation": ("Deviations", "signed deviation"),
    "mean": ("Means", "mean"),
    "eta": ("Effect sizes", "η²"),
    "F": ("Tests", "F"),
}
"""The panels of the figure of sensitivity, with the units of their axes."""
STARTS = {"slope of": "slope", "signed deviation of": "deviation", "mean of": "mean", "strength of": "strength"}


@figure("raters")
def raters(analysis: Analysis) -> Chart | Absent:
    """One point per rater the rules could judge."""
    flags = analysis.panel.flags
    estimated = (
        _mean(flags, "informativeness")
        .join(_mean(flags, "bias"), on="rater", suffix="_bias", maintain_order="left")
        .sort("rater")
    )
    if not estimated.height:
        return Absent("no rater has enough ratings shared with others to be judged by information and bias")
    rules = (
        error_controlled_flags(flags)
        .group_by("rater", maintain_order=True)
        .agg(pl.col("rule").unique(maintain_order=True))
    )
    flagged: dict[str, list[str]] = dict(zip(rules["rater"].to_list(), rules["rule"].to_list(), strict=True))
    legend = [Key("flagged", FLAGGED, "diamond"), Key("not flagged", BASE_COLOUR)]
    points = []
    for row in estimated.iter_rows(named=True):
        name = row["rater"]
        points.append(_rater_point(row, flagged.get(name, []), legend[0 if name in flagged else 1]))
    shown = sorted(points, key=lambda point: point.label in flagged)[-MOST_RATERS:]
    groups = analysis.summary.screening.collusion
    x = axis("information (correlation with what others say)", [0.0, *(p.x for p in shown)], lines=(0.0,))
    y = axis("bias (scale points)", [0.0, *(p.y for p in shown)], lines=(0.0,))
    caption = (
        "One point per rater. Information is the mean correlation of the answers with predictions from everybody"
        " else's; bias the mean difference to the others about the same stimuli. Lines join raters whose answer"
        " sequences run in parallel."
    )
    if len(shown) < len(points):
        caption += f" {number(len(shown))} of {number(len(points))} raters are drawn, all flagged ones among them."
    group_of = {name: at for at, group in enumerate(groups, 1) for name in group}
    table = []
    for p in points:
        known_as = {"flagged": p.label in flagged, "group": group_of.get(p.label)}
        table.append({"rater": p.label, "information": p.x, "bias": p.y, **known_as})
    return Chart(
        title="Raters",
        caption=caption,
        panels=[PlaneChart(title="", x=x, y=y, points=tuple(shown), links=_links(shown, groups))],
        rows=table,
        legend=legend,
    )


def _rater_point(row: Mapping[str, Any], rules: Sequence[str], look: Key) -> Point:
    name, x, y = row["rater"], row["mean"], row["mean_bias"]
    words = f"{name}\ninformation {number(x, 2)}, bias {number(y, 2)}\n{plural(row['n'], 'rating')}"
    words += f"\nflagged by {', '.join(rules)}" if rules else ""
    return Point(x=round(x, 4), y=round(y, 4), label=name, colour=look.colour, shape=look.shape, words=words)


def _links(points: Sequence[Point], groups: Iterable[Sequence[str]]) -> tuple[tuple[int, int], ...]:
    """The places of points to be joined: neighbours in a group of which both are drawn."""
    index_of = {point.label: i for i, point in enumerate(points)}
    pairs = [pair for group in groups for pair in pairwise(group)]
    return tuple((index_of[a], index_of[b]) for a, b in pairs if a in index_of and b in index_of)


def _mean(flags: pl.DataFrame, rule: str) -> pl.DataFrame:
    """What a rule measured of each rater, over questions."""
    judged = pl.col("rater").is_not_null() & pl.col("value").is_not_null()
    rule_flags = flags.filter((pl.col("rule") == rule) & judged)
    return rule_flags.group_by("rater").agg(pl.mean("value").alias("mean"), pl.sum("n"))


@figure("sensitivity")
def sensitivity(analysis: Analysis) -> Chart | Absent:
    """One panel per unit; every figure is in the table behind it."""
    left_out = analysis.summary.screening.dropped_by_default
    if not left_out:
        return Absent("the default policy leaves nobody out, so there is nothing to compare")
    compared = analysis.summary.sensitivity or ()
    by_unit = _changes(compared, system_names(analysis.snapshot))
    panels = [_changes_panel(unit, changes[:MOST_ROWS]) for unit, changes in by_unit.items() if changes]
    if not panels:
        return Absent(why_missing(analysis, "sensitivity", "there are no figures to compare"))
    caption = (
        f"Headline figures with all raters and without the {plural(len(left_out), 'rater')} the default policy"
        " would leave out, with 95% intervals."
    )
    legend = [Key("all raters", BASE_COLOUR), Key("without them", FLAGGED, "diamond")]
    table = [
        {
            "figure": row.figure,
            "question": row.question,
            **_cells("with_all", _side(row.with_all)),
            **_cells("without", _side(row.without)),
        }
        for row in compared
    ]
    return Chart(title="With and without the flagged raters", caption=caption, panels=panels, rows=table, legend=legend)


def _changes(compared: Sequence[SensitivityFigure], names: DisplayNames) -> dict[str, list[ValueChange]]:
    """The figures with both values, by panel; means are left out where there are deviations."""
    by_unit: dict[str, list[ValueChange]] = {unit: [] for unit in UNITS}
    for row in compared:
        before, after = _side(row.with_all), _side(row.without)
        unit, label = _panel_and_label(row, names)
        if before is not None and after is not None and unit:
            words = f"{label}\nall raters: {_text(row.with_all)}\nwithout: {_text(row.without)}"
            by_unit[unit].append(ValueChange(label, before, after, words))
    if by_unit["deviation"]:
        by_unit["mean"] = []
    return by_unit


def _changes_panel(unit: str, changes: Sequence[ValueChange]) -> Dumbbells:
    title, label = UNITS[unit]
    sides = [side for change in changes for side in (change.before, change.after)]
    reported = [value for side in sides for value in (side.value, side.low, side.high)]
    return Dumbbells(title, axis(label, reported), tuple(changes))


def _cells(name: str, side: DumbbellEnd | None) -> dict[str, Cell]:
    value, low, high = (side.value, side.low, side.high) if side else (None, None, None)
    return {name: value, f"{name}_low": low, f"{name}_high": high}


def _side(estimate: Estimate | float | None) -> DumbbellEnd | None:
    if isinstance(estimate, Estimate):
        return None if estimate.value is None else DumbbellEnd(estimate.value, *bounds(estimate))
    return None if estimate is None else DumbbellEnd(estimate)


def _text(estimate: Estimate | float | None) -> str:
    return interval(estimate) if isinstance(estimate, Estimate) else number(estimate)


def _panel_and_label(row: SensitivityFigure, names: DisplayNames) -> tuple[str, str]:
    """Which panel a figure belongs to, if any, and its label there."""
    after = f", {row.question}" if row.question else ""
    if row.model:
        return _test_panel_and_label(row, row.model)
    if row.figure in RELIABILITY:
        hits = row.figure == "quadrant hit rate"
        return "reliability", ("Hits of the quadrant" if hits else coefficient(row.figure)) + after
    for start, unit in STARTS.items():
        if row.figure.startswith(start):
            return unit, names[str(row.of)] + after
    return "", ""


def _test_panel_and_label(row: SensitivityFigure, model: str) -> tuple[str, str]:
    """Of the tests, those that were planned and those of interactions have a panel."""
    outcome, _, terms = model.partition(" ~ ")
    planned = "*" not in terms and (outcome, row.of) in PLANNED
    if not (planned or ":" in str(row.of)):
        return "", ""
    about = "mean" if outcome == "value" else outcome
    unit = "F" if row.figure.startswith("F ") else "eta"
    return unit, f"{effect(str(row.of))}: {about} {row.question}"


@figure("rater-groups")
def rater_groups(analysis: Analysis) -> Chart | Absent:
    """Per question a panel of means and one of reliabilities."""
    groups = analysis.summary.by
    if not groups:
        return Absent(why_missing(analysis, "by", "no column of the raters was named (--by)"))
    builder = IntervalPanels()
    for index, question in enumerate(dict.fromkeys(row.question for row in groups.rows)):
        question_rows = [row for row in groups.rows if row.question == question]
        means, alphas = [], []
        for row in question_rows:
            note = f"{plural(row.n_raters, 'rater')}, {plural(row.n_ratings, 'rating')}"
            cells = {"question": question, "group": row.group}
            means.append(Item(label=row.group, estimate=row.mean, cells={**cells, "figure": "mean"}, note=note))
            alpha = row.alpha.estimate
            alphas.append(
                Item(label=row.group, estimate=alpha, colour=INK, cells={**cells, "figure": "alpha"}, note=note)
            )
        visible = index < MOST_QUESTIONS
        builder.add(f"{question}: mean", "mean", means, visible=visible)
        builder.add(f"{question}: Krippendorff alpha", "alpha", alphas, include=[0.0], visible=visible)
    return builder.chart(*chart_texts("rater-groups", column=groups.column))
