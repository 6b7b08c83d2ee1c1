"""Histograms and shaded tables."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure

from heartfelt.report.charts import Columns, Heatmap, Key
from heartfelt.report.drawing.style import (
    COLUMN,
    PAGE,
    gridlines,
    longest,
    name_columns,
    panel_grid,
    rows_and_columns,
    scale,
    shortened,
    wrapped,
)
from heartfelt.report.palette import BASE_COLOUR, FLAGGED, INK, mix

DARK = 0.75
"""The shade from which white letters read better than dark ones."""


def draw_columns(panels: Sequence[Columns], _: Sequence[Key]) -> Figure:
    """The histograms, at most three in a row."""
    down, across = rows_and_columns(len(panels), 3)
    width = COLUMN if across == 1 else PAGE
    figure, every = panel_grid(len(panels), across, width, 0.3 + down * (2.1 if across < 3 else 1.8))
    for axes, panel in zip(every, panels, strict=True):
        bars = panel.bars
        heights, colours = [bar.value for bar in bars], [bar.colour for bar in bars]
        axes.bar(range(len(bars)), heights, width=0.82, color=colours)
        axes.set_title(shortened(panel.title, 60 // across))
        scale(axes, "y", panel.y)
        gridlines(axes, "y")
        labels = [shortened(bar.label, 24) for bar in bars]
        turned = longest(labels) > 6 and len(bars) > 4
        step = 1 if turned else max(1, len(bars) * (longest(labels) + 1) // (60 // across))
        name_columns(axes, labels, 40 if turned else 0, step)
        axes.set_xlabel(panel.x.label)
        margin = max(0.0, (5 - len(bars)) / 2)
        axes.set_xlim(-0.6 - margin, len(bars) - 0.4 + margin)
    return figure


def draw_heatmaps(panels: Sequence[Heatmap], _: Sequence[Key]) -> Figure:
    """The tables, at most two in a row."""
    down, across = rows_and_columns(len(panels), 2)
    tallest = max(len(panel.rows) for panel in panels)
    height = COLUMN * 0.92 if all(panel.square for panel in panels) else 0.75 + 0.19 * tallest
    figure, every = panel_grid(len(panels), across, COLUMN if across == 1 else PAGE, down * height)
    for axes, panel in zip(every, panels, strict=True):
        _cells(axes, panel)
        _frame(axes, panel)
    return figure


def _cells(axes: Axes, panel: Heatmap) -> None:
    start = panel.low if panel.middle is None else panel.middle
    span = (panel.high - start) or 1.0
    corners, shades = [], []
    for i, line in enumerate(panel.cells):
        for j, cell in enumerate(line):
            share = 0.0 if cell.value is None else (cell.value - start) / span
            shade, share = (FLAGGED if share < 0 else BASE_COLOUR), abs(share)
            west, right, top, bottom = j - 0.5, j + 0.5, i - 0.5, i + 0.5
            corners.append([(west, top), (right, top), (right, bottom), (west, bottom)])
            shades.append(mix("#ffffff", shade, share))
            ink = "white" if share > DARK else INK
            axes.text(j, i, cell.text, ha="center", va="center", fontsize=6.5, color=ink)
    cells = PolyCollection(corners, facecolors=shades, edgecolors="white", linewidths=0.8)
    axes.add_collection(cells, autolim=False)


def _frame(axes: Axes, panel: Heatmap) -> None:
    columns = [wrapped(label, 9) for label in panel.columns]
    turned = longest(columns) > (9 if len(columns) < 7 else 4)
    shown = [shortened(label, 20) for label in panel.columns] if turned else columns
    name_columns(axes, shown, 35 if turned else 0)
    axes.set_yticks(range(len(panel.rows)), [shortened(label, 28) for label in panel.rows])
    axes.set_xlim(-0.5, len(columns) - 0.5)
    axes.set_ylim(len(panel.rows) - 0.5, -0.5)
    axes.tick_params(length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)
    axes.set_title(panel.title)
    axes.set_xlabel(panel.column_label)
    axes.set_ylabel(panel.row_label)
    if panel.square:
        axes.set_aspect("equal")
