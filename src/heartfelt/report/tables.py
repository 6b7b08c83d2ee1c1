"""Tables of a page: sortable by their headings, readable by a screen reader, scrolled inside their own frame."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from heartfelt.report.reading import value_of
from heartfelt.report.words import chance, interval, number

MOST_ROWS = 250
LONG = 32


def table(
    caption: str,
    columns: Sequence[str],
    rows: Sequence[Sequence[Any]],
    *,
    most: int = MOST_ROWS,
    more: str = "",
) -> Markup:
    """A table. A cell is text, a number, an estimate (a mapping with a value), or ready HTML.

    Beyond ``most`` rows it ends with a line that says how many there are and where (``more``).
    """
    words = [_words_in(rows, place) for place in range(len(columns))]
    head = Markup("").join(
        Markup('<th scope="col" aria-sort="none"{}><button type="button">{}</button></th>').format(
            _class("words" if own else ""), name
        )
        for own, name in zip(words, columns, strict=True)
    )
    body = Markup("\n").join(
        Markup("<tr>{}</tr>").format(
            Markup("").join(_cell(value, place, words[place]) for place, value in enumerate(row))
        )
        for row in rows[:most]
    )
    frame = Markup(
        '<div class="wide" role="region" tabindex="0" aria-label="{}">\n<table class="sortable">\n<caption>{}</caption>\n'
        "<thead><tr>{}</tr></thead>\n<tbody>\n{}\n</tbody>\n</table>\n</div>"
    ).format(caption, caption, head, body)
    if len(rows) > most:
        frame += Markup('\n<p class="absent">The first {} of {} rows; {}.</p>').format(
            number(most), number(len(rows)), more or "the rest is in the files"
        )
    return frame


class Chance(float):
    """A p-value in a table."""


class Verdict:
    """Yes or no where yes is good."""

    def __init__(self, holds: bool) -> None:
        self.holds = holds


def _words_in(rows: Sequence[Sequence[Any]], place: int) -> bool:
    """Whether a column is text throughout."""
    kinds = [isinstance(row[place], str) for row in rows if row[place] is not None]
    return bool(kinds) and all(kinds)


def _class(names: str) -> Markup:
    return Markup(' class="{}"').format(names) if names else Markup("")


def _cell(value: Any, place: int, words: bool) -> Markup:
    text, sort = _shown(value)
    tag = Markup("th" if place == 0 else "td")
    names = (
        "words long"
        if len(text) > LONG and place
        else "words"
        if words
        else "reason"
        if isinstance(value, Mapping) and sort is None
        else ""
    )
    return Markup("<{0}{1}{2}{3}>{4}</{0}>").format(
        tag,
        Markup(' scope="row"') if place == 0 else Markup(""),
        _class(names),
        Markup(' data-value="{}"').format(f"{sort:.12g}") if sort is not None else Markup(""),
        text,
    )


def _shown(value: Any) -> tuple[str, float | None]:
    """The text of a cell, and what it sorts by if that is a number."""
    if value is None:
        return "–", None
    if isinstance(value, Markup):
        return value, None
    if isinstance(value, Verdict):
        word = "yes" if value.holds else "no"
        return Markup('<span class="{0}">{0}</span>').format(word), float(value.holds)
    if isinstance(value, bool):
        return "yes" if value else "no", float(value)
    if isinstance(value, Mapping):
        return interval(value), value_of(value)
    if isinstance(value, Chance):
        return chance(float(value)), float(value)
    if isinstance(value, (int, float)):
        return number(value), float(value)
    return str(value), None


def pairs_table(
    caption: str, rows: Sequence[Mapping[str, Any]], *, most: int = MOST_ROWS, more: str = ""
) -> Markup:
    """A table of mappings, a column for every key in the order they first appear."""
    columns = list(dict.fromkeys(key for row in rows for key in row))
    return table(caption, columns, [[row.get(key) for key in columns] for row in rows], most=most, more=more)
