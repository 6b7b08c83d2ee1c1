"""Ratings asked for because of the answers before them are noticed; honest designs are not accused."""

from __future__ import annotations

import numpy as np
import pytest

from heartfelt.stats.inference import count_dependence
from tests.facts import mentions

SOURCE = (
    "simulation with known truth; benchmarks of the same design with 400 studies each gave false alarms of .04 to .06 at .05"
    " over eight designs; slope by ordinary least squares"
)


def honest(seed: int, kind: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Raters with level, gain and carelessness of their own; how many rate an item is left to chance."""
    rng = np.random.default_rng(seed)
    truth, level = rng.normal(size=60), 0.7 * rng.normal(size=15)
    gain, careless = np.exp(0.4 * rng.normal(size=15)), rng.random(15) < 0.2
    rows = []
    for item in range(60):
        # In batches, half of the raters give fewer ratings to the same half of the items.
        pool = np.arange(15)[np.arange(15) % 2 == item % 2] if kind == "batches" else np.arange(15)
        size = 3 + 2 * (item % 2) + int(rng.random() < 0.5) if kind == "batches" else 2 + rng.integers(0, 4)
        for rater in rng.choice(pool, size, replace=False):
            value = rng.normal() * 2 if careless[rater] else gain[rater] * truth[item] + level[rater] + rng.normal()
            rows.append((rater, item, value))
    rater, item, value = np.array(rows).T
    return rater.astype(int), item.astype(int), (value > 1.0) * 1.0 if kind == "yes-no" else value


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["numbers", "yes-no", "batches"])
def test_honest_designs_are_not_accused(kind: str) -> None:
    alarms = np.zeros(2)
    for seed in range(150):
        result = count_dependence(*honest(seed, kind))
        alarms += [test.p is not None and test.p < 0.05 for test in (result.answers, result.disagreement)]
    # .05 with a standard error of .018
    assert (alarms / 150 < 0.11).all(), alarms


def test_a_second_rating_only_after_a_yes() -> None:
    rng = np.random.default_rng(0)
    rows = []
    for item, truth in enumerate(rng.normal(size=60)):
        first, second = rng.choice(10, 2, replace=False)
        yes = truth + rng.normal() > 0.5
        rows.append((first, item, float(yes)))
        if yes:
            rows.append((second, item, float(truth + rng.normal() > 0.5)))
    rater, item, value = np.array(rows).T
    result = count_dependence(rater.astype(int), item.astype(int), value)
    assert result.answers.p is not None
    assert result.answers.p < 1e-4
    assert result.answers.change.value is not None
    assert result.answers.change.value > 0
    unknown = count_dependence(None, item.astype(int), value)
    assert unknown.answers.p is not None
    assert unknown.answers.p < 1e-4


def test_a_third_rating_only_after_a_disagreement() -> None:
    rng = np.random.default_rng(1)
    rows = []
    for item, truth in enumerate(rng.normal(size=60)):
        votes = [float(truth + rng.normal() > 0) for _ in range(3)]
        raters = rng.choice(10, 3, replace=False)
        rows += [(raters[k], item, votes[k]) for k in range(3 if votes[0] != votes[1] else 2)]
    rater, item, value = np.array(rows).T
    for nominal in (False, True):
        result = count_dependence(rater.astype(int), item.astype(int), value, nominal=nominal)
        assert result.disagreement.p is not None
        assert result.disagreement.p < 1e-4
        assert result.answers.p is None or result.answers.p > 0.01


def test_categories_name_the_answer() -> None:
    rng = np.random.default_rng(2)
    rows = []
    for item in range(80):
        first = rng.integers(0, 4)
        rows += [(0, item, first), *([(1, item, rng.integers(0, 4))] if first == 2 else [])]
    rater, item, value = np.array(rows).T
    result = count_dependence(rater, item, value.astype(float), nominal=True).answers
    assert result.category == 2.0
    assert result.p is not None
    assert result.p < 1e-3


def test_a_cell_with_more_ratings_by_design_is_no_evidence() -> None:
    rng = np.random.default_rng(3)
    rater, item, value, cell = [], [], [], []
    for i in range(60):
        size = (3 if i % 2 else 6) + int(rng.random() < 0.5)
        rater += rng.choice(12, size, replace=False).tolist()
        item += [i] * size
        cell += ["AB"[i % 2]] * size
        value += (3 * (i % 2) + rng.normal(size=size)).tolist()
    within = count_dependence(rater, item, value, cell=cell).answers.p
    plain = count_dependence(rater, item, value).answers.p
    assert within is not None
    assert plain is not None
    assert plain < 1e-6 < 0.01 < within


def test_the_change_is_the_least_squares_slope() -> None:
    item = np.repeat(np.arange(30), [1 + k % 3 for k in range(30)])
    value = np.sin(np.arange(item.size) * 7.0)
    result = count_dependence(None, item, value).answers.change
    n = np.bincount(item)[item].astype(float)
    assert result.value == pytest.approx(np.polyfit(n, value, 1)[0])


def test_no_test_says_why() -> None:
    same = count_dependence([0, 1, 0, 1], [0, 0, 1, 1], [1.0, 2.0, 3.0, 4.0])
    assert same.answers.change.why_missing == "every item has 2 ratings"
    apart = count_dependence(np.arange(40), np.repeat(np.arange(20), [1, 3] * 10), np.arange(40.0) % 7)
    assert "no rater saw items" in str(apart.answers.change.why_missing)
    empty = count_dependence([], [], [])
    assert empty.answers.p is None


def test_counts_that_follow_from_the_answers_without_exception_are_the_clearest_case() -> None:
    """One rater answers everything; a second is asked after every yes."""
    yes = np.arange(40) % 3 == 0
    rater = [0] * 40 + [1] * int(yes.sum())
    item = [*range(40), *np.flatnonzero(yes).tolist()]
    value = [*(yes * 1.0), *(np.arange(yes.sum()) % 2 * 1.0)]
    result = count_dependence(rater, item, value).answers
    assert result.p == 0.0
    assert result.change.value == pytest.approx(1.0)
    constant = count_dependence(rater, item, [1.0] * len(item)).answers
    assert mentions(constant.change.why_missing, "answers", "vary")
