"""Pairs that share a stimulus are not independent: variances by hand, and intervals that cover."""

from __future__ import annotations

import numpy as np
import pytest

from heartfelt.stats.columns.triples import Floats
from heartfelt.stats.comparison.predicted.hits import hits, mean_hits
from heartfelt.stats.comparison.predicted.prediction import choice_scores
from tests.facts import mentions


def test_hits() -> None:
    lean, value = np.array([1.0, -2.0, 0.0, 3.0, -1.0]), np.array([1.0, 1.0, 1.0, 0.5, 0.0])
    assert hits(lean, value).tolist() == [1.0, 0.0, 0.5, 0.5, 1.0]


def test_pairs_without_a_shared_member_are_independent() -> None:
    rng = np.random.default_rng(0)
    moved = rng.normal(0.2, 1, 40)
    first, second = np.arange(40), np.arange(40, 80)
    result = mean_hits(None, first, second, moved, np.zeros(40))
    assert result.estimate.value == pytest.approx(moved.mean())
    # Leaving out either member is leaving out the pair; centred over 80 of them rather than 40.
    assert result.standard_error == pytest.approx(moved.std(ddof=1) / np.sqrt(40), rel=0.02)
    assert result.df == pytest.approx(39)


def test_the_variance_is_that_of_dyads() -> None:
    """Products of residuals over all pairs that share a member, as a sum over members less one over pairs."""
    rng = np.random.default_rng(1)
    nodes = 60
    effect = rng.normal(0, 1, nodes)
    first, second = np.triu_indices(nodes, 1)
    moved = effect[first] + effect[second] + rng.normal(0, 0.3, first.size)
    residual = moved - moved.mean()
    total = sum(
        residual[p]
        * residual[(first == first[p]) | (second == first[p]) | (first == second[p]) | (second == second[p])].sum()
        for p in range(first.size)
    )
    by_hand = np.sqrt(total) / first.size
    result = mean_hits(None, first, second, moved, np.zeros(first.size))
    assert result.standard_error == pytest.approx(by_hand, rel=0.08)
    assert result.standard_error == pytest.approx(2 * effect.std(ddof=1) / np.sqrt(nodes), rel=0.1)


def test_too_little_to_test() -> None:
    one, nothing = np.array([1.0, 0.0]), np.zeros(2)
    few = mean_hits(None, ["a", "c"], ["b", "d"], one, nothing)
    assert mentions(few.p.why_missing, "2 pairs", "3")
    same = mean_hits(["r"] * 4, list("abcd"), list("efgh"), np.ones(4), np.ones(4))
    assert mentions(same.p.why_missing, "1 raters", "3")
    equal = mean_hits(list("rstu"), list("abcd"), list("efgh"), np.ones(4), np.ones(4))
    assert mentions(equal.p.why_missing, "predictions", "differ")
    empty = mean_hits(None, [], [], np.zeros(0), np.zeros(0))
    assert empty.estimate.why_missing == "there are no comparisons"


def _study(
    rng: np.random.Generator, prompts: int, size: int, raters: int, per_pair: int, noise: float
) -> tuple[list[Floats], Floats]:
    """Every two stimuli of a prompt judged by some of the raters; and how far a noisy prediction leans."""
    truth = rng.normal(0, 1.2, (prompts, size))
    predicted = truth + rng.normal(0, noise, truth.shape)
    taste = rng.normal(0, 0.5, (raters, *truth.shape))
    rows = []
    for prompt in range(prompts):
        for a, b in zip(*np.triu_indices(size, 1), strict=True):
            for rater in rng.choice(raters, per_pair, replace=False):
                own = truth[prompt] + taste[rater, prompt]
                value = float(rng.random() < 1 / (1 + np.exp(own[b] - own[a])))
                lean = predicted[prompt, a] - predicted[prompt, b]
                rows.append((rater, prompt * size + a, prompt * size + b, value, lean))
    *columns, lean = (np.array(column) for column in zip(*rows, strict=True))
    return columns, lean


@pytest.mark.slow
@pytest.mark.parametrize(("prompts", "size", "raters", "noise"), [(30, 3, 10, 1.5), (12, 5, 10, 1.5), (6, 8, 12, 2.0)])
def test_intervals_cover_where_pairs_share_stimuli(prompts: int, size: int, raters: int, noise: float) -> None:
    """With pairs taken as independent they covered 83% of the time in the last of these."""
    rng = np.random.default_rng(2)
    studies = [_study(rng, prompts, size, raters, 4, noise) for _ in range(250)]
    results = [choice_scores(*columns, difference=lean).accuracy for columns, lean in studies]
    true = np.mean([float(result) for result in results])
    covered = [float(result.low or 0) <= true <= float(result.high or 1) for result in results]
    assert 0.92 <= np.mean(covered) <= 0.99
