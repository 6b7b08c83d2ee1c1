"""Analysis of variance against R's printed tables, statsmodels and simulation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

from heartfelt.errors import InputError
from heartfelt.serialization import dumps
from heartfelt.stats.inference import AnovaResult, anova
from heartfelt.stats.inference.variance_tables import share_bounds
from tests.facts import mentions

SOURCE = "R 4 `summary(aov(yield ~ block + N*P*K, npk))` as printed in its manual; statsmodels 0.15 anova_lm"

# Venables and Ripley (2002): block, N, P, K, yield of peas.
NPK = """
1 0 1 1 49.5|1 1 1 0 62.8|1 0 0 0 46.8|1 1 0 1 57.0|2 1 0 0 59.8|2 1 1 1 58.5|2 0 0 1 55.5|2 0 1 0 56.0
3 0 1 0 62.8|3 1 1 1 55.8|3 1 0 0 69.5|3 0 0 1 55.0|4 1 0 0 62.0|4 1 1 1 48.8|4 0 0 1 45.5|4 0 1 0 44.2
5 1 1 0 52.0|5 0 0 0 51.5|5 1 0 1 49.8|5 0 1 1 48.8|6 1 0 1 57.2|6 1 1 0 59.0|6 0 1 1 53.2|6 0 0 0 56.0
"""


def _npk() -> tuple[np.ndarray, dict[str, Any]]:
    table = np.array([line.split() for line in NPK.strip().replace("\n", "|").split("|")], dtype=float)
    return table[:, 4], {name: table[:, i].astype(int) for i, name in enumerate(["block", "N", "P", "K"])}


def _unbalanced(seed: int = 0, n: int = 300) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    a = rng.choice(list("pqrs"), n, p=[0.1, 0.2, 0.3, 0.4])
    b, c = rng.choice(list("xyz"), n), rng.choice(["u", "v"], n, p=[0.7, 0.3])
    w = rng.normal(5, 2, n)
    y = 0.3 * w + (a == "p") + 0.8 * ((b == "x") & (c == "u")) + rng.normal(size=n)
    return {"a": a, "b": b, "c": c, "w": w - w.mean(), "y": y}


@pytest.mark.parametrize("type", [1, 2])
def test_npk_equals_r(type: Any) -> None:
    y, factors = _npk()
    result = anova(y, factors, type=type, interactions=[("N", "P", "K")])
    printed = {
        "block": (5, 343.29, 4.447, 0.01594),
        "N": (1, 189.28, 12.259, 0.00437),
        "P": (1, 8.40, 0.544, 0.47490),
        "K": (1, 95.20, 6.166, 0.02880),
        "N:P": (1, 21.28, 1.378, 0.26317),
        "N:K": (1, 33.13, 2.146, 0.16865),
        "P:K": (1, 0.48, 0.031, 0.86275),
    }
    for effect, (df, square, f, p) in printed.items():
        # The aliased N:P:K takes one degree of freedom from the blocks once it stands among the other terms.
        if effect == "block" and type == 2:
            continue
        row = result[effect]
        assert row.df == df
        assert row.sum_sq == pytest.approx(square, abs=0.0051)
        assert row.f == pytest.approx(f, abs=0.0006)
        assert row.p == pytest.approx(p, abs=6e-6)
    assert result.residual_df == 12
    assert result.residual_sum_sq == pytest.approx(185.29, abs=0.005)
    assert mentions(result["N:P:K"].why_missing, "effects", "already")
    assert result["N:P:K"].partial_eta_squared.is_missing


def _theirs(data: dict[str, Any], formula: str, type: int) -> Any:
    pd = pytest.importorskip("pandas")
    ols = pytest.importorskip("statsmodels.formula.api").ols
    lm = pytest.importorskip("statsmodels.stats.anova").anova_lm
    table = lm(ols(formula, pd.DataFrame(data)).fit(), typ=type)
    table.index = [str(name).replace("C(", "").replace(", Sum)", "") for name in table.index]
    return table


def _compare(result: AnovaResult, table: Any, skip: tuple[str, ...] = ()) -> None:
    for row in result.rows:
        if row.effect in skip:
            continue
        assert row.df == table.loc[row.effect, "df"]
        assert row.sum_sq == pytest.approx(table.loc[row.effect, "sum_sq"], rel=1e-9)
        assert row.f == pytest.approx(table.loc[row.effect, "F"], rel=1e-9)
        assert row.p == pytest.approx(table.loc[row.effect, "PR(>F)"], rel=1e-7, abs=1e-300)
    assert result.residual_sum_sq == pytest.approx(table.loc["Residual", "sum_sq"], rel=1e-10)
    assert result.residual_df == table.loc["Residual", "df"]


@pytest.mark.peer
@pytest.mark.parametrize("type", [2, 3])
def test_unbalanced_with_interactions_and_covariate_equals_statsmodels(type: Any) -> None:
    data = _unbalanced()
    factors = {name: data[name] for name in "abc"}
    result = anova(data["y"], factors, type=type, interactions="all", covariates={"w": data["w"]})
    _compare(result, _theirs(data, "y ~ w + C(a, Sum)*C(b, Sum)*C(c, Sum)", type))


@pytest.mark.peer
@pytest.mark.parametrize("type", [1, 2, 3])
def test_unbalanced_factors_equal_statsmodels(type: Any) -> None:
    data = _unbalanced(1)
    result = anova(data["y"], {"a": data["a"], "b": data["b"]}, type=type, interactions=[("a", "b")])
    _compare(result, _theirs(data, "y ~ C(a, Sum)*C(b, Sum)", type))


@pytest.mark.peer
@pytest.mark.parametrize("type", [2, 3])
def test_slopes_that_differ_by_group_equal_statsmodels(type: Any) -> None:
    data = _unbalanced(2)
    result = anova(data["y"], {"a": data["a"]}, type=type, interactions=[("w", "a")], covariates={"w": data["w"]})
    assert [row.effect for row in result.rows] == ["w", "a", "w:a"]
    table = _theirs(data, "y ~ w*C(a, Sum)", type)
    table.index = [{"a:w": "w:a"}.get(name, name) for name in table.index]
    _compare(result, table)


def test_rows_reduced_in_blocks_give_the_same_table(monkeypatch: pytest.MonkeyPatch) -> None:
    data = _unbalanced(3)
    arguments: dict[str, Any] = {"interactions": [("w", "a")], "covariates": {"w": data["w"]}}
    whole = anova(data["y"], {"a": data["a"], "b": data["b"]}, **arguments)
    monkeypatch.setattr("heartfelt.stats.inference.linear_model._BLOCK", 400)
    blocks = anova(data["y"], {"a": data["a"], "b": data["b"]}, **arguments)
    for row, two in zip(whole.rows, blocks.rows, strict=True):
        assert row.f == pytest.approx(two.f, rel=1e-10)


def test_covariate_inside_cells_equals_the_row_by_row_model() -> None:
    # A covariate whose slope may vary is fitted row by row; leaving that interaction out of the test must not matter.
    data = _unbalanced(4)
    folded = anova(data["y"], {"a": data["a"]}, type=1, covariates={"w": data["w"]})
    by_row = anova(data["y"], {"a": data["a"]}, type=1, covariates={"w": data["w"]}, interactions=[("w", "a")])
    for effect in ("w", "a"):
        assert folded[effect].sum_sq == pytest.approx(by_row[effect].sum_sq, rel=1e-10)


def test_effect_sizes_by_hand() -> None:
    y = [1.0, 2.0, 3.0, 4.0, 6.0, 8.0]
    result = anova(y, {"g": ["a", "a", "a", "b", "b", "b"]})
    between, within = 24.0, 10.0
    row = result["g"]
    assert row.sum_sq == pytest.approx(between)
    assert row.f == pytest.approx(between / (within / 4))
    assert row.eta_squared.value == pytest.approx(between / 34)
    assert row.eta_squared_of_total.value == pytest.approx(between / 34)
    assert row.partial_eta_squared.value == pytest.approx(between / 34)
    assert row.omega_squared.value == pytest.approx((between - 2.5) / (34 + 2.5))
    assert result.r_squared.value == pytest.approx(between / 34)


def test_two_conventions_of_eta_squared_differ_on_unbalanced_data() -> None:
    data = _unbalanced(5)
    result = anova(data["y"], {"a": data["a"], "b": data["b"]})
    table = result.residual_sum_sq + sum(row.sum_sq or 0 for row in result.rows)
    row = result["a"]
    assert row.sum_sq is not None
    assert row.eta_squared_of_total.value == pytest.approx(row.sum_sq / result.total_sum_sq)
    assert row.eta_squared.value == pytest.approx(row.sum_sq / table)
    assert row.eta_squared.value != pytest.approx(row.eta_squared_of_total.value, rel=1e-4)


@pytest.mark.parametrize(
    ("f", "df", "rest"), [(1.2, 3, 20), (8.0, 2, 30), (150.53, 5, 974), (5000.0, 2, 10_000), (1e5, 3, 50)]
)
def test_noncentral_bounds_invert_the_distribution(f: float, df: int, rest: int) -> None:
    rows = df + rest + 1
    bounds = share_bounds(f, df, rest, rows, 0.95)
    assert bounds is not None
    for share, tail in zip(bounds, (0.975, 0.025), strict=True):
        noncentrality = rows * share / (1 - share)
        if noncentrality > 0:
            assert stats.ncf.cdf(f, df, rest, noncentrality) == pytest.approx(tail, abs=1e-7)
        else:
            assert stats.f.cdf(f, df, rest) <= tail


@pytest.mark.slow
@pytest.mark.parametrize("effect", [0.0, 0.5])
def test_partial_eta_interval_covers(effect: float) -> None:
    # Four fixed groups of 15 with means effect * (-1.5 … 1.5): population share f² / (1 + f²).
    means = effect * np.array([-1.5, -0.5, 0.5, 1.5])
    spread = float(np.mean(means**2))
    truth = spread / (1 + spread)
    group = np.repeat(np.arange(4), 15)
    hits = 0
    for seed in range(400):
        y = means[group] + np.random.default_rng(seed).normal(size=60)
        size = anova(y, {"g": group})["g"].partial_eta_squared
        assert size.low is not None
        assert size.high is not None
        hits += size.low <= truth <= size.high
    assert 0.925 <= hits / 400 <= 0.99


@pytest.mark.slow
def test_p_values_are_uniform_without_effects() -> None:
    rng = np.random.default_rng(7)
    group, other = rng.integers(0, 3, 50), rng.integers(0, 2, 50)
    p = [anova(rng.normal(size=50), {"a": group, "b": other}, interactions="all")["a:b"].p for _ in range(400)]
    assert stats.kstest(np.array(p, dtype=float), "uniform").pvalue > 1e-3


def test_empty_cells_cost_degrees_of_freedom() -> None:
    data = _unbalanced(6)
    keep = ~((data["a"] == "p") & (data["b"] == "x"))
    factors = {"a": data["a"][keep], "b": data["b"][keep]}
    two = anova(data["y"][keep], factors, interactions="all")
    assert two["a:b"].df == 5
    assert two.notes == ("a:b has 5 degrees of freedom instead of 6: 1 of its cells are empty",)
    assert two["a"].f is not None
    # Model comparison by hand: cells against additive.
    cells = np.unique(np.char.add(factors["a"], factors["b"]), return_inverse=True)[1]
    y = data["y"][keep]
    means = np.bincount(cells, weights=y) / np.bincount(cells)
    assert two.residual_sum_sq == pytest.approx(np.sum((y - means[cells]) ** 2))
    three = anova(data["y"][keep], factors, type=3, interactions="all")
    assert mentions(three["a"].why_missing, "empty", "cells", "III")
    assert three["a:b"].f == pytest.approx(two["a:b"].f)


def test_rows_with_gaps_are_left_out_and_counted() -> None:
    result = anova([1.0, 2.0, 3.0, 5.0, np.nan, 6.0], {"g": ["a", "a", "b", "b", "b", None]}, covariates=None)
    assert dict(result["g"].eta_squared.counts) == {"rows": 4, "left_out": 2}


@pytest.mark.parametrize(
    ("y", "g", "why"),
    [
        ([], [], "fewer than two rows"),
        ([1.0], ["a"], "fewer than two rows"),
        ([2.0, 2.0, 2.0], ["a", "b", "b"], "the outcome does not vary"),
        ([1.0, 2.0, 3.0], ["a", "a", "a"], "g has one level"),
        ([1.0, 2.0, 3.0], ["a", "b", "c"], "no residual degrees of freedom: as many parameters as rows"),
        ([1.0, 1.0, 3.0, 3.0], ["a", "a", "b", "b"], "no residual variation: the model fits perfectly"),
    ],
)
def test_degenerate_input_gives_a_reason(y: list[float], g: list[str], why: str) -> None:
    row = anova(y, {"g": g})["g"]
    assert row.why_missing == why
    assert row.p is None


def test_constant_covariate_gives_a_reason() -> None:
    data = _unbalanced(8)
    result = anova(data["y"], {"a": data["a"]}, covariates={"w": np.ones(300)})
    assert result["w"].why_missing == "w does not vary"
    assert result["a"].f == pytest.approx(anova(data["y"], {"a": data["a"]})["a"].f)


def test_misuse_is_refused() -> None:
    data = _unbalanced(9)
    with pytest.raises(InputError, match="type 4"):
        anova(data["y"], {"a": data["a"]}, type=4)  # type: ignore[arg-type]  # on purpose
    with pytest.raises(InputError, match="no factor"):
        anova(data["y"], {})
    with pytest.raises(InputError, match=r"'sytem'.*model"):
        anova(data["y"], {"system": data["a"], "b": data["b"]}, interactions=[("sytem", "b")])
    with pytest.raises(InputError, match="one word"):
        anova(data["y"], {"a": data["a"]}, interactions=["a:b"])
    with pytest.raises(InputError, match="both a factor and a covariate"):
        anova(data["y"], {"a": data["a"]}, covariates={"a": data["w"]})
    with pytest.raises(InputError, match="differ in length"):
        anova(data["y"], {"a": data["a"][:-1]})
    with pytest.raises(InputError, match="mixed_model"):
        anova(np.arange(6000.0), {"a": np.arange(6000) // 1})


def test_result_is_plain_json() -> None:
    import json

    data = _unbalanced(10)
    result = anova(data["y"], {"a": data["a"]}, covariates={"w": data["w"]})
    text = json.loads(dumps(result))
    assert [row["effect"] for row in text["rows"]] == ["w", "a"]
    assert text["rows"][1]["partial_eta_squared"]["interval"] == "noncentral F"
    with pytest.raises(KeyError):
        result["nothing"]
