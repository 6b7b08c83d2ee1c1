"""Turning text columns into what they mean: numbers, moments, ids; and saying which cell would not turn."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import polars as pl

from heartfelt.errors import InputError, suggestion
from heartfelt.formats.delimited import read_delimited
from heartfelt.tables import MOMENT

MISSING = ("", "NA", "N/A", "n/a", "NaN", "nan", "null", "NULL", "None", ".", "-")
_MOMENT_FORMATS = ("%Y-%m-%dT%H:%M:%S%.f%#z", "%Y-%m-%d %H:%M:%S%.f%#z")
_LOCAL_FORMATS = ("%Y-%m-%dT%H:%M:%S%.f", "%Y-%m-%d %H:%M:%S%.f", "%Y-%m-%d %H:%M", "%Y-%m-%d")


def read_table(path: Path, delimiter: str | None = None) -> pl.DataFrame:
    """A CSV, TSV or Parquet file; text files come as text, Parquet with its own types."""
    if path.suffix.lower() in {".parquet", ".pq"}:
        try:
            return pl.read_parquet(path)
        except FileNotFoundError as error:
            raise InputError(f"There is no file {path}.", "Check the path.") from error
        except (OSError, pl.exceptions.PolarsError) as error:
            raise InputError(
                f"{path} is not a readable Parquet file.", "Get a complete copy of the file."
            ) from error
    return read_delimited(path, delimiter)


def need(frame: pl.DataFrame, columns: Iterable[str], where: str) -> None:
    """Raise for a column that is not there, with the nearest one that is."""
    for name in columns:
        if name not in frame.columns:
            raise InputError(f"{where} has no column '{name}'.", suggestion(name, frame.columns, "It has"))


def number_expr(name: str) -> pl.Expr:
    """Text as a number: gaps in any spelling are null, a decimal comma is a point; what will not turn is null."""
    text = pl.col(name).cast(pl.String).str.strip_chars()
    return (
        pl.when(text.is_in(MISSING))
        .then(None)
        .otherwise(text.str.replace(",", ".", literal=True))
        .cast(pl.Float64, strict=False)
        .fill_nan(None)
        .alias(name)
    )


def numbers(frame: pl.DataFrame, name: str, where: str, first: int = 2) -> pl.Series:
    """A column as numbers, or an error naming the first cell that is none. ``first``: the first row's line."""
    if frame.schema[name].is_numeric():
        return frame[name].cast(pl.Float64).fill_nan(None)
    out = frame.select(number_expr(name))[name]
    text = frame[name].cast(pl.String).str.strip_chars()
    bad = out.is_null() & text.is_not_null() & ~text.is_in(MISSING)
    if bad.any():
        row = int(bad.arg_max() or 0)
        raise InputError(
            f"{where}, line {row + first}, column '{name}': '{frame[name][row]}' is not a number ({int(bad.sum())} such cells).",
            "Correct the cell, or leave it empty where there is no answer.",
        )
    return out


def whole_numbers(frame: pl.DataFrame, name: str, where: str) -> pl.Series:
    """A column as whole numbers, or an error that names the first cell that is none."""
    out = numbers(frame, name, where)
    bad = (out != out.floor()).fill_null(False)
    if bad.any():
        row = int(bad.arg_max() or 0)
        raise InputError(
            f"{where}, line {row + 2}, column '{name}': '{frame[name][row]}' is not a whole number.",
            "Correct the cell, or map another column.",
        )
    return out.cast(pl.Int64)


def moment_expr(name: str, dtype: pl.DataType | type[pl.DataType]) -> pl.Expr:
    """A column as moments in UTC; one without a zone is taken as UTC; seconds or milliseconds since 1970 too."""
    column = pl.col(name)
    if isinstance(dtype, pl.Datetime):
        column = column.dt.cast_time_unit("us")
        return column.dt.convert_time_zone("UTC") if dtype.time_zone else column.dt.replace_time_zone("UTC")
    text = column.cast(pl.String).str.strip_chars().str.replace(r"Z$", "+00:00")
    text = pl.when(text.is_in(MISSING)).then(None).otherwise(text)
    attempts = [
        text.str.to_datetime(form, time_unit="us", strict=False).dt.convert_time_zone("UTC")
        for form in _MOMENT_FORMATS
    ]
    attempts += [
        text.str.to_datetime(form, time_unit="us", time_zone=None, strict=False).dt.replace_time_zone("UTC")
        for form in _LOCAL_FORMATS
    ]
    epoch = text.cast(pl.Float64, strict=False)
    micros = pl.when(epoch > 1e11).then(epoch * 1e3).otherwise(epoch * 1e6).cast(pl.Int64)
    return (
        pl.coalesce(*attempts, micros.cast(pl.Datetime("us")).dt.replace_time_zone("UTC"))
        .cast(MOMENT)
        .alias(name)
    )


def unparsed_moment(table: pl.LazyFrame, name: str, where: str) -> None:
    """Raise for the first cell of a column that is no moment."""
    dtype = table.collect_schema()[name]
    frame = table.select(
        pl.col(name).cast(pl.String).alias("text"), moment_expr(name, dtype).alias("moment")
    ).collect()
    bad = (
        frame["moment"].is_null()
        & frame["text"].is_not_null()
        & ~frame["text"].str.strip_chars().is_in(MISSING)
    )
    if bad.any():
        row = int(bad.arg_max() or 0)
        raise InputError(
            f"{where}, line {row + 2}, column '{name}': '{frame['text'][row]}' is not a date and time.",
            "Write moments as 2025-09-20T14:05:00+09:00.",
        )


def moments(frame: pl.DataFrame, name: str, where: str) -> pl.Series:
    """A column as moments in UTC, or an error that names the first cell that is none."""
    unparsed_moment(frame.lazy(), name, where)
    return frame.select(moment_expr(name, frame.schema[name])).to_series()


def ids(series: pl.Series) -> pl.Series:
    """Ids as text: ``7``, ``7.0`` in a column of whole floats, and ``"7"`` are one id."""
    if series.dtype.is_float():
        whole = series.cast(pl.Int64, strict=False)
        if (whole.cast(pl.Float64) == series).all():
            return whole.cast(pl.String)
        return series.cast(pl.String)
    text = series.cast(pl.String).str.strip_chars()
    present = text.drop_nulls()
    if present.len() and present.str.contains(r"^\d+\.0$").all():
        return text.str.replace(r"\.0$", "")
    return text


def one_of(frame: pl.DataFrame, names: Sequence[str]) -> str | None:
    """The only column of ``frame`` called one of ``names``, whatever its case; None if none or several are."""
    wanted = {name.casefold() for name in names}
    found = [name for name in frame.columns if name.strip().casefold() in wanted]
    return found[0] if len(found) == 1 else None


def unique_keys(frame: pl.DataFrame, keys: Sequence[str], where: str, first: int = 2) -> None:
    """Raise when two rows of a file share their key. ``first``: the line of the first row."""
    doubled = frame.select(keys).is_duplicated()
    if doubled.any():
        row = int(doubled.arg_max() or 0)
        named = ", ".join(f"{key} '{frame[key][row]}'" for key in keys)
        raise InputError(
            f"{where}, line {row + first}: {named} is there more than once ({int(doubled.sum())} such rows).",
            f"Keep one row per {' x '.join(keys)}.",
        )


def filled(frame: pl.DataFrame, names: Iterable[str], where: str, first: int = 2) -> None:
    """Raise for the first empty cell in a column that may have none."""
    for name in names:
        gaps = frame[name].is_null()
        if gaps.any():
            raise InputError(
                f"{where}, line {int(gaps.arg_max() or 0) + first}: the column '{name}' is empty"
                f" ({int(gaps.sum())} such rows).",
                f"Fill in the {name}, or remove the row.",
            )


def one_word_of(frame: pl.DataFrame, name: str, words: Iterable[str], where: str) -> pl.Series:
    """A column whose cells are one of ``words``, whatever their case; any other word is an error."""
    known = {word.casefold(): word for word in words}
    text = frame[name].cast(pl.String).str.strip_chars()
    out = text.str.to_lowercase().replace_strict(known, default=None, return_dtype=pl.String).alias(name)
    bad = out.is_null() & text.is_not_null()
    if bad.any():
        row = int(bad.arg_max() or 0)
        raise InputError(
            f"{where}, line {row + 2}, column '{name}': '{text[row]}' is not one of its words"
            f" ({int(bad.sum())} such cells).",
            suggestion(str(text[row]), known.values(), "Allowed"),
        )
    return out


def inside_paths(series: pl.Series, where: str, first: int = 2) -> None:
    """Raise for a file name that leads out of the folder it belongs in."""
    text = series.cast(pl.String).str.replace_all("\\", "/", literal=True)
    bad = (
        text.str.starts_with("/") | text.str.contains(r"^.{0,2}:") | text.str.contains(r"(^|/)\.\.(/|$)")
    ).fill_null(False)
    if bad.any():
        row = int(bad.arg_max() or 0)
        raise InputError(
            f"{where}, line {row + first}, column '{series.name}': the path '{series[row]}' leads out of the"
            " media folder.",
            "Use names relative to that folder, and keep the media inside it.",
        )


def not_taken(frame: pl.DataFrame, names: Iterable[str], where: str) -> None:
    """Raise for a column whose name means something else in a snapshot."""
    for name in names:
        if name in frame.columns:
            raise InputError(
                f"{where} has a column '{name}', a name that is kept for something else here.",
                "Rename the column; columns of other names are kept as they are.",
            )
