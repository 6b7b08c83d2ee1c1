"""Numbers in words: every form, at its limits."""

from __future__ import annotations

import pytest

from heartfelt.stats.estimate import Estimate
from heartfelt.wording import (
    interval,
    listed,
    money,
    number,
    p_value,
    percent,
    percent_interval,
    plural,
    probability,
    sentence,
    share,
    spaced,
    stars,
)
from tests.cases import check_all


@check_all(
    ("text", "expected"),
    [
        (number(1234), "1,234"),
        (number(-7), "\u22127"),
        (number(0.12345), "0.123"),
        (number(0.9999), "1.000"),
        (number(1.0), "1.00"),
        (number(999.994), "999.99"),
        (number(1000.4), "1,000"),
        (number(1000.0), "1,000"),
        (number(-1000.0), "\u22121,000"),
        (number(999.0), "999.00"),
        (number(-0.0004), "0.000"),
        (number(-0.04, 1), "0.0"),
        (number(-0.05, 1), "\u22120.1"),
        (number(None), "\u2013"),
        (number(float("nan")), "\u2013"),
        (share(0.5), ".50"),
        (share(-0.5), "\u2212.50"),
        (share(1.0), "1.00"),
        (share(10.5), "10.50"),
        (percent(0.524), "52%"),
        (percent(-0.1), "\u221210%"),
        (percent(0.1234, 1), "12.3%"),
        (percent(None), "\u2013"),
        (p_value(0.001), "p = .001"),
        (p_value(0.00099), "p < .001"),
        (p_value(0.9994), "p = .999"),
        (p_value(0.9995), "p = 1"),
        (p_value(float("nan")), "p not available"),
        (p_value(0.032, bare=True), ".032"),
        (p_value(0.0001, bare=True), "< .001"),
        (p_value(None, bare=True), "\u2013"),
        (stars(0.05), ""),
        (stars(0.0499), "*"),
        (stars(0.01), "*"),
        (probability(0.995), "above .99"),
        (probability(0.994), ".99"),
        (probability(0.005), ".01"),
        (probability(0.0049), "below .01"),
        (probability(None), "\u2013"),
        (stars(0.0099), "**"),
        (stars(0.001), "**"),
        (stars(0.0009), "***"),
        (stars(None), ""),
        (interval(None), "\u2013"),
        (interval(Estimate(value=0.71, low=0.68, high=0.74)), "0.710 [0.680, 0.740]"),
        (interval(Estimate(value=0.71, low=0.68, high=1.0)), "0.71 [0.68, 1.00]"),
        (interval(Estimate(value=0.71)), "0.710"),
        (interval(Estimate(value=2.5, low=-1.0, high=6.0), 1), "2.5 [\u22121.0, 6.0]"),
        (interval(Estimate(value=0.985, low=0.98, high=0.99), bare=True), ".985 [.980, .990]"),
        (interval(Estimate(value=0.9849, low=0.98, high=0.99), bare=True), ".98 [.98, .99]"),
        (interval(Estimate(value=5.0, low=4.9991, high=5.0012), 2), "5.000 [4.999, 5.001]"),
        (interval(Estimate(value=5.0, low=5.0, high=5.0), 2), "5.00 [5.00, 5.00]"),
        (percent_interval(Estimate(value=0.52, low=0.494, high=0.551)), "52% [49, 55]"),
        (percent_interval(Estimate(value=0.52)), "52%"),
        (plural(1, "rater"), "1 rater"),
        (plural(0, "rater"), "0 raters"),
        (plural(1200, "stimulus", "stimuli"), "1,200 stimuli"),
        (listed(["a", "b"]), "a and b"),
        (listed(["a", "b", "c"], 3), "a, b and c"),
        (listed(["a", "b", "c", "d"], 3), "a, b and 2 more"),
        (sentence([]), ""),
        (sentence(["one", "two"]), "One; two."),
        (spaced("high_valence___low_arousal"), "high valence / low arousal"),
    ],
)
def test_wording(text: str, expected: str) -> None:
    assert text == expected


@pytest.mark.parametrize(
    ("amount", "places", "text"),
    [
        (0, 0, "0"),
        (0, 2, "0.00"),
        (9.0, 0, "9"),
        (1.5, 2, "1.50"),
        (0.002, 2, "0.002"),
        (0.00001234, 0, "0.00001234"),
        (9.99996, 0, "10"),
        (1234.5, 0, "1,234.5"),
        (20_000, 0, "20,000"),
        (1_234_567.891, 2, "1,234,567.89"),
    ],
)
def test_money_has_no_powers_of_ten(amount: float, places: int, text: str) -> None:
    assert money(amount, places) == text
