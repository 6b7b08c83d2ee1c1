"""Figures drawn by two processes where there is a second core.

The helper is a plain ``python -m heartfelt.report.drawing.files`` that reads charts from its input, so that it works from a
script, a notebook or the command line alike. A command starts it before it has anything to draw (``waiting_helper``), so that
Matplotlib is loaded by then. If it cannot be started or fails, this process draws everything. Matplotlib is loaded here
only when something is drawn here.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TypeAlias

from heartfelt.files import write_text
from heartfelt.progress import Progress
from heartfelt.report.charts import Chart, Charts

Helper: TypeAlias = subprocess.Popen[bytes]

LEAST_FOR_A_HELPER = 4
# About what a type of chart costs to draw, in seconds; what starting the helper costs more than writing the page; and what
# loading Matplotlib and writing the page costs where the helper has started before.
COSTS = {"dumbbell": 1.3, "map": 1.2, "heatmap": 0.6, "trace": 1.0}
STARTING = 0.3
LOADING = 0.9


@contextmanager
def waiting_helper(wanted: bool = True) -> Iterator[Helper | None]:
    """A helper for ``drawing`` that is started now; None where it is not wanted or there is no second core."""
    helper = _started(subprocess.PIPE) if wanted and _second_core() else None
    try:
        yield helper
    finally:
        _end(helper)


@contextmanager
def drawing(
    charts: Charts, folder: Path, progress: Progress | None = None, helper: Helper | None = None
) -> Iterator[None]:
    """Draw charts into ``folder``, each with its table; the block runs while the helper works, at its end all is drawn."""
    import polars as pl

    from heartfelt.formats.tables.delimited import csv_text

    folder.mkdir(parents=True, exist_ok=True)
    available = {name: chart for name, chart in charts.items() if isinstance(chart, Chart)}
    local, delegated = _shares(available, waiting=helper is not None)
    if delegated:
        helper = _send_charts(delegated, folder, helper)
    try:
        for name, chart in available.items():
            table = pl.DataFrame(list(chart.rows), infer_schema_length=None)
            write_text(folder / f"{name}.csv", csv_text(table))
        yield
        _draw(local, folder, len(available), progress)
        if delegated and (helper is None or helper.wait() != 0):
            _draw(delegated, folder, len(available), None)
    finally:
        _end(helper if delegated else None)
    if progress is not None:
        progress("drawing figures", len(available), len(available))


def _draw(charts: Mapping[str, Chart], folder: Path, total: int, progress: Progress | None) -> None:
    if not charts:
        return
    from heartfelt.report.drawing.files import save_or_explain

    for done, (name, chart) in enumerate(charts.items(), 1):
        save_or_explain(chart, folder, name)
        if progress is not None:
            progress("drawing figures", done, total)


def _second_core() -> bool:
    return (os.cpu_count() or 1) > 1 and bool(sys.executable)


def _shares(charts: Mapping[str, Chart], waiting: bool) -> tuple[dict[str, Chart], dict[str, Chart]]:
    """Split the charts to be drawn so that both processes finish at about the same time."""
    charts = {name: chart for name, chart in charts.items() if chart.pictures}
    if len(charts) < LEAST_FOR_A_HELPER or not _second_core():
        return charts, {}
    shares: tuple[dict[str, Chart], dict[str, Chart]] = ({}, {})
    busy = [LOADING, 0.0] if waiting else [0.0, STARTING]
    costs = {name: COSTS.get(chart.type, 0.5) for name, chart in charts.items()}
    for name in sorted(charts, key=lambda name: -costs[name]):
        at = 0 if busy[0] <= busy[1] else 1
        busy[at] += costs[name]
        shares[at][name] = charts[name]
    return shares


def _send_charts(charts: Mapping[str, Chart], folder: Path, helper: Helper | None) -> Helper | None:
    if helper is None or helper.stdin is None:
        # A file, not a pipe: a pipe this full would block this process until the helper has started.
        with tempfile.TemporaryFile() as charts_file:
            pickle.dump((folder, charts), charts_file)
            charts_file.seek(0)
            return _started(charts_file)
    try:
        with helper.stdin as pipe:
            pickle.dump((folder, charts), pipe)
    except OSError:  # it has ended; its share is drawn here
        _end(helper)
        return None
    return helper


def _started(charts_from: int | IO[bytes]) -> Helper | None:
    command = [sys.executable, "-P", "-m", "heartfelt.report.drawing.files"]
    try:
        return subprocess.Popen(command, stdin=charts_from, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    except OSError:
        return None


def _end(helper: Helper | None) -> None:
    if helper is None:
        return
    if helper.stdin is not None and not helper.stdin.closed:
        helper.stdin.close()
    if helper.poll() is None:
        helper.kill()
        helper.wait()
