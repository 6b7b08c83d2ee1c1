"""Small exact cases of the tests: closed forms, every arrangement, and the equations written out."""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np
import pytest
from scipy import stats

from heartfelt.errors import InputError
from heartfelt.serialization import to_json
from heartfelt.stats.inference import (
    anova,
    cumulative_link_model,
    equivalence,
    equivalence_correlation,
    equivalence_mean,
    games_howell,
    linear_model,
    marginal_means,
    mixed_model,
    tukey,
)
from heartfelt.stats.inference.mixed import random_variances
from heartfelt.stats.inference.random_intercepts import ContrastInference, first_independent
from heartfelt.stats.inference.variance_tables import share_bounds
from heartfelt.stats.reliability import variance_components
from tests.facts import mentions
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
    assert mentions(same.why_missing, "again", "rater", "group")
    # As many levels, grouped otherwise: nothing is wrong with it.
    shifted = np.where(np.arange(d["y"].size) % 2 == 0, d["rater"], (d["rater"] + 1) % 7)
    assert mixed_model(d["y"], {}, {"rater": d["rater"], "shifted": shifted}).why_missing is None


def test_columns_that_others_span_are_found() -> None:
    columns = np.array([[1.0, 2, 0, 1, 0], [1, 2, 0, 0, 1], [1, 2, 0, 0, 0], [1, 2, 0, 1, 0]])
    assert first_independent(columns).tolist() == [True, False, False, True, True]
    assert first_independent(np.array([[1.0, 0, 1], [0, 1, 1]])).tolist() == [True, True, False]
    assert first_independent(np.column_stack([columns[:, 0] * 1e9, columns[:, 3] * 1e-9])).all()
    assert first_independent(np.column_stack([columns[:, 0], columns[:, 0] + 1e-4 * columns[:, 3]])).all()
    assert not first_independent(np.column_stack([columns[:, 0], columns[:, 0] + 1e-11 * columns[:, 3]])).all()


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
    monkeypatch.setattr("heartfelt.stats.reliability.reml.MOST_STEPS", 1)
    given = [np.zeros(d["y"].size, np.int64)], {"rater": d["rater"], "item": d["item"]}
    assert random_variances(d["y"], *given) == "no maximum of the likelihood was found"
    monkeypatch.setattr("heartfelt.stats.inference.mixed.MOST_WORK", 1.0)
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
        ends = [(each.value, each.low, each.high, each.bound_if_careless or 0.0) for each in (found, expected)]
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
    monkeypatch.setattr("heartfelt.stats.inference.ordinal.effects._DENSE_SHARE", 10.0)
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
        assert (found.value, found.low, found.high) == pytest.approx((row @ beta, row @ beta - half, row @ beta + half))
    assert result.residual_df == 5
    assert result.residual_mean_square == pytest.approx(mean_square)
    pair = result.pairs["x", "y"]
    assert pair.standard_error == pytest.approx(math.sqrt(mean_square * inverse[1, 1]))
    assert pair.p == pytest.approx(2 * stats.t.sf(abs(beta[1]) / (pair.standard_error or 1), 5))
    assert pair.estimate.counts == {"rows": 8}
    assert [result.means[level].counts["rows"] for level in "xy"] == [3, 5]
    constant = marginal_means([1.0] * 8, {"a": a}, "a")
    assert mentions(constant.pairs.why_missing, "outcome", "vary")
    alone = marginal_means(y, {"a": ["x"] * 8}, "a")
    assert mentions(alone.pairs.why_missing, "1 groups", "2")
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
    assert many.p == pytest.approx(stats.studentized_range.sf(5 / math.sqrt(1 / 3 + 1 / 4), 3, np.inf), rel=1e-5)


def test_a_saturated_model_has_means_without_bounds() -> None:
    result = marginal_means([1.0, 2, 4, 7], {"a": list("xxyy"), "b": list("uvuv")}, "a", interactions="all")
    why = "no residual degrees of freedom: as many parameters as rows"
    assert {name: float(mean) for name, mean in result.means.items()} == pytest.approx({"x": 1.5, "y": 5.5})
    assert {mean.why_no_interval for mean in result.means.values()} == {why}
    assert result.pairs.pairs[0].estimate.why_no_interval == why


def test_the_table_of_variances_names_its_columns_as_others_do() -> None:
    written: Any = to_json(anova([1.0, 2, 4, 7, 3], {"a": list("xxyyy")}))
    (row,) = written["rows"]
    within = (0.25 * 2 + np.var([4, 7, 3]) * 3) / 3
    assert row["f"] == pytest.approx(row["sum_sq"] / within)


def test_a_table_without_a_test_has_no_sums_of_squares() -> None:
    result = anova([2.0, 2, 2, 2], {"a": list("xxyy")})
    assert (result.residual_df, result.residual_sum_sq, result.total_sum_sq) == (0, 0.0, 0.0)
    tested = anova([1.0, 2, 4, 7, 3], {"a": list("xxyyy")}).rows[0]
    assert tested.omega_squared.why_no_interval == tested.eta_squared.why_no_interval != ""


def test_rows_without_factors_are_one_cell() -> None:
    codes, rows = linear_model.cells([], 5)
    assert (codes.tolist(), rows.tolist()) == ([0] * 5, [0])
    assert linear_model.cells([], 0)[1].tolist() == []


def test_a_mixed_model_does_not_depend_on_the_unit() -> None:
    d = crossed(1)
    ones = [mixed_model(unit * d["y"], {"system": d["system"]}, {"rater": d["rater"]}) for unit in (1.0, 1e-6, 1e6)]
    for result, unit in zip(ones, (1.0, 1e-6, 1e6), strict=True):
        assert result.why_missing is None
        for row, first in zip(result.coefficients, ones[0].coefficients, strict=True):
            assert float(row.estimate) / unit == pytest.approx(float(first.estimate), rel=1e-6)
    few = [mixed_model(d["y"][:rows], {}, {"group": list("aab")[:rows]}).why_missing for rows in (2, 3)]
    assert few[0] == "2 rows; at least 3 are needed"
    assert few[1] != "3 rows; at least 3 are needed"


def test_rows_without_a_number_or_a_group_take_no_part() -> None:
    whole = tukey([1.0, 2, 3, 4, 5.5], list("aabbb"))
    holed = tukey([1.0, 2, np.nan, 3, 4, 5.5, 9.0], [*"aaabbb", None])
    assert holed.counts["rows"] == 5
    assert holed.pairs[0].p == whole.pairs[0].p


def test_degrees_of_freedom_are_pooled_unless_they_are_the_same() -> None:
    tested = _contrasts(10.0, 10.05).f_test(np.eye(2), np.ones(2))
    pooled = 10 / 8 + 10.05 / 8.05
    assert tested is not None
    assert tested[1] == pytest.approx(2 * pooled / (pooled - 2), rel=1e-9)


def test_a_small_spread_about_a_large_mean_is_an_error() -> None:
    _, difference = equivalence.independent([1000.0, 1000.1, 1000.2], [999.9, 1000.0])
    assert difference.error == pytest.approx(math.sqrt(0.01 / 3 + 0.005 / 2))
    assert equivalence.independent([1000.0, 1000.0], [7.0, 7.0])[1].why_no_error == "neither group varies"
