"""Turning text columns into what they mean: numbers, moments, ids; and naming the cell that cannot be turned."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from heartfelt.errors import InputError, as_option, suggestion
from heartfelt.formats.tables.delimited import read_delimited
from heartfelt.tables import MOMENT
from heartfelt.wording import listed

ADJUDICATIONS_FILE = "adjudications.csv"
"""What senior raters decided, beside the files of a format."""
PARQUET = {".parquet", ".pq"}
MISSING = ("", "NA", "N/A", "n/a", "NaN", "nan", "null", "NULL", "None", ".", "-")
_MOST_VOTES = 1_000_000
"""In one cell: every vote becomes a row."""
_MOMENT_FORMATS = ("%Y-%m-%dT%H:%M:%S%.f%#z", "%Y-%m-%d %H:%M:%S%.f%#z")
_LOCAL_FORMATS = ("%Y-%m-%dT%H:%M:%S%.f", "%Y-%m-%d %H:%M:%S%.f", "%Y-%m-%d %H:%M:%S %6f", "%Y-%m-%d %H:%M", "%Y-%m-%d")
ABOUT_STIMULUS = ("system", "intent", "prompt", "path")
"""Roles of columns that describe a stimulus."""


def read_table(path: Path, delimiter: str | None = None) -> pl.DataFrame:
    """A CSV, TSV or Parquet file; text files come as text, Parquet with its own types."""
    if path.suffix.lower() in PARQUET:
        return scan_parquet(path).collect()
    return read_delimited(path, delimiter)


def scan_parquet(path: Path) -> pl.LazyFrame:
    """A Parquet file, lazily; an error if it cannot be read."""
    if not path.is_file():
        raise InputError(f"There is no file {path}.", "Check the path.")
    try:
        frame = pl.scan_parquet(path)
        frame.collect_schema()
    except (OSError, pl.exceptions.PolarsError) as error:
        raise InputError(f"{path} is not a readable Parquet file.", "Get a complete copy of the file.") from error
    return frame


def need(columns: pl.DataFrame | Iterable[str], names: Iterable[str], where: str) -> None:
    """Raise for a column that is missing, with the nearest one there is."""
    have = columns.columns if isinstance(columns, pl.DataFrame) else list(columns)
    for name in names:
        if name not in have:
            raise InputError(f"{where} has no column '{name}'.", suggestion(name, have, "It has"))


@dataclass(frozen=True, slots=True)
class NamedTable:
    """A table with the name of its file: a cell that cannot be used is an error that names its line and column."""

    frame: pl.DataFrame
    where: str
    first: int = 2
    """The line of the first row."""
    position: Callable[[int], str] | None = None
    """Where a row stands in the file, for tables whose rows are not simply its lines."""

    @classmethod
    def read(cls, path: Path) -> NamedTable:
        return cls(read_table(path), str(path))

    def __getitem__(self, name: str) -> pl.Series:
        return self.frame[name]

    def __contains__(self, name: str) -> bool:
        return name in self.frame.columns

    def with_columns(self, *columns: Any) -> NamedTable:
        return replace(self, frame=self.frame.with_columns(*columns))

    def with_ids(self, *names: str) -> NamedTable:
        """The same table with ids as text in the columns it has of these."""
        return self.with_columns(ids(self[name]).alias(name) for name in names if name in self)

    def refuse(self, bad: pl.Series, column: pl.Series | None, problem: str, fix: str) -> None:
        """Raise for the first row where ``bad`` is true.

        ``problem`` may hold ``{cell}`` and ``{rows}``, the first bad cell and the number of bad rows.
        """
        bad = bad.fill_null(False)
        if not bad.any():
            return
        row = int(bad.arg_max() or 0)
        cell = "" if column is None else column[row]
        name = "" if column is None else f", column '{column.name}'"
        words = problem.replace("{cell}", f"{cell:g}" if isinstance(cell, float) else str(cell))
        words = words.replace("{rows}", str(bad.sum()))
        position = f"line {row + self.first}" if self.position is None else self.position(row)
        raise InputError(f"{self.where}, {position}{name}: {words}", fix)

    def need(self, *names: str) -> None:
        need(self.frame, names, self.where)

    def not_taken(self, *names: str) -> None:
        """Raise for a column whose name means something else in a snapshot."""
        for name in names:
            if name in self:
                raise InputError(
                    f"{self.where} has a column '{name}', a name that is reserved.",
                    "Rename the column; columns with other names are read as they are.",
                )

    def numbers(self, name: str) -> pl.Series:
        if self[name].dtype.is_numeric():
            return self[name].cast(pl.Float64).fill_nan(None)
        out = self.frame.select(number_expr(name))[name]
        fix = "Correct the cell, or leave it empty where there is no answer."
        self._refuse_lost(name, out, "'{cell}' is not a number ({rows} such cells).", fix)
        return out

    def vote_counts(self, name: str) -> pl.Series:
        """A column as numbers of votes; none where a cell is empty."""
        count = self.numbers(name).fill_null(0)
        fix = f"Counts are whole numbers from 0 to {_MOST_VOTES:,}. For proportions, multiply by the number of raters."
        unusable = (count < 0) | (count != count.floor()) | (count > _MOST_VOTES)
        self.refuse(unusable, count, "{cell} is not a number of votes.", fix)
        return count.cast(pl.Int64)

    def whole_numbers(self, name: str) -> pl.Series:
        out = self.numbers(name)
        fix = "Correct the cell, or map another column."
        self.refuse(out != out.floor(), self[name], "'{cell}' is not a whole number.", fix)
        return out.cast(pl.Int64)

    def moments(self, name: str) -> pl.Series:
        """A column as moments in UTC."""
        out = self.frame.select(moment_expr(name, self[name].dtype)).to_series()
        fix = "Write moments as 2025-09-20T14:05:00+09:00."
        self._refuse_lost(name, out, "'{cell}' is not a date and time.", fix)
        return out

    def _refuse_lost(self, name: str, out: pl.Series, problem: str, fix: str) -> None:
        text = self[name].cast(pl.String).str.strip_chars()
        self.refuse(out.is_null() & text.is_not_null() & ~text.is_in(MISSING), self[name], problem, fix)

    def one_word_of(self, name: str, words: Iterable[str]) -> pl.Series:
        """A column whose cells are each in ``words``, whatever their case."""
        by_folded = {word.casefold(): word for word in words}
        text = self[name].cast(pl.String).str.strip_chars()
        out = text.str.to_lowercase().replace_strict(by_folded, default=None, return_dtype=pl.String).alias(name)
        unknown = out.is_null() & text.is_not_null()
        fix = suggestion(str(text.filter(unknown).first() or ""), by_folded.values(), "Allowed")
        self.refuse(unknown, text, "'{cell}' is not one of its words ({rows} such cells).", fix)
        return out

    def unique(self, *keys: str, option: str | None = None, answers: Iterable[str] = ()) -> None:
        """Raise when two rows share their key; ``option`` is the one that names the key's first column."""
        doubled = self.frame.select(keys).is_duplicated()
        if not doubled.any():
            return
        row = int(doubled.arg_max() or 0)
        named = ", ".join(f"{key} '{self[key][row]}'" for key in keys)
        problem = f"{named} is there more than once ({{rows}} such rows)."
        self.refuse(doubled, None, problem, advice_on_doubled(self.frame, keys, option, answers))

    def filled(self, *names: str) -> None:
        """Raise for the first empty cell in a column that may have none."""
        for name in names:
            problem = f"the column '{name}' is empty ({{rows}} such rows)."
            self.refuse(self[name].is_null(), None, problem, f"Fill in the {name}, or remove the row.")

    def inside_paths(self, name: str) -> None:
        """Raise for a file name that leads out of the folder it belongs in."""
        text = self[name].cast(pl.String).str.replace_all("\\", "/", literal=True)
        out = text.str.starts_with("/") | text.str.contains(r"^.{0,2}:") | text.str.contains(r"(^|/)\.\.(/|$)")
        fix = "Use names relative to that folder, and keep the media inside it."
        self.refuse(out, self[name], "the path '{cell}' leads out of the media folder.", fix)


def number_expr(name: str) -> pl.Expr:
    """Text as a number: gaps in any spelling are null, a decimal comma is a point; what is no finite number is null."""
    text = pl.col(name).cast(pl.String).str.strip_chars()
    number = (
        pl.when(text.is_in(MISSING))
        .then(None)
        .otherwise(text.str.replace(",", ".", literal=True))
        .cast(pl.Float64, strict=False)
    )
    return pl.when(number.is_finite()).then(number).alias(name)


def moment_expr(name: str, dtype: pl.DataType | type[pl.DataType]) -> pl.Expr:
    """A column as moments in UTC; one without a zone is taken as UTC; seconds or milliseconds since 1970 too."""
    column = pl.col(name)
    if isinstance(dtype, pl.Datetime):
        column = column.dt.cast_time_unit("us")
        return column.dt.convert_time_zone("UTC") if dtype.time_zone else column.dt.replace_time_zone("UTC")
    if dtype.is_numeric():
        return _since_1970(column.cast(pl.Float64)).alias(name)
    text = column.cast(pl.String).str.strip_chars().str.replace(r"Z$", "+00:00")
    text = pl.when(text.is_in(MISSING)).then(None).otherwise(text)
    attempts = [
        text.str.to_datetime(form, time_unit="us", strict=False).dt.convert_time_zone("UTC") for form in _MOMENT_FORMATS
    ]
    attempts += [
        text.str.to_datetime(form, time_unit="us", time_zone=None, strict=False).dt.replace_time_zone("UTC")
        for form in _LOCAL_FORMATS
    ]
    since_1970 = _since_1970(text.cast(pl.Float64, strict=False))
    return pl.coalesce(*attempts, since_1970).cast(MOMENT).alias(name)


def _since_1970(epoch: pl.Expr) -> pl.Expr:
    micros = pl.when(epoch > 1e11).then(epoch * 1e3).otherwise(epoch * 1e6).cast(pl.Int64)
    return micros.cast(pl.Datetime("us")).dt.replace_time_zone("UTC").cast(MOMENT)


def ids(series: pl.Series) -> pl.Series:
    """Ids as text: ``7``, ``7.0`` in a column of whole floats, and ``"7"`` are one id."""
    if series.dtype.is_float():
        integers = series.cast(pl.Int64, strict=False)
        same = (integers.cast(pl.Float64) == series).all()
        return (integers if same else series).cast(pl.String)
    text = series.cast(pl.String).str.strip_chars()
    present = text.drop_nulls()
    if present.len() and present.str.contains(r"^\d+\.0$").all():
        return text.str.replace(r"\.0$", "")
    return text


def with_roles_named(frame: pl.DataFrame, roles: Mapping[str, str]) -> pl.DataFrame:
    """The columns under the names of their roles; another column that has such a name becomes ``source_NAME``."""
    set_aside = {role: f"source_{role}" for column, role in roles.items() if role in frame.columns and column != role}
    return frame.rename({**{name: new for name, new in set_aside.items() if name not in roles}, **roles})


def is_unnamed(name: str) -> bool:
    """Whether a column has no name of its own: blank in the header, or as pandas writes its index."""
    return re.fullmatch(r"column_\d+|Unnamed: \d+|index|", name.strip()) is not None


def distinct_column(frame: pl.DataFrame) -> str | None:
    """A column that can only be the id although its name does not say so: every cell differs, and it is text or unnamed."""
    distinct = [c.cast(pl.String) for c in frame if not c.null_count() and c.n_unique() == c.len()]
    words = [cells.name for cells in distinct if cells.cast(pl.Float64, strict=False).is_null().all()]
    return next(iter([*words, *(cells.name for cells in distinct if is_unnamed(cells.name))]), None)


def advice_on_doubled(frame: pl.DataFrame, keys: Sequence[str], option: str | None, answers: Iterable[str] = ()) -> str:
    """What to do about rows that share a key, without losing any that differ; ``option`` names the key's first column.

    A column tells such rows apart where no two of them share it too. It is a condition where it has no more different cells
    than a key has rows, and an id where all its cells differ; answers and decimals are measurements.
    """
    further_columns = [name for name in frame.columns if name not in {*keys, *answers}]
    rows = frame.filter(frame.select(keys).is_duplicated())
    if rows.unique(keys).height == rows.unique().height:
        return f"Keep one row per {' x '.join(keys)}: these rows are equal in every column."
    names = [
        cells.name
        for cells in rows.select(further_columns)
        if not cells.null_count()
        and not rows.select(*keys, cells.name).is_duplicated().any()
        and rows.select(number_expr(cells.name).mod(1).fill_null(0).sum()).item() == 0
    ]
    if option is None:
        where = f" in {listed(names, 3)}" if names else ""
        return f"Keep one row per {' x '.join(keys)}, but first find out why they differ{where}."
    most = rows.group_by(keys).len()["len"].max()
    conditions = [name for name in names if frame[name].n_unique() <= most]  # type: ignore[operator]  # there are rows
    if conditions:
        joined = as_option(option, f"{keys[0]}+{conditions[0]}")
        return (
            f"If '{conditions[0]}' tells apart what was rated, name both: {joined}. Remove only rows that are copies."
        )
    distinct = [name for name in names if frame[name].is_unique().all()]
    if distinct:
        return f"'{distinct[0]}' has a cell of its own in every row: {as_option(option, distinct[0])}."
    return f"Name the columns that tell them apart: {as_option(option, 'A+B')}. Remove only rows that are copies."


def id_notes(raw_ids: pl.Series, role: str) -> list[str]:
    """What trimming does to ids: how many had spaces around them, and which became the same."""
    texts = raw_ids.cast(pl.String).drop_nulls().unique(maintain_order=True)
    trimmed = texts.str.strip_chars()
    changed = int((texts != trimmed).sum())
    if not changed:
        return []
    note = f"Spaces around {changed:,} {role} id{'s' if changed > 1 else ''} were removed"
    merged = trimmed.filter(trimmed.is_duplicated()).unique(maintain_order=True)
    if merged.len():
        named = ", ".join(f"'{name}'" for name in merged.head(3))
        note += f", and {merged.len():,} became equal to another id ({named})"
    return [f"{note}."]


def stacked(
    frame: pl.DataFrame, questions: Mapping[str, str], names: Mapping[str, str], value: str = "value"
) -> pl.DataFrame:
    """One row per answer, from a column per question; ``names`` renames the other columns there are of these."""
    index = [name for name in frame.columns if name not in questions]
    long = frame.unpivot(list(questions), index=index, variable_name="question", value_name=value)
    return long.with_columns(pl.col("question").replace(questions)).rename(names, strict=False)
