"""Pairwise comparisons against R's manual, SciPy, pingouin, printed tables and simulation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

from heartfelt.errors import InputError
from heartfelt.serialization import to_json
from heartfelt.stats.inference import anova, games_howell, holm, tukey
from heartfelt.stats.inference.posthoc import critical, upper_tail
from tests.facts import mentions

SOURCE = "R manual, example(TukeyHSD) on warpbreaks; scipy.stats.tukey_hsd; pingouin; tables of the studentized range"

# Tippett (1950): breaks per loom, wool A then B, tension L M H, nine looms each.
BREAKS = [
    [26, 30, 54, 25, 70, 52, 51, 26, 67], [18, 21, 29, 17, 12, 18, 35, 30, 36], [36, 21, 24, 18, 10, 43, 28, 15, 26],
    [27, 14, 29, 19, 29, 31, 41, 20, 44], [42, 26, 19, 16, 39, 28, 21, 39, 29], [20, 21, 24, 17, 13, 15, 15, 16, 28],
]  # fmt: skip


def _groups(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    sizes = [5, 9, 14, 7]
    group = np.repeat(list("abcd"), sizes)
    return rng.normal(size=35) * np.repeat([1, 2, 0.5, 1], sizes) + np.repeat([0.0, 1, 0, 2], sizes), group


def test_warpbreaks_equals_r() -> None:
    y = np.array(BREAKS, dtype=float).ravel()
    wool, tension = np.repeat(["A", "B"], 27), np.tile(np.repeat(["L", "M", "H"], 9), 2)
    table = anova(y, {"wool": wool, "tension": tension})
    error = table.residual_sum_sq / table.residual_df
    result = tukey(y, tension, mean_square=error, df=table.residual_df)
    printed = {
        ("H", "L"): (-14.722222, -24.07564, -5.3688015, 0.0011218),
        ("H", "M"): (-4.722222, -14.07564, 4.6311985, 0.4474210),
        ("L", "M"): (10.0, 0.6465793, 19.35342, 0.0336262),
    }
    for names, numbers in printed.items():
        pair = result[names]
        assert (pair.difference, pair.estimate.low, pair.estimate.high, pair.p) == pytest.approx(numbers, abs=6e-6)
    assert [pair.significant for pair in result.pairs] == [True, False, True]


@pytest.mark.parametrize(
    ("confidence", "groups", "df", "printed"),
    [(0.95, 3, 10, 3.877), (0.95, 5, 20, 4.232), (0.99, 4, 12, 5.502), (0.95, 3, 1, 26.976), (0.95, 20, 120, 5.126),
     (0.95, 10, 5, 6.995)],
)  # fmt: skip
def test_studentized_range_equals_printed_tables(confidence: float, groups: int, df: int, printed: float) -> None:
    assert critical(confidence, groups, df) == pytest.approx(printed, abs=6e-4)


def test_studentized_range_of_two_is_student_t() -> None:
    for q in (0.01, 0.5, 3.0, 10.0, 25.0):
        for df in (1.0, 1.5, 3.0, 12.0, 200.0, 1e6):
            expected = 2 * stats.t.sf(q / np.sqrt(2), df)
            assert upper_tail(q, 2, df) == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize(
    ("q", "groups", "df"), [(3.5, 3, 10), (1.0, 6, 985), (5.0, 20, 7.5), (4.5, 100, 30), (0.3, 10, 50)]
)
def test_studentized_range_equals_scipy(q: float, groups: int, df: float) -> None:
    assert upper_tail(q, groups, df) == pytest.approx(stats.studentized_range.sf(q, groups, df), abs=1e-10)


@pytest.mark.slow
def test_tukey_equals_scipy_on_unequal_groups() -> None:
    y, group = _groups()
    result = tukey(y, group)
    theirs = stats.tukey_hsd(*[y[group == name] for name in "abcd"])
    bounds: Any = theirs.confidence_interval(0.95)
    for pair in result.pairs:
        i, j = "abcd".index(pair.a), "abcd".index(pair.b)
        assert pair.p == pytest.approx(theirs.pvalue[i, j], abs=1e-10)
        assert pair.estimate.low == pytest.approx(bounds.low[i, j], abs=1e-8)
        assert pair.estimate.high == pytest.approx(bounds.high[i, j], abs=1e-8)


@pytest.mark.peer
def test_tukey_equals_statsmodels() -> None:
    module = pytest.importorskip("statsmodels.stats.multicomp")
    y, group = _groups(1)
    theirs = module.pairwise_tukeyhsd(y, group)
    result = tukey(y, group)
    assert [-(pair.difference or 0) for pair in result.pairs] == pytest.approx(list(theirs.meandiffs))
    assert [pair.p for pair in result.pairs] == pytest.approx(list(theirs.pvalues), abs=1e-8)


@pytest.mark.peer
def test_games_howell_equals_pingouin() -> None:
    pg, pd = pytest.importorskip("pingouin"), pytest.importorskip("pandas")
    y, group = _groups(2)
    theirs = pg.pairwise_gameshowell(pd.DataFrame({"y": y, "g": group}), dv="y", between="g")
    result = games_howell(y, group)
    assert [pair.df for pair in result.pairs] == pytest.approx(list(theirs["df"]))
    assert [pair.p for pair in result.pairs] == pytest.approx(list(theirs["pval"]), abs=1e-8)


@pytest.mark.slow
def test_games_howell_interval_equals_scipy() -> None:
    y, group = _groups(3)
    columns = [y[group == name] for name in "abcd"]
    theirs: Any = stats.tukey_hsd(*columns, equal_var=False).confidence_interval(0.95)
    for pair in games_howell(y, group).pairs:
        i, j = "abcd".index(pair.a), "abcd".index(pair.b)
        assert pair.estimate.low == pytest.approx(theirs.low[i, j], abs=1e-7)


@pytest.mark.slow
def test_any_false_alarm_is_as_rare_as_promised() -> None:
    # Unequal sizes; for Games-Howell unequal spreads, where the pooled test must fail.
    group = np.repeat([0, 1, 2, 3], [6, 10, 20, 30])
    spread = np.array([3.0, 1.0, 1.0, 0.5])[group]
    alarms = np.zeros(3)
    for seed in range(160):
        noise = np.random.default_rng(seed).normal(size=66)
        alarms += [
            bool(tukey(noise, group).significant),
            bool(games_howell(noise * spread, group).significant),
            bool(tukey(noise * spread, group).significant),
        ]
    assert alarms[0] / 160 <= 0.09
    assert alarms[1] / 160 <= 0.09
    assert alarms[2] / 160 > 0.12


def test_holm_by_hand() -> None:
    # Ordered .005 .01 .03 .04 times 4 3 2 1, made increasing.
    result = holm([0.01, 0.04, 0.03, None, 0.005])
    assert result.adjusted == pytest.approx((0.03, 0.06, 0.06, None, 0.02))
    assert result.significant == (True, False, False, None, True)
    assert holm([]).adjusted == ()
    assert holm([0.6, 0.9]).adjusted == (1.0, 1.0)
    with pytest.raises(InputError, match="between 0 and 1"):
        holm([1.2])


@pytest.mark.peer
def test_holm_equals_statsmodels() -> None:
    module = pytest.importorskip("statsmodels.stats.multitest")
    p = np.random.default_rng(1).uniform(size=20) ** 3
    assert holm(list(p)).adjusted == pytest.approx(tuple(module.multipletests(p, method="holm")[1]))


def test_degenerate_groups_give_reasons() -> None:
    assert mentions(tukey([1.0, 2.0], ["a", "a"]).why_missing, "1 groups", "2")
    assert mentions(tukey([], []).why_missing, "0 groups", "2")
    assert mentions(tukey([1.0, 2.0], ["a", "b"]).why_missing, "group", "row", "residual")
    flat = tukey([1.0, 1.0, 2.0, 2.0], ["a", "a", "b", "b"])
    assert flat.pairs[0].difference == -1
    assert flat.pairs[0].p is None
    assert mentions(flat.pairs[0].estimate.why_no_interval, "variation", "groups")
    alone = games_howell([1.0, 2.0, 3.0, 5.0, 9.0], ["a", "a", "b", "b", "c"])
    assert alone["a", "c"].estimate.why_no_interval == "a group has a single row"
    assert alone["a", "b"].p == pytest.approx(games_howell([1.0, 2.0, 3.0, 5.0], list("aabb"))["a", "b"].p)
    assert mentions(games_howell([1.0, 2.0], ["a", "b"]).why_missing, "groups", "rows")
    with pytest.raises(InputError, match="degrees of freedom"):
        tukey([1.0, 2.0], ["a", "b"], df=3)


def test_headline_is_the_largest_difference() -> None:
    y, group = _groups(4)
    result = tukey(y, group)
    assert abs(float(result.largest)) == max(abs(pair.difference or 0) for pair in result.pairs)
    assert result.pairs[0].a == "a"
    with pytest.raises(KeyError):
        result["a", "z"]


@pytest.mark.slow
def test_a_pair_by_hand() -> None:
    y, group = [1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 5.0, 5.0, 8.0], list("aaabbbccc")
    # Mean squares 1, 4 and 3: pooled 8 / 3 on 6 degrees of freedom; a - b is -4.
    pair = tukey(y, group)["a", "b"]
    assert (pair.difference, pair.df) == (-4.0, 6.0)
    assert pair.statistic == pytest.approx(4 / np.sqrt(8 / 3 * 2 / 3))
    assert pair.p == pytest.approx(stats.studentized_range.sf(pair.statistic * np.sqrt(2), 3, 6), rel=1e-6)
    half = stats.studentized_range.ppf(0.95, 3, 6) * np.sqrt(8 / 3 / 3)
    assert (pair.estimate.low, pair.estimate.high) == pytest.approx((-4 - half, -4 + half), rel=1e-6)
    own = games_howell(y, group)["a", "b"]
    assert own.statistic == pytest.approx(4 / np.sqrt(1 / 3 + 4 / 3))
    assert own.df == pytest.approx((5 / 3) ** 2 / ((1 / 3) ** 2 / 2 + (4 / 3) ** 2 / 2))


def test_one_group_has_nothing_to_compare_with() -> None:
    for compare in (tukey, games_howell):
        assert mentions(compare([1.0, 2.0, 3.0], list("aaa")).why_missing, "1 groups", "2")
    assert mentions(games_howell([1.0, 2.0, 3.0], list("aab")).why_missing, "groups", "rows")
    assert games_howell([1.0, 2.0, 3.0, 5.0], list("aabb")).why_missing is None


def test_the_confidence_is_written_as_level() -> None:
    for result in (tukey(*_groups(), confidence=0.9), holm([0.01], confidence=0.9)):
        written = to_json(result)
        assert isinstance(written, dict)
        assert written["confidence"] == 0.9
