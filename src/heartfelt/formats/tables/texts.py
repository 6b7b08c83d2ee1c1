"""The texts of a snapshot's field, of a column of a table, or of a text file with one text per line."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from heartfelt.errors import InputError, suggestion
from heartfelt.formats.tables.columns import need, read_table
from heartfelt.formats.tables.json_files import JSON, json_records, numbered_lines, text_of
from heartfelt.snapshot import Snapshot
from heartfelt.study.scales.answer import NONE

LINES = {".txt", ".text", ".md"}
SEPARATOR = "#"
"""Between a file and the column to read, where it is not the one asked for."""
_VALUES = {"machine": pl.col("machine"), "final": pl.col("final")}


@dataclass(frozen=True, slots=True)
class NamedTexts:
    """Texts in the order of their source, each with the stimulus or row it belongs to; empty texts stay."""

    name: str
    texts: tuple[str, ...]
    items: tuple[str, ...]


def snapshot_texts(snapshot: Snapshot, field: str) -> NamedTexts:
    """What raters wrote on a question, the values of a field, or a text column of the stimuli.

    A field has its final value where a person verified it, else the machine's, and none where it was rejected;
    ``caption.machine`` and ``caption.final`` are the values before and after.
    """
    study = snapshot.study
    questions = [q.id for q in study.asked if study.scale_of(q.id).level == "text"]
    fields = snapshot.fields["field"].unique(maintain_order=True).to_list() if snapshot.fields.height else []
    columns = snapshot.stimuli.select(pl.col(pl.String).exclude("stimulus")).columns
    name, _, which = field.rpartition(".")
    if field in questions:
        rows = _with(snapshot.scan_ratings(), "answer").filter(pl.col("question") == field)
        frame = rows.select("stimulus", pl.col("answer").alias("text")).collect()
    elif field in fields:
        value = pl.when(pl.col("verdict").fill_null("") != "rejected").then(pl.coalesce("final", "machine"))
        frame = _field_values(snapshot, field, value)
    elif name in fields and which in _VALUES:
        frame = _field_values(snapshot, name, _VALUES[which])
    elif field in columns:
        frame = snapshot.stimuli.select("stimulus", pl.col(field).alias("text"))
    else:
        text_names = [*questions, *fields, *columns]
        raise InputError(
            f"The source has no texts called '{field}'.", suggestion(field, text_names, "It has texts called")
        )
    # That there is nothing to describe is no description.
    return _named(field, frame.filter(pl.col("text").cast(pl.String).fill_null("") != NONE))


def _field_values(snapshot: Snapshot, field: str, value: pl.Expr) -> pl.DataFrame:
    table = _with(snapshot.fields.lazy(), "source", "verdict", "final", "shown")
    # A planted value belongs to another stimulus.
    rows = table.filter(pl.col("shown").fill_null("") != "planted", pl.col("field") == field)
    texts = rows.select("stimulus", "source", value.alias("text")).drop_nulls("text")
    # A machine's value stands once in the table for every person who verified it.
    return texts.unique(maintain_order=True).collect()


def file_texts(path: Path, field: str | None, name: str = "") -> NamedTexts:
    """The texts of a file: the column ``field`` of a table or of JSON records, a JSON list of texts, or one text per line."""
    file, _, column = str(path).rpartition(SEPARATOR)
    if file and not path.exists():
        path, field = Path(file), column
    if not path.is_file():
        raise InputError(f"There is no file {path}.", "Check the path.")
    lines = _lines(path)
    if lines is not None:
        return NamedTexts(name or path.stem, tuple(lines), tuple(map(str, range(len(lines)))))
    if field is None:
        raise InputError(f"{path} is a table.", "Name the column that holds the texts with --field.")
    frame = _column(path, field)
    if frame["text"].dtype.is_nested():
        raise InputError(f"The column '{field}' of {path} holds lists or objects.", "Name a column of texts.")
    return _named(name or field, frame)


def _lines(path: Path) -> list[str] | None:
    """The texts of a file with one per line, or of a JSON list; None for a table."""
    suffix = path.suffix.lower()
    if suffix in LINES:
        return [line for _, line in numbered_lines(path)]
    return _plain_list(path) if suffix in JSON else None


def _column(path: Path, name: str) -> pl.DataFrame:
    is_json = path.suffix.lower() in JSON
    table = json_records(path) if is_json else read_table(path)
    if is_json and name not in table.columns and table.height == 1:
        table = _nested(path, table, name)
    need(table, [name], str(path))
    return table.select(pl.int_range(pl.len()).cast(pl.String).alias("stimulus"), pl.col(name).alias("text"))


def _plain_list(path: Path) -> list[str] | None:
    """The texts of a JSON file that is a list of texts; None for any other."""
    try:
        content = json.loads(text_of(path))
    except ValueError:
        return None
    is_text_list = isinstance(content, list) and bool(content) and all(isinstance(text, str) for text in content)
    return content if is_text_list else None


def _nested(path: Path, table: pl.DataFrame, column: str) -> pl.DataFrame:
    """The one list of records inside a JSON object that has the column, such as the annotations of COCO; else the table."""
    content = json.loads(text_of(path))
    lists = content.values() if isinstance(content, dict) else ()
    for records in lists:
        if isinstance(records, list) and records and all(isinstance(r, dict) and column in r for r in records):
            return pl.DataFrame({column: [r[column] for r in records]}, strict=False)
    return table


def _with(rows: pl.LazyFrame, *columns: str) -> pl.LazyFrame:
    """The table with columns that it may lack."""
    column_names = rows.collect_schema().names()
    return rows.with_columns(pl.lit(None, pl.String).alias(name) for name in columns if name not in column_names)


def _named(name: str, frame: pl.DataFrame) -> NamedTexts:
    texts = frame["text"].cast(pl.String).fill_null("").to_list()
    return NamedTexts(name, tuple(texts), tuple(frame["stimulus"].to_list()))
