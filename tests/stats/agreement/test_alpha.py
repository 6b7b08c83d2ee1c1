from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heartfelt.errors import InputError
from heartfelt.stats.agreement import Interval, alpha
from heartfelt.stats.agreement.distance import LEVELS, ratio_axes
from tests.cases import check_all
from tests.facts import mentions
from tests.stats.agreement.designs import Design, columns, matrix
from tests.stats.reliability.ratings import LeftOut, from_log_f, gain_to_count_on, level_share, levels_apart, log_f

nan = math.nan

SOURCE = "Krippendorff, Computing Krippendorff's Alpha-Reliability, 2011, sections C to E: 4 coders, 12 units"
PUBLISHED = [
    [1, 2, 3, 3, 2, 1, 4, 1, 2, nan, nan, nan],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, nan, 3],
    [nan, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, nan],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, nan],
]


def difference(x: float, y: float, level: str, ranks: dict[float, float]) -> float:
    if level == "nominal":
        return float(x != y)
    if level == "ordinal":
        return (ranks[x] - ranks[y]) ** 2
    if level == "interval":
        return (x - y) ** 2
    return ((x - y) / (x + y)) ** 2 if x + y else 0.0


def by_pairs(item: Any, value: Any, level: str) -> float | None:
    """Alpha from its definition: every pair of pairable values, one by one."""
    units = [[v for i, v in zip(item, value, strict=True) if i == unit] for unit in dict.fromkeys(item)]
    units = [unit for unit in units if len(unit) > 1]
    pool = [v for unit in units for v in unit]
    ranks = {v: sum(u < v for u in pool) + 0.5 * sum(u == v for u in pool) for v in pool}
    observed = sum(
        difference(x, y, level, ranks) / (len(unit) - 1) for unit in units for x, y in itertools.permutations(unit, 2)
    )
    expected = sum(difference(x, y, level, ranks) for x, y in itertools.permutations(pool, 2))
    return 1 - (len(pool) - 1) * observed / expected if expected and len(units) > 1 else None


@pytest.mark.slow
@pytest.mark.parametrize(
    ("level", "published"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849), ("ratio", 0.797)]
)
def test_published_example(level: str, published: float) -> None:
    rater, item, value = columns(PUBLISHED)
    for road in ({}, {"interval": None}):
        result = alpha(rater, item, value, level, **road)  # type: ignore[arg-type] # a spread of keyword options
        assert result.value == pytest.approx(published, abs=5e-4), SOURCE
        assert dict(result.counts) == {"ratings": 40, "items": 11, "raters": 4, "unused": 1}


@pytest.mark.peer
@check_all("level", LEVELS)
@check_all("kind", ["nine points", "slider", "continuous"])
def test_equals_krippendorff(level: str, kind: str) -> None:
    peer = pytest.importorskip("krippendorff")
    rng = np.random.default_rng(3)
    rater, item, value = Design(12, 40, 4).draw(rng)
    value = {
        "nine points": np.clip(np.round(5 + value), 1, 9),
        "slider": np.clip(np.round(50 + 20 * value), 0, 100),
        "continuous": 10 + value,
    }[kind]
    expected = peer.alpha(matrix(rater, item, value), level_of_measurement=level)
    for road in (None, "jackknife"):
        assert alpha(rater, item, value, level, interval=road).value == pytest.approx(expected, abs=1e-12)


@pytest.mark.slow
@settings(deadline=None, max_examples=50)
@given(
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 6)), min_size=2, max_size=25),
    st.sampled_from(LEVELS),
    st.booleans(),
)
def test_equals_the_definition(ratings: list[tuple[int, int]], level: str, named: bool) -> None:
    item = np.array([i for i, _ in ratings])
    value = np.array([v for _, v in ratings])
    expected = by_pairs(item.tolist(), value.tolist(), level)
    who = np.arange(item.size) if named else None
    for road in (None, "jackknife"):
        result = alpha(who, item, value, level, interval=road)
        if expected is None:
            assert result.is_missing
            assert result.why_missing
        else:
            assert result.value == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("level", LEVELS)
def test_the_short_road_is_the_long_one(level: str) -> None:
    rater, item, value = Design(30, 200, 4).draw(np.random.default_rng(1))
    points = np.clip(np.round(5 + value), 1, 9).astype(np.int64)
    long = alpha(rater, item, points, level, interval="jackknife").value
    for values in (points, points.astype(np.float64), points.astype(np.int8), points + 10**6):
        if level == "ratio" and values.max() > 9:
            continue
        short = alpha(rater, item, values, level, interval=None)
        assert short.value == pytest.approx(long, abs=1e-12)
    assert alpha(rater * 10**9, item * 10**9, points, level, interval=None).value == pytest.approx(long, abs=1e-12)
    assert alpha(rater.astype(str), item.astype(str), points, level, interval=None).value == pytest.approx(
        long, abs=1e-12
    )


def test_cost_and_value_do_not_depend_on_scale_or_origin() -> None:
    rater, item, value = Design(10, 50, 4).draw(np.random.default_rng(2))
    plain = alpha(rater, item, value)
    for changed in (value * 1e200, value * 1e-200, value + 1e6, -3 * value + 7):
        for road in (None, "jackknife"):
            assert alpha(rater, item, changed, interval=road).value == pytest.approx(float(plain), abs=1e-9)
    monotone = alpha(rater, item, np.exp(value), "ordinal")
    assert monotone.value == pytest.approx(float(alpha(rater, item, value, "ordinal")), abs=1e-12)


@pytest.mark.parametrize("many", [40, 700])
@pytest.mark.parametrize("zero", [False, True])
def test_ratio_axes_keep_the_ratio_difference(many: int, zero: bool) -> None:
    values = np.sort(np.exp(np.random.default_rng(4).uniform(-9, 9, many)))
    if zero:
        values[0] = 0.0
    axes = np.column_stack(list(ratio_axes(values)))
    own = (axes**2).sum(axis=1)
    squared = own[:, None] + own[None, :] - 2 * axes @ axes.T
    total = values[:, None] + values[None, :]
    total[total == 0] = 1.0
    assert np.abs(squared - ((values[:, None] - values[None, :]) / total) ** 2).max() < 1e-12


def test_ratio_on_many_distinct_values_equals_the_definition() -> None:
    rater, item, value = Design(8, 100, 4).draw(np.random.default_rng(5))
    value = np.exp(value)
    expected = by_pairs(item.tolist(), value.tolist(), "ratio")
    assert alpha(rater, item, value, "ratio").value == pytest.approx(expected, abs=1e-11)
    with pytest.raises(InputError, match="from zero up"):
        alpha(rater, item, -value, "ratio")


def without(
    rater: npt.NDArray[Any], item: npt.NDArray[Any], value: npt.NDArray[Any], level: str, keep: npt.NDArray[np.bool_]
) -> float:
    return float(alpha(rater[keep], item[keep], value[keep], level, interval=None))


@pytest.mark.parametrize("level", LEVELS)
def test_the_jackknife_leaves_out_one_at_a_time(level: str) -> None:
    rng = np.random.default_rng(6)
    rater, item, value = Design(7, 25, 3).draw(rng)
    value = np.clip(np.round(5 + value), 1, 9)
    some = rng.random(value.size) < 0.85
    rater, item, value = rater[some], item[some], value[some]
    result = alpha(rater, item, value, level)
    wide = alpha(rater, item, value, level, future_raters="careless")
    pairs = np.bincount(item)[item] > 1
    answered = value
    if level == "ordinal":
        # The ranks of the whole stay in place while parts are left out.
        pool = np.sort(value[pairs])
        value = 0.5 * (np.searchsorted(pool, value, "left") + np.searchsorted(pool, value, "right"))
        level = "interval"
    units = [u for u in np.unique(item) if (item == u).sum() > 1]
    by_item = np.array([without(rater, item, value, level, item != u) for u in units])
    by_rater = np.array([without(rater, item, value, level, rater != r) for r in np.unique(rater[pairs])])
    ones = np.array([without(rater, item, value, level, np.arange(value.size) != k) for k in np.flatnonzero(pairs)])

    def variance(parts: npt.NDArray[np.float64]) -> float:
        return float((parts.size - 1) / parts.size * ((parts - parts.mean()) ** 2).sum())

    items, raters = variance(by_item), variance(by_rater)
    noise = float(((ones - ones.mean()) ** 2).sum())
    sizes = np.array([(item == u).sum() for u in units])
    lost = np.array([_lost(rater, item, r) for r in np.unique(rater[pairs])])
    seen = LeftOut(
        items=items,
        raters=raters,
        ratings=noise,
        n_items=sizes.sum() ** 2 / (sizes**2).sum(),
        n_raters=lost.sum() ** 2 / (lost**2).sum(),
    )
    r, k = float(result), float(sizes.mean())
    centre = log_f(r, k)
    # Variances of alpha are carried to the scale of log F by its slope there.
    slope = k / ((1 - r) ** 2 * math.exp(centre))
    normal = 2 / (seen.n_items - 1) * (1 + 1 / (k - 1)) / slope**2
    gain, moved = _shown(rater, item, answered, level, centre)
    half = slope * seen.alike(r * (1 - r), normal, 0.95, gain, moved / slope)
    assert (result.low, result.high) == pytest.approx(
        (from_log_f(centre - half, k), from_log_f(centre + half, k)), abs=1e-9
    )
    away = slope * seen.if_careless((centre - log_f(seen.attentive * r, k)) / slope, 0.95)
    assert result.bound_if_careless == pytest.approx(from_log_f(centre - away, k), abs=1e-9)
    assert (wide.low, wide.high) == pytest.approx((result.bound_if_careless, result.high), abs=1e-9)


def _shown(
    rater: npt.NDArray[Any], item: npt.NDArray[Any], value: npt.NDArray[Any], level: str, centre: float
) -> tuple[float, float]:
    """The gains to count on, and how far log F moves with the log of the levels' variance."""
    pairs = np.bincount(item)[item] >= 2
    who, what = (np.unique(codes[pairs], return_inverse=True)[1] for codes in (rater, item))
    data = (who, what, value[pairs])
    columns = [data[2] == answer for answer in np.unique(data[2])] if level == "nominal" else [data[2]]
    levels = level_share(who, what, *(column.astype(float) for column in columns))
    moved = levels * abs(1 - levels_apart(data) * math.exp(-centre))
    return 0.35 if level == "nominal" else gain_to_count_on(data), moved


def _lost(rater: npt.NDArray[Any], item: npt.NDArray[Any], r: int) -> int:
    sizes = np.bincount(item)[item[rater == r]]
    return int((sizes > 2).sum() + 2 * (sizes == 2).sum())


def test_resampling_items_alone_takes_the_raters_as_given() -> None:
    rater, item, value = Design(6, 80, 6, by_rater=1.0).draw(np.random.default_rng(7))
    both, items = alpha(rater, item, value), alpha(rater, item, value, resample="items")
    assert mentions(both.interval, "jackknife", "items", "raters")
    assert items.interval == "jackknife over items, Student's t"
    assert both.low < items.low < items.high < both.high  # type: ignore[operator]  # none of them is missing
    unknown = alpha(None, item, value)
    assert (unknown.low, unknown.high) == pytest.approx((items.low, items.high), abs=1e-12)
    assert mentions(unknown.interval, "jackknife", "items", "raters")
    two = rater < 2
    assert "only 2 raters" in alpha(rater[two], item[two], value[two]).interval


@pytest.mark.slow
@pytest.mark.parametrize("level", LEVELS)
def test_bootstrap(level: str) -> None:
    rater, item, value = Design(12, 60, 4, by_rater=0.1).draw(np.random.default_rng(8))
    value = np.clip(np.round(5 + value), 1, 9)
    once, again = (alpha(rater, item, value, level, interval="bootstrap", seed=5) for _ in range(2))
    other = alpha(rater, item, value, level, interval="bootstrap", seed=6)
    assert (once.low, once.high) == (again.low, again.high)
    assert (once.low, once.high) != (other.low, other.high)
    assert mentions(once.interval, "bootstrap", "items", "raters")
    assert once.counts["resamples"] == 1000
    items = alpha(rater, item, value, level, interval=Interval(method="bootstrap", resample="items", resamples=2000))
    jackknife = alpha(rater, item, value, level, resample="items")
    assert items.value == jackknife.value
    assert items.high - items.low == pytest.approx(jackknife.high - jackknife.low, rel=0.25)  # type: ignore[operator]  # both have intervals


def test_a_resample_in_which_everything_counts_once_is_alpha() -> None:
    from heartfelt.stats.agreement.distance import placed
    from heartfelt.stats.agreement.grouped import grouped
    from heartfelt.stats.agreement.kernels import _kernels_resampling as kernels

    rater, item, value = Design(9, 30, 4).draw(np.random.default_rng(9))
    value = np.clip(np.round(5 + value), 1, 9)
    for level, kind in (("nominal", 0), ("interval", 1), ("ratio", 1), ("ordinal", 2)):
        ratings = grouped(rater, item, value, numbers=level != "nominal")
        codes, scores = placed(ratings, level)
        result = kernels.weighted_alpha(
            ratings.start, ratings.rater, codes, scores.copy(), kind, np.ones(30), np.ones(9), 1e-12
        )
        assert result == pytest.approx(float(alpha(rater, item, value, level)), abs=1e-12)
        # Doubling every item and rater adds no pair of a rater with themselves, so it changes little.
        twice = kernels.weighted_alpha(
            ratings.start, ratings.rater, codes, scores.copy(), kind, np.full(30, 2.0), np.full(9, 2.0),
            1e-12,
        )  # fmt: skip
        assert twice == pytest.approx(result, abs=0.02)


def test_a_prior_is_one_more_rater() -> None:
    rater, item, value = Design(6, 40, 3).draw(np.random.default_rng(10))
    machine = {int(i): float(i % 5) for i in range(50)}
    for level in ("interval", "ordinal"):
        added = alpha(
            np.concatenate([rater, np.full(40, 6)]),
            np.concatenate([item, np.arange(40)]),
            np.concatenate([value, [machine[i] for i in range(40)]]),
            level,
        )
        joined = alpha(rater, item, value, level, prior=machine)
        assert joined.value == pytest.approx(float(added), abs=1e-12)
        assert joined.counts["priors"] == 40
        assert joined.counts["prior_unused"] == 10
        assert joined.counts["raters"] == 6
        pair = alpha(rater, item, value, level, prior=(list(machine), list(machine.values())))
        assert pair == joined
        nobody = alpha(None, item, value, level, prior=machine)
        assert nobody.value == pytest.approx(float(added), abs=1e-12)


def test_degenerate_data_has_a_reason() -> None:
    lonely = alpha(["a", "b"], [1, 2], [3, 4])
    assert mentions(lonely.why_missing, "item", "ratings")
    assert mentions(alpha([], [], []).why_missing, "item", "ratings")
    for level in LEVELS:
        for road in (None, "jackknife", "bootstrap"):
            same = alpha(np.arange(4), np.array([0, 0, 1, 1]), np.full(4, 5), level, interval=road)
            assert same.value is None
            assert "same" in str(same.why_missing)
    for road in (None, "jackknife", "bootstrap"):
        single = alpha(["a", "b", "c"], ["x"] * 3, [1, 2, 3], interval=road)
        assert mentions(single.why_missing, "item", "ratings", "chance")
    perfect = alpha(np.tile(np.arange(3), 5), np.repeat(np.arange(5), 3), np.repeat(np.arange(5), 3))
    assert perfect.value == 1
    assert perfect.low is None
    assert perfect.why_no_interval


@pytest.mark.parametrize("level", ["interval", "ordinal", "nominal"])
@pytest.mark.parametrize("many", [300, 5_000, 70_000])
def test_items_with_very_many_ratings(level: str, many: int) -> None:
    rng = np.random.default_rng(13)
    item = np.repeat(np.arange(3), many)
    value = rng.integers(0, 2, 3)[item] + rng.integers(0, 3, item.size) * (rng.random(item.size) < 0.2)
    short = alpha(None, item, value, level, interval=None)
    long = alpha(None, item.astype(str), value, level, interval=None)
    assert short.value == pytest.approx(float(long), abs=1e-10)
    assert short.counts["ratings"] == 3 * many


@pytest.mark.slow
def test_many_raters_and_many_categories() -> None:
    rater, item, value = Design(400, 60, 20).draw(np.random.default_rng(14))
    names = np.round(200 * value).astype(np.int64)
    result = alpha(rater, item, names, "nominal")
    assert result.value == pytest.approx(by_pairs(item.tolist(), names.tolist(), "nominal"), abs=1e-12)
    assert result.low is not None


def test_ten_thousand_raters_with_one_rating_each() -> None:
    rng = np.random.default_rng(11)
    item = np.repeat(np.arange(2_500), 4)
    value = rng.normal(0, 1, 2_500)[item] + rng.normal(0, 1, item.size)
    result = alpha(np.arange(10_000), item, value)
    assert result.low < 0.5 < result.high  # type: ignore[operator]  # neither is missing
    assert result.counts["raters"] == 10_000


def test_missing_values_are_left_out_and_counted() -> None:
    rater, item, value = Design(5, 30, 5).draw(np.random.default_rng(12))
    holes = value.copy()
    holes[[3, 50]] = nan
    holes[7] = math.inf
    retained = np.isfinite(holes)
    for road in (None, "jackknife"):
        result = alpha(rater, item, holes, interval=road)
        assert result.value == pytest.approx(float(alpha(rater[retained], item[retained], value[retained])), abs=1e-12)
        assert result.counts["left_out"] == 3


def test_names_that_do_not_exist() -> None:
    with pytest.raises(InputError, match="No level of measurement is called"):
        alpha([1], [1], [1], "intervall")
    with pytest.raises(InputError, match="No interval method is called"):
        alpha([1], [1], [1], interval="bootstrapp")
    with pytest.raises(InputError, match="No interval resample is called"):
        alpha([1], [1], [1], resample="raters")
