"""Column contracts."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heartfelt.errors import InputError
from heartfelt.tables import CONTRACTS, RATINGS, STIMULI, lossless_types, row_sum


def ratings(**columns: list[object]) -> pl.DataFrame:
    base: dict[str, list[object]] = {"rater": ["a"], "stimulus": ["s"], "question": ["q"], "value": [1.0]}
    return pl.DataFrame(base | columns)


def test_a_missing_column_names_the_nearest() -> None:
    with pytest.raises(InputError) as caught:
        RATINGS.check(ratings().rename({"stimulus": "stimulis"}), "data.csv")
    assert "data.csv" in caught.value.problem
    assert "Did you mean 'stimulis'?" in caught.value.fix


def test_extra_columns_are_kept_behind_the_contract() -> None:
    out = RATINGS.check(ratings(device=["phone"]).select("device", "value", "question", "stimulus", "rater"), "x")
    assert out.columns == ["rater", "stimulus", "question", "value", "device"]


def test_an_empty_cell_names_the_row() -> None:
    with pytest.raises(InputError, match=r"'stimulus'.*row 2"):
        STIMULI.check(pl.DataFrame({"stimulus": ["a", None]}), "x")


def test_two_rows_with_one_key_are_named() -> None:
    frame = pl.concat([ratings(), ratings(value=[2.0])])
    with pytest.raises(InputError, match=r"'a'.*'s'.*'q'"):
        RATINGS.check(frame, "x")
    RATINGS.check(frame.with_columns(repeat=pl.Series([0, 1])), "x")


def test_ratings_without_a_rater_may_repeat() -> None:
    frame = pl.concat([ratings(rater=[None]), ratings(rater=[None])]).with_columns(pl.col("rater").cast(pl.String))
    assert RATINGS.check(frame, "x").height == 2


@pytest.mark.parametrize("number", [pl.Series([7]), pl.Series([7.0])])
def test_a_number_and_a_text_are_one_id(number: pl.Series) -> None:
    assert RATINGS.check(ratings().with_columns(number.alias("rater")), "x")["rater"].to_list() == ["7"]


def test_a_moment_without_a_zone_is_utc() -> None:
    out = RATINGS.check(ratings(at=[datetime(2025, 1, 2, 3)]), "x")
    assert out["at"][0] == datetime(2025, 1, 2, 3, tzinfo=UTC)


@pytest.mark.parametrize("contract", CONTRACTS, ids=lambda c: c.name)
def test_an_empty_table_keeps_its_contract(contract: object) -> None:
    from heartfelt.tables import Contract

    assert isinstance(contract, Contract)
    assert contract.check(contract.empty(), "x").height == 0


@pytest.mark.slow
@given(
    st.lists(
        st.one_of(
            st.none(),
            st.text(max_size=6),
            st.integers(-(10**6), 10**6).map(str),
            st.floats(allow_nan=False, allow_infinity=False, width=32).map(str),
        ),
        min_size=1,
        max_size=8,
    )
)
@settings(deadline=None, max_examples=80)
def test_typing_text_loses_nothing(cells: list[str | None]) -> None:
    frame = pl.DataFrame({"x": pl.Series(cells, dtype=pl.String)})
    assert lossless_types(frame)["x"].cast(pl.String).to_list() == cells


def test_numbers_become_numbers_only_when_all_of_them_do() -> None:
    frame = lossless_types(
        pl.DataFrame({"a": ["1", "2"], "b": ["4.0", "2.833"], "c": ["007", "8"], "d": ["1.50", "2.0"]})
    )
    assert frame.dtypes == [pl.Int64, pl.Float64, pl.String, pl.String]


def test_sums_of_rows_are_the_same_in_every_run() -> None:
    numbers = np.random.default_rng(3).normal(size=(18, 300))
    columns = [f"c{at}" for at in range(len(numbers))]
    frame = pl.DataFrame(dict(zip(columns, numbers, strict=True)))
    sums = {frame.select(row_sum(map(pl.col, columns))).to_series().to_numpy().tobytes() for _ in range(300)}
    assert sums == {np.add.reduce(numbers, axis=0).tobytes()}


def test_sums_of_rows_take_gaps_as_nothing() -> None:
    frame = pl.DataFrame({"a": [1, None, None], "b": [2, 3, None]})
    assert frame.select(row_sum([pl.col("a"), pl.col("b")])).to_series().to_list() == [3, 3, 0]
