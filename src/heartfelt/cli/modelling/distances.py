"""``heartfelt distances``: how far each system's stimuli lie from a reference set."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from heartfelt.cli.command import Out, app, progress_bar, say
from heartfelt.cli.command import out as screen
from heartfelt.options import ScreenedSourceOptions
from heartfelt.scoring.options import DistanceOptions

if TYPE_CHECKING:
    from heartfelt.scoring.set_distances.systems import SystemDistances


@app.command()
def distances(
    source: Annotated[
        Path,
        typer.Argument(
            metavar="SOURCE",
            help="A snapshot, published data or a table with systems, or a folder with a subfolder per system.",
        ),
    ],
    out: Out,
    options: DistanceOptions,
    reading: ScreenedSourceOptions,
) -> None:
    """Measure how far each system's stimuli lie from a reference set, and whether people's means follow."""
    from heartfelt.api.models import distances as run

    with progress_bar(f"reading {source}") as report:
        result = run(source, options, reading, out=out, progress=report)
    _show(result)
    say(f"Report: {out / 'report.html'}")


def _show(result: SystemDistances) -> None:
    from rich.table import Table

    grid = Table(title=f"Distance from {result.reference} in {result.embedding}; lower is closer", title_justify="left")
    for name in ("metric", "system", "distance", "uncorrected", "stimuli", "reference"):
        grid.add_column(name, justify="left" if name in ("metric", "system") else "right", overflow="fold")
    for row in result.systems:
        uncorrected = "" if row.uncorrected.value is None else f"{row.uncorrected:.3g}"
        counts = f"{row.stimuli:,}", f"{row.reference:,}"
        grid.add_row(row.metric, row.system, f"{row.distance:.3g}", uncorrected, *counts)
    screen.print(grid)
    if result.closeness:
        pairs = Table(title="Correlation of closeness with people's means, over systems", title_justify="left")
        for name in ("metric", "question", "coefficient", "correlation", "p", "ceiling", "systems"):
            pairs.add_column(name, justify="left" if name in ("metric", "question", "coefficient") else "right")
        for pair in result.closeness:
            p, ceiling = f"{pair.p:.3f}", f"{pair.ceiling}"
            pairs.add_row(
                pair.metric, pair.question, pair.coefficient, f"{pair.correlation}", p, ceiling, f"{pair.systems}"
            )
        screen.print(pairs)
    say(*(f"• {note}" for note in result.notes))
