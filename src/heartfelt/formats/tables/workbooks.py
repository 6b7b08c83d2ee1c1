"""Spreadsheets (xlsx, xls, xlsb, ods): the sheet that holds the table, as text.

Formulas count with the value they had when the file was saved, dates become ``2025-09-20 14:05:00``, and a name in merged
cells holds for every column below it (:mod:`heartfelt.formats.tables.headers`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from heartfelt.errors import InputError, as_option, suggestion
from heartfelt.extras import missing_package
from heartfelt.formats.tables.headers import ROWS_SAMPLED, find_header

WORKBOOKS = {".xlsx", ".xlsm", ".xls", ".xlsb", ".ods"}


@dataclass(frozen=True, slots=True, kw_only=True)
class TextTable:
    """A table that was read into memory as text, and what to say about it."""

    rows: pl.DataFrame
    first_line: int = 2
    """The line of the first row."""
    notes: tuple[str, ...] = ()
    texts: Mapping[str, str] = field(default_factory=dict)
    """The question's text of a column, where the file holds it."""


def read_workbook(path: Path, sheet: str | None = None, header: str | None = None) -> TextTable:
    """The table of a spreadsheet: of the sheet that is named or numbered, else of the one with most cells."""
    try:
        import fastexcel
    except ImportError as error:
        raise missing_package("fastexcel") or error from error
    try:
        book = fastexcel.read_excel(path)
        names = list(book.sheet_names)
        chosen = names if sheet is None else [_sheet(sheet, names, path)]
        loaded = {
            name: book.load_sheet(name, header_row=None, skip_rows=0, dtypes="string").to_polars() for name in chosen
        }
    except fastexcel.FastExcelError as error:
        raise InputError(
            f"{path} cannot be read as a spreadsheet: {str(error).splitlines()[0]}.",
            "Get a complete copy of the file, or save the sheet as CSV in UTF-8.",
        ) from error
    cells = {name: sum(frame.count().row(0)) for name, frame in loaded.items() if frame.height > 1}
    if not cells:
        raise InputError(f"{path} holds no table.", "Point to a spreadsheet with a header and rows below it.")
    name = max(cells, key=cells.__getitem__)
    return _table(loaded[name], header, f"{path}, sheet '{name}'", _note_on_sheets(name, names, path))


def _note_on_sheets(read: str, names: list[str], path: Path) -> list[str]:
    unread = [name for name in names if name != read]
    advice = f"Choose another with {as_option('sheet', 'NAME')}."
    return [f"The sheet '{read}' of {path.name} was read, not {_listed(unread)}. {advice}"] if unread else []


def _listed(names: list[str]) -> str:
    return ", ".join(f"'{name}'" for name in names[:5]) + (" …" if len(names) > 5 else "")


def _sheet(wanted: str, names: list[str], path: Path) -> str:
    if wanted in names:
        return wanted
    if wanted.isdigit() and 1 <= int(wanted) <= len(names):
        return names[int(wanted) - 1]
    raise InputError(f"{path} has no sheet '{wanted}'.", suggestion(wanted, names, "Sheets"))


def _table(frame: pl.DataFrame, stated: str | None, where: str, notes: list[str]) -> TextTable:
    header = find_header(frame.head(ROWS_SAMPLED).rows(), stated, where)
    rows = frame.slice(header.body)
    rows = rows.filter(pl.any_horizontal(pl.all().is_not_null()))
    empty = [at for at, c in enumerate(rows) if c.null_count() == c.len() and header.names[at] == f"column_{at + 1}"]
    named = [at for at in range(rows.width) if at not in empty]
    columns = unique_names([header.names[at] for at in named], where)
    rows = rows.select(pl.nth(at).alias(name) for at, name in zip(named, columns, strict=True))
    if header.first or header.depth > 1:
        how = f"Name other lines with {as_option('header', 'FIRST-LAST')}."
        notes = [*notes, f"{where}: the header is in {header.lines}. {how}"]
    return TextTable(rows=rows, first_line=header.body + 1, notes=tuple(notes), texts=header.texts)


def unique_names(names: list[str], where: str) -> list[str]:
    """The names of the columns; one that is there twice is an error."""
    for at, name in enumerate(names):
        if name in names[:at]:
            raise InputError(
                f"{where}: the column '{name}' is there twice.",
                "Rename one of them, so that every column has a name of its own.",
            )
    return names
