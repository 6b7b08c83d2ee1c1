"""Where the search for the least loss turns from one way to another: levels, groups that are joined, what is told elsewhere."""

from __future__ import annotations

from datetime import date, datetime

import numpy as np
import polars as pl
import pytest

from heartfelt.publishing.anonymity.generalisation import generalise as module
from heartfelt.publishing.anonymity.generalisation.generalise import generalise
from heartfelt.publishing.anonymity.generalisation.hierarchies import hierarchy
from heartfelt.publishing.anonymity.generalisation.information import OriginalColumn, codes_of, retained_through
from heartfelt.publishing.anonymity.generalisation.suppress import groups_of, suppressed, suppressions
from tests.publishing.test_search_by_hand import column, levels, matrix, needs

# --- levels -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("span", [15, 60, 150, 1_500, 6_000, 15_000, 60_000, 10**7])
def test_there_are_never_more_than_ten_levels(span: int) -> None:
    abouts = list(levels([round(at * span / 80) for at in range(81)], 2))
    assert 4 <= len(abouts) <= 10
    assert (abouts[0], abouts[-1]) == ("as given", "left out")


def test_bands_are_wider_than_one_or_a_hundredth() -> None:
    assert list(levels([0.5, 30.5, 60.5, 100.5], 1))[1] == "in bands of 2"  # a hundredth is 1
    assert list(levels([0.5, 30.5, 60.5, 100.4], 1))[1] == "in bands of 1"
    assert list(levels([0, 3, 5, 9], 1)) == ["as given", "in bands of 2", "in bands of 5", "left out"]
    assert list(levels([0, 3, 5, 10], 1))[-2:] == ["in bands of 5", "left out"]
    assert list(levels([0, 3, 5, 11], 1))[-2:] == ["in bands of 10", "left out"]


def test_dates_of_any_kind_are_years_from_1801() -> None:
    for values in ([date(1990, 1, 2), date(1995, 3, 4)], [datetime(1990, 1, 2), datetime(1995, 3, 4)]):
        assert levels(list(values), 1)["as years"] == [1990, 1995]
    assert levels(["1801-01-02", "1805-03"], 1)["as years"] == [1801, 1805]
    assert levels(["1800-01-02", "1805-03"], 1)["as given"] == ["1800-01-02", "1805-03"]
    assert levels(["1990-01-02", "unknown"], 1)["as given"] == ["1990-01-02", "unknown"]


def test_countries_have_to_be_more_than_four_in_five() -> None:
    places: list[object] = ["Germany", "France", "Japan", "Peru", "Atlantis"]
    assert "as continents" not in levels(places, 1)
    assert "as continents" in levels([*places, "Kenya"], 1)


@pytest.mark.parametrize(("rows", "fewest"), [(60, [2, 4, 8, 16]), (1000, [2, 20, 50, 125])])
def test_rare_is_less_than_k_and_less_than_shares_of_the_raters(rows: int, fewest: list[int]) -> None:
    counts = [1, *(least - 1 for least in fewest[1:])]
    answers = [letter for letter, count in zip("abcd", counts, strict=True) for _ in range(count)]
    known = levels([*answers, *["z"] * (rows - len(answers))], 2)
    for place, least in enumerate(fewest):
        left = known[f"answers of fewer than {least} raters left out"]
        assert set(left) == {None, "z", *"abcd"[place + 1 :]}


@pytest.mark.parametrize("named", [8, 9])
def test_up_to_eight_answers_are_named_together(named: int) -> None:
    rare = list("abcdefghi")[:named]
    known = levels([*["much"] * 10, *rare], 8, choices=[*rare, "much"])
    united = known.get("answers united until each is that of 8 raters")
    if named == 8:
        assert united is not None
        assert united[10:] == ["a, b, c, d, e, f, g or h"] * 8
    else:
        assert united is None
        assert known["answers of fewer than 8 raters left out"][10:] == [None] * 9


def test_what_was_typed_is_never_shown_as_it_was_typed() -> None:
    known = levels(["Painter", "painter", "PAINTER; smith", "Judge"], 2, typed_freely=True)
    assert list(known) == ["answers of fewer than 2 raters left out", "left out"]
    assert known["answers of fewer than 2 raters left out"] == ["painter"] * 3 + [None]
    tongues = levels(["de-AT", "de_CH", "fr"], 2, typed_freely=True)
    assert tongues["answers of fewer than 2 raters left out"] == ["de", "de", None]


def test_two_numbers_say_nothing_that_chance_would_not() -> None:
    assert retained_through(OriginalColumn.of(column([1.0, 9.0])), codes_of(column(["a", "b"]))) == 0
    three = retained_through(OriginalColumn.of(column([1.0, 1.0, 9.0])), codes_of(column(["a", "a", "b"])))
    assert three == pytest.approx((3 - 3 / 2) / 3.3)


def test_languages_are_not_taken_for_countries() -> None:
    spoken: list[object] = ["sv", "ar", "de", "et", "fr;de", "ca-ES"] * 2
    said = {value for values in levels(spoken, 2).values() for value in values if value is not None}
    assert all(set(str(value).split(" or ")) <= {*map(str, spoken), "fr", "ca"} for value in said)
    assert "as continents" in levels(["SE", "AR", "DE"] * 2, 2)
    lived = hierarchy(pl.Series("country of residence", ["se", "ar", "de"] * 2), 2)
    assert "as continents" in [level.about for level in lived.levels]
    assert "as continents" in levels(["Peru", "Chad", "de"] * 2, 2)


# --- groups -----------------------------------------------------------------------------------------------------------


def test_groups_differ_in_any_of_very_many_columns() -> None:
    rows = np.full((72, 70), 1, dtype=np.int64)  # sixteen codes a column: sixteen columns fill a number of 64 bits
    rows[np.arange(70), np.arange(70)] = 2
    rows[71] = 15
    assert sorted(groups_of(rows).tolist()) == list(range(72))
    assert groups_of(np.zeros((0, 3), dtype=np.int64)).tolist() == []


def test_how_many_ways_are_tried() -> None:
    for columns, ways in ((8, 9), (9, 2)):
        table = matrix(*["aaaab"] * columns)
        assert len(suppressions(table, needs(2, 5), np.ones(columns))) == ways
    for rows, ways in ((200, 2), (201, 1)):
        table = (np.arange(rows) // 2 + 1)[:, None]
        assert len(suppressions(table, needs(3, rows), np.ones(1))) == ways


def test_a_large_group_keeps_k_and_gives_no_more_than_are_needed() -> None:
    for letters, emptied in (("aaaab", 2), ("aaab", 2), ("aab", 3), ("aaaabbbb", 0), ("aaaaabbb", 0)):
        out = suppressed(matrix(letters), needs(2, len(letters)), np.ones(1))
        assert int((out == 0).sum()) == emptied, letters
    three = suppressed(matrix("aaaaabb"), needs(3, 7), np.ones(1))
    assert int((three == 0).sum()) == 3
    assert int((suppressed(matrix("aaabb"), needs(3, 5), np.ones(1)) == 0).sum()) == 5


def test_those_who_join_make_the_group_diverse_and_leave_one_that_is() -> None:
    weights = np.ones(1)
    last = needs(2, 5, ["s", "s", "t", "t", "s"])  # the last of the first group has the other value
    assert suppressed(matrix("aaaab"), last, weights)[:, 0].tolist() == [1, 1, 1, 0, 0]
    first = needs(2, 5, ["t", "s", "t", "s", "s"])
    assert suppressed(matrix("aaaab"), first, weights)[:, 0].tolist() == [0, 1, 1, 1, 0]
    alone = needs(2, 5, ["t", "s", "s", "s", "s"])  # who has the other value cannot leave
    assert suppressed(matrix("aaaab"), alone, weights)[:, 0].tolist() == [0] * 5
    neither = needs(2, 5, ["s", "t", "s", "s", "s"])  # whoever leaves, one of the two groups has one value only
    assert suppressed(matrix("aaaab"), neither, weights)[:, 0].tolist() == [0] * 5


def test_a_group_that_is_large_and_not_diverse_takes_one_with_another_value() -> None:
    for letters, values, gone in (
        ("aabbbbbb", "ssttsstt", [0, 1, 2]),
        ("aaabbbbbb", "sssststst", [0, 1, 2, 8]),
        ("aabb", "ssst", [0, 1, 2, 3]),
        ("aabbb", "sssst", [0, 1, 2, 3, 4]),
    ):
        out = suppressed(matrix(letters), needs(2, len(letters), list(values)), np.ones(1))
        assert np.flatnonzero(out[:, 0] == 0).tolist() == gone, letters


def test_a_group_that_is_large_and_diverse_is_left_alone_however_small() -> None:
    diverse = needs(2, 9, list("ststststs")[:2] + list("sss") + list("tsst"))
    for way in suppressions(matrix("bbaaacccc"), diverse, np.ones(1)):
        assert (way[:2, 0] != 0).all()
        assert int((way == 0).sum()) == 4


def test_columns_of_little_weight_go_first() -> None:
    table = matrix("ccdd", "zwzw")
    for weights, gone in (([1.0, 5.0], 0), ([5.0, 1.0], 1)):
        out = suppressed(table, needs(2, 4), np.array(weights))
        assert (out[:, gone] == 0).all()
        assert (out[:, 1 - gone] != 0).all()
    many = suppressed(matrix("aabc", "xxxx"), needs(2, 4), np.ones(2))
    assert many.tolist() == [[1, 1], [1, 1], [0, 1], [0, 1]]


def test_a_small_group_joins_the_one_with_which_least_is_lost() -> None:
    table = matrix("aabbb", "xxyyx")
    for weights, kept in (([1.0, 5.0], 1), ([5.0, 1.0], 0)):
        ways = suppressions(table, needs(2, 5), np.array(weights))
        least = min(ways, key=lambda way: float(((way == 0).sum(axis=0) * np.array(weights)).sum()))
        assert (least[:, kept] != 0).all()
        assert (least[4, 1 - kept], (least[:, 1 - kept] == 0).sum()) == (0, 3)
    apart = needs(2, 5, earlier=[1, 1, 2, 2, 2])
    for way in suppressions(table, apart, np.array([1.0, 5.0])):
        assert way[:2].tolist() == table[:2].tolist(), "what earlier releases divide is never joined"


# --- the search -------------------------------------------------------------------------------------------------------


def test_what_another_column_says_is_told_with_its_name() -> None:
    rows = 40
    frame = pl.DataFrame(
        {
            "country": ["Germany", "Brazil"] * (rows // 2),
            "town": [f"{'G' if at % 2 == 0 else 'B'}{at // 2 % 2}" for at in range(rows)],
            "free": [f"x{at}" for at in range(rows)],
        }
    )
    made = generalise([hierarchy(each, 20) for each in frame], [], 20, 1, weights={"town": 0.0})
    assert made.columns["town"].also_in is None, "half of it is not more than half"
    copies = frame.with_columns(town=pl.Series(["G", "B"] * 19 + ["G1", "B1"]))
    made = generalise([hierarchy(each, 20) for each in copies], [], 20, 1, weights={"town": 0.0})
    assert made.columns["town"].also_in is not None
    name, share = made.columns["town"].also_in
    assert name == "country"
    assert share == pytest.approx(retained_through(OriginalColumn.of(copies["town"]), codes_of(copies["country"])))
    assert made.columns["country"].also_in is None
    assert made.columns["free"].also_in is None
    assert made.columns["town"].weight == 0


def test_the_best_guess_is_compared_with_its_neighbours() -> None:
    frame = pl.DataFrame(
        {
            "age": [21, 33, 22, 20, 40, 40, 21, 21, 22, 33],
            "place": ["Peru", "Peru", "Peru", "Austria", "Austria", "Japan", "Japan", "Japan", "Peru", "Germany"],
            "job": list("ccbbaacaaa"),
        }
    )
    made = generalise([hierarchy(each, 3) for each in frame], [], 3, 1)
    assert sum(each.lost**2 for each in made.columns.values()) < 1.5  # the best guess alone costs 1.68
    assert made.smallest >= 3
    emptied = {name: each.values.null_count() for name, each in made.columns.items()}
    assert {name: each.emptied for name, each in made.columns.items()} == emptied


WAYS: dict[str, dict[str, int]] = {
    "all": {},
    "the best guess only": {"_MOST_FINISHED": 1},
    "step by step": {"_MOST_FINISHED": 1, "MOST_LISTED": 0},
    "listed in part": {"_MOST_FINISHED": 1, "_MOST_TRIED": 12},
}


@pytest.mark.parametrize("way", WAYS)
def test_every_way_of_searching_finds_the_table_in_which_nobody_stands_out(
    monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    for name, most in WAYS[way].items():
        monkeypatch.setattr(module, name, most)
    frame = pl.DataFrame(
        {
            "age": [20, 21, 22, 40, 41, 42] * 4,
            "place": ["Germany"] * 12 + ["Japan"] * 12,
            "tongue": ["de"] * 12 + ["ja"] * 12,
        }
    )
    made = generalise([hierarchy(each, 5) for each in frame], [], 5, 1)
    assert made.columns["age"].lost < 0.05
    for name in ("place", "tongue"):
        assert made.columns[name].values.to_list() == frame[name].to_list()
    assert [each.suppressed for each in made.columns.values()] == [0, 0, 0]
    assert made.exhaustive is (way in {"all", "the best guess only"})


def test_a_search_that_tried_everything_says_so() -> None:
    assert generalise([hierarchy(pl.Series("c", [], dtype=pl.String), 2)], [], 2, 1).columns == {}
    assert generalise([hierarchy(column(list("aabb")), 2)], [], 2, 1).exhaustive
    assert generalise([hierarchy(column(list("abcd")), 2)], [], 2, 1).exhaustive
