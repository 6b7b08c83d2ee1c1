"""Opening the table a plain format reads: text, Parquet or JSON, with the options that all such formats share.

Rows may be filtered (``where``), columns with personal data are dropped unless they are asked for (``personal=keep``), and
whatever a person should know about the reading (a detected encoding, dropped columns, trimmed ids) becomes a note of the
snapshot's source. Nothing is read into memory here that was not asked for: the table stays lazy.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from heartfelt.errors import InputError
from heartfelt.formats.columns import need, number_expr
from heartfelt.formats.delimited import Delimited, open_delimited
from heartfelt.tables import LEDGER

PARQUET = {".parquet", ".pq"}
JSON = {".json", ".jsonl", ".ndjson"}
TABLES = {".csv", ".tsv", ".txt", *PARQUET, *JSON}
OPTIONS: Mapping[str, str] = {
    "delimiter": "what separates the columns; detected if left out",
    "encoding": "the encoding of a text file, such as cp949; detected if left out",
    "where": "only rows that meet these conditions, with semicolons between them: status=complete;age>=18;group=a|b",
    "personal": "keep: keep columns with IP addresses, e-mail addresses or coordinates, which are dropped otherwise",
}
_LOOKED_AT = 2000
_SHARE = 0.5
_PERSONAL_CELLS: Mapping[str, str] = {
    "IP addresses": r"^(?:\d{1,3}\.){3}\d{1,3}$|^(?:[0-9a-fA-F]{0,4}:){3,7}[0-9a-fA-F]{0,4}$",
    "e-mail addresses": r"^[^@\s]+@[^@\s]+\.[^@\s]+$",
}
_PERSONAL_NAMES: Mapping[str, str] = {
    "IP addresses": r"^(?:user_?|client_?|remote_?)?ip(?:_?addr(?:ess)?)?$",
    "e-mail addresses": r"^(?:recipient_?|user_?|contact_?)?e_?mail(?:_?addr(?:ess)?)?$",
    "coordinates": r"^(?:location_?|gps_?|geo_?)?(?:lat|latitude|lon|lng|long|longitude)$",
}
_CONDITION = re.compile(r"\s*(.+?)\s*(<=|>=|!=|=|<|>)\s*(.*?)\s*")


@dataclass(frozen=True, slots=True)
class SourceTable:
    """A table that was opened: its rows, and what to say about the reading."""

    path: Path
    rows: pl.LazyFrame
    delimited: Delimited | None = None
    """The text file behind the rows, where they are exactly the file's."""
    notes: tuple[str, ...] = ()
    ledger: pl.DataFrame | None = None

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return self.rows.collect_schema().names()

    def collect(self) -> pl.DataFrame:
        """All rows in memory."""
        try:
            return self.rows.collect()
        except pl.exceptions.PolarsError as error:
            raise InputError(
                f"{self.path} cannot be read as a table: {str(error).splitlines()[0]}.",
                "Save the table as CSV in UTF-8, and try again.",
            ) from error


def open_table(path: Path, options: Mapping[str, str], asked_for: Iterable[str] = ()) -> SourceTable:
    """Open a table with the shared options. ``asked_for`` are the columns that the options name."""
    rows, delimited = _rows(path, options)
    notes = list(delimited.notes) if delimited is not None else []
    personal = {} if options.get("personal") == "keep" else _personal(rows, set(asked_for))
    if personal:
        rows, delimited = rows.drop(personal), None
        dropped = ", ".join(f"'{name}' ({kind})" for name, kind in personal.items())
        notes.append(
            f"Columns with personal data were dropped: {dropped}. Keep them with --map personal=keep."
        )
    ledger = None
    if "where" in options:
        rows, ledger = _filtered(rows, options["where"], str(path))
        delimited = None
    return SourceTable(path, rows, delimited, tuple(notes), ledger)


def _rows(path: Path, options: Mapping[str, str]) -> tuple[pl.LazyFrame, Delimited | None]:
    if path.suffix.lower() in PARQUET:
        try:
            frame = pl.scan_parquet(path)
            frame.collect_schema()
        except (OSError, pl.exceptions.PolarsError) as error:
            raise InputError(
                f"{path} is not a readable Parquet file.", "Get a complete copy of the file."
            ) from error
        return frame, None
    if path.suffix.lower() in JSON:
        return _json(path, options.get("encoding", "utf-8-sig")).lazy(), None
    opened = open_delimited(path, options.get("delimiter"), encoding=options.get("encoding"))
    return opened.scan(), opened


def _json(path: Path, encoding: str) -> pl.DataFrame:
    """Records of a JSON or JSON-lines file; a list of records inside each record becomes rows, an object columns."""
    try:
        text = path.read_text(encoding=encoding)
    except FileNotFoundError as error:
        raise InputError(f"There is no file {path}.", "Check the path.") from error
    except (OSError, UnicodeError, LookupError) as error:
        raise InputError(
            f"{path} cannot be read: {error}.", "Save it as UTF-8, or state its encoding."
        ) from error
    records = _records(text, path)
    if not records or not all(isinstance(record, dict) for record in records):
        raise InputError(
            f"{path} holds no list of records.",
            'Write one object per row, such as [{"rater": "p1", "stimulus": "a", "value": 5}].',
        )
    frame = pl.DataFrame([_flat(record) for record in records], infer_schema_length=None, strict=False)
    for name, dtype in frame.schema.items():
        if isinstance(dtype, pl.List) and isinstance(dtype.inner, pl.Struct):
            inner = frame.select(pl.exclude(name), pl.col(name)).explode(name)
            fields = [field.name for field in dtype.inner.fields]
            taken = {field: field if field not in frame.columns else f"{name}.{field}" for field in fields}
            return inner.with_columns(
                pl.col(name).struct.field(field).alias(new) for field, new in taken.items()
            ).drop(name)
    return frame


def _records(text: str, path: Path) -> list[Any]:
    try:
        content = json.loads(text)
    except ValueError:
        return _json_lines(text, path)
    if isinstance(content, dict):
        lists = [value for value in content.values() if isinstance(value, list)]
        by_column = len(lists) == len(content) and len({len(column) for column in lists}) == 1
        if by_column and not any(isinstance(cell, dict) for column in lists for cell in column):
            return [dict(zip(content, row, strict=True)) for row in zip(*lists, strict=True)]
        records = [value for value in lists if value and all(isinstance(row, dict) for row in value)]
        return records[0] if len(records) == 1 else [content]
    return content if isinstance(content, list) else []


def _json_lines(text: str, path: Path) -> list[Any]:
    records = []
    for place, line in enumerate(text.splitlines(), 1):
        if line.strip():
            try:
                records.append(json.loads(line))
            except ValueError as error:
                raise InputError(
                    f"{path}, line {place}: this is not valid JSON ({error}).", "Correct the line."
                ) from error
    return records


def _flat(record: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    out: dict[str, Any] = {}
    for name, value in record.items():
        if isinstance(value, Mapping):
            out.update(_flat(value, f"{prefix}{name}."))
        else:
            out[f"{prefix}{name}"] = value
    return out


def _personal(rows: pl.LazyFrame, asked_for: set[str]) -> dict[str, str]:
    """The columns that hold personal data, each with its kind; those the options name are wanted."""
    schema = rows.collect_schema()
    names = [name for name in schema.names() if name not in asked_for]
    out: dict[str, str] = {}
    for name in names:
        plain = re.sub(r"[\s.\-]+", "_", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name.strip())).casefold()
        for kind, pattern in _PERSONAL_NAMES.items():
            if re.match(pattern, plain):
                out[name] = kind
    texts = [name for name in names if schema[name] == pl.String and name not in out]
    if texts:
        head = rows.select(texts).head(_LOOKED_AT).collect()
        for name in texts:
            cells = head[name].drop_nulls().str.strip_chars()
            for kind, pattern in _PERSONAL_CELLS.items():
                if cells.len() and int(cells.str.contains(pattern).sum()) > _SHARE * cells.len():
                    out[name] = kind
    return {name: kind for name, kind in out.items() if kind != "coordinates" or _are_numbers(rows, name)}


def _are_numbers(rows: pl.LazyFrame, name: str) -> bool:
    head = rows.select(number_expr(name)).head(_LOOKED_AT).collect()[name].drop_nulls()
    return bool(head.len() and head.is_between(-180, 180).all())


def _filtered(rows: pl.LazyFrame, text: str, where: str) -> tuple[pl.LazyFrame, pl.DataFrame]:
    """The rows that meet every condition, and a ledger line for each condition that left some out."""
    lines = []
    for condition in (part for part in text.split(";") if part.strip()):
        keep = _condition(condition, rows, where)
        lost = int(rows.select((~keep).sum()).collect(engine="streaming").item())
        if lost:
            lines.append(
                {
                    "what": "row",
                    "reason": f"{lost:,} rows do not meet the condition '{condition.strip()}'",
                    "stage": "import",
                }
            )
        rows = rows.filter(keep)
    ledger = pl.DataFrame(lines, schema={"what": pl.String, "reason": pl.String, "stage": pl.String})
    return rows, LEDGER.check(ledger, where)


def _condition(text: str, rows: pl.LazyFrame, where: str) -> pl.Expr:
    match = _CONDITION.fullmatch(text)
    if match is None:
        raise InputError(
            f"'{text.strip()}' is not a condition.",
            "Write for example where=status=complete;age>=18;group=a|b.",
        )
    name, sign, value = match.groups()
    need(pl.DataFrame(schema=rows.collect_schema()), [name], where)
    number = number_expr(name)
    if sign in {"=", "!="}:
        cell = pl.col(name).cast(pl.String).str.strip_chars().fill_null("")
        same = cell.is_in([part.strip() for part in value.split("|")])
        wanted = [float(part) for part in value.split("|") if _is_number(part)]
        same = same | (number.is_in(wanted).fill_null(False) if wanted else pl.lit(False))
        return same if sign == "=" else ~same
    if not _is_number(value):
        raise InputError(
            f"'{text.strip()}' compares with '{value}', which is not a number.", "Compare with a number."
        )
    limit = float(value)
    compared = {"<": number < limit, "<=": number <= limit, ">": number > limit, ">=": number >= limit}[sign]
    return compared.fill_null(False)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def id_notes(ids: pl.Series, role: str) -> list[str]:
    """What trimming does to ids: how many had spaces around them, and which became the same."""
    texts = ids.cast(pl.String).drop_nulls().unique(maintain_order=True)
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
