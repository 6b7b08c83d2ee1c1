"""Names of answer columns, above all those Qualtrics gives: matrix, loop and merge, side by side."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

import heartfelt
from heartfelt.cli import main
from heartfelt.formats.proposals.wide_names import read_names
from heartfelt.snapshot import Snapshot
from tests.facts import mentions


def export(tmp_path: Path, columns: dict[str, str], raters: int = 3) -> Path:
    """An export of Qualtrics with these columns and their texts."""
    path = tmp_path / "export.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["ResponseId", *columns])
        writer.writerow(["Response ID", *columns.values()])
        writer.writerow([f'{{"ImportId":"QID{place}"}}' for place in range(len(columns) + 1)])
        for rater in range(raters):
            writer.writerow([f"R_{rater}", *((rater + place) % 5 + 1 for place in range(len(columns)))])
    return path


def items(snapshot: Snapshot) -> set[tuple[str, str]]:
    return set(snapshot.ratings.select("question", "stimulus").iter_rows())


ASKED = ((3, "How pleasant was it?"), (4, "How lively was it?"))
WORDS = ((1, "Pleasant"), (2, "Lively"))
CLIPS_IN_ROWS = {f"Q{q}_{c}": f"{text} - Clip {c + 2}" for q, text in ASKED for c in (1, 2, 10)}
QUESTIONS_IN_ROWS = {f"Q{q}_{c}": f"Please rate clip {q} - {text}" for q in (3, 4, 5) for c, text in WORDS}
SAME_STEM = {f"Q{q}_{c}": f"What you just heard was - {text}" for q in (3, 4, 5) for c, text in WORDS}
FILES = {f"Q{q}_{c}": f"<audio src=song{q}.mp3> Your impression - {text}" for q in (3, 4) for c, text in WORDS}
LOOP = {f"{n}_Q{q}": text for n in (1, 2, 3) for q, text in ASKED}
LOOP_OF_MATRICES = {f"{n}_Q3_{c}": f"How was it? - {text}" for n in (1, 2) for c, text in WORDS}
OWN_NAMES = {f"{word}_clip0{c}": f"How {word} is clip {c}?" for c in (1, 2) for word in ("valence", "arousal")}
SLIDERS = {f"Q{q}_1": f"Clip {q} - How pleasant?" for q in (3, 4, 5)}
SIDE_BY_SIDE = {
    f"Q5#{k}_{c}": f"Rate each - {text} - Clip {c}" for k, text in ((1, "Quality"), (2, "Liking")) for c in (1, 2)
}


@pytest.mark.parametrize(
    ("columns", "column", "question", "stimulus"),
    [
        (CLIPS_IN_ROWS, "Q3_1", "Q3", "1"),
        (QUESTIONS_IN_ROWS, "Q3_1", "1", "Q3"),
        (SAME_STEM, "Q3_1", "1", "Q3"),
        (FILES, "Q3_1", "1", "Q3"),
        (LOOP, "1_Q3", "Q3", "1"),
        (LOOP_OF_MATRICES, "1_Q3_1", "Q3_1", "1"),
        (SIDE_BY_SIDE, "Q5#1_2", "Q5#1", "2"),
        (SLIDERS, "Q4_1", "1", "Q4"),
        ({"valence_1": "", "valence_2": "", "arousal_1": "", "arousal_2": ""}, "valence_1", "valence", "1"),
        ({"clip1_1": "", "clip1_2": "", "clip2_1": "", "clip2_2": ""}, "clip1_2", "2", "clip1"),
    ],
)  # fmt: skip
def test_the_stimulus_is_found_in_names_and_texts(
    columns: dict[str, str], column: str, question: str, stimulus: str
) -> None:
    read = read_names(["ResponseId", "Duration", *columns], columns, "stimulus")
    assert read is not None
    assert {cell.column for cell in read.cells} == set(columns)
    cell = next(cell for cell in read.cells if cell.column == column)
    assert (cell.question, cell.other, read.doubt) == (question, stimulus, None)


@pytest.mark.slow
def test_a_matrix_is_read_with_its_texts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = export(tmp_path, CLIPS_IN_ROWS)
    snapshot = heartfelt.read(path, "wide")
    assert items(snapshot) == {(q, c) for q in ("Q3", "Q4") for c in ("1", "2", "10")}
    assert [question.text for question in snapshot.study.asked] == ["How pleasant was it?", "How lively was it?"]
    assert snapshot.stimuli["text"].to_list() == ["Clip 3", "Clip 4", "Clip 12"]
    for command in (["import", "auto", str(path), str(tmp_path / "out")], ["show", str(tmp_path / "out")]):
        assert main(command) == 0
        shown = capsys.readouterr().out
        assert mentions(shown, "Q3_1", "Q3", "1", "'How pleasant was it? - Clip 3'")
        assert mentions(shown, "'R_0'", "'1'", "'Q3'", "value 1")


def test_the_turned_matrix(tmp_path: Path) -> None:
    snapshot = heartfelt.read(export(tmp_path, QUESTIONS_IN_ROWS))
    assert items(snapshot) == {(q, c) for q in ("1", "2") for c in ("Q3", "Q4", "Q5")}
    assert [question.text for question in snapshot.study.asked] == ["Pleasant", "Lively"]
    assert snapshot.stimuli["text"].to_list() == ["Please rate clip 3", "Please rate clip 4", "Please rate clip 5"]


def test_an_ambiguous_matrix_says_so_and_how_to_turn_it(tmp_path: Path) -> None:
    path = export(tmp_path, {f"Q{q}_{c}": f"Part {'AB'[q]} - Row {c}" for q in (0, 1) for c in (1, 2)})
    snapshot = heartfelt.read(path, "wide")
    (note,) = (note for note in snapshot.source.notes if note.startswith("Check which part"))
    assert 'pattern="{stimulus}_{question}"' in note
    turned = heartfelt.read(path, "wide", pattern="{stimulus}_{question}")
    assert items(turned) == {(stimulus, question) for question, stimulus in items(snapshot)}


@pytest.mark.slow
@pytest.mark.parametrize(
    "columns", [CLIPS_IN_ROWS, QUESTIONS_IN_ROWS, SAME_STEM, LOOP, LOOP_OF_MATRICES, SIDE_BY_SIDE, SLIDERS, OWN_NAMES]
)
def test_a_survey_around_the_answers_changes_nothing(columns: dict[str, str], tmp_path: Path) -> None:
    """Consent, age and the figures of Qualtrics are no answers, named or detected."""
    around = {
        "Progress": "Progress",
        "Duration (in seconds)": "Duration (in seconds)",
        "Q1": "Do you agree?",
        "Q2": "Age?",
    }
    alone = items(heartfelt.read(export(tmp_path, columns), "wide"))
    path = export(tmp_path, {**around, **columns})
    assert items(heartfelt.read(path)) == items(heartfelt.read(path, "wide")) == alone


def test_answers_in_words(tmp_path: Path) -> None:
    path = export(tmp_path, CLIPS_IN_ROWS, raters=6)
    text = path.read_text(encoding="utf-8")
    head, rows = text.split("R_0", 1)
    for number, word in enumerate(("Not at all", "A little", "Somewhat", "Much", "Very"), 1):
        rows = rows.replace(f",{number}", f",{word}")
    path.write_text(f"{head}R_0{rows}", encoding="utf-8")
    snapshot = heartfelt.read(path)
    assert snapshot.study.scale_of("Q3").level == "nominal"
    assert items(snapshot) == {(q, c) for q in ("Q3", "Q4") for c in ("1", "2", "10")}


def test_loops_and_side_by_side(tmp_path: Path) -> None:
    looped = heartfelt.read(export(tmp_path, LOOP))
    assert items(looped) == {(q, c) for q in ("Q3", "Q4") for c in ("1", "2", "3")}
    assert [question.text for question in looped.study.asked] == ["How pleasant was it?", "How lively was it?"]
    beside = heartfelt.read(export(tmp_path, SIDE_BY_SIDE))
    assert items(beside) == {(q, c) for q in ("Q5#1", "Q5#2") for c in ("1", "2")}
    assert [question.text for question in beside.study.asked] == ["Quality", "Liking"]
