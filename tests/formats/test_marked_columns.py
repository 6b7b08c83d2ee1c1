"""Columns that look like marks of anchors, practice, attention checks or exclusions are named, and ordinary ones are not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import heartfelt
from heartfelt.analysis import AnalyzeOptions, analyze
from heartfelt.errors import on_command_line
from heartfelt.formats.format import FORMATS, read
from heartfelt.snapshot import Snapshot
from tests.analysis.made import summary_of
from tests.cases import check_all
from tests.facts import mentions

LAYOUT: dict[str, Any] = {"rater": "rater", "stimulus": "stimulus", "value": "value", "scale": "1-9"}
Cell = Callable[[int, int], object]


def table(**columns: Cell) -> pl.DataFrame:
    """Six raters and eight stimuli, with further columns by rater and stimulus."""
    rows = [(r, s) for r in range(6) for s in range(8)]
    return pl.DataFrame(
        {
            "rater": [f"r{r}" for r, _ in rows],
            "stimulus": [f"s{s}" for _, s in rows],
            "value": [1 + (s + r % 3) % 9 for r, s in rows],
            **{
                name.replace("_", " ") if name == "anchor_label" else name: [cell(r, s) for r, s in rows]
                for name, cell in columns.items()
            },
        }
    )


def marked(frame: pl.DataFrame, **options: str) -> list[tuple[str, str, int, str, str]]:
    source = read(frame, "long", **LAYOUT, **options).source
    assert len([note for note in source.notes if "seems to mark" in note]) == len(source.marked_columns)
    return [(c.column, c.marks, c.answers, c.option, c.value) for c in source.marked_columns]


FIRST: Cell = lambda _r, s: str(s == 0)  # noqa: E731 - a cell of a table
ONE_RATER: Cell = lambda r, _s: r == 5  # noqa: E731 - a cell of a table
MARKS: Sequence[tuple[str, Cell, tuple[str, int, str, str]]] = [
    ("anchor_label", FIRST, ("anchors", 6, "anchors", "anchor label")),
    ("isAnchor", lambda _r, s: int(s < 2), ("anchors", 12, "anchors", "isAnchor")),
    ("anchor", lambda _r, s: "7-9" if s == 7 else None, ("anchors", 6, "anchors", "anchor")),
    ("anchor_type", lambda _r, s: "low" if s == 0 else "", ("anchors", 6, "where", "anchor_type!=low")),
    ("is_anchor", lambda r, s: r != s, ("anchors", 42, "where", "is_anchor!=true")),
    ("is_practice", FIRST, ("practice trials", 6, "where", "is_practice!=True")),
    ("training_trial", lambda _r, s: "yes" if s < 2 else "no", ("practice trials", 12, "where", "training_trial!=yes")),
    ("catch", FIRST, ("attention checks", 6, "where", "catch!=True")),
    ("attention_check", FIRST, ("attention checks", 6, "where", "attention_check!=True")),
    ("attention_check", lambda r, _s: r != 5, ("attention checks", 8, "where", "attention_check!=false")),
    ("failed_attention", ONE_RATER, ("attention checks", 8, "where", "failed_attention!=true")),
    ("attention_passed", lambda r, _s: "no" if r == 5 else "yes", ("attention checks", 8, "where", "attention_passed!=no")),
    ("attention", lambda r, _s: "failed" if r == 5 else "passed", ("attention checks", 8, "where", "attention!=failed")),
    ("excluded", ONE_RATER, ("exclusions", 8, "where", "excluded!=true")),
    ("exclusion_reason", lambda r, _s: "too fast" if r == 5 else None, ("exclusions", 8, "where", "exclusion_reason!=too fast")),
    ("passed", lambda r, _s: str(r != 5), ("exclusions", 8, "where", "passed!=False")),
    ("valid", lambda r, s: float((r, s) != (0, 0)), ("exclusions", 1, "where", "valid!=0")),
    ("not_included", ONE_RATER, ("exclusions", 8, "where", "not_included!=true")),
    ("headphone_check_passed", lambda r, _s: r != 5, ("exclusions", 8, "where", "headphone_check_passed!=false")),
    ("trial_type", lambda _r, s: "practice_1" if s == 0 else "main", ("practice trials", 6, "where", "trial_type!=practice_1")),
    ("status", lambda r, _s: "REJECTED" if r == 5 else "APPROVED", ("exclusions", 8, "where", "status!=REJECTED")),
    ("phase", lambda _r, s: "warm-up" if s == 0 else "test", ("practice trials", 6, "where", "phase!=warm-up")),
]  # fmt: skip


@pytest.mark.slow
@check_all(("name", "cell", "expected"), MARKS)
def test_a_mark_is_named_with_the_option_that_uses_it_and_gone_once_it_is_used(
    name: str, cell: Cell, expected: tuple[str, int, str, str]
) -> None:
    frame = table(**{name: cell})
    [(column, *facts)] = marked(frame)
    assert tuple(facts) == expected
    option, value = expected[2:]
    assert marked(frame, **{option: value}) == []
    assert marked(frame, ordinary=column) == []
    kept = read(frame, "long", **LAYOUT, **{option: value}).without_probes
    assert kept.counts["ratings"] == frame.height - expected[1]


ORDINARY: Sequence[tuple[str, Cell]] = [
    ("system", lambda _r, s: "anchor" if s == 0 else "natural"),
    ("musical_training", lambda r, _s: r % 2 == 0),
    ("training", lambda _r, s: s < 4),
    ("practice", lambda r, _s: "yes" if r else "no"),
    ("anchor", lambda r, _s: r % 2 == 0),
    ("anchor", lambda _r, s: f"s{(s + 1) % 8}"),
    ("anchor_left", lambda _r, s: "bad" if s else ""),
    ("attention", lambda r, s: 1 + (r + s) % 7),
    ("attention_span", lambda r, _s: r % 2 == 0),
    ("passed_driving_test", lambda r, _s: r % 2 == 0),
    ("passed", lambda r, _s: "grade B" if r else "grade A"),
    ("passed", lambda _r, _s: True),
    ("excluded", lambda _r, _s: 0),
    ("valid", lambda _r, s: "train" if s else "test"),
    ("type", lambda _r, s: "speech" if s else "music"),
    ("condition", lambda r, _s: "training" if r % 2 else "control"),
    ("block", lambda _r, s: s % 3),
    ("catchy", lambda _r, s: s < 4),
    ("drop", lambda _r, s: s < 4),
    ("valence_valid_range", lambda _r, s: s < 4),
    ("gender", lambda r, _s: "m" if r % 2 else "f"),
    ("status", lambda r, _s: "student" if r % 2 else "employed"),
]


@pytest.mark.slow
@check_all(("name", "cell"), ORDINARY)
def test_ordinary_columns_are_no_marks(name: str, cell: Cell) -> None:
    assert marked(table(**{name: cell})) == []


@pytest.mark.slow
def test_files_frames_and_stored_snapshots_say_it_and_the_bottom_line_keeps_saying_it(tmp_path: Path) -> None:
    frame = table(anchor_label=FIRST)
    frame.write_csv(tmp_path / "relate.csv")
    with on_command_line():
        snapshot = read(tmp_path / "relate.csv", scale="1-9")
        note = snapshot.source.notes[-1]
    assert mentions(note, "True: 6 of 48 answers", "--map 'anchors=anchor label'", "--map 'ordinary=anchor label'")
    stored = heartfelt.load(snapshot.write(tmp_path / "snapshot"))
    assert stored.source.marked_columns == snapshot.source.marked_columns != ()
    line = summary_of(analyze(stored, AnalyzeOptions(resamples=100)))["verdict_groups"]["bottom_line"]
    assert line.endswith(
        "'anchor label' seems to mark anchors (True: 6 of 48 answers), which count like all others here; if so, import again"
        ' with anchors="anchor label".'
    )
    assert mentions(repr(read(frame, "long", **LAYOUT)), "'anchor label'", "anchors")
    used = read(frame, "long", **LAYOUT, anchors="anchor label")
    assert "seems to mark" not in summary_of(analyze(used, AnalyzeOptions(resamples=100)))["verdict"][0]


def test_comparisons_and_wide_tables_too() -> None:
    pairs = pl.DataFrame(
        {
            "rater": [f"r{k % 4}" for k in range(12)],
            "first": [f"s{k % 3}" for k in range(12)],
            "second": [f"s{(k + 1) % 3}" for k in range(12)],
            "winner": ["first"] * 12,
            "catch_trial": ["yes" if k % 6 == 0 else "no" for k in range(12)],
        }
    )
    [column] = read(pairs, "long", rater="rater", first="first", second="second", winner="winner").source.marked_columns
    assert (column.marks, column.answers, column.total, column.value) == ("attention checks", 2, 12, "catch_trial!=yes")
    wide = pl.DataFrame(
        {
            "id": list("abcd"),
            "valence_s1": [1, 2, 3, 4],
            "valence_s2": [2, 3, 4, 5],
            "attention_check": ["pass", "pass", "fail", "pass"],
        }
    )
    [column] = read(wide, "wide", scale="1-9").source.marked_columns
    assert (column.answers, column.total, column.value) == (2, 8, "attention_check!=fail")


def test_marks_of_published_means() -> None:
    means = pl.DataFrame({"stimulus": list("abc"), "mean": [1.5, 2.0, 3.0], "excluded": ["no", "yes", "no"]})
    [column] = read(means, "means").source.marked_columns
    assert column.finding == "'excluded' seems to mark exclusions (yes: 1 of 3 means)"


@pytest.mark.slow
def test_no_example_of_a_format_holds_an_unused_mark(tmp_path: Path) -> None:
    found: dict[str, Snapshot] = {}
    for name in FORMATS.names():
        format = FORMATS[name]
        found[name] = read(format.example(tmp_path / name), name, **format.example_options())
    assert {name: snapshot.source.marked_columns for name, snapshot in found.items()} == dict.fromkeys(found, ())
