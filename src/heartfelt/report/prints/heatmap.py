"""Shaded tables.

A panel has ``rows`` and ``columns`` (labels), ``cells`` (rows of ``{value, text}``), ``row_label``, ``column_label``, ``low`` and
``high`` of the shading, and ``square``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from heartfelt.report.chart import Chart
from heartfelt.report.palette import INK, PLAIN, mix
from heartfelt.report.prints.style import COLUMN, PAGE, grid_of, longest, shortened, wrapped

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DARK = 0.75
"""The shade from which white letters read better than dark ones."""


def paint(chart: Chart) -> Figure:
    """Draw the tables."""
    from matplotlib.figure import Figure

    down, across = grid_of(len(chart.panels), 2)
    tallest = max(len(panel["rows"]) for panel in chart.panels)
    square = all(panel.get("square") for panel in chart.panels)
    height = COLUMN * 0.92 if square else 0.75 + 0.19 * tallest
    figure = Figure(figsize=(COLUMN if across == 1 else PAGE, down * height), layout="constrained")
    grid = figure.subplots(down, across, squeeze=False)
    for axes, panel in zip(grid.flat, chart.panels, strict=False):
        _cells(axes, panel)
        _frame(axes, panel)
    for axes in list(grid.flat)[len(chart.panels) :]:
        axes.set_axis_off()
    return figure


def _cells(axes: Axes, panel: Mapping[str, Any]) -> None:
    from matplotlib.collections import PolyCollection

    span = (panel["high"] - panel["low"]) or 1.0
    corners, shades = [], []
    for i, line in enumerate(panel["cells"]):
        for j, cell in enumerate(line):
            share = 0.0 if cell["value"] is None else (cell["value"] - panel["low"]) / span
            left, right, top, bottom = j - 0.5, j + 0.5, i - 0.5, i + 0.5
            corners.append([(left, top), (right, top), (right, bottom), (left, bottom)])
            shades.append(mix("#ffffff", PLAIN, share))
            ink = "white" if share > DARK else INK
            axes.text(j, i, cell["text"], ha="center", va="center", fontsize=6.5, color=ink)
    cells = PolyCollection(corners, facecolors=shades, edgecolors="white", linewidths=0.8)
    axes.add_collection(cells, autolim=False)


def _frame(axes: Axes, panel: Mapping[str, Any]) -> None:
    columns = [wrapped(str(label), 9) for label in panel["columns"]]
    room = 9 if len(columns) < 7 else 4
    turned = longest([line for label in columns for line in label.split("\n")]) > room
    axes.set_xticks(
        range(len(columns)),
        [shortened(str(label), 20) for label in panel["columns"]] if turned else columns,
        rotation=35 if turned else 0,
        ha="right" if turned else "center",
        rotation_mode="anchor" if turned else "default",
    )
    axes.set_yticks(range(len(panel["rows"])), [shortened(str(label), 28) for label in panel["rows"]])
    axes.set_xlim(-0.5, len(columns) - 0.5)
    axes.set_ylim(len(panel["rows"]) - 0.5, -0.5)
    axes.tick_params(length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)
    axes.set_title(panel["title"])
    axes.set_xlabel(panel["column_label"])
    axes.set_ylabel(panel["row_label"])
    if panel.get("square"):
        axes.set_aspect("equal")
