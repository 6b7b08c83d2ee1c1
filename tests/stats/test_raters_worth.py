"""The worth of a model in ratings: against panels of known size, brute force, and simulations with known truth."""

from __future__ import annotations

import numpy as np
import pytest

from heartfelt.errors import InputError
from heartfelt.stats.ceilings import raters_worth as module
from heartfelt.stats.ceilings.raters_worth import raters_worth, worth_from_means
from heartfelt.stats.columns.triples import Floats
from heartfelt.stats.ratings import Ratings, as_ratings
from heartfelt.stats.reliability.two_way_jackknife import moment_jackknife
from tests.facts import mentions


def panel(
    seed: int, items: int, raters: int, per_item: int, *, levels: float = 0.0, noise: float = 1.5
) -> tuple[Ratings, Floats]:
    """Ratings of stimuli whose true values have unit variance, and these values."""
    rng = np.random.default_rng(seed)
    true = rng.normal(size=items)
    item = np.repeat(np.arange(items), per_item)
    rater = np.concatenate([rng.permutation(raters)[:per_item] for _ in range(items)])
    level = rng.normal(0, levels**0.5, raters)
    value = true[item] + level[rater] + rng.normal(0, noise**0.5, item.size)
    d = as_ratings(rater, item, value)
    return d, true[np.array(d.items, dtype=np.int64)]


@pytest.mark.parametrize("size", [1, 2, 5])
def test_the_mean_of_k_other_raters_is_worth_k_ratings(size: int) -> None:
    d, true = panel(size, 4000, 8, 8)
    others = np.random.default_rng(99).normal(0, 1.5**0.5, (true.size, size))
    result = raters_worth(d, true + others.mean(axis=1))
    assert result.raters.value == pytest.approx(size, rel=0.12)
    assert result.raters.low is not None
    assert result.raters.high is not None
    assert result.raters.low < size < result.raters.high
    assert result.raters.high / result.raters.low < 2


def test_a_unit_of_the_predictions_does_not_matter() -> None:
    d, true = panel(3, 60, 8, 6, levels=0.5)
    model = true + np.random.default_rng(4).normal(size=60)
    first, second = raters_worth(d, model), raters_worth(d, 300 - 0 + 17 * model)
    assert first.raters.value == pytest.approx(second.raters.value)
    assert first.raters.low == pytest.approx(second.raters.low)


def test_sums_without_a_unit_are_those_of_the_other_ratings() -> None:
    d, true = panel(5, 12, 6, 3, levels=0.5)
    keep = np.ones(d.size, np.bool_)
    keep[np.flatnonzero(d.item == 4)[1:]] = False  # an item with one rating
    d = d.part(keep)
    sums, moments = module._ModelSums(d, true), moment_jackknife(d)
    for rater in range(len(d.raters)):
        part = d.part(d.rater != rater)
        expected = module._quantities(
            module._ModelSums(part, true[np.array([d.items.index(name) for name in part.items])]).total[None],
            moment_jackknife(part).total[None],
        )
        found = module._quantities(sums.raters()[[rater]], moments.raters[[rater]])
        assert found == pytest.approx(expected, rel=1e-9)
    for rating in range(d.size):
        part = d.part(np.arange(d.size) != rating)
        expected = module._quantities(
            module._ModelSums(part, true[np.array([d.items.index(name) for name in part.items])]).total[None],
            moment_jackknife(part).total[None],
        )
        found = module._quantities(sums.ratings(rating, rating + 1), moments.ratings(rating, rating + 1))
        assert found == pytest.approx(expected, rel=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize(("strength", "levels"), [(0.0, 0.5), (0.6, 0.0), (0.85, 0.5)])
def test_intervals_hold_in_simulated_studies(strength: float, levels: float) -> None:
    truth = (1.5 + levels) * strength**2 / (1 - strength**2)
    held, above = 0, 0
    for seed in range(100):
        d, true = panel(seed, 48, 10, 6, levels=levels)
        other = np.random.default_rng(10_000 + seed).normal(size=48)
        result = raters_worth(d, strength * true + np.sqrt(1 - strength**2) * other)
        low = result.at_least if result.at_least is not None else result.raters.low or 0.0
        high = np.inf if result.at_least is not None else result.raters.high or 0.0
        held += low <= truth <= high
        above += high == np.inf
    assert held >= 90
    assert strength > 0.8 or above < 20


def test_a_model_that_says_nothing_is_worth_nothing() -> None:
    d, true = panel(6, 80, 8, 8)
    noise = raters_worth(d, np.random.default_rng(1).normal(size=80))
    assert noise.raters.value == pytest.approx(0.0, abs=0.1)
    assert noise.raters.low == 0.0
    assert raters_worth(d, np.full(80, 5.0)).raters.value == 0.0
    backwards = raters_worth(d, -true)
    assert backwards.raters.value == 0.0
    assert mentions(backwards.raters.why_no_interval, "labels", "wrong")


def test_a_model_at_the_ceiling_has_a_lower_bound_alone() -> None:
    d, true = panel(7, 60, 6, 6)
    result = raters_worth(d, true)
    assert result.raters.high is None
    assert result.at_least is not None
    assert result.at_least > 3


def test_a_bound_beyond_all_numbers_of_ratings_is_finite() -> None:
    label = np.linspace(1, 9, 300)
    result = worth_from_means(label, np.full(300, 0.001), np.full(300, 4.0), label + 1e-9)
    assert result.raters.value is None
    assert result.at_least == 10_000


def test_published_means_give_what_single_ratings_give() -> None:
    d, true = panel(8, 1500, 9000, 6)
    model = true + np.random.default_rng(2).normal(size=true.size)
    mean = d.item_means
    error = np.sqrt(np.bincount(d.item, (d.value - mean[d.item]) ** 2) / (d.per_item - 1) / d.per_item)
    of_means = worth_from_means(mean, error, d.per_item.astype(np.float64), model)
    single = raters_worth(d, model)
    assert of_means.raters.value == pytest.approx(single.raters.value, rel=0.02)
    assert of_means.raters.low == pytest.approx(single.raters.low, rel=0.1)


def test_why_there_is_no_worth() -> None:
    d, true = panel(9, 30, 6, 1)
    assert "every item has one rating" in (raters_worth(d, true).raters.why_missing or "")
    d, true = panel(9, 4, 6, 3)
    assert "at least 5" in (raters_worth(d, true).raters.why_missing or "")
    rng = np.random.default_rng(3)
    d = as_ratings(np.tile(np.arange(6), 40), np.repeat(np.arange(40), 6), rng.normal(size=240))
    result = raters_worth(d, rng.normal(size=40))
    assert result.raters.value is not None or "do not differ" in (result.raters.why_missing or "")
    with pytest.raises(InputError, match="finite prediction"):
        raters_worth(d, np.full(40, np.nan))


def test_items_of_one_prompt_are_one_group() -> None:
    d, true = panel(3, 96, 12, 4)
    rng = np.random.default_rng(3)
    model = true + rng.normal(size=96)
    alone = raters_worth(d, model).raters
    each = raters_worth(d, model, group=np.arange(96)).raters
    assert (each.low, each.high) == pytest.approx((alone.low, alone.high))
    means, errors, n = np.array(true), np.full(96, 0.4), np.full(96, 6.0)
    plain = worth_from_means(means, errors, n, model).raters
    grouped = worth_from_means(means, errors, n, model, group=np.arange(96)).raters
    assert (grouped.low, grouped.high) == pytest.approx((plain.low, plain.high))


def test_intervals_hold_where_prompts_share_their_values_and_the_models_errors() -> None:
    prompt, holds = np.repeat(np.arange(14), 8), 0
    rng, half = np.random.default_rng(4), 0.5**0.5
    item = np.repeat(np.arange(112), 4)
    for _ in range(40):
        true, off = (half * (rng.normal(size=14)[prompt] + rng.normal(size=112)) for _ in range(2))
        rater = rng.integers(0, 5, 112)[item] * 4 + np.tile(np.arange(4), 112)
        d = as_ratings(rater, item, true[item] + rng.normal(0, 1.5**0.5, item.size))
        order = np.array(d.items, np.int64)
        result = raters_worth(d, (0.6 * true + 0.8 * off)[order], group=prompt[order])
        low = result.at_least if result.at_least is not None else result.raters.low or 0.0
        high = np.inf if result.at_least is not None else result.raters.high or 0.0
        holds += low <= 1.5 * 0.36 / 0.64 <= high
    # Over items alone they hold in four of five.
    assert holds >= 34
