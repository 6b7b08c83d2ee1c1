"""Many hands: figures are drawn by this process and, where there is a second core, by a helper process beside it.

The helper is a plain ``python -m heartfelt.report.prints.hands FOLDER`` that reads charts from its input, so that it
works from a script, a notebook or the command line alike. If it cannot be started or fails, this process draws all.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from heartfelt.files import write_text
from heartfelt.progress import Progress
from heartfelt.report.chart import Chart
from heartfelt.report.prints.save import save

WORTH_A_HELPER = 4
# What a type of chart costs to draw, about, in seconds; and what starting the helper costs more than writing the page.
COSTS = {"dumbbell": 1.3, "map": 1.2, "heatmap": 0.6}
STARTING = 0.3


@contextmanager
def drawing(charts: Mapping[str, Chart], folder: Path, progress: Progress | None = None) -> Iterator[None]:
    """Draw ``charts`` into ``folder``; the block runs while the helper works, and at its end everything is drawn."""
    mine, other = _shares(charts)
    helper = _start({name: charts[name] for name in other}, folder) if other else None
    try:
        yield
        for done, name in enumerate(mine if helper is not None else [*mine, *other], 1):
            save_or_say_why(charts[name], folder, name)
            if progress is not None:
                progress("drawing figures", done, len(charts))
        if helper is not None and helper.wait() != 0:
            for name in other:
                save_or_say_why(charts[name], folder, name)
    finally:
        if helper is not None and helper.poll() is None:
            helper.kill()
            helper.wait()
    if progress is not None:
        progress("drawing figures", len(charts), len(charts))


def save_or_say_why(chart: Chart, folder: Path, name: str) -> None:
    """Write a figure's files, or a text with the reason: a figure that cannot be drawn costs no other. A full disk does."""
    try:
        save(chart, folder, name)
    except OSError:
        raise
    except Exception as failure:  # noqa: BLE001 - one figure of many: the page shows the same numbers
        reason = f"This figure could not be drawn ({type(failure).__name__}: {failure}).\n"
        write_text(folder / f"{name}.txt", reason)


def _shares(charts: Mapping[str, Chart]) -> tuple[list[str], list[str]]:
    """Split the charts so that both processes finish at about the same time."""
    if len(charts) < WORTH_A_HELPER or (os.cpu_count() or 1) < 2 or not sys.executable:
        return list(charts), []
    mine: list[str] = []
    other: list[str] = []
    busy = [0.0, STARTING]
    for name in sorted(charts, key=lambda key: -COSTS.get(charts[key].type, 0.5)):
        to = mine if busy[0] <= busy[1] else other
        busy[0 if to is mine else 1] += COSTS.get(charts[name].type, 0.5)
        to.append(name)
    return mine, other


def _start(charts: Mapping[str, Chart], folder: Path) -> subprocess.Popen[bytes] | None:
    command = [sys.executable, "-P", "-m", "heartfelt.report.prints.hands", str(folder)]
    text = json.dumps({name: chart.to_json() for name, chart in charts.items()}, allow_nan=False)
    # A file, not a pipe: a pipe this full would hold this process up until the helper has started.
    with tempfile.TemporaryFile() as charts_file:
        charts_file.write(text.encode())
        charts_file.seek(0)
        try:
            return subprocess.Popen(
                command, stdin=charts_file, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
        except OSError:
            return None


def chart_from_json(found: Mapping[str, Any]) -> Chart:
    """The chart that ``Chart.to_json`` wrote, without its table."""
    return Chart(found["type"], found["title"], found["caption"], found["panels"], (), found["legend"])


def main() -> None:
    """Draw the charts on standard input into the folder named first."""
    for name, found in json.loads(sys.stdin.buffer.read()).items():
        save_or_say_why(chart_from_json(found), Path(sys.argv[1]), name)


if __name__ == "__main__":
    main()
