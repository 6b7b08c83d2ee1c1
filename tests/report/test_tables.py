from __future__ import annotations

from html.parser import HTMLParser
from typing import Any

from markupsafe import Markup

from heartfelt.report.layout.tables import PValue, YesNoCell, pairs_table, table
from heartfelt.stats.estimate import Estimate
from tests.facts import mentions


class Cells(HTMLParser):
    """The texts and sort values of a table's body."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.rows: list[list[tuple[str, str | None]]] = []
        self._cell: list[Any] | None = None
        self._body = False
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "tbody":
            self._body = True
        elif tag == "tr" and self._body:
            self.rows.append([])
        elif tag in {"td", "th"} and self._body:
            self._cell = ["", dict(attrs).get("data-value")]

    def handle_data(self, data: str) -> None:
        if self._cell is not None:
            self._cell[0] += data

    def handle_endtag(self, tag: str) -> None:
        if tag in {"td", "th"} and self._cell is not None:
            self.rows[-1].append((self._cell[0], self._cell[1]))
            self._cell = None


def test_cells_show_one_thing_and_sort_by_another() -> None:
    estimate = Estimate(value=0.5, low=0.4, high=0.6)
    html = table("t", ["a", "b", "c", "d", "e"], [["x", estimate, PValue(0.0004), 1234, None]])
    assert Cells(html).rows == [
        [("x", None), ("0.500 [0.400, 0.600]", "0.5"), ("< .001", "0.0004"), ("1,234", "1234"), ("–", None)]
    ]


def test_what_is_missing_gives_its_reason() -> None:
    html = table("t", ["a"], [[Estimate.missing("one rater")]])
    assert Cells(html).rows == [[("none: one rater", None)]]


def test_text_is_escaped_and_ready_html_is_not() -> None:
    html = table("<i>t</i>", ["<b>"], [["<script>alert(1)</script>"], [Markup("<a href='x'>y</a>")]])
    assert "<script>" not in html
    assert "<i>t</i>" not in html
    assert "<a href='x'>y</a>" in html


def test_yes_and_no_are_coloured_only_where_yes_is_good() -> None:
    assert 'class="yes"' in table("t", ["a"], [[YesNoCell(True)]])
    assert 'class="no"' in table("t", ["a"], [[YesNoCell(False)]])
    assert 'class="yes"' not in table("t", ["a"], [[True]])


def test_a_long_table_says_how_long_it_is() -> None:
    html = table("t", ["a"], [[place] for place in range(300)], most=250, more="all are in x.csv")
    assert len(Cells(html).rows) == 250
    assert mentions(html, "250 of 300 rows", "x.csv")


def test_mappings_with_other_keys_share_their_columns() -> None:
    rows = Cells(pairs_table("t", [{"a": 1}, {"b": 2}], most=9, more="")).rows
    assert [[text for text, _ in row] for row in rows] == [["1", "–"], ["–", "2"]]


def test_headings_can_be_pressed_and_tables_have_captions() -> None:
    html = table("What it shows", ["a"], [["x"]])
    assert "<caption>What it shows</caption>" in html
    assert '<th scope="col" aria-sort="none" class="words"><button type="button">a</button></th>' in html
    assert '<th scope="row" class="words">x</th>' in html
