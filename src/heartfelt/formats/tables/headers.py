"""The header of a table: which of its first rows name the columns.

Most tables have one header row. Survey tools and spreadsheets also write two or three: a title above them, names of
questions with their texts below, or names that span several columns (merged cells) with names of the parts below.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from heartfelt.errors import InputError, as_option

MAX_HEADER_ROWS = 3
ROWS_SAMPLED = 60
"""Rows at the top of a table that are looked at to find its header."""
_GAPS = {"", "na", "n/a", "nan", "null", "none", ".", "-"}
_NUMBER = re.compile(r"[+-]?(?:\d+(?:[.,]\d*)?|[.,]\d+)(?:[eE][+-]?\d+)?")
_LINES = re.compile(r"(\d+)(?:-(\d+))?")
_ENOUGH = 2
"""Columns of numbers in which a row must hold text to be part of the header."""
Row = Sequence[str | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """The rows that name the columns, counted from 0, and the names."""

    first: int
    depth: int
    names: tuple[str, ...]
    texts: Mapping[str, str] = field(default_factory=dict)
    """The text of each column's question, where a row below the names holds such texts."""

    @property
    def body(self) -> int:
        """The row below the header, counted from 0."""
        return self.first + self.depth

    @property
    def lines(self) -> str:
        """The lines of the header in words: ``line 1``, or ``lines 2 to 3``."""
        start = self.first + 1
        return f"line {start}" if self.depth == 1 else f"lines {start} to {self.body}"


def find_header(rows: Sequence[Row], stated: str | None, where: str) -> Header:
    """The header among the first rows of a table; ``stated`` is the option that gives its lines, such as ``2-3``."""
    width = max((len(row) for row in rows), default=0)
    table = [[*(str(cell or "").strip() for cell in row), *[""] * (width - len(row))] for row in rows]
    if stated is not None:
        first, depth = _stated(stated, len(table), where)
    else:
        first = next((at for at, row in enumerate(table) if sum(map(bool, row)) >= min(2, width)), 0)
        depth = _depth(table[first:])
    names, texts = _names(table[first : first + depth], width)
    return Header(first=first, depth=depth, names=names, texts=texts)


def refuse_patterns(names: Iterable[str], where: str) -> None:
    """Raise for a column whose name Polars takes for a pattern of names: ``*``, or from ``^`` to ``$``."""
    for name in names:
        if re.fullmatch(r"\*|\^.*\$", name, re.DOTALL):
            raise InputError(
                f"{where}: the name '{name}' of a column stands for a pattern of names.", "Rename the column."
            )


def _stated(text: str, height: int, where: str) -> tuple[int, int]:
    match = _LINES.fullmatch(text.strip())
    first, last = (0, 0) if match is None else (int(match[1]), int(match[2] or match[1]))
    if not 1 <= first <= last <= height:
        raise InputError(
            f"{where}: header={text} does not name lines of the table.",
            f"Give the line of the header, or the first and last of them: {as_option('header', '2-3')}.",
        )
    return first - 1, last - first + 1


def _depth(table: Sequence[Sequence[str]]) -> int:
    """How many rows name the columns: further rows hold text where all rows below hold numbers, or fill gaps."""
    most = min(MAX_HEADER_ROWS, len(table) - 1)
    if most < 2:
        return 1
    numeric = [at for at in range(len(table[0])) if _all_numbers([row[at] for row in table[most:]])]
    depth = 1
    while depth < most and _says_words([table[depth][at] for at in numeric]):
        depth += 1
    return 2 if depth == 1 and _fills_gaps(table[0], table[1]) else depth


def _says_words(cells: Sequence[str]) -> bool:
    """Whether the cells of a row in columns of numbers are words, such as the texts of questions, in half of them or more."""
    words = [cell for cell in cells if cell.casefold() not in _GAPS]
    return len(words) >= max(_ENOUGH, len(cells) / 2) and not any(map(_is_number, words))


def _fills_gaps(top: Sequence[str], below: Sequence[str]) -> bool:
    """Whether the second row names the parts of what the first row names once for several columns."""
    gaps = [at for at, cell in enumerate(top) if not cell and any(top[:at])]
    return bool(gaps) and all(below[at] for at in gaps) and not any(map(_is_number, below))


def _all_numbers(cells: Sequence[str]) -> bool:
    filled = [cell for cell in cells if cell.casefold() not in _GAPS]
    return bool(filled) and all(map(_is_number, filled))


def _is_number(cell: str) -> bool:
    return _NUMBER.fullmatch(cell) is not None


def _names(header: Sequence[Sequence[str]], width: int) -> tuple[tuple[str, ...], dict[str, str]]:
    """A name per column: the first row's where it names every column once, else its parts joined with ``_``."""
    top = header[0]
    if len(header) == 1:
        return _numbered(top), {}
    if len({*filter(None, top)}) == width:
        return tuple(top), {name: text for name, text in zip(top, header[1], strict=True) if text}
    spanned = [_spread(row, header[-1]) for row in header[:-1]]
    columns = zip(*spanned, header[-1], strict=True)
    return _numbered("_".join(dict.fromkeys(filter(None, parts))) for parts in columns), {}


def _numbered(names: Iterable[str]) -> tuple[str, ...]:
    """The names, with ``column_3`` in the place of one that is empty."""
    return tuple(name or f"column_{at}" for at, name in enumerate(names, 1))


def _spread(row: Sequence[str], below: Sequence[str]) -> list[str]:
    """A row in which a name holds for the unnamed columns to its right that the row below names."""
    out: list[str] = []
    for at, cell in enumerate(row):
        out.append(cell or (out[-1] if out and below[at] and below[at - 1] else ""))
    return out
