"""Commands on data: ``import``, ``show``, ``export``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from heartfelt.api.sources import read_source
from heartfelt.cli.command import app, progress_bar, say
from heartfelt.files import must_be_free
from heartfelt.options import SourceOptions, Without


@app.command("import")
def import_(
    format: Annotated[str, typer.Argument(metavar="FORMAT", help="The format of the source; 'auto' to detect it.")],
    source: Annotated[Path, typer.Argument(metavar="SOURCE", help="The file or folder to read.")],
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The snapshot folder to make.")],
    reading: Annotated[SourceOptions, Without("format")],
) -> None:
    """Read somebody's data into a snapshot folder."""
    from heartfelt.cli.analysis.overview import print_overview
    from heartfelt.formats.proposals.guided import UnclearTableError

    must_be_free(folder)
    with progress_bar(f"reading {source}") as report:
        try:
            snapshot = read_source(source, None if format == "auto" else format, reading.map, report)
        except UnclearTableError as error:
            raise error.for_folder(folder) from None
        snapshot.write(folder)
    print_overview(snapshot, folder)


@app.command()
def show(
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="DIR", help="A snapshot, a study folder, or anything 'import' can read without options."
        ),
    ],
) -> None:
    """Show what is in a snapshot, at a glance."""
    from heartfelt.cli.analysis.overview import print_overview

    with progress_bar(f"reading {folder}") as report:
        snapshot = read_source(folder, progress=report)
    print_overview(snapshot, folder)


@app.command()
def export(
    format: Annotated[str, typer.Argument(metavar="FORMAT", help="The format to write.")],
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A snapshot, or a study folder.")],
    out: Annotated[Path, typer.Argument(metavar="OUT", help="The folder to make.")],
) -> None:
    """Write a snapshot in another format."""
    from heartfelt.formats import export as export_snapshot

    with progress_bar(f"reading {folder}") as report:
        target = export_snapshot(read_source(folder, progress=report), format, out)
    for path in sorted(target.rglob("*")):
        if path.is_file():
            say(f"{path}  {path.stat().st_size:,} bytes")
