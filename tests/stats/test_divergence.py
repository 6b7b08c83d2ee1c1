"""Divergence and top-k against SciPy and scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import jensenshannon

from heartfelt.errors import InputError
from heartfelt.stats.prediction.probability import jensen_shannon, top_k
from heartfelt.streams import stream

SOURCE = "scipy.spatial.distance.jensenshannon squared, base 2; sklearn.metrics.top_k_accuracy_score"


def test_divergence_is_scipys() -> None:
    draw = stream(2, "tests", "divergence")
    a, b = draw.dirichlet(np.full(5, 0.4), 200), draw.dirichlet(np.ones(5), 200)
    a[:20, 1] = 0.0
    expected = np.array([jensenshannon(p, q, base=2) ** 2 for p, q in zip(a, b, strict=True)])
    assert jensen_shannon(3 * a, b) == pytest.approx(expected, abs=1e-12)
    assert jensen_shannon([[1, 0]], [[0, 1]]).tolist() == [1.0]
    assert jensen_shannon([[1, 1]], [[2, 2]]).tolist() == [0.0]


@pytest.mark.peer
@pytest.mark.parametrize("k", [1, 2, 3])
def test_top_k_is_scikit_learns_where_shares_differ(k: int) -> None:
    draw = stream(3, "tests", "top")
    shares, label = draw.dirichlet(np.ones(4), 300), draw.integers(0, 4, 300)
    metrics = pytest.importorskip("sklearn.metrics", reason="scikit-learn is not installed")
    expected = metrics.top_k_accuracy_score(label, shares, k=k, labels=range(4))
    assert float(top_k(label, shares, k).mean()) == pytest.approx(expected)


def test_equal_shares_are_worth_chance() -> None:
    assert top_k([0, 3], np.ones((2, 4)), 1).tolist() == [0.25, 0.25]
    assert top_k([0, 1], [[0.4, 0.4, 0.2], [0.5, 0.25, 0.25]], 2).tolist() == [1.0, 0.5]


def test_bad_input_is_said() -> None:
    with pytest.raises(InputError, match="differ in shape"):
        jensen_shannon([[0.5, 0.5]], [[1.0, 0.0, 0.0]])
    with pytest.raises(InputError, match="sums to 0"):
        jensen_shannon([[0.0, 0.0]], [[1.0, 0.0]])
    with pytest.raises(InputError, match="numbers from 0 up"):
        jensen_shannon([[np.nan, 1.0]], [[1.0, 0.0]])
    with pytest.raises(InputError, match="k at least 1"):
        top_k([0], [[0.5, 0.5]], 0)
