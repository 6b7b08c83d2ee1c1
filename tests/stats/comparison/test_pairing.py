"""Adaptive pairing: gains by hand, chance from the seed, and the saving in simulated arenas."""

from __future__ import annotations

import numpy as np
import pytest

from heartfelt.errors import InputError
from heartfelt.stats.comparison.strengths import pairing as module
from heartfelt.stats.comparison.strengths.pairing import PairSchedule


def _answered(size: int, comparisons: int, seed: int = 0) -> PairSchedule:
    rng = np.random.default_rng(seed)
    truth = rng.normal(0, 1.5, size)
    pairing = PairSchedule(size)
    for _ in range(comparisons):
        first, second = rng.choice(size, 2, replace=False).tolist()
        pairing.add(first, second, float(rng.random() < 1 / (1 + np.exp(truth[second] - truth[first]))))
    return pairing


def _covariance(
    pairing: PairSchedule, extra: tuple[int, int] | None = None
) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """The inverse of information and prior, relative to the mean strength, with one more comparison of a pair if given."""
    size = pairing.size
    d = pairing.strengths[:, None] - pairing.strengths
    p = 1 / (1 + np.exp(-d))
    weights = (pairing.won + pairing.won.T) * p * (1 - p)
    if extra is not None:
        for i, j in (extra, extra[::-1]):
            weights[i, j] += p[i, j] * (1 - p[i, j])
    # Strengths are shown relative to their mean, but the prior is about zero.
    information = np.diag(weights.sum(axis=1)) - weights + np.eye(size) / module.PRIOR_VARIANCE
    centre = np.eye(size) - 1 / size
    return np.asarray(centre @ np.linalg.inv(information) @ centre)


def test_gains_are_what_one_more_comparison_does_to_the_variances() -> None:
    pairing = _answered(6, 80)
    before = _covariance(pairing)
    gains = pairing.gains()
    assert np.allclose(gains, gains.T, rtol=1e-9)
    assert not np.diag(gains).any()
    for pair in ((0, 1), (2, 5), (3, 4)):
        change = np.diag(before) - np.diag(_covariance(pairing, pair))
        expected = float(np.diag(before) ** (module.POWER - 1) @ change)
        assert gains[pair] == pytest.approx(expected, rel=1e-6)


def test_everybody_is_compared_before_anybody_is_compared_again() -> None:
    pairs = PairSchedule(10, seed=3).next_pairs(5)
    assert sorted(pairs.ravel().tolist()) == list(range(10))


def test_chance_comes_from_the_seed_and_the_comparisons() -> None:
    first, again = _answered(12, 100), _answered(12, 100)
    assert np.array_equal(first.next_pairs(20), again.next_pairs(20))
    other = PairSchedule(12, seed=1)
    assert not np.array_equal(PairSchedule(12).next_pairs(20), other.next_pairs(20))


def test_the_order_of_answers_does_not_matter_and_an_answer_can_be_taken_back() -> None:
    rows = [(0, 1, 1.0), (1, 2, 0.0), (2, 3, 0.5), (3, 0, 1.0)]
    forward, backward = PairSchedule(4), PairSchedule(4)
    for row in rows:
        forward.add(*row)
    for row in reversed(rows):
        backward.add(*row)
    backward.add(0, 2, 1.0)
    backward.add(0, 2, 1.0, times=-1)
    assert np.array_equal(forward.strengths, backward.strengths)
    assert np.array_equal(forward.next_pairs(6), backward.next_pairs(6))


def test_only_allowed_pairs_are_chosen() -> None:
    pairing = _answered(8, 60)
    allowed = [(0, 1), (2, 3), (6, 4)]
    chosen = {tuple(row) for row in pairing.next_pairs(20, allowed).tolist()}
    assert chosen == set(allowed)
    assert pairing.next_pairs(3, []).shape == (0, 2)


def test_lopsided_pairs_gain_less_than_close_ones() -> None:
    pairing = PairSchedule(3)
    for _ in range(20):
        pairing.add(0, 2, 1.0)
        pairing.add(1, 2, 1.0)
        pairing.add(0, 1, 0.5)
    gains = pairing.gains()
    assert gains[0, 1] < gains[0, 2], "the last has by far the widest interval"
    for _ in range(200):
        pairing.add(0, 2, 1.0)
        pairing.add(2, 0, 1.0)
    assert pairing.gains()[1].argmax() in (0, 2), "now the second has"


def test_estimates_shrink_and_hold_always_winners() -> None:
    pairing = PairSchedule(3)
    for _ in range(10):
        pairing.add(0, 1, 1.0)
        pairing.add(1, 2, 1.0)
    estimates = pairing.estimates()
    values = [float(each) for each in estimates]
    assert values == sorted(values, reverse=True)
    assert sum(values) == pytest.approx(0, abs=1e-9)
    assert all(each.low is not None and each.low < float(each) for each in estimates)
    assert estimates[0].counts["comparisons"] == 20


def test_without_answers_all_strengths_are_equal() -> None:
    assert [float(each) for each in PairSchedule(4).estimates()] == [0.0] * 4


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: PairSchedule(1), "at least two contestants"),
        (lambda: PairSchedule(3).add(1, 1, 1.0), "no pair of 1 and 1"),
        (lambda: PairSchedule(3).add(0, 3, 1.0), "no pair of 0 and 3"),
        (lambda: PairSchedule(3).add(0, 1, 2.0), "2 is not an outcome"),
    ],
)
def test_what_cannot_be_compared_is_refused(call: object, message: str) -> None:
    assert callable(call)
    with pytest.raises(InputError, match=message):
        call()


@pytest.mark.slow
@pytest.mark.parametrize(("systems", "spread", "repeats"), [(10, 1.5, 40), (40, 1.5, 3)])
def test_adaptive_pairing_saves_and_its_intervals_cover(systems: int, spread: float, repeats: int) -> None:
    from benchmarks.comparisons import simulate

    made = simulate(systems, spread, repeats)
    assert made.widest > 0.3
    assert made.mean > 0.0
    assert made.cover > 0.92
    assert made.cover_reached > 0.91
