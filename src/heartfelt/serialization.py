"""The one way from typed results to JSON and back.

``to_json`` turns dataclasses, tables and arrays into plain data that strict JSON can hold; ``from_json`` restores a dataclass
from it by its type hints. Fields keep their order and their names. A field's metadata can say more
(``field(metadata={"formerly": "level"})``):

- ``formerly``: the field's name in files of earlier versions, which are still read;
- ``flatten``: the field's own keys stand next to its siblings instead of below one key;
- ``omit``: the field is left out where it is None or empty; with ``omit="none"`` only where it is None;
- ``skip``: the field is never written (it needs a default to be restored).

A class may bring its own ``to_json`` and ``from_json``, as ``Estimate`` does. A number that is not finite is an
error when it is written: a missing number says why.
"""

from __future__ import annotations

import dataclasses
import json
import types
from collections.abc import Callable, Iterable, Mapping
from dataclasses import Field
from datetime import date, datetime
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Any, Literal, TypeAlias, TypeVar, Union, get_args, get_origin, get_type_hints

from heartfelt.errors import InputError
from heartfelt.files import write_text

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"
T = TypeVar("T")


def to_json(value: object) -> Json:
    """Plain data for strict JSON."""
    if value is None or (isinstance(value, bool | int | str) and not isinstance(value, Enum)):
        return value
    if isinstance(value, float):
        return float(value)
    if not isinstance(value, type):
        if (converter := getattr(value, "to_json", None)) is not None:
            encoded: Json = converter()
            return encoded
        if dataclasses.is_dataclass(value):
            return _object(value)
    rows = getattr(value, "to_dicts", None) or getattr(value, "tolist", None)  # a Polars table; NumPy
    if rows is not None:
        return to_json(rows())
    for kind, convert in _CONVERSIONS.items():
        if isinstance(value, kind):
            return convert(value)
    raise TypeError(f"cannot write a {type(value).__name__} as JSON")


_CONVERSIONS: Mapping[Any, Callable[[Any], Json]] = {
    Mapping: lambda value: {str(to_json(key)): to_json(item) for key, item in value.items()},
    Enum: lambda value: to_json(value.value),
    date: lambda value: str(value.isoformat()),
    Path: str,
    Iterable: lambda value: [to_json(item) for item in value],
}
"""How what is no object of its own is written, the first kind that fits; moments are dates too."""


def _object(value: Any) -> dict[str, Json]:
    out: dict[str, Json] = {}
    for field in dataclasses.fields(value):
        encoded = None if field.metadata.get("skip") else to_json(getattr(value, field.name))
        omit = field.metadata.get("omit")
        if field.metadata.get("skip") or (omit and (encoded is None or (omit != "none" and encoded in ([], {}, "")))):
            continue
        if field.metadata.get("flatten"):
            assert isinstance(encoded, dict), f"{field.name} is not an object"
            out |= encoded
        else:
            out[field.name] = encoded
    return out


def dumps(value: object, *, indent: int | None = 2) -> str:
    """``value`` as the text of a JSON file."""
    return json.dumps(to_json(value), ensure_ascii=False, indent=indent, allow_nan=False)


def write_json(path: Path, value: object) -> None:
    """Write ``value`` as strict JSON; the file is either the old one or the new one."""
    write_text(path, dumps(value) + "\n")


def read_json(path: Path, kind: type[T]) -> T:
    """Restore what ``write_json`` wrote."""
    try:
        return from_json(kind, json.loads(Path(path).read_text(encoding="utf-8")))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"{path} cannot be read as {kind.__name__}: {error}.", "Write it again with this version of heartfelt."
        ) from error


def from_json(kind: type[T], data: Any) -> T:
    """Restore a ``kind`` from plain data by its type hints."""
    restored: T = _restore(kind, data)
    return restored


def _restore(kind: Any, data: Any) -> Any:
    origin, parts = get_origin(kind), get_args(kind)
    if kind is Any or isinstance(kind, TypeVar) or origin is Literal:
        return data
    if origin in (Union, types.UnionType):
        return _first_fitting(parts, data)
    if origin is not None:
        return _mapping(parts, data) if _is_mapping(origin) else _list(origin, parts, data)
    if (converter := getattr(kind, "from_json", None)) is not None:
        return converter(data)
    return _restored_object(kind, data) if dataclasses.is_dataclass(kind) else _restored_scalar(kind, data)


def _restored_scalar(kind: Any, data: Any) -> Any:
    if kind is float:
        return data if data is None else float(data)
    if isinstance(kind, type) and issubclass(kind, Enum | Path):
        return kind(data)
    if kind in (int, str, bool) and not isinstance(data, kind):
        raise TypeError(f"{data!r} is not of type {kind.__name__}")
    if kind is type(None) and data is not None:
        raise TypeError(f"{data!r} is not null")
    return datetime.fromisoformat(data) if kind is datetime else data


def _first_fitting(kinds: tuple[Any, ...], data: Any) -> Any:
    if data is None and type(None) in kinds:
        return None
    problems = []
    for kind in kinds:
        if kind is type(None):
            continue
        try:
            return _restore(kind, data)
        except (TypeError, ValueError, KeyError, AttributeError) as error:
            problems.append(str(error))
    raise TypeError(" or ".join(problems))


def _is_mapping(origin: Any) -> bool:
    return isinstance(origin, type) and issubclass(origin, Mapping)


def _mapping(parts: tuple[Any, ...], data: Any) -> dict[Any, Any]:
    if not isinstance(data, Mapping):
        raise TypeError(f"{data!r} is not an object")
    return {_restore(parts[0], key): _restore(parts[1], item) for key, item in data.items()}


def _list(origin: Any, parts: tuple[Any, ...], data: Any) -> Any:
    if isinstance(data, str | Mapping) or not isinstance(data, Iterable):
        raise TypeError(f"{data!r} is not a list")
    if origin is tuple and parts[1:] != (Ellipsis,):
        return tuple(_restore(part, item) for part, item in zip(parts, data, strict=True))
    items = [_restore(parts[0], item) for item in data]
    return items if isinstance(origin, type) and issubclass(list, origin) else tuple(items)


def _restored_object(kind: Any, data: Any) -> Any:
    if not isinstance(data, Mapping):
        raise TypeError(f"{kind.__name__} is restored from an object, not from {data!r}")
    hints, values = _hints(kind), {}
    for field in dataclasses.fields(kind):
        if field.metadata.get("skip") or not field.init:
            continue
        if field.metadata.get("flatten"):
            values[field.name] = _restore(hints[field.name], data)
        elif (key := _key_in(data, field)) is not None:
            values[field.name] = _restore(hints[field.name], data[key])
        elif not field.metadata.get("omit") and field.default is field.default_factory is dataclasses.MISSING:
            raise KeyError(f"{kind.__name__} has no '{field.name}'")
    return kind(**values)


def _key_in(data: Mapping[str, Any], field: Field[Any]) -> str | None:
    """The field's name in these data, or the one it had in earlier versions; None where there is neither."""
    return next((key for key in (field.name, field.metadata.get("formerly")) if key in data), None)


@cache
def _hints(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind)
