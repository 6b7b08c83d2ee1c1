"""Kendall's W against hand calculation and Friedman's test; the mean correlation against Spearman's; chance levels."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import pytest
from scipy.stats import chi2, friedmanchisquare, spearmanr

from heartfelt.errors import InputError
from heartfelt.stats.comparison.judges.concordance import rank_concordance
from tests.facts import mentions

SIEGEL = ([1, 6, 3, 2, 5, 4], [1, 5, 6, 4, 2, 3], [6, 3, 2, 5, 4, 1])
"""Three interviewers' rankings of six applicants: Siegel (1956), Nonparametric Statistics, table 9.4: s = 25.5, W = .16."""


def long(rankings: Sequence[Sequence[float]], name: str = "") -> tuple[list[str], list[str], list[str], list[float]]:
    """Rankings of one set, one per rater, as columns."""
    rows = [
        (f"r{rater}", f"t{name}{rater}", f"{name}{place}", float(rank))
        for rater, ranks in enumerate(rankings)
        for place, rank in enumerate(ranks)
    ]
    raters, trials, items, ranks = (list(column) for column in zip(*rows, strict=True))
    return raters, trials, items, ranks


def joined(
    *tables: tuple[list[str], list[str], list[str], list[float]],
) -> tuple[list[str], list[str], list[str], list[float]]:
    first, second, third, fourth = (list(itertools.chain(*columns)) for columns in zip(*tables, strict=True))
    return first, second, third, fourth


def test_siegel_s_example() -> None:
    made = rank_concordance(*long(SIEGEL))
    assert float(made.w) == pytest.approx(12 * 25.5 / (9 * (216 - 6)))
    pairs = [spearmanr(a, b).statistic for a, b in itertools.combinations(SIEGEL, 2)]
    assert float(made.correlation) == pytest.approx(np.mean(pairs))
    assert float(made.correlation) == pytest.approx((3 * float(made.w) - 1) / 2)
    assert made.w.low is None


def test_the_test_is_friedman_s_and_sets_add_up() -> None:
    rng = np.random.default_rng(4)
    first = rng.integers(1, 4, (7, 4)).tolist()  # with shared ranks
    second = [(rng.permutation(5) + 1).tolist() for _ in range(6)]
    parts = [friedmanchisquare(*zip(*ranks, strict=True)).statistic for ranks in (first, second)]
    alone = rank_concordance(*long(first))
    assert alone.chi_square == pytest.approx(parts[0])
    both = rank_concordance(*joined(long(first, "a"), long(second, "b")))
    assert both.chi_square == pytest.approx(sum(parts))
    assert both.df == 3 + 4
    assert both.p_value == pytest.approx(chi2.sf(sum(parts), 7))
    assert dict(both.correlation.counts) == {"rankings": 13, "sets": 2, "raters": 7}


def test_agreement_and_opposition() -> None:
    same = rank_concordance(*long([[1, 2, 3]] * 5))
    assert [float(same.w), float(same.correlation)] == pytest.approx([1.0, 1.0])
    assert same.correlation.why_no_interval == "nothing varies between raters"
    opposed = rank_concordance(*long([[1, 2, 3], [3, 2, 1]]))
    assert [float(opposed.w), float(opposed.correlation)] == pytest.approx([0.0, -1.0])
    assert opposed.correlation.low is None


def test_what_cannot_be_compared_is_left_out() -> None:
    """A ranking of other members, and one by a single rater, tell nothing about concordance."""
    table = joined(long(SIEGEL), long([[1, 2]], "x"))
    made = rank_concordance(*table)
    assert made.w.counts["left_out"] == 1
    assert float(made.w) == pytest.approx(float(rank_concordance(*long(SIEGEL)).w))
    nothing = rank_concordance(*long([[1, 2, 3]]))
    assert mentions(nothing.w.why_missing, "set", "raters")
    assert nothing.p_value is None
    assert rank_concordance(*long([[1, 1, 1]] * 3)).w.why_missing == "all ranks are shared"
    assert rank_concordance([], [], [], []).w.is_missing
    with pytest.raises(InputError, match="differ in length"):
        rank_concordance(["r"], ["t"], ["a", "b"], [1, 2])


@pytest.mark.slow
def test_guessing_gives_a_correlation_of_zero_and_the_test_holds_its_level() -> None:
    rng = np.random.default_rng(8)
    made = [
        rank_concordance(
            *joined(*(long([(rng.permutation(4) + 1).tolist() for _ in range(8)], str(n)) for n in range(4)))
        )
        for _ in range(150)
    ]
    assert np.mean([float(each.correlation) for each in made]) == pytest.approx(0.0, abs=0.02)
    assert np.mean([float(each.w) for each in made]) == pytest.approx(1 / 8, abs=0.02)
    assert np.mean([each.p_value < 0.05 for each in made if each.p_value is not None]) < 0.1
    within = [each.correlation.low <= 0 <= each.correlation.high for each in made]  # type: ignore[operator]  # numbers
    assert np.mean(within) > 0.9
