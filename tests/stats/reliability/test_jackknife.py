"""The two-way jackknife: sums without a unit against recomputation, and its variance against simulation."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from heartfelt.stats.ratings import as_ratings
from heartfelt.stats.reliability.two_way_jackknife import (
    MomentJackknife,
    TwoWaySpread,
    from_log_f,
    group_variance,
    jackknife_variance,
    log_f,
    log_ratio,
    moment_components,
    on_log_f,
)
from tests.stats.reliability.ratings import Crossed, ragged

SOURCE = "recomputation on the ratings that are left; the variance over simulated data sets; Efron & Stein (1981)"


def test_sums_without_a_unit_equal_sums_of_the_rest() -> None:
    rater, item, value = ragged(1, 15, 6, 0.5)
    value = value - value.mean()
    names = np.random.default_rng(0).integers(0, 4, 15)
    d = as_ratings(rater, item, value)
    result = MomentJackknife(d, names)

    def rest(keep: npt.NDArray[np.bool_]) -> npt.NDArray[np.float64]:
        left = as_ratings(rater[keep], item[keep], value[keep])
        cells = np.unique(names[np.array(left.items)], return_inverse=True)[1].astype(np.int64)
        return MomentJackknife(left, cells).total

    def same(one: npt.NDArray[np.float64], other: npt.NDArray[np.float64]) -> None:
        counted = [0, 1, 2, 6, 8, 9]
        assert one[counted].tolist() == other[counted].tolist()
        assert log_f(one[None])[0] == pytest.approx(log_f(other[None])[0])
        for a, b in zip(moment_components(one[None]), moment_components(other[None]), strict=True):
            assert a[0] == pytest.approx(b[0])

    for i in range(15):
        same(result.items[i], rest(item != i))
    for r in range(6):
        same(result.raters[r], rest(rater != r))
    ratings = result.ratings(0, d.size)
    for j in range(d.size):
        same(ratings[j], rest(np.arange(d.size) != j))


def test_moments_give_the_components_of_complete_data() -> None:
    rater, item, value = ragged(2, 20, 5, 1.1)
    table = np.zeros((20, 5))
    table[item, rater] = value
    rows, columns = table.mean(1), table.mean(0)
    mse = ((table - rows[:, None] - columns + table.mean()) ** 2).sum() / (19 * 4)
    item_variance = rows.var(ddof=1) - mse / 5
    sums = MomentJackknife(as_ratings(rater, item, value)).total[None]
    of_item, _, residual, _ = moment_components(sums)
    assert log_ratio(of_item, residual, 5.0)[0] == pytest.approx(np.log(1 + 5 * item_variance / mse))
    within = ((table - rows[:, None]) ** 2).sum() / 80
    assert log_f(sums)[0] == pytest.approx(np.log(5 * rows.var(ddof=1) / within))


@pytest.mark.slow
def test_variance_meets_simulation() -> None:
    rng = np.random.default_rng(0)
    design = Crossed(80, 16, 6, 1.0, 0.8, 1.0)
    values, variances = [], []
    for _ in range(300):
        jackknife = MomentJackknife(as_ratings(*design.draw(rng)))
        values.append(log_f(jackknife.total[None])[0])
        variances += [s.plain_variance for s in jackknife.spreads(lambda sums: [log_f(sums)])]
    assert np.mean(variances) == pytest.approx(np.var(values), rel=0.25)


def test_spread_of_a_mean_is_its_squared_standard_error() -> None:
    x = np.random.default_rng(1).normal(size=30)
    without = (x.sum() - x) / 29
    variance = jackknife_variance(without)
    assert variance == pytest.approx(x.var(ddof=1) / 30)
    assert jackknife_variance(np.array([1.0])) == 0.0
    assert TwoWaySpread(
        items=variance, raters=0.0, ratings=variance, item_count=30, rater_count=5
    ).variance == pytest.approx(variance)


@pytest.mark.slow
def test_groups_left_out_give_the_same_size_of_error() -> None:
    rng = np.random.default_rng(2)
    design = Crossed(200, 40, 5, 1.0, 0.5, 1.0)
    means, variances = [], []
    for _ in range(150):
        d = as_ratings(*design.draw(rng))
        means.append(d.value.mean())
        result = group_variance(d, lambda keep, d=d: float(d.value[keep].mean()), 20, 0)  # type: ignore[misc]  # bound
        assert result is not None
        variances.append(result[0])
        assert result[1] == 20
    assert np.mean(variances) == pytest.approx(np.var(means), rel=0.35)


def test_moving_a_reliability_on_the_log_f_scale() -> None:
    assert from_log_f(on_log_f(0.3, 4.0), 4.0) == pytest.approx(0.3)
    f = (1 + 4 * 0.3 / 0.7) * np.exp(0.5)
    assert from_log_f(on_log_f(0.3, 4.0) + 0.5, 4.0) == pytest.approx((f - 1) / (f + 3))


def test_too_few_units_to_leave_out() -> None:
    d = as_ratings([1, 2, 1, 2], [1, 1, 2, 2], [1.0, 2.0, 3.0, 5.0])
    assert group_variance(d, lambda keep: float(d.value[keep].mean()), 20, 0) is None
