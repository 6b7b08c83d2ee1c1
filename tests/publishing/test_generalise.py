"""k-anonymity and l-diversity hold for any table, and cost no more than they must."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heartfelt.errors import InputError
from heartfelt.publishing.anonymity.generalisation import generalise as module
from heartfelt.publishing.anonymity.generalisation.generalise import Generalised, generalise
from heartfelt.publishing.anonymity.generalisation.hierarchies import Level, hierarchy

WORDS = st.one_of(
    st.none(), st.sampled_from(["Germany", "FR", "other", "x", "en-GB;de", "2001-05-03", "ß"]), st.text(max_size=4)
)
NUMBERS = st.one_of(st.none(), st.integers(-40, 120))
FLOATS = st.one_of(st.none(), st.floats(-1e6, 1e6, allow_nan=False), st.just(float("nan")))
COLUMN = st.sampled_from([(WORDS, pl.String), (NUMBERS, pl.Int64), (FLOATS, pl.Float64), (st.booleans(), pl.Boolean)])


@st.composite
def tables(draw: st.DrawFn) -> tuple[pl.DataFrame, list[str], int, int]:
    rows = draw(st.integers(1, 60))
    columns = draw(st.lists(COLUMN, min_size=1, max_size=4))
    series = [
        pl.Series(f"c{place}", draw(st.lists(values, min_size=rows, max_size=rows)), dtype=dtype)
        for place, (values, dtype) in enumerate(columns)
    ]
    secrets = draw(st.integers(0, 1))
    for place in range(secrets):
        values = draw(st.lists(st.sampled_from(["a", "b", "c", None]), min_size=rows, max_size=rows))
        series.append(pl.Series(f"s{place}", values, dtype=pl.String))
    k = draw(st.integers(2, 8))
    return pl.DataFrame(series), [f"s{place}" for place in range(secrets)], k, draw(st.integers(1, min(k, 3)))


def published(made: Generalised) -> pl.DataFrame:
    return pl.DataFrame([column.values for column in made.columns.values()])


@given(tables(), st.booleans())
@pytest.mark.slow
@settings(max_examples=40)
def test_k_and_l_hold_for_any_table(case: tuple[pl.DataFrame, list[str], int, int], greedy: bool) -> None:
    frame, secrets, k, diversity = case
    names = [name for name in frame.columns if name not in secrets]
    hierarchies = [hierarchy(frame[name], k, typed_freely=name == "c1") for name in names]
    impossible = frame.height < k or any(frame[name].n_unique() < diversity for name in secrets)
    with pytest.MonkeyPatch.context() as patch:
        if greedy:
            patch.setattr(module, "MOST_LISTED", 0)
        if impossible:
            with pytest.raises(InputError):
                generalise(hierarchies, [frame[name] for name in secrets], k, diversity)
            return
        made = generalise(hierarchies, [frame[name] for name in secrets], k, diversity)
    table = published(made).with_columns(frame.select(secrets))
    groups = table.group_by(names).agg(pl.len(), *(pl.n_unique(name).alias(name) for name in secrets))
    sizes = groups["len"].to_list()
    assert min(sizes) >= k
    assert made.smallest == min(sizes)
    assert made.groups == len(sizes)
    assert all(min(groups[name].to_list()) >= diversity for name in secrets)
    for name, column in made.columns.items():
        assert 0 <= column.lost <= 1
        assert column.values.len() == frame.height
        assert hierarchies[names.index(name)].levels[-1].values.null_count() in {frame.height, frame[name].null_count()}


def test_a_table_that_is_large_enough_is_published_as_it_is() -> None:
    frame = pl.DataFrame({"age": [20, 30] * 10, "country": ["Germany", "France"] * 10})
    made = generalise([hierarchy(column, 5) for column in frame], [], 5, 1)
    assert published(made).cast(pl.String).equals(frame.cast(pl.String))
    assert all(column.lost == 0 for column in made.columns.values())


def test_countries_become_regions_before_they_are_left_out() -> None:
    countries = ["Germany"] * 3 + ["AT"] * 3 + ["Japan"] * 3 + ["South Korea"] * 3
    made = generalise([hierarchy(pl.Series("country", countries), 5)], [], 5, 1)
    assert set(made.columns["country"].values) == {"Western Europe", "Eastern Asia"}
    assert made.columns["country"].lost == pytest.approx(0.5)


def test_one_person_from_elsewhere_is_left_out_alone() -> None:
    countries = ["Germany"] * 30 + ["France"] * 30 + ["Peru"]
    made = generalise([hierarchy(pl.Series("country", countries), 5, typed_freely=True)], [], 5, 1)
    values = made.columns["country"].values.to_list()
    assert "peru" not in values
    assert values.count("germany") >= 25
    assert made.smallest >= 5


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([18, 19, 21, 22, 25, 33, 34, 35, 36, 37], {"10-29", "30-39"}),
        ([61, 62, 63, 64, 65, 91, 40, 41, 42, 43, 44], {"40-49", "60 or more"}),
    ],
)
def test_ages_become_bands_with_open_ends(values: list[int], expected: set[str]) -> None:
    levels: list[Level] = [
        level for level in hierarchy(pl.Series("age", values), 5).levels if level.about == "in bands of 10"
    ]
    assert levels
    shown = set(levels[0].values.to_list())
    assert len(shown) == len(expected)
    assert any(text.endswith(("or less", "or more")) for text in shown) or shown == expected


def test_four_people() -> None:
    frame = pl.DataFrame({"age": [20, 30, 40, 50]})
    with pytest.raises(InputError, match="4 raters cannot be k-anonymous"):
        generalise([hierarchy(frame["age"], 5)], [], 5, 1)


def test_dates_are_never_published_as_they_are() -> None:
    dates: list[Any] = ["1990-01-02", "1991-03-04", None, "1993-05-06"] * 5
    for level in hierarchy(pl.Series("born", dates), 5).levels:
        assert not any("-0" in str(value) for value in level.values.drop_nulls())
