"""Text tables as people really save them."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heartfelt.errors import InputError
from heartfelt.formats.tables import delimited
from heartfelt.formats.tables.delimited import csv_text, line_ends, open_delimited, read_delimited, with_line_ends
from tests.cases import check_all


def read(tmp_path: Path, content: bytes) -> dict[str, list[str | None]]:
    path = tmp_path / "t.csv"
    path.write_bytes(content)
    return read_delimited(path).to_dict(as_series=False)


TWO = {"a": ["1", "3"], "b": ["2", "4"]}


@check_all(
    ("content", "expected"),
    [
        (b"a,b\n1,2\n3,4\n", TWO),
        (b"\xef\xbb\xbfa,b\n1,2\n3,4\n", TWO),
        (b"a,b\r\n1,2\r\n3,4\r\n", TWO),
        (b"a,b\r1,2\r3,4\r", TWO),
        (b"a,b\r1,2\r3,4", TWO),
        (b"a,b\n1,2\r\n3,4", TWO),
        (b"a;b\n1;2\n3;4\n", TWO),
        (b"a\tb\n1\t2\n3\t4\n", TWO),
        (b"a|b\n1|2\n3|4\n", TWO),
        (b"a,b\n\n1,2\n\n3,4\n\n", TWO),
        (b"\na,b\n1,2\n3,4\n", None),
        (b" a , b \n1,2\n3,4\n", TWO),
        ("a,b\n1,2\n3,4\n".encode("utf-16"), TWO),
        ("a,b\nné,2\n".encode("latin-1"), {"a": ["né"], "b": ["2"]}),
        ("a,b\nné,2\n".encode(), {"a": ["né"], "b": ["2"]}),
        (b"a,b\nna\x81ve,2\n", {"a": ["na\x81ve"], "b": ["2"]}),
        (b'a,b\n"x,y","p\nq"\n', {"a": ["x,y"], "b": ["p\nq"]}),
        (b'a,b\n"x ""y""",2\n', {"a": ['x "y"'], "b": ["2"]}),
        (b"a,b\n,2\n1,\n", {"a": [None, "1"], "b": ["2", None]}),
        (b"a\n1\n2\n", {"a": ["1", "2"]}),
        (b",b\n1,2\n", {"column_1": ["1"], "b": ["2"]}),
        (b"a,b\n", {"a": [], "b": []}),
        (b"a;b\n1,5;2\n", {"a": ["1,5"], "b": ["2"]}),
    ],
)
def test_harmless_differences_are_read_correctly(
    tmp_path: Path, content: bytes, expected: dict[str, list[str]] | None
) -> None:
    if expected is None:
        with pytest.raises(InputError, match="is empty"):
            read(tmp_path, content)
    else:
        assert read(tmp_path, content) == expected


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "is empty"),
        (b"\n\n", "is empty"),
        (b"a,b\n1,2\n3", "line 3: 1 fields where the header has 2. It is the last line: the file seems to be cut off"),
        (b"a,b\n1,2,3\n4,5\n", "line 2: 3 fields where the header has 2."),
        (b"a,b\n1\n4,5\n", "line 2: 1 fields where the header has 2."),
        (b'a,b\n1,"2\n3,4\n', "never closed"),
        (b"a,b,a\n1,2,3\n", "the column 'a' is there twice (columns 1 and 3)"),
        (b"PK\x03\x04\0\0", "is not a text file"),
    ],
)
def test_damage_is_named_with_its_line(tmp_path: Path, content: bytes, problem: str) -> None:
    with pytest.raises(InputError) as caught:
        read(tmp_path, content)
    assert problem in caught.value.problem
    assert "t.csv" in caught.value.problem


def test_compensating_ragged_lines_are_caught(tmp_path: Path) -> None:
    """One field too many here and one too few there must not cancel out; so says the count of every line."""
    with pytest.raises(InputError, match="line 2"):
        read(tmp_path, b'a,b\n1,2,"3"\n4\n')


_cell = st.text(
    alphabet=st.characters(codec="utf-8", exclude_characters="\r\x00", exclude_categories=["Cs"]), max_size=5
)


@pytest.mark.slow
@given(st.integers(1, 4).flatmap(lambda n: st.lists(st.lists(_cell, min_size=n, max_size=n), min_size=1, max_size=6)))
@settings(deadline=None, max_examples=60)
def test_what_is_written_is_read(tmp_path_factory: pytest.TempPathFactory, rows: list[list[str]]) -> None:
    columns = [f"c{i}" for i in range(len(rows[0]))]
    frame = pl.DataFrame(
        [[cell or None for cell in row] for row in rows], schema=dict.fromkeys(columns, pl.String), orient="row"
    )
    if frame.width == 1:
        frame = frame.drop_nulls()
    path = tmp_path_factory.mktemp("d") / "t.csv"
    path.write_text(csv_text(frame), encoding="utf-8", newline="")
    assert read_delimited(path).equals(frame)


@pytest.mark.parametrize("content", [b"a\nb\n", b"a\r\nb\r\n", b"a\nb", b"a\r\nb"])
def test_line_ends_are_given_back(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "t"
    path.write_bytes(content)
    assert with_line_ends("a\nb\n", line_ends(path)).encode() == content


@check_all("size", [1, 2, 3, 7, 64])
@check_all(
    "content",
    [b"a,b\r\n1,2\r\n3,4\r\n", b"a,b\n1,2", b"a\rb\r", "ä,ö\n한,글\n".encode(), b"a,\xe4\n1,2\n", b'"a",b\n1,2\n'],
)
def test_chunks_count_what_the_whole_does(
    size: int, content: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A line end, or a letter of several bytes, may lie across two chunks."""
    path = tmp_path / "table.csv"
    path.write_bytes(content)
    whole = delimited._counts(path, ",", 2)
    monkeypatch.setattr(delimited, "_COUNTED_AT_ONCE", size)
    assert delimited._counts(path, ",", 2) == whole
    assert whole.newlines == content.count(b"\n")
    lines = content.removesuffix(b"\n").split(b"\n")
    assert whole.even == all(line.count(b",") == 1 for line in lines)
    assert (whole.returns, whole.crlf) == (content.count(b"\r"), content.count(b"\r\n"))
    assert whole.utf8 == (b"\xe4\n" not in content)


def test_the_second_and_third_line_of_a_qualtrics_export_are_not_rows(tmp_path: Path) -> None:
    lines = [
        "ResponseId,valence_a,valence_b",
        'Response ID,"How pleasant,\nall in all?",How pleasant?',
        '"{""ImportId"":""_recordId""}","{""ImportId"":""QID1""}","{""ImportId"":""QID2""}"',
        "R_1,3,4",
        "R_2,5,",
    ]
    file = tmp_path / "export.csv"
    file.write_text("\n".join(lines) + "\n", encoding="utf-8-sig")
    opened = open_delimited(file)
    assert opened.scan().collect().rows() == [("R_1", "3", "4"), ("R_2", "5", None)]
    assert "Qualtrics" in opened.notes[0]
    file.write_text("\n".join([lines[0], "R_0,1,2", "R_9,{x},3", *lines[3:]]), encoding="utf-8")
    assert open_delimited(file).scan().collect().height == 4, "three plain lines are a header and two rows"
    assert open_delimited(file).notes == ()


def test_a_quote_inside_a_cell_is_a_character(tmp_path: Path) -> None:
    read_back = read(tmp_path, b'size,name\n5" disk,a\n"7"" reel","b, c"\n3",d\n')
    assert read_back == {"size": ['5" disk', '7" reel', '3"'], "name": ["a", "b, c", "d"]}
