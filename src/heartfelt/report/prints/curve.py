"""Curves with bands.

A panel has ``series`` of ``{label, colour, points: [{x, y, low, high}], needed: [{x, y}]}``, axes ``x`` and ``y``, ``lines``
across (``{at, label}``), ``banded`` (whether intervals are drawn) and ``here`` (``{at, label}``, a mark along ``x``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from heartfelt.report.chart import Chart
from heartfelt.report.palette import SOFT
from heartfelt.report.prints.style import COLUMN, PAGE, gridlines, scale, shortened

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DASHES = ("-", "--", "-.", ":")


def paint(chart: Chart) -> Figure:
    """Draw the curves."""
    from matplotlib.figure import Figure

    count = len(chart.panels)
    figure = Figure(figsize=(PAGE if count > 1 else COLUMN * 1.15, 2.6), layout="constrained")
    for axes, panel in zip(figure.subplots(1, count, squeeze=False).flat, chart.panels, strict=True):
        axes.set_title(panel["title"])
        gridlines(axes, "y")
        scale(axes, "x", panel["x"])
        scale(axes, "y", panel["y"])
        for line in panel["lines"]:
            axes.axhline(line["at"], color=SOFT, linewidth=0.8, linestyle=(0, (4, 2)), zorder=1)
        if panel.get("here"):
            axes.axvline(panel["here"]["at"], color=SOFT, linewidth=0.8, linestyle=":", zorder=1)
            axes.annotate(
                panel["here"]["label"],
                (panel["here"]["at"], 0),
                xycoords=("data", "axes fraction"),
                xytext=(2, 2),
                textcoords="offset points",
                fontsize=6,
                color=SOFT,
                rotation=90,
                ha="left",
                va="bottom",
            )
        for place, series in enumerate(panel["series"]):
            points = series["points"]
            across = [p["x"] for p in points]
            banded = [p for p in points if panel["banded"] and p["low"] is not None and p["high"] is not None]
            axes.fill_between(
                [p["x"] for p in banded],
                [p["low"] for p in banded],
                [p["high"] for p in banded],
                color=series["colour"],
                alpha=0.15,
                linewidth=0,
            )
            axes.plot(
                across,
                [p["y"] for p in points],
                color=series["colour"],
                linestyle=DASHES[place % 4],
                label=shortened(series["label"], 28),
                zorder=3,
            )
            axes.plot(
                [p["x"] for p in series["needed"]],
                [p["y"] for p in series["needed"]],
                "o",
                color=series["colour"],
                markersize=4,
                zorder=4,
            )
        axes.legend(loc="lower right")
    return figure
