"""Mixed models against lme4's printed fits, statsmodels, exact balanced results, dense matrices and
simulation.
"""

from __future__ import annotations

import json
import warnings
from typing import Any

import numpy as np
import pytest
from scipy import stats

from heartfelt.errors import InputError
from heartfelt.serialization import dumps
from heartfelt.stats.inference import MixedResult, anova, mixed_model
from heartfelt.stats.reliability import reml
from heartfelt.stats.reliability.reml import CrossedSystem
from tests.facts import mentions

SOURCE = (
    "lme4 fits printed by Faraway (penicillin blends, people.bath.ac.uk/jjf23/mixchange/rbd.html) and by Bates et al. "
    "(Penicillin plates, lme4 vignette); statsmodels 0.15 MixedLM; dense REML written out here"
)

# Box, Hunter and Hunter (1978): yield of four treatments on five blends.
YIELD = {"A": [89, 84, 81, 87, 79], "B": [88, 77, 87, 92, 81], "C": [97, 92, 87, 89, 80], "D": [94, 79, 85, 84, 88]}

# Davies and Goldsmith (1972): zone diameter of six samples (A to F) on each of 24 plates.
DIAMETER = """
27 23 26 23 23 21|27 23 26 23 23 21|25 21 25 24 24 20|26 23 25 23 23 20|25 22 26 22 23 20|24 22 25 23 22 19
24 20 23 21 22 19|26 22 26 24 24 21|24 21 24 22 22 20|24 21 24 23 22 19|26 23 26 24 24 21|25 22 26 24 24 20
26 24 26 24 25 22|26 23 26 23 23 20|26 23 25 24 24 22|25 22 25 23 23 20|25 21 24 23 23 20|25 22 24 23 23 19
24 21 23 21 21 19|26 23 26 24 24 21|25 21 24 22 22 18|25 22 25 22 22 20|24 21 24 22 24 19|24 21 24 22 21 18
"""


def _blends() -> tuple[list[float], list[str], list[int]]:
    y = [float(value) for values in YIELD.values() for value in values]
    return y, [name for name in YIELD for _ in range(5)], [i for _ in YIELD for i in range(5)]


def _crossed(seed: int, n: int = 90) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    rater, item = rng.integers(0, 7, n), rng.integers(0, 12, n)
    system = np.array(["a", "b", "c"])[item % 3]
    loud = rng.normal(size=n)
    y = (
        0.7 * (system == "b") + 0.3 * loud + 0.8 * rng.normal(size=7)[rater]
        + 0.6 * rng.normal(size=12)[item] + rng.normal(size=n)
    )  # fmt: skip
    return {"rater": rater, "item": item, "system": system, "loud": loud - loud.mean(), "y": y}


def _number(value: float | None) -> float:
    assert value is not None
    return value


def test_blends_equal_lme4() -> None:
    y, treat, blend = _blends()
    result = mixed_model(y, {"treat": treat}, {"blend": blend})
    assert result.variances["blend"].value == pytest.approx(11.8, abs=0.05)
    assert result.variances["residual"].value == pytest.approx(18.8, abs=0.05)
    assert -2 * _number(result.log_likelihood) == pytest.approx(103.8, abs=0.05)
    printed = {"intercept": (84.0, 2.48), "treat[B]": (1.0, 2.75), "treat[C]": (5.0, 2.75), "treat[D]": (2.0, 2.75)}
    for name, (value, error) in printed.items():
        assert result.coefficient(name).estimate.value == pytest.approx(value, abs=1e-6)
        assert result.coefficient(name).standard_error == pytest.approx(error, abs=0.006)
    effect = result.effect("treat")
    assert (effect.f, effect.p) == pytest.approx((1.24, 0.34), abs=0.006)


def test_balanced_block_design_is_exact() -> None:
    # In a balanced design the test is that of the two-way analysis of variance, with 12 degrees of freedom.
    y, treat, blend = _blends()
    effect = mixed_model(y, {"treat": treat}, {"blend": blend}).effect("treat")
    row = anova(y, {"treat": treat, "blend": [str(b) for b in blend]})["treat"]
    assert effect.f == pytest.approx(row.f, rel=1e-7)
    assert effect.df_residual == pytest.approx(12, rel=1e-5)
    assert effect.p == pytest.approx(row.p, rel=1e-5)


def test_plates_and_samples_equal_lme4() -> None:
    y = np.array([line.split() for line in DIAMETER.strip().replace("\n", "|").split("|")], dtype=float)
    plate, sample = np.repeat(np.arange(24), 6), np.tile(list("ABCDEF"), 24)
    result = mixed_model(y.ravel(), {}, {"plate": plate, "sample": sample})
    assert result.variances["plate"].value == pytest.approx(0.7169, abs=6e-5)
    assert result.variances["sample"].value == pytest.approx(3.7309, abs=6e-5)
    assert result.variances["residual"].value == pytest.approx(0.3024, abs=6e-5)
    assert result.intercept.value == pytest.approx(22.9722, abs=6e-5)
    assert result.coefficients[0].standard_error == pytest.approx(0.8086, abs=6e-5)
    assert -2 * _number(result.log_likelihood) == pytest.approx(330.8606, abs=6e-5)


@pytest.mark.peer
def test_unbalanced_crossed_model_equals_statsmodels() -> None:
    api, pd = pytest.importorskip("statsmodels.formula.api"), pytest.importorskip("pandas")
    data = _crossed(1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = api.mixedlm(
            "y ~ C(system) + loud", pd.DataFrame({**data, "all": 1}), groups="all", re_formula="0",
            vc_formula={"rater": "0 + C(rater)", "item": "0 + C(item)"},
        ).fit(reml=True)  # fmt: skip
    result = mixed_model(
        data["y"], {"system": data["system"], "loud": data["loud"]}, {"rater": data["rater"], "item": data["item"]}
    )
    by_name = dict(zip(theirs.model.exog_vc.names, theirs.vcomp, strict=True))
    assert result.variances["rater"].value == pytest.approx(by_name["rater"], rel=2e-3)
    assert result.variances["item"].value == pytest.approx(by_name["item"], rel=2e-3)
    assert result.variances["residual"].value == pytest.approx(theirs.scale, rel=2e-3)
    for ours, name in (("system[b]", "C(system)[T.b]"), ("system[c]", "C(system)[T.c]"), ("loud", "loud")):
        assert result.coefficient(ours).estimate.value == pytest.approx(theirs.params[name], abs=1e-4)
        # Theirs inverts the joint Hessian with the variances; the dense test below holds ours exactly.
        assert result.coefficient(ours).standard_error == pytest.approx(theirs.bse[name], rel=0.05)
    assert _number(result.log_likelihood) >= theirs.llf - 1e-6


def _dense(data: dict[str, Any], design: np.ndarray, variances: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
    """REML log likelihood, coefficients and their covariance by n x n matrices: residual, rater, item."""
    y, n = data["y"], data["y"].size
    v = variances[0] * np.eye(n)
    for variance, codes in zip(variances[1:], (data["rater"], data["item"]), strict=True):
        v = v + variance * (codes[:, None] == codes)
    inverse = np.linalg.inv(v)
    information = design.T @ inverse @ design
    covariance = np.linalg.inv(information)
    beta = covariance @ design.T @ inverse @ y
    rest = y - design @ beta
    free = n - design.shape[1]
    log = -0.5 * (
        np.linalg.slogdet(v)[1] + np.linalg.slogdet(information)[1] + rest @ inverse @ rest + free * np.log(2 * np.pi)
    )
    return float(log), beta, covariance


@pytest.mark.parametrize("seed", [3, 4])
def test_unbalanced_fit_and_satterthwaite_equal_dense_matrices(seed: int) -> None:
    data = _crossed(seed)
    result = mixed_model(
        data["y"], {"system": data["system"], "loud": data["loud"]}, {"rater": data["rater"], "item": data["item"]}
    )
    names = ["intercept", "loud", "system[b]", "system[c]"]
    design = np.column_stack([np.ones(90), data["loud"], data["system"] == "b", data["system"] == "c"]).astype(float)
    at = np.array([_number(result.variances[name].value) for name in ("residual", "rater", "item")])
    log, beta, covariance = _dense(data, design, at)
    assert _number(result.log_likelihood) == pytest.approx(log, abs=1e-8)
    for index, name in enumerate(names):
        assert result.coefficient(name).estimate.value == pytest.approx(beta[index], abs=1e-7)
        assert result.coefficient(name).standard_error == pytest.approx(np.sqrt(covariance[index, index]), rel=1e-7)
    step = 1e-3 * at
    unit = np.diag(step)
    slopes, hessian, tilt = np.zeros(3), np.zeros((3, 3)), []
    for i in range(3):
        up, down = _dense(data, design, at + unit[i]), _dense(data, design, at - unit[i])
        slopes[i] = (up[0] - down[0]) / (2 * step[i])
        tilt.append((np.diagonal(up[2]) - np.diagonal(down[2])) / (2 * step[i]))
        for j in range(3):
            corners = [
                _dense(data, design, at + a * unit[i] + b * unit[j])[0] for a, b in ((1, 1), (1, -1), (-1, 1), (-1, -1))
            ]
            hessian[i, j] = (corners[0] - corners[1] - corners[2] + corners[3]) / (4 * step[i] * step[j])
    assert np.abs(slopes * at).max() < 1e-3
    spread = np.linalg.inv(-hessian)
    for index, name in enumerate(names):
        gradient = np.array([each[index] for each in tilt])
        df = 2 * covariance[index, index] ** 2 / (gradient @ spread @ gradient)
        assert result.coefficient(name).df == pytest.approx(df, rel=2e-3)


def test_eliminating_levels_one_by_one_equals_summing_them_by_size(monkeypatch: pytest.MonkeyPatch) -> None:
    data = _crossed(4, 200)
    arguments = (data["y"], {"system": data["system"]}, {"rater": data["rater"], "item": data["item"]})
    summed = mixed_model(*arguments)
    monkeypatch.setattr(reml, "STACK_CELLS", 0)
    single = mixed_model(*arguments)
    assert single.log_likelihood == pytest.approx(summed.log_likelihood, abs=1e-8)
    assert single.effect("system").p == pytest.approx(summed.effect("system").p, rel=1e-5)


def test_gradient_is_the_slope_of_the_deviance() -> None:
    data = _crossed(5, 150)
    third = np.random.default_rng(1).integers(0, 5, 150)
    system = CrossedSystem(
        data["y"],
        [(data["item"], 12), (data["rater"], 7), (third, 5)],
        columns=np.column_stack([np.ones(150), data["loud"]]),
    )
    variances = np.array([0.5, 0.2, 0.7, 1.3])
    step = system.step(variances[:3] / variances[3], variances[3])
    for index, h in enumerate(1e-5 * np.eye(4)):
        up, down = (system.step(v[:3] / v[3], v[3]).deviance for v in (variances + h, variances - h))
        assert step.score[index] == pytest.approx((up - down) / 2e-5, abs=1e-4)


@pytest.mark.slow
def test_three_groupings_recover_planted_variances() -> None:
    rng = np.random.default_rng(6)
    n = 12_000
    rater, item, session = rng.integers(0, 150, n), rng.integers(0, 900, n), rng.integers(0, 200, n)
    y = (
        5 + 0.5 * rng.normal(size=150)[rater] + 0.8 * rng.normal(size=900)[item]
        + 0.3 * rng.normal(size=200)[session] + rng.normal(size=n)
    )  # fmt: skip
    result = mixed_model(y, {}, {"rater": rater, "item": item, "session": session}, confidence=0.999)
    for name, truth in (("rater", 0.25), ("item", 0.64), ("session", 0.09), ("residual", 1.0)):
        part = result.variances[name]
        assert _number(part.low) < truth < _number(part.high)
        assert part.value == pytest.approx(truth, rel=0.3)


def _study(seed: int) -> MixedResult:
    # 12 raters, 24 stimuli of three systems, 60% of the cells; systems do not differ.
    rng = np.random.default_rng(seed)
    rater, item = (codes.ravel() for codes in np.meshgrid(np.arange(12), np.arange(24)))
    keep = rng.random(rater.size) < 0.6
    rater, item = rater[keep], item[keep]
    y = 5 + rng.normal(size=12)[rater] + 0.7 * rng.normal(size=24)[item] + rng.normal(size=rater.size)
    return mixed_model(y, {"system": np.array(["a", "b", "c"])[item % 3]}, {"rater": rater, "item": item})


@pytest.mark.slow
def test_p_values_hold_their_level_and_intervals_cover() -> None:
    p, covered = [], {"intercept": 0, "rater": 0, "item": 0, "residual": 0, "system[b]": 0}
    truth = {"intercept": 5.0, "system[b]": 0.0, "rater": 1.0, "item": 0.49, "residual": 1.0}
    for seed in range(300):
        result = _study(seed)
        p.append(_number(result.effect("system").p))
        for name in covered:
            part = result.variances.get(name) or result.coefficient(name).estimate
            covered[name] += _number(part.low) <= truth[name] <= _number(part.high)
    assert stats.kstest(p, "uniform").pvalue > 1e-3
    assert 0.02 <= np.mean(np.array(p) < 0.05) <= 0.085
    for name, hits in covered.items():
        assert 0.93 <= hits / 300 <= (0.985 if name in ("intercept", "system[b]") else 1.0), name


@pytest.mark.slow
def test_testing_stimulus_means_alone_would_overstate() -> None:
    # What the mixed model is for: rows of one stimulus are not independent.
    rng = np.random.default_rng(7)
    item = np.repeat(np.arange(20), 30)
    system = np.array(["a", "b"])[item % 2]
    p_rows, p_mixed = [], []
    for _ in range(60):
        y = rng.normal(size=20)[item] + rng.normal(size=600)
        p_rows.append(_number(anova(y, {"system": system})["system"].p))
        p_mixed.append(_number(mixed_model(y, {"system": system}, {"item": item}).effect("system").p))
    assert np.mean(np.array(p_rows) < 0.05) > 0.4
    assert np.mean(np.array(p_mixed) < 0.05) < 0.15


def test_effects_do_not_depend_on_the_coding() -> None:
    data = _crossed(8, 300)
    other = np.where(data["loud"] > 0, "high", "low")
    arguments = (data["y"], {"system": data["system"], "other": other}, {"rater": data["rater"], "item": data["item"]})
    each = mixed_model(*arguments, interactions="all")
    two = mixed_model(*arguments, interactions="all", coding="sum")
    for effect in ("system", "other", "system:other"):
        assert each.effect(effect).f == pytest.approx(two.effect(effect).f, rel=1e-6)
        assert each.effect(effect).df_residual == pytest.approx(two.effect(effect).df_residual, rel=1e-4)
    assert each.log_likelihood != pytest.approx(two.log_likelihood, abs=1e-3)


def test_no_rater_variance_is_reported_as_zero() -> None:
    rng = np.random.default_rng(9)
    rater, item = np.tile(np.arange(10), 10), np.repeat(np.arange(10), 10)
    y = rng.normal(size=10)[item] + rng.normal(size=100)
    y = y - (np.bincount(rater, weights=y) / 10)[rater]
    result = mixed_model(y, {}, {"rater": rater, "item": item})
    assert result.variances["rater"].value == 0
    assert result.variances["rater"].low == 0
    assert 0 < _number(result.variances["rater"].high) < 1
    assert result.notes == ("the variance of rater is estimated as 0",)
    assert _number(result.variances["item"].low) > 0


def test_aliased_columns_are_left_out_with_a_reason() -> None:
    data = _crossed(10, 200)
    result = mixed_model(
        data["y"],
        {"system": data["system"], "again": np.char.upper(data["system"])},
        {"rater": data["rater"], "item": data["item"]},
    )
    assert mentions(result.effect("again").why_missing, "effects", "already")
    assert result.coefficient("again[B]").estimate.is_missing
    plain = mixed_model(data["y"], {"system": data["system"]}, {"rater": data["rater"], "item": data["item"]})
    assert result.effect("system").p == pytest.approx(plain.effect("system").p)


@pytest.mark.parametrize(
    ("rows", "changes", "why"),
    [
        (2, {}, "2 rows; at least 3 are needed"),
        (40, {"y": np.ones(40)}, "the outcome does not vary"),
        (40, {"rater": np.zeros(40)}, "rater has one level"),
        (
            40,
            {"rater": np.arange(40)},
            "every level of rater has one row: its variance cannot be separated from the residual",
        ),
        (40, {"rater": np.arange(40) % 4, "item": np.arange(40) % 4 + 9}, "item and rater group the rows the same way"),
        (40, {"system": np.arange(40).astype(str)}, "as many fixed coefficients as rows"),
    ],
)
def test_degenerate_input_gives_a_reason(rows: int, changes: dict[str, Any], why: str) -> None:
    data = {name: column[:rows] for name, column in _crossed(11).items()} | changes
    result = mixed_model(data["y"], {"system": data["system"]}, {"rater": data["rater"], "item": data["item"]})
    assert result.why_missing == why
    assert result.intercept.value is None
    assert result.variances["residual"].why_missing == why
    assert result.effect("system").why_missing == why


def test_a_perfect_fit_gives_a_reason() -> None:
    result = mixed_model([1, 2, 3, 4, 5, 6], {"a": ["x", "y"] * 3}, {"g": [1, 1, 2, 2, 3, 3]})
    assert mentions(result.why_missing, "residual", "variation", "model")


def test_fixed_effects_that_swallow_a_grouping_give_a_reason() -> None:
    data = _crossed(12, 200)
    words = data["item"].astype(str)
    result = mixed_model(data["y"], {"item": words}, {"rater": data["rater"], "stimulus": data["item"]})
    assert mentions(result.why_missing, "effects", "stimulus")


def test_rows_with_gaps_are_left_out_and_counted() -> None:
    data = _crossed(13)
    y = data["y"].copy()
    y[0] = np.nan
    rater: Any = data["rater"].astype(object)
    rater[1] = None
    result = mixed_model(y, {"loud": data["loud"]}, {"rater": rater, "item": data["item"]})
    assert dict(result.counts) == {"rows": 88, "left_out": 2}
    retained = slice(2, None)
    plain = mixed_model(
        y[retained],
        {"loud": data["loud"][retained]},
        {"rater": data["rater"][retained], "item": data["item"][retained]},
    )
    assert result.log_likelihood == pytest.approx(plain.log_likelihood, abs=1e-8)


def test_misuse_is_refused() -> None:
    data = _crossed(14)
    with pytest.raises(InputError, match="0 random groupings"):
        mixed_model(data["y"], {}, {})
    with pytest.raises(InputError, match="'rater' has 3 rows"):
        mixed_model(data["y"], {}, {"rater": [1, 2, 3]})
    with pytest.raises(InputError, match="coding"):
        mixed_model(data["y"], {}, {"rater": data["rater"]}, coding="helmert")  # type: ignore[arg-type]  # on purpose


def test_result_is_plain_json() -> None:
    text = json.loads(dumps(_study(1)))
    assert text["coefficients"][0]["name"] == "intercept"
    assert mentions(text["variances"]["rater"]["interval"], "jackknife", "items", "raters")
    with pytest.raises(KeyError):
        _study(1).effect("nothing")
    with pytest.raises(KeyError):
        _study(1).coefficient("nothing")


def test_both_ways_of_factoring_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    data = _crossed(15, 200)
    arguments = (data["y"], {"system": data["system"]}, {"rater": data["rater"], "item": data["item"]})
    compiled = mixed_model(*arguments)
    monkeypatch.setattr(reml, "COMPILED_LIMIT", 0)
    lapack = mixed_model(*arguments)
    assert lapack.log_likelihood == pytest.approx(compiled.log_likelihood, abs=1e-9)
    assert lapack.effect("system").df_residual == pytest.approx(compiled.effect("system").df_residual, rel=1e-6)


def _random_study(seed: int) -> tuple[Any, dict[str, Any], dict[str, Any]]:
    """A small study of any kind: null, constant, separated, unbalanced, tiny, exact, rounded, far from zero."""
    rng = np.random.default_rng(seed)
    kind = seed % 9
    raters, items = (int(n) for n in (rng.integers(1, 13), rng.integers(1, 25)))
    if kind == 4:
        raters, items = int(rng.integers(1, 4)), int(rng.integers(1, 5))
    rater, item = (codes.ravel() for codes in np.meshgrid(np.arange(raters), np.arange(items)))
    keep = rng.random(rater.size) < rng.choice([1.0, 0.6, 0.2])
    if kind == 3:
        keep &= (rng.random(rater.size) < 0.5) | (rater == 0)
    rater, item = rater[keep], item[keep]
    system = np.array(["a", "b", "c"])[item % int(rng.integers(1, 4))]
    noise = rng.normal(size=rater.size)
    y = [
        noise,
        np.full(rater.size, 3.0),
        5.0 * (system == "b") + rng.choice([0.0, 1e-9]) * noise,
        noise + rng.normal(size=13)[rater],
        noise,
        rng.normal(size=13)[rater] + rng.normal(size=25)[item],
        np.clip(np.rint(5 + 2 * noise), 1, 9),
        1e8 + noise,
        (np.arange(rater.size) == 0).astype(float),
    ][kind]
    random: dict[str, Any] = {"rater": rater} if rng.random() < 0.15 else {"rater": rater, "item": item}
    if rng.random() < 0.1:
        random["session"] = rng.integers(0, 3, rater.size)
    fixed: dict[str, Any] = {"system": system}
    if rng.random() < 0.2:
        fixed["loudness"] = rng.normal(size=rater.size)
    return y, fixed, random


@pytest.mark.slow
def test_any_small_study_gives_numbers_with_valid_intervals_or_reasons() -> None:
    # Before, a variance near zero with tiny degrees of freedom divided by zero: in 65 of 1,500 such studies.
    for seed in range(450):
        result = mixed_model(*_random_study(seed))
        dumps(result)
        for name, e in result.variances.items():
            assert e.value is not None or e.why_missing, seed
            if e.value is not None and e.low is None:
                assert e.high is None, (seed, name)
                assert e.why_no_interval, (seed, name)
            elif e.value is not None:
                assert 0 <= _number(e.low) <= e.value <= _number(e.high) < 1e300, (seed, name)
        for coefficient in result.coefficients:
            e = coefficient.estimate
            if e.value is not None and coefficient.standard_error is not None:
                assert _number(e.low) <= e.value <= _number(e.high), seed
                assert 0 <= _number(coefficient.p) <= 1, seed
                assert _number(coefficient.df) >= 1, seed
            else:
                assert e.why_missing or e.why_no_interval, seed
        for effect in result.effects:
            assert effect.why_missing or 0 <= _number(effect.p) <= 1, seed
            assert effect.f is None or np.isfinite([effect.f, _number(effect.df_residual)]).all(), seed


@pytest.mark.slow
@pytest.mark.parametrize("grouping", ["one", "three"])
def test_a_variance_with_less_than_one_degree_of_freedom_has_no_interval(grouping: str) -> None:
    for seed in range(200):
        rng = np.random.default_rng(seed)
        rater, item = np.tile(np.arange(8), 6), np.repeat(np.arange(6), 8)
        random = {"rater": rater} if grouping == "one" else {"rater": rater, "item": item, "set": rater % 3}
        result = mixed_model(rng.normal(size=48), {}, random)
        for e in result.variances.values():
            if e.value is not None:
                assert e.why_no_interval or 0 < _number(e.low) <= e.value <= _number(e.high) < 1e6


def _careless(seed: int, items: int, raters: int) -> MixedResult:
    rng = np.random.default_rng(seed)
    item, rater = (a.ravel() for a in np.indices((items, raters)))
    gain = 1 + 0.35 * rng.normal(size=raters)
    y = gain[rater] * rng.normal(size=items)[item] + 0.6 * rng.normal(size=raters)[rater]
    y = y + rng.normal(size=item.size)
    return mixed_model(y, {"system": np.array(["a", "b", "c"])[item % 3]}, {"rater": rater, "item": item})


@pytest.mark.slow
def test_variance_intervals_cover_where_raters_differ_in_gain() -> None:
    # Satterthwaite's chi-square covered the items' variance in 73 of 100 such data sets.
    truth = {"item": 1.0, "rater": 0.36, "residual": 1.1225}
    hits = dict.fromkeys(truth, 0)
    for seed in range(200):
        result = _careless(seed, 90, 8)
        for name, value in truth.items():
            e = result.variances[name]
            hits[name] += _number(e.low) <= value <= _number(e.high)
    assert min(hits.values()) >= 182, hits
