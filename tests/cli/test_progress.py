"""What a terminal shows while a command works."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest
from rich.console import Console

import heartfelt.analysis
from heartfelt.analysis.data import duration
from heartfelt.analysis.data.duration import LEAST_ANSWERS, expected_seconds, time_estimate
from heartfelt.cli import command, main
from heartfelt.errors import InputError
from heartfelt.formats.format import read_with


@pytest.fixture
def screen(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    """All that is written to a terminal on standard error."""
    written = io.StringIO()
    monkeypatch.setattr(command, "err", Console(file=written, force_terminal=True, width=120, color_system=None))
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


def test_the_time_estimate_grows_with_the_table_and_with_a_slower_machine() -> None:
    sizes = [LEAST_ANSWERS, 2 * LEAST_ANSWERS, 20 * LEAST_ANSWERS]
    seconds = [expected_seconds(size) for size in sizes]
    assert seconds == sorted(set(seconds))
    assert expected_seconds(LEAST_ANSWERS, 0.1) > expected_seconds(LEAST_ANSWERS, 0.05)


def test_large_tables_have_a_time_estimate_and_small_ones_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(duration, "sort_seconds", lambda: duration.SORT_SECONDS)
    assert time_estimate(LEAST_ANSWERS - 1) is None
    shown = [time_estimate(size) or "" for size in (1_200_000, 12_000_000)]
    assert re.fullmatch(r"1,200,000 ratings: about \d+ s on this machine", shown[0])
    assert re.fullmatch(r"12,000,000 ratings: about \d+ min on this machine", shown[1])


@pytest.mark.slow
def test_analyze_says_how_long_before_it_begins(
    tmp_path: Path, screen: io.StringIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*_: object) -> None:
        raise InputError("Begun.", "")

    monkeypatch.setattr(heartfelt.analysis, "analyze", stop)
    monkeypatch.setattr(duration, "LEAST_ANSWERS", 10)
    (tmp_path / "table.csv").write_text(
        "rater,stimulus,valence\n" + "".join(f"r{n},s1,{n % 9 + 1}\n" for n in range(12))
    )
    options = ["-f", "long", "--map", "value=valence", "--map", "scale=1-9", "--out", str(tmp_path / "out")]
    assert main(["analyze", str(tmp_path / "table.csv"), *options]) == 2
    assert "12 ratings: about" in plain(screen)
