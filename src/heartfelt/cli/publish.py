"""``heartfelt publish``: a folder that others can use and nobody can be identified in."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from heartfelt.cli.command import Format, Map, Source, app, parse_map, progress_bar, read_source, say
from heartfelt.wording import listed


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
    details: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="What only the authors know: title, licence, pay, ethics and more. publication.yaml of the SOURCE folder if left"
            " out; 'heartfelt publish-details' writes an empty one.",
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
    from heartfelt.publishing.papers.details import read_details
    from heartfelt.publishing.publish import publish as run
    from heartfelt.publishing.record import sentences

    must_be_free(out)
    stated = read_details(details or (source if source.is_dir() else None))
    options = PublishOptions(
        k=k, l=l, layouts=None if layout is None else tuple(layout), split=parse_map(split)
    )
    with progress_bar(f"reading {source}") as report:
        snapshot = read_source(source, format, parse_map(map), report)
        published = run(snapshot, out, options, stated, progress=report)
    say(*(f"• {line}" for line in sentences(published.record)))
    if published.papers.not_stated:
        say(
            "The papers say 'Not stated by the authors' for:",
            *(f"• {line}" for line in published.papers.not_stated),
        )
        say(
            "Fill in publication.yaml and publish again; 'heartfelt publish-details DIR' writes an empty one."
        )
    if published.papers.undescribed:
        names = listed(list(published.papers.undescribed), 12)
        say(f"Columns that nobody has described (add them under 'columns' in publication.yaml): {names}.")
    say(f"Published: {out}", f"Private, never to be shared: {published.private}")


@app.command("publish-details")
def publish_details(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The study folder.")],
) -> None:
    """Write an empty publication.yaml, with every key explained, for the authors to fill in."""
    from heartfelt.publishing.papers.details import write_details_template

    path = write_details_template(folder)
    say(f"Wrote {path}. Every key may stay empty; fill in what you can before 'heartfelt publish'.")
