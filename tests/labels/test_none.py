""" "None" as an answer: neither missing nor a number, in labels, analyses, formats and texts."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import heartfelt
from heartfelt.formats.tables.texts import snapshot_texts
from heartfelt.labels import labels
from heartfelt.snapshot import Snapshot
from heartfelt.study import parse_study
from heartfelt.study.scales.answer import NONE

STUDY = """\
name: faces
media: image
scales:
  look: {type: categories, categories: [happy, sad, calm]}
  nine: {type: points, points: 9}
  words: {type: text}
questions:
  - {id: look, text: Expression, scale: look, none: true}
  - {id: much, text: How much, scale: nine, none: true, show_if: {question: look, none: false}}
  - {id: story, text: Story, scale: words, none: true, required: false}
"""
LOOKS = {"a": ["happy", "happy", "sad", NONE], "b": [NONE, NONE, "sad", NONE], "c": [NONE] * 4, "d": ["sad"] * 4}


@pytest.fixture
def snapshot() -> Snapshot:
    codes = {"happy": 0.0, "sad": 1.0, "calm": 2.0}
    rows = []
    for stimulus, looks in LOOKS.items():
        for number, look in enumerate(looks):
            base = {"rater": f"r{number}", "stimulus": stimulus}
            rows.append({**base, "question": "look", "value": codes.get(look), "answer": look})
            if look != NONE:
                rows.append({**base, "question": "much", "value": 3.0 + number, "answer": None})
            rows.append({**base, "question": "story", "value": None, "answer": NONE if number else "a man"})
    stimuli = pl.DataFrame({"stimulus": list(LOOKS)})
    return Snapshot.build(parse_study(STUDY), stimuli=stimuli, ratings=pl.DataFrame(rows))


def test_a_label_is_none_where_half_of_the_raters_say_so(snapshot: Snapshot) -> None:
    made = labels(snapshot)
    rows = {
        (row["stimulus"], row["question"]): row
        for row in made.table.select("stimulus", "question", "value", "answer", "share", "n", "why_missing").iter_rows(
            named=True
        )
    }
    assert (rows["a", "look"]["answer"], rows["a", "look"]["n"]) == ("happy", 3)
    assert rows["b", "look"] | {"stimulus": 0} == {
        "stimulus": 0,
        "question": "look",
        "value": None,
        "answer": NONE,
        "share": 0.75,
        "n": 4,
        "why_missing": "3 of 4 raters answered 'none'",
    }
    assert (rows["c", "look"]["share"], rows["c", "look"]["n"]) == (1.0, 4)
    assert rows["d", "look"]["answer"] == "sad"
    assert rows["a", "much"]["value"] == pytest.approx(4.0)
    left_out = {(row["stimulus"], row["question"]): row["reason"] for row in made.ledger.iter_rows(named=True)}
    assert left_out["c", "look"] == "no label: 4 of 4 raters answered 'none'"
    assert left_out["c", "much"] == "no ratings: the question is asked only under a condition"


@pytest.mark.slow
def test_analyses_and_texts_leave_none_out(snapshot: Snapshot) -> None:
    result = heartfelt.analyze(snapshot)
    assert result.labels.filter(question="look", answer=NONE).height == 2
    assert set(snapshot_texts(snapshot, "story").texts) == {"a man"}


@pytest.mark.slow
def test_none_survives_being_written_and_read(snapshot: Snapshot, tmp_path: Path) -> None:
    heartfelt.export(snapshot, "long", tmp_path / "out")
    again = heartfelt.read(tmp_path / "out")
    columns = ["rater", "stimulus", "question", "value", "answer"]
    before = snapshot.ratings.select(columns).sort(columns[:3])
    assert again.ratings.select(columns).sort(columns[:3]).equals(before)
