"""Charts as Matplotlib figures and as files: PDF, SVG and PNG with the same bytes for the same data.

Where there is a second core, a helper process draws a share of the figures: a plain
``python -m heartfelt.report.drawing.files FOLDER`` that reads charts from its input, so that it works from a script, a
notebook or the command line alike. If it cannot be started or fails, this process draws everything.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from heartfelt.files import write_text
from heartfelt.progress import Progress
from heartfelt.report.charts import (
    Chart,
    Charts,
    Columns,
    Curves,
    Dumbbells,
    Heatmap,
    Intervals,
    Key,
    Map,
    Plane,
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
LEAST_FOR_A_HELPER = 4
# About what a type of chart costs to draw, in seconds; and what starting the helper costs more than writing the page.
COSTS = {"dumbbell": 1.3, "map": 1.2, "heatmap": 0.6, "trace": 1.0}
STARTING = 0.3


DRAW: Mapping[str, Callable[[Sequence[Any], Sequence[Key]], Figure]] = {
    Intervals.type: draw_intervals,
    Columns.type: draw_columns,
    Plane.type: draw_planes,
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
            left, bottom, width, height = axes.get_position(original=True).bounds
            axes.set_position((round(left, 9), round(bottom, 9), round(width, 9), round(height, 9)))
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


@contextmanager
def drawing(charts: Charts, folder: Path, progress: Progress | None = None) -> Iterator[None]:
    """Draw charts into ``folder``, each with its table; the block runs while the helper works, at its end all is drawn."""
    import polars as pl

    from heartfelt.formats.delimited import csv_text

    folder.mkdir(parents=True, exist_ok=True)
    drawn = {name: chart for name, chart in charts.items() if isinstance(chart, Chart)}
    mine, other = _shares({name: chart for name, chart in drawn.items() if chart.pictures})
    helper = _start({name: drawn[name] for name in other}, folder) if other else None
    try:
        for name, chart in drawn.items():
            table = pl.DataFrame(list(chart.rows), infer_schema_length=None)
            write_text(folder / f"{name}.csv", csv_text(table))
        yield
        for done, name in enumerate(mine, 1):
            save_or_explain(drawn[name], folder, name)
            if progress is not None:
                progress("drawing figures", done, len(drawn))
        if other and (helper is None or helper.wait() != 0):
            for name in other:
                save_or_explain(drawn[name], folder, name)
    finally:
        if helper is not None and helper.poll() is None:
            helper.kill()
            helper.wait()
    if progress is not None:
        progress("drawing figures", len(drawn), len(drawn))


def save_or_explain(chart: Chart, folder: Path, name: str) -> None:
    """Write a figure's files, or a text file with the reason: one failed figure does not stop the others. A full disk does."""
    try:
        save(chart, folder, name)
    except OSError:
        raise
    except Exception as failure:  # noqa: BLE001 - one figure of many: the page shows the same numbers
        reason = f"This figure could not be drawn ({type(failure).__name__}: {failure}).\n"
        write_text(folder / f"{name}.txt", reason)


def _shares(charts: Mapping[str, Chart]) -> tuple[list[str], list[str]]:
    """Split the charts so that both processes finish at about the same time."""
    if len(charts) < LEAST_FOR_A_HELPER or (os.cpu_count() or 1) < 2 or not sys.executable:
        return list(charts), []
    shares: tuple[list[str], list[str]] = ([], [])
    busy = [0.0, STARTING]
    costs = {name: COSTS.get(chart.type, 0.5) for name, chart in charts.items()}
    for name in sorted(charts, key=lambda name: -costs[name]):
        at = 0 if busy[0] <= busy[1] else 1
        busy[at] += costs[name]
        shares[at].append(name)
    return shares


def _start(charts: Mapping[str, Chart], folder: Path) -> subprocess.Popen[bytes] | None:
    command = [sys.executable, "-P", "-m", "heartfelt.report.drawing.files", str(folder)]
    # A file, not a pipe: a pipe this full would block this process until the helper has started.
    with tempfile.TemporaryFile() as charts_file:
        pickle.dump(charts, charts_file)
        charts_file.seek(0)
        try:
            return subprocess.Popen(
                command, stdin=charts_file, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
        except OSError:
            return None


if __name__ == "__main__":
    for key, value in pickle.load(sys.stdin.buffer).items():
        save_or_explain(value, Path(sys.argv[1]), key)
