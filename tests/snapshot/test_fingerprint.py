"""The bits of a text, against the definition written out byte by byte."""

from __future__ import annotations

import subprocess
import sys

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heartfelt.snapshot import fingerprint
from heartfelt.snapshot.fingerprint import text_bits
from tests.cases import check_all

SOURCE = "splitmix64's finaliser (Steele, Lea and Flood 2014) over words of eight bytes, in whole numbers of Python"
ALL = 2**64 - 1


def mixed(bits: int) -> int:
    bits = (bits ^ bits >> 30) * 0xBF58476D1CE4E5B9 & ALL
    bits = (bits ^ bits >> 27) * 0x94D049BB133111EB & ALL
    return bits ^ bits >> 31


def by_hand(text: str) -> int:
    raw = text.encode()
    words = [int.from_bytes(raw[at : at + 8], "little") for at in range(0, len(raw), 8)]
    steps = (word + place * 0x9E3779B97F4A7C15 & ALL for place, word in enumerate(words, 1))
    return mixed(sum(map(mixed, steps), len(raw)) & ALL)


def check(texts: list[str | None]) -> None:
    result = text_bits(pl.Series(texts, dtype=pl.String)).tolist()
    assert len(result) == len(texts)
    for text, bits in zip(texts, result, strict=True):
        assert text is None or bits == by_hand(text)


@pytest.mark.slow
@given(st.lists(st.none() | st.text(max_size=80), max_size=40))
def test_any_texts(texts: list[str | None]) -> None:
    check(texts)


@check_all("length", [0, 1, 7, 8, 9, 12, 13, 16, 40, 63, 64, 65, 72, 500])
def test_texts_of_one_length(length: int) -> None:
    check(["x" * length, "\0" * length, ("é✓🎵" * length)[:length], "y" * length])


@pytest.mark.parametrize("longest", [8, 12, 64, 65, 300])
def test_texts_of_every_length_up_to_a_limit(longest: int) -> None:
    texts: list[str | None] = [None, *("abcdefghij"[n % 10] * n for n in range(longest + 1)), None, ""]
    check(texts)
    check(texts[::-1])


@pytest.mark.parametrize("rows", [1, 2, 3, 7])
def test_rows_are_hashed_alike_in_every_slice(rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fingerprint, "_ROWS", rows)
    check(["a", None, None, None, "a text of more than eight bytes", "", "x" * 100, "é"])


@pytest.mark.parametrize("share", [0.0, 0.9, 1.0])
def test_long_texts_that_repeat_are_hashed_alike(share: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fingerprint, "_OFTEN", share)
    check([None, "x" * 100, "y" * 70, "short", "x" * 100, None, ""] * 3)


def test_columns_in_chunks_and_parts_of_columns() -> None:
    first, second = pl.Series(["a", "b" * 20, None]), pl.Series(["c" * 9, ""])
    joined = pl.concat([first, second], rechunk=False)
    assert joined.n_chunks() == 2
    wanted = [by_hand(text or "") for text in joined.to_list()]
    assert [wanted[at] for at in (0, 1, 3, 4)] == [text_bits(joined).tolist()[at] for at in (0, 1, 3, 4)]
    assert text_bits(joined[1:4]).tolist()[::2] == [wanted[1], wanted[3]]


def test_a_column_without_rows() -> None:
    assert text_bits(pl.Series([], dtype=pl.String)).size == 0


@pytest.mark.slow
def test_no_other_library_is_loaded_to_hash() -> None:
    code = (
        "import sys, polars as pl; from heartfelt.snapshot.fingerprint import table_hash;"
        " table_hash('t', pl.DataFrame({'a': ['x', 'y' * 100], 'b': [1, 2]}));"
        " sys.exit('pyarrow' in sys.modules or 'pandas' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
