"""What a page shows, read off its HTML: sections, tables with their cells, and the data its script draws."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

MINUS = "\u2212"


@dataclass
class Cell:
    """The text of a cell, and the number it sorts by (as it is written in the page)."""

    text: str = ""
    value: str | None = None


@dataclass
class Table:
    """One table: its caption, its headings and its rows."""

    caption: str = ""
    columns: list[str] = field(default_factory=list)
    rows: list[list[Cell]] = field(default_factory=list)

    def row(self, *starts: str) -> dict[str, Cell]:
        """The only row that begins with these texts, by column."""
        (row,) = [r for r in self.rows if [cell.text for cell in r[: len(starts)]] == list(starts)]
        return dict(zip(self.columns, row, strict=True))

    def texts(self, column: str) -> list[str]:
        """A column's texts from top to bottom."""
        at = self.columns.index(column)
        return [row[at].text for row in self.rows]


class PageContent(HTMLParser):
    """The tables of a page by caption, the text of each section, and the data of the script."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.html = html
        self.tables: dict[str, Table] = {}
        self.sections: dict[str, str] = {}
        self.facts: dict[str, str] = {}
        self._into: list[str] = []
        self._table = Table()
        self._section = ""
        self._fact = ""
        self.feed(html)

    @classmethod
    def read(cls, path: Path) -> PageContent:
        return cls(path.read_text(encoding="utf-8"))

    @property
    def data(self) -> dict[str, Any]:
        start = self.html.index(">", self.html.index('id="report-data"')) + 1
        results: dict[str, Any] = json.loads(self.html[start : self.html.index("</script>", start)])
        return results

    def table(self, start: str) -> Table:
        """The only table whose caption begins with ``start``."""
        (result,) = [table for caption, table in self.tables.items() if caption.startswith(start)]
        return result

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        known = dict(attrs)
        if tag == "section":
            self._section = str(known["id"])
            self.sections[self._section] = ""
        elif tag == "table":
            self._table = Table()
        elif tag == "tr":
            self._table.rows.append([])
        elif tag in {"td", "th"} and known.get("scope") != "col":
            self._table.rows[-1].append(Cell("", known.get("data-value")))
        elif tag == "th":
            self._table.columns.append("")
        if tag in {"td", "th", "caption", "dt", "dd", "script", "style"}:
            self._into.append("column" if known.get("scope") == "col" else tag)

    def handle_data(self, data: str) -> None:
        into = self._into[-1] if self._into else ""
        if into == "column":
            self._table.columns[-1] += data
        elif into in {"td", "th"}:
            self._table.rows[-1][-1].text += data
        elif into == "caption":
            self._table.caption += data
        elif into == "dt":
            self._fact = data
        elif into == "dd":
            self.facts[self._fact] = data
        if into not in {"script", "style"} and self._section:
            self.sections[self._section] += data

    def handle_endtag(self, tag: str) -> None:
        if tag in {"td", "th", "caption", "dt", "dd", "script", "style"}:
            self._into.pop()
        elif tag == "table":
            self._table.rows = [row for row in self._table.rows if row]
            self.tables[self._table.caption] = self._table
        elif tag == "main":
            self._section = ""


def number(value: float, places: int | None = None) -> str:
    """A number as a page prints it, written here a second time so that a change of the formatter is noticed."""
    if isinstance(value, int) and places is None:
        return f"{value:,}".replace("-", MINUS)
    if places is None:
        places = 3 if abs(value) < 1 else 2 if abs(value) < 1000 else 0
    text = f"{value:,.{places}f}"
    return text.lstrip("-") if float(text.replace(",", "")) == 0 else text.replace("-", MINUS)


def estimate(held: dict[str, Any] | None, places: int | None = None) -> str:
    """An estimate of ``summary.json`` or ``scores.json`` as a page prints it."""
    if held is None:
        return "–"
    value, low, high = held["value"], held.get("low"), held.get("high")
    if value is None:
        return f"none: {held['why_missing']}"
    if low is None or high is None:
        return number(value, places)
    if places is None:
        places = 2 if max(abs(value), abs(low), abs(high)) >= 1 else 3
    if low < high and number(low, places) == number(high, places):
        places += 1
    return f"{number(value, places)} [{number(low, places)}, {number(high, places)}]"


def p_value(p: float | None) -> str:
    """A p-value as papers print it."""
    if p is None:
        return "–"
    return "< .001" if p < 0.001 else "1" if p >= 0.9995 else f"{p:.3f}"[1:]


def holds(cell: Cell, held: dict[str, Any] | None) -> None:
    """Assert that a cell prints an estimate with its interval, and sorts by its value; or gives the reason."""
    assert cell.text == estimate(held)
    value = None if held is None else held["value"]
    assert cell.value == (None if value is None else f"{value:.12g}")
