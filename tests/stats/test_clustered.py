"""Shares, means and differences over crossed raters and stimuli, by hand and against statsmodels' cluster-robust errors."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from heartfelt.stats._bounds import clopper_pearson
from heartfelt.stats.reliability.clustered import Crossed, difference, mean, share
from tests.facts import mentions

SOURCE = (
    "hand calculation; scipy.stats.binomtest for Clopper and Pearson; statsmodels' one-way cluster-robust covariance"
)


def panel(raters: int = 6, stimuli: int = 10) -> Crossed:
    rater, stimulus = (part.ravel() for part in np.indices((raters, stimuli)))
    return Crossed(rater, stimulus)


def test_clopper_pearson_is_that_of_scipy() -> None:
    for hits, size in ((0, 7), (3, 7), (7, 7), (1, 40)):
        theirs = stats.binomtest(hits, size).proportion_ci(0.95, method="exact")
        assert tuple(map(float, clopper_pearson(hits, size, 0.025))) == pytest.approx(
            (theirs.low, theirs.high), abs=1e-12
        )


def test_variance_by_hand() -> None:
    who = Crossed(np.array([0, 0, 1, 1]), np.arange(4))
    contributions = np.array([0.1, 0.2, -0.1, -0.2])
    found = who.spread(contributions)
    assert not isinstance(found, str)
    by_rater, by_stimulus = 2 * (0.3**2 + 0.3**2), 4 / 3 * 0.1
    extra = (1 + 4 / 2) * (by_rater - by_stimulus)
    assert found.variance == pytest.approx(by_stimulus + extra)
    doubt = max(extra, min(by_rater, by_stimulus))
    assert found.df == pytest.approx(max((by_stimulus + extra) ** 2 / (by_stimulus**2 / 3 + doubt**2), 1.0))
    assert found.over == "raters and stimuli"


def test_where_everybody_agrees_the_raters_are_the_sample() -> None:
    all_of_them = share(np.ones(60), panel(), "m")
    assert (all_of_them.value, all_of_them.high) == (1.0, 1.0)
    assert all_of_them.low == pytest.approx(0.025 ** (1 / 6))
    none = share(np.zeros(60), panel(), "m")
    assert none.low == 0.0
    assert none.high == pytest.approx(1 - 0.025 ** (1 / 6))
    alone = share(np.ones(10), panel(1), "m")
    assert alone.low == pytest.approx(0.025 ** (1 / 10))
    assert "one rater" in alone.interval


def test_raters_who_differ_widen_the_interval() -> None:
    who, rng = panel(8, 30), np.random.default_rng(3)
    mixed = rng.permutation(np.repeat([0.0, 1.0], 120))
    halves = (who.rater < 4).astype(float)
    even, split = share(mixed, who, "m"), share(halves, who, "m")
    wide, narrow = (float(made.high or 0) - float(made.low or 0) for made in (split, even))
    assert wide > 4 * narrow
    assert 0 < narrow < 0.2
    assert split.counts == {"answers": 240, "raters": 8, "stimuli": 30}


@pytest.mark.peer
def test_one_way_errors_are_those_of_statsmodels() -> None:
    sm = pytest.importorskip("statsmodels.api")
    rng = np.random.default_rng(4)
    stimulus = np.repeat(np.arange(12), 8)
    seen = rng.random(96) < 0.7
    value = rng.standard_normal(96) + rng.standard_normal(12)[stimulus] + 0.4 * seen
    made, p = difference(value, seen, Crossed(np.zeros(96, np.int64), stimulus), "m")
    options = {"groups": stimulus, "use_correction": False}
    theirs = sm.OLS(value, sm.add_constant(seen.astype(float))).fit(cov_type="cluster", cov_kwds=options)
    error = theirs.bse[1] * math.sqrt(12 / 11)
    assert made.value == pytest.approx(theirs.params[1], abs=1e-12)
    assert made.high == pytest.approx(made.value + stats.t.ppf(0.975, 11) * error, abs=1e-9)
    assert p == pytest.approx(2 * stats.t.sf(abs(theirs.params[1]) / error, 11), rel=1e-9)


def test_a_rater_is_compared_with_themselves() -> None:
    """Levels of raters cancel: a rater of a quite different level changes nothing."""
    who, rng = panel(5, 20), np.random.default_rng(5)
    seen = rng.random(100) < 0.8
    value = 0.3 * seen + 0.1 * rng.standard_normal(100)
    plain, _ = difference(value, seen, who, "m", within_raters=True)
    shifted, _ = difference(value + 50.0 * (who.rater == 2), seen, who, "m", within_raters=True)
    assert shifted.value == pytest.approx(plain.value)
    assert shifted.low == pytest.approx(plain.low)
    assert shifted.high == pytest.approx(plain.high)


def test_reasons_for_what_is_missing() -> None:
    who = panel(3, 6)
    few, p = difference(np.ones(18), np.arange(18) < 2, who, "m")
    assert mentions(few.why_missing, "5 answers", "2", "16")
    assert p is None
    apart, _ = difference(np.arange(18.0), who.rater == 0, who, "m", within_raters=True)
    assert mentions(apart.why_missing, "rater", "answers")
    same, p = difference(np.ones(18), who.stimulus < 3, who, "m")
    assert (same.value, same.low, p) == (0.0, None, None)
    assert same.why_no_interval
    assert share([], Crossed(np.zeros(0, np.int64), np.zeros(0, np.int64)), "m").why_missing
    assert mean([], Crossed(np.zeros(0, np.int64), np.zeros(0, np.int64)), "m").why_missing
    single = mean([2.0], Crossed(np.zeros(1, np.int64), np.zeros(1, np.int64)), "m")
    assert (single.value, single.low) == (2.0, None)


def test_intervals_hold() -> None:
    """A share of .85 among raters and stimuli that differ; docs/stats/coverage.md has more designs."""
    rng, held, studies = np.random.default_rng(6), 0, 150
    true = 0.8452
    for _ in range(studies):
        chosen = np.concatenate([rng.choice(40, 20, replace=False) for _ in range(8)])
        who = Crossed(np.repeat(np.arange(8), 20), chosen)
        odds = 2 + 0.7 * rng.standard_normal(8)[who.rater] + 0.7 * rng.standard_normal(40)[who.stimulus]
        made = share(rng.random(160) < 1 / (1 + np.exp(-odds)), who, "m")
        assert made.low is not None
        assert made.high is not None
        held += made.low <= true <= made.high
    assert held / studies > 0.91
