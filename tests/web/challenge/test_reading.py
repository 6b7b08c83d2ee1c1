"""The bytes of a submission: what is read, what is refused, and with which words."""

from __future__ import annotations

import gzip
import json
import math
from pathlib import Path

import polars as pl
import pytest

from heartfelt.errors import InputError
from heartfelt.web.challenge.reading import SizeLimits, _parquet_rows, not_usable, readable_file
from tests.cases import check_all

SMALL = SizeLimits(megabytes=1 / 1024, rows=3)
"""1,024 bytes."""
CSV = b"stimulus,question,value\na,q,1\n"
PACKED = gzip.compress(CSV, mtime=0)


def read(content: bytes, folder: Path, limits: SizeLimits = SMALL) -> tuple[str, str]:
    path = readable_file(content, folder, limits)
    return path.suffix, path.read_text("utf-8")


def test_tables_are_read_as_they_are_or_unpacked(tmp_path: Path) -> None:
    assert SizeLimits().bytes == 16 * 2**20
    assert read(CSV, tmp_path) == (".csv", CSV.decode())
    assert read(b"\xef\xbb\xbf" + CSV, tmp_path) == (".csv", CSV.decode())
    assert read(PACKED, tmp_path) == (".csv", CSV.decode())
    assert read(b'\n {"stimulus": "a"}', tmp_path)[0] == ".jsonl"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is empty"),
        (b" \n\t", "is empty"),
        (b"PK\x03\x04", "ZIP archive"),
        (gzip.compress(b"PK\x03\x04", mtime=0), "ZIP archive"),
        (b"PAR1", "Parquet"),
        ("stimulus\né".encode("latin-1"), r"not UTF-8 text \(byte 9\)"),
        (b"a\0b", "zero bytes"),
        (b' [{"stimulus": "a"}]', "JSON list"),
        (PACKED[:-4], "gzip data are incomplete"),
        (PACKED + b"more", "gzip data are incomplete"),
        (PACKED[:-8] + bytes(4) + PACKED[-4:], "gzip data are damaged"),
    ],
)
def test_what_cannot_be_read(tmp_path: Path, content: bytes, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> bytes:
        raise InputError("The Parquet file cannot be read.", "")

    monkeypatch.setattr("heartfelt.web.challenge.reading._from_parquet", broken)
    with pytest.raises(InputError, match=words):
        readable_file(content, tmp_path, SMALL)
    assert not list(tmp_path.iterdir())


def test_sizes_rows_and_lines_are_limited_and_the_limits_are_allowed(tmp_path: Path) -> None:
    limits = SizeLimits(megabytes=1 / 1024, rows=3)
    for content in (b"x" * 1024, gzip.compress(b"x" * 1024)):
        assert read(content, tmp_path)[1] == "x" * 1024
    bombs = (b"x" * 1025, gzip.compress(b"x" * 1025), gzip.compress(b"x" * 3_000_000))
    for content in bombs:
        with pytest.raises(InputError, match=r"0\.000976562 MB.*unpacked"):
            readable_file(content, tmp_path, limits)
    # A header and three rows.
    assert read(b"h\n1\n2\n3", tmp_path)[0] == ".csv"
    with pytest.raises(InputError, match=r"5 rows.*3"):
        readable_file(b"h\n1\n2\n3\n4", tmp_path, limits)
    roomy = SizeLimits(megabytes=1.0, rows=3)
    assert read(b"h\n" + b"x" * 100_000, tmp_path, roomy)[0] == ".csv"
    with pytest.raises(InputError, match="Line 2 has 100,001 characters"):
        readable_file(b"h\n" + b"x" * 100_001, tmp_path, roomy)


def test_rows_of_a_parquet_file_are_lines_up_to_the_limits(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "t.parquet"
    pl.DataFrame({"stimulus": ["a", "b"], "value": [1.5, math.nan]}).write_parquet(path)
    lines = ['{"stimulus": "a", "value": 1.5}', '{"stimulus": "b", "value": "nan"}']
    size = sum(len(line) + 1 for line in lines)
    assert _parquet_rows(path, 2, size) == 0
    assert capsys.readouterr().out.split("\n") == lines
    assert json.loads(lines[1])["value"] == "nan"
    assert _parquet_rows(path, 2, size - 1) == 4
    assert capsys.readouterr().out == ""
    assert _parquet_rows(path, 1, size) == 3
    assert capsys.readouterr().out == "2"


def predictions(*rows: dict[str, object]) -> pl.DataFrame:
    every = [{"stimulus": f"s{at}", "question": "q", "ok": True, "problem": None, **row} for at, row in enumerate(rows)]
    return pl.DataFrame(every, schema_overrides={"problem": pl.String}, infer_schema_length=None)


NONE = pl.DataFrame(schema={"stimulus": pl.String})


@check_all(
    ("rows", "words"),
    [
        ([{"value": 1.0}, {"value": 1e9}], None),
        ([{"value": 1.0}, {"value": -1e9}], None),
        ([{"value": 1.0}, {"value": 1.1e9}], "The value of 's1', 'q' is 1100000000.0."),
        ([{"value": 1.0}, {"value": -1.1e9}], "The value of 's1', 'q' is -1100000000.0."),
        ([{"value": math.nan}, {"value": 1.0}], "The value of 's0', 'q' is nan."),
        ([{"value": None, "low": math.inf}], "The low of 's0', 'q' is inf."),
        ([{"value": None, "answer": "a"}], None),
        ([{"shares": '{"a": 0.5}'}], None),
        ([{"shares": '{"a": NaN}'}], "The column 'shares' holds numbers that are not finite."),
        ([{"samples": "[Infinity]"}], "The column 'samples' holds numbers that are not finite."),
        ([{"value": 1.0}, {"ok": False}], "1 of 2 items have no prediction; the first is 's1', 'q': no prediction."),
        (
            [{"ok": False, "problem": "p" * 300}, {"ok": False}],
            f"2 of 2 items have no prediction; the first is 's0', 'q': {'p' * 200}.",
        ),
    ],
)
def test_predictions_that_cannot_be_scored_are_named(rows: list[dict[str, object]], words: str | None) -> None:
    wrong = not_usable(predictions(*rows), NONE)
    assert (None if wrong is None else wrong.problem) == words


def test_predictions_for_something_else_are_named() -> None:
    unused = pl.DataFrame({"stimulus": ["elsewhere" + "e" * 90, "x"]})
    wrong = not_usable(predictions({"ok": False}), unused)
    assert wrong is not None
    assert wrong.problem.endswith(f"names the stimulus 'elsewhere{'e' * 51}'.")
    # Rows beside those that are asked for are left out.
    assert not_usable(predictions({"value": 1.0}), unused) is None
    missing = not_usable(predictions({"value": 1.0}, {"ok": False}), unused)
    assert missing is not None
    assert missing.problem.startswith("1 of 2 items")
