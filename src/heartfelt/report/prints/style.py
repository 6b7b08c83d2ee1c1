"""The look of printed figures: readable at column width, no ornaments, the same bytes for the same data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from heartfelt.report.palette import INK, LINE, SOFT

if TYPE_CHECKING:
    from matplotlib.axes import Axes

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
    # A dollar sign or a backslash in the name of a system is no formula.
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
    import warnings

    import matplotlib

    with matplotlib.rc_context(), warnings.catch_warnings():
        # Names in scripts the font lacks show as boxes in print; the page and the tables have them in full.
        warnings.filterwarnings("ignore", message="Glyph .* missing from", category=UserWarning)
        # Names too long for any layout leave the plain one in place.
        warnings.filterwarnings("ignore", message="constrained_layout not applied", category=UserWarning)
        matplotlib.rcParams.update(matplotlib.rcParamsDefault)
        for name, value in SETTINGS.items():
            matplotlib.rcParams[name] = value  # type: ignore[index]  # the stubs want each name as a literal
        yield


def scale(axes: Axes, which: str, axis: Mapping[str, Any]) -> None:
    """Give one direction of ``axes`` its label, limits and ticks."""
    set_label, set_limits, set_ticks = (
        (axes.set_xlabel, axes.set_xlim, axes.set_xticks)
        if which == "x"
        else (axes.set_ylabel, axes.set_ylim, axes.set_yticks)
    )
    set_label(shortened(str(axis.get("label", "")), 48))
    if "low" in axis:
        set_limits(float(axis["low"]), float(axis["high"]))
    if "ticks" in axis:
        set_ticks(list(axis["ticks"]), [tick(value) for value in axis["ticks"]])


def tick(value: float) -> str:
    """A tick's number without needless zeros."""
    return f"{value:g}".replace("-", "\u2212")


def gridlines(axes: Axes, which: str) -> None:
    """Pale lines across the values."""
    axes.grid(axis="x" if which == "x" else "y", color=LINE, linewidth=0.5)


def grid_of(count: int, most_across: int) -> tuple[int, int]:
    """Rows and columns for ``count`` panels, the last row as full as can be."""
    down = -(-count // most_across)
    return down, -(-count // down)


def wrapped(text: str, width: int) -> str:
    """A label on lines of at most ``width`` characters where it has spaces, at most three."""
    import textwrap

    lines = [shortened(line, width + 6) for line in textwrap.wrap(text, width, break_long_words=False)] or [
        ""
    ]
    return "\n".join(lines[:3]) + ("…" if len(lines) > 3 else "")


def shortened(text: str, most: int) -> str:
    """A text of at most ``most`` characters."""
    return text if len(text) <= most else f"{text[: max(most - 1, 1)]}…"


def longest(labels: Sequence[str]) -> int:
    """The length of the longest label."""
    return max((len(label) for label in labels), default=0)
