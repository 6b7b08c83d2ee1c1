"""The bootstrap of strengths: it agrees with the jackknife where both hold, and says where it has no interval."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pytest

from heartfelt.stats.comparison.strengths.bootstrap import bootstrap_strengths
from heartfelt.stats.comparison.strengths.models import bradley_terry, davidson
from tests.facts import mentions

pytestmark = pytest.mark.slow  # hundreds of fits each


def _arena(size: int, nu: float) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(1)
    strengths = np.array([-0.8, -0.1, 0.3, 0.6])
    rater, first = rng.integers(0, 60, size), rng.integers(0, 4, size)
    second = (first + rng.integers(1, 4, size)) % 4
    d = strengths[first] - strengths[second]
    draw = rng.random(size) * (np.exp(d / 2) + np.exp(-d / 2) + nu)
    value = np.where(draw < np.exp(d / 2), 1.0, np.where(draw < np.exp(d / 2) + nu, 0.5, 0.0))
    return rater, first, second, value


@pytest.mark.parametrize("model", ["bradley-terry", "davidson"])
@pytest.mark.parametrize("with_raters", [True, False])
def test_bootstrap_and_jackknife_agree(model: Literal["bradley-terry", "davidson"], with_raters: bool) -> None:
    rater, first, second, value = _arena(4000, 0.6 if model == "davidson" else 0.0)
    raters = rater if with_raters else None
    drawn = bootstrap_strengths(raters, first, second, value, model=model, resamples=1000)
    fitted = (davidson if model == "davidson" else bradley_terry)(raters, first, second, value)
    for boot, jack in zip(drawn.strengths, fitted.strengths, strict=True):
        assert boot.value == jack.value
        assert boot.low is not None
        assert boot.high is not None
        assert jack.low is not None
        assert jack.high is not None
        assert boot.high - boot.low == pytest.approx(jack.high - jack.low, rel=0.2)
        assert boot.counts["resamples"] == 1000


def test_the_same_seed_gives_the_same_interval() -> None:
    data = _arena(500, 0.0)
    first, again, other = (bootstrap_strengths(*data, resamples=200, seed=seed).strengths[0] for seed in (1, 1, 2))
    assert first == again
    assert first.low != other.low


def test_resamples_without_a_maximum_are_counted() -> None:
    # c won once: in about a third of the resamples it never does.
    first, second = ["a", "b"] * 20 + ["c", "a", "b"], ["b", "a"] * 20 + ["a", "c", "c"]
    value = [1.0] * 40 + [1.0, 1.0, 1.0]
    result = bootstrap_strengths(None, first, second, value, resamples=300)
    assert result.counts["resamples_without_maximum"] > 60
    assert "of the resamples have no finite strengths" in (result.strengths[0].why_no_interval or "")


def test_all_ties_have_no_interval() -> None:
    result = bootstrap_strengths(["x", "y"] * 6, ["a", "b", "c"] * 4, ["b", "c", "a"] * 4, [0.5] * 12, resamples=50)
    assert [each.value for each in result.strengths] == [0.0, 0.0, 0.0]
    assert mentions(result.strengths[0].why_no_interval, "resample", "strengths")
