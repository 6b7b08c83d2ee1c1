"""The ceiling over systems: what a number that knows every system's true mean reaches in simulated studies.

SOURCE: simulated panels whose true system means are known; scipy.stats for rank correlations.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats as peer

from heartfelt.stats.ceilings.ceiling_over_systems import system_ceiling
from heartfelt.stats.prediction.association import Correlation

Floats = npt.NDArray[np.float64]
REACHED: dict[str, Callable[[Floats, Floats], tuple[float, float]]] = {
    "pearson": peer.pearsonr,
    "spearman": peer.spearmanr,
    "kendall": peer.kendalltau,
}


def panel(rng: np.random.Generator, true: Floats, raters: int, noise: float) -> tuple[Floats, Floats]:
    """Means of the systems, and their changes without each rater; a rater's level is in all systems alike."""
    rated = true + rng.normal(0, 0.8, (raters, 1)) + rng.normal(0, noise, (raters, true.size))
    means = rated.mean(axis=0)
    return means, (means - rated) / (raters - 1)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("metric", "systems", "raters", "noise"),
    [("pearson", 5, 20, 0.6), ("spearman", 6, 20, 0.6), ("kendall", 5, 25, 0.6), ("pearson", 12, 25, 1.0)],
)
def test_it_is_what_the_truth_reaches(metric: Correlation, systems: int, raters: int, noise: float) -> None:
    rng = np.random.default_rng(7)
    true = rng.normal(0, 0.4, systems)
    reached, found = [], []
    for _ in range(25):
        means, without = panel(rng, true, raters, noise)
        reached.append(REACHED[metric](true, means)[0])
        found.append(system_ceiling(means, without, metric=metric))
    target = float(np.mean(reached))
    values = np.array([float(estimate) for estimate in found])
    assert abs(values.mean() - target) < 0.1
    covered = [e.low is not None and e.high is not None and e.low <= target <= e.high for e in found]
    assert np.mean(covered) >= 0.9
    assert np.mean([(e.high or 0) - (e.low or 0) for e in found]) < 8 * np.std(reached)


def test_raters_levels_do_not_count_and_no_noise_is_a_ceiling_of_one() -> None:
    rng = np.random.default_rng(1)
    true = np.array([1.0, 2.0, 2.5, 4.0])
    means, without = panel(rng, true, 30, 0.0)
    assert float(system_ceiling(means, without)) == pytest.approx(1.0, abs=1e-6)
    noisy = system_ceiling(true / 4, panel(rng, true, 30, 2.0)[1])
    assert float(noisy) < 0.7
    assert noisy.low == 0.0
    assert (noisy.high or 0) > 0.5


def test_too_little_is_said_in_words() -> None:
    without = np.zeros((9, 2))
    assert "2 systems; at least 3" in (system_ceiling(np.ones(2), without).why_missing or "")
    assert "4 raters; at least 5" in (system_ceiling(np.arange(3.0), np.zeros((4, 3))).why_missing or "")
    assert "equal" in (system_ceiling(np.ones(3), np.zeros((9, 3))).why_missing or "")


def test_many_systems_stay_small_in_memory() -> None:
    rng = np.random.default_rng(2)
    means, without = panel(rng, rng.normal(0, 0.4, 60), 10, 0.5)
    assert 0.5 < float(system_ceiling(means, without, metric="spearman")) < 1
