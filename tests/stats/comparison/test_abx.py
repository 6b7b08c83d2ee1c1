"""ABX tests against exact binomial values, tables of d' and a simulated listener."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import ttest_1samp

from heartfelt.errors import InputError
from heartfelt.stats.comparison.abx import abx, d_prime_of_share, exact_bounds, share_of_d_prime
from tests.facts import mentions

SOURCE = "R 4.2: binom.test(14, 20, .5, 'greater') and its two-sided interval; pbinom(14, 20, .6)"


def test_the_test_and_the_interval_are_those_of_r() -> None:
    result = abx(None, [1] * 14 + [0] * 6)
    assert result.p_value == pytest.approx(0.05765914916992188, abs=1e-14)
    assert (result.share.value, result.share.low, result.share.high) == pytest.approx(
        (0.7, 0.4572108177, 0.8810684096), abs=1e-9
    )
    assert result.equivalence_p_value == pytest.approx(0.8744010272769627, abs=1e-12)


def test_d_prime_is_what_a_listener_who_compares_distances_reaches() -> None:
    rng = np.random.default_rng(0)
    size, d_prime = 400_000, 1.5
    a, b = rng.normal(0, 1, size), rng.normal(d_prime, 1, size)
    x_is_a = rng.random(size) < 0.5
    x = rng.normal(np.where(x_is_a, 0, d_prime), 1)
    correct = (np.abs(x - a) < np.abs(x - b)) == x_is_a
    assert correct.mean() == pytest.approx(share_of_d_prime(d_prime), abs=0.003)


@pytest.mark.parametrize("d_prime", [0.3, 1.0, 2.5, 4.0])
def test_d_prime_is_found_again(d_prime: float) -> None:
    assert d_prime_of_share(share_of_d_prime(d_prime)) == pytest.approx(d_prime, abs=1e-9)


def test_worse_than_guessing_is_a_d_prime_of_zero_and_all_correct_has_none() -> None:
    assert d_prime_of_share(0.4) == 0.0
    result = abx(None, [1, 1, 1])
    assert mentions(result.d_prime.why_missing, "answer", "finite")


def test_equivalence_needs_data() -> None:
    few, many = abx(None, [1, 0] * 5), abx(None, [1, 0] * 200)
    assert few.p_value is not None
    assert many.p_value is not None
    assert few.equivalence_p_value is not None
    assert many.equivalence_p_value is not None
    assert min(few.p_value, many.p_value) > 0.4
    assert few.equivalence_p_value > 0.2
    assert many.equivalence_p_value < 0.001


def test_two_answers_of_a_rater_are_one_cluster() -> None:
    once, twice = (abx(np.repeat(np.arange(10), n), np.repeat([1, 0] * 5, n)).share for n in (1, 2))
    assert once.interval == "Clopper-Pearson"
    assert twice.interval == "jackknife over raters"
    # Ten raters who all answered twice alike: the variance of a mean of ten, whatever the number of answers.
    assert (twice.high or 0) - 0.5 == pytest.approx(2.262157 * np.sqrt(0.25 / 9), abs=1e-6)


def test_raters_who_differ_widen_the_interval() -> None:
    # Half of the raters always hear it, the others guess: ten answers each.
    raters = np.repeat(np.arange(10), 10)
    correct = np.where(raters < 5, 1, np.tile([1, 0], 50))
    clustered, alone = abx(raters, correct).share, abx(None, correct).share
    assert clustered.value == alone.value == 0.75
    assert clustered.interval == "jackknife over raters"
    # Shares of 1 and 0.5, five each: standard error sqrt(0.0694 / 10), Student's t with 9 degrees of freedom.
    assert clustered.high == pytest.approx(0.75 + 2.262157162740992 * np.sqrt(0.625 / 9 / 10))
    assert alone.high is not None
    assert clustered.high is not None
    assert clustered.high > alone.high


def test_each_rater_has_an_exact_interval() -> None:
    result = abx(["a", "a", "b"], [1, 0, 1])
    assert result.raters["a"].low == pytest.approx(exact_bounds(1, 2, 0.95)[0])
    assert result.raters["b"].counts == {"answers": 1}


def test_bad_input_is_named() -> None:
    with pytest.raises(InputError, match="2 is not an answer"):
        abx(None, [2])
    with pytest.raises(InputError, match=r"between.*0"):
        abx(None, [1], margin=0.5)
    assert abx(None, []).share.why_missing == "there are no answers"


@pytest.mark.slow
def test_equivalence_holds_its_level_where_raters_differ() -> None:
    """Ten raters with 20 answers each, whose shares lie at the margin on average and differ with a deviation of .12.

    The exact test alone, which takes every answer for itself, shows equivalence in 13% of such studies.
    """
    rng = np.random.default_rng(6)
    rater = np.repeat(np.arange(10), 20)
    shown = alone = 0
    for _ in range(400):
        shares = rng.beta(9.4, 6.27, 10)  # mean .6
        correct = (rng.random(200) < shares[rater]).astype(float)
        with_raters, single = abx(rater, correct), abx(None, correct)
        assert with_raters.equivalence_p_value is not None
        assert single.equivalence_p_value is not None
        shown += with_raters.equivalence_p_value < 0.05
        alone += single.equivalence_p_value < 0.05
    assert shown / 400 < 0.075
    assert alone / 400 > 0.08


def test_equivalence_with_raters_is_the_t_test_of_their_shares() -> None:
    """With as many answers each: one-sided Student's t of the raters' shares against the margin."""
    right = [2, 8, 5, 7, 3, 6, 4, 5]
    shares = np.array(right) / 10
    correct = np.concatenate([[1.0] * count + [0.0] * (10 - count) for count in right])
    rater = np.repeat(np.arange(8), 10)
    result = abx(rater, correct)
    assert result.equivalence_p_value == pytest.approx(ttest_1samp(shares, 0.6, alternative="less").pvalue)
