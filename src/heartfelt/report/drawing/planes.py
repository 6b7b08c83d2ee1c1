"""Points in a plane, maps of what was perceived, and curves with bands."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Ellipse

from heartfelt.report.charts import CurvePoint, Curves, Dot, Key, Map, PlaneChart, Point, Series, Spot
from heartfelt.report.drawing.style import (
    COLUMN,
    MARKERS,
    PAGE,
    gridlines,
    legend_marks,
    note,
    panel_grid,
    rows_and_columns,
    scale,
    shortened,
)
from heartfelt.report.palette import INK, LINE, SOFT

DASHES = ("-", "--", "-.", ":")


def draw_planes(panels: Sequence[PlaneChart], legend: Sequence[Key]) -> Figure:
    """The panels side by side."""
    count = len(panels)
    figure, every = panel_grid(count, count, PAGE if count > 1 else COLUMN * 1.25, 3.3)
    for axes, panel in zip(every, panels, strict=True):
        _plane(axes, panel)
    if legend:
        every[0].legend(handles=legend_marks(legend), loc="best", handletextpad=0.2)
    return figure


def _plane(axes: Axes, panel: PlaneChart) -> None:
    axes.set_title(panel.title)
    scale(axes, "x", panel.x)
    scale(axes, "y", panel.y)
    for at in panel.x.lines:
        axes.axvline(at, color=SOFT, linewidth=0.7, zorder=1)
    for at in panel.y.lines:
        axes.axhline(at, color=SOFT, linewidth=0.7, zorder=1)
    if panel.diagonal:
        ends = (max(panel.x.low, panel.y.low), min(panel.x.high, panel.y.high))
        axes.plot(ends, ends, color=SOFT, linewidth=0.7, linestyle=(0, (4, 3)), zorder=1)
    if panel.equal:
        axes.set_aspect("equal", adjustable="box")
    axes.grid(color=LINE, linewidth=0.4)
    _marks(axes, panel)
    if panel.named:
        for point in panel.points:
            _name(axes, panel, point)


def _marks(axes: Axes, panel: PlaneChart) -> None:
    """The points with their intervals, what links them, and arrows to them."""
    for a, b in panel.links:
        p, q = panel.points[a], panel.points[b]
        axes.plot([p.x, q.x], [p.y, q.y], color=INK, linewidth=0.7, zorder=2)
    for p in panel.points:
        if panel.arrows:
            axes.plot([0, p.x], [0, p.y], color=p.colour, linewidth=0.8, alpha=0.6, zorder=2)
        _point_intervals(axes, p)
    for shape in dict.fromkeys(point.shape for point in panel.points):
        same_shape = [point for point in panel.points if point.shape == shape]
        look = {"s": 22 if panel.named else 13, "marker": MARKERS[shape], "edgecolors": "white"}
        scattered(axes, same_shape, [p.colour for p in same_shape], linewidths=0.4, zorder=4, **look)


def _point_intervals(axes: Axes, p: Point) -> None:
    if p.xl is not None and p.xh is not None:
        axes.plot([p.xl, p.xh], [p.y, p.y], color=p.colour, linewidth=0.9, zorder=3)
    if p.yl is not None and p.yh is not None:
        axes.plot([p.x, p.x], [p.yl, p.yh], color=p.colour, linewidth=0.9, zorder=3)


def _name(axes: Axes, panel: PlaneChart, point: Point) -> None:
    """A label next to a point, outward from the origin, where there is room for it."""
    neighbours = [p for p in panel.points if p is not point]
    nearest = min(neighbours, key=lambda p: math.hypot(p.x - point.x, p.y - point.y), default=None)
    above = point.y >= (0 if nearest is None else nearest.y)
    width = 0.016 * len(point.label) * (panel.x.high - panel.x.low)
    right = (point.x >= 0 and point.x + width < panel.x.high) or point.x - width < panel.x.low
    offset = (4 if right else -4, 4 if above else -4)
    sides = {"ha": "left" if right else "right", "va": "bottom" if above else "top"}
    text = shortened(point.label, 28)
    note(axes, text, (point.x, point.y), "data", offset, **sides, fontsize=6.2, color=INK, zorder=5)


def draw_maps(panels: Sequence[Map], legend: Sequence[Key]) -> Figure:
    """The maps in rows of three, with one legend."""
    down, across = rows_and_columns(len(panels), 3)
    side = PAGE / max(across, 2)
    figure, every = panel_grid(len(panels), across, side * across, 0.45 + down * side * 0.98, shared=True)
    for index, (axes, panel) in enumerate(zip(every, panels, strict=True)):
        _map(axes, panel)
        if index % across:
            axes.set_ylabel("")
        if index + across < len(panels):
            axes.set_xlabel("")
    marks = legend_marks(legend, 5) + legend_marks([Key("mean", INK, "star")], 7)
    if any(panel.crosses for panel in panels):
        marks += legend_marks([Key("reference", INK, "cross")], 5)
    figure.legend(
        handles=marks,
        loc="outside lower center",
        ncols=3 if across < 3 else 6,
        handletextpad=0.1,
        columnspacing=0.9,
        fontsize=6.3,
    )
    return figure


def _map(axes: Axes, panel: Map) -> None:
    axes.set_title(shortened(panel.title, 28))
    for which, axis, line in (("x", panel.x, axes.axvline), ("y", panel.y, axes.axhline)):
        margin = 0.04 * (axis.high - axis.low)
        scale(axes, which, replace(axis, low=axis.low - margin, high=axis.high + margin))  # type: ignore[arg-type]  # x or y
        line((axis.low + axis.high) / 2, color=LINE, linewidth=0.8, zorder=0)
    alike = panel.x.high - panel.x.low == panel.y.high - panel.y.low
    axes.set_aspect("equal" if alike else "auto", adjustable="box")
    dots = {"s": 4, "alpha": 0.45, "linewidths": 0, "zorder": 2, "rasterized": len(panel.points) > 2000}
    scattered(axes, panel.points, [panel.colour(p.group) for p in panel.points], **dots)
    for e in panel.ellipses:
        colour, shape = panel.colour(e.group), partial(Ellipse, (e.x, e.y), 2 * e.long, 2 * e.short)
        turn = math.degrees(e.angle)
        axes.add_patch(shape(angle=turn, facecolor=colour, alpha=0.1, linewidth=0, zorder=1))
        axes.add_patch(shape(angle=turn, fill=False, edgecolor=colour, linewidth=0.9, zorder=3))
    outline = {"marker": "*", "s": 60, "edgecolors": INK, "linewidths": 0.5}
    if not panel.points:
        # Without stimuli there is room for names.
        for spot in panel.stars:
            note(axes, shortened(spot.label, 20), (spot.x, spot.y), "data", (0, 5), ha="center", fontsize=5.6, zorder=6)
    for spots, look in ((panel.crosses, {"marker": "x", "s": 14, "linewidths": 0.9}), (panel.stars, outline)):
        scattered(axes, spots, [panel.colour(spot.group) for spot in spots], zorder=5, **look)


def scattered(axes: Axes, marks: Sequence[Point | Dot | Spot], colours: Sequence[str], **look: Any) -> None:
    """Marks at their places."""
    if marks:
        axes.scatter([mark.x for mark in marks], [mark.y for mark in marks], c=colours, **look)


def draw_curves(panels: Sequence[Curves], _: Sequence[Key]) -> Figure:
    """The curves with their bands, and dots where they reach a target."""
    count = len(panels)
    figure, every = panel_grid(count, count, PAGE if count > 1 else COLUMN * 1.15, 2.6)
    for axes, panel in zip(every, panels, strict=True):
        axes.set_title(panel.title)
        gridlines(axes, "y")
        scale(axes, "x", panel.x)
        scale(axes, "y", panel.y)
        for line in panel.lines:
            axes.axhline(line.at, color=SOFT, linewidth=0.8, linestyle=(0, (4, 2)), zorder=1)
        if panel.here:
            axes.axvline(panel.here.at, color=SOFT, linewidth=0.8, linestyle=":", zorder=1)
            at, frame = (panel.here.at, 0), ("data", "axes fraction")
            note(axes, panel.here.label, at, frame, (2, 2), rotation=90, ha="left")
        for index, series in enumerate(panel.series):
            _curve(axes, series, DASHES[index % 4], panel.banded)
        falling = all(series.points[-1].y < series.points[0].y for series in panel.series if series.points)
        axes.legend(loc="upper right" if falling else "lower right")
    return figure


def _curve(axes: Axes, series: Series, dashes: str, banded: bool) -> None:
    """One curve with its band, and dots where it reaches a target."""
    band = [p for p in series.points if banded and p.low is not None and p.high is not None]
    low, high = [p.low or 0.0 for p in band], [p.high or 0.0 for p in band]
    axes.fill_between([p.x for p in band], low, high, color=series.colour, alpha=0.15, linewidth=0)
    label = shortened(series.label, 28)
    axes.plot(*_coordinates(series.points), color=series.colour, linestyle=dashes, label=label, zorder=3)
    axes.plot(*_coordinates(series.needed), "o", color=series.colour, markersize=4, zorder=4)


def _coordinates(points: Sequence[CurvePoint]) -> tuple[list[float], list[float]]:
    return [p.x for p in points], [p.y for p in points]
