"""Small exact cases of the tests: closed forms, every arrangement, and the equations written out."""

from __future__ import annotations

import itertools
import math
from typing import Any, Literal

import numpy as np
import pytest
from scipy import stats

from heartfelt.errors import InputError
from heartfelt.serialization import to_json
from heartfelt.stats.inference import (
    Rated,
    count_dependence,
    cumulative_link_model,
    equivalence_correlation,
    equivalence_mean,
    games_howell,
    marginal_means,
    mixed_model,
    no_association,
    permutation_correlation,
    permutation_paired,
    permutation_two_sample,
    prediction_powered_mean,
    prediction_powered_slope,
    tukey,
)
from heartfelt.stats.inference._ordinal_links import LINKS
from heartfelt.stats.inference.anova import share_bounds
from heartfelt.stats.inference.no_association import Earnings, no_association_over_systems, too_few_ways
from heartfelt.stats.inference.random_intercepts import ContrastInference, first_independent
from heartfelt.stats.inference.random_variances import random_variances
from heartfelt.stats.reliability import variance_components
from tests.stats.reliability.ratings import crossed

# --- degrees of freedom -----------------------------------------------------------------------------------------------


def _contrasts(*free: float) -> ContrastInference:
    """Independent contrasts of variance 1, 2, ... with these degrees of freedom: 2 v^2 / d^2 where only d doubts it."""
    size = len(free)
    variances = np.arange(1.0, size + 1)
    derivatives = [np.diag(np.eye(size)[k] * variances[k] * math.sqrt(2 / df)) for k, df in enumerate(free)]
    return ContrastInference(np.diag(variances), 99.0, tuple(derivatives), np.eye(size))


def test_degrees_of_freedom_of_contrasts_by_hand() -> None:
    inference = _contrasts(4.0, 8.0)
    assert [inference.df(row) for row in np.eye(2)] == pytest.approx([4.0, 8.0])
    # The sum has variance 3 and doubt (1 / 2 + 4 / 4).
    assert inference.df(np.ones(2)) == pytest.approx(2 * 9 / (1 / 2 + 4 / 4))
    assert _contrasts(0.5, 8.0).df(np.eye(2)[0]) == 1.0
    assert _contrasts(1e6, 8.0).df(np.eye(2)[0]) == pytest.approx(1e6)
    assert ContrastInference(np.eye(2), 7.0).df(np.ones(2)) == 7.0
    known = ContrastInference(np.eye(2), 7.0, (np.zeros((2, 2)),), np.eye(1))
    assert known.df(np.ones(2)) == 7.0
    assert ContrastInference(np.eye(2), 0.3, (np.zeros((2, 2)),), np.eye(1)).df(np.ones(2)) == 1.0


def test_several_contrasts_pool_their_degrees_of_freedom_as_in_lmertest() -> None:
    """Fai and Cornelius: with E the sum of df / (df - 2), 2 E / (E - q); 2 where a contrast has no more than 2."""
    rows, beta = np.eye(2), np.array([3.0, 4.0])
    f, df = _contrasts(4.0, 8.0).f_test(rows, beta) or (0.0, 0.0)
    assert f == pytest.approx((9 / 1 + 16 / 2) / 2)
    assert df == pytest.approx(2 * (4 / 2 + 8 / 6) / (4 / 2 + 8 / 6 - 2))
    assert (_contrasts(6.0, 6.0).f_test(rows, beta) or (0.0, 0.0))[1] == pytest.approx(6.0)
    # Summing over the others alone would give 14 degrees of freedom where one contrast has 1.
    for fewest in (1.0, 1.9, 2.0):
        assert (_contrasts(fewest, 3.5).f_test(rows, beta) or (0.0, 0.0))[1] == 2.0
    one = _contrasts(5.0).f_test(np.eye(1), np.array([2.0]))
    assert one == pytest.approx((4.0, 5.0))
    singular = ContrastInference(np.diag([1.0, 0.0]), 9.0)
    assert singular.f_test(rows, beta) is None
    for scale in (1e-12, 1e12):
        assert ContrastInference(scale * np.diag([1.0, 1e-15]), 9.0).f_test(rows, beta) is None
        assert ContrastInference(scale * np.diag([1.0, 1e-3]), 9.0).f_test(rows, beta) is not None


@pytest.mark.parametrize(("scale", "free"), [(1.0, 4.0), (1e8, 4.0)])
def test_without_a_positive_information_the_smallest_grouping_counts(
    scale: float, free: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Seven raters, twelve items, three coefficients: four degrees of freedom, not nine."""
    d = crossed(1)
    monkeypatch.setattr("numpy.linalg.eigvalsh", lambda _: np.array([-1.0]))
    result = mixed_model(scale * d["y"], {"system": d["system"]}, {"rater": d["rater"], "item": d["item"]})
    assert len(np.unique(d["rater"])) - 3 == free
    assert [each.df for each in result.coefficients] == [free] * 3
    assert result.effect("system").df_residual == free
    assert "the fewest degrees of freedom there could be" in result.notes[-1]
    few = mixed_model(d["y"], {"system": d["system"]}, {"half": d["rater"] % 2, "item": d["item"]})
    assert few.coefficients[0].df == 1.0


def test_nested_groupings_are_fitted_and_equal_ones_refused() -> None:
    d = crossed(1)
    nested = mixed_model(d["y"], {}, {"rater": d["rater"], "half": d["rater"] % 2})
    assert nested.why_missing is None
    other_way = mixed_model(d["y"], {}, {"half": d["rater"] % 2, "rater": d["rater"]})
    assert other_way.log_likelihood == pytest.approx(nested.log_likelihood, abs=1e-7)
    same = mixed_model(d["y"], {}, {"rater": d["rater"], "again": 10 - d["rater"]})
    assert same.why_missing == "again and rater group the rows the same way"
    # As many levels, grouped otherwise: nothing is wrong with it.
    shifted = np.where(np.arange(d["y"].size) % 2 == 0, d["rater"], (d["rater"] + 1) % 7)
    assert mixed_model(d["y"], {}, {"rater": d["rater"], "shifted": shifted}).why_missing is None


def test_columns_that_others_span_are_found() -> None:
    columns = np.array([[1.0, 2, 0, 1, 0], [1, 2, 0, 0, 1], [1, 2, 0, 0, 0], [1, 2, 0, 1, 0]])
    assert first_independent(columns).tolist() == [True, False, False, True, True]
    assert first_independent(np.column_stack([columns[:, 0] * 1e9, columns[:, 3] * 1e-9])).all()
    assert first_independent(np.column_stack([columns[:, 0], columns[:, 0] + 1e-4 * columns[:, 3]])).all()
    assert not first_independent(
        np.column_stack([columns[:, 0], columns[:, 0] + 1e-11 * columns[:, 3]])
    ).all()


@pytest.mark.parametrize("third", [False, True])
def test_variances_alone_are_those_of_the_model(third: bool) -> None:
    d = crossed(1)
    random = {"rater": d["rater"], "item": d["item"]} | ({"half": d["item"] % 4} if third else {})
    codes = np.unique(d["system"], return_inverse=True)[1]
    kind = np.arange(codes.size) % 3
    whole = mixed_model(d["y"], {"system": d["system"], "kind": kind.astype(str)}, random)
    alone = random_variances(d["y"], [codes, kind], random)
    assert not isinstance(alone, str)
    expected = {name: float(value) for name, value in whole.variances.items()}
    assert alone == pytest.approx(expected, rel=2e-3, abs=1e-6)
    close = random_variances(d["y"], [codes, kind], random, precision=1e-15)
    assert close == pytest.approx(expected, rel=1e-6, abs=1e-8)


def test_variances_alone_say_why_there_are_none(monkeypatch: pytest.MonkeyPatch) -> None:
    level = np.repeat(np.arange(4), 3)
    exact = random_variances(level * 1.0, [np.zeros(12, np.int64)], {"rater": level})
    assert exact == "no maximum of the likelihood was found"
    d = crossed(1)
    monkeypatch.setattr("heartfelt.stats.reml.MOST_STEPS", 1)
    given = [np.zeros(d["y"].size, np.int64)], {"rater": d["rater"], "item": d["item"]}
    assert random_variances(d["y"], *given) == "no maximum of the likelihood was found"
    monkeypatch.setattr("heartfelt.stats.inference.random_variances.MOST_WORK", 1.0)
    assert random_variances(d["y"], *given) == "too large to fit"


# --- means ------------------------------------------------------------------------------------------------------------


def test_welch_and_paired_differences_by_hand() -> None:
    a, b = [1.0, 2.0, 4.0, 5.0], [2.0, 2.5, 3.0]
    result = equivalence_mean(a, b, low=-2.0, high=1.5, alpha=0.1)
    shares = np.var(a, ddof=1) / 4, np.var(b, ddof=1) / 3
    error, df = math.sqrt(sum(shares)), sum(shares) ** 2 / (shares[0] ** 2 / 3 + shares[1] ** 2 / 2)
    assert result.df == pytest.approx(df)
    assert result.p_above_low == pytest.approx(stats.t.sf((0.5 + 2.0) / error, df))
    assert result.p_below_high == pytest.approx(stats.t.cdf((0.5 - 1.5) / error, df))
    assert result.p == max(result.p_above_low or 0, result.p_below_high or 0)
    half = stats.t.ppf(0.9, df) * error
    assert (result.estimate.low, result.estimate.high) == pytest.approx((0.5 - half, 0.5 + half))
    assert (result.estimate.interval, result.estimate.counts) == ("Welch t", {"a": 4, "b": 3})
    pairs = equivalence_mean(a, [2.0, 1.0, 3.0, 9.0], low=-3.0, high=3.0, pairs=True)
    gaps = np.array([-1.0, 1.0, 1.0, -4.0])
    error = float(gaps.std(ddof=1)) / 2
    assert pairs.df == 3.0
    assert pairs.p_above_low == pytest.approx(stats.t.sf((-0.75 + 3) / error, 3))
    assert pairs.estimate.interval == "Student t"
    assert equivalence_mean([1.0, 2.0], [3.0, 5.0], low=-9.0, high=9.0, pairs=True).df == 1.0
    assert equivalence_mean([1.0, 2.0], [3.0, 5.0], low=-9.0, high=9.0).p is not None
    single = equivalence_mean([1.0, None], [3.0, 5.0], low=-1, high=1)
    assert single.why_missing == "a group has a single value"
    assert single.estimate.counts == {"a": 1, "b": 2, "left_out": 1}
    assert equivalence_mean([1.0], [3.0], low=-1, high=1, pairs=True).why_missing == "a single pair"
    assert equivalence_mean([None], [3.0], low=-1, high=1, pairs=True).why_missing == "no pairs"
    for margins in ((1.0, 1.0), (-1.1, 0.5), (-0.5, 1.1)):
        with pytest.raises(InputError, match="not a range"):
            equivalence_correlation([1, 2], [1, 2], low=margins[0], high=margins[1])
    for alpha in (0.0, 0.5):
        with pytest.raises(InputError, match="alpha"):
            equivalence_mean([1, 2], [1, 2], low=-1, high=1, alpha=alpha)


def test_equivalent_correlations_by_hand() -> None:
    x, y = np.arange(12.0), np.array([3, 1, 4, 1.5, 5, 9, 2, 6, 5.5, 3.5, 8, 7])
    kinds: tuple[Literal["pearson", "spearman"], ...] = ("pearson", "spearman")
    for kind in kinds:
        result = equivalence_correlation(x, y, low=-0.5, high=0.9, kind=kind)
        r = float(result.estimate)
        error = math.sqrt((1.0 if kind == "pearson" else 1 + r * r / 2) / 9)
        assert result.p_above_low == pytest.approx(stats.norm.sf((math.atanh(r) - math.atanh(-0.5)) / error))
        assert result.p_below_high == pytest.approx(stats.norm.cdf((math.atanh(r) - math.atanh(0.9)) / error))
    open_ended = equivalence_correlation(x, y, low=-1.0, high=0.9)
    assert open_ended.p_above_low == 0.0
    assert equivalence_correlation(x, y, low=-0.9, high=1.0).p_below_high == 0.0


def test_shares_of_variance_have_the_noncentral_f_they_were_found_by() -> None:
    for f, df, rest, rows in ((5.0, 2.0, 20.0, 23), (1.4, 3.0, 12.0, 16), (80.0, 1.0, 7.0, 9)):
        bounds = share_bounds(f, df, rest, rows, 0.9)
        assert bounds is not None
        for share, chance in zip(bounds, (0.95, 0.05), strict=True):
            noncentrality = rows * share / (1 - share)
            if share:
                assert stats.ncf.cdf(f, df, rest, noncentrality) == pytest.approx(chance, abs=1e-6)
            else:
                assert stats.f.cdf(f, df, rest) <= chance
    assert share_bounds(0.01, 3.0, 12.0, 16, 0.9) == (0.0, 0.0)
    high = (share_bounds(5.0, 2.0, 20.0, 23, 0.999) or (0.0, 0.0))[1]
    assert stats.ncf.cdf(5.0, 2.0, 20.0, 23 * high / (1 - high)) == pytest.approx(0.0005, abs=1e-6)


def test_an_empty_cell_leaves_its_factors_without_a_test() -> None:
    d = crossed(1)
    half = np.where(d["item"] % 2 == 0, "even", "odd")
    keep = ~((half == "odd") & (d["system"] == "c"))
    random = {"rater": d["rater"][keep], "item": d["item"][keep]}
    fixed = {"system": d["system"][keep], "half": half[keep]}
    result = mixed_model(d["y"][keep], fixed, random, interactions="all")
    why = "system:half has empty cells, where the test has no clear hypothesis"
    assert (result.effect("system").why_missing, result.effect("half").why_missing) == (why, why)
    assert result.effect("system:half").why_missing is None
    assert result.effect("system:half").df == 1
    written: Any = to_json(result)
    assert "why_missing" not in written
    assert "means" not in written
    assert "why_missing" not in written["effects"][2]
    assert "pairs" not in written
    ordered = cumulative_link_model(np.clip(np.rint(d["y"][keep]), -1, 1), fixed, interactions="all")
    assert (ordered.effect("system").why_missing, ordered.effect("half").why_missing) == (why, why)
    assert ordered.effect("system:half").df == 1


@pytest.mark.parametrize("swapped", [False, True])
def test_variances_of_two_groupings_have_the_bounds_of_components(swapped: bool) -> None:
    """Which grouping are the raters is told by its name, not by its size."""
    d = crossed(1)
    pair = d["rater"] * 12 + d["item"]
    once = np.unique(pair, return_index=True)[1]
    rater, item = (d[name][once] for name in (("item", "rater") if swapped else ("rater", "item")))
    model = mixed_model(d["y"][once], {}, {"rater": rater, "item": item}, confidence=0.9)
    parts = variance_components(rater, item, d["y"][once], confidence=0.9)
    for name in ("rater", "item", "residual"):
        found, expected = model.variances[name], getattr(parts, name)
        ends = [
            (each.value, each.low, each.high, each.bound_if_careless or 0.0) for each in (found, expected)
        ]
        assert ends[0] == pytest.approx(ends[1], rel=1e-4)


def test_tests_of_ordered_categories_are_those_of_their_chi_square(monkeypatch: pytest.MonkeyPatch) -> None:
    d = crossed(1)
    category = np.clip(np.rint(d["y"]), -1, 1)
    random = {"rater": d["rater"], "item": d["item"]}
    model = cumulative_link_model(category, {"system": d["system"]}, random, confidence=0.9)
    effect = model.effect("system")
    assert effect.df == 2
    assert effect.df_residual is not None
    assert effect.chi_square is not None
    assert effect.p == pytest.approx(stats.chi2.sf(effect.chi_square, 2))
    assert effect.p_f == pytest.approx(stats.f.sf(effect.chi_square / 2, 2, effect.df_residual))
    for row in model.coefficients:
        half = stats.norm.ppf(0.95) * (row.standard_error or 0.0)
        value = float(row.estimate)
        assert (row.estimate.low, row.estimate.high) == pytest.approx((value - half, value + half))
        assert row.p == pytest.approx(2 * stats.norm.sf(abs(row.z or 0.0)))
    pairs = model.differences("system", confidence=0.9)
    for level in "bc":
        row = model.coefficient(f"system[{level}]")
        assert pairs["a", level].difference == pytest.approx(-float(row.estimate))
        assert pairs["a", level].standard_error == pytest.approx(row.standard_error)
    # Levels that hardly meet are kept as sparse matrices, which changes nothing.
    monkeypatch.setattr("heartfelt.stats.inference._ordinal_effects._DENSE_SHARE", 10.0)
    sparse = cumulative_link_model(category, {"system": d["system"]}, random, confidence=0.9)
    assert sparse.log_likelihood == pytest.approx(model.log_likelihood, abs=1e-8)
    assert sparse.effect("system").p == pytest.approx(effect.p, rel=1e-5)
    assert [float(each) for each in sparse.variances.values()] == pytest.approx(
        [float(each) for each in model.variances.values()], rel=1e-4
    )


def test_adjusted_means_of_an_unbalanced_table_by_hand() -> None:
    """Two by two without interaction: the normal equations written out, means with equal weights of the other factor."""
    a, b = np.array(list("xxxyyyyy")), np.array(list("ppqpqqqq"))
    y = np.array([1.0, 2.0, 4.0, 3.0, 7.0, 6.0, 8.0, 7.5])
    design = np.column_stack([np.ones(8), a == "y", b == "q"]).astype(float)
    inverse = np.linalg.inv(design.T @ design)
    beta = inverse @ design.T @ y
    mean_square = float(np.sum((y - design @ beta) ** 2)) / 5
    result = marginal_means(y, {"a": a, "b": b}, "a", confidence=0.9)
    for level, row in (("x", np.array([1, 0, 0.5])), ("y", np.array([1, 1, 0.5]))):
        half = stats.t.ppf(0.95, 5) * math.sqrt(mean_square * row @ inverse @ row)
        found = result.means[level]
        assert (found.value, found.low, found.high) == pytest.approx(
            (row @ beta, row @ beta - half, row @ beta + half)
        )
    assert result.residual_df == 5
    assert result.residual_mean_square == pytest.approx(mean_square)
    pair = result.pairs["x", "y"]
    assert pair.standard_error == pytest.approx(math.sqrt(mean_square * inverse[1, 1]))
    assert pair.p == pytest.approx(2 * stats.t.sf(abs(beta[1]) / (pair.standard_error or 1), 5))
    assert pair.estimate.counts == {"rows": 8}
    assert [result.means[level].counts["rows"] for level in "xy"] == [3, 5]
    constant = marginal_means([1.0] * 8, {"a": a}, "a")
    assert constant.pairs.why_missing == "the outcome does not vary"
    alone = marginal_means(y, {"a": ["x"] * 8}, "a")
    assert alone.pairs.why_missing == "1 groups; at least 2 are needed"
    perfect = marginal_means([1.0, 1.0, 3.0, 3.0], {"a": list("xxyy")}, "a")
    assert perfect.pairs["x", "y"].difference == pytest.approx(-2.0)
    assert perfect.pairs["x", "y"].p is None


def test_groups_of_their_own_variance_by_hand() -> None:
    """Welch's t and degrees of freedom of each pair, referred to the studentized range of all groups."""
    y, g = [1.0, 2, 3, 4, 6, 8, 10, 5, 5.5, 9], list("aaabbbbccc")
    result = games_howell(y, g, confidence=0.9)
    welch: Any = stats.ttest_ind(y[:3], y[3:7], equal_var=False)
    pair = result["a", "b"]
    assert pair.statistic == pytest.approx(abs(welch.statistic))
    assert pair.df == pytest.approx(welch.df)
    assert pair.p == pytest.approx(
        stats.studentized_range.sf(abs(welch.statistic) * math.sqrt(2), 3, welch.df), rel=1e-5
    )
    assert pair.standard_error == pytest.approx(math.sqrt(1 / 3 + np.var(y[3:7], ddof=1) / 4))
    two = games_howell(y[:7], g[:7])["a", "b"]
    assert two.p == pytest.approx(welch.pvalue)
    many = tukey(y, g, mean_square=2.0, df=1e9)["a", "b"]
    assert many.p == pytest.approx(
        stats.studentized_range.sf(5 / math.sqrt(1 / 3 + 1 / 4), 3, np.inf), rel=1e-5
    )


# --- counts -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("nominal", [False, True])
def test_counts_and_answers_by_least_squares(nominal: bool) -> None:
    """Raters and cells as dummy columns, errors clustered by item with their leverage (CR3)."""
    item = np.repeat(np.arange(24), [1 + k % 3 for k in range(24)])
    # Raters do not meet both cells alike, so that neither's means can be taken out alone.
    cell = item // 12
    rater = (np.arange(item.size) * 5 + item) % np.where(cell == 0, 3, 5)
    value = np.rint(1.5 + np.sin(np.arange(item.size) * 7.0) + 0.3 * rater)
    result = count_dependence(rater, item, value, cell=cell, nominal=nominal, confidence=0.9)
    n = np.bincount(item)[item].astype(float)
    apart = np.array([
        np.mean([(v != w) if nominal else (v - w) ** 2 for w in np.delete(value[item == i], own)])
        for i, v, own in zip(item, value, [int(np.sum(item[:k] == item[k])) for k in range(item.size)], strict=True)
        if np.sum(item == i) > 1
    ], float)  # fmt: skip
    several = n > 1
    for test, column, rows in (
        (result.answers, value, np.ones(n.size, bool)),
        (result.disagreement, apart, several),
    ):
        if nominal and test is result.answers:
            assert test.category is not None
            column = (value == test.category) * 1.0
        dummies = np.column_stack(
            [rater[rows, None] == np.unique(rater), cell[rows, None] == np.unique(cell)]
        ).astype(float)
        hat = dummies @ np.linalg.pinv(dummies)
        x, y = n[rows] - hat @ n[rows], column - hat @ column
        items = item[rows]
        by_item = np.array([np.sum(x[items == i] ** 2) for i in np.unique(items)])
        total = by_item.sum()
        slope = float(x @ y) / total
        score = np.array([np.sum((x * (y - slope * x))[items == i]) for i in np.unique(items)])
        error = math.sqrt(float(np.sum((score / (1 - by_item / total)) ** 2))) / total
        free = total**2 / float(np.sum(by_item**2)) - 1
        p = 2 * stats.t.sf(abs(slope) / error, free)
        half = stats.t.ppf(0.95, free) * error
        change = test.change
        assert (change.value, change.low, change.high) == pytest.approx(
            (slope, slope - half, slope + half), abs=1e-7
        )
        common = np.unique(value, return_counts=True)[1]
        kinds = (
            int(np.sum(np.minimum(common, value.size - common) >= 10))
            if nominal and test is result.answers
            else 1
        )
        assert test.p == pytest.approx(min(p * kinds, 1.0), rel=1e-5)


def test_of_several_categories_the_clearest_is_named_not_the_largest_change() -> None:
    """After every answer of 1 and no other, one rating more; answers of 2 and 3 change more, by chance."""
    item = np.repeat(np.arange(40), 1 + np.arange(40) % 2)
    value = np.where(np.bincount(item)[item] == 2, 1.0, 2.0 + np.arange(item.size) % 2)
    value[::9] = 3.0
    result = count_dependence(None, item, value, nominal=True).answers
    tests = {}
    n = np.bincount(item)[item] - 1.0
    for kind in (1.0, 2.0, 3.0):
        tests[kind] = count_dependence(None, item, (value == kind) * 1.0).answers
    assert result.category == min(tests, key=lambda kind: float(tests[kind].p or 0.0))
    assert result.p == pytest.approx(min(3 * min(float(each.p or 0.0) for each in tests.values()), 1.0))
    assert n.any()


# --- arrangements -----------------------------------------------------------------------------------------------------


def test_every_division_into_two_groups_is_taken() -> None:
    a, b = [1.0, 4.0, 6.0], [2.0, 3.5, 9.0, 11.0]
    both = np.array(a + b)
    for statistic in ("mean", "welch"):
        own, values = None, []
        for chosen in itertools.combinations(range(7), 3):
            first, second = both[list(chosen)], np.delete(both, chosen)
            error = 1.0 if statistic == "mean" else math.sqrt(first.var(ddof=1) / 3 + second.var(ddof=1) / 4)
            values.append((first.mean() - second.mean()) / error)
            own = values[-1] if chosen == (0, 1, 2) else own
        assert own is not None
        for alternative, share in (
            ("two-sided", np.mean(np.abs(values) >= abs(own) - 1e-9)),
            ("less", np.mean(np.array(values) <= own + 1e-9)),
            ("greater", np.mean(np.array(values) >= own - 1e-9)),
        ):
            how: Any = {"statistic": statistic, "alternative": alternative}
            result = permutation_two_sample(a, b, **how)
            assert result.p.value == pytest.approx(share)
            assert (result.exact, result.p.why_no_interval) == (True, "exact")


def test_more_arrangements_than_can_be_taken_are_drawn() -> None:
    x, y = np.arange(30.0), np.sin(np.arange(30.0))
    drawn = permutation_two_sample(x, y), permutation_paired(x, y), permutation_correlation(x, y)
    assert [(each.arrangements, each.exact) for each in drawn] == [(10_000, False)] * 3


def test_every_sign_of_a_difference_is_taken() -> None:
    a, b = np.array([1.0, 4.0, 6.0, 2.0, 5.0]), np.array([0.0, 5.0, 2.0, 2.0, 1.0])
    gaps = (a - b)[[0, 1, 2, 4]]
    sums = [float(gaps @ np.array(signs)) for signs in itertools.product((1, -1), repeat=4)]
    result = permutation_paired(a, b)
    assert result.p.value == pytest.approx(np.mean(np.abs(sums) >= abs(gaps.sum()) - 1e-9))
    assert permutation_paired(a, b, alternative="greater").p.value == pytest.approx(
        np.mean(np.array(sums) >= gaps.sum())
    )
    assert permutation_paired(a, a).p.why_missing == "no pair differs"
    with pytest.raises(InputError, match="Cannot draw 0 resamples"):
        permutation_paired(a, b, resamples=0)
    assert permutation_paired(a, b, resamples=1).p.value is not None


@pytest.mark.parametrize("kind", ["pearson", "spearman", "kendall"])
def test_every_order_is_taken(kind: Any) -> None:
    x, y = np.array([1.0, 2.0, 3.5, 5.0]), np.array([2.0, 1.0, 4.0, 9.0])
    measure: Any = {"pearson": stats.pearsonr, "spearman": stats.spearmanr, "kendall": stats.kendalltau}[kind]
    values = np.array([measure(x, y[list(order)]).statistic for order in itertools.permutations(range(4))])
    own = values[0]
    result = permutation_correlation(x, y, kind=kind)
    assert result.p.value == pytest.approx(np.mean(np.abs(values) >= abs(own) - 1e-9))
    less = permutation_correlation(x, y, kind=kind, alternative="less")
    assert less.p.value == pytest.approx(np.mean(values <= own + 1e-9))
    assert result.exact


def test_shuffles_stay_inside_their_blocks() -> None:
    x, y, block = [1.0, 2, 9, 8], [3.0, 4, 7, 6], ["a", "a", "b", "b"]
    # Of the four ways to arrange two blocks of two, one is as high as the own one.
    result = permutation_correlation(x, y, within=block, resamples=400, alternative="greater")
    assert result.p.value == pytest.approx(0.25, abs=0.07)
    assert result.method.endswith("within blocks")
    alone = permutation_correlation(x, y, within=list("abcd"), resamples=9)
    assert alone.p.why_missing == "shuffling within blocks changes nothing"
    for bad, message in ((block[:3], "has 3 rows, not 4"), (["a", "a", None, "b"], "A pair has no block")):
        with pytest.raises(InputError, match=message):
            permutation_correlation(x, y, within=bad)
    with pytest.raises(InputError, match="not shuffled within blocks"):
        permutation_correlation(x, y, within=block, kind="kendall")


def _earnings(size: int, systems: int, weight: Any = None, seed: int = 0) -> Earnings:
    rng = np.random.default_rng(seed)
    system = np.arange(size) % systems
    if weight is not None:
        label, predicted = rng.integers(0, len(weight), (2, size))
        predicted = np.where(rng.random(size) < 0.3, label, predicted)
        return Earnings(label=label, predicted=predicted, system=system, weight=np.array(weight))
    label = rng.normal(size=size)
    return Earnings(label=label, predicted=0.4 * label + rng.normal(size=size), system=system)


@pytest.mark.parametrize("weight", [None, (0.5, 1.0, 3.0)])
def test_many_units_have_the_normal_distribution_of_few(weight: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The variance that stands for shuffles is that of the shuffles."""
    earnings = _earnings(60, 12, weight)
    shuffled = earnings.shuffled_within(1500, 1), earnings.shuffled_between(1500, 1)
    monkeypatch.setattr(no_association, "LARGE", 5)
    again = _earnings(60, 12, weight)
    drawn = again.shuffled_within(1500, 1), again.shuffled_between(1500, 1)
    for few, many in zip(shuffled, drawn, strict=True):
        assert float(many.std()) == pytest.approx(float(few.std()), rel=0.08)
        assert float(many.mean()) == pytest.approx(float(few.mean()), abs=0.1 * float(few.std()) + 1e-9)


def test_a_few_items_of_one_system_are_enumerated() -> None:
    x, y = np.array([1.0, 2.0, 3.0, 5.0]), np.array([1.0, 3.0, 2.0, 9.0])
    single = Earnings(label=x, predicted=y, system=np.zeros(4, np.int64))
    values = np.array([x @ y[list(order)] for order in itertools.permutations(range(4))])
    result = no_association.no_association(single, confidence=0.9)
    assert result.value == pytest.approx(2 * np.mean(values >= x @ y - 1e-9))
    assert result.why_no_interval == "exact"
    apart = Earnings(label=x, predicted=y, system=np.arange(4))
    assert no_association.no_association(apart, confidence=0.9).value == result.value
    one = Earnings(label=x[:1], predicted=y[:1], system=np.zeros(1, np.int64))
    assert no_association.no_association(one).why_missing == "fewer than two predictions"
    assert too_few_ways(4, 40, 0.95) is None
    assert too_few_ways(4, 39, 0.95) is not None
    assert (
        too_few_ways(1, 1, 0.95)
        == "1 system can be rearranged in only 1 ways, too few for a p-value below .05"
    )


def test_two_systems_are_rearranged_too() -> None:
    """Predictions that say nothing within systems and which of the two is better."""
    rng = np.random.default_rng(0)
    system = np.repeat([0, 1], 10)
    given = Earnings(label=rng.normal(size=20) + system, predicted=system * 1.0, system=system)
    result = no_association.no_association(given)
    assert result.value == pytest.approx(1.0, abs=0.03)
    assert result.counts["systems"] == 2
    assert result.method == no_association.STIMULI
    few = Earnings(label=given.label[7:13], predicted=given.label[7:13] ** 2, system=system[7:13])
    drawn = no_association.no_association(few)
    assert drawn.method == no_association.STIMULI
    assert drawn.why_no_interval != "exact"


def test_signs_of_many_systems_are_drawn() -> None:
    earnings = _earnings(80, 8)
    own = np.bincount(earnings.system, earnings.within_rows)
    signs = np.array(list(itertools.product((1, -1), repeat=8))) @ own
    between = earnings.shuffled_between(9999, 0)
    rng = np.random.default_rng(0)
    values = rng.choice(signs, 40_000) + rng.choice(between, 40_000)
    total = own.sum() + earnings.between
    p = 2 * min(np.mean(values >= total - 1e-9), np.mean(values <= total + 1e-9))
    assert no_association_over_systems(earnings).value == pytest.approx(min(p, 1.0), abs=0.02)


# --- predictions ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("raters", [False, True])
@pytest.mark.parametrize("tuning", [None, 0.6])
def test_prediction_powered_means_by_hand(raters: bool, tuning: float | None) -> None:
    value = np.array([6.2, 3.1, 4.8, 7.0, 2.4, 5.5, 4.1, 6.6])
    predicted = np.array([6.9, 6.9, 5.1, 5.1, 3.5, 6.0, 4.2, 7.5])
    item, rater = np.array([0, 0, 1, 1, 2, 3, 4, 5]), np.array([0, 1, 2, 0, 1, 2, 0, 1])
    others = np.array([6.1, 4.4, 5.0, 3.9, 7.2, 6.6, 5.8])
    result = prediction_powered_mean(
        Rated(value, predicted, item, rater if raters else None), others, tuning=tuning, confidence=0.9
    )
    weight = 1 / np.bincount(item)[item]
    leverage = weight.sum()
    of_value, of_prediction = (
        weight / leverage * (column - np.average(column, weights=weight)) / math.sqrt(1 - 1 / leverage)
        for column in (value, predicted)
    )
    a, b = (np.bincount(item, part) for part in (of_value, of_prediction))
    best = float(np.clip(a @ b / (b @ b) / (1 + 6 / 7), 0, 1)) if tuning is None else tuning
    assert result.tuning == pytest.approx(best)
    corrected = value - best * predicted
    mean = float(np.average(corrected, weights=weight) + best * others.mean())
    assert result.estimate.value == pytest.approx(mean)
    assert result.offset == pytest.approx(np.average(predicted - value, weights=weight))
    assert result.predictions_alone == pytest.approx(others.mean())
    # Where the weight was fitted each gap counts over what its leverage leaves, not over the root of that.
    influence = weight / leverage * (corrected - np.average(corrected, weights=weight)) / (1 - 1 / leverage)

    def clustered(part: Any) -> tuple[float, float]:
        items = float(np.sum(np.bincount(item, part) ** 2))
        if not raters:
            return items, 5.0
        by_rater = float(np.sum(np.bincount(rater, part) ** 2)) * 3 / 2
        return max(items + by_rater - float(part @ part), items, by_rater), 2.0

    rated, df = clustered(influence)
    many = best**2 * float(others.var(ddof=1)) / 7
    free = (rated + many) ** 2 / (rated**2 / df + many**2 / 6)
    half = stats.t.ppf(0.95, free) * math.sqrt(rated + many)
    assert (result.estimate.low, result.estimate.high) == pytest.approx((mean - half, mean + half))
    alone, df = clustered(of_value)
    half = stats.t.ppf(0.95, df) * math.sqrt(alone)
    plain = result.ratings_alone
    assert (plain.low, plain.high) == pytest.approx((float(plain) - half, float(plain) + half))
    assert (plain.method, result.estimate.method) == ("mean", "prediction-powered mean")


def test_prediction_powered_slopes_need_three_items() -> None:
    rated = Rated([1.0, 2.0, 4.0], [1.0, 3.0, 4.0])
    result = prediction_powered_slope(rated, [1.0, 2.0, 3.0], [2.0, 3.0, 5.0], [1.0, 2.0, 3.0], tuning=1.0)
    assert result.estimate.value == pytest.approx(1.5 - 1.5 + 1.5)
    assert result.estimate.low is not None
    two = prediction_powered_slope(Rated([1.0, 2.0], [1.0, 3.0]), [1.0, 2.0], [2.0] * 3, [1.0, 2.0, 3.0])
    assert two.estimate.why_missing == "the rated items do not vary in x"
    flat = prediction_powered_slope(rated, [1.0, 2.0, 3.0], [2.0, 3.0, 5.0], [2.0, 2.0, 2.0])
    assert "too few to add anything" in (flat.estimate.why_missing or "")
    constant = prediction_powered_mean(Rated([2.0] * 4, [1.0, 2.0, 3.0, 4.0]), [2.0, 3.0, 5.0])
    assert constant.tuning == 0.0
    assert constant.ratings_alone.why_no_interval == "the rated values do not vary"


# --- ordered categories -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("link", list(LINKS))
def test_derivatives_of_categories_are_those_of_their_logarithm(link: Any) -> None:
    upper = np.array([-1.5, 0.2, 2.5, 6.0, np.inf, -5.0, 1.0])
    lower = np.array([-2.5, -0.7, 1.0, 5.0, 0.4, -7.0, -np.inf])
    here, h = LINKS[link](upper, lower), 1e-5
    up, down = LINKS[link](upper + h, lower), LINKS[link](upper - h, lower)
    assert here.by_a == pytest.approx((up.log_p - down.log_p) / (2 * h), abs=1e-6)
    assert here.by_aa == pytest.approx((up.by_a - down.by_a) / (2 * h), abs=1e-6)
    assert here.weight_by_a == pytest.approx((up.weight - down.weight) / (2 * h), abs=1e-6)
    more, less = LINKS[link](upper, lower + h), LINKS[link](upper, lower - h)
    assert here.by_b == pytest.approx((more.log_p - less.log_p) / (2 * h), abs=1e-6)
    assert here.by_bb == pytest.approx((more.by_b - less.by_b) / (2 * h), abs=1e-6)
    assert here.by_ab == pytest.approx((more.by_a - less.by_a) / (2 * h), abs=1e-6)
    assert here.weight_by_b == pytest.approx((more.weight - less.weight) / (2 * h), abs=1e-6)
    distribution = stats.logistic if link == "logit" else stats.norm
    assert here.log_p == pytest.approx(np.log(distribution.cdf(upper) - distribution.cdf(lower)), abs=1e-6)


def test_likelihood_ratios_compare_with_the_model_without_the_term() -> None:
    d = crossed(1)
    category = np.clip(np.rint(d["y"]), -1, 1)
    whole = cumulative_link_model(
        category, {"system": d["system"]}, {"rater": d["rater"]}, test="likelihood-ratio"
    )
    without = cumulative_link_model(category, {}, {"rater": d["rater"]})
    assert whole.log_likelihood is not None
    assert without.log_likelihood is not None
    effect = whole.effect("system")
    expected = 2 * (whole.log_likelihood - without.log_likelihood)
    assert effect.chi_square == pytest.approx(expected, abs=1e-6)
    assert effect.p == pytest.approx(stats.chi2.sf(expected, 2), rel=1e-5)
