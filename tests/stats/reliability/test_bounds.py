"""Bounds of reliability figures, digit by digit: against R, and against leaving out units one by one with plain arrays."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import pytest
from scipy import stats

from heartfelt.stats.ceilings.noise_ceiling import ceiling
from heartfelt.stats.ceilings.number_ceiling import ceiling_from_means
from heartfelt.stats.ceilings.vote_ceiling import HalfPanels, fixed_panel_gain
from heartfelt.stats.ceilings.yardsticks import category_counts
from heartfelt.stats.ratings import Ratings, as_ratings
from heartfelt.stats.reliability import icc, split_half, variance_components
from heartfelt.stats.reliability.intraclass import FORMS
from heartfelt.stats.reliability.rater_differences import gain_variance_with_doubt
from tests.cases import check_all
from tests.facts import mentions
from tests.stats.reliability.ratings import (
    LeftOut,
    Triple,
    complete,
    designs,
    gain_to_count_on,
    level_share,
    levels_apart,
    ragged,
)
from tests.stats.reliability.ratings import from_log_f as back
from tests.stats.reliability.ratings import log_f as scaled

SOURCE = "R 4: psych::ICC(lmer = FALSE), lme4::lmer; leave-one-out written out here"

SHROUT_FLEISS = np.array([[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]], float)
# psych::ICC(x, lmer = FALSE, alpha = 1 - confidence): lower and upper bound of icc1, icc2, icc3, icc1k, icc2k, icc3k.
PSYCH = {
    0.95: [
        (-0.13293232487, 0.7225600623), (0.01878651337, 0.7610843696), (0.34246476503, 0.9458582600),
        (-0.88444215524, 0.9124154203), (0.07113681530, 0.9272320402), (0.67567471382, 0.9858916782),
    ],
    0.9: [
        (-0.09672220366, 0.6433983107), (0.04290119154, 0.6910706066), (0.41183413092, 0.9258328077),
        (-0.54504172474, 0.8783010354), (0.15203705386, 0.8994767001), (0.73689767858, 0.9803660560),
    ],
}  # fmt: skip


@pytest.mark.parametrize("confidence", PSYCH)
def test_f_bounds_equal_psych(confidence: float) -> None:
    item, rater = (a.ravel() for a in np.indices(SHROUT_FLEISS.shape))
    result = icc(rater, item, SHROUT_FLEISS.ravel(), interval="f", confidence=confidence)
    for form, bounds in zip(("icc1", "icc2", "icc3", "icc1k", "icc2k", "icc3k"), PSYCH[confidence], strict=True):
        estimate = getattr(result, form)
        assert (estimate.low, estimate.high) == pytest.approx(bounds, abs=2e-9)


# lmer(value ~ 1 + (1 | item) + (1 | rater)) of R 4.2 and lme4 1.1-31: variances of item, rater and residual, log likelihood,
# mean and its error.
LMER = {
    "complete": (0.8758549492, 1.1943142105, 1.3180612056, -106.91102007, 0.6050610174, 0.5777702323),
    "many_raters": (0.5953391443, 0.3479327789, 1.5812458067, -149.06379771, 0.0491023162, 0.3780210139),
    "ragged": (0.3770393440, 0.7452899344, 1.2724141709, -240.33663208, -0.9793136914, 0.3277991441),
    "sparse": (0.7470050172, 0.2825328149, 1.0346173696, -201.98610673, 0.0926886202, 0.2278629231),
    "no_item_variance": (0.0, 0.6957271487, 0.8252553897, -87.00408272, 0.1261607588, 0.3181098019),
    "no_rater_variance": (0.5217277898, 0.0, 0.9341591442, -93.10463961, -0.0589484796, 0.2040973017),
    "little_rater_variance": (0.6955902482, 0.0022358519, 1.1573363073, -99.90931789, 0.1432136442, 0.2331922324),
    "two_raters": (0.9174466757, 0.0, 0.6670878345, -30.56040350, -0.5049786236, 0.3536934538),
    "three_raters": (0.4852263867, 1.2153068576, 0.7414733559, -49.47482207, -0.3403752793, 0.6850446943),
    "two_items": (1.9308785217, 0.0, 0.7629561409, -16.75475979, -0.8157599892, 1.0144057074),
    "with_gaps": (0.9405292232, 1.2848865498, 1.3261027354, -97.37612665, 0.6869727002, 0.6001543743),
    "negative": (0.0, 0.0, 1.0572342555, -65.56106542, 0.0270812474, 0.1532778346),
}  # fmt: skip


@check_all("name", LMER)
def test_components_equal_lme4(name: str) -> None:
    rater, item, value = designs()[name]
    result = variance_components(rater, item, value)
    assert [result.item.value, result.rater.value, result.residual.value] == pytest.approx(
        LMER[name][:3], rel=2e-5, abs=3e-7
    )
    assert result.log_likelihood == pytest.approx(LMER[name][3], abs=1e-6)
    assert result.mean.value == pytest.approx(LMER[name][4], rel=1e-5)
    fewest = min(np.unique(rater).size, np.unique(item).size)
    half = stats.t(fewest - 1).ppf(0.975) * LMER[name][5]
    assert result.mean.high is not None
    assert result.mean.high - float(result.mean) == pytest.approx(half, rel=1e-5)


def _one_way(item: Any, value: Any) -> float:
    """The intraclass correlation of the one-way analysis of variance with unequal counts."""
    items, counts = np.unique(item, return_counts=True)
    means = np.array([value[item == i].mean() for i in items])
    between = (counts * (means - value.mean()) ** 2).sum() / (items.size - 1)
    within = sum(((value[item == i] - value[item == i].mean()) ** 2).sum() for i in items) / (value.size - items.size)
    usual = (value.size - (counts**2).sum() / value.size) / (items.size - 1)
    return float((between - within) / (between + (usual - 1) * within))


def _two_way(rater: Any, item: Any, value: Any) -> tuple[float, float]:
    """Agreement and consistency of one rating in a complete table, from its mean squares (McGraw and Wong 1996)."""
    table = value[np.lexsort((rater, item))].reshape(np.unique(item).size, -1)
    n, k = table.shape
    rows, columns = table.mean(1, keepdims=True), table.mean(0, keepdims=True)
    of_items = k * rows.var(ddof=1)
    of_raters = n * columns.var(ddof=1)
    error = ((table - rows - columns + table.mean()) ** 2).sum() / ((n - 1) * (k - 1))
    return (
        float((of_items - error) / (of_items + (k - 1) * error + k * (of_raters - error) / n)),
        float((of_items - error) / (of_items + (k - 1) * error)),
    )


@check_all("name", LMER)
def test_correlations_are_those_of_mean_squares_or_of_lme4(name: str) -> None:
    rater, item, value = (column[np.isfinite(designs()[name][2])] for column in designs()[name])
    result = icc(*designs()[name], interval="f")
    assert result.icc1.value == pytest.approx(_one_way(item, value), rel=1e-9)
    of_items, of_raters, residual = LMER[name][:3]
    crossed = (of_items / (of_items + of_raters + residual), of_items / (of_items + residual))
    expected = _two_way(rater, item, value) if result.complete else crossed
    assert [result.icc2.value, result.icc3.value] == pytest.approx(expected, rel=3e-5, abs=1e-9)
    gaps = designs()[name][2].size - value.size
    counts = {"ratings": value.size, "items": np.unique(item).size, "raters": np.unique(rater).size}
    assert dict(result.icc1.counts) == counts | ({"left_out": gaps} if gaps else {})


def _moments(rater: Any, item: Any, y: Any) -> tuple[float, float, float, float]:
    """Between items, within items, item and residual variance (Gao and Owen 2017) with plain loops."""
    n = y.size
    items, raters = np.unique(item), np.unique(rater)
    of_items = sum(y[item == i].sum() ** 2 / (item == i).sum() for i in items)
    of_raters = sum(y[rater == r].sum() ** 2 / (rater == r).sum() for r in raters)
    squares, grand = float((y**2).sum()), y.sum() ** 2 / n
    within = (squares - of_items) / (n - items.size)
    within_raters = (squares - of_raters) / (n - raters.size)
    a = n - sum((item == i).sum() ** 2 for i in items) / n
    b = n - sum((rater == r).sum() ** 2 for r in raters) / n
    residual = (within_raters * a + within * b - (squares - grand)) / (a + b - n + 1)
    return (of_items - grand) / (items.size - 1), within, within_raters - residual, residual


def _left_out(data: Triple, statistic: Callable[..., float]) -> tuple[float, float, float]:
    """Jackknife variances over items, raters and ratings."""
    rater, item, value = data
    y = value - value.mean()
    out = []
    for codes in (item, rater, np.arange(y.size)):
        retained = [codes != c for c in np.unique(codes)]
        values = np.array([statistic(rater[k], item[k], y[k]) for k in retained])
        out.append(float((values.size - 1) / values.size * ((values - values.mean()) ** 2).sum()))
    return out[0], out[1], out[2]


def _levels(data: Triple) -> Any:
    """The raters' levels as Henderson's mixed-model equations give them."""
    rater, item, value = data
    parts = variance_components(rater, item, value)
    columns = [np.eye(code.max() + 1)[code] for code in (item, rater)]
    z = np.hstack(columns)
    ridge = np.repeat(
        [float(parts.residual) / float(parts.item), float(parts.residual) / float(parts.rater)],
        [c.shape[1] for c in columns],
    )
    return np.linalg.solve(z.T @ z + np.diag(ridge), z.T @ (value - value.mean()))[columns[0].shape[1] :]


def _effective(codes: Any) -> float:
    sizes: Any = np.bincount(codes)
    return float(sizes.sum() ** 2 / (sizes**2).sum())


@pytest.mark.parametrize("form", ["icc1", "icc2", "icc3"])
@pytest.mark.parametrize("name", ["complete", "ragged"])
def test_icc_bounds_by_leaving_out(name: str, form: str) -> None:
    data = designs()[name]
    rater, item, value = data
    sizes = np.bincount(item)
    k = (value.size - (sizes**2).sum() / value.size) / (sizes.size - 1)

    def log_f(r: Any, i: Any, y: Any) -> float:
        between, within, of_item, residual = _moments(r, i, y)
        if form == "icc1":
            return math.log(between / within)
        return math.log(1 + k * of_item / (within if form == "icc2" else residual))

    if name == "ragged" and form == "icc3":
        # Moments know consistency of incomplete data less well than REML: raters' levels are taken off first.
        data = (rater, item, value - _levels(data)[rater])

        def log_f(r: Any, i: Any, y: Any) -> float:
            between, within, _, _ = _moments(r, i, y)
            return math.log(between / within)

    v_items, v_raters, v_ratings = _left_out(data, log_f)
    close = 1e-9 if name == "complete" or form != "icc3" else 1e-5
    seen = LeftOut(
        items=v_items, raters=v_raters, ratings=v_ratings, n_items=_effective(item), n_raters=_effective(rater)
    )
    result = icc(rater, item, value, confidence=0.9)
    estimate = getattr(result, form)
    r = float(estimate)
    centre = scaled(r, k)
    normal = 2 / (seen.n_items - 1) * (1 + 1 / (k - 1))
    levels = level_share(rater, item, value)
    moved = {
        "icc1": levels * (1 - levels_apart((rater, item, value)) * math.exp(-centre)),
        "icc2": levels * (1 - math.exp(-centre)),
        "icc3": 0.0,
    }
    half = seen.alike(1 - math.exp(-centre), normal, 0.9, gain_to_count_on((rater, item, value)), moved[form])
    away = seen.if_careless(centre - scaled(seen.attentive * r, k), 0.9)
    low, careless = back(centre - half, k), back(centre - away, k)
    if name == "ragged" and form != "icc1":
        low, careless = max(low, 0.0), max(careless, 0.0)
    assert (estimate.low, estimate.high) == pytest.approx((low, back(centre + half, k)), rel=close)
    assert estimate.bound_if_careless == pytest.approx(careless, rel=close)
    assert careless < low
    wide = getattr(icc(rater, item, value, confidence=0.9, future_raters="careless"), form)
    assert (wide.low, wide.high) == (estimate.bound_if_careless, estimate.high)
    assert wide.interval == f"{estimate.interval}, if some future raters are careless"
    averaged = getattr(result, form + "k")
    step = result.k or 0.0
    assert averaged.high == pytest.approx(step * estimate.high / (1 + (step - 1) * estimate.high))


@pytest.mark.parametrize("metric", ["correlation", "rmse", "mae"])
def test_ceiling_bounds_of_raters_alike(metric: Literal["correlation", "rmse", "mae"]) -> None:
    """Normal ratings by raters of one gain: the noise as a chi-square, and the noise in the labels' variance."""
    rng = np.random.default_rng(5)
    table = rng.normal(size=(40, 1)) + rng.normal(size=(1, 5)) + rng.normal(size=(40, 5))
    item, rater = (a.ravel() for a in np.indices(table.shape))
    d = as_ratings(rater, item, table.ravel())
    left = table - table.mean(0) - table.mean(1, keepdims=True) + table.mean()
    kurtosis = np.mean(left**4) / np.mean(left**2) ** 2
    estimate = ceiling(d, metric=metric, confidence=0.9).overall
    square, free = float(estimate) ** 2, 39 * 4
    gains, error, unseen = gain_variance_with_doubt(d)
    rest = (left**2).sum() / free - gains
    noise = max(kurtosis - 1, 2) / free + error / rest**2
    labels = 2 * (1 - square**2) / 39 if metric == "correlation" else 0.0
    df = (noise + labels) ** 2 / (noise**2 / free + labels**2 / 39)
    half = math.hypot(stats.t(df).ppf(0.95) * math.sqrt(noise + labels), unseen / rest)
    if metric == "correlation":
        low, high = (1 - (1 - square) * math.exp(-by) for by in (-half, half))
    else:
        low, high = square * math.exp(-half), square * math.exp(half)
    assert [estimate.low, estimate.high] == pytest.approx([math.sqrt(low), math.sqrt(high)], rel=1e-6)


def test_the_error_ceiling_is_the_noise_of_labels() -> None:
    """Of equal counts and other raters for every item: all of rater and residual variance over the count is noise."""
    rater, item, value = designs()["one_rating_per_rater"]
    parts = variance_components(rater, item, value)
    rmse = ceiling(rater, item, value, metric="rmse").overall
    assert rmse.value == pytest.approx(math.sqrt(float(parts.error) / 3))
    mae = ceiling(rater, item, value, metric="mae").overall
    assert mae.value == pytest.approx(math.sqrt(2 / math.pi) * float(rmse))
    assert mae.low == pytest.approx(math.sqrt(2 / math.pi) * float(rmse.low or 0))


@pytest.mark.parametrize("metric", ["correlation", "rmse", "mae"])
def test_bounds_of_published_means_by_leaving_out(metric: Literal["correlation", "rmse", "mae"]) -> None:
    rng = np.random.default_rng(3)
    mean, sd, n = rng.normal(0, 2, 9), rng.uniform(0.5, 1.5, 9), rng.integers(2, 7, 9).astype(float)

    def statistic(keep: Any) -> float:
        noise = sd[keep] ** 2 / n[keep]
        if metric == "correlation":
            return math.log(float(mean[keep].var(ddof=1)) / float(noise.mean()))
        if metric == "rmse":
            return math.log(math.sqrt(noise.mean()))
        return math.log(float(np.sqrt(2 / math.pi * noise).mean()))

    values = np.array([statistic(np.arange(9) != i) for i in range(9)])
    half = stats.t(8).ppf(0.95) * math.sqrt(8 / 9 * ((values - values.mean()) ** 2).sum())
    whole = statistic(np.ones(9, bool))
    estimate = ceiling_from_means(mean, sd, n, metric, 0.9)
    if metric == "correlation":
        expected = [math.sqrt(1 - math.exp(-(whole + by))) for by in (0, -half, half)]
    else:
        expected = [math.exp(whole + by) for by in (0, -half, half)]
    assert [estimate.value, estimate.low, estimate.high] == pytest.approx(expected, rel=1e-9)
    assert ceiling_from_means(mean[:5], sd[:5], n[:5], metric).low is not None
    four = ceiling_from_means(mean[:4], sd[:4], n[:4], metric)
    assert four.low is None
    assert mentions(four.why_no_interval, "fewer", "items")
    assert ceiling_from_means(mean[:1], sd[:1], n[:1], metric).value is None
    assert ceiling_from_means(mean, sd, np.ones(9), metric).value is None


FIGURES: dict[str, Callable[[Triple, float], Any]] = {
    "icc": lambda d, c: icc(*d, confidence=c).icc2,
    "icc f": lambda d, c: icc(*d, confidence=c, interval="f").icc1,
    "icc model": lambda d, c: icc(*d, confidence=c, interval="model").icc3,
    "item": lambda d, c: variance_components(*d, confidence=c).item,
    "share": lambda d, c: variance_components(*d, confidence=c).rater_share,
    "profile": lambda d, c: variance_components(*d, confidence=c, interval="profile").residual,
    "delta": lambda d, c: variance_components(*d, confidence=c, interval="delta").rater,
    "mean": lambda d, c: variance_components(*d, confidence=c).mean,
    "split": lambda d, c: split_half(*d, confidence=c, splits=5),
    "correlation": lambda d, c: ceiling(*d, confidence=c).overall,
    "cells": lambda d, c: ceiling(*d, confidence=c, cell={i: i % 3 for i in range(25)}).within_cells,
    "rmse": lambda d, c: ceiling(*d, confidence=c, metric="rmse").overall,
    "human": lambda d, c: ceiling(*d, confidence=c).human,
    "accuracy": lambda d, c: ceiling(d[0], d[1], np.round(d[2]) > 0, confidence=c, metric="accuracy").overall,
}


@check_all("name", FIGURES)
def test_a_higher_confidence_is_labelled_and_wider(name: str) -> None:
    figures = [FIGURES[name](ragged(7, 25, 9, 0.6), confidence) for confidence in (0.5, 0.9, 0.99)]
    widths = []
    for estimate, confidence in zip(figures, (0.5, 0.9, 0.99), strict=True):
        assert estimate.confidence == confidence
        assert estimate.low <= estimate.value <= estimate.high
        widths.append(estimate.high - estimate.low)
    assert widths[0] < widths[1] < widths[2]


def test_three_raters_and_three_items_are_the_fewest_to_leave_out() -> None:
    few = "fewer than three items or raters are too few to leave one out"
    for items, raters, bounded in ((8, 3, True), (8, 2, False), (3, 8, True), (2, 8, False)):
        data = complete(items + raters, items, raters)
        estimates = [variance_components(*data).residual, ceiling(*data, metric="rmse").overall]
        for estimate in estimates:
            if estimate.is_missing:
                continue
            assert (estimate.low is not None) is bounded, (items, raters)
            assert estimate.why_no_interval == (None if bounded else few)
    assert icc(*complete(1, 2, 8)).icc3.why_no_interval == few
    assert mentions(split_half(*complete(1, 8, 2)).why_no_interval, "2 raters", "leave")
    assert split_half(*complete(1, 2, 8)).is_missing
    assert not split_half(*complete(1, 3, 8)).is_missing


@pytest.mark.slow
def test_a_variance_at_zero_is_zero_and_has_an_upper_bound() -> None:
    result = variance_components(*designs()["no_item_variance"])
    assert result.item.value == 0.0
    assert result.item.low == 0.0
    assert result.item.high is not None
    assert result.item.high > 0.0
    assert result.item_share.value == 0.0
    assert any("zero" in note for note in result.notes)
    delta = variance_components(*designs()["no_item_variance"], interval="delta").item
    assert (delta.value, delta.low) == (0.0, None)
    assert delta.why_no_interval
    assert ceiling(*designs()["no_item_variance"]).overall.value == 0.0
    raters = variance_components(*designs()["no_rater_variance"])
    assert (raters.rater.value, raters.rater.low, raters.rater_share.value) == (0.0, 0.0, 0.0)
    assert raters.error.value == raters.residual.value
    profile = variance_components(*designs()["no_rater_variance"], interval="profile").rater
    assert profile.low == 0.0
    assert profile.high is not None
    assert 0.0 < profile.high < float(raters.item)


def test_forms_is_complete() -> None:
    assert FORMS == ("icc1", "icc1k", "icc2", "icc2k", "icc3", "icc3k")


def test_a_search_that_does_not_settle_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("heartfelt.stats.reliability.reml.MOST_STEPS", 1)
    why = "the search for the maximum of the likelihood did not converge"
    for name in ("item", "rater", "residual", "item_share", "mean"):
        estimate = getattr(variance_components(*designs()["ragged"]), name)
        assert estimate.why_missing == why
    assert icc(*designs()["ragged"]).icc2.why_missing == why
    assert ceiling(*designs()["ragged"]).overall.is_missing


def _panel(raters: int, items: int, per_item: int) -> Ratings:
    """Half of the raters always right, half guessing among three categories."""
    rng = np.random.default_rng(4)
    item = np.repeat(np.arange(items), per_item)
    rater = np.concatenate([np.sort(rng.permutation(raters)[:per_item]) for _ in range(items)])
    truth, guess = rng.integers(0, 3, items), rng.integers(0, 3, item.size)
    return as_ratings(rater, item, np.where(rater % 2 == 0, truth[item], guess).astype(float))


def test_a_fixed_panel_gains_only_where_few_raters_vote_often() -> None:
    """A gain needs 15 ratings per rater, and no more than ten times as many raters as votes per item."""
    gains = {}
    for raters, items, per_item in ((4, 15, 4), (4, 14, 4), (40, 150, 4), (41, 160, 4)):
        d = _panel(raters, items, per_item)
        gains[raters, items] = fixed_panel_gain(d, category_counts(d), 0)
    assert gains[4, 15] > 0
    assert gains[4, 14] == 0
    assert gains[41, 160] == 0


def test_half_panels_fit_within_three_standard_errors_or_two_hundredths() -> None:
    def fits(observed: float, error: float) -> bool:
        return HalfPanels(
            observed=observed, predicted=0.5, standard_error=error, items=100, panels=(np.array([2]), np.array([1.0]))
        ).fits

    assert fits(0.5199, 0.0)
    assert not fits(0.5201, 0.0)
    assert fits(0.5899, 0.03)
    assert not fits(0.5901, 0.03)
