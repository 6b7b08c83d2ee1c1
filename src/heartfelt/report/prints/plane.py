"""Points in a plane.

A panel has ``points`` of ``{x, y, xl, xh, yl, yh, label, colour, shape}``, axes ``x`` and ``y`` with ``lines`` across,
``links`` between points (pairs of numbers), and ``arrows`` (from the origin), ``equal`` (one unit both ways) and
``named`` (labels beside the points).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from heartfelt.report.chart import Chart
from heartfelt.report.palette import INK, LINE, SOFT
from heartfelt.report.prints.style import COLUMN, MARKERS, PAGE, scale, shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def paint(chart: Chart) -> Figure:
    """Draw the panels side by side."""
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    count = len(chart.panels)
    figure = Figure(figsize=(PAGE if count > 1 else COLUMN * 1.25, 3.3), layout="constrained")
    grid = figure.subplots(1, count, squeeze=False)
    for axes, panel in zip(grid.flat, chart.panels, strict=True):
        _panel(axes, panel)
    if chart.legend:
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
        grid[0][0].legend(handles=keys, loc="best", handletextpad=0.2)
    return figure


def _panel(axes: Axes, panel: Mapping[str, Any]) -> None:
    axes.set_title(panel["title"])
    for key, line in (("x", axes.axvline), ("y", axes.axhline)):
        scale(axes, key, panel[key])
        for at in panel[key].get("lines", ()):
            line(at, color=SOFT, linewidth=0.7, zorder=1)
    if panel.get("equal"):
        axes.set_aspect("equal", adjustable="box")
    axes.grid(color=LINE, linewidth=0.4)
    points = panel["points"]
    for a, b in panel.get("links", ()):
        axes.plot(
            [points[a]["x"], points[b]["x"]],
            [points[a]["y"], points[b]["y"]],
            color=INK,
            linewidth=0.7,
            zorder=2,
        )
    for point in points:
        if panel.get("arrows"):
            axes.plot(
                [0, point["x"]], [0, point["y"]], color=point["colour"], linewidth=0.8, alpha=0.6, zorder=2
            )
        if point.get("xl") is not None:
            axes.plot(
                [point["xl"], point["xh"]], [point["y"]] * 2, color=point["colour"], linewidth=0.9, zorder=3
            )
        if point.get("yl") is not None:
            axes.plot(
                [point["x"]] * 2, [point["yl"], point["yh"]], color=point["colour"], linewidth=0.9, zorder=3
            )
    for shape in dict.fromkeys(point["shape"] for point in points):
        mine = [point for point in points if point["shape"] == shape]
        axes.scatter(
            [p["x"] for p in mine],
            [p["y"] for p in mine],
            s=22 if panel.get("named") else 13,
            marker=MARKERS[shape],
            c=[p["colour"] for p in mine],
            edgecolors="white",
            linewidths=0.4,
            zorder=4,
        )
    if panel.get("named"):
        _names(axes, panel)


def _names(axes: Axes, panel: Mapping[str, Any]) -> None:
    """A label beside each point, outward from the origin, where there is room for it."""
    low, high = panel["x"]["low"], panel["x"]["high"]
    points = panel["points"]
    for point in points:
        others = [p for p in points if p is not point]
        near = min(
            others, key=lambda p: (p["x"] - point["x"]) ** 2 + (p["y"] - point["y"]) ** 2, default=None
        )
        above = point["y"] >= 0 if near is None else point["y"] >= near["y"]
        room = 0.016 * len(point["label"]) * (high - low)
        right = (point["x"] >= 0 and point["x"] + room < high) or point["x"] - room < low
        axes.annotate(
            shortened(point["label"], 28),
            (point["x"], point["y"]),
            xytext=(4 if right else -4, 4 if above else -4),
            textcoords="offset points",
            ha="left" if right else "right",
            va="bottom" if above else "top",
            fontsize=6.2,
            color=INK,
            zorder=5,
        )
