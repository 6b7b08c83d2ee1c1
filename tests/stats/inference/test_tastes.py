"""Raters' tastes for systems as a third grouping, against lmerTest and emmeans, the dense equations and simulation."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest

from heartfelt.errors import InputError
from heartfelt.stats.inference import MixedResult, mixed_model
from heartfelt.stats.reml import CrossedSystem
from heartfelt.stats.reml_blocks import BlockedSystem

SOURCE = (
    "R 4.2, lme4 and lmerTest: lmer(value ~ system + (1|rater) + (1|item) + (1|rater:system)), anova(), and emmeans() with"
    " Satterthwaite degrees of freedom, on the table of `made_up`"
)


def made_up() -> pl.DataFrame:
    """Ratings without random numbers, so that R can be given the same ones."""
    rows = []
    for rater in range(8):
        for item in range(18):
            if (rater * 5 + item * 7) % 4 == 0:
                continue
            system = item % 3
            value = 3 + 0.4 * system + 0.9 * math.sin(item * 1.7) + 0.8 * math.sin(rater * 2.3)
            value += 0.7 * math.sin(rater * 3.1 + system * 4.7) + 0.9 * math.sin(rater * 11.3 + item * 5.9)
            rows.append((f"r{rater}", f"i{item:02}", "abc"[system], round(value, 3)))
    return pl.DataFrame(rows, schema=["rater", "item", "system", "value"], orient="row")


def fitted(table: pl.DataFrame, *, tastes: bool = True) -> MixedResult:
    random = {"rater": table["rater"], "item": table["item"]}
    if tastes:
        random["taste"] = table["rater"] + table["system"]
    return mixed_model(table["value"], {"system": table["system"]}, random, means_of="system")


def test_variances_and_the_test_equal_lmertest() -> None:
    model = fitted(made_up())
    found = {name: float(variance) for name, variance in model.variances.items()}
    assert found == pytest.approx(
        {"taste": 0.0810154156, "item": 0.4689484862, "rater": 0.3428251813, "residual": 0.5332678965},
        rel=2e-6,
    )
    assert model.log_likelihood == pytest.approx(-146.689583652, abs=1e-8)
    (system,) = model.effects
    assert system.df == 2
    assert system.df_residual == pytest.approx(16.9837865, rel=1e-6)
    assert system.f == pytest.approx(2.50414479, rel=1e-6)
    assert system.p == pytest.approx(0.111414142, rel=1e-6)


def test_means_and_pairs_equal_emmeans() -> None:
    model = fitted(made_up())
    means = {name: (mean.value, mean.low, mean.high) for name, mean in model.means.items()}
    assert means["a"] == pytest.approx((2.894737, 2.1016037, 3.687870), abs=2e-6)
    assert means["c"] == pytest.approx((3.907665, 3.1145321, 4.700798), abs=2e-6)
    assert model.pairs is not None
    pair = model.pairs["a", "c"]
    assert pair.estimate.value == pytest.approx(-1.012928475, rel=1e-6)
    assert pair.standard_error == pytest.approx(0.454410454, rel=1e-6)
    assert pair.df == pytest.approx(16.9941345, rel=1e-6)
    assert (pair.estimate.low, pair.estimate.high) == pytest.approx((-2.17869092, 0.152833973), abs=1e-6)
    assert pair.p == pytest.approx(0.0946885211, rel=1e-5)


def test_a_factor_that_is_not_in_the_model_has_no_means() -> None:
    table = made_up()
    with pytest.raises(InputError, match="not a factor of the model"):
        mixed_model(table["value"], {"system": table["system"]}, {"rater": table["rater"]}, means_of="prompt")


def test_a_mean_that_the_design_does_not_determine_is_missing() -> None:
    table = made_up().with_columns(half=pl.col("system").replace_strict({"a": "x", "b": "x", "c": "y"}))
    random = {"rater": table["rater"], "item": table["item"]}
    fixed = {"half": table["half"], "system": table["system"]}
    model = mixed_model(table["value"], fixed, random, means_of="system")
    assert model.pairs is not None
    assert model.pairs["a", "b"].p is not None
    assert model.pairs["a", "c"].estimate.is_missing


@pytest.mark.parametrize(
    "ratios", [(0.3, 0.2, 0.1), (0.0, 0.2, 0.1), (0.3, 0.0, 0.1), (0.3, 0.2, 0.0), (0.0, 0.0, 0.0)]
)
def test_blocks_solve_the_same_equations(ratios: tuple[float, ...]) -> None:
    rng = np.random.default_rng(3)
    rater, item = rng.integers(0, 9, 150), rng.integers(0, 21, 150)
    system = item % 3
    pairs, taste = np.unique(system * 9 + rater, return_inverse=True)
    columns = np.column_stack([np.ones(150), system == 1, system == 2]).astype(np.float64)
    groups = [(item, 21), (taste, pairs.size), (rater, 9)]
    value = rng.normal(size=150)
    dense = CrossedSystem(value, groups, columns=columns).step(ratios)
    blocked = BlockedSystem(value, groups, np.bincount(pairs // 9), columns=columns).step(ratios)
    for name in ("deviance", "residual", "explained", "squares", "score", "information", "fixed_covariance"):
        assert getattr(blocked, name) == pytest.approx(getattr(dense, name), rel=1e-9, abs=1e-9), name


@pytest.mark.slow
def test_tastes_are_no_evidence_about_systems() -> None:
    """Systems that do not differ, six raters with tastes: the model without tastes is wrong too often."""
    found = {True: 0, False: 0}
    for seed in range(30):
        rng = np.random.default_rng([seed, 24])
        rater, item = (axis.ravel() for axis in np.mgrid[:6, :24])
        system = item % 3
        value = 0.4 * rng.normal(size=24)[item] + 0.6 * rng.normal(size=6)[rater] + 0.9 * rng.normal(size=144)
        value += 0.7 * rng.normal(size=(6, 3))[rater, system]
        table = pl.DataFrame({"rater": rater, "item": item, "system": system, "value": value})
        table = table.with_columns(pl.exclude("value").cast(pl.String))
        for tastes in found:
            found[tastes] += (fitted(table, tastes=tastes).effects[0].p or 1.0) < 0.05
    assert found[True] <= 3
    assert found[False] >= 6
