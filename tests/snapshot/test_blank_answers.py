"""Rows without an answer are blank: no overview counts them as ratings, and all of them count alike."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import heartfelt
from heartfelt.cli import main
from tests.facts import mentions

TABLE = (
    "rater,stimulus,question,value,comment_box\n"
    + "".join(f"{rater},x,v,{value},\n" for rater, value in (("a", 3), ("b", 4), ("c", 5)))
    + "a,y,v,,\nb,y,v,NA,\nc,y,v,,\n"
)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "blank.csv"
    path.write_text(TABLE, encoding="utf-8")
    return path


@pytest.mark.slow
def test_every_overview_counts_the_same(table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    snapshot = heartfelt.read(table)
    assert (snapshot.counts["ratings"], snapshot.counts["blank_answers"]) == (3, 3)
    assert (snapshot.counts["rated"], snapshot.counts["unrated"]) == (1, 1)
    assert mentions(repr(snapshot), "3 ratings", "3 blank", "3 raters", "1 of 2 stimuli")
    assert "<th>ratings</th><td>3</td>" in snapshot._repr_html_()
    assert "<th>blank answers</th><td>3</td>" in snapshot._repr_html_()
    counts = heartfelt.screen(snapshot, "flag-only").counts
    assert (counts.ratings, counts.ratings_retained) == (3, 3)
    assert main(["import", "auto", str(table), str(tmp_path / "out")]) == 0
    shown = capsys.readouterr().out
    assert "3 x 1 ratings, 3 blank, 3 raters" in shown
    again = heartfelt.load(tmp_path / "out")  # all six rows are there, and the manifest agrees
    assert (again.ratings.height, again.counts) == (6, snapshot.counts)


@pytest.mark.slow
def test_the_analysis_counts_them_too(table: Path) -> None:
    summary = heartfelt.analyze(table).summary
    assert (summary.counts.ratings, summary.counts.answers, summary.counts.blank_answers) == (3, 3, 3)
    assert summary.counts.ratings_by_question == {"v": 3}
    assert any("3 answers left blank" in line for line in summary.verdict)


def test_an_answer_in_words_is_no_blank() -> None:
    frame = pl.DataFrame(
        {"rater": ["a", "b", "c"], "stimulus": ["x"] * 3, "comment": ["nice", None, "too long for me"]}
    )
    snapshot = heartfelt.read(frame, value="comment", scale="text")
    assert (snapshot.counts["ratings"], snapshot.survey.blank) == (2, snapshot.ratings.height - 2)


def test_no_blank_no_word() -> None:
    snapshot = heartfelt.read(pl.DataFrame({"rater": ["a"], "stimulus": ["x"], "value": [1]}))
    assert "blank_answers" not in snapshot.counts
    assert "blank" not in repr(snapshot)
