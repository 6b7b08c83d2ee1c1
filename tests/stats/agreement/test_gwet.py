from __future__ import annotations

import math

import numpy as np
import pytest

from heartfelt.errors import InputError
from heartfelt.stats.agreement import gwet_ac1, gwet_ac2
from heartfelt.stats.estimate import Estimate
from tests.facts import mentions
from tests.stats.agreement.designs import columns

nan = math.nan

SOURCE = "irrCAC 0.4.4, CAC(...).gwet() with digits=15, value and standard error"
FOUR_RATERS = [
    [1, 1, nan, 1],
    [2, 2, 3, 2],
    [3, 3, 3, 3],
    [3, 3, 3, 3],
    [2, 2, 2, 2],
    [1, 2, 3, 4],
    [4, 4, 4, 4],
    [1, 1, 2, 1],
    [2, 2, 2, 2],
    [nan, 5, 5, 5],
    [nan, nan, 1, 1],
    [nan, nan, 3, nan],
]
UNEVEN = [
    [3, nan, nan, nan, 3],
    [2, 2, 1, 2, 2],
    [2, 4, 4, 1, 4],
    [4, 1, 4, 2, 4],
    [4, 1, 1, nan, 1],
    [nan, 2, nan, 3, 1],
    [2, 2, 2, 1, 1],
    [1, nan, nan, 4, nan],
    [1, 3, 1, 3, 3],
    [nan, 2, 2, nan, nan],
    [3, nan, nan, 2, 2],
    [nan, nan, 2, 3, 1],
    [4, nan, nan, 4, 2],
    [3, 3, 3, 1, 3],
    [nan, nan, 3, 3, nan],
]


def recovered_error(found: Estimate, items: int) -> float:
    """The standard error behind bounds taken over items on the scale of the inverse hyperbolic tangent."""
    from scipy.stats import t

    assert found.low is not None
    assert found.high is not None
    reach = (math.atanh(found.high) - math.atanh(found.low)) / 2
    return float(reach * (1 - float(found) ** 2) / t.ppf(0.975, items - 1))


@pytest.mark.parametrize(
    ("weights", "value", "error"),
    [
        (None, 0.271422250626813, 0.120468328680596),
        ("ordinal", 0.150528042358493, 0.252553122221872),
        ("linear", 0.195626254107657, 0.185872842654586),
        ("quadratic", 0.128331377207798, 0.28819944862742),
    ],
)
def test_uneven_votes(weights: str | None, value: float, error: float) -> None:
    item, rater, vote = columns(UNEVEN)
    result = (
        gwet_ac1(rater, item, vote, resample="items")
        if weights is None
        else gwet_ac2(rater, item, vote, weights, resample="items")
    )
    assert result.value == pytest.approx(value, abs=1e-12), SOURCE
    assert recovered_error(result, 15) == pytest.approx(error, rel=1e-9), SOURCE


@pytest.mark.parametrize(
    ("weights", "value", "error"),
    [
        (None, 0.355781017709502, 0.10517675529805),
        ("ordinal", 0.680611656087709, 0.093612945549213),
        ("linear", 0.552072031222166, 0.101851420841658),
        ("quadratic", 0.717439416505435, 0.091214790739233),
    ],
)
def test_categories_no_one_chose_count(weights: str | None, value: float, error: float) -> None:
    item, rater, vote = columns(UNEVEN)
    six = [1, 2, 3, 4, 5, 6]
    result = (
        gwet_ac1(rater, item, vote, categories=six, resample="items")
        if weights is None
        else gwet_ac2(rater, item, vote, weights, categories=six, resample="items")
    )
    assert result.value == pytest.approx(value, abs=1e-12), SOURCE
    assert recovered_error(result, 15) == pytest.approx(error, rel=1e-9), SOURCE


@pytest.mark.parametrize(
    ("weights", "value"),
    [
        (None, 0.775444068126995),
        ("ordinal", 0.898939769907511),
        ("linear", 0.858739136432611),
        ("quadratic", 0.914000723551605),
    ],
)
def test_an_item_with_one_vote_counts_for_the_shares(weights: str | None, value: float) -> None:
    item, rater, vote = columns(FOUR_RATERS)
    result = gwet_ac1(rater, item, vote) if weights is None else gwet_ac2(rater, item, vote, weights)
    assert result.value == pytest.approx(value, abs=1e-12), SOURCE
    assert result.counts["items"] == 12
    assert result.counts["paired_items"] == 11


def test_words_need_an_order_for_weights() -> None:
    item, rater, vote = columns(UNEVEN)
    words = np.array(["none", "low", "mid", "high"])[vote.astype(int) - 1]
    with pytest.raises(InputError, match="need an order"):
        gwet_ac2(rater, item, words)
    ordered = gwet_ac2(rater, item, words, categories=["none", "low", "mid", "high"])
    assert ordered.value == pytest.approx(float(gwet_ac2(rater, item, vote)), abs=1e-12)
    assert gwet_ac1(rater, item, words).value == pytest.approx(float(gwet_ac1(rater, item, vote)), abs=1e-12)
    with pytest.raises(InputError, match="'high' is not among"):
        gwet_ac2(rater, item, words, categories=["none", "low", "mid"])
    with pytest.raises(InputError, match="names one twice"):
        gwet_ac1(rater, item, words, categories=["none", "low", "mid", "high", "none"])
    with pytest.raises(InputError, match="No weights are called"):
        gwet_ac2(rater, item, vote, "radical")


def test_one_category_is_no_choice() -> None:
    result = gwet_ac1([1, 2, 1, 2], [1, 1, 2, 2], ["a"] * 4)
    assert mentions(result.why_missing, "category", "chance")
    assert gwet_ac1([1, 2, 1, 2], [1, 1, 2, 2], ["a"] * 4, categories=["a", "b"]).value == 1
