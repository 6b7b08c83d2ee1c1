"""Which unit comes next: draws, cells, quotas and blocks, and adaptive assignment."""

from __future__ import annotations

import math
from random import Random

import pytest

from heartfelt.collect.assign.model import Rater
from heartfelt.collect.assign.pool import AnswerSums, Errors, OpenUnits
from tests.collect.journal import Journal, layout


class Loaded(Random):
    """Draws the first member every time."""

    def random(self) -> float:
        return 0.0


def test_after_twelve_draws_the_rest_is_looked_through() -> None:
    """One unit in fifty is left for this rater: draws that miss it must not end their session."""
    pool = OpenUnits(layout(50))
    rater = Rater(number=1, id="r1", seen=set(range(1, 50)))
    assert pool.pick(rater, Loaded(1)) == 50
    rater.seen.add(50)
    assert pool.pick(rater, Loaded(1)) is None


def test_twelve_draws_and_no_more() -> None:
    draws: list[float] = []

    class Counting(Random):
        def random(self) -> float:
            draws.append(0.0)
            return 0.0

        def getrandbits(self, _: int, /) -> int:
            return 0

    pool = OpenUnits(layout(50))
    assert pool.pick(Rater(number=1, id="r1", seen=set(range(1, 50))), Counting(1)) == 50
    assert len(draws) == 12
    draws.clear()
    assert pool.pick(Rater(number=2, id="r2"), Counting(1)) == 1
    assert len(draws) == 1


def test_a_unit_with_fewer_ratings_comes_first_even_in_another_cell() -> None:
    pool = OpenUnits(layout(4, 3, cell={1: 0, 2: 0, 3: 1, 4: 1}))
    for unit in (1, 2, 3):
        pool.count(unit, leases=1)
    assert {pool.pick(Rater(number=1, id="r1"), Random(seed)) for seed in range(20)} == {4}
    taken = Rater(number=1, id="r1", seen={4}, cells={1})
    assert {pool.pick(taken, Random(seed)) for seed in range(20)} == {1, 2}


def test_a_unit_met_in_practice_comes_when_nothing_else_is_left() -> None:
    journal = Journal(layout(2, 1))
    rater = journal.arrive(1)
    rater.practised_units.add(1)
    assert not journal.state.pool.allowed(1, rater)
    assert {journal.state.pick(rater, Random(seed)) for seed in range(20)} == {2}
    rater.seen.add(2)
    assert journal.state.pick(rater, Random(1)) == 1
    assert rater.practised_units == {1}
    rater.seen.add(1)
    assert journal.state.pick(rater, Random(1)) is None


def test_the_fullest_cell_goes_first() -> None:
    pool = OpenUnits(layout(5, 2, cell={1: 0, 2: 0, 3: 0, 4: 1, 5: 2}))
    assert {pool.pick(Rater(number=1, id="r"), Random(seed)) for seed in range(30)} == {1, 2, 3}
    assert {pool.pick(Rater(number=1, id="r", cells={0}), Random(seed)) for seed in range(30)} == {4, 5}


def test_no_unit_of_a_cell_that_was_met_comes_even_if_nothing_else_is_left() -> None:
    pool = OpenUnits(layout(2, 2, cell={1: 0, 2: 0}))
    assert pool.allowed(2, Rater(number=1, id="r", seen={1}))
    met = Rater(number=1, id="r", seen={1}, cells={0})
    assert not pool.allowed(2, met)
    assert pool.pick(met, Random(1)) is None


def test_a_full_unit_is_open_to_nobody() -> None:
    pool = OpenUnits(layout(2, 2))
    pool.count(1, valid=1)
    pool.count(1, leases=1)
    assert (pool.open, pool.short, pool.floor(), pool.load(1)) == (1, 3, 0, 2)
    assert {pool.pick(Rater(number=1, id="r"), Random(seed)) for seed in range(20)} == {2}
    pool.count(2, valid=3)
    assert (pool.open, pool.short, pool.floor()) == (0, 1, None)
    assert pool.pick(Rater(number=1, id="r"), Random(1)) is None
    pool.count(2, valid=-2)
    assert (pool.open, pool.short, pool.floor()) == (1, 2, 1)


def test_a_raised_quota_opens_what_was_full() -> None:
    pool = OpenUnits(layout(3, 1))
    pool.count(1, valid=1)
    pool.count(2, valid=2)
    pool.count(3, leases=1)
    assert (pool.open, pool.short) == (0, 1)
    pool.raise_quota(layout(3, 2))
    assert (pool.open, pool.short, pool.floor()) == (2, 3, 1)
    assert {pool.pick(Rater(number=1, id="r"), Random(seed)) for seed in range(20)} == {1, 3}


def test_units_another_process_added_are_counted_and_not_given() -> None:
    pool = OpenUnits(layout(1, 2))
    pool.count(9, valid=1)
    assert (pool.valid[9], pool.open, pool.short) == (1, 1, 2)
    assert pool.pick(Rater(number=1, id="r", seen={1}), Random(1)) is None


def test_after_a_unit_another_process_added_any_block_may_come() -> None:
    pool = OpenUnits(layout(3, 2, block={1: 0, 2: 1, 3: 1}, order="blocks"))
    assert {pool.pick(Rater(number=1, id="r", latest=9, seen={9}), Random(seed)) for seed in range(20)} == {2, 3}


def test_manifest_order_begins_again_at_the_top() -> None:
    pool = OpenUnits(layout(4, 2, order="manifest"))
    assert pool.pick(Rater(number=1, id="r"), Random(1)) == 1
    assert pool.pick(Rater(number=1, id="r", latest=2, seen={2}), Random(1)) == 3
    assert pool.pick(Rater(number=1, id="r", latest=4, seen={4}), Random(1)) == 1


def test_a_block_is_finished_first_and_then_the_fullest() -> None:
    pool = OpenUnits(layout(6, 2, block={1: 0, 2: 0, 3: 1, 4: 1, 5: 1, 6: 2}, order="blocks"))
    assert {pool.pick(Rater(number=1, id="r", latest=1, seen={1}), Random(s)) for s in range(20)} == {2}
    assert {pool.pick(Rater(number=1, id="r", latest=2, seen={1, 2}), Random(s)) for s in range(20)} == {3, 4, 5}


def test_an_adaptive_budget_is_the_quota_times_the_units() -> None:
    journal = Journal(layout(2, 2, adaptive=True, minimum=1, spans={"q": 8.0}))
    state = journal.state
    assert (state.budget_left, state.open, state.unfilled) == (4, True, True)
    for number in (1, 2):
        journal.arrive(number)
        trials = [journal.lease(number, unit) for unit in (1, 2)]
    assert (state.budget_left, state.open, state.unfilled) == (0, False, True)
    assert state.pick(journal.arrive(3), Random(1)) is None
    assert not state.may_retake(state.trials[trials[0]])
    for number in (1, 2):
        for trial in list(state.raters[number].queue):
            journal.tell("answered", number, trial=trial.id, number=0.0, words='{"q": 4}')
    assert (state.budget_left, state.open, state.unfilled) == (0, False, False)


def test_after_the_minimum_the_largest_error_decides() -> None:
    journal = Journal(layout(2, 4, adaptive=True, minimum=2, spans={"q": 8.0}))
    for number, values in ((1, (4, 1)), (2, (4, 9))):
        journal.arrive(number)
        for unit, value in zip((1, 2), values, strict=True):
            trial = journal.lease(number, unit)
            journal.tell("answered", number, trial=trial, number=0.0, words=f'{{"q": {value}}}')
    third = journal.arrive(3)
    assert journal.state.pool.open == 0
    assert [journal.state.pick(third, Random(seed)) for seed in range(5)] == [2] * 5
    third.seen.add(2)
    assert journal.state.pick(third, Random(1)) == 1


def test_equal_errors_are_settled_by_a_number_that_looks_random() -> None:
    journal = Journal(layout(6, 4, adaptive=True, minimum=1, spans={"q": 8.0}))
    journal.arrive(1)
    for unit in range(1, 7):
        trial = journal.lease(1, unit)
        journal.tell("answered", 1, trial=trial, number=0.0, words='{"q": 4}')
    rater, order = journal.arrive(2), []
    while (unit := journal.state.pick(rater, Random(1)) or 0) > 0:
        order.append(unit)
        rater.seen.add(unit)
    ties = {unit: (unit * 2_654_435_761 + (2 + 2 * unit) * 40_503) % 1_000_003 for unit in range(1, 7)}
    assert order == sorted(ties, key=ties.__getitem__)
    assert order != sorted(order)


def test_what_is_coming_counts_as_if_it_were_there() -> None:
    errors = Errors({"q": 8.0, "c": 0.0})
    for value in (2.0, 6.0):
        errors.add(1, {"q": value, "other": 9.0}, 1)
    errors.add(2, {"c": 1.0}, 1)
    errors.update(1, 0, 0.0)
    errors.update(2, 0, 0.0)
    alone = AnswerSums()
    for value in (2.0, 6.0):
        alone.add(value, 1)
    assert errors.of(1) == alone.error(8.0, 0)
    assert errors.of(2) == pytest.approx((2 / 3 * 1 / 3) ** 0.5)
    assert errors.largest(lambda _: True) == 2
    errors.update(2, 9, 0.0)
    assert errors.largest(lambda _: True) == 1
    assert errors.largest(lambda unit: unit == 2) == 2
    assert errors.largest(lambda _: False) is None
    assert errors.of(3) == float("inf")


def test_counts_grow_to_the_unit_that_was_added() -> None:
    pool = OpenUnits(layout(1, 2))
    pool.count(9, leases=1)
    assert (len(pool.valid), len(pool.leases), pool.leases[9]) == (10, 10, 1)


def test_the_error_of_categories_follows_the_most_frequent_one() -> None:
    tally = AnswerSums()
    for code in (1.0, 1.0, 1.0, 2.0, 3.0):
        tally.add(code, 1)
    share = 4 / 7
    assert tally.error(0.0, 0) == pytest.approx(math.sqrt(share * (1 - share) / 5))
    assert tally.error(0.0, 2) == pytest.approx(math.sqrt(share * (1 - share) / 7))
