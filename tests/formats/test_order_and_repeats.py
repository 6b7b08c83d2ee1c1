"""What tables of pairs say about the order of presentation, and what becomes of a rater's further answers."""

from __future__ import annotations

import itertools

import polars as pl
import pytest

import heartfelt
from heartfelt.errors import InputError
from heartfelt.labels import first_answers
from heartfelt.labels.strengths import contest
from heartfelt.snapshot import Snapshot
from heartfelt.snapshot.comparisons import choices, in_both_orders, pairs
from tests.facts import mentions

NAMES = "abcd"


def table(*, sorted_by_name: bool, winner_first: bool = False, raters: int = 3) -> pl.DataFrame:
    """Every rater judges every pair twice, b always winning over the others, a in the second round over c."""
    rows = []
    for rater, (a, b), again in itertools.product(range(raters), itertools.combinations(NAMES, 2), range(2)):
        winner = "b" if "b" in (a, b) else a if again else b
        first, second = (a, b) if sorted_by_name or (rater + again) % 2 else (b, a)
        if winner_first:
            first, second = winner, a if winner == b else b
        rows.append((f"r{rater}", first, second, winner, ("once", "twice")[again]))
    return pl.DataFrame(rows, schema=["rater", "first", "second", "winner", "session"], orient="row")


def read(frame: pl.DataFrame, **options: str) -> Snapshot:
    return heartfelt.read(frame, **options)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("frame", "options", "ordered", "words"),
    [
        (table(sorted_by_name=True), {}, False, "pairs do not come in both orders"),
        (table(sorted_by_name=False), {}, True, "pairs come in both orders"),
        (table(sorted_by_name=False, winner_first=True), {}, False, "the winner is always on the same side"),
        (table(sorted_by_name=True), {"order": "known"}, True, None),
        (table(sorted_by_name=False), {"order": "unknown"}, False, None),
    ],
    ids=["sorted", "both orders", "winner first", "known", "unknown"],
)
def test_an_order_is_known_by_evidence_or_by_word(
    frame: pl.DataFrame, options: dict[str, str], ordered: bool, words: str | None
) -> None:
    snapshot = read(frame, **options)
    assert (snapshot.ratings["place"].null_count() == 0) is ordered
    notes = [note for note in snapshot.source.notes if "presented first" in note]
    assert len(notes) == (words is not None)
    assert all(str(words) in note for note in notes)
    assert pairs(snapshot.ratings, "preference")["ordered"].unique().to_list() == [ordered]


def test_counts_of_votes_have_no_order() -> None:
    frame = pl.DataFrame(
        {"first": ["a", "b", "a", "b"], "second": ["b", "a", "c", "c"], "w": [3, 2, 5, 1], "l": [1, 4, 2, 2]}
    )
    options = {"votes": "w,l", "rater": "none"}
    assert read(frame, **options).ratings["place"].null_count() == 40
    assert read(frame, **options, order="known").ratings["place"].null_count() == 0
    with pytest.raises(InputError, match=r"order=knwon.*understood"):
        read(frame, **options, order="knwon")


def test_a_row_of_votes_without_a_count_is_in_the_ledger() -> None:
    frame = pl.DataFrame({"first": ["a", "a"], "second": ["b", "c"], "w": [3, None], "l": [1, None]})
    snapshot = read(frame, votes="w,l", rater="none")
    assert snapshot.ledger["reason"].to_list() == ["no answer"]
    assert snapshot.ratings.height == 8


@pytest.mark.slow
@pytest.mark.parametrize("options", [{"order": "known"}, {"order": "unknown"}], ids=["known", "unknown"])
def test_strengths_do_not_depend_on_which_side_is_listed_first(options: dict[str, str]) -> None:
    frame = table(sorted_by_name=False)
    turned = frame.rename({"first": "second", "second": "first"}).sample(fraction=1.0, shuffle=True, seed=3)
    made = [contest(read(each, **options), "preference", "stimulus") for each in (frame, turned)]
    assert made[0] is not None and made[1] is not None  # noqa: PT018  # for the types
    for one, other in zip(made[0].result.strengths, made[1].result.strengths, strict=True):
        assert one.why_missing == other.why_missing
        if not one.is_missing:
            assert (one.value, one.low) == pytest.approx((other.value, other.low), abs=1e-6)


def test_both_orders_are_evidence_only_where_chance_would_show_them() -> None:
    first, second = pl.Series(list("aaaab")), pl.Series(list("bbbbc"))
    assert not in_both_orders(first, second)
    assert in_both_orders(pl.Series(list("abab")), pl.Series(list("baba")))
    # One exception among many pairs that always come in one order is an accident.
    many = [(a, b) for a, b in itertools.combinations("abcdefgh", 2) for _ in range(4)]
    many[0] = (many[0][1], many[0][0])
    assert not in_both_orders(*(pl.Series(side) for side in zip(*many, strict=True)))


def test_every_answer_to_a_pair_is_used_and_the_columns_that_tell_them_apart_are_named() -> None:
    frame = table(sorted_by_name=True)
    snapshot = read(frame)
    made = contest(snapshot, "preference", "stimulus")
    assert made is not None
    assert made.pairs.height == frame.height
    (note,) = [note for note in snapshot.source.notes if "further answers" in note]
    assert mentions(note, "18 of 36 answers", "further")
    assert "differ in 'session'" in note
    # Without that column, two equal answers are still two answers.
    assert read(frame.drop("session")).ratings.height == 2 * frame.height


def test_rankings_by_rows_need_no_place() -> None:
    frame = pl.DataFrame(
        [
            (rater, "t", name, orders.index(name) + 1)
            for rater, orders in enumerate(("abc", "bac", "cab", "acb", "bca"))
            for name in "abc"
        ],
        schema=["rater", "trial", "stimulus", "value"],
        orient="row",
    )
    snapshots = [read(each, trial="trial", scale="rank") for each in (frame, frame[::-1])]
    results = [contest(snapshot, "value", "stimulus") for snapshot in snapshots]
    for made in results:
        assert made is not None
        assert len(made.result.core) == 3
        assert made.pairs.height == 15
    assert results[0] is not None and results[1] is not None  # noqa: PT018  # for the types
    values = [[float(each) for each in made.result.strengths] for made in results if made is not None]
    assert values[0] == pytest.approx(values[1])
    scale = snapshots[0].study.scale_of("value")
    assert not choices(snapshots[0].ratings, "value", scale)["ordered"].any()


RATED = pl.DataFrame(
    {
        "rater": ["u", "u", "v", "v", "u"],
        "stimulus": ["s", "s", "s", "s", "t"],
        "value": [1.0, 4.0, 2.0, 6.0, 3.0],
        "modality": ["audio", "video", "audio", "video", "audio"],
    }
)


def test_ratings_given_twice_ask_what_tells_them_apart() -> None:
    with pytest.raises(InputError, match=r"2 ratings.*'u'") as caught:
        read(RATED)
    assert mentions(caught.value.fix, "presentations", 'repeat="order"')
    assert mentions(caught.value.fix, "'modality'", 'stimulus="stimulus+modality"')
    assert read(RATED, stimulus="stimulus+modality").ratings.height == 5


@pytest.mark.slow
@pytest.mark.parametrize("numbers", [[0, 1, 0, 1, 0], [1, 2, 1, 2, 1]], ids=["from 0", "from 1"])
def test_a_rater_s_ratings_of_an_item_are_averaged(numbers: list[int]) -> None:
    by_number = read(RATED.with_columns(pl.Series("time", numbers)), repeat="time")
    for snapshot in (read(RATED, repeat="order"), by_number):
        answers = first_answers(snapshot).sort("stimulus", "rater")
        assert answers["value"].to_list() == [2.5, 4.0, 3.0]
        assert snapshot.ratings["repeat"].to_list() == [0, 1, 0, 1, 0]
        assert any(note.startswith("2 of 5 answers are a rater's further answers") for note in snapshot.source.notes)
