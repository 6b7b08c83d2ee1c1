"""Tables in whatever file they come: spreadsheets, SPSS files, several header lines, a file per participant."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

import heartfelt
from heartfelt.cli import main
from heartfelt.errors import InputError, MissingPartError
from heartfelt.formats.tables.headers import find_header
from heartfelt.formats.tables.participant_files import open_source
from heartfelt.formats.tables.source_table import open_table
from heartfelt.formats.tables.spss import read_spss
from heartfelt.formats.tables.workbooks import read_workbook
from tests.facts import mentions
from tests.formats.workbook_files import Cell, Formula, Moment, write_xlsx

LONG: list[list[Cell]] = [
    ["rater", "stimulus", "question", "value"],
    ["p1", "a", "valence", 3],
    ["p2", "a", "valence", 4],
]


def test_a_spreadsheet_is_read_as_the_table_it_holds(tmp_path: Path) -> None:
    path = write_xlsx(tmp_path / "ratings.xlsx", {"Ratings": LONG})
    snapshot = heartfelt.read(path)
    assert snapshot.source.format == "long"
    assert snapshot.ratings["value"].to_list() == [3.0, 4.0]


def test_the_sheet_with_the_table_is_chosen_and_named_and_another_can_be(tmp_path: Path) -> None:
    sheets: dict[str, list[list[Cell]]] = {"Read me": [["Study 1"], ["by us"]], "Data": LONG, "Old": LONG[:2]}
    path = write_xlsx(tmp_path / "book.xlsx", sheets)
    table = read_workbook(path)
    assert table.rows.height == 2
    assert mentions(table.notes[0], "'Data' of book.xlsx", "'Read me'", "'Old'")
    assert read_workbook(path, "Old").rows.height == read_workbook(path, "3").rows.height == 1
    with pytest.raises(InputError, match="no sheet 'Dat'") as problem:
        read_workbook(path, "Dat")
    assert "Data" in problem.value.fix


def test_titles_dates_formulas_and_merged_names_in_a_spreadsheet(tmp_path: Path) -> None:
    rows: list[list[Cell]] = [
        ["Study 1, final"],
        [],
        ["rater", "clip01", None, "clip02", None, "at"],
        [None, "valence", "arousal", "valence", "arousal", None],
        ["p1", 3, 4.5, Formula("B5+1", 4), 2, Moment(45000.5)],
        [],
        ["p2", 1, None, 2, 5, None],
    ]
    table = read_workbook(write_xlsx(tmp_path / "t.xlsx", {"S": rows}, merged="B3:C3"))
    assert table.rows.columns == [
        "rater", "clip01_valence", "clip01_arousal", "clip02_valence", "clip02_arousal", "at",
    ]  # fmt: skip
    assert table.rows.row(0) == ("p1", "3", "4.5", "4", "2", "2023-03-15 12:00:00")
    assert table.rows.row(1) == ("p2", "1", None, "2", "5", None)
    assert "lines 3 to 4" in table.notes[0]
    snapshot = heartfelt.read(tmp_path / "t.xlsx", "wide", pattern="{stimulus}_{question}", id="rater")
    assert snapshot.counts["ratings"] == 7


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 no zip", b"a,b\n1,2\n"], ids=["empty", "cut", "text"])
def test_a_file_that_is_no_spreadsheet_is_told_in_words(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "t.xlsx").write_bytes(content)
    with pytest.raises(InputError, match="cannot be read as a spreadsheet"):
        read_workbook(tmp_path / "t.xlsx")


def spss_file(path: Path) -> Path:
    pyreadstat = pytest.importorskip("pyreadstat")
    frame = pl.DataFrame(
        {"id": ["p1", "p2", "p3"], "sex": [1.0, 2.0, None], "valence_1": [3.0, 99.0, 5.0], "valence_2": [4.0, 2.0, 1.0]}
    )
    pyreadstat.write_sav(
        frame,
        path,
        column_labels={"valence_1": "How pleasant was clip 1?", "valence_2": "How pleasant was clip 2?"},
        variable_value_labels={"sex": {1: "female", 2: "male"}, "valence_1": {1: "not at all", 7: "very"}},
        missing_ranges={"valence_1": [99]},
        variable_measure={"sex": "nominal", "valence_1": "scale"},
    )
    return path


def test_an_spss_file_gives_codes_labels_of_nominal_values_texts_and_gaps(tmp_path: Path) -> None:
    table = read_spss(spss_file(tmp_path / "s.sav"))
    assert table.rows["sex"].to_list() == ["female", "male", None]
    assert table.rows["valence_1"].to_list() == [3.0, None, 5.0]
    assert table.texts["valence_1"] == "How pleasant was clip 1?"
    assert any("declares missing" in note and "valence_1" in note for note in table.notes)
    assert read_spss(tmp_path / "s.sav", "none").rows["sex"].to_list() == [1.0, 2.0, None]
    assert read_spss(tmp_path / "s.sav", "all").rows["valence_1"].to_list() == ["3", None, "5"]
    snapshot = heartfelt.read(tmp_path / "s.sav", "wide", scale="1-7")
    assert snapshot.ratings.height == 5
    assert snapshot.raters["sex"].to_list() == ["female", "male", None]


def test_a_file_that_is_no_spss_file_is_told_in_words(tmp_path: Path) -> None:
    pytest.importorskip("pyreadstat")
    (tmp_path / "s.sav").write_bytes(b"$FL2 cut")
    with pytest.raises(InputError, match=r"SPSS.*file"):
        open_table(tmp_path / "s.sav", {})


@pytest.mark.parametrize(("package", "name"), [("fastexcel", "t.xlsx"), ("pyreadstat", "t.sav")])
def test_a_missing_package_is_named_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], package: str, name: str
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    (tmp_path / name).write_bytes(b"x")
    for format in ("auto", "long"):
        assert main(["import", format, str(tmp_path / name), str(tmp_path / "out")]) != 0
        assert "[tables]'" in capsys.readouterr().err
    with pytest.raises(MissingPartError):
        open_table(tmp_path / name, {})


HEADERS = {
    "one line": ("rater,stimulus,value\np1,a,3\np2,a,4\n", ["rater", "stimulus", "value"], 2),
    "first answers missing": ("rater,a,b\np1,NA,\np2,3,4\np3,1,2\n", ["rater", "a", "b"], 3),
    "texts below the names": ("id,v1,v2\nId,How nice?,How loud?\np1,3,4\np2,4,4\n", ["id", "v1", "v2"], 2),
    "texts and ids below the names": ("id,v1,v2\nId,Nice?,Loud?\nx,QID1,QID2\np1,3,4\np2,4,4\n", ["id", "v1", "v2"], 2),
    "names over several columns": (
        "id,clip1,,clip2,\n,nice,loud,nice,loud\np1,1,2,3,4\np2,2,3,4,5\n",
        ["id", "clip1_nice", "clip1_loud", "clip2_nice", "clip2_loud"],
        2,
    ),
    "names repeated over columns": (
        "id,clip1,clip1\nid,nice,loud\np1,1,2\np2,2,3\n",
        ["id", "clip1_nice", "clip1_loud"],
        2,
    ),
    "parts named in words": (
        "id,clip1,,clip2,\n,mood,style,mood,style\np1,sad,jazz,calm,rock\n",
        ["id", "clip1_mood", "clip1_style", "clip2_mood", "clip2_style"],
        1,
    ),
    "an unnamed first column": (",rater,value\n0,p1,3\n1,p2,4\n", ["column_1", "rater", "value"], 2),
    "words throughout": ("rater,clip,mood\np1,a,sad\np2,a,calm\n", ["rater", "clip", "mood"], 2),
}


@pytest.mark.parametrize("name", HEADERS)
def test_the_lines_of_a_header_are_found(name: str, tmp_path: Path) -> None:
    text, columns, height = HEADERS[name]
    (tmp_path / "t.csv").write_text(text, encoding="utf-8")
    table = open_table(tmp_path / "t.csv", {})
    assert table.columns == columns
    assert table.rows.collect().height == height


def test_the_lines_of_a_header_can_be_stated(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("made by us,,\nid,v1,v2\np1,3,4\n", encoding="utf-8")
    table = open_table(tmp_path / "t.csv", {"header": "2"})
    assert table.columns == ["id", "v1", "v2"]
    assert table.position(0) == "line 3"
    with pytest.raises(InputError, match=r"header=9.*name"):
        open_table(tmp_path / "t.csv", {"header": "9"})


def test_questions_keep_the_texts_below_their_names() -> None:
    header = find_header([["id", "v1", "v2"], ["Id", "Nice?", "Loud?"], ["p1", "3", "4"], ["p2", "4", "4"]], None, "t")
    assert header.texts == {"id": "Id", "v1": "Nice?", "v2": "Loud?"}


def write_parts(folder: Path, rater: str | None) -> Path:
    folder.mkdir()
    for number in (1, 2, 3):
        column = "" if rater is None else f",{rater}"
        cell = "" if rater is None else f",p{number}"
        extra = ",note" if number == 3 else ""
        lines = "".join(f"{clip},{number}{cell}{',x' if extra else ''}\n" for clip in "abc")
        (folder / f"run{number}.csv").write_text(f"stimulus,value{column}{extra}\n{lines}", encoding="utf-8")
    return folder


def test_a_folder_with_a_file_per_participant_is_one_table(tmp_path: Path) -> None:
    by_file = heartfelt.read(write_parts(tmp_path / "a", None), "long")
    assert by_file.counts["raters"] == 3
    assert set(by_file.survey.raters) == {"run1", "run2", "run3"}
    assert "each file is a rater, named after the file" in by_file.source.notes[0]
    by_column = heartfelt.read(write_parts(tmp_path / "b", "participant"), "long")
    assert set(by_column.survey.raters) == {"p1", "p2", "p3"}
    assert mentions(by_column.source.notes[0], "column", "'participant'", "names")
    assert by_column.ratings.height == 9


def test_a_table_in_parts_with_several_raters_each_keeps_its_raters(tmp_path: Path) -> None:
    for part, clips in (("first", "ab"), ("second", "cd")):
        table = {
            "rater": ["p1", "p2"] * 2,
            "stimulus": [clip for clip in clips for _ in range(2)],
            "value": [1, 2, 3, 4],
        }
        pl.DataFrame(table).write_csv(tmp_path / f"{part}.csv")
    snapshot = heartfelt.read(tmp_path, "long")
    assert set(snapshot.survey.raters) == {"p1", "p2"}
    assert mentions(snapshot.source.notes[0], "column", "'rater'", "names")
    assert "participant" not in snapshot.ratings.columns


def test_files_with_other_columns_are_not_taken_for_participants(tmp_path: Path) -> None:
    write_parts(tmp_path / "a", None)
    (tmp_path / "a" / "clips.csv").write_text("clip,system\na,x\n", encoding="utf-8")
    with pytest.raises(InputError, match="holds 4 tables"):
        open_source(tmp_path / "a", {})


@pytest.mark.parametrize("first", ["", "Unnamed: 0"])
def test_votes_whose_id_column_has_no_name(first: str, tmp_path: Path) -> None:
    (tmp_path / "v.csv").write_text(f"{first},happy,sad\n0,3,1\n1,0,4\n", encoding="utf-8")
    snapshot = heartfelt.read(tmp_path / "v.csv", "votes")
    assert set(snapshot.survey.stimuli) == {"0", "1"}
    assert snapshot.counts["ratings"] == 8
    assert "was taken as the stimulus" in snapshot.source.notes[0]
    (tmp_path / "v.csv").write_text(f"{first},,happy,sad\n0,x.png,3,1\n1,y.png,0,4\n", encoding="utf-8")
    assert set(heartfelt.read(tmp_path / "v.csv", "votes").survey.stimuli) == {"x.png", "y.png"}


RATERS, CLIPS = [f"p{number:02d}" for number in range(1, 9)], [f"clip{number:02d}" for number in range(1, 7)]


def grade(rater: int, clip: int) -> int:
    return (rater * 5 + clip * 3) % 7 + 1


def long_workbook(folder: Path) -> Path:
    rows: list[list[Cell]] = [
        [r, c, grade(i, j), grade(j, i)] for i, r in enumerate(RATERS) for j, c in enumerate(CLIPS)
    ]
    header: list[Cell] = ["who", "clip", "valence", "arousal"]
    return write_xlsx(folder / "long.xlsx", {"Notes": [["Study 1"]], "Data": [header, *rows]})


def two_line_workbook(folder: Path) -> Path:
    names: list[Cell] = [name for clip in CLIPS for name in (clip, None)]
    rows: list[list[Cell]] = [
        [r, *(v for j, _ in enumerate(CLIPS) for v in (grade(i, j), grade(j, i)))] for i, r in enumerate(RATERS)
    ]
    parts: list[Cell] = ["valence", "arousal"] * len(CLIPS)
    return write_xlsx(folder / "wide.xlsx", {"S": [["Study 1"], ["participant", *names], [None, *parts], *rows]})


def survey_in_spss(folder: Path) -> Path:
    pyreadstat = pytest.importorskip("pyreadstat")
    answers = {f"valence_{j}": [float(grade(i, j)) for i, _ in enumerate(RATERS)] for j, _ in enumerate(CLIPS, 1)}
    labels = {name: f"How pleasant was clip {name[-1]}?" for name in answers}
    pyreadstat.write_sav(pl.DataFrame({"id": RATERS, **answers}), folder / "s.sav", column_labels=labels)
    return folder / "s.sav"


def folder_of_participants(folder: Path) -> Path:
    (folder / "data").mkdir()
    for i, rater in enumerate(RATERS):
        answers = {"clip": CLIPS, "rating": [grade(i, j) for j, _ in enumerate(CLIPS)]}
        pl.DataFrame(answers).write_csv(folder / "data" / f"{rater}.csv")
    return folder / "data"


def votes_without_id_name(folder: Path) -> Path:
    lines = [f"{i},img{i}.png,{i % 5},3,{7 - i % 5}" for i in range(20)]
    (folder / "votes.csv").write_text("\n".join([",,neutral,happy,sad", *lines]), encoding="utf-8")
    return folder / "votes.csv"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("write", "ratings", "stimuli"),
    [
        (long_workbook, 96, 6),
        (two_line_workbook, 96, 6),
        (survey_in_spss, 48, 6),
        (folder_of_participants, 48, 6),
        (votes_without_id_name, 200, 20),
    ],
)
def test_import_auto_reads_it_or_prints_a_command_that_does(
    write: Callable[[Path], Path], ratings: int, stimuli: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, out = write(tmp_path), tmp_path / "out"
    if main(["import", "auto", str(source), str(out)]) != 0:
        command = capsys.readouterr().err.rpartition("If that is right: ")[2]
        program, *words = shlex.split(command)
        assert program == "heartfelt"
        assert main(words) == 0, command
    snapshot = heartfelt.load(out)
    assert snapshot.ratings.height == ratings
    assert len(snapshot.survey.stimuli) == stimuli
