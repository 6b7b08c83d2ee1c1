"""``heartfelt formats``: what can be read, as a short table; and one format with its options and an example."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from heartfelt.cli.command import app, out, say

if TYPE_CHECKING:
    from rich.table import Table

    from heartfelt.formats import Format

_FILES, _LINES, _WIDTH = 3, 5, 100
"""How much of an example is shown: files, lines of each, and characters of a line."""


@app.command()
def formats(
    name: Annotated[
        str | None, typer.Argument(metavar="FORMAT", help="Show this format: its options, an example and a command.")
    ] = None,
    example: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Also copy the format's example into this folder.")
    ] = None,
) -> None:
    """List the formats that can be read, or show one with its options, an example and a command to copy."""
    from heartfelt.errors import InputError
    from heartfelt.formats import FORMATS

    if name is not None:
        _show(name, FORMATS[name], example)
    elif example is not None:
        raise InputError("--example needs a format.", "Name one of 'heartfelt formats' before it.")
    else:
        _list()


def _list() -> None:
    from heartfelt.formats import FORMATS

    table = _table()
    table.add_row("[bold]format", "[bold]what it reads", "[bold]written too")
    for name, format in FORMATS.items():
        table.add_row(name, escape(format.about), "yes" if format.writes else "no")
    out.print(table, soft_wrap=False)
    say("", "Options, an example and a command of one format: heartfelt formats FORMAT")


def _table() -> Table:
    """A table without lines, whose first column is not folded."""
    from rich.table import Table

    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    return table


def _show(name: str, format: Format, folder: Path | None) -> None:
    from heartfelt.files import whole_folder

    out.print(f"[bold]{name}[/bold]", end="")
    say(f"  {format.about}")
    if format.options:
        say("", "Options, each as --map OPTION=VALUE:")
        table = _table()
        for option, words in format.options.items():
            table.add_row(f"  {option}", escape(words))
        out.print(table, soft_wrap=False)
    source = "SOURCE"
    if format.example_data:
        with TemporaryDirectory() if folder is None else whole_folder(folder) as scratch:
            example = format.example(Path(scratch))
            source = example.name if folder is None else str(folder / example.relative_to(scratch))
            say("", "Example:" if folder is None else f"Example, copied to {source}:")
            say(*(f"  {line}" for line in _shown(example)))
    options = [f"--map {shlex.quote(f'{key}={value}')}" for key, value in format.example_options().items()]
    say("", "Read it:", f"  {' '.join(['heartfelt import', name, shlex.quote(source), 'snapshot', *options])}")
    if format.writes:
        say("", "Write a snapshot this way:", f"  heartfelt export {name} snapshot OUT")


def _shown(source: Path) -> Iterator[str]:
    """The first lines of a file; of a folder, those of its largest files, and the names of the others."""
    if source.is_file():
        yield source.name
        yield from (f"  {line}" for line in _first_lines(source))
        return
    files = sorted((path for path in source.rglob("*") if path.is_file()), key=lambda path: -path.stat().st_size)
    for path in sorted(files):
        yield path.relative_to(source.parent).as_posix()
        if path in files[:_FILES]:
            yield from (f"  {line}" for line in _first_lines(path))


def _first_lines(path: Path) -> list[str]:
    """The first lines of a text, or of a Parquet table as CSV; none of any other file."""
    if path.suffix == ".parquet":
        import polars as pl

        from heartfelt.formats.tables.delimited import csv_text

        text = csv_text(pl.read_parquet(path).head(_LINES))
    else:
        try:
            text = path.read_text(encoding="utf-8-sig")
        except UnicodeDecodeError:
            return []
    lines = text.splitlines()
    cut = [line if len(line) <= _WIDTH else f"{line[:_WIDTH]} …" for line in lines[:_LINES]]
    return [*cut, "…"] if len(lines) > _LINES else cut
