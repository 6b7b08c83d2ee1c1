"""``heartfelt publish``: a folder that others can use and nobody can be identified in."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from heartfelt.cli.command import Format, Map, Source, app, parse_map, progress_bar, read_source, say


@app.command()
def publish(
    source: Source,
    out: Annotated[Path, typer.Argument(metavar="OUT", help="The folder to make, for everybody to read.")],
    format: Format = None,
    map: Map = None,
    k: Annotated[int, typer.Option("--k", help="Raters who share every published combination of facts.")] = 5,
    l: Annotated[  # noqa: E741  # the letter the literature uses for diversity
        int, typer.Option("--l", help="Values of every sensitive column among them.")
    ] = 2,
    layout: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="A layout to write, such as huggingface, webdataset, csv, published. May be repeated; huggingface and csv"
            " if left out.",
        ),
    ] = None,
    split: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KEY=VALUE",
            help="How stimuli are divided: by=COLUMN (or by=published), seed=N, folds=N, or shares such as train=0.8. May be"
            " repeated.",
        ),
    ] = None,
) -> None:
    """Make a study anonymous and write dataset, benchmark and papers."""
    from heartfelt.files import must_be_free
    from heartfelt.publishing.options import PublishOptions
    from heartfelt.publishing.publish import publish as run
    from heartfelt.publishing.record import sentences

    must_be_free(out)
    options = PublishOptions(
        k=k, l=l, layouts=None if layout is None else tuple(layout), split=parse_map(split)
    )
    with progress_bar(f"reading {source}") as report:
        snapshot = read_source(source, format, parse_map(map), report)
        published = run(snapshot, out, options, progress=report)
    say(*(f"• {line}" for line in sentences(published.record)))
    say(f"Published: {out}", f"Private, never to be shared: {published.private}")
