"""Metrics averaged over repeats, and power laws through learning curves."""

from __future__ import annotations

import numpy as np
import pytest

from heartfelt.errors import InputError
from heartfelt.stats.prediction.learning_curve import fit_power_law
from heartfelt.stats.prediction.repeated import bootstrap_repeats, bootstrap_repeats_difference
from heartfelt.stats.prediction.resample import bootstrap_difference, bootstrap_metric
from heartfelt.streams import stream

RNG = stream(5, "repeated")
X = RNG.normal(size=120)
GROUP = np.repeat(np.arange(24), 5)
FIRST = [X + RNG.normal(0, spread, 120) for spread in (0.8, 1.0)]
SECOND = [X + RNG.normal(0, 1.6, 120) for _ in range(2)]


@pytest.mark.slow
def test_one_repeat_is_the_plain_bootstrap() -> None:
    for metric in ("pearson", "rmse"):
        plain = bootstrap_metric(metric, X, FIRST[0], group=GROUP, resamples=500)
        own = bootstrap_repeats(metric, X, FIRST[:1], group=GROUP, resamples=500)
        assert (own.value, own.low, own.high) == pytest.approx((plain.value, plain.low, plain.high), abs=1e-12)
        gap = bootstrap_difference(metric, X, FIRST[0], SECOND[0], group=GROUP, resamples=500)
        two = bootstrap_repeats_difference(metric, X, FIRST[:1], SECOND[:1], group=GROUP, resamples=500)
        assert (two.value, two.low, two.high) == pytest.approx((gap.value, gap.low, gap.high), abs=1e-12)


def test_the_mean_over_repeats_is_of_their_values() -> None:
    each = [float(np.corrcoef(X, column)[0, 1]) for column in FIRST]
    mean = bootstrap_repeats("pearson", X, FIRST, group=GROUP, resamples=500)
    assert mean.value == pytest.approx(np.mean(each), abs=1e-12)
    assert mean.counts["repeats"] == 2
    assert mean.low is not None
    assert mean.high is not None
    assert mean.low < float(mean) < mean.high
    gap = bootstrap_repeats_difference("pearson", X, FIRST, SECOND, group=GROUP, resamples=500)
    others = [float(np.corrcoef(X, column)[0, 1]) for column in SECOND]
    assert gap.value == pytest.approx(np.mean(each) - np.mean(others), abs=1e-12)
    assert gap.low is not None
    assert gap.low > 0
    same = bootstrap_repeats_difference("pearson", X, FIRST, FIRST, group=GROUP, resamples=500)
    assert same.value == 0
    assert same.low is None


def test_rows_without_a_number_are_left_out_of_all_repeats() -> None:
    holes = [FIRST[0].copy(), FIRST[1].copy()]
    holes[1][:10] = np.nan
    mean = bootstrap_repeats("pearson", X, holes, group=GROUP, resamples=200)
    each = [float(np.corrcoef(X[10:], column[10:])[0, 1]) for column in holes]
    assert mean.value == pytest.approx(np.mean(each), abs=1e-12)
    assert mean.counts["left_out"] == 10
    flat = bootstrap_repeats("pearson", X, [FIRST[0], np.zeros(120)], group=GROUP, resamples=200)
    assert flat.value is None
    assert flat.why_missing
    with pytest.raises(InputError, match="no repeats"):
        bootstrap_repeats("pearson", X, [])


AMOUNTS = [25.0, 50.0, 100.0, 200.0, 400.0, 700.0]


@pytest.mark.parametrize(
    ("limit", "scale", "power"), [(0.8, 1.2, 0.5), (0.9, 3.0, 1.0), (0.7, 0.0, 1.0), (1.0, 0.9, 0.3)]
)
def test_a_planted_power_law_is_recovered(limit: float, scale: float, power: float) -> None:
    y = limit - scale * np.array(AMOUNTS) ** -power
    law = fit_power_law(AMOUNTS, y)
    assert float(law.limit[0]) == pytest.approx(limit, abs=1e-6)
    assert float(law.at(2800)[0]) == pytest.approx(limit - scale * 2800**-power, abs=1e-6)
    if scale:
        assert float(law.power[0]) == pytest.approx(power, abs=1e-9)


@pytest.mark.slow
def test_intervals_of_an_extrapolation_cover_the_truth() -> None:
    """Independent noise of known size on every point; each resample draws it again around what was seen."""
    truth, rng, covered = 0.8 - 1.2 * np.array(AMOUNTS) ** -0.5, stream(1, "law"), 0
    ahead = 0.8 - 1.2 * 1400**-0.5
    for _ in range(100):
        seen = truth + rng.normal(0, 0.02, 6)
        law = fit_power_law(AMOUNTS, np.vstack([seen, seen + rng.normal(0, 0.02, (200, 6))]))
        result = law.estimate(1400)
        assert result.low is not None
        assert result.high is not None
        covered += result.low <= ahead <= result.high
    assert 88 <= covered <= 100


def test_a_curve_stays_within_what_a_score_can_be() -> None:
    rising = np.array([0.2, 0.45, 0.7, 0.85, 0.97, 0.999])
    assert float(fit_power_law(AMOUNTS, rising).limit[0]) <= 1.0
    assert float(fit_power_law(AMOUNTS, rising, most=None).limit[0]) >= 0.999
    falling = fit_power_law(AMOUNTS, rising[::-1])
    assert float(falling.at(10_000)[0]) == pytest.approx(rising.mean())
    gain = fit_power_law(AMOUNTS, rising).gain(700, 1400)
    assert gain.value is not None
    assert gain.value >= 0
    assert gain.why_no_interval == "too few resamples"
    with pytest.raises(InputError, match="3 points"):
        fit_power_law(AMOUNTS[:3], rising[:3])
    with pytest.raises(InputError, match="above 0 and differ"):
        fit_power_law([0.0, 1.0, 2.0, 3.0], rising[:4])
