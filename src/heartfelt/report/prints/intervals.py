"""Values with intervals, in rows or columns.

A panel has ``rows`` of ``{label, value, low, high, colour}``, a ``value`` axis, ``bars`` (whether a bar runs from zero),
``lines`` across (``{at, label}``), ``brackets`` between rows that differ (``{a, b, stars}``, row numbers) and, where
the rows are ranked, ``ties`` (first and last row of those that cannot be told apart). A few rows stand upright with
brackets above, as papers print them; many lie down.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from heartfelt.report.chart import Chart
from heartfelt.report.palette import INK, SOFT
from heartfelt.report.prints.style import COLUMN, PAGE, grid_of, gridlines, longest, scale, shortened, wrapped

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_UPRIGHT = 6


def paint(chart: Chart) -> Figure:
    """Draw the panels, upright or lying."""
    from matplotlib.figure import Figure

    most = max(len(panel["rows"]) for panel in chart.panels)
    upright = most <= MOST_UPRIGHT and not any(panel.get("ties") for panel in chart.panels)
    down, across = grid_of(len(chart.panels), 2 if upright else 3)
    if upright:
        figure = Figure(figsize=(COLUMN if across == 1 else PAGE, 0.2 + 2.5 * down), layout="constrained")
    else:
        figure = Figure(
            figsize=(COLUMN if across == 1 else PAGE, down * (0.7 + 0.17 * most)), layout="constrained"
        )
    grid = figure.subplots(down, across, squeeze=False)
    for place, (axes, panel) in enumerate(zip(grid.flat, chart.panels, strict=False)):
        axes.set_title(panel["title"])
        if upright:
            _upright(axes, panel, wide=across == 1)
        else:
            same = (
                place % across
                and panel["rows"]
                and [r["label"] for r in panel["rows"]]
                == [r["label"] for r in chart.panels[place - 1]["rows"]]
            )
            _lying(axes, panel, named=not same)
    for axes in list(grid.flat)[len(chart.panels) :]:
        axes.set_axis_off()
    return figure


def _upright(axes: Axes, panel: Mapping[str, Any], wide: bool) -> None:
    rows = panel["rows"]
    gridlines(axes, "y")
    scale(axes, "y", panel["value"])
    for line in panel.get("lines", ()):
        axes.axhline(
            line["at"], color=SOFT, linewidth=0.8, linestyle="--" if line.get("label") else "-", zorder=1
        )
        if line.get("label"):
            axes.annotate(
                line["label"],
                (1, line["at"]),
                xycoords=("axes fraction", "data"),
                ha="right",
                va="bottom",
                fontsize=6,
                color=SOFT,
            )
    known = [(place, row) for place, row in enumerate(rows) if row["value"] is not None]
    at, values, colours = (
        [p for p, _ in known],
        [r["value"] for _, r in known],
        [r["colour"] for _, r in known],
    )
    banded = [(place, row) for place, row in known if row["low"] is not None]
    spans = ([p for p, _ in banded], [r["low"] for _, r in banded], [r["high"] for _, r in banded])
    if panel.get("bars"):
        axes.bar(at, values, width=0.62, color=colours, alpha=0.85, zorder=2)
    else:
        axes.scatter(at, values, s=25, c=colours, zorder=4)
    axes.vlines(
        *spans, color=INK if panel.get("bars") else [r["colour"] for _, r in banded], linewidth=1.3, zorder=3
    )
    labels = [wrapped(row["label"], 9 if not wide and len(rows) > 5 else 12) for row in rows]
    small = 6.0 if len(rows) > 6 else 6.5
    turned = longest([max(label.split("\n"), key=len) for label in labels]) > (9 if len(rows) > 6 else 13)
    axes.set_xticks(
        range(len(rows)),
        [shortened(row["label"], 24) for row in rows] if turned else labels,
        fontsize=small,
        rotation=35 if turned else 0,
        ha="right" if turned else "center",
        rotation_mode="anchor" if turned else "default",
    )
    axes.set_xlim(-0.6, len(rows) - 0.4)
    _brackets(axes, panel)


def _brackets(axes: Axes, panel: Mapping[str, Any]) -> None:
    """Marks above the values, the shortest lowest, each on a level of its own."""
    marks = sorted(panel.get("brackets", ()), key=lambda mark: (mark["b"] - mark["a"], mark["a"]))
    if not marks:
        return
    low, high = axes.get_ylim()
    top = max(
        row["high"] if row["high"] is not None else row["value"]
        for row in panel["rows"]
        if row["value"] is not None
    )
    step = (high - low) * 0.085
    level = top + step * 0.7
    for mark in marks:
        axes.plot(
            [mark["a"], mark["a"], mark["b"], mark["b"]],
            [level - step * 0.25, level, level, level - step * 0.25],
            color=INK,
            linewidth=0.7,
            clip_on=False,
        )
        axes.text(
            (mark["a"] + mark["b"]) / 2,
            level - step * 0.12,
            mark["stars"],
            ha="center",
            va="bottom",
            fontsize=7,
            color=INK,
        )
        level += step * 1.15
    axes.set_ylim(low, max(high, level))


def _lying(axes: Axes, panel: Mapping[str, Any], named: bool) -> None:
    rows = panel["rows"]
    gridlines(axes, "x")
    scale(axes, "x", panel["value"])
    for line in panel.get("lines", ()):
        axes.axvline(
            line["at"], color=SOFT, linewidth=0.8, linestyle="--" if line.get("label") else "-", zorder=1
        )
        if line.get("label"):
            axes.annotate(
                line["label"],
                (line["at"], 1),
                xycoords=("data", "axes fraction"),
                xytext=(0, 1),
                textcoords="offset points",
                ha="center",
                va="bottom",
                fontsize=5.8,
                color=SOFT,
            )
    if any(line.get("label") for line in panel.get("lines", ())):
        axes.set_title(panel["title"], pad=11)
    known = [(place, row) for place, row in enumerate(rows) if row["value"] is not None]
    at, values, colours = (
        [p for p, _ in known],
        [r["value"] for _, r in known],
        [r["colour"] for _, r in known],
    )
    banded = [(place, row) for place, row in known if row["low"] is not None]
    spans = ([p for p, _ in banded], [r["low"] for _, r in banded], [r["high"] for _, r in banded])
    if panel.get("bars"):
        axes.barh(at, values, height=0.62, color=colours, alpha=0.85, zorder=2)
    else:
        axes.scatter(values, at, s=16, c=colours, zorder=4)
    axes.hlines(
        *spans, color=INK if panel.get("bars") else [r["colour"] for _, r in banded], linewidth=1.2, zorder=3
    )
    axes.set_yticks(
        range(len(rows)),
        [wrapped(row["label"], 34).split("\n")[0] for row in rows] if named else [""] * len(rows),
        fontsize=6.5,
    )
    axes.set_ylim(len(rows) - 0.4, -0.6)
    right, free = 1.02, [-1] * len(panel.get("ties", ()))
    for first, last in panel.get("ties", ()):
        lane = next(i for i, end in enumerate(free) if end < first)
        free[lane] = last
        axes.plot(
            [right + 0.025 * lane] * 2,
            [first - 0.3, last + 0.3],
            transform=axes.get_yaxis_transform(),
            color=SOFT,
            linewidth=2.2,
            clip_on=False,
            solid_capstyle="butt",
        )
