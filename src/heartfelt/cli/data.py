"""Commands on data: ``import``, ``show``, ``export``, ``formats``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from heartfelt.errors import InputError
from heartfelt.files import must_be_free


def parse_map(pairs: list[str]) -> dict[str, str]:
    """``["rater=user", "value=valence,arousal"]`` as a mapping; several pairs may share one argument."""
    out: dict[str, str] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name.strip() or not value.strip():
            raise InputError(
                f"'{pair}' is not of the form OPTION=VALUE.", "Write for example --map rater=user_id."
            )
        if name.strip() in out:
            raise InputError(
                f"The option '{name.strip()}' is given twice.",
                "Give it once; several columns go with commas.",
            )
        out[name.strip()] = value.strip()
    return out


def import_(
    format: Annotated[
        str, typer.Argument(metavar="FORMAT", help="The format of the source; 'auto' to find out.")
    ],
    source: Annotated[Path, typer.Argument(metavar="SOURCE", help="The file or folder to read.")],
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The snapshot folder to make.")],
    map: Annotated[
        list[str] | None,
        typer.Option(
            "--map",
            "-m",
            metavar="OPTION=VALUE",
            help="An option of the format, such as a column name. May be repeated.",
        ),
    ] = None,
) -> None:
    """Read somebody's data into a snapshot folder."""
    from heartfelt.cli.overview import print_overview
    from heartfelt.cli.screen import progress_bar
    from heartfelt.cli.source import read_source

    must_be_free(folder)
    with progress_bar(f"reading {source}") as report:
        snapshot = read_source(source, None if format == "auto" else format, parse_map(map or []), report)
        snapshot.write(folder)
    print_overview(snapshot, folder)


def show(
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="DIR", help="A snapshot, a study folder, or anything 'import' can read without options."
        ),
    ],
) -> None:
    """Show what is in a snapshot, at a glance."""
    from heartfelt.cli.overview import print_overview
    from heartfelt.cli.screen import progress_bar
    from heartfelt.cli.source import read_source

    with progress_bar(f"reading {folder}") as report:
        snapshot = read_source(folder, progress=report)
    print_overview(snapshot, folder)


def export(
    format: Annotated[str, typer.Argument(metavar="FORMAT", help="The format to write.")],
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A snapshot, or a study folder.")],
    out: Annotated[Path, typer.Argument(metavar="OUT", help="The folder to make.")],
) -> None:
    """Write a snapshot in another format."""
    from heartfelt.cli import screen
    from heartfelt.cli.source import read_source
    from heartfelt.formats import export as export_snapshot

    with screen.progress_bar(f"reading {folder}") as report:
        target = export_snapshot(read_source(folder, progress=report), format, out)
    for path in sorted(target.rglob("*")):
        if path.is_file():
            screen.out.print(f"{path}  {path.stat().st_size:,} bytes")


def formats() -> None:
    """List the formats, their options and whether they can be written."""
    from heartfelt.cli import screen
    from heartfelt.formats import FORMATS

    for name in FORMATS.names():
        format = FORMATS[name]
        screen.out.print(f"[bold]{name}[/bold]  {format.about}{'' if format.writes else '  (read only)'}")
        for option, words in format.options.items():
            screen.out.print(f"    --map {option}=…  {words}", markup=False)


def add_to(app: typer.Typer) -> None:
    """Add these commands."""
    app.command("import")(import_)
    app.command()(show)
    app.command()(export)
    app.command()(formats)
