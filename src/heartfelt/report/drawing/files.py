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
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar, assert_never

from matplotlib.figure import Figure

from heartfelt.files import write_text
from heartfelt.progress import Progress
from heartfelt.report.charts import Chart, Columns, Curves, Dumbbells, Heatmap, Intervals, Map, Plane
from heartfelt.report.drawing.cells import draw_columns, draw_heatmaps
from heartfelt.report.drawing.planes import draw_curves, draw_maps, draw_planes
from heartfelt.report.drawing.rows import draw_dumbbells, draw_intervals
from heartfelt.report.drawing.style import style

# None leaves dates and the versions of libraries out of the files.
FORMATS: dict[str, dict[str, Any]] = {
    "pdf": {"CreationDate": None, "ModDate": None, "Creator": "heartfelt", "Producer": None},
    "svg": {"Date": None, "Creator": "heartfelt"},
    "png": {"Software": None},
}
LEAST_FOR_A_HELPER = 4
# About what a type of chart costs to draw, in seconds; and what starting the helper costs more than writing the page.
COSTS = {"dumbbell": 1.3, "map": 1.2, "heatmap": 0.6}
STARTING = 0.3
P = TypeVar("P")


def draw(chart: Chart) -> Figure:
    """Draw ``chart`` for print."""
    with style():
        match chart.panels[0]:
            case Intervals():
                return draw_intervals(_of(Intervals, chart))
            case Columns():
                return draw_columns(_of(Columns, chart))
            case Plane():
                return draw_planes(_of(Plane, chart), chart.legend)
            case Map():
                return draw_maps(_of(Map, chart), chart.legend)
            case Curves():
                return draw_curves(_of(Curves, chart))
            case Heatmap():
                return draw_heatmaps(_of(Heatmap, chart))
            case Dumbbells():
                return draw_dumbbells(_of(Dumbbells, chart), chart.legend)
            case other:
                assert_never(other)


def _of(kind: type[P], chart: Chart) -> list[P]:
    """The panels of a chart, which are all of one kind."""
    return [panel for panel in chart.panels if isinstance(panel, kind)]


def save(chart: Chart, folder: Path, name: str) -> list[str]:
    """Draw ``chart`` and write it in every format; return the names of the files."""
    figure = draw(chart)
    with style(), _lean_fonts():
        figure.draw_without_rendering()
        # The layout is computed once; with an engine left in place every format would draw twice to compute it again.
        figure.set_layout_engine(None)
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
def drawing(charts: Mapping[str, Chart], folder: Path, progress: Progress | None = None) -> Iterator[None]:
    """Draw ``charts`` into ``folder``; the block runs while the helper works, and at its end everything is drawn."""
    mine, other = _shares(charts)
    helper = _start({name: charts[name] for name in other}, folder) if other else None
    try:
        yield
        for done, name in enumerate(mine if helper is not None else [*mine, *other], 1):
            save_or_explain(charts[name], folder, name)
            if progress is not None:
                progress("drawing figures", done, len(charts))
        if helper is not None and helper.wait() != 0:
            for name in other:
                save_or_explain(charts[name], folder, name)
    finally:
        if helper is not None and helper.poll() is None:
            helper.kill()
            helper.wait()
    if progress is not None:
        progress("drawing figures", len(charts), len(charts))


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
