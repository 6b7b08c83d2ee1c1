from __future__ import annotations

import math
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heartfelt.errors import InputError
from heartfelt.stats.columns.triples import as_array, as_floats, code
from heartfelt.stats.ratings import triples


def decoded(column: Any) -> list[Any]:
    coded = code(column)
    assert coded.codes.dtype == np.int64
    assert len(set(coded.names)) == coded.count
    if coded.codes.size:
        assert coded.codes.min() >= 0
        assert coded.codes.max() == coded.count - 1
    return [coded.names[c] for c in coded.codes.tolist()]


@pytest.mark.slow
@settings(deadline=None, max_examples=50)
@given(
    st.one_of(
        st.lists(st.integers(-50, 50)),
        st.lists(st.integers(-(2**62), 2**62)),
        st.lists(st.text(max_size=3)),
        st.lists(st.tuples(st.integers(0, 3), st.text(max_size=1))),
        st.lists(st.one_of(st.integers(0, 5), st.text(max_size=1))),
        st.lists(st.booleans()),
    )
)
def test_codes_name_what_they_coded(ids: list[Any]) -> None:
    assert decoded(ids) == ids


@pytest.mark.parametrize("many", [3, 400])
def test_every_kind_of_column_is_coded(many: int) -> None:
    pandas = pytest.importorskip("pandas")
    words = [f"r{k * 7 % many}" for k in range(2 * many)]
    numbers = [k * 7 % many for k in range(2 * many)]
    for column in (
        words,
        np.array(words),
        np.array(words, dtype=object),
        pl.Series(words),
        pl.Series(words, dtype=pl.Categorical),
        pl.Series(words, dtype=pl.Enum(sorted(set(words)))),
        pandas.Series(words),
        pandas.Categorical(words),
    ):
        assert decoded(column) == words
    for column in (
        numbers,
        np.array(numbers, dtype=np.uint8 if many < 9 else np.uint64),
        pl.Series(numbers),
        pandas.Series(numbers),
        np.array(numbers, dtype=np.float64),
    ):
        assert decoded(column) == numbers


def test_a_polars_column_with_gaps_keeps_them() -> None:
    ids: list[str | None] = ["a", None, "b", "a"]
    assert decoded(pl.Series(ids)) == ids
    assert decoded(pl.Series([], dtype=pl.String)) == []


def test_numbers_beyond_int64() -> None:
    ids = np.array([2**63 + 5, 3, 2**63 + 5], dtype=np.uint64)
    assert decoded(ids) == [2**63 + 5, 3, 2**63 + 5]


def test_values_as_floats() -> None:
    pandas = pytest.importorskip("pandas")
    assert as_floats([1, None, 2.5]) == pytest.approx([1, math.nan, 2.5], nan_ok=True)
    assert as_floats(pandas.Series([1, None, 3], dtype="Int64")) == pytest.approx([1, math.nan, 3], nan_ok=True)
    assert as_floats(pl.Series([1, None, 3])) == pytest.approx([1, math.nan, 3], nan_ok=True)
    with pytest.raises(InputError, match="'value' holds something"):
        as_floats(["x"])


def test_triples_leave_out_what_has_no_value() -> None:
    result = triples(["a", "b", "a"], [1, 1, 2], [3.0, math.nan, 5.0])
    assert result.counts == {"ratings": 2, "items": 2, "raters": 1, "left_out": 1}
    assert list(result.raters) == ["a"]
    whole = triples(pl.Series(["a", "b", "a"]), np.array([1, 1, 2]), [3, 4, 5])
    assert whole.counts == {"ratings": 3, "items": 2, "raters": 2}
    assert [whole.raters[r] for r in whole.rater] == ["a", "b", "a"]
    assert [whole.items[i] for i in whole.item] == [1, 1, 2]
    assert triples([], [], []).counts == {"ratings": 0, "items": 0, "raters": 0}


def test_columns_must_be_columns() -> None:
    with pytest.raises(InputError, match="one dimension"):
        as_array(np.ones((2, 2)))
    with pytest.raises(InputError, match="differ in length"):
        triples([1], [1, 2], [1, 2])
