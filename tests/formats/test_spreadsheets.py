"""No CSV file heartfelt writes holds a cell that a spreadsheet would run, and every cell comes back as it was."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import heartfelt
from heartfelt.formats.format import export
from heartfelt.formats.tables.delimited import csv_text, read_delimited, spreadsheet_safe

HOSTILE = [
    "=1+1",
    "+cmd|' /C calc'!A0",
    "-2+3",
    "@SUM(A1)",
    "\t=1",
    "\r=1",
    "'=1",
    "''@x",
    "＝1",
    "plain",
    "it's",
    "'quoted'",
]
RUN_BY_SPREADSHEETS = re.compile(r"[=+\-@\t\r\n＝＋－＠]")
NUMBER = re.compile(r"-|[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
SOURCES = sorted((Path(heartfelt.__file__).parent).rglob("*.py"))


def cells(text: str) -> list[str]:
    return [cell for row in csv.reader(io.StringIO(text, newline="")) for cell in row]


def is_safe(cell: str) -> bool:
    return not RUN_BY_SPREADSHEETS.match(cell) or bool(NUMBER.fullmatch(cell))


def test_formulas_are_neutralised_and_numbers_are_not() -> None:
    text = csv_text(pl.DataFrame({"=name": HOSTILE, "number": ["-3.5"] * len(HOSTILE), "value": [-1.5] * len(HOSTILE)}))
    assert all(is_safe(cell) for cell in cells(text))
    assert text.count("-3.5") == len(HOSTILE)
    assert "'-3.5" not in text
    assert "'-1.5" not in text


def test_what_was_written_is_read_back(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    frame = pl.DataFrame({"=name": HOSTILE, "id": [str(i) for i in range(len(HOSTILE))]})
    path.write_text(csv_text(frame), encoding="utf-8", newline="")
    lines = {"\r=1": "\n=1"}  # a bare return is a line end to the reader
    expected = [lines.get(text, text) for text in HOSTILE]
    assert read_delimited(path)["=name"].to_list() == expected


@pytest.mark.slow
@given(st.lists(st.text("=+-@'\t1a ,\"", min_size=1), min_size=1, max_size=6))
def test_the_apostrophe_is_reversible(texts: list[str]) -> None:
    frame = pl.DataFrame({"text": texts})
    safe = spreadsheet_safe(frame)["text"].to_list()
    assert all(is_safe(text) for text in safe)
    restored = [text[1:] if re.match(r"'+[=+\-@\t]", text) else text for text in safe]
    assert restored == texts


@pytest.mark.slow
@pytest.mark.parametrize("name", ["long", "wide"])
def test_hostile_ids_and_answers_survive_export_and_import(name: str, tmp_path: Path) -> None:
    frame = pl.DataFrame(
        {
            "rater": ["=p1", "=p1", "@p2", "@p2"],
            "stimulus": ["-a1", "+b2", "-a1", "+b2"],
            "question": ["mood"] * 4,
            "value": ["=HYPERLINK(1)", "calm", "calm", "=HYPERLINK(1)"],
        }
    )
    snapshot = heartfelt.read(frame)
    export(snapshot, name, tmp_path / "out")
    for path in (tmp_path / "out").glob("*.csv"):
        assert all(is_safe(cell) for cell in cells(path.read_text(encoding="utf-8"))), path.name
    again = heartfelt.read(tmp_path / "out", name, **({"pattern": "{question}_{stimulus}"} if name == "wide" else {}))
    columns = ["rater", "stimulus", "question", "answer"]
    assert again.ratings.select(columns).sort(columns).equals(snapshot.ratings.select(columns).sort(columns))


@pytest.mark.slow
def test_every_csv_goes_through_one_writer() -> None:
    """A module that writes CSV past ``csv_text`` and ``spreadsheet_safe`` would bring formulas back."""
    allowed = {"delimited.py", "bulk.py"}  # the writer itself, and simulated numbers without free text
    for path in SOURCES:
        text = path.read_text(encoding="utf-8")
        for call in re.findall(r".*(?:write_csv|sink_csv|csv\.writer|csv\.DictWriter|\.to_csv)\(.*", text):
            assert path.name in allowed or "spreadsheet_safe(" in call, f"{path.name}: {call.strip()}"
