"""Reliability figures and ceilings in small exact cases: loops, enumeration, and equations that must hold."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

from heartfelt.errors import InputError
from heartfelt.stats.estimate import Estimate
from heartfelt.stats.noise_ceiling import ceiling
from heartfelt.stats.rater_differences import gain_variance
from heartfelt.stats.ratings import as_ratings
from heartfelt.stats.reliability import (
    _splits,
    components,
    raters_needed,
    reliability_with,
    split_half,
    variance_components,
    yardsticks,
)
from heartfelt.stats.reliability.crossed import Quantity, fit_crossed
from heartfelt.stats.reliability.number_ceiling import level_noise
from heartfelt.stats.reliability.spearman_brown import reliability_curve, stepped, stepped_bound
from heartfelt.stats.reliability.split_half import length_factor
from heartfelt.stats.two_way_jackknife import TwoWaySpread
from heartfelt.streams import stream
from tests.stats.reliability.ratings import complete, ragged

# --- gains ------------------------------------------------------------------------------------------------------------

TRUTH, GAINS = np.array([1.0, 2.0, 4.0, 7.0, 5.0]), np.array([0.4, 1.0, 1.6])
NOISE = 0.3 * np.sin(np.arange(15.0).reshape(5, 3) * 2.3)


def _table(rows: Any) -> tuple[Any, Any, Any]:
    item, rater = np.indices(np.shape(rows))
    return rater.ravel(), item.ravel(), np.ravel(rows)


def test_the_variance_of_gains_is_that_of_slopes_beyond_their_standard_errors() -> None:
    table = TRUTH[:, None] * GAINS + NOISE
    fits = [stats.linregress(table.mean(axis=1), column) for column in table.T]
    slopes, errors = np.array([fit.slope for fit in fits]), np.array([fit.stderr for fit in fits])
    # SciPy's standard errors divide by n - 2.
    beyond = slopes.var(ddof=1) - np.mean(errors**2)
    assert gain_variance(as_ratings(*_table(table))) == pytest.approx(beyond * table.mean(axis=1).var())


@pytest.mark.parametrize("gain", ["little", "much"])
def test_gains_take_at_most_nine_tenths_of_the_residual(gain: str) -> None:
    # Of n items the gains alone make (n - 1) / n of the residual: fourteen and hardly any noise go beyond nine tenths.
    columns = _table(TRUTH[:, None] * GAINS + NOISE)
    if gain == "much":
        columns = _table(np.arange(14.0)[:, None] * GAINS + 0.01 * np.sin(np.arange(42.0).reshape(14, 3)))
    parts = variance_components(*columns)
    d = as_ratings(*columns)
    capped = min(gain_variance(d), 0.9 * float(parts.residual))
    assert (capped < gain_variance(d)) == (gain == "much")
    # Complete data: raters' levels move all labels alike and are no noise.
    noise = (float(parts.residual) - capped) / 3
    assert ceiling(*columns, metric="rmse").overall.value == pytest.approx(math.sqrt(noise))
    assert ceiling(*columns).overall.value == pytest.approx(
        math.sqrt(float(parts.item) / (float(parts.item) + noise))
    )


def test_what_levels_add_to_labels_by_hand() -> None:
    rater, item = np.array([0, 1, 1, 2, 0, 2, 1]), np.array([0, 0, 1, 1, 2, 2, 3])
    d = as_ratings(rater, item, np.arange(7.0))
    weights = np.zeros((4, 3))
    weights[item, rater] = 1 / np.bincount(item)[item]
    for cells in (None, np.array([0, 0, 1, 1])):
        cell = np.zeros(4, int) if cells is None else cells
        centred = weights - np.array([weights[cell == c].mean(axis=0) for c in cell])
        assert level_noise(d, cells) == pytest.approx(float((centred**2).sum()) / 4)
    same = as_ratings(*_table(np.ones((3, 2))))
    assert level_noise(same, None) == pytest.approx(0.0, abs=1e-12)


# --- components -------------------------------------------------------------------------------------------------------


def test_distances_of_a_log_variance_are_those_of_chi_square() -> None:
    for df in (3.0, 20.0):
        low, high = components._chi_square(2 / df, 1e9, df + 1, 0.9)
        # value * exp(-low) = value * df / chi-square(.95), and value * exp(high) = value * df / chi-square(.05).
        assert (math.exp(-low), math.exp(high)) == pytest.approx(
            (df / stats.chi2.ppf(0.95, df), df / stats.chi2.ppf(0.05, df)), rel=1e-6
        )
    # Beyond normal effects: 2 / (least + (variance - least) * (t / z)^2) degrees of freedom, at least min(levels / 2, 3).
    ratio = stats.t.ppf(0.95, 6) / stats.norm.ppf(0.95)
    df = 2 / (2 / 20 + (0.3 - 2 / 20) * ratio**2)
    assert components._chi_square(0.3, 6.0, 21.0, 0.9)[0] == pytest.approx(
        math.log(stats.chi2.ppf(0.95, df) / df), rel=1e-6
    )
    for levels, least in ((21.0, 3.0), (5.0, 2.0), (2.0, 1.0)):
        assert components._chi_square(50.0, 6.0, levels, 0.9)[0] == pytest.approx(
            math.log(stats.chi2.ppf(0.95, least) / least), rel=1e-6
        )
    assert components._chi_square(0.01, 6.0, 21.0, 0.9) == components._chi_square(0.1, 6.0, 21.0, 0.9)


def test_variances_move_on_the_log_scale_above_their_noise() -> None:
    assert components._moved(2.0, 1.0, (math.log(1.5), math.log(2))) == pytest.approx((1.0, 5.0))
    assert components._moved(2.0, 1.0, (math.log(6), 0.1))[0] == 0.0
    low, high = components._moved(2.0, 1.0, (0.3, 0.4), below=1.0, above=5.0)
    assert low == pytest.approx(3 * math.exp(-math.hypot(0.3, math.log(3 / 2))) - 1)
    assert high == pytest.approx(3 * math.exp(math.hypot(0.4, math.log(6 / 3))) - 1)
    assert components._sum((2.0, (1.0, 5.0)), (3.0, (3.0, 7.0))) == pytest.approx((4.0, 10.0))
    assert components._sum((1.0, (-9.0, 2.0)))[0] == 0.0
    low, high = components._ratio((2.0, (0.5, 5.0)), (3.0, (2.0, 7.0)))
    down, up = math.hypot(math.log(4), math.log(7 / 3)), math.hypot(math.log(2.5), math.log(1.5))
    assert (low, high) == pytest.approx((1 / (1 + 1.5 * math.exp(down)), 1 / (1 + 1.5 * math.exp(-up))))
    assert components._ratio((1.0, (0.5, 2.0)), (0.0, (0.0, 1.5))) == pytest.approx((0.25, 1.0))
    assert components._ratio((1.0, (0.5, 2.0)), (3.0, (0.0, 6.0)))[1] == 1.0


def _loops(rater: Any, item: Any, y: Any, cell: Any = None) -> dict[str, float]:
    """Variances by moments and mean squares of ratings centred before, with plain loops."""
    n, items, raters = y.size, np.unique(item), np.unique(rater)
    cells = np.zeros(item.max() + 1, int) if cell is None else cell
    squares, grand = float((y**2).sum()), y.sum() ** 2 / n
    of_items = sum(y[item == i].sum() ** 2 / (item == i).sum() for i in items)
    of_raters = sum(y[rater == r].sum() ** 2 / (rater == r).sum() for r in raters)
    of_cells = sum(y[cells[item] == c].sum() ** 2 / (cells[item] == c).sum() for c in np.unique(cells[item]))
    within, within_raters = (squares - of_items) / (n - items.size), (squares - of_raters) / (n - raters.size)
    a, b = (n - sum((codes == c).sum() ** 2 for c in np.unique(codes)) / n for codes in (item, rater))
    total = squares - (grand if cell is None else 0.0)
    residual = (within_raters * a + within * b - total) / (a + b - n + 1)
    return {
        "between": (of_items - of_cells) / (items.size - np.unique(cells[item]).size),
        "within": within,
        "item": within_raters - residual,
        "rater": within - residual,
        "residual": residual,
    }


def _left_out(columns: Any, statistics: Any) -> list[TwoWaySpread]:
    """Jackknife spreads of some statistics of the ratings."""
    rater, item, value = columns
    y = value - value.mean()
    variances = []
    for codes in (item, rater, np.arange(y.size)):
        keeps = [codes != c for c in np.unique(codes)]
        found = np.array([statistics(rater[k], item[k], y[k]) for k in keeps])
        variances.append((len(found) - 1) * found.var(axis=0))
    sizes = [np.bincount(codes) for codes in (item, rater)]
    counted = [float(part.sum() ** 2 / (part**2).sum()) for part in sizes]
    return [TwoWaySpread(*(float(part) for part in parts), *counted) for parts in np.transpose(variances)]


SMALL = ragged(5, 9, 6, 0.8)


def test_bounds_of_components_by_leaving_out() -> None:
    """The distances are those of the tests above; here each is taken from its own statistic."""
    rater, item, value = SMALL
    parts = variance_components(*SMALL, confidence=0.9)
    of_item, of_rater, of_residual = (float(each) for each in (parts.item, parts.rater, parts.residual))
    total = of_item + of_rater + of_residual
    n, m = (
        (value.size - float((np.bincount(codes) ** 2).sum()) / value.size) / (np.unique(codes).size - 1)
        for codes in (item, rater)
    )
    noise, rater_noise = (of_rater + of_residual) / n, (of_item + of_residual) / m

    def statistics(r: Any, i: Any, y: Any) -> list[float]:
        v = _loops(r, i, y)
        residual = max(v["residual"], 1e-3 * v["within"])
        return [
            math.log(max(v["item"] + noise, 1e-6 * noise)),
            math.log(max(v["rater"] + rater_noise, 1e-6 * rater_noise)),
            math.log(residual),
            math.log(max(1 + n * v["item"] / v["within"], 1e-6)),
            math.log(max(1 + m * v["rater"] / max(v["item"] + residual, 1e-3 * v["within"]), 1e-6)),
            math.log(
                max((v["item"] + v["rater"]) / residual + noise / of_residual, 1e-6 * noise / of_residual)
            ),
        ]

    assert parts.mean.method == "generalised least squares"
    spreads = _left_out(SMALL, statistics)
    items, raters = spreads[0].item_count, spreads[0].rater_count
    attentive = raters * (raters - 1) / ((raters + 3) * (raters + 2))
    gains = (2 * 0.35 * of_item / (of_item + noise)) ** 2 / raters
    reach = components._chi_square(*spreads[0].alike(gains), items, 0.9)
    low, high = components._moved(of_item, noise, reach)
    assert (parts.item.low, parts.item.high) == pytest.approx((low, high), rel=1e-6)
    careless = components._moved(of_item, noise, reach, below=attentive * of_item)[0]
    assert parts.item.bound_if_careless == pytest.approx(careless, rel=1e-6)
    unequal = 2 / (raters - 1) * (0.35**2 * of_item / of_residual) ** 2
    variance, df = spreads[2].alike(unequal)
    reach = components._chi_square(
        max(variance, spreads[2].items + unequal), df, value.size - items - raters, 0.9
    )
    bounds = components._moved(of_residual, 0.0, reach)
    assert (parts.residual.low, parts.residual.high) == pytest.approx(bounds, rel=1e-6)
    worse = of_residual + (1 - attentive) * of_item + 3 / (raters + 3) * total
    careless = components._moved(of_residual, 0.0, reach, above=worse)[1]
    assert parts.residual.bound_if_careless == pytest.approx(careless, rel=1e-6)
    levels = spreads[1]
    plain = levels.items + max(levels.raters - levels.ratings, 0.0)
    reach = components._chi_square(plain, max(raters - 1, 1), raters, 0.9)
    of_raters = components._moved(of_rater, rater_noise, reach)
    assert (parts.rater.low, parts.rater.high) == pytest.approx(of_raters, rel=1e-6)
    assert (parts.error.low, parts.error.high) == pytest.approx(
        components._sum((of_rater, of_raters), (of_residual, bounds)), rel=1e-6
    )
    share = of_rater / total
    centre = math.log(1 + m * share / (1 - share))
    ends = [math.expm1(end) for end in components._at_least(spreads[4]).bounds(centre, 0.9)]
    expected = [max(end / (end + m), 0.0) for end in ends]
    assert (parts.rater_share.low, parts.rater_share.high) == pytest.approx(expected, rel=1e-6)
    share = of_item / total
    centre = math.log(1 + n * share / (1 - share))
    normal = 2 / (items - 1) * (1 + 1 / (n - 1))
    half = spreads[3].reach_alike(1 - math.exp(-centre), 0.9, normal)
    ends = [math.expm1(centre + side * half) for side in (-1, 1)]
    expected = [max(end / (end + n), 0.0) for end in ends]
    assert (parts.item_share.low, parts.item_share.high) == pytest.approx(expected, rel=1e-6)
    rest = of_item + of_rater
    wide = components._ratio(
        (of_residual, bounds), (rest, components._sum((of_item, (low, high)), (of_rater, of_raters)))
    )
    other = components._rest_bounds(rest / of_residual, noise / of_residual, spreads[5], 0.9)
    assert (parts.residual_share.low, parts.residual_share.high) == pytest.approx(
        (min(wide[0], other[0]), max(wide[1], other[1])), rel=1e-6
    )


@pytest.mark.parametrize("metric", ["correlation", "rmse"])
@pytest.mark.parametrize("celled", [False, True])
def test_bounds_of_ceilings_by_leaving_out(metric: Any, celled: bool) -> None:
    rater, item, _ = SMALL
    cells = np.arange(9) % 2 if celled else None
    cell = np.zeros(9, int) if cells is None else cells
    counts = np.bincount(item)
    weights = np.zeros((9, 6))
    weights[item, rater] = 1 / counts[item]
    centred = weights - np.array([weights[cell == c].mean(axis=0) for c in cell])
    share = float((centred**2).sum()) / 9 / float(np.mean(1 / counts))

    def statistics(r: Any, i: Any, y: Any) -> list[float]:
        v = _loops(r, i, y, cells)
        residual = min(max(v["residual"], 1e-3 * v["within"]), v["within"])
        off = residual + share * (v["within"] - residual)
        return [math.log(max(v["between"], 1e-12 * off) / off if metric == "correlation" else off)]

    (spread,) = _left_out(SMALL, statistics)
    units = min(9 - (1 if cells is not None else 0), 6)
    half = stats.t.ppf(0.95, units - 1) * math.sqrt(spread.items + max(spread.raters - spread.ratings, 0.0))
    named = {i: "ab"[c] for i, c in enumerate(cell)} if celled else None
    found = ceiling(*SMALL, metric=metric, cell=named, confidence=0.9)
    estimate = found.within_cells if celled else found.overall
    assert estimate is not None
    square = float(estimate) ** 2
    ends = [square * math.exp(-half), square * math.exp(half)]
    if metric == "correlation":
        ends = [max(1 - (1 - square) * math.exp(by), 0.0) for by in (half, -half)]
    assert (estimate.low, estimate.high) == pytest.approx([math.sqrt(end) for end in ends], rel=1e-6)


def test_spreads_of_levels_by_hand() -> None:
    spread = TwoWaySpread(0.1, 0.4, 0.3, 12.0, 6.0)
    least = components._at_least(spread)
    assert (least.items, least.raters, least.ratings) == pytest.approx((0.1, 0.3 + 2 / 5, 0.3))
    wide = TwoWaySpread(0.1, 0.9, 0.3, 12.0, 6.0)
    assert components._at_least(wide) == wide
    as_items = components._as_items(spread)
    assert (as_items.variance, as_items.item_count, as_items.df) == pytest.approx((0.2, 6.0, 5.0))
    low, high = components._rest_bounds(2.0, 0.5, spread, 0.9)
    half = stats.t.ppf(0.95, spread.df) * math.sqrt(spread.variance)
    assert (low, high) == pytest.approx(
        (1 / (1 + 2.5 * math.exp(half) - 0.5), 1 / (1 + max(2.5 * math.exp(-half) - 0.5, 0)))
    )
    assert components._rest_bounds(0.01, 0.5, spread, 0.9)[1] == 1.0
    assert components._per_level(np.array([2, 4, 6])) == pytest.approx((12 - 56 / 12) / 2)
    assert components._per_level(np.array([1, 1, 1])) == 1.0


@pytest.mark.parametrize("name", components.QUANTITIES)
def test_delta_bounds_are_one_slope_of_the_log(name: str) -> None:
    quantity = components.QUANTITIES[name]
    columns = ragged(7, 25, 9, 0.6)
    fit = fit_crossed(as_ratings(*columns))
    assert not isinstance(fit, str)
    v = fit.variances

    def scale(at: Any) -> float:
        value = quantity.value(at)
        return math.log(value if quantity.rest is None else value / (1 - value))

    h = 1e-5
    slope = np.array([(scale(v + h * e) - scale(v - h * e)) / (2 * h) for e in np.eye(3)])
    assert quantity.gradient(v) == pytest.approx(slope, abs=1e-6)
    covariance = np.zeros((3, 3))
    covariance[np.ix_(fit.order, fit.order)] = fit.fit.covariance
    half = stats.norm.ppf(0.95) * math.sqrt(slope @ covariance @ slope)
    ends = [scale(v) - half, scale(v) + half]
    expected = [math.exp(end) if quantity.rest is None else 1 / (1 + math.exp(-end)) for end in ends]
    estimate = getattr(variance_components(*columns, confidence=0.9, interval="delta"), name)
    assert (estimate.low, estimate.high) == pytest.approx(expected, rel=1e-4)
    assert Quantity((1.0, 0.0, 0.0), (0.0, 1.0, 1.0)).value(np.zeros(3)) == 0.0


def test_a_share_at_its_end_has_no_delta_bounds() -> None:
    fit = fit_crossed(as_ratings(*complete(3, 8, 6)))
    assert not isinstance(fit, str)
    assert fit.delta_bounds(Quantity((1.0, 1.0, 1.0), (0.0, 0.0, 0.0)), 0.9) is None
    bounds = fit.delta_bounds(Quantity((1.0, 1.0, 1.0)), 0.9)
    assert bounds is not None
    assert bounds[0] < float(fit.variances.sum()) < bounds[1]
    assert fit.estimate(Quantity((1.0, 0.0, 0.0)), 0.9, "none").why_no_interval == "no interval was requested"


# --- halves -----------------------------------------------------------------------------------------------------------

RATER = np.array([0, 1, 2, 0, 1, 2, 3, 0, 1, 3, 2, 3, 1, 5, 2, 3, 4])
ITEM = np.array([0, 0, 0, 1, 1, 1, 1, 2, 2, 3, 3, 4, 4, 5, 6, 6, 6])
VALUE = np.array([1.0, 2, 2, 4, 5, 3, 5, 2, 4, 6, 5, 1, 3, 9, 7, 5, 6])


def _halves(uniform: Any) -> Any:
    """Items dealt as the shuffle says: of each item's ratings the first half of a shuffled order, the odd one to either."""
    starts = np.append(0, np.cumsum(np.bincount(ITEM)))
    return starts, _splits._deal(starts, np.diff(starts), uniform)


def test_every_item_is_dealt_into_halves_and_the_odd_one_goes_to_either() -> None:
    uniform = np.random.default_rng(0).random((400, 17))
    starts, half = _halves(uniform)
    for item, size in enumerate(np.diff(starts)):
        first = (half[:, starts[item] : starts[item + 1]] == 0).sum(axis=1)
        assert set(first.tolist()) == ({size // 2} if size % 2 == 0 else {size // 2, size // 2 + 1})
        # Every rating is as often in the first half as any other.
        share = (half[:, starts[item] : starts[item + 1]] == 0).mean(axis=0)
        if size > 1:
            assert share == pytest.approx(np.full(size, 0.5), abs=0.12)
    # The two items with three ratings each have a coin of their own.
    larger = [(half[:, starts[item] : starts[item + 1]] == 0).sum(axis=1) > 1 for item in (0, 6)]
    assert 0.4 < float(np.mean(larger[0] == larger[1])) < 0.6


def test_correlations_of_halves_without_each_unit_by_hand() -> None:
    uniform = np.random.default_rng(1).random((6, 17))
    starts, half = _halves(uniform)
    whole, (by_item, by_rater, by_rating) = _splits._leave_out(starts, RATER, VALUE, uniform, 6)

    def correlation(split: int, keep: Any) -> float:
        pairs = []
        for item in range(7):
            rows = np.flatnonzero((item == ITEM) & keep)
            sides = [VALUE[rows[half[split, rows] == side]] for side in (0, 1)]
            if np.sum(item == ITEM) > 1 and sides[0].size and sides[1].size:
                pairs.append([side.mean() for side in sides])
        if len(pairs) < 3:
            return math.nan
        return float(np.corrcoef(np.array(pairs).T)[0, 1])

    everything = np.ones(17, bool)
    for split in range(6):
        assert whole[split] == pytest.approx(correlation(split, everything))
        for item in range(7):
            assert by_item[split, item] == pytest.approx(correlation(split, item != ITEM))
        for row in range(17):
            assert by_rating[split, row] == pytest.approx(correlation(split, np.arange(17) != row))
        for rater in range(6):
            # A rater rated each item once at most, so that leaving the rater out leaves out one rating of each.
            assert by_rater[split, rater] == pytest.approx(correlation(split, rater != RATER), nan_ok=True)


def test_split_half_is_stepped_up_by_the_error_of_halves() -> None:
    assert length_factor(np.array([4, 4])) == pytest.approx(2.0)
    assert length_factor(np.array([3, 2, 1])) == pytest.approx((3 / 4 + 1) / 2 / ((1 / 3 + 1 / 2) / 2))
    result = split_half(RATER, ITEM, VALUE, splits=60)
    total = [np.zeros(7), np.zeros(6), np.zeros(17)]
    starts = np.append(0, np.cumsum(np.bincount(ITEM)))
    summed = _splits.split_at_once(
        starts, RATER, VALUE - VALUE.mean(), stream(0, "reliability", "split half"), 60, *total
    )
    r, step = (summed or 0) / 60, length_factor(np.bincount(ITEM))
    assert float(result) == pytest.approx(step * r / (1 + (step - 1) * r))
    assert result.counts["items_with_one_rating"] == 1
    assert result.counts["splits"] == 60
    on_z = [np.arctanh(part / 60) for part in total]
    # The sixth rater rated nothing but the item with one rating.
    used = np.bincount(RATER[ITEM != 5])
    units = on_z[0][np.arange(7) != 5], on_z[1][:5], on_z[2][ITEM != 5]
    variances = [(part.size - 1) * float(part.var()) for part in units]
    sizes = np.bincount(ITEM)[[0, 1, 2, 3, 4, 6]]
    counted = [float(part.sum() ** 2 / (part**2).sum()) for part in (sizes, used)]
    spread = TwoWaySpread(variances[0], variances[1], variances[2], counted[0], counted[1])
    half = spread.reach_alike(r / (1 + r), 0.95)
    low, high = (math.tanh(math.atanh(r) + side * half) for side in (-1, 1))
    assert result.low == pytest.approx(max(step * low / (1 + (step - 1) * low), -1.0))
    assert result.high == pytest.approx(step * high / (1 + (step - 1) * high))
    # Of R raters, three careless ones more would leave R (R - 1) / ((R + 3) (R + 2)) of the pairs attentive.
    many = spread.rater_count
    unseen = math.atanh(many * (many - 1) / ((many + 3) * (many + 2)) * r)
    careless = math.tanh(math.atanh(r) - max(spread.reach_if_careless(math.atanh(r) - unseen, 0.95), half))
    assert result.bound_if_careless == pytest.approx(max(step * careless / (1 + (step - 1) * careless), -1.0))
    with pytest.raises(InputError, match="needs a split"):
        split_half(RATER, ITEM, VALUE, splits=0)
    assert split_half(RATER, ITEM, VALUE, splits=1).value is not None
    close = split_half(*_table(np.arange(8.0)[:, None] + 0.05 * np.sin(np.arange(32.0).reshape(8, 4))))
    assert close.low is not None
    assert 0.999 < close.low < float(close)
    same = split_half(*_table(np.tile(np.arange(8.0)[:, None], 4)))
    assert same.why_no_interval == "the halves agree perfectly"


def test_stepping_up_at_its_ends() -> None:
    single = Estimate(0.4, -0.6, 0.9, "ICC", "F", bound_if_careless=0.1)
    more = stepped(single, 3.0, "k")
    assert (more.value, more.low, more.high) == pytest.approx((1.2 / 1.8, -1.0, 2.7 / 2.8))
    assert more.bound_if_careless == pytest.approx(0.3 / 1.2)
    assert stepped(single, 2.0, "k").low == pytest.approx(-1.0)
    assert stepped(single, 2.0, "k", exact=True).low == pytest.approx(-1.2 / 0.4)
    assert stepped(Estimate(0.4, -0.6, 0.9), 4.0, "k", exact=True).low == -1.0
    assert stepped_bound(-0.45, 3.0, -2.0) == -2.0
    assert stepped(Estimate(-0.5), 3.0, "k").is_missing
    needed = raters_needed(Estimate(0.4, 0.2, 0.6, "ICC", "F", bound_if_careless=0.1), 0.8)
    assert needed.bound_if_careless == 36
    assert raters_needed(Estimate(0.4, 0.0, 0.6, "ICC", "F"), 0.8).interval.endswith(
        "the reliability may be zero"
    )
    assert raters_needed(0.0, 0.8).is_missing
    assert raters_needed(-1.0, 0.8).is_missing
    assert raters_needed(1.0, 0.8).value == 1
    for outside in (1.0001, -1.0001, math.nan):
        with pytest.raises(InputError, match="between -1 and 1"):
            reliability_with(outside, 2)
    assert reliability_with(0.5, 0.5).value == pytest.approx(0.25 / 0.75)
    curve = reliability_curve({1: Estimate(0.5, 0.0, 1.0), 2: Estimate(2 / 3 + 0.004)}, 2)
    assert (curve[2].low, curve[2].high) == (0.0, 1.0)
    assert reliability_curve({1: Estimate(0.5), 2: Estimate(2 / 3 + 0.006)}, 1).keys() == {1}
    assert reliability_curve({1: Estimate(1.0)}, 3).keys() == {1}
    assert reliability_curve({1: Estimate(0.5)}, 2)[2].low is None
    assert reliability_with(0.5, 4).interval == ""
    assert reliability_curve({1: Estimate(0.5, 0.2, 1.5)}, 2)[2].high is None


# --- yardsticks -------------------------------------------------------------------------------------------------------

CATEGORY = np.array([0, 0, 1, 1, 1, 0, 1, 2, 2, 2, 2, 0, 0, 1, 2, 2, 0])


def _scores(labels: Any, answers: Any, weights: Any) -> dict[str, float]:
    confusion = np.zeros((3, 3))
    for label, answer, weight in zip(labels, answers, weights, strict=True):
        confusion[label, answer] += weight
    hit, asked, said = np.diag(confusion), confusion.sum(axis=1), confusion.sum(axis=0)
    there, either = asked > 0, asked + said > 0
    return {
        "accuracy": hit.sum() / confusion.sum(),
        "balanced_accuracy": float(np.mean(hit[there] / asked[there])),
        "macro_f1": float(np.mean(2 * hit[either] / (asked + said)[either])),
    }


def winner_of(counts: Any) -> int | None:
    top = np.flatnonzero(counts == counts.max())
    return int(top[0]) if top.size == 1 and counts.max() > 0 else None


@pytest.mark.parametrize("metric", ["accuracy", "balanced_accuracy", "macro_f1"])
def test_category_yardsticks_by_hand(metric: Any) -> None:
    d = as_ratings(RATER, ITEM, CATEGORY.astype(float))
    counts = np.array([np.bincount(CATEGORY[i == ITEM], minlength=3) for i in range(7)])
    assert yardsticks.category_counts(d).tolist() == counts.tolist()
    keep = np.ones(17, bool)
    rows = []
    for row in range(17):
        others = counts[ITEM[row]].copy()
        others[CATEGORY[row]] -= 1
        label = winner_of(others)
        if label is not None:
            rows.append((label, CATEGORY[row], 1.0))
    single = yardsticks.of_single_rater(d, metric)(keep)
    assert single == pytest.approx(_scores(*zip(*rows, strict=True))[metric])
    cells = np.array([0, 0, 0, 1, 1, 1, 2])
    labels = {i: label for i, row in enumerate(counts) if (label := winner_of(row)) is not None}
    for own in (False, True):
        rows = []
        for i, label in labels.items():
            together = [j for j in labels if cells[j] == cells[i]]
            if len(together) < 2:
                continue
            guess = np.bincount([labels[j] for j in together if own or j != i], minlength=3)
            top = np.flatnonzero(guess == guess.max())
            rows += [(label, int(answer), 1 / top.size) for answer in top]
        found = yardsticks.of_cell_means(d, cells, metric, own)(keep)
        assert found == pytest.approx(_scores(*zip(*rows, strict=True))[metric])


@pytest.mark.parametrize("metric", ["correlation", "rmse", "mae"])
def test_number_yardsticks_by_hand(metric: Any) -> None:
    d = as_ratings(RATER, ITEM, VALUE)
    keep = np.arange(17) != 4
    labels = {i: VALUE[(i == ITEM) & keep].mean() for i in range(7)}
    cells = np.array([0, 0, 0, 1, 1, 1, 2])

    def score(pairs: Any) -> float:
        a, b = np.array(pairs, float).T
        if metric == "correlation":
            return float(np.corrcoef(a, b)[0, 1])
        return math.sqrt(np.mean((a - b) ** 2)) if metric == "rmse" else float(np.mean(np.abs(a - b)))

    for own in (False, True):
        pairs = [
            (labels[i], np.mean([labels[j] for j in range(7) if cells[j] == cells[i] and (own or j != i)]))
            for i in range(6)
        ]
        assert yardsticks.of_cell_means(d, cells, metric, own)(keep) == pytest.approx(score(pairs))
    pairs = [
        (VALUE[(ITEM[row] == ITEM) & keep & (np.arange(17) != row)].mean(), VALUE[row])
        for row in range(17)
        if keep[row] and np.sum((ITEM[row] == ITEM) & keep) > 1
    ]
    assert yardsticks.of_single_rater(d, metric)(keep) == pytest.approx(score(pairs))
    assert yardsticks._agreement(np.ones(2), np.ones(2), metric) is None
    assert yardsticks._agreement(np.ones(3), np.arange(3.0), "correlation") is None
