"""Opening what was pointed to: a file, the one table of a folder, or a folder with a file per participant.

Experiments write a file per participant. Such files have most columns in common and are read as one table, in which a column,
or the name of the file, names the rater.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from pathlib import Path

import polars as pl

from heartfelt.errors import InputError
from heartfelt.formats.source_table import SYNONYMS, TABLES, SourceTable, folded, locate, open_table, prepared, rows_of

PARTICIPANT = ("participant", "participant_file")
"""The column with the file's name, where a folder holds a file per participant and no column names the rater; the first
that is free."""


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
    schema = {name: None for frame in frames.values() for name in frame.columns}
    usual = [n for synonym in SYNONYMS["rater"] if synonym != "id" for n in schema if folded(n) == synonym]
    usual = [name for name in usual if all(name in frame.columns for frame in frames.values())]
    one_per_file = (
        name for name in usual if all(frame[name].drop_nulls().n_unique() == 1 for frame in frames.values())
    )
    naming = next(one_per_file, next(iter(usual), None))
    files = f"{len(frames)} files of {source.name} were read as one table"
    if naming is None:
        column = next(name for name in PARTICIPANT if name not in schema or name == PARTICIPANT[-1])
        named = [frame.with_columns(pl.lit(path.stem).alias(column)) for path, frame in frames.items()]
        note = f"{files}; each file is a rater, named after the file."
    else:
        named = list(frames.values())
        names = [name for frame in frames.values() for name in frame[naming].drop_nulls().unique()]
        again = sorted({str(name) for name in names if names.count(name) > 1})
        note = f"{files}; the column '{naming}' names the rater." + (
            f" {', '.join(again[:5])} {'is' if len(again) == 1 else 'are'} in more than one file." if again else ""
        )
    all_rows = pl.concat(named, how="diagonal_relaxed")
    return SourceTable(path=source / source.name, rows=all_rows.lazy(), options={}, notes=(note,), reopens=False)


def _participant_files(source: Path, preferred: Sequence[str], suffixes: Set[str]) -> list[Path]:
    """The files of a folder that hold one table in parts: several of one kind that have most columns in common."""
    if not source.is_dir() or any((source / name).is_file() for name in preferred):
        return []
    paths = sorted(path for path in source.iterdir() if path.is_file() and path.suffix.lower() in suffixes)
    if len(paths) < 2 or len({path.suffix.lower() for path in paths}) > 1:
        return []
    try:
        columns = [set(open_table(path, {}).columns) for path in paths]
    except InputError:
        return []
    shared = set.intersection(*columns)
    alike = len(shared) > 1 and all(len(shared) >= len(names) / 2 for names in columns)
    return paths if alike else []
