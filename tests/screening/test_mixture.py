from __future__ import annotations

import numpy as np
import pytest

from heartfelt.screening.rules.ratings.informativeness import _posterior, two_kinds
from tests.screening.planted import noise


def test_share_centre_and_spread_are_recovered() -> None:
    rng = noise(1)
    share, centre, spread = [], [], []
    for _ in range(20):
        weight = np.full(150, 100.0)
        none = np.arange(150) < 30
        effect = np.where(none, 0.0, rng.normal(0.8, 0.15, 150)) + rng.normal(0, 0.1, 150)
        result = two_kinds(effect, weight)
        share.append(result.share)
        centre.append(result.centre)
        spread.append(result.spread)
        assert ((result.posterior > 0.9) == none).mean() > 0.98
    assert np.mean(share) == pytest.approx(0.2, abs=0.02)
    assert np.mean(centre) == pytest.approx(0.8, abs=0.02)
    assert np.mean(spread) == pytest.approx(0.15, abs=0.02)


@pytest.mark.slow
def test_the_posterior_is_calibrated() -> None:
    """Among raters given a chance of 70 to 90%, about that share or a little more carries no information."""
    rng = noise(2)
    given, true = [], []
    for _ in range(150):
        none = rng.random(100) < 0.25
        weight = np.full(100, 25.0)
        effect = np.where(none, 0.0, rng.normal(0.6, 0.15, 100)) + rng.normal(0, 0.2, 100)
        result = two_kinds(effect, weight)
        middle = (result.posterior > 0.7) & (result.posterior < 0.9)
        given += result.posterior[middle].tolist()
        true += none[middle].tolist()
    assert len(true) > 300
    assert np.mean(given) - 0.04 < np.mean(true) < np.mean(given) + 0.1


@pytest.mark.slow
def test_without_the_kind_nobody_is_sure_to_be_of_it() -> None:
    rng = noise(3)
    for centre in (0.2, 0.5, 1.0):
        for _ in range(20):
            effect = rng.normal(centre, 0.15, 80) + rng.normal(0, 0.1, 80)
            assert (two_kinds(effect, np.full(80, 100.0)).posterior > 0.9).sum() <= (2 if centre == 0.2 else 0)


def test_one_odd_rater_of_four_is_not_enough() -> None:
    assert two_kinds(np.array([0.15, 0.62, 0.65, 0.7]), np.full(4, 60.0)).posterior[0] < 0.9
    assert two_kinds(np.array([0.0, 1.0, 0.95, 1.1]), np.full(4, 100.0)).posterior[0] > 0.9


def test_the_limit_is_where_the_posterior_is_reached() -> None:
    rng = noise(4)
    effect = np.concatenate([rng.normal(0, 0.1, 20), rng.normal(0.8, 0.2, 80)])
    weight = np.where(np.arange(100) % 2, 100.0, 40.0)
    result = two_kinds(effect, weight)
    limit = result.limit(weight, 0.9)
    sure = np.abs(np.tanh(effect) - limit) > 0.006
    low = np.tanh(effect) < limit
    assert np.array_equal(low[sure], (result.posterior >= 0.9)[sure])
    assert limit[1] > limit[0]


def test_power_is_the_share_of_raters_without_information_that_is_flagged() -> None:
    rng = noise(5)
    kinds = two_kinds(np.append(rng.normal(0.7, 0.2, 11), 0.0), np.full(12, 37.0))
    weight = np.array([15.0, 37.0, 150.0])
    power = kinds.power(weight, 0.9, 0.01)
    for own, stated in zip(weight.tolist(), power.tolist(), strict=True):
        z = rng.standard_normal(20_000)
        chance = _posterior(z / np.sqrt(own), np.full(z.size, own), kinds.share, kinds.centre, kinds.spread)
        assert stated == pytest.approx(np.mean((chance >= 0.9) & (np.abs(z) < 2.5758)), abs=0.015)
    assert power[0] < power[1] < power[2]
    assert 0.05 < power[1] < 0.95
