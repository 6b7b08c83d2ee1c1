"""JSON, JSON Lines and other text read line by line, in the encodings people really save them in."""

from __future__ import annotations

import codecs
import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, NoReturn, TypeAlias

import polars as pl

from heartfelt.errors import InputError
from heartfelt.formats.tables.delimited import read_bytes

JSON = {".json", ".jsonl", ".ndjson"}
Record: TypeAlias = dict[str, Any]
"""An object of JSON, whose values may be anything."""


def text_of(path: Path, encoding: str | None = None) -> str:
    """The text of a file with LF line ends: in ``encoding``, else UTF-8, UTF-16 with its mark, or Windows-1252."""
    content = read_bytes(path)
    wide = content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    if b"\0" in content and not wide and encoding is None:
        raise InputError(f"{path} is not a text file (it holds zero bytes).", "Save it as UTF-8 text, and try again.")
    for name in (encoding,) if encoding else ("utf-16",) if wide else ("utf-8-sig", "cp1252", "latin-1"):
        try:
            return content.decode(name).replace("\r\n", "\n").replace("\r", "\n")
        except (UnicodeDecodeError, LookupError):
            continue
    raise InputError(f"{path} cannot be read as {encoding or 'text'}.", "Save it as UTF-8 text, or state its encoding.")


def numbered_lines(path: Path) -> Iterator[tuple[int, str]]:
    """The lines of a file that are not blank, each with its number from 1."""
    for number, line in enumerate(text_of(path).split("\n"), 1):
        if line.strip():
            yield number, line


class RepeatedNameError(Exception):
    """An object has two values of one name."""


def distinct_names(pairs: Iterable[tuple[str, Any]]) -> Record:
    """An object of JSON, as ``object_pairs_hook``; an error where a name is there twice."""
    record: Record = {}
    for name, value in pairs:
        if name in record:
            raise RepeatedNameError(name)
        record[name] = value
    return record


def parse_json(text: str) -> Any:
    """Strict JSON: NaN and infinities are an error."""

    def refuse(word: str) -> NoReturn:
        raise ValueError(f"{word} is not JSON")

    return json.loads(text, parse_constant=refuse)


def read_json(path: Path) -> Any:
    """The content of a JSON file, or an error with the line."""
    try:
        return parse_json(text_of(path))
    except json.JSONDecodeError as error:
        raise InputError(
            f"{path}, line {error.lineno}: this is not valid JSON ({error.msg}).",
            "Correct that line, or get a complete copy of the file.",
        ) from error
    except (ValueError, RecursionError) as error:
        raise InputError(
            f"{path}: this is not valid JSON ({error}).", "Write null where there is no number."
        ) from error


def read_jsonl(path: Path) -> Iterator[tuple[int, Record]]:
    """The objects of a JSON Lines file, each with its line; a line cut off or no object is an error."""
    lines = list(numbered_lines(path))
    if not lines:
        raise InputError(f"{path} is empty.", "Point to a file with one JSON object per line.")
    for number, line in lines:
        try:
            record = parse_json(line)
        except (ValueError, RecursionError) as error:
            reason = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
            cut = number == lines[-1][0]
            raise InputError(
                f"{path}, line {number}: this is not valid JSON ({reason})."
                + (" It is the last line: the file seems to be cut off." if cut else ""),
                "Get a complete copy of the file." if cut else "Write one complete JSON object on each line.",
            ) from error
        if not isinstance(record, dict):
            raise InputError(
                f"{path}, line {number}: this is {type(record).__name__}, not an object.",
                'Write one JSON object per line, such as {"image": "0001.png"}.',
            )
        yield number, record


def json_table(path: Path, encoding: str | None = None) -> pl.DataFrame:
    """The records of a JSON or JSON Lines file; a list of records inside each record becomes rows, an object columns."""
    return _json_table(path, encoding, _state(path))


def _state(path: Path) -> tuple[int, int] | None:
    status = path.stat() if path.is_file() else None
    return status and (status.st_mtime_ns, status.st_size)


@lru_cache(maxsize=1)
def _json_table(path: Path, encoding: str | None, _: object) -> pl.DataFrame:
    """Parsed once where a file is first recognised and then read; ``_`` tells two states of a file apart."""
    example = '{"rater": "p1", "stimulus": "a", "value": 5}'
    return _frame(_inner_records(_flat_records(path, encoding, example)))


def _flat_records(path: Path, encoding: str | None, example: str) -> list[Record]:
    records = _records(text_of(path, encoding), path)
    if not records or not all(isinstance(record, dict) for record in records):
        fix = f"Write one object per row, such as [{example}]."
        raise InputError(f"{path} holds no list of records.", fix)
    return [_flat(record) for record in records]


def _inner_records(records: list[Record]) -> list[Record]:
    """One row per record of the first list of records inside the records, with what surrounds it; else the records."""
    names = list(dict.fromkeys(name for record in records for name in record))
    inner = next((name for name in names if _holds_records([record.get(name) for record in records])), None)
    if inner is None:
        return records
    return [row for record in records for row in _rows_inside(record, inner, names)]


def _rows_inside(record: Record, inner: str, names: Collection[str]) -> Iterator[Record]:
    """The rows of one record: a key that the records have too is named after the list it stands in."""
    outer = {key: value for key, value in record.items() if key != inner}
    for part in record.get(inner) or [{}]:
        renamed = {f"{inner}.{key}" if key in names else key: value for key, value in part.items()}
        yield {**outer, **_flat(renamed)}


def _holds_records(cells: list[Any]) -> bool:
    """Whether every cell that is not empty is a list, and all that is in the lists are records."""
    lists = [cell for cell in cells if cell is not None]
    if not all(isinstance(cell, list) for cell in lists):
        return False
    inner = [part for cell in lists for part in cell]
    return bool(inner) and all(isinstance(part, Mapping) for part in inner)


def _frame(records: list[Record]) -> pl.DataFrame:
    """A column per key. Where the cells of a column have no type in common, lists and objects become JSON text."""
    try:
        return pl.DataFrame(records, infer_schema_length=None, strict=False)
    except (TypeError, ValueError, pl.exceptions.PolarsError):
        names = dict.fromkeys(name for record in records for name in record)
        return pl.DataFrame([_column(name, [record.get(name) for record in records]) for name in names])


def _column(name: str, cells: list[Any]) -> pl.Series:
    try:
        return pl.Series(name, cells)
    except (TypeError, ValueError, OverflowError, pl.exceptions.PolarsError):
        texts = [c if c is None or isinstance(c, str) else json.dumps(c, ensure_ascii=False) for c in cells]
        return pl.Series(name, texts, dtype=pl.String)


def looks_like_json(path: Path) -> bool:
    """Whether a file begins as a JSON object or list does."""
    head = read_bytes(path, 64).removeprefix(codecs.BOM_UTF8).lstrip() if path.is_file() else b""
    return head.startswith((b"{", b"["))


def has_keys(path: Path, keys: Iterable[str]) -> bool:
    """Whether the beginning of a JSON file holds every key: enough to rule out a file without reading all of it."""
    head = read_bytes(path, 1 << 18)
    return all(f'"{key}"'.encode() in head for key in keys)


def json_records(path: Path, encoding: str | None = None) -> pl.DataFrame:
    """The records of a JSON or JSON Lines file, one per row: an object inside a record becomes columns, a list a cell."""
    return _json_records(path, encoding, _state(path))


@lru_cache(maxsize=1)
def _json_records(path: Path, encoding: str | None, _: object) -> pl.DataFrame:
    content = read_bytes(path, 1 << 16)
    is_utf8 = encoding is None and b"\0" not in content and (b"\n" in content or b"\r" not in content)
    if is_utf8:
        try:
            listed = content.removeprefix(codecs.BOM_UTF8).lstrip().startswith(b"[")
            frame = pl.read_json(path) if listed else pl.read_ndjson(path, infer_schema_length=None)
            return flat_columns(frame.lazy()).collect()
        except (pl.exceptions.PolarsError, OSError):
            pass  # read again, record by record, where every type is taken and an error names its line
    example = '{"model_a": "x", "model_b": "y", "winner": "model_a"}'
    return _frame(_flat_records(path, encoding, example))


def flat_columns(frame: pl.LazyFrame) -> pl.LazyFrame:
    """The table with the fields of objects as columns ``a.b``."""
    while structs := {n: t for n, t in frame.collect_schema().items() if isinstance(t, pl.Struct)}:
        frame = frame.with_columns(
            pl.col(name).struct.field(field.name).alias(f"{name}.{field.name}")
            for name, dtype in structs.items()
            for field in dtype.fields
        ).drop(structs)
    return frame


def _records(text: str, path: Path) -> list[Any]:
    try:
        content = json.loads(text)
    except ValueError:
        content = _listed_by_line(list(_json_lines(text, path)))
    if isinstance(content, dict):
        return _records_of_object(content)
    return content if isinstance(content, list) else []


def _json_lines(text: str, path: Path) -> Iterator[Any]:
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            try:
                yield json.loads(line)
            except ValueError as error:
                raise InputError(
                    f"{path}, line {number}: this is not valid JSON ({error}).", "Correct the line."
                ) from error


def _records_of_object(content: Record) -> list[Any]:
    """The records of a table written by column, else the only list of records in the object, else the object itself."""
    lists = [value for value in content.values() if isinstance(value, list)]
    if len(lists) == len(content) and _are_columns(lists):
        return [dict(zip(content, row, strict=True)) for row in zip(*lists, strict=True)]
    records = [value for value in lists if _holds_records([value])]
    return records[0] if len(records) == 1 else [content]


def _are_columns(lists: list[list[Any]]) -> bool:
    """Whether lists can be the columns of a table: of one length, without records in them."""
    equal = len({len(column) for column in lists}) == 1
    return equal and not any(isinstance(cell, dict) for column in lists for cell in column)


def _listed_by_line(lines: list[Any]) -> list[Any]:
    """The records where every line is a list of them, as JATOS exports results: each line is a participant."""
    if not all(isinstance(line, list) and all(isinstance(row, dict) for row in line) for line in lines):
        return lines
    return [{"participant": f"line{at}", **row} for at, line in enumerate(lines, 1) for row in line]


def _flat(record: Mapping[str, Any], prefix: str = "") -> Record:
    out: Record = {}
    for name, value in record.items():
        if isinstance(value, Mapping):
            out.update(_flat(value, f"{prefix}{name}."))
        else:
            out[f"{prefix}{name}"] = value
    return out
