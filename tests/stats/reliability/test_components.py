"""Variance components against statsmodels, the likelihood written out in full, mean squares, and simulation."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy.optimize import minimize

from heartfelt.errors import InputError
from heartfelt.serialization import dumps
from heartfelt.stats.ratings import as_ratings
from heartfelt.stats.reliability import variance_components
from heartfelt.stats.reliability.components import VarianceComponents
from heartfelt.stats.reliability.crossed import CrossedFit, Quantity, fit_crossed
from heartfelt.stats.reliability.reml import CrossedSystem, ProbedSystem, maximise
from tests.facts import mentions
from tests.stats.reliability.ratings import Crossed, Floats, Ints, complete, ragged

SOURCE = "statsmodels 0.15 MixedLM with variance components; the N x N restricted likelihood; analysis of variance"


def values(result: VarianceComponents) -> list[float]:
    return [float(result.item), float(result.rater), float(result.residual)]


def full_deviance(v: Floats, rater: Ints, item: Ints, value: Floats, fixed: Ints | None = None) -> float:
    """-2 log restricted likelihood without its constant, from N x N matrices."""
    cov = v[0] * (item[:, None] == item) + v[1] * (rater[:, None] == rater) + v[2] * np.eye(item.size)
    x = np.ones((item.size, 1)) if fixed is None else np.eye(int(fixed.max()) + 1)[fixed]
    inverse = np.linalg.inv(cov)
    middle = x.T @ inverse @ x
    p = inverse - inverse @ x @ np.linalg.solve(middle, x.T @ inverse)
    return float(np.linalg.slogdet(cov)[1] + np.linalg.slogdet(middle)[1] + value @ p @ value)


@pytest.mark.parametrize("fixed", [False, True])
def test_deviance_score_and_information_equal_the_full_matrices(fixed: bool) -> None:
    rater, item, value = ragged(1, 14, 7, 0.5)
    cells = item % 3 if fixed else None
    system = CrossedSystem(value, [(item, 14), (rater, 7)], cells)
    v = np.array([0.9, 0.4, 1.3])
    step = system.step([v[0] / v[2], v[1] / v[2]], v[2])
    assert step.deviance == pytest.approx(full_deviance(v, rater, item, value, cells), abs=1e-9)
    for i in range(3):
        h = np.eye(3)[i] * 1e-5
        slope = full_deviance(v + h, rater, item, value, cells) - full_deviance(v - h, rater, item, value, cells)
        assert step.score[i] == pytest.approx(slope / 2e-5, rel=1e-6)
    cov = v[0] * (item[:, None] == item) + v[1] * (rater[:, None] == rater) + v[2] * np.eye(item.size)
    x = np.ones((item.size, 1)) if cells is None else np.eye(3)[cells]
    inverse = np.linalg.inv(cov)
    p = inverse - inverse @ x @ np.linalg.solve(x.T @ inverse @ x, x.T @ inverse)
    parts = [(item[:, None] == item).astype(float), (rater[:, None] == rater).astype(float), np.eye(item.size)]
    average = [[0.5 * value @ p @ a @ p @ b @ p @ value for b in parts] for a in parts]
    assert step.information == pytest.approx(np.array(average), rel=1e-8)


@pytest.mark.parametrize(("items", "raters", "share"), [(12, 6, 0.6), (6, 12, 0.6), (9, 9, 0.6)])
def test_estimates_maximise_the_full_likelihood(items: int, raters: int, share: float) -> None:
    rater, item, value = ragged(items, items, raters, share)
    result = variance_components(rater, item, value)

    def deviance(logs: Floats) -> float:
        return full_deviance(np.exp(logs), rater, item, value)

    best = minimize(deviance, np.log(values(result)) + 0.3, method="BFGS")
    assert values(result) == pytest.approx(np.exp(best.x).tolist(), rel=1e-4)
    n = value.size
    assert result.log_likelihood == pytest.approx(-0.5 * (best.fun + (n - 1) * np.log(2 * np.pi)), abs=1e-6)


@pytest.mark.peer
def test_equals_statsmodels() -> None:
    sm = pytest.importorskip("statsmodels.formula.api")
    import pandas as pd

    rater, item, value = ragged(11, 30, 8, 0.6)
    table = pd.DataFrame({"y": value, "item": item, "rater": rater, "all": 1})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        peer = sm.mixedlm(
            "y ~ 1", table, groups="all", re_formula="0", vc_formula={"i": "0 + C(item)", "r": "0 + C(rater)"}
        ).fit(reml=True)
    result = variance_components(rater, item, value)
    assert values(result) == pytest.approx([*peer.vcomp, peer.scale], rel=2e-4)
    assert float(result.mean) == pytest.approx(float(peer.params["Intercept"]), abs=1e-4)
    assert result.log_likelihood == pytest.approx(float(peer.llf), abs=1e-4)


def test_complete_data_equal_the_analysis_of_variance() -> None:
    rater, item, value = complete(3, 30, 7)
    table = np.zeros((30, 7))
    table[item, rater] = value
    rows, columns = table.mean(1), table.mean(0)
    mse = ((table - rows[:, None] - columns + table.mean()) ** 2).sum() / (29 * 6)
    item_variance = rows.var(ddof=1) - mse / 7
    rater_variance = columns.var(ddof=1) - mse / 30
    result = variance_components(rater, item, value)
    assert values(result) == pytest.approx([item_variance, rater_variance, mse], rel=1e-7)
    assert float(result.mean) == pytest.approx(value.mean())
    assert float(result.error) == pytest.approx(rater_variance + mse)
    shares = [float(e) for e in (result.item_share, result.rater_share, result.residual_share)]
    assert sum(shares) == pytest.approx(1.0)


def test_items_and_raters_may_change_places() -> None:
    rater, item, value = ragged(4, 35, 12, 0.4)
    each = variance_components(rater, item, value, interval="profile")
    other = variance_components(item, rater, value, interval="profile")
    assert values(each) == pytest.approx([float(other.rater), float(other.item), float(other.residual)], rel=1e-6)
    assert [each.item.low, each.item.high] == pytest.approx([other.rater.low, other.rater.high], rel=1e-3)
    assert each.log_likelihood == pytest.approx(other.log_likelihood)


def test_neither_offset_nor_scale_matters() -> None:
    rater, item, value = ragged(5, 30, 10, 0.5)
    plain, moved = variance_components(rater, item, value), variance_components(rater, item, 1e6 + 3 * value)
    assert values(moved) == pytest.approx([9 * v for v in values(plain)], rel=1e-5)
    assert moved.item.high == pytest.approx(9 * float(plain.item.high or 0), rel=1e-3)


QUANTITIES = {
    "item": Quantity((1.0, 0.0, 0.0)),
    "rater": Quantity((0.0, 1.0, 0.0)),
    "share": Quantity((1.0, 0.0, 0.0), (0.0, 1.0, 1.0)),
}


@pytest.mark.parametrize("name", QUANTITIES)
def test_profile_bounds_are_the_ends_of_the_likelihood_region(name: str) -> None:
    rater, item, value = ragged(8, 14, 6, 0.6)
    quantity = QUANTITIES[name]
    fit = fit_crossed(as_ratings(rater, item, value))
    assert isinstance(fit, CrossedFit)
    low, high = fit.profile_bounds(quantity, 0.95)
    best = fit.fit.step.deviance

    def lowest(bound: float) -> float:
        """The lowest full deviance among components that give the quantity this value."""

        def deviance(free: Floats) -> float:
            a, b = np.exp(np.clip(free, -30, 30))
            if name == "item":
                v = np.array([bound, a, b])
            elif name == "rater":
                v = np.array([a, bound, b])
            else:
                v = np.array([bound / (1 - bound) * (a + b), a, b])
            return full_deviance(v, rater, item, value)

        return float(minimize(deviance, np.array([-0.5, 0.2]), method="BFGS").fun)

    assert low is not None
    assert high is not None
    assert low < quantity.value(fit.variances) < high
    assert lowest(low) - best == pytest.approx(3.841459, abs=2e-3)
    assert lowest(high) - best == pytest.approx(3.841459, abs=2e-3)


@pytest.mark.slow
def test_profile_intervals_cover() -> None:
    rng = np.random.default_rng(2)
    design = Crossed(60, 14, 4, 0.8, 0.4, 1.5)
    truth = {"item": 0.8, "rater": 0.4, "residual": 1.5, "error": 1.9, "item_share": 0.8 / 2.7, "mean": 0.0}
    inside = dict.fromkeys(truth, 0)
    runs = 120
    for _ in range(runs):
        result = variance_components(*design.draw(rng), interval="profile")
        for name, true in truth.items():
            e = getattr(result, name)
            inside[name] += e.low <= true <= e.high
    # Binomial band of about three standard errors around 95%.
    assert all(0.89 <= n / runs <= 1.0 for n in inside.values()), inside


@pytest.mark.slow
def test_intervals_cover_at_the_edge() -> None:
    rng = np.random.default_rng(3)
    design = Crossed(50, 12, 3, 0.1, 0.0, 1.5)
    runs, inside, zeros = 100, 0, 0
    for _ in range(runs):
        result = variance_components(*design.draw(rng))
        e = result.rater
        assert e.low is not None
        assert e.high is not None
        inside += e.low <= 0.0 <= e.high
        zeros += e.value == 0.0
        if e.value == 0.0:
            assert "the rater variance is estimated as zero, the edge of its range" in result.notes
    assert inside / runs > 0.93
    assert zeros > 20


@pytest.mark.slow
def test_delta_and_profile_agree_on_much_data() -> None:
    rater, item, value = Crossed(1500, 120, 6).draw(np.random.default_rng(0))
    profile = variance_components(rater, item, value, interval="profile")
    delta = variance_components(rater, item, value, interval="delta")
    assert profile.item_share.interval == "profile likelihood"
    assert delta.item_share.interval == "delta method, log scale"
    for name in ("item", "residual", "item_share"):
        a, b = getattr(profile, name), getattr(delta, name)
        assert [a.low, a.high] == pytest.approx([b.low, b.high], rel=0.01)


@pytest.mark.slow
def test_the_iterative_system_finds_what_the_direct_one_does() -> None:
    rater, item, value = Crossed(900, 150, 5).draw(np.random.default_rng(1))
    groups = [(item, 900), (rater, 150)]
    direct = maximise(CrossedSystem(value, groups), (0.5, 0.5))
    result = maximise(ProbedSystem(value, groups, seed=0), (0.5, 0.5))
    assert result.converged
    errors = np.sqrt(np.diag(np.linalg.inv(direct.step.information))) / direct.step.residual
    assert result.step.ratios[0] == pytest.approx(direct.step.ratios[0], abs=0.3 * errors[0])
    assert result.step.ratios[1] == pytest.approx(direct.step.ratios[1], abs=0.3 * errors[1])
    assert result.step.residual == pytest.approx(direct.step.residual, rel=0.01)
    assert result.step.information == pytest.approx(direct.step.information, rel=0.05, abs=1.0)
    assert result.step.fixed == pytest.approx(direct.step.fixed, abs=1e-3)


@pytest.mark.slow
def test_more_than_three_thousand_on_both_sides() -> None:
    rng = np.random.default_rng(4)
    n = 24_000
    pairs = np.unique(np.column_stack([rng.integers(0, 3200, n), rng.integers(0, 3300, n)]), axis=0)
    rater, item = pairs[:, 0], pairs[:, 1]
    value = rng.normal(0, 1, 3300)[item] + rng.normal(0, 0.6, 3200)[rater] + rng.normal(0, 1, item.size)
    result = variance_components(rater, item, value)
    assert result.method == "crossed random effects, REML with stochastic traces"
    assert result.log_likelihood is None
    for e, true in ((result.item, 1.0), (result.rater, 0.36), (result.residual, 1.0)):
        assert e.low is not None
        assert e.high is not None
        assert e.low - 0.02 < true < e.high + 0.02
        assert mentions(e.interval, "jackknife", "items", "raters")


def test_confounded_designs_give_what_they_can() -> None:
    rng = np.random.default_rng(0)
    item = np.arange(10_000) % 1000
    value = rng.normal(size=1000)[item] + rng.normal(size=10_000)
    result = variance_components(np.arange(10_000), item, value)
    why = "every rater gave one rating, so rater and residual variance cannot be separated"
    assert result.rater.why_missing == why
    assert result.residual.why_missing == why
    assert float(result.item) == pytest.approx(1.0, abs=0.1)
    assert float(result.error) == pytest.approx(1.0, abs=0.1)
    assert float(result.item_share) == pytest.approx(0.5, abs=0.05)
    other = variance_components(item, np.arange(10_000), value)
    assert mentions(other.item.why_missing, "item", "rating", "residual")
    assert float(other.rater) == pytest.approx(float(result.item))


MISSING = [
    ([], [], [], "there are no ratings"),
    ([1, 1, 1], [1, 2, 3], [1, 2, 3], "there is only one rater"),
    ([1, 2, 3], [1, 1, 1], [1, 2, 3], "there is only one item"),
    ([1, 2, 3], [1, 2, 3], [1, 2, 3], "every item has one rating and every rater gave one: nothing can be separated"),
    ([1, 1, 2, 2], [1, 2, 1, 2], [4] * 4, "all ratings are equal"),
    ([1, 2], [1, 1], [1, 2], "there are only 2 ratings"),
    (
        [1, 1, 1, 2, 2, 2],
        [1, 2, 3] * 2,
        [1, 2, 5, 3, 4, 7],
        "the ratings are exact sums of item and rater effects, so there is no residual variance to fit",
    ),
]


@pytest.mark.parametrize(("rater", "item", "value", "why"), MISSING)
def test_missing_says_why(rater: list[int], item: list[int], value: list[float], why: str) -> None:
    result = variance_components(rater, item, value)
    assert result.item.why_missing == why
    assert result.item_share.value is None
    dumps(result)


def test_repeats_are_refused() -> None:
    with pytest.raises(InputError, match=r"'p'.*'x'"):
        variance_components(["p", "q", "p"], ["x", "x", "x"], [1, 2, 3])
