"""Shaded tables.

A panel has ``rows`` and ``columns`` (labels), ``cells`` (rows of ``{value, text}``), ``row_label``, ``column_label``, ``low`` and
``high`` of the shading, and ``square``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from heartfelt.report.chart import Chart
from heartfelt.report.palette import INK, PLAIN, mix
from heartfelt.report.prints.style import COLUMN, PAGE, grid_of, longest, wrapped

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def paint(chart: Chart) -> Figure:
    """Draw the tables."""
    from matplotlib.collections import PolyCollection
    from matplotlib.figure import Figure

    down, across = grid_of(len(chart.panels), 2)
    tallest = max(len(panel["rows"]) for panel in chart.panels)
    square = all(panel.get("square") for panel in chart.panels)
    height = COLUMN * 0.92 if square else 0.75 + 0.19 * tallest
    figure = Figure(figsize=(COLUMN if across == 1 else PAGE, down * height), layout="constrained")
    grid = figure.subplots(down, across, squeeze=False)
    for axes, panel in zip(grid.flat, chart.panels, strict=False):
        span = (panel["high"] - panel["low"]) or 1.0
        places = [(i, j, cell) for i, line in enumerate(panel["cells"]) for j, cell in enumerate(line)]
        shares = [
            0.0 if cell["value"] is None else (cell["value"] - panel["low"]) / span for _, _, cell in places
        ]
        corners = [
            [(j - 0.5, i - 0.5), (j + 0.5, i - 0.5), (j + 0.5, i + 0.5), (j - 0.5, i + 0.5)]
            for i, j, _ in places
        ]
        axes.add_collection(
            PolyCollection(
                corners,
                facecolors=[mix("#ffffff", PLAIN, share) for share in shares],
                edgecolors="white",
                linewidths=0.8,
            ),
            autolim=False,
        )
        for (i, j, cell), share in zip(places, shares, strict=True):
            axes.text(
                j,
                i,
                cell["text"],
                ha="center",
                va="center",
                fontsize=6.5,
                color="white" if share > 0.55 else INK,
            )
        axes.set_xlim(-0.5, len(panel["columns"]) - 0.5)
        axes.set_ylim(len(panel["rows"]) - 0.5, -0.5)
        columns = [wrapped(str(label), 9) for label in panel["columns"]]
        turned = longest([line for label in columns for line in label.split("\n")]) > (
            9 if len(columns) < 7 else 4
        )
        axes.set_xticks(
            range(len(columns)),
            panel["columns"] if turned else columns,
            rotation=35 if turned else 0,
            ha="right" if turned else "center",
            rotation_mode="anchor" if turned else "default",
        )
        axes.set_yticks(range(len(panel["rows"])), panel["rows"])
        axes.tick_params(length=0)
        for spine in axes.spines.values():
            spine.set_visible(False)
        axes.set_title(panel["title"])
        axes.set_xlabel(panel["column_label"])
        axes.set_ylabel(panel["row_label"])
        if panel.get("square"):
            axes.set_aspect("equal")
    for axes in list(grid.flat)[len(chart.panels) :]:
        axes.set_axis_off()
    return figure
