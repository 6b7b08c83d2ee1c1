"""Tables of a page: sortable by their headings, readable by a screen reader, scrolled inside their own frame."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

from markupsafe import Markup

from heartfelt.stats.estimate import Estimate
from heartfelt.wording import interval, number, p_value

MOST_ROWS = 250
LONG = 32


@dataclass(frozen=True, slots=True)
class PValue:
    """A p-value in a table; a dash where there is none."""

    p: float | None


@dataclass(frozen=True, slots=True)
class YesNoCell:
    """Yes or no where yes is good."""

    holds: bool


CellValue: TypeAlias = str | float | Estimate | PValue | YesNoCell | Markup | None
T = TypeVar("T")
Columns: TypeAlias = Mapping[str, Callable[[T], CellValue]]
"""What a column shows of a row, by its heading."""


def table(
    caption: str,
    columns: Sequence[str],
    rows: Sequence[Sequence[CellValue]],
    *,
    most: int = MOST_ROWS,
    more: str = "all are in the files",
) -> Markup:
    """A table of text, numbers, estimates, p-values or ready HTML; nothing where it has no rows.

    Beyond ``most`` rows it ends with a line that says how many rows there are and where (``more``).
    """
    if not rows:
        return Markup("")
    text = [_is_text([row[column] for row in rows]) for column in range(len(columns))]
    head = Markup("").join(
        Markup('<th scope="col" aria-sort="none"{}><button type="button">{}</button></th>').format(
            _class("words" if is_text else ""), name
        )
        for is_text, name in zip(text, columns, strict=True)
    )
    body = Markup("\n").join(
        Markup("<tr>{}</tr>").format(
            Markup("").join(_cell(value, column == 0, text[column]) for column, value in enumerate(row))
        )
        for row in rows[:most]
    )
    frame = Markup(
        '<div class="wide" role="region" tabindex="0" aria-label="{0}">\n<table class="sortable">\n<caption>{0}</caption>\n'
        "<thead><tr>{1}</tr></thead>\n<tbody>\n{2}\n</tbody>\n</table>\n</div>"
    ).format(caption, head, body)
    if len(rows) > most:
        words = f"The first {number(most)} of {number(len(rows))} rows; {more}."
        frame += Markup('\n<p class="absent">{}</p>').format(words)
    return frame


def table_of(caption: str, rows: Sequence[T] | None, columns: Columns[T], *, most: int = MOST_ROWS) -> Markup:
    """A table of results, one per row; nothing where there are none."""
    return table(caption, list(columns), [[show(row) for show in columns.values()] for row in rows or ()], most=most)


def pairs_table(caption: str, rows: Sequence[Mapping[str, CellValue]], *, most: int, more: str) -> Markup:
    """A table of mappings, a column for every key in the order they first appear."""
    columns = list(dict.fromkeys(key for row in rows for key in row))
    return table(caption, columns, [[row.get(key) for key in columns] for row in rows], most=most, more=more)


def cell_text(value: CellValue) -> str:
    """The text of a cell outside a page, such as in Markdown or LaTeX."""
    text = _shown(value)[0]
    return str(text.striptags()) if isinstance(text, Markup) else text


def _is_text(values: Sequence[CellValue]) -> bool:
    kinds = [isinstance(value, str) for value in values if value is not None]
    return bool(kinds) and all(kinds)


def _class(names: str) -> Markup:
    return Markup(' class="{}"').format(names) if names else Markup("")


def _cell(value: CellValue, first: bool, words: bool) -> Markup:
    text, sort = _shown(value)
    names = "words" if words else "reason" if isinstance(value, Estimate) and sort is None else ""
    if len(text) > LONG and not first:
        names = "words long"
    return Markup("<{0}{1}{2}{3}>{4}</{0}>").format(
        Markup("th" if first else "td"),
        Markup(' scope="row"' if first else ""),
        _class(names),
        "" if sort is None else Markup(' data-value="{}"').format(f"{sort:.12g}"),
        text,
    )


def _shown(value: CellValue) -> tuple[str, float | None]:
    """The text of a cell, and the number it sorts by."""
    match value:
        case None:
            return "–", None
        case str():
            return value, None
        case YesNoCell(holds):
            word = "yes" if holds else "no"
            return Markup('<span class="{0}">{0}</span>').format(word), float(holds)
        case bool():
            return "yes" if value else "no", float(value)
        case Estimate():
            return interval(value), value.value
        case PValue(p):
            return p_value(p, bare=True), p
        case _:
            return number(value), float(value)
