"""How results show themselves in a notebook or a terminal: the size of what they hold, not all of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields
from html import escape
from typing import Any

LONGEST = 60


class ShortRepr:
    """A dataclass whose ``repr`` names each field with its size or a short value; declare it with ``repr=False``."""

    __slots__ = ()

    def _rows(self) -> list[tuple[str, str]]:
        shown = (field.name for field in fields(self) if field.repr)  # type: ignore[arg-type]  # every user is a dataclass
        return [(name, _short(getattr(self, name))) for name in shown]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value}' for name, value in self._rows())})"

    def _repr_html_(self) -> str:
        return html_table(type(self).__name__, self._rows())


def html_table(title: str, rows: Iterable[tuple[str, object]]) -> str:
    """What a notebook shows of a result: a name and a value per row."""
    cells = (f"<tr><th>{escape(name)}</th><td>{escape(str(value))}</td></tr>" for name, value in rows)
    return f"<table><caption>{escape(title)}</caption>{''.join(cells)}</table>"


def _short(value: Any) -> str:
    shape = getattr(value, "shape", None)
    if isinstance(shape, tuple) and shape:
        return f"<{type(value).__name__} {' x '.join(f'{size:,}' for size in shape)}>"
    if isinstance(value, dict | list | tuple | set | frozenset) and len(value) > 3:
        return f"<{type(value).__name__} of {len(value):,}>"
    text = repr(value)
    return text if len(text) <= LONGEST else f"<{type(value).__name__}>"
