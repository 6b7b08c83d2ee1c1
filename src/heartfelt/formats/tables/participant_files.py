"""Opening what was pointed to: a file, the one table of a folder, or a folder with a file per participant.

Experiments write a file per participant. Such files have most columns in common and are read as one table, in which a column,
or the name of the file, names the rater.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence, Set
from pathlib import Path

import polars as pl

from heartfelt.errors import InputError
from heartfelt.formats.tables.source_table import (
    SYNONYMS,
    TABLES,
    SourceTable,
    folded,
    locate,
    open_table,
    prepared,
    rows_of,
)

PARTICIPANT = ("participant", "participant_file")
"""The column with the file's name, where a folder holds a file per participant and no column names the rater; the first
that is free."""


_RATER_NAMES = tuple(name for name in SYNONYMS["rater"] if name != "id")


def open_source(
    source: Path,
    options: Mapping[str, str],
    preferred: Sequence[str] = (),
    *,
    suffixes: Set[str] = TABLES,
    records: bool = False,
) -> SourceTable:
    """Open a file, the one table of a folder, or a folder of equal files, one per participant, as one table."""
    parts = _participant_files(source, preferred, suffixes)
    if not parts:
        return open_table(locate(source, preferred, suffixes), options, records=records)
    file_options = {option: value for option, value in options.items() if option != "where"}
    frames = {path: rows_of(path, file_options, records=records) for path in parts}
    return prepared(participants_table(source, frames), options)


def participants_table(source: Path, frames: Mapping[Path, pl.DataFrame]) -> SourceTable:
    """The tables of several participants as one; the rater is named by a column, or by the name of the file."""
    naming = _naming_column(list(frames.values()))
    note = f"{len(frames)} files of {source.name} were read as one table"
    tables = list(frames.values())
    if naming is None:
        columns = {name for frame in tables for name in frame.columns}
        column = next(name for name in PARTICIPANT if name not in columns or name == PARTICIPANT[-1])
        tables = [frame.with_columns(pl.lit(path.stem).alias(column)) for path, frame in frames.items()]
        note += "; each file is a rater, named after the file."
    else:
        note += f"; the column '{naming}' names the rater.{_note_on_repeats(tables, naming)}"
    all_rows = pl.concat(tables, how="diagonal_relaxed")
    return SourceTable(path=source / source.name, rows=all_rows.lazy(), options={}, notes=(note,), reopens=False)


def _naming_column(tables: Sequence[pl.DataFrame]) -> str | None:
    """The column of the rater that all tables have: best one with a single name in each; None where there is none."""
    shared = [name for name in tables[0].columns if all(name in frame.columns for frame in tables)]
    usual = [name for synonym in _RATER_NAMES for name in shared if folded(name) == synonym]
    single = (name for name in usual if all(frame[name].drop_nulls().n_unique() == 1 for frame in tables))
    return next(single, next(iter(usual), None))


def _note_on_repeats(tables: Sequence[pl.DataFrame], naming: str) -> str:
    """A sentence on raters who are in several files."""
    names = Counter(name for frame in tables for name in frame[naming].drop_nulls().unique())
    again = sorted(str(name) for name, count in names.items() if count > 1)
    if not again:
        return ""
    return f" {', '.join(again[:5])} {'is' if len(again) == 1 else 'are'} in more than one file."


def _participant_files(source: Path, preferred: Sequence[str], suffixes: Set[str]) -> list[Path]:
    """The files of a folder that hold one table in parts: several of one kind that have most columns in common."""
    if not source.is_dir() or any((source / name).is_file() for name in preferred):
        return []
    paths = sorted(path for path in source.iterdir() if path.is_file() and path.suffix.lower() in suffixes)
    alike = len(paths) > 1 and len({path.suffix.lower() for path in paths}) == 1
    return paths if alike and _have_most_columns_in_common(paths) else []


def _have_most_columns_in_common(paths: Sequence[Path]) -> bool:
    try:
        columns = [set(open_table(path, {}).columns) for path in paths]
    except InputError:
        return False
    shared = set.intersection(*columns)
    return len(shared) > 1 and all(len(shared) >= len(names) / 2 for names in columns)
