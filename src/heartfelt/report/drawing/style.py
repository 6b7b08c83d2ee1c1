"""The look of printed figures: readable at column width, without ornaments, whatever the reader's own settings."""

from __future__ import annotations

import io
import textwrap
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from heartfelt.report.charts import Axis, Key
from heartfelt.report.palette import LINE, SOFT
from heartfelt.wording import MINUS

COLUMN, PAGE = 3.4, 7.0
"""Widths in inches of one and of two columns of a paper."""

MARKERS = {"circle": "o", "square": "s", "triangle": "^", "diamond": "D", "star": "*", "cross": "x"}

SETTINGS = Path(__file__).parents[1] / "assets" / "print.mplstyle"


@contextmanager
def style() -> Iterator[None]:
    """Draw in heartfelt's style whatever the user's own settings are."""
    with matplotlib.rc_context(fname=SETTINGS), warnings.catch_warnings():
        # Names in scripts the font lacks appear as boxes in print; the page and the tables have them in full.
        warnings.filterwarnings("ignore", message="Glyph .* missing from", category=UserWarning)
        # Names too long for any layout leave the default layout in place.
        warnings.filterwarnings("ignore", message="constrained_layout not applied", category=UserWarning)
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
    coordinate, limit = (axes.xaxis, axes.set_xlim) if which == "x" else (axes.yaxis, axes.set_ylim)
    coordinate.set_label_text(shortened(axis.label, 48))
    limit(axis.low, axis.high)
    coordinate.set_ticks(axis.ticks, [f"{value:g}".replace("-", MINUS) for value in axis.ticks])


def name_columns(axes: Axes, labels: Sequence[str], turned: int = 0, step: int = 1, **more: Any) -> None:
    """Labels below columns, one in ``step``, turned by some degrees if asked."""
    look = {"ha": "right", "rotation_mode": "anchor", **more} if turned else {"ha": "center", **more}
    axes.set_xticks(range(len(labels))[::step], labels[::step], rotation=turned, **look)


def note(
    axes: Axes, text: str, at: tuple[float, float], frame: Any, offset: tuple[float, float] = (0, 0), **look: Any
) -> None:
    """A small grey text next to ``at``, a place in the coordinates of ``frame``, moved by ``offset`` points."""
    shown = {"fontsize": 6, "color": SOFT, "va": "bottom", **look}
    axes.annotate(text, at, xycoords=frame, xytext=offset, textcoords="offset points", **shown)


def gridlines(axes: Axes, which: Literal["x", "y"]) -> None:
    """Pale lines across the values."""
    axes.grid(axis=which, color=LINE, linewidth=0.5)


def legend_marks(entries: Sequence[Key], size: float = 4) -> list[Line2D]:
    look: dict[str, Any] = {"ls": "", "markersize": size}
    return [Line2D([], [], marker=MARKERS[e.shape], color=e.colour, label=e.label, **look) for e in entries]


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
