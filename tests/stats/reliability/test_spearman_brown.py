"""Spearman-Brown both ways."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heartfelt.errors import InputError
from heartfelt.stats.estimate import Estimate
from heartfelt.stats.reliability import raters_needed, reliability_with
from heartfelt.stats.reliability.spearman_brown import reliability_curve, stepped_up
from tests.facts import mentions

SOURCE = "the formula by hand: 4 ratings of reliability .5 give 4 * .5 / (1 + 3 * .5) = .8"


def test_by_hand() -> None:
    assert reliability_with(0.5, 4).value == pytest.approx(0.8)
    assert raters_needed(0.5, 0.8).value == 4
    assert raters_needed(0.5, 0.81).value == 5
    assert raters_needed(0.9, 0.8).value == 1


@given(st.floats(0.01, 0.99), st.floats(0.01, 0.99))
@settings(deadline=None, max_examples=50)
def test_the_number_needed_is_the_smallest_that_reaches_the_target(single: float, target: float) -> None:
    needed = float(raters_needed(single, target))
    assert stepped_up(single, needed) >= target - 1e-9
    assert needed == 1 or stepped_up(single, needed - 1) < target


@given(st.floats(-0.2, 0.99), st.floats(1.0, 5.0))
@settings(deadline=None, max_examples=50)
def test_up_and_down_are_inverse(single: float, k: float) -> None:
    assert stepped_up(stepped_up(single, k), 1 / k) == pytest.approx(single, abs=1e-9)


def test_bounds_carry_over_and_swap() -> None:
    single = Estimate(value=0.4, low=0.2, high=0.6, method="ICC", interval="F", counts={"raters": 9})
    more = reliability_with(single, 3)
    assert (more.low, more.high) == pytest.approx((0.6 / 1.4, 1.8 / 2.2))
    assert more.interval == "F, by Spearman-Brown"
    needed = raters_needed(single, 0.8)
    assert (needed.value, needed.low, needed.high) == (6, 3, 16)
    assert needed.counts["raters"] == 9


def test_a_reliability_that_may_be_zero_has_no_upper_bound() -> None:
    needed = raters_needed(Estimate(value=0.3, low=-0.1, high=0.6, method="ICC", interval="F"), 0.8)
    assert needed.low == 3
    assert needed.high is None
    assert "no upper bound" in needed.interval


def test_missing_passes_through_and_nothing_needs_everybody() -> None:
    gone = Estimate.missing("there is only one rater", "ICC")
    assert mentions(reliability_with(gone, 3).why_missing, "rater")
    assert mentions(raters_needed(gone, 0.8).why_missing, "rater")
    none = raters_needed(-0.1, 0.8)
    assert mentions(none.why_missing, "rating", "reliability", "number")
    assert reliability_with(-0.9, 10).value is None


def test_misuse_is_refused() -> None:
    with pytest.raises(InputError, match="positive"):
        reliability_with(0.5, 0)
    with pytest.raises(InputError, match="between 0 and 1"):
        raters_needed(0.5, 1.0)
    with pytest.raises(InputError, match="between -1 and 1"):
        raters_needed(7.0, 0.8)


def test_known_points_on_one_curve_give_all_of_it() -> None:
    known = {k: Estimate(value=stepped_up(0.5, k)) for k in (4, 8)} | {1: Estimate(value=0.5, low=0.2, high=0.7)}
    curve = reliability_curve(known, 3)
    assert list(curve) == [1, 2, 3]
    assert (curve[2].value, curve[2].low, curve[2].high) == pytest.approx((2 / 3, 1 / 3, 1.4 / 1.7))
    below_zero = reliability_curve({1: Estimate(value=0.5, low=-0.1, high=0.7)}, 2)[2]
    assert below_zero.low is None
    assert below_zero.high == pytest.approx(1.4 / 1.7)


def test_points_off_the_curve_stay_as_they_are() -> None:
    known = {1: Estimate(value=0.5), 4: Estimate(value=0.7), 9: Estimate(value=0.8), 2: Estimate.missing("too few")}
    assert reliability_curve(known, 5) == {1: known[1], 4: known[4]}
    assert reliability_curve({1: Estimate(value=0.0), 2: Estimate(value=0.0)}, 5).keys() == {1, 2}
