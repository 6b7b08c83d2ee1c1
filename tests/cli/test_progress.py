"""What a terminal shows while a command works."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest
from rich.console import Console

from heartfelt.cli import command
from heartfelt.formats.format import read_with


@pytest.fixture
def screen(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    """All that is written to a terminal on standard error."""
    written = io.StringIO()
    monkeypatch.setattr(
        command, "err", Console(file=written, force_terminal=True, width=120, color_system=None)
    )
    return written


def plain(screen: io.StringIO) -> str:
    """The text without what moves the cursor."""
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", screen.getvalue())


def test_an_unknown_total_is_a_spinner_with_a_count(screen: io.StringIO) -> None:
    with command.progress_bar("reading table.csv") as report:
        report("reading ratings", 12_345, 0)
        report("probing media", 0, 1_000)
        report("probing media", 1_000, 1_000)
    text = plain(screen)
    assert "?" not in text
    assert re.search(r"Reading table\.csv +… +0:00", text)


@pytest.mark.parametrize(
    ("reports", "expected", "absent"),
    [
        ([("reading ratings", 12_345, 0)], ["Reading x", "Reading ratings … 12,345"], ["/", "━"]),
        ([("reading ratings", 9, 0), ("probing media", 1_000, 2_000)], ["Probing media ━", "1,000/2,000"], ["ratings"]),
        ([("reading", 5, 5), ("drawing", 1, 4)], ["Drawing ━", "1/4"], ["5/5"]),
        ([("asking one", 1, 9), ("listening", 1, 4)], ["Asking one ━", "1/9", "Listening", "1/4"], []),
        ([("analysing: effects", 1, 3), ("analysing: maps", 2, 3)], ["Analysing: maps ━", "2/3"], ["effects"]),
    ],
)  # fmt: skip
def test_lines_on_the_screen(
    reports: list[tuple[str, int, int]], expected: list[str], absent: list[str], screen: io.StringIO
) -> None:
    with command.progress_bar("reading x") as report:
        for one in reports:
            report(*one)
        screen.seek(0)
        screen.truncate()
    shown = re.sub(r" +", " ", plain(screen))
    assert all(text in shown for text in expected), shown
    rest = shown.replace(":", "")
    assert not any(text in rest for text in absent), shown


@pytest.mark.slow
def test_ratings_are_counted_while_a_table_is_read(tmp_path: Path) -> None:
    rows = "".join(f"r{n % 40},s{n // 40},{n % 9 + 1}\n" for n in range(12_000))
    (tmp_path / "table.csv").write_text(f"rater,stimulus,valence\n{rows}")
    reports: list[tuple[str, int, int]] = []
    options = {"value": "valence", "scale": "1-9"}
    read_with(tmp_path / "table.csv", "long", options, lambda *report: reports.append(report))
    assert ("reading ratings", 12_000, 0) in reports
