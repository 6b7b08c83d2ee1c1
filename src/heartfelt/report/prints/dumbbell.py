"""Before and after. A panel has a ``value`` axis and ``rows`` of ``{label, before, after}``, each side ``{value, low, high}``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from heartfelt.report.chart import Chart
from heartfelt.report.palette import SOFT
from heartfelt.report.prints.style import COLUMN, MARKERS, PAGE, gridlines, scale, wrapped

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

APART = 0.16
ROW, FRAME = 0.185, 0.62
"""Inches for a row, and for a panel's title and axis."""


def paint(chart: Chart) -> Figure:
    """Draw the panels in two stacks of about the same height, each panel with its own unit."""
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    stacks = _stacks(chart.panels)
    heights = [sum(ROW * len(panel["rows"]) + FRAME for panel in stack) for stack in stacks]
    size = (PAGE if len(stacks) > 1 else COLUMN * 1.5, max(heights) + 0.3)
    figure = Figure(figsize=size, layout="constrained")
    parts = figure.subfigures(1, len(stacks), squeeze=False)[0]
    for part, stack in zip(parts, stacks, strict=True):
        ratios = [ROW * len(panel["rows"]) + FRAME for panel in stack]
        for axes, panel in zip(
            part.subplots(len(stack), 1, squeeze=False, height_ratios=ratios).flat, stack, strict=True
        ):
            _panel(axes, panel, chart.legend)
    keys = [
        Line2D(
            [],
            [],
            linestyle="",
            marker=MARKERS[entry["shape"]],
            color=entry["colour"],
            markersize=4,
            label=entry["label"],
        )
        for entry in chart.legend
    ]
    figure.legend(handles=keys, loc="outside lower center", ncols=2, handletextpad=0.2)
    return figure


def _stacks(panels: Sequence[Mapping[str, Any]]) -> list[list[Mapping[str, Any]]]:
    if len(panels) < 2:
        return [list(panels)]
    stacks: list[list[Mapping[str, Any]]] = [[], []]
    filled = [0.0, 0.0]
    for panel in sorted(panels, key=lambda one: -len(one["rows"])):
        at = 0 if filled[0] <= filled[1] else 1
        stacks[at].append(panel)
        filled[at] += ROW * len(panel["rows"]) + FRAME
    order = {id(panel): place for place, panel in enumerate(panels)}
    stacks = [sorted(stack, key=lambda panel: order[id(panel)]) for stack in stacks]
    return sorted(stacks, key=lambda stack: order[id(stack[0])])


def _panel(axes: Axes, panel: Mapping[str, Any], legend: Sequence[Mapping[str, Any]]) -> None:
    axes.set_title(panel["title"])
    gridlines(axes, "x")
    scale(axes, "x", panel["value"])
    from matplotlib.collections import LineCollection

    rows = list(enumerate(panel["rows"]))
    ends = [
        [(row["before"]["value"], place - APART), (row["after"]["value"], place + APART)]
        for place, row in rows
    ]
    axes.add_collection(LineCollection(ends, colors=SOFT, linewidths=0.8, zorder=2), autolim=False)
    for side, entry, offset in (("before", legend[0], -APART), ("after", legend[1], APART)):
        banded = [
            (place + offset, row[side]["low"], row[side]["high"])
            for place, row in rows
            if row[side]["low"] is not None
        ]
        if banded:
            at, low, high = zip(*banded, strict=True)
            axes.hlines(at, low, high, color=entry["colour"], linewidth=1.0, zorder=3)
        axes.plot(
            [row[side]["value"] for _, row in rows],
            [place + offset for place, _ in rows],
            MARKERS[entry["shape"]],
            color=entry["colour"],
            markersize=3.4,
            zorder=4,
        )
    axes.set_yticks(
        range(len(panel["rows"])),
        [wrapped(row["label"], 44).split("\n")[0] for row in panel["rows"]],
        fontsize=6,
    )
    axes.set_ylim(len(panel["rows"]) - 0.4, -0.6)
