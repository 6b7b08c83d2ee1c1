"""Split halves: exact cases, planted reliability, coverage, and the leave-one-out loop against plain recomputation."""

from __future__ import annotations

import numpy as np
import pytest

from heartfelt.errors import InputError
from heartfelt.stats.compiled._kernels_leaving_out import split_once
from heartfelt.stats.compiled._kernels_reliability import group
from heartfelt.stats.reliability import icc, split_half
from heartfelt.stats.reliability.halves import length_factor
from tests.facts import mentions
from tests.stats.reliability.ratings import Crossed, Triple

SOURCE = "numpy.corrcoef on the halves; reliability of the simulated components; Spearman (1910), Brown (1910)"


@pytest.mark.slow
def test_two_raters_have_one_split() -> None:
    # Two ratings per item: a split only chooses which is first, and Spearman-Brown doubles.
    rng = np.random.default_rng(0)
    value = rng.normal(size=(60, 1)) + rng.normal(size=(60, 2))
    item, rater = np.indices(value.shape)
    result = split_half(rater.ravel(), item.ravel(), value.ravel(), splits=2000)
    flips = rng.random((2000, 60)) < 0.5
    halves = [np.where(f[:, None], value, value[:, ::-1]) for f in flips]
    r = np.mean([np.corrcoef(h.T)[0, 1] for h in halves])
    assert float(result) == pytest.approx(2 * r / (1 + r), abs=0.005)


def test_leaving_out_equals_recomputing() -> None:
    rater, item, value = Crossed(12, 6, 4).draw(np.random.default_rng(1))
    starts, order = group(item, 12)
    rater, item, value = rater[order], item[order], value[order]
    uniform = np.random.default_rng(2).random(value.size)
    sums = [np.zeros(12), np.zeros(6), np.zeros(value.size)]
    whole = split_once(starts, rater, value, uniform, *sums)

    # Find the halves the kernel dealt by dealing again as it does.
    half = np.zeros(value.size, np.int64)
    for g in range(12):
        place = list(range(4))
        for i in range(3, 0, -1):
            j = int(uniform[starts[g] + i] * (i + 1))
            place[i], place[j] = place[j], place[i]
        half[starts[g] : starts[g] + 4] = [0 if p < 2 else 1 for p in place]

    def correlation(keep: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> float:
        means = []
        for g in range(12):
            here = keep & (item == g)
            parts = [value[here & (half == h)] for h in (0, 1)]
            if all(p.size for p in parts):
                means.append([p.mean() for p in parts])
        return float(np.corrcoef(np.array(means).T)[0, 1])

    assert whole == pytest.approx(correlation(np.ones(value.size, bool)))
    assert sums[0] == pytest.approx([correlation(item != g) for g in range(12)])
    assert sums[1] == pytest.approx([correlation(rater != r) for r in range(6)])
    assert sums[2] == pytest.approx([correlation(np.arange(value.size) != j) for j in range(value.size)])


def test_step_of_the_spearman_brown_formula() -> None:
    assert length_factor(np.array([2, 2, 2])) == pytest.approx(2.0)
    assert length_factor(np.array([6, 6])) == pytest.approx(2.0)
    # Three ratings split 1 and 2: mean error (1 + 1/2)/2 = 3/4 against 1/3.
    assert length_factor(np.array([3, 3, 1])) == pytest.approx(2.25)


@pytest.mark.slow
@pytest.mark.parametrize("per_item", [2, 3, 6])
def test_planted_reliability_is_met_and_agrees_with_icc(per_item: int) -> None:
    design = Crossed(1500, 150, per_item, 1.0, 0.4, 1.6)
    rater, item, value = design.draw(np.random.default_rng(3))
    truth = 1.0 / (1.0 + 2.0 / per_item)
    result = split_half(rater, item, value, splits=20)
    assert float(result) == pytest.approx(truth, abs=0.04)
    assert float(result) == pytest.approx(float(icc(rater, item, value).icc2k), abs=0.02)


@pytest.mark.slow
def test_interval_covers() -> None:
    rng = np.random.default_rng(4)
    design = Crossed(60, 20, 5, 1.0, 0.4, 1.6)
    truth = 1.0 / (1.0 + 2.0 / 5)
    inside = 0
    for _ in range(250):
        e = split_half(*design.draw(rng), splits=20)
        inside += e.low is not None and e.high is not None and e.low <= truth <= e.high
    assert 0.91 <= inside / 250 <= 0.995


def test_same_seed_same_number_other_seed_near() -> None:
    data = Crossed(50, 12, 4).draw(np.random.default_rng(5))
    assert split_half(*data, seed=1) == split_half(*data, seed=1)
    assert split_half(*data, seed=1).value != split_half(*data, seed=2).value
    assert float(split_half(*data, seed=1)) == pytest.approx(float(split_half(*data, seed=2)), abs=0.03)


def test_edges() -> None:
    assert mentions(split_half([], [], []).why_missing, "0 items", "ratings", "correlation")
    ones: Triple = (np.arange(4), np.arange(4), np.arange(4.0))
    assert split_half(*ones).value is None
    flat = split_half([1, 2] * 4, [1, 1, 2, 2, 3, 3, 4, 4], [5] * 8)
    assert mentions(flat.why_missing, "variance", "items")
    agree = split_half([1, 2] * 4, [1, 1, 2, 2, 3, 3, 4, 4], [1, 1, 2, 2, 5, 5, 3, 3])
    assert agree.value == pytest.approx(1.0)
    assert agree.why_no_interval == "the halves agree perfectly"
    mixed = split_half(
        [1, 2, 3] * 4 + [1], [1] * 3 + [2] * 3 + [3] * 3 + [4] * 3 + [5], [1, 2, 1, 3, 4, 3, 8, 6, 7, 2, 2, 3, 9]
    )
    assert mixed.counts["items_with_one_rating"] == 1
    with pytest.raises(InputError, match="splits=0"):
        split_half([1], [1], [1], splits=0)
    with pytest.raises(InputError, match="more than once"):
        split_half([1, 1], [1, 1], [1, 2])


def test_ten_thousand_raters_with_one_rating_each() -> None:
    rng = np.random.default_rng(0)
    item = np.arange(10_000) % 1000
    result = split_half(np.arange(10_000), item, rng.normal(size=1000)[item] + rng.normal(size=10_000), splits=5)
    assert float(result) == pytest.approx(10 / 11, abs=0.02)
    assert result.low is not None
