"""Levels, information and the search for the least loss, on tables small enough to be worked out by hand."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest

from heartfelt.errors import InputError
from heartfelt.publishing.anonymity.generalisation import generalise as module
from heartfelt.publishing.anonymity.generalisation.generalise import generalise
from heartfelt.publishing.anonymity.generalisation.hierarchies import hierarchy
from heartfelt.publishing.anonymity.generalisation.information import (
    OriginalColumn,
    codes_of,
    losses,
    lost,
    retained,
    retained_through,
    shared_weights,
)
from heartfelt.publishing.anonymity.generalisation.suppress import Needs, groups_of, suppressed, suppressions


def column(values: list[object], name: str = "c") -> pl.Series:
    return pl.Series(name, values)


def levels(values: list[object], k: int, **more: object) -> dict[str, list[object]]:
    made = hierarchy(column(values), k, **more)  # type: ignore[arg-type]  # by name
    return {level.about: level.values.to_list() for level in made.levels}


# --- levels -----------------------------------------------------------------------------------------------------------


def test_bands_of_numbers_and_their_open_ends() -> None:
    ages = [18, 19, 21, 22, 25, 33, 34, 35, 36, 58, None]
    known = levels(ages, 2)  # type: ignore[arg-type]  # numbers
    assert list(known) == ["as given", "in bands of 2", "in bands of 5", "in bands of 10", "in bands of 20", "left out"]
    assert known["in bands of 10"] == ["10-19"] * 2 + ["20-29"] * 3 + ["30 or more"] * 5 + [None]
    assert known["in bands of 5"][:2] == ["15-19"] * 2
    assert levels([1, 2, 3, 4, 5, 6, 30, 31, 32, 33], 3)["in bands of 2"][:4] == ["3 or less"] * 3 + ["4-5"]
    fractions = levels([0.5, 1.5, 1.6, 9.5, 9.75, 9.9], 2)
    assert fractions["in bands of 5"] == ["0 to 5"] * 3 + ["5 to 10"] * 3
    assert levels([0.5, 1.2, 1.4, 9.5, 9.7, 9.9], 2)["in bands of 1"][:3] == ["below 2"] * 3
    assert levels([-3, -12, -3, -12], 2)["in bands of 5"] == ["-5 to -1", "-15 to -11"] * 2
    assert levels([7, 7, 7], 2) == {"as given": [7, 7, 7], "left out": [None] * 3}
    assert "in bands of 2" not in levels([1, 1, 2, 2], 2)
    dates = levels(["1990-01-02", "1991-03-04", "", None, "1993-05"], 2)
    assert dates["as years"] == [1990, 1991, None, None, 1993]
    assert levels(["1790-01-02", "1791-03-04"], 2)["as given"][0] == "1790-01-02"


def test_countries_languages_and_lists() -> None:
    places = ["Germany"] * 4 + ["AT"] * 3 + ["Japan"] * 2 + ["Peru"]
    known = levels(places, 3)  # type: ignore[arg-type]  # texts
    assert known["countries, those of fewer than 3 raters left out"] == ["Germany"] * 4 + ["AT"] * 3 + [None] * 3
    assert known["as regions of the world"][:1] == ["Western Europe"]
    assert known["as continents"] == ["Europe"] * 7 + ["Asia"] * 2 + ["Americas"]
    assert known["answers united until each is that of 3 raters"] == ["Europe"] * 7 + ["Americas or Asia"] * 3
    mostly = levels([*places, "Atlantis"], 3)
    assert "as continents" not in mostly
    spoken = levels(["en-GB;de", "en-US", "zh-Hant", "pt_BR", "de"] * 2, 2)
    assert spoken["only the first of several"][:2] == ["en-GB", "en-US"]
    assert spoken["languages without their region"] == ["en", "en", "zh", "pt", "de"] * 2
    assert "languages without their region" not in levels(["non-binary", "man"] * 3, 2)
    assert "languages without their region" not in levels(["de", "en"] * 3, 2)
    assert levels([" a ", "a", "", "b"], 2)["as given"] == ["a", "a", None, "b"]
    assert levels([True, False, True, False], 2)["as given"] == ["true", "false"] * 2


def test_no_more_levels_than_a_search_can_take() -> None:
    made = hierarchy(column(list(range(0, 100_000, 997))), 2)
    assert len(made.levels) <= 10
    assert made.levels[0].about == "as given"
    assert made.levels[-1].values.null_count() == len(made.original)


# --- information ------------------------------------------------------------------------------------------------------


def test_information_by_hand() -> None:
    given = OriginalColumn.of(column(["a", "a", "b", "c"]))
    total = 2 * math.log(2) + 2 * math.log(4)
    assert retained(given, codes_of(column(["a", "a", "b", "c"]))) == pytest.approx(1)
    united = codes_of(column(["a", "a", "b or c", "b or c"]))
    assert retained(given, united) == pytest.approx(4 * math.log(2) / total)
    emptied = codes_of(column(["a", "a", None, None]))
    assert retained(given, emptied) == pytest.approx(2 * math.log(2) / total)
    assert retained(given, codes_of(column([None] * 4))) == 0
    assert retained(given, emptied, 0.1) == pytest.approx((2 * math.log(2) + 0.2) / (total + 0.4))
    assert retained(OriginalColumn.of(column([None, None])), np.zeros(2, dtype=np.int64)) == 1
    alike = OriginalColumn.of(column(["x"] * 4))
    assert retained(alike, codes_of(column(["x", "x", None, None]))) == pytest.approx(0.5)
    gaps = OriginalColumn.of(column(["a", "b", None, None]))
    assert retained(gaps, codes_of(column(["a", "b", "c", None]))) == pytest.approx(1)


def test_variance_by_hand() -> None:
    given = OriginalColumn.of(column([1.0, 3.0, 7.0, 9.0, None, float("nan"), float("inf")]))
    assert (given.codes > 0).tolist() == [True] * 4 + [False] * 3
    bands = codes_of(column(["low", "low", "high", "high", None, None, None]))
    assert retained(given, bands) == pytest.approx(1 - 4 / 40)
    half = codes_of(column(["low", "low", None, None, None, None, None]))
    assert retained(given, half) == pytest.approx(1 - (2 + 4 + 16) / 40)
    assert retained_through(given, bands) == pytest.approx((4 * 0.9 - 4 / 3) / 4.4)
    constant = OriginalColumn.of(column([5, 5, 5, 5]))
    assert retained(constant, codes_of(column(["5", "5", None, None]))) == pytest.approx(0.5)
    assert retained_through(constant, codes_of(column(["a", "b", "c", "d"]))) == 0


def test_copies_count_once_and_chance_counts_for_nothing() -> None:
    place, spoken = column(["de", "fr", "pt", "ja"] * 10), column(["A", "B", "C", "D"] * 10)
    given = [OriginalColumn.of(place), OriginalColumn.of(spoken)]
    through = retained_through(given[0], given[1].codes)
    assert through == pytest.approx((40 * math.log(4) - 4.5) / (40 * math.log(4) + 4))
    assert retained_through(OriginalColumn.of(column(["a", "b"] * 4)), codes_of(column(list("aabbaabb")))) == 0
    assert shared_weights(given, np.array([1.0, 3.0])) == pytest.approx(np.array([1, 3]) / (1 + through))
    table = losses(given, [[given[0].codes, given[0].codes * 0], [given[1].codes]])
    assert table.shape == (2, 2, 2)
    assert table[0, 0].tolist() == pytest.approx([0, 1])
    assert table[0, 1].tolist() == pytest.approx([1 - 0.9 * through, 1])
    assert lost(given, np.column_stack([given[0].codes, given[1].codes * 0])) == pytest.approx([0, 1 - 0.9 * through])


# --- groups -----------------------------------------------------------------------------------------------------------


def needs(k: int, rows: int, *secrets: list[str], least: int = 2, earlier: list[int] | None = None) -> Needs:
    known = np.zeros(rows, dtype=np.int64) if earlier is None else np.array(earlier)
    return Needs(k, least, [codes_of(column(list(each))) for each in secrets], known)


def matrix(*columns: str) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    return np.column_stack([codes_of(column([None if value == "." else value for value in each])) for each in columns])


def test_groups_and_which_are_too_small() -> None:
    table = matrix("aabbb", "xxxxy")
    assert groups_of(table).tolist() == [0, 0, 1, 1, 2]
    assert needs(2, 5).small(groups_of(table)).tolist() == [False] * 4 + [True]
    assert needs(3, 5).small(groups_of(table)).tolist() == [True] * 5
    diverse = needs(2, 5, ["s", "s", "s", "t", "t"])
    assert diverse.small(groups_of(table)).tolist() == [True, True, False, False, True]
    assert diverse.enough(np.array([1, 3]))
    assert not diverse.enough(np.array([0, 1]))  # enough raters, of one value
    assert not needs(3, 5, ["s", "s", "s", "t", "t"]).enough(np.array([1, 3]))  # two values, too few raters
    apart = needs(2, 5, earlier=[0, 1, 0, 0, 0])
    assert apart.small(apart.groups(table)).tolist() == [True, True, False, False, True]
    wide = np.full((3, 70), 9, dtype=np.int64)
    wide[2, 69] = 1
    assert groups_of(wide).tolist() in ([0, 0, 1], [1, 1, 0])


def test_only_as_many_values_go_as_have_to() -> None:
    weights = np.ones(1)
    table = matrix("aaaaaaabb")
    out = suppressed(table, needs(3, 9), weights)
    assert (out[:, 0] == 0).sum() == 3  # the two, and one to keep them company
    assert (out[:7, 0] == 0).sum() == 1
    exact = suppressed(matrix("aaabb"), needs(3, 5), weights)
    assert not exact.any()  # of three nobody can leave
    two = matrix("aaaabbbb", "xxxyyyyx")
    ways = suppressions(two, needs(3, 8), np.array([1.0, 5.0]))
    for way in ways:
        assert np.bincount(groups_of(way)).min() >= 3
        assert ((way == two) | (way == 0)).all()
    assert min(int((way[:, 1] == 0).sum()) for way in ways) == 0  # what weighs more is kept
    assert suppressions(matrix("aabb"), needs(2, 4), weights)[0].tolist() == matrix("aabb").tolist()
    secret = needs(2, 6, ["s", "s", "t", "t", "t", "s"])
    mixed = suppressed(matrix("aabbbb"), secret, weights)
    assert not secret.small(secret.groups(mixed)).any()
    apart = needs(2, 6, earlier=[1, 1, 1, 2, 2, 2])
    kept_apart = suppressed(matrix("aabbba"), apart, weights)
    assert not apart.small(apart.groups(kept_apart)).any()


# --- the search -------------------------------------------------------------------------------------------------------


def test_the_least_loss_is_found_by_any_way_of_searching(monkeypatch: pytest.MonkeyPatch) -> None:
    frame = pl.DataFrame(
        {"age": [20, 21, 22, 40, 41, 42] * 2, "place": ["Germany"] * 6 + ["Japan"] * 6, "odd": list("abcdefghijkl")}
    )
    columns = [hierarchy(each, 3) for each in frame]
    whole = generalise(columns, [], 3, 1)
    assert whole.exhaustive
    assert whole.columns["age"].values.to_list() == ["20-39"] * 3 + ["40-59"] * 3 + ["20-39"] * 3 + ["40-59"] * 3 or (
        whole.columns["age"].lost < 0.05
    )
    assert whole.columns["place"].lost == pytest.approx(0)
    assert whole.columns["odd"].lost == 1
    assert (whole.groups, whole.smallest) == (4, 3)
    monkeypatch.setattr(module, "MOST_LISTED", 0)
    greedy = generalise(columns, [], 3, 1)
    assert not greedy.exhaustive
    assert [each.lost for each in greedy.columns.values()] == pytest.approx(
        [each.lost for each in whole.columns.values()]
    )


def test_weights_and_copies_decide_what_goes() -> None:
    frame = pl.DataFrame({"one": list("aabb") * 3, "two": list("xyxy") * 3})
    columns = [hierarchy(each, 4) for each in frame]
    for name, other in (("one", "two"), ("two", "one")):
        made = generalise(columns, [], 4, 1, weights={name: 3})
        assert made.columns[name].lost == pytest.approx(0)
        assert made.columns[other].lost == 1
        assert made.columns[name].weight == 3
        assert (made.columns[other].emptied, made.columns[name].emptied) == (12, 0)
    copies = pl.DataFrame(
        {"country": ["Germany", "Brazil"] * 20, "tongue": ["de", "pt"] * 20, "free": list("abcd") * 10}
    )
    made = generalise([hierarchy(each, 20) for each in copies], [], 20, 1, weights={"tongue": 0.01})
    assert made.columns["country"].lost == pytest.approx(0)
    assert made.columns["free"].lost == 1
    assert made.columns["free"].also_in is None
    mixed = copies.with_columns(tongue=pl.Series(["de", "pt"] * 18 + ["de", "pt", "fr", "ko"]))
    made = generalise([hierarchy(each, 18) for each in mixed], [], 18, 1, weights={"tongue": 0.0})
    assert made.columns["tongue"].also_in is None or made.columns["tongue"].also_in[0] == "country"


def test_what_earlier_releases_say_divides_the_groups() -> None:
    frame = pl.DataFrame({"one": list("aabb") * 3})
    early = pl.Series("earlier", ["in"] * 8 + ["new"] * 4)
    made = generalise([hierarchy(frame["one"], 4)], [], 4, 1, earlier=early)
    assert made.columns["one"].values.to_list() == list("aabb") * 2 + [None] * 4
    with pytest.raises(InputError, match=r"12 raters.*= 5.*= 1 within"):
        generalise([hierarchy(frame["one"], 5)], [], 5, 1, earlier=early)
    assert generalise([], [], 5, 1).columns == {}
    with pytest.raises(InputError, match="3 raters cannot be k-anonymous"):
        generalise([hierarchy(column(["a"] * 3), 4)], [], 4, 1)
    with pytest.raises(InputError, match="= 2"):
        generalise([hierarchy(column(["a"] * 3), 2)], [column(["s"] * 3)], 2, 2)
    split = generalise([hierarchy(column(list("aabb")), 2)], [column(list("stst"))], 2, 2)
    assert split.columns["c"].values.to_list() == list("aabb")
    same = generalise([hierarchy(column(list("aabb")), 2)], [column(list("sstt"))], 2, 2)
    assert same.columns["c"].values.null_count() == 4


def test_answers_that_many_gave_are_united_without_being_declared() -> None:
    known = levels([*"aaaaaaaaaaaa", *"bbbbbb", *"ccccc"], 5)
    assert known["answers united until each is that of 10 raters"] == ["a"] * 12 + ["b or c"] * 11
    places = ["Germany", "France", "Japan", "Peru", "Kenya", "Spain", "Atlantis"]
    assert "as continents" in levels(places * 2, 2)  # type: ignore[arg-type]  # six of seven are known
    given = OriginalColumn.of(column([1.0, 3.0, 7.0, 9.0]))
    bands = codes_of(column(["a", "b", "c", "c"]))
    assert retained_through(given, bands) == pytest.approx((4 * (1 - 2 / 40) - 4 * 2 / 3) / 4.4)
