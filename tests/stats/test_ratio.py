"""The ratio of two estimates: by hand, and its interval covers."""

from __future__ import annotations

import numpy as np
import pytest

from heartfelt.stats._bounds import ratio
from heartfelt.stats.estimate import Estimate
from heartfelt.streams import stream
from tests.facts import mentions

SOURCE = "Donner and Zou (2012), equations for the ratio by MOVER; simulation"


def made(value: float, error: float) -> Estimate:
    return Estimate(value=value, low=value - 1.96 * error, high=value + 1.96 * error, method="made")


def test_a_ratio_to_a_certain_number_is_scaled() -> None:
    certain = Estimate(value=2.0, low=2.0, high=2.0)
    result = ratio(made(1.0, 0.1), certain)
    assert result.value == 0.5
    assert (result.low, result.high) == pytest.approx(((1 - 0.196) / 2, (1 + 0.196) / 2))


@pytest.mark.slow
def test_the_interval_covers_whatever_the_sign() -> None:
    draw = stream(1, "tests", "ratio")
    for top in (0.0, 0.4, -0.6):
        hits = 0
        for a, b in zip(draw.normal(top, 0.08, 2000), draw.normal(0.8, 0.05, 2000), strict=True):
            result = ratio(made(float(a), 0.08), made(float(b), 0.05))
            low, high = result.low, result.high
            hits += low is not None and high is not None and low <= top / 0.8 <= high
        assert 0.935 <= hits / 2000 <= 0.965


def test_reasons_take_the_place_of_numbers() -> None:
    gone = Estimate.missing("nobody came")
    assert ratio(gone, made(1, 0.1)).why_missing == "nobody came"
    assert ratio(made(1, 0.1), gone).why_missing == "nobody came"
    assert mentions(ratio(made(1, 0.1), Estimate(value=0.0)).why_missing, "denominator", "0")
    assert ratio(made(1, 0.1), made(0.1, 0.2)).why_no_interval == "the denominator may be 0"
    assert ratio(Estimate(value=1.0, why_no_interval="one item"), made(1, 0.1)).why_no_interval == "one item"
    assert ratio(made(1, 0.1), Estimate(value=1.0, why_no_interval="one rater")).why_no_interval == "one rater"
    assert mentions(ratio(made(1, 0.1), Estimate(value=1.0)).why_no_interval, "side", "interval")
    other = Estimate(value=1.0, low=0.9, high=1.1, confidence=0.9)
    assert mentions(ratio(made(1, 0.1), other).why_no_interval, "intervals", "confidences")
    assert np.isfinite(float(ratio(made(1, 0.1), other)))
