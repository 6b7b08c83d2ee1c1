"""``heartfelt distances``: how far each system's stimuli lie from a reference set."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from heartfelt.cli.command import Format, Map, Out, Policy, app, parse_map, progress_bar, read_source, say
from heartfelt.cli.command import out as screen
from heartfelt.files import must_be_free

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
    embedding: Annotated[str, typer.Option(metavar="NAME", help="The embedding, such as music or picture.")],
    reference: Annotated[
        str,
        typer.Option(
            metavar="REFERENCE",
            help="leave-one-out (the stimuli of the other systems), system=NAME, or a folder or data.",
        ),
    ] = "leave-one-out",
    metric: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="fad, kad, fid or kid; separate several by commas. By default both of the medium.",
        ),
    ] = None,
    group: Annotated[
        str,
        typer.Option(
            metavar="COLUMN",
            help="The column whose stimuli belong together: auto (the prompt, if there are ten or more), none, or its name.",
        ),
    ] = "auto",
    components: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Compare in this many leading principal components."),
    ] = None,
    correction: Annotated[
        Literal["jackknife", "extrapolation", "none"],
        typer.Option(help="How Fréchet distances are corrected for the number of stimuli."),
    ] = "jackknife",
    question: Annotated[
        list[str] | None, typer.Option(help="Correlate with this question only. May be repeated.")
    ] = None,
    format: Format = None,
    map: Map = None,
    policy: Policy = "flag-only",
    seed: Annotated[int, typer.Option(help="Seed of all resampling.")] = 0,
) -> None:
    """Measure how far each system's stimuli lie from a reference set, and whether people's means follow."""
    from heartfelt.report.pages.distances import write_distances
    from heartfelt.scoring.set_distances.stimulus_sets import is_data
    from heartfelt.scoring.set_distances.systems import DistanceOptions
    from heartfelt.scoring.set_distances.systems import distances as run
    from heartfelt.screening import screen as screened
    from heartfelt.snapshot import Snapshot

    must_be_free(out)
    options = DistanceOptions(
        embedding=embedding,
        reference=reference,
        metrics=tuple(name.strip() for part in metric or () for name in part.split(",")),
        group=group,
        components=components,
        correction=correction,
        questions=None if question is None else tuple(question),
        seed=seed,
    )
    with progress_bar(f"reading {source}") as report:
        data: Snapshot | Path = source
        if source.exists() and (format is not None or map or is_data(source)):
            data = read_source(source, format, parse_map(map), report)
            data = data if policy == "flag-only" else screened(data, policy).snapshot()
        result = run(data, options, report, read=read_source)
        write_distances(result, out)
    _show(result)
    say(f"Report: {out / 'report.html'}")


def _show(result: SystemDistances) -> None:
    """The distances, their correlations and the notes."""
    from rich.table import Table

    grid = Table(
        title=f"Distance from {result.reference} in {result.embedding}; lower is closer", title_justify="left"
    )
    for name in ("metric", "system", "distance", "uncorrected", "stimuli", "reference"):
        grid.add_column(name, justify="left" if name in ("metric", "system") else "right", overflow="fold")
    for row in result.systems:
        plain = "" if row.uncorrected.value is None else f"{row.uncorrected:.3g}"
        counts = f"{row.stimuli:,}", f"{row.reference:,}"
        grid.add_row(row.metric, row.system, f"{row.distance:.3g}", plain, *counts)
    screen.print(grid)
    if result.closeness:
        pairs = Table(
            title="Correlation of closeness with people's means, over systems", title_justify="left"
        )
        for name in ("metric", "question", "coefficient", "correlation", "p", "ceiling", "systems"):
            pairs.add_column(
                name, justify="left" if name in ("metric", "question", "coefficient") else "right"
            )
        for pair in result.closeness:
            p, ceiling = f"{pair.p:.3f}", f"{pair.ceiling}"
            pairs.add_row(
                pair.metric,
                pair.question,
                pair.coefficient,
                f"{pair.correlation}",
                p,
                ceiling,
                f"{pair.systems}",
            )
        screen.print(pairs)
    say(*(f"• {note}" for note in result.notes))
