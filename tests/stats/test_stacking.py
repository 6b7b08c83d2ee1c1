"""Stacks: gains where errors are independent, none where there is nothing to gain, and no label in its own prediction."""

from __future__ import annotations

import numpy as np
import pytest

from heartfelt.stats.prediction import stacking
from heartfelt.stats.prediction.stacking import stacked
from tests.facts import mentions


def study(seed: int, size: int = 200) -> tuple[np.random.Generator, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    true = rng.normal(size=size)
    return rng, true, true + 0.4 * rng.normal(size=size)


def test_models_with_independent_errors_are_better_together() -> None:
    rng, true, label = study(0)
    columns = np.column_stack([true + 1.2 * rng.normal(size=200) for _ in range(3)])
    result = stacked(label, columns, ("a", "b", "c"), np.arange(200))
    assert result.difference.low is not None
    assert result.difference.low > 0
    assert result.p.value is not None
    assert result.p.value < 0.01
    assert [weight.share for weight in result.weights] == pytest.approx([1 / 3] * 3, abs=0.12)
    assert all(weight.low <= weight.share <= weight.high for weight in result.weights)
    assert sum(result.chosen.values()) == pytest.approx(1)
    # In simulation the ideal combination correlates by sqrt(1 / (1 + 1.44 / 3)) with the true values.
    assert result.stack.value == pytest.approx((1 / (1 + 1.44 / 3)) ** 0.5 / 1.16**0.5, abs=0.06)


def test_copies_of_one_model_bring_nothing() -> None:
    rng, true, label = study(1, 60)
    first = true + rng.normal(size=60)
    result = stacked(label, np.column_stack([first, 3 * first + 2, first]), ("a", "b", "c"), np.arange(60))
    assert result.difference.value == pytest.approx(0.0, abs=1e-9)
    assert result.p.value == 1.0
    assert result.best.value == pytest.approx(np.corrcoef(first, label)[0, 1])


@pytest.mark.parametrize("groups", [60, 12])
def test_no_label_has_a_part_in_its_own_prediction(groups: int) -> None:
    rng, true, label = study(2, 60)
    columns = np.column_stack([true + rng.normal(size=60), rng.normal(size=60), true + 2 * rng.normal(size=60)])
    codes = (np.arange(60) % groups).astype(np.int64)
    whole = stacking._cross_fitted(label, columns, codes, groups, 0)
    for group in (0, 5):
        changed = np.where(codes == group, 100 * rng.normal(size=60), label)
        other = stacking._cross_fitted(changed, columns, codes, groups, 0)
        inside = codes == group
        assert other.stack[inside] == pytest.approx(whole.stack[inside], abs=1e-12)
        assert other.best[inside] == pytest.approx(whole.best[inside], abs=1e-12)
        assert not np.allclose(other.stack[~inside], whole.stack[~inside])


@pytest.mark.slow
def test_shuffled_labels_give_no_correlation() -> None:
    stacks, gains = [], 0
    for seed in range(40):
        rng, true, label = study(seed, 60)
        columns = np.column_stack([true + rng.normal(size=60), *rng.normal(size=(4, 60))])
        result = stacked(rng.permutation(label), columns, tuple("abcde"), np.arange(60), seed=seed)
        stacks.append(float(result.stack))
        gains += result.p.value is not None and result.p.value < 0.05 and float(result.difference) > 0
    assert abs(np.mean(stacks)) < 0.06
    assert gains <= 10


@pytest.mark.slow
def test_noisier_copies_are_seldom_called_a_gain() -> None:
    gains = 0
    for seed in range(100):
        rng, true, label = study(seed, 100)
        first = true + rng.normal(size=100)
        columns = np.column_stack([first, first + rng.normal(size=100), rng.normal(size=100)])
        result = stacked(label, columns, ("a", "b", "c"), np.arange(100), seed=seed)
        gains += result.p.value is not None and result.p.value < 0.05 and float(result.difference) > 0
    assert gains <= 8


def test_what_cannot_be_combined_says_why() -> None:
    rng, true, label = study(3, 60)
    one = stacked(label, true[:, None], ("a",), np.arange(60))
    assert mentions(one.stack.why_missing, "model", "combine")
    few = stacked(label[:8], rng.normal(size=(8, 3)), ("a", "b", "c"), np.arange(8))
    assert "too few" in (few.difference.why_missing or "")
