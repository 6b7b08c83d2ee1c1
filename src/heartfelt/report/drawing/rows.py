"""Values with intervals, and values before and after, in rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure

from heartfelt.report.charts import Dumbbells, Intervals, Key
from heartfelt.report.drawing.style import (
    COLUMN,
    MARKERS,
    PAGE,
    PrintFigure,
    first_line,
    gridlines,
    legend_marks,
    longest,
    name_columns,
    note,
    panel_grid,
    rows_and_columns,
    scale,
    shortened,
    wrapped,
)
from heartfelt.report.palette import INK, SOFT

MOST_UPRIGHT = 6
SPACING = 0.16
ROW, FRAME = 0.185, 0.62
"""Inches for a row of a dumbbell panel, and for its title and axis."""


def draw_intervals(panels: Sequence[Intervals], _: Sequence[Key]) -> Figure:
    """A few rows stand upright with brackets above, as papers print them; many lie down."""
    most = max(len(panel.rows) for panel in panels)
    upright = most <= MOST_UPRIGHT and not any(panel.ties for panel in panels)
    down, across = rows_and_columns(len(panels), 2 if upright else 3)
    height = 0.2 + 2.5 * down if upright else down * (0.7 + 0.17 * most)
    figure, every = panel_grid(len(panels), across, COLUMN if across == 1 else PAGE, height)
    for index, (axes, panel) in enumerate(zip(every, panels, strict=True)):
        axes.set_title(panel.title)
        _values(axes, panel, upright)
        labels = [row.label for row in panel.rows]
        if upright:
            _name_below(axes, labels, wide=across == 1)
            _brackets(axes, panel)
        else:
            same = index % across and labels == [row.label for row in panels[index - 1].rows]
            _name_beside(axes, [""] * len(labels) if same else [first_line(label, 34) for label in labels], 6.5)
            _ties(axes, panel)
    return figure


def _values(axes: Axes, panel: Intervals, upright: bool) -> None:
    """Marks or bars at the values, with their intervals."""
    side: Literal["x", "y"] = "y" if upright else "x"
    gridlines(axes, side)
    scale(axes, side, panel.value)
    _lines(axes, panel, upright)
    points = [(index, row.value, row.colour) for index, row in enumerate(panel.rows) if row.value is not None]
    at, values, colours = ([*part] for part in zip(*points, strict=True)) if points else ([], [], [])
    if panel.bars:
        (axes.bar if upright else axes.barh)(at, values, 0.62, color=colours, alpha=0.85, zorder=2)
    else:
        coordinates = (at, values) if upright else (values, at)
        axes.scatter(*coordinates, s=25 if upright else 16, c=colours, zorder=4)
    _row_intervals(axes, panel, upright)


def _row_intervals(axes: Axes, panel: Intervals, upright: bool) -> None:
    banded = [
        (index, row.low, row.high, row.colour)
        for index, row in enumerate(panel.rows)
        if row.value is not None and row.low is not None and row.high is not None
    ]
    if banded:
        at, low, high, colours = ([*part] for part in zip(*banded, strict=True))
        lines = axes.vlines if upright else axes.hlines
        lines(at, low, high, color=INK if panel.bars else colours, linewidth=1.3 if upright else 1.2, zorder=3)


def _lines(axes: Axes, panel: Intervals, upright: bool) -> None:
    """Lines across the values, dashed where they have a label."""
    across = axes.axhline if upright else axes.axvline
    for line in panel.lines:
        across(line.at, color=SOFT, linewidth=0.8, linestyle="--" if line.label else "-", zorder=1)
        if line.label and upright:
            note(axes, line.label, (1, line.at), ("axes fraction", "data"), ha="right")
        elif line.label:
            above = (line.at, 1)
            note(axes, line.label, above, ("data", "axes fraction"), (0, 1), ha="center", fontsize=5.8)
            axes.set_title(panel.title, pad=11)


def _name_beside(axes: Axes, names: Sequence[str], size: float) -> None:
    axes.set_yticks(range(len(names)), names, fontsize=size)
    axes.set_ylim(len(names) - 0.4, -0.6)


def _name_below(axes: Axes, labels: Sequence[str], wide: bool) -> None:
    many = len(labels) > 6
    lines = [wrapped(label, 9 if not wide and len(labels) > 5 else 12) for label in labels]
    turned = longest(lines) > (9 if many else 13)
    shown = [shortened(label, 24) for label in labels] if turned else lines
    name_columns(axes, shown, 35 if turned else 0, fontsize=6.0 if many else 6.5)
    axes.set_xlim(-0.6, len(labels) - 0.4)


def _brackets(axes: Axes, panel: Intervals) -> None:
    """Marks above the values, the shortest lowest, each at a height of its own."""
    marks = sorted(panel.brackets, key=lambda mark: (mark.b - mark.a, mark.a))
    if not marks:
        return
    low, high = axes.get_ylim()
    top = max(row.high if row.high is not None else row.value for row in panel.rows if row.value is not None)
    step = (high - low) * 0.085
    height = top + step * 0.7
    for mark in marks:
        corners = [height - step * 0.25, height, height, height - step * 0.25]
        axes.plot([mark.a, mark.a, mark.b, mark.b], corners, color=INK, linewidth=0.7, clip_on=False)
        middle = (mark.a + mark.b) / 2
        axes.text(middle, height - step * 0.12, mark.stars, ha="center", va="bottom", fontsize=7, color=INK)
        height += step * 1.15
    axes.set_ylim(low, max(high, height))


def _ties(axes: Axes, panel: Intervals) -> None:
    """Grey bars next to the rows that do not differ, those that overlap in lanes of their own."""
    free = [-1] * len(panel.ties)
    for first, last in panel.ties:
        lane = next(i for i, end in enumerate(free) if end < first)
        free[lane] = last
        x, ends = [1.02 + 0.025 * lane] * 2, [first - 0.3, last + 0.3]
        look: dict[str, Any] = {"linewidth": 2.2, "clip_on": False, "solid_capstyle": "butt"}
        axes.plot(x, ends, transform=axes.get_yaxis_transform(), color=SOFT, **look)


def draw_dumbbells(panels: Sequence[Dumbbells], legend: Sequence[Key]) -> Figure:
    """The panels in two stacks of about the same height, each panel with its own unit."""
    stacks = _stacks(panels)
    heights = [[ROW * len(panel.rows) + FRAME for panel in stack] for stack in stacks]
    size = (PAGE if len(stacks) > 1 else COLUMN * 1.5, max(map(sum, heights)) + 0.3)
    figure = PrintFigure(figsize=size, layout="constrained")
    parts = figure.subfigures(1, len(stacks), squeeze=False)[0]
    for part, stack, ratios in zip(parts, stacks, heights, strict=True):
        column = part.subplots(len(stack), 1, squeeze=False, height_ratios=ratios).flat
        for axes, panel in zip(column, stack, strict=True):
            _changes(axes, panel, legend)
    figure.legend(handles=legend_marks(legend), loc="outside lower center", ncols=2, handletextpad=0.2)
    return figure


def _stacks(panels: Sequence[Dumbbells]) -> list[list[Dumbbells]]:
    if len(panels) < 2:
        return [list(panels)]
    stacks: list[list[int]] = [[], []]
    filled = [0.0, 0.0]
    for number in sorted(range(len(panels)), key=lambda panel_number: -len(panels[panel_number].rows)):
        at = 0 if filled[0] <= filled[1] else 1
        stacks[at].append(number)
        filled[at] += ROW * len(panels[number].rows) + FRAME
    return [[panels[number] for number in stack] for stack in sorted(map(sorted, stacks))]


def _changes(axes: Axes, panel: Dumbbells, legend: Sequence[Key]) -> None:
    axes.set_title(panel.title)
    gridlines(axes, "x")
    scale(axes, "x", panel.value)
    ends = [
        [(row.before.value, index - SPACING), (row.after.value, index + SPACING)]
        for index, row in enumerate(panel.rows)
    ]
    axes.add_collection(LineCollection(ends, colors=SOFT, linewidths=0.8, zorder=2), autolim=False)
    before, after = zip(*((row.before, row.after) for row in panel.rows), strict=True)
    for sides, entry, offset in ((before, legend[0], -SPACING), (after, legend[1], SPACING)):
        banded = [(index + offset, side.low, side.high) for index, side in enumerate(sides) if side.low is not None]
        if banded:
            at, low, high = zip(*banded, strict=True)
            axes.hlines(at, low, high, color=entry.colour, linewidth=1.0, zorder=3)
        values, positions = [side.value for side in sides], [index + offset for index in range(len(sides))]
        axes.plot(values, positions, MARKERS[entry.shape], color=entry.colour, markersize=3.4, zorder=4)
    _name_beside(axes, [first_line(row.label, 44) for row in panel.rows], 6)
