"""Components and ceilings in small exact cases: loops, enumeration, and equations that must hold."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

from heartfelt.stats.ceilings.noise_ceiling import ceiling
from heartfelt.stats.ratings import as_ratings
from heartfelt.stats.reliability import components, variance_components
from heartfelt.stats.reliability.crossed import Quantity, fit_crossed
from heartfelt.stats.reliability.two_way_jackknife import TwoWaySpread
from tests.stats.reliability.ratings import complete, gain_to_count_on, gains_with_doubt, level_share, ragged


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
    item_count, rater_count = (float(part.sum() ** 2 / (part**2).sum()) for part in sizes)
    return [
        TwoWaySpread(
            items=float(items),
            raters=float(raters),
            ratings=float(ratings),
            item_count=item_count,
            rater_count=rater_count,
        )
        for items, raters, ratings in np.transpose(variances)
    ]


SMALL = ragged(5, 9, 6, 0.8)


@pytest.mark.parametrize("between", [0.0, 2.0])
def test_bounds_of_components_by_leaving_out(between: float) -> None:
    """The distances are those of the tests above; here each is taken from its own statistic."""
    rater, item, value = SMALL
    value = value + between * np.sin(2.0 * item)
    columns = rater, item, value
    parts = variance_components(*columns, confidence=0.9)
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
            math.log(max((v["item"] + v["rater"]) / residual + noise / of_residual, 1e-6 * noise / of_residual)),
        ]

    assert parts.mean.method == "generalised least squares"
    spreads = _left_out(columns, statistics)
    items, raters = spreads[0].item_count, spreads[0].rater_count
    attentive = raters * (raters - 1) / ((raters + 3) * (raters + 2))
    gain, levels_share = gain_to_count_on(columns), level_share(*columns)
    # Items far enough apart show that these raters' gains differ less than usual.
    assert (gain < 0.35) == (between > 0)
    gains = (2 * gain * of_item / (of_item + noise)) ** 2 / raters
    reach = components._chi_square(*spreads[0].alike(gains), items, 0.9)
    low, high = components._moved(of_item, noise, reach)
    assert (parts.item.low, parts.item.high) == pytest.approx((low, high), rel=1e-6)
    careless = components._moved(of_item, noise, reach, below=attentive * of_item)[0]
    assert parts.item.bound_if_careless == pytest.approx(careless, rel=1e-6)
    unequal = 2 / (raters - 1) * (gain**2 * of_item / of_residual) ** 2
    variance, df = spreads[2].alike(unequal)
    reach = components._chi_square(max(variance, spreads[2].items + unequal), df, value.size - items - raters, 0.9)
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
    response = 1 - math.exp(-centre)
    assert levels_share > 0
    half = spreads[3].reach_alike(response, 0.9, normal, gain, levels_share * response)
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
@pytest.mark.parametrize("data", ["ragged", "complete", "gains"])
def test_bounds_of_ceilings_by_hand(metric: Any, celled: bool, data: str) -> None:
    """Only the noise is random: a chi-square by the kurtosis of the residuals, the doubt of gains, and noise in labels."""
    columns = SMALL if data == "ragged" else complete(3, 9, 6)
    if data == "gains":
        columns = ragged(6, 24, 5, 0.9)
        columns = columns[0], columns[1], columns[2] + 1.5 * (columns[0] - 2) * (columns[1] % 4)
    rater, item, value = columns
    many, counts = np.unique(item).size, np.bincount(item)
    cell = np.arange(many) % 2 if celled else np.zeros(many, int)
    weights = np.zeros((many, rater.max() + 1))
    weights[item, rater] = 1 / counts[item]
    centred = weights - np.array([weights[cell == c].mean(axis=0) for c in cell])
    share = float((centred**2).sum() / (weights**2).sum())
    fit = fit_crossed(as_ratings(*columns), cell[item] if celled else None)
    assert not isinstance(fit, str)
    _, of_rater, residual = fit.variances
    gains, error, unseen = gains_with_doubt(columns)
    rest = residual - min((1 - share) * gains, 0.9 * residual)
    left = value - (np.bincount(item, value) / counts)[item]
    if data == "complete":
        left = left - (np.bincount(rater, left) / np.bincount(rater))[rater]
    kurtosis = stats.kurtosis(left, fisher=False) if data == "complete" else np.mean(left**4) / np.mean(left**2) ** 2
    free = value.size - many - rater.max()
    free_items = many - 1 - celled
    of_levels = share * of_rater / (share * of_rater + rest)
    noise = max(kurtosis - 1, 2) / free + (1 - share) ** 2 * error / rest**2 + 2 * of_levels**2 / free_items
    named = {i: "ab"[c] for i, c in enumerate(cell)} if celled else None
    found = ceiling(*columns, metric=metric, cell=named, confidence=0.9)
    estimate = found.within_cells if celled else found.overall
    assert estimate is not None
    square = float(estimate) ** 2
    labels = 2 * (1 - square**2) / free_items if metric == "correlation" else 0.0
    df = (noise + labels) ** 2 / (noise**2 / free + labels**2 / free_items)
    half = math.hypot(stats.t.ppf(0.95, df) * math.sqrt(noise + labels), min((1 - share) * unseen / rest, 1.0))
    ends = [square * math.exp(-half), square * math.exp(half)]
    if metric == "correlation":
        ends = [max(1 - (1 - square) * math.exp(by), 0.0) for by in (half, -half)]
    assert (estimate.low, estimate.high) == pytest.approx([math.sqrt(end) for end in ends], rel=1e-6)


def test_spreads_of_levels_by_hand() -> None:
    spread = TwoWaySpread(items=0.1, raters=0.4, ratings=0.3, item_count=12.0, rater_count=6.0)
    least = components._at_least(spread)
    assert (least.items, least.raters, least.ratings) == pytest.approx((0.1, 0.3 + 2 / 5, 0.3))
    wide = TwoWaySpread(items=0.1, raters=0.9, ratings=0.3, item_count=12.0, rater_count=6.0)
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
        return math.log(value if quantity.remainder is None else value / (1 - value))

    h = 1e-5
    slope = np.array([(scale(v + h * e) - scale(v - h * e)) / (2 * h) for e in np.eye(3)])
    assert quantity.gradient(v) == pytest.approx(slope, abs=1e-6)
    covariance = np.zeros((3, 3))
    covariance[np.ix_(fit.order, fit.order)] = fit.fit.covariance
    half = stats.norm.ppf(0.95) * math.sqrt(slope @ covariance @ slope)
    ends = [scale(v) - half, scale(v) + half]
    expected = [math.exp(end) if quantity.remainder is None else 1 / (1 + math.exp(-end)) for end in ends]
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
