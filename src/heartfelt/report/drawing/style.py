"""The look of printed figures: readable at column width, without ornaments, whatever the reader's own settings."""

from __future__ import annotations

import io
import textwrap
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Literal

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from heartfelt.report.charts import Axis, Key
from heartfelt.report.palette import INK, LINE, SOFT

COLUMN, PAGE = 3.4, 7.0
"""Widths in inches of one and of two columns of a paper."""

MARKERS = {"circle": "o", "square": "s", "triangle": "^", "diamond": "D", "star": "*", "cross": "x"}

SETTINGS: Mapping[str, Any] = {
    "axes.axisbelow": True,
    "axes.edgecolor": SOFT,
    "axes.facecolor": "white",
    "axes.grid": False,
    "axes.labelcolor": INK,
    "axes.labelpad": 2.0,
    "axes.labelsize": 7.5,
    "axes.linewidth": 0.6,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlepad": 4.0,
    "axes.titlesize": 8.5,
    "axes.titley": 1.0,
    "axes.unicode_minus": True,
    # As saved: letters are wider at some resolutions than at others, and the layout must fit the file.
    "figure.dpi": 200,
    "figure.facecolor": "white",
    "font.family": ["sans-serif"],
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 7.5,
    "legend.fontsize": 7.0,
    "legend.frameon": False,
    "lines.linewidth": 1.2,
    "patch.linewidth": 0.6,
    "pdf.compression": 6,
    "pdf.fonttype": 42,
    "savefig.dpi": 200,
    "svg.fonttype": "none",
    "svg.hashsalt": "heartfelt",
    # A dollar sign or a backslash in the name of a system is not a formula.
    "text.parse_math": False,
    "text.hinting": "no_hinting",
    "text.usetex": False,
    "xtick.color": SOFT,
    "xtick.labelcolor": INK,
    "xtick.labelsize": 7.0,
    "xtick.major.size": 2.5,
    "xtick.major.width": 0.6,
    "ytick.color": SOFT,
    "ytick.labelcolor": INK,
    "ytick.labelsize": 7.0,
    "ytick.major.size": 2.5,
    "ytick.major.width": 0.6,
}


@contextmanager
def style() -> Iterator[None]:
    """Draw in heartfelt's style whatever the user's own settings are."""
    with matplotlib.rc_context(), warnings.catch_warnings():
        # Names in scripts the font lacks appear as boxes in print; the page and the tables have them in full.
        warnings.filterwarnings("ignore", message="Glyph .* missing from", category=UserWarning)
        # Names too long for any layout leave the default layout in place.
        warnings.filterwarnings("ignore", message="constrained_layout not applied", category=UserWarning)
        matplotlib.rcParams.update(matplotlib.rcParamsDefault)
        for name, value in SETTINGS.items():
            matplotlib.rcParams[name] = value  # type: ignore[index]  # the stubs want each name as a literal
        yield


class PrintFigure(Figure):
    """A figure that a notebook shows."""

    def _repr_png_(self) -> bytes:
        content = io.BytesIO()
        with style():
            self.savefig(content, format="png", dpi=150)
        return content.getvalue()


def panel_grid(
    count: int, across: int, width: float, height: float, *, shared: bool = False
) -> tuple[Figure, list[Axes]]:
    """A figure with axes for ``count`` panels, ``across`` in a row; places left over stay empty."""
    figure = PrintFigure(figsize=(width, height), layout="constrained")
    grid = figure.subplots(-(-count // across), across, squeeze=False, sharex=shared, sharey=shared)
    every = list(grid.flat)
    for axes in every[count:]:
        axes.set_axis_off()
    return figure, every[:count]


def rows_and_columns(count: int, most_across: int) -> tuple[int, int]:
    """Rows and columns for ``count`` panels, the last row as full as possible."""
    down = -(-count // most_across)
    return down, -(-count // down)


def scale(axes: Axes, which: Literal["x", "y"], axis: Axis) -> None:
    """Give one direction of ``axes`` its label, limits and ticks."""
    labels = [f"{value:g}".replace("-", "\u2212") for value in axis.ticks]
    if which == "x":
        axes.set_xlabel(shortened(axis.label, 48))
        axes.set_xlim(axis.low, axis.high)
        axes.set_xticks(axis.ticks, labels)
    else:
        axes.set_ylabel(shortened(axis.label, 48))
        axes.set_ylim(axis.low, axis.high)
        axes.set_yticks(axis.ticks, labels)


def name_columns(
    axes: Axes, places: Sequence[int], labels: Sequence[str], turned: int = 0, **more: Any
) -> None:
    """Labels below columns, turned by some degrees if asked."""
    axes.set_xticks(
        places,
        labels,
        rotation=turned,
        ha="right" if turned else "center",
        rotation_mode="anchor" if turned else "default",
        **more,
    )


def gridlines(axes: Axes, which: Literal["x", "y"]) -> None:
    """Pale lines across the values."""
    axes.grid(axis=which, color=LINE, linewidth=0.5)


def legend_marks(entries: Sequence[Key], size: float = 4) -> list[Line2D]:
    """The marks of a legend."""
    return [
        Line2D(
            [], [], ls="", marker=MARKERS[entry.shape], color=entry.colour, markersize=size, label=entry.label
        )
        for entry in entries
    ]


def wrapped(text: str, width: int) -> str:
    """A label on at most three lines of at most ``width`` characters where it has spaces."""
    lines = [shortened(line, width + 6) for line in textwrap.wrap(text, width, break_long_words=False)]
    return "\n".join(lines[:3]) + ("…" if len(lines) > 3 else "")


def first_line(text: str, width: int) -> str:
    """The first line of a wrapped label."""
    return wrapped(text, width).partition("\n")[0]


def shortened(text: str, most: int) -> str:
    """A text of at most ``most`` characters."""
    return text if len(text) <= most else f"{text[: max(most - 1, 1)]}…"


def longest(labels: Sequence[str]) -> int:
    """The length of the longest line of the labels."""
    return max((len(line) for label in labels for line in label.split("\n")), default=0)
