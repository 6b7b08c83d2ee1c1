"""Tables of a page: sortable by their headings, readable by a screen reader, scrolled inside their own frame."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from heartfelt.report.reading import value_of
from heartfelt.report.words import chance, interval, number

MOST_ROWS = 250


def table(caption: str, columns: Sequence[str], rows: Sequence[Sequence[Any]], *, most: int = MOST_ROWS, more: str = "") -> Markup:
    """A table. A cell is text, a number, an estimate (a mapping with a value), or ready HTML.

    Beyond ``most`` rows it ends with a line that says how many there are and where (``more``).
    """
    head = Markup("").join(
        Markup('<th scope="col" aria-sort="none"{}><button type="button">{}</button></th>').format(_class(_words_in(rows, place)), name)
        for place, name in enumerate(columns)
    )
    body = Markup("\n").join(
        Markup("<tr>{}</tr>").format(Markup("").join(_cell(value, place) for place, value in enumerate(row))) for row in rows[:most]
    )
    frame = Markup(
        '<div class="wide" role="region" tabindex="0" aria-label="{}">\n<table class="sortable">\n<caption>{}</caption>\n'
        "<thead><tr>{}</tr></thead>\n<tbody>\n{}\n</tbody>\n</table>\n</div>"
    ).format(caption, caption, head, body)
    if len(rows) > most:
        frame += Markup('\n<p class="absent">The first {} of {} rows; {}.</p>').format(number(most), number(len(rows)), more or "the rest is in the files")
    return frame


class Chance(float):
    """A p-value in a table."""


def _words_in(rows: Sequence[Sequence[Any]], place: int) -> bool:
    """Whether a column is text throughout."""
    kinds = [isinstance(row[place], str) for row in rows if place < len(row) and row[place] is not None]
    return bool(kinds) and all(kinds)


def _class(words: bool) -> Markup:
    return Markup(' class="words"') if words else Markup("")


def _cell(value: Any, place: int) -> Markup:
    text, sort, words = _shown(value)
    tag = "th" if place == 0 else "td"
    name = "" if not words else "words long" if len(text) > 60 else "words"
    return Markup("<{}{}{}{}>{}</{}>").format(
        Markup(tag),
        Markup(' scope="row"') if place == 0 else Markup(""),
        Markup(' class="{}"').format(name) if name else Markup(""),
        Markup(' data-value="{}"').format(repr(sort)) if sort is not None else Markup(""),
        text,
        Markup(tag),
    )


def _shown(value: Any) -> tuple[str, float | None, bool]:
    """The text of a cell, what it sorts by if that is a number, and whether it is words."""
    if value is None:
        return "–", None, False
    if isinstance(value, Markup):
        return value, None, True
    if isinstance(value, bool):
        return (Markup('<span class="{}">{}</span>').format("yes" if value else "no", "yes" if value else "no"), float(value), False)
    if isinstance(value, Mapping):
        return interval(value), value_of(value), value_of(value) is None
    if isinstance(value, Chance):
        return chance(float(value)), float(value), False
    if isinstance(value, (int, float)):
        return number(value), float(value), False
    return str(value), None, True


def pairs_table(caption: str, rows: Sequence[Mapping[str, Any]], *, most: int = MOST_ROWS, more: str = "") -> Markup:
    """A table of mappings, a column for every key in the order they first appear."""
    columns = list(dict.fromkeys(key for row in rows for key in row))
    return table(caption, columns, [[row.get(key) for key in columns] for row in rows], most=most, more=more)
