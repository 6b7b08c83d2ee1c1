from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats as scipy_stats

from heartfelt.errors import InputError
from heartfelt.stats.groups.contingency import association, evenness, marginal_homogeneity
from heartfelt.stats.groups.discriminant import discriminant_leave_one_out
from tests.facts import mentions

SOURCE = (
    "statsmodels SquareTable.homogeneity(method='stuart_maxwell'); Agresti, Categorical Data Analysis, 2nd edition, table 10.7"
    " (unaided vision of 7,477 women, Stuart 1955); scipy.stats.entropy and fisher_exact; scikit-learn"
)
# Stuart (1955): unaided distance vision, right eye in rows, left eye in columns.
VISION = [[1520, 266, 124, 66], [234, 1512, 432, 78], [117, 362, 1772, 205], [36, 82, 179, 492]]


def test_evenness_is_entropy_over_its_maximum() -> None:
    counts = [30, 20, 10, 0]
    result = evenness(counts)
    assert result.value == pytest.approx(scipy_stats.entropy(counts) / math.log(4), abs=1e-12), SOURCE
    assert result.low is not None
    assert result.high is not None
    assert 0 <= result.low < float(result) < result.high <= 1
    assert evenness([0, 9, 0]).value == 0
    assert "without width" in (evenness([5, 5, 5]).why_no_interval or "")
    assert evenness([0, 0]).why_missing == "no item has a category"
    with pytest.raises(InputError, match="two categories"):
        evenness([4])


@pytest.mark.slow
@pytest.mark.parametrize("shares", [[1, 1, 1, 1, 1, 1, 1, 1], [8, 4, 2, 1], [9, 1, 1]])
def test_the_interval_of_evenness_covers(shares: list[int]) -> None:
    rng = np.random.default_rng(4)
    p = np.array(shares) / sum(shares)
    truth = scipy_stats.entropy(p) / math.log(p.size)
    hits = 0
    for counts in rng.multinomial(150, p, 400):
        result = evenness(counts.tolist())
        hits += int((result.low or 0.0) - 1e-9 <= truth <= (result.high or 1.0) + 1e-9)
    assert hits >= 0.92 * 400


def test_marginal_homogeneity_of_the_published_table() -> None:
    result = marginal_homogeneity(VISION)
    assert result.statistic == pytest.approx(11.957, abs=5e-4), SOURCE
    assert result.df == 3
    assert result.p == pytest.approx(0.0075, abs=5e-5)
    assert result.n == 7477


@pytest.mark.peer
def test_marginal_homogeneity_equals_statsmodels() -> None:
    tables = pytest.importorskip("statsmodels.stats.contingency_tables")
    table = np.random.default_rng(1).integers(0, 30, (5, 5))
    expected = tables.SquareTable(table, shift_zeros=False).homogeneity("stuart_maxwell")
    result = marginal_homogeneity(table.tolist())
    assert result.statistic == pytest.approx(expected.statistic, abs=1e-9)
    assert result.p == pytest.approx(expected.pvalue, abs=1e-12)


def test_marginal_homogeneity_without_disagreement_or_in_separate_groups() -> None:
    assert marginal_homogeneity([[5, 0], [0, 7]]).p == 1.0
    assert mentions(marginal_homogeneity([[0, 0], [0, 0]]).why_missing, "item", "categories")
    apart = [[5, 3, 0, 0], [1, 5, 0, 0], [0, 0, 4, 2], [0, 0, 6, 4]]
    both = marginal_homogeneity(apart)
    halves = [marginal_homogeneity([line[at : at + 2] for line in apart[at : at + 2]]) for at in (0, 2)]
    assert both.df == 2
    assert both.statistic == pytest.approx(sum(half.statistic or 0 for half in halves))
    unused = marginal_homogeneity([[5, 3, 0], [1, 5, 0], [0, 0, 0]])
    assert unused.df == 1
    assert unused.statistic == pytest.approx((3 - 1) ** 2 / (3 + 1))  # McNemar's
    with pytest.raises(InputError, match="square"):
        marginal_homogeneity([[1, 2, 3], [4, 5, 6]])


def test_association_by_hand() -> None:
    result = association(8, 10, 20, 100)
    assert result.expected == pytest.approx(2.0)
    assert result.lift == pytest.approx(4.0)
    assert result.residual == pytest.approx(6 / math.sqrt(2 * 0.9 * 0.8))
    assert result.p == pytest.approx(scipy_stats.fisher_exact(np.array([[8, 2], [12, 78]])).pvalue, rel=1e-9)
    everywhere = association(20, 100, 20, 100)
    assert everywhere.lift == pytest.approx(1.0)
    assert everywhere.p is None
    assert association(0, 0, 20, 100).lift is None
    with pytest.raises(InputError, match="No 10 items"):
        association(5, 4, 20, 10)
    with pytest.raises(InputError, match="Fewer items"):
        association(0, 8, 8, 10)


def points(
    seed: int, sizes: list[int]
) -> tuple[np.ndarray[tuple[int, int], np.dtype[np.float64]], np.ndarray[tuple[int], np.dtype[np.int64]]]:
    rng = np.random.default_rng(seed)
    group = np.repeat(np.arange(len(sizes)), sizes)
    mean = rng.normal(0, 1.2, (len(sizes), 2))
    return mean[group] + rng.normal(0, [1.0, 0.6], (group.size, 2)), group


@pytest.mark.peer
def test_leave_one_out_equals_scikit_learn() -> None:
    lda = pytest.importorskip("sklearn.discriminant_analysis").LinearDiscriminantAnalysis
    x, group = points(3, [25, 12, 18])
    expected = []
    for at in range(group.size):
        others = np.arange(group.size) != at
        expected.append(int(lda().fit(x[others], group[others]).predict(x[at : at + 1])[0]))
    result = discriminant_leave_one_out(x, group)
    assert not isinstance(result, str)
    assert result.tolist() == expected, SOURCE


def test_leave_one_out_equals_leaving_out() -> None:
    x, group = points(5, [9, 7, 1, 14])
    result = discriminant_leave_one_out(x, group)
    assert not isinstance(result, str)
    for at in range(group.size):
        others = np.arange(group.size) != at
        a, g = x[others], group[others]
        present = np.unique(g)
        means = {k: a[g == k].mean(axis=0) for k in present}
        within = sum((a[g == k] - means[k]).T @ (a[g == k] - means[k]) for k in present) / (g.size - present.size)
        scores = {
            k: math.log((g == k).sum()) - 0.5 * (x[at] - means[k]) @ np.linalg.solve(within, x[at] - means[k])
            for k in present
        }
        assert result[at] == max(scores, key=lambda k: scores[k])


def test_what_cannot_be_classified_says_why() -> None:
    x, group = points(5, [9, 7])
    assert discriminant_leave_one_out(x, np.zeros(16, np.int64)) == "all items are in one group"
    assert "too few" in str(discriminant_leave_one_out(x[:4], np.array([0, 0, 1, 1])))
    line = np.column_stack([x[:, 0], 2 * x[:, 0]])
    assert "one follows from the others" in str(discriminant_leave_one_out(line, group))
    with pytest.raises(InputError, match="finite"):
        discriminant_leave_one_out(np.full((16, 2), np.nan), group)
