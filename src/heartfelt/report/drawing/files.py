"""Charts as Matplotlib figures and as files: PDF, SVG and PNG with the same bytes for the same data.

``python -m heartfelt.report.drawing.files`` draws the charts that come on its input (``processes``).
"""

from __future__ import annotations

import contextlib
import pickle
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from heartfelt.failures import Failed, attempt_part
from heartfelt.files import write_text
from heartfelt.report.charts import (
    Chart,
    Columns,
    Curves,
    Dumbbells,
    Heatmap,
    Intervals,
    Key,
    Map,
    PlaneChart,
    TracePanel,
)
from heartfelt.report.drawing.cells import draw_columns, draw_heatmaps
from heartfelt.report.drawing.planes import draw_curves, draw_maps, draw_planes
from heartfelt.report.drawing.rows import draw_dumbbells, draw_intervals
from heartfelt.report.drawing.style import style
from heartfelt.report.drawing.traces import draw_traces

# None leaves dates and the versions of libraries out of the files.
FORMATS: dict[str, dict[str, Any]] = {
    "pdf": {"CreationDate": None, "ModDate": None, "Creator": "heartfelt", "Producer": None},
    "svg": {"Date": None, "Creator": "heartfelt"},
    "png": {"Software": None},
}


DRAW: Mapping[str, Callable[[Sequence[Any], Sequence[Key]], Figure]] = {
    Intervals.type: draw_intervals,
    Columns.type: draw_columns,
    PlaneChart.type: draw_planes,
    Map.type: draw_maps,
    Curves.type: draw_curves,
    Heatmap.type: draw_heatmaps,
    Dumbbells.type: draw_dumbbells,
    TracePanel.type: draw_traces,
}
"""How each kind of panel is drawn; the panels of a chart are all of one kind."""


def draw(chart: Chart) -> Figure:
    """Draw ``chart`` for print."""
    with style():
        return DRAW[chart.type](chart.panels, chart.legend)


def save(chart: Chart, folder: Path, name: str) -> list[str]:
    """Draw ``chart`` and write it in every format; return the names of the files."""
    figure = draw(chart)
    with style(), _lean_fonts():
        figure.draw_without_rendering()
        # The layout is computed once; with an engine left in place every format would draw twice to compute it again.
        figure.set_layout_engine(None)
        for axes in figure.axes:
            # The layout's last digits change from run to run, and names inside an SVG are made from all of them.
            x, bottom, width, height = axes.get_position(original=True).bounds
            axes.set_position((round(x, 9), round(bottom, 9), round(width, 9), round(height, 9)))
        for kind, metadata in FORMATS.items():
            figure.savefig(folder / f"{name}.{kind}", format=kind, metadata=dict(metadata))
    return [f"{name}.{kind}" for kind in FORMATS]


@contextmanager
def _lean_fonts() -> Iterator[None]:
    """Leave layout tables out of the fonts in a PDF: its text is placed already, and reading them takes half the time."""
    subset: Any = import_module("fontTools.subset")
    usual = getattr(subset.Options, "_drop_tables_default", None)
    if not isinstance(usual, list):
        yield
        return
    subset.Options._drop_tables_default = [*usual, "GSUB", "GPOS", "GDEF", "MATH"]
    try:
        yield
    finally:
        subset.Options._drop_tables_default = usual


def save_or_explain(chart: Chart, folder: Path, name: str) -> None:
    """Write a figure's files, or a text file with the reason: one failed figure does not stop the others. A full disk does."""
    saved = attempt_part(f"the figure '{name}'", save, chart, folder, name)
    if isinstance(saved, Failed):
        write_text(folder / f"{name}.txt", f"This figure is missing: {saved.reason}.\n")


if __name__ == "__main__":
    # Nothing comes where the process that started this one has no use for it any more.
    with contextlib.suppress(EOFError):
        target, wanted = pickle.load(sys.stdin.buffer)
        for key, value in wanted.items():
            save_or_explain(value, target, key)
