"""How far raters differ in gain and in level, by regressions and loops."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from heartfelt.stats.ceilings.noise_ceiling import ceiling
from heartfelt.stats.ceilings.number_ceiling import level_noise
from heartfelt.stats.ratings import as_ratings
from heartfelt.stats.reliability import rater_differences, variance_components
from heartfelt.stats.reliability.rater_differences import gain_variance
from heartfelt.stats.reliability.two_way_jackknife import differences_of
from tests.stats.reliability.ratings import (
    Triple,
    complete,
    gain_to_count_on,
    gains_with_doubt,
    level_share,
    levels_apart,
    of_rows,
    ragged,
)

TRUTH, GAINS = np.array([1.0, 2.0, 4.0, 7.0, 5.0]), np.array([0.4, 1.0, 1.6])
NOISE = 0.3 * np.sin(np.arange(15.0).reshape(5, 3) * 2.3)


def test_the_variance_of_gains_is_that_of_slopes_beyond_their_standard_errors() -> None:
    table = TRUTH[:, None] * GAINS + NOISE
    fits = [stats.linregress(table.mean(axis=1), column) for column in table.T]
    slopes, errors = np.array([fit.slope for fit in fits]), np.array([fit.stderr for fit in fits])
    # SciPy's standard errors divide by n - 2.
    beyond = slopes.var(ddof=1) - np.mean(errors**2)
    assert gain_variance(as_ratings(*of_rows(table))) == pytest.approx(beyond * table.mean(axis=1).var())


@pytest.mark.parametrize("gain", ["little", "much"])
def test_gains_take_at_most_nine_tenths_of_the_residual(gain: str) -> None:
    # Of n items the gains alone make (n - 1) / n of the residual: fourteen and hardly any noise go beyond nine tenths.
    columns = of_rows(TRUTH[:, None] * GAINS + NOISE)
    if gain == "much":
        columns = of_rows(np.arange(14.0)[:, None] * GAINS + 0.01 * np.sin(np.arange(42.0).reshape(14, 3)))
    parts = variance_components(*columns)
    d = as_ratings(*columns)
    capped = min(gain_variance(d), 0.9 * float(parts.residual))
    assert (capped < gain_variance(d)) == (gain == "much")
    # Complete data: raters' levels move all labels alike and are no noise.
    noise = (float(parts.residual) - capped) / 3
    assert ceiling(*columns, metric="rmse").overall.value == pytest.approx(math.sqrt(noise))
    assert ceiling(*columns).overall.value == pytest.approx(math.sqrt(float(parts.item) / (float(parts.item) + noise)))


def test_what_levels_add_to_labels_by_hand() -> None:
    rater, item = np.array([0, 1, 1, 2, 0, 2, 1]), np.array([0, 0, 1, 1, 2, 2, 3])
    d = as_ratings(rater, item, np.arange(7.0))
    weights = np.zeros((4, 3))
    weights[item, rater] = 1 / np.bincount(item)[item]
    for cells in (None, np.array([0, 0, 1, 1])):
        cell = np.zeros(4, int) if cells is None else cells
        centred = weights - np.array([weights[cell == c].mean(axis=0) for c in cell])
        assert level_noise(d, cells) == pytest.approx(float((centred**2).sum()) / 4)
    same = as_ratings(*of_rows(np.ones((3, 2))))
    assert level_noise(same, None) == pytest.approx(0.0, abs=1e-12)


def _with_gains(spread: float) -> Triple:
    rater, item, value = ragged(6, 24, 5, 0.9)
    return rater, item, value + spread * (rater - 2) * (item % 4) + 3.0 * (item % 5)


@pytest.mark.parametrize("columns", [_with_gains(0.0), _with_gains(0.3), complete(2, 30, 4), ragged(1, 24, 5, 0.9)])
def test_gains_and_their_doubt_by_regressions(columns: Triple) -> None:
    d = as_ratings(*columns)
    assert rater_differences.gain_variance_with_doubt(d) == pytest.approx(gains_with_doubt(columns))
    assert rater_differences.largest_gain(d) == pytest.approx(gain_to_count_on(columns))
    assert rater_differences.levels_apart(d) == pytest.approx(max(levels_apart(columns), 0.0), abs=1e-12)
    shown = differences_of(d)
    assert (shown.gain, shown.levels) == pytest.approx((gain_to_count_on(columns), level_share(*columns)))


def test_gains_of_these_data_are_of_every_kind() -> None:
    """So that the cases above meet what is held at the usual gain and what is not, what errs on the low side and what does not."""
    assert gain_to_count_on(_with_gains(0.0)) < 0.3
    assert gain_to_count_on(_with_gains(0.3)) < 0.35
    assert gain_to_count_on(complete(2, 30, 4)) == 0.35
    assert gains_with_doubt(ragged(1, 24, 5, 0.9))[2] > 0


def test_ratings_that_show_no_gain_have_the_usual_one() -> None:
    alike = TRUTH[:, None] * np.ones(3) + NOISE
    four = as_ratings(*of_rows(alike[:4]))
    assert rater_differences.largest_gain(four) < 0.35
    assert rater_differences.largest_gain(as_ratings(*of_rows(alike[:3]))) == 0.35
    assert rater_differences.slopes(as_ratings(*of_rows(alike[:, :1]))) is None
    assert rater_differences.slopes(as_ratings(*of_rows(alike[:, :2]))) is not None
    assert rater_differences.gain_variance_with_doubt(as_ratings(*of_rows(alike[:, :2]))) == (0.0, 0.0, 0.0)
    # A rater of items that all have the same mean.
    flat = of_rows(np.array([[1.0, 3.0], [2.0, 2.0], [3.0, 1.0], [2.0, 2.0]]))
    assert rater_differences.slopes(as_ratings(*flat)) is None
    some, items = np.repeat([0, 1, 2], [8, 8, 4]), np.array([*range(8), *range(8), 0, 1, 2, 3])
    level = np.array([0.0, 0, 0, 0, 1, 2, 3, 4])
    assert rater_differences.slopes(as_ratings(some, items, level[items])) is None
    rng = np.random.default_rng(0)
    for raters, usual in ((100, False), (101, True)):
        rows = 5.0 * rng.normal(size=(6, 1)) + 0.5 * rng.normal(size=(6, raters))
        assert (rater_differences.largest_gain(as_ratings(*of_rows(rows))) == 0.35) == usual


@pytest.mark.parametrize(("squared", "gain"), [(2.39, 0.0), (2.41, 0.35)])
def test_gains_count_only_where_labels_are_reliable(squared: float, gain: float) -> None:
    # Noise that leaves items' means and every slope at 1. The share of noise is squared * 8 / 6 / 4 * 28 / 32, .7 at 2.4.
    one, two = np.tile([1.0, -1.0], 4), np.tile([1.0, 1.0, -1.0, -1.0], 2)
    noise = math.sqrt(squared) * np.column_stack([one, -one, two, -two])
    rows = np.repeat([1.0, -1.0], 4)[:, None] + noise
    assert rater_differences.largest_gain(as_ratings(*of_rows(rows))) == pytest.approx(gain, abs=1e-9)


def test_how_far_levels_move_a_ratio_of_mean_squares() -> None:
    differences = rater_differences.RaterDifferences(levels=0.4, apart=0.75)
    assert differences.in_agreement(math.log(4)) == pytest.approx(0.4 * 0.75)
    assert differences.in_agreement(-0.5) == 0.0
    assert differences.in_one_way(math.log(2)) == pytest.approx(0.4 * (1 - 0.75 / 2))
    assert differences.in_one_way(math.log(0.5)) == pytest.approx(0.4 * 0.5)
    usual = rater_differences.USUAL
    assert (usual.gain, usual.levels, usual.apart) == (0.35, 0.0, 1.0)
