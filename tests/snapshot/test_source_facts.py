"""What a snapshot knows of its source survives its folder; columns that mark answers, and groups of stimuli."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from heartfelt.snapshot import Snapshot, load
from heartfelt.snapshot.marked_column import MarkedColumn
from heartfelt.snapshot.snapshot import Source
from heartfelt.snapshot.stimulus_groups import detected_groups
from heartfelt.study import parse_study
from tests.facts import mentions

STUDY = parse_study(
    "name: t\nscales:\n  nine: {type: points, points: 9}\nquestions:\n  - {id: valence, text: V, scale: nine}\n"
)
RATINGS = pl.DataFrame({"rater": ["a", "b"], "stimulus": ["s", "s"], "question": ["valence"] * 2, "value": [1.0, 9.0]})
MARKED = MarkedColumn(
    column="is gold", marks="anchors", cells=("yes", ""), answers=4110, total=32880, option="anchors", value="is gold"
)
UNREACHABLE = MarkedColumn(column="gold", marks="anchors", cells=("1",), answers=1, total=2)
SOURCE = Source(
    format="long",
    name="answers.csv",
    options={"rater": "who"},
    layout={"line end": "\r\n"},
    notes=("The encoding is UTF-16.",),
    reading=("'who' is the rater.",),
    marked_columns=(MARKED, UNREACHABLE),
    inferred_raters="address",
)


def test_a_source_survives_its_folder(tmp_path: Path) -> None:
    snapshot = Snapshot.build(STUDY, stimuli=pl.DataFrame({"stimulus": ["s"]}), ratings=RATINGS, source=SOURCE)
    again = load(snapshot.write(tmp_path / "snapshot")).source
    for name in ("format", "name", "options", "layout", "notes", "reading", "marked_columns", "inferred_raters"):
        assert getattr(again, name) == getattr(SOURCE, name), name


def test_a_marked_column_says_which_cells_and_what_to_do() -> None:
    assert mentions(MARKED.finding, "is gold", "anchors", "yes", "empty", "4,110", "32,880")
    assert mentions(MARKED.note, MARKED.finding, 'anchors="is gold"', 'ordinary="is gold"')
    assert 'anchors="is gold"' in MARKED.warning
    assert "Leave those rows out yourself" not in MARKED.note
    assert "To use it" not in UNREACHABLE.note
    assert mentions(UNREACHABLE.note, "Leave those rows out yourself", 'ordinary="gold"')
    assert "import again" not in UNREACHABLE.warning


@pytest.mark.parametrize(("largest", "found"), [(10, True), (11, False)])
def test_a_group_of_more_than_a_third_is_no_grouping(largest: int, found: bool) -> None:
    themes = ["much"] * largest + [f"theme {number % 9}" for number in range(30 - largest)]
    stimuli = pl.DataFrame(
        {"stimulus": [f"{chr(97 + number)}x" for number in range(26)] + list("ABCD"), "theme": themes}
    )
    groups = detected_groups(stimuli)
    assert (groups is not None) is found
    if groups is not None:
        assert groups == ("theme", themes)
