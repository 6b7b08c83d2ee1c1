"""``heartfelt words``: how many words texts have, how varied they are, and how close they are to references."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from heartfelt.cli.command import Out, app, progress_bar, say
from heartfelt.cli.flags import parse_map
from heartfelt.options import SourceOptions
from heartfelt.scoring.options import WordOptions


@app.command()
def words(
    source: Annotated[
        Path, typer.Argument(metavar="SOURCE", help="A snapshot, a study folder, a table (CSV, JSON), or a text file.")
    ],
    out: Out,
    options: WordOptions,
    reading: SourceOptions,
    others: Annotated[
        list[str] | None,
        typer.Option(
            "--with",
            metavar="NAME=FILE",
            help="Other texts to show next to these; FILE#COLUMN where the column is not --field. May be repeated.",
        ),
    ] = None,
) -> None:
    """Count the words of texts and measure how varied they are, next to other texts."""
    from heartfelt.api.texts import words as run
    from heartfelt.report.pages.words import markdown

    with progress_bar(f"reading {source}") as report:
        result = run(source, options, reading, others=parse_map(others), out=out, progress=report)
    say(markdown(result).rstrip(), f"Report: {out / 'report.html'}")
