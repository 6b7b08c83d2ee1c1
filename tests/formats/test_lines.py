"""A cell that cannot be used is named with its line in the file, in every layout of the file."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

import heartfelt
from heartfelt.errors import InputError
from tests.cases import check_all

LONG = "rater,stimulus,question,value\nu,f,v,3\nu,g,v,4\n"
QUALTRICS = (
    'ResponseId,valence_1,valence_2\nResponse ID,"How,\npleasant? - Clip 1",How pleasant? - Clip 2\n'
    '"{""ImportId"":""a""}","{""ImportId"":""b""}","{""ImportId"":""c""}"\nR_1,3,4\nR_2,5,99\n'
)


def complaint(tmp_path: Path, text: str, format: str | None, name: str = "data.csv", **options: str) -> str:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        heartfelt.read(path, format, **options)
    return caught.value.problem


@pytest.mark.slow
@check_all(
    ("text", "format", "options", "place"),
    [
        (f"{LONG}w,f,v,9\n", "long", {"scale": "1-5"}, "line 4"),
        (f"{LONG}\n\nw,f,v,9\n", "long", {"scale": "1-5"}, "line 6"),
        (f"{LONG}w,f,v,9\n", "long", {"scale": "1-5", "where": "rater=w"}, "line 4"),
        ('rater,stimulus,question,value,note\nu,f,v,3,"two\nlines"\nw,f,v,9,\n', "long", {"scale": "1-5"}, "line 4"),
        ("rater,stimulus,valence,arousal\nu,f,3,4\nw,f,4,9\n", "long", {"value": "valence,arousal", "scale": "1-5"}, "line 3"),
        ("rater,stimulus,question,value\nu,f,v,never\nw,f,v,often\n", "long", {"scale": "ordered:never|rarely"}, "line 3"),
        (f"{LONG}w,f,v,often\n", "long", {}, "line 4"),
        (f"{LONG}u,f,v,5\n", "long", {}, "lines 2 and 4"),
        (f"{LONG}w,,v,5\n", "long", {}, "line 4"),
        ("rater,v_1,v_2\nu,3,4\nw,9,2\n", "wide", {"scale": "1-5"}, "line 3"),
        ("rater,v_1,v_2\nu,low,high\nw,high,what\n", "wide", {"scale": "ordered:low|high"}, "line 3"),
        (QUALTRICS, "wide", {"scale": "1-7"}, "line 6"),
        ("file,mos\na,3\nb,9\n", "means", {"scale": "1-5"}, "line 3"),
        ("clip,a,b\nx,1,2\ny,1,-2\n", "votes", {"categories": "a,b"}, "line 3"),
        ("rater,first,second,value,seconds\nu,a,b,1,3\nw,a,b,0,soon\n", "long", {}, "line 3"),
    ],
)  # fmt: skip
def test_the_line_is_named(text: str, format: str, options: dict[str, str], place: str, tmp_path: Path) -> None:
    assert place in complaint(tmp_path, text, format, **options)


def test_json_and_frames_have_rows(tmp_path: Path) -> None:
    rows = [{"rater": name, "stimulus": "f", "question": "v", "value": value} for name, value in (("u", 3), ("w", 9))]
    assert "row 2" in complaint(tmp_path, json.dumps(rows), "long", "data.json", scale="1-5")
    with pytest.raises(InputError, match="row 2") as caught:
        heartfelt.read(pl.DataFrame(rows), scale="1-5")
    assert "table.parquet" not in str(caught.value)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("columns", "options"),
    [
        ({"a": [1], "b": [2]}, {}),
        ({"rater": ["u"], "stimulus": ["f"], "value": [3]}, {"raiter": "u"}),
        ({"rater": ["u", "w"], "stimulus": ["f", "f"], "value": ["3", "often"]}, {}),
        ({"rater": ["u", "u"], "stimulus": ["f", "f"], "value": [3, 4]}, {}),
        ({"rater": ["u"], "stimulus": ["f"], "value": [3]}, {"stimulus": "clip"}),
        ({"rater": ["u"], "stimulus": ["f"], "value": [3]}, {"media": "nowhere"}),
        ({"rater": ["u"], "stimulus": ["f"], "value": [3]}, {"where": "value>5"}),
        ({"rater": ["u"], "stimulus": ["f"], "value": [3], "seconds": ["soon"]}, {}),
        ({"who": ["u", "u", "w", "w"], "clip": ["f", "g", "f", "g"], "score": [1, 2, 3, 4]}, {}),
        ({"first": ["a"], "value": [1]}, {"first": "first"}),
    ],
)  # fmt: skip
def test_errors_about_frames_speak_python(columns: dict[str, list[object]], options: dict[str, str]) -> None:
    with pytest.raises(InputError) as caught:
        heartfelt.read(pl.DataFrame(columns), **options)
    message = str(caught.value)
    assert "--map" not in message
    assert "heartfelt import" not in message
    assert "parquet" not in message
    # A relative folder is named with the one it was looked for in, which may itself be a temporary one.
    assert "/tmp" not in message.replace(str(Path.cwd()), "")


@pytest.mark.parametrize(
    ("rows", "line", "fields"), [("b,y\nc,z,3,4\n", 2, 2), ("b,y,1\nc,z,3,4\nd,x\n", 3, 4), ("a,b,1,2\na,c\n", 2, 4)]
)
def test_ragged_rows_whose_fields_add_up_are_named(rows: str, line: int, fields: int, tmp_path: Path) -> None:
    said = complaint(tmp_path, f"rater,stimulus,value\n{rows}", "long")
    assert f"line {line}: {fields} fields where the header has 3" in said


LABEL_STUDIO = [
    {
        "id": task,
        "data": {"audio": f"/data/{task}.wav"},
        "annotations": [
            {"id": 9, "completed_by": 1, "result": [{"from_name": "q", "type": "rating", "value": {"rating": 4}}]},
            {"id": 10, "completed_by": {"email": "a@b.c"}, "result": []},
        ],
        "predictions": [],
        "meta": {},
    }
    for task in (1, 2)
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("format", [None, "long", "wide", "means", "votes", "arena"])
def test_nested_json_is_refused_or_read(format: str | None, tmp_path: Path) -> None:
    path = tmp_path / "export.json"
    path.write_text(json.dumps(LABEL_STUDIO), encoding="utf-8")
    try:
        heartfelt.read(path, format)
    except InputError as error:
        assert error.fix  # noqa: PT017 - reading it is as good
