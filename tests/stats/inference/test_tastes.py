"""Raters' tastes for systems as a third grouping, against lmerTest and emmeans, the dense equations and simulation."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest

from heartfelt.errors import InputError
from heartfelt.stats.inference import MixedResult, mixed_model
from heartfelt.stats.reliability.reml import CrossedSystem
from heartfelt.stats.reliability.reml_blocks import BlockedSystem

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
        {"taste": 0.0810154156, "item": 0.4689484862, "rater": 0.3428251813, "residual": 0.5332678965}, rel=2e-6
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


def sparse(raters: int, systems: int, stimuli: int, each: int, seen: int) -> pl.DataFrame:
    """Every rater rates ``each`` stimuli, or one more, of ``seen`` of the systems, which have so many stimuli each."""
    rows = []
    for rater in range(raters):
        for system in range(systems):
            if (rater + system) % systems >= seen:
                continue
            for n in range(each + (rater + system) % 2):
                item = system * stimuli + (rater * 2 + n * 3 + system) % stimuli
                value = 3 + 0.35 * system + 0.8 * math.sin(item * 1.7) + 0.9 * math.sin(rater * 2.3)
                value += 0.8 * math.sin(rater * 3.1 + system * 4.7) + 0.6 * math.sin(rater * 11.3 + item * 5.9)
                rows.append((f"r{rater:02}", f"i{item:02}", "abcd"[system], round(value, 3)))
    return pl.DataFrame(rows, schema=["rater", "item", "system", "value"], orient="row")


SPARSE_SOURCE = (
    "R 4.2, lmerTest 3 and emmeans: m <- lmer(value ~ system + (1|rater) + (1|item) + (1|rater:system), control ="
    " lmerControl(optimizer = 'bobyqa', optCtrl = list(rhoend = 1e-10))); VarCorr(m); logLik(m); anova(m);"
    " pairs(emmeans(m, 'system', lmer.df = 'satterthwaite')) on the tables of `sparse`"
)
SPARSE = {
    # taste, rater, item, residual; log likelihood; F, its degrees of freedom and p; a against b: difference, error, df, p
    (10, 3, 4, 1, 3): ((0.2617834153, 0.3944317491, 0.2024751997, 0.0560300405), -43.5718792382,
                       (0.224280029, 7.60141973, 0.804196234), (-0.103, 0.452, 7.6, 0.9717)),
    (18, 4, 5, 1, 2): ((0.1997384929, 0.8760112281, 0.5963371196, 0.0197106555), -67.44504063,
                       (1.342718769, 23.7718283, 0.284234108), (-0.0705, 0.549, 22.7, 0.9992)),
    (6, 2, 6, 2, 2): ((0.6592231527, 0.3576967177, 0.2127077412, 0.1382823063), -34.132478264,
                      (0.0199155344, 7.17495722, 0.891653959), (-0.0786, 0.557, 7.17, 0.8917)),
}  # fmt: skip


@pytest.mark.parametrize("design", SPARSE, ids=lambda each: "x".join(map(str, each)))
def test_sparse_designs_equal_lmertest(design: tuple[int, int, int, int, int]) -> None:
    """Each rater rates one to three stimuli of a system, and in one design only half of the systems."""
    variances, log_likelihood, (f, free, p), pair = SPARSE[design]
    model = fitted(sparse(*design))
    found = [float(model.variances[name]) for name in ("taste", "rater", "item", "residual")]
    assert found == pytest.approx(variances, rel=2e-6)
    assert model.log_likelihood == pytest.approx(log_likelihood, abs=1e-7)
    (system,) = model.effects
    assert (system.f, system.p) == pytest.approx((f, p), rel=2e-5)
    assert system.df_residual == pytest.approx(free, rel=2e-4)
    assert model.pairs is not None
    own = model.pairs["a", "b"]
    assert own.difference == pytest.approx(pair[0], abs=6e-4)
    assert own.standard_error == pytest.approx(pair[1], abs=6e-4)
    assert own.df == pytest.approx(pair[2], abs=0.06)
    assert own.p == pytest.approx(pair[3], abs=6e-5)


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
