"""Adjusted means and their pairs against R's emmeans, on unbalanced data with an empty cell and a covariate."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from heartfelt.errors import InputError
from heartfelt.stats.inference import anova, marginal_means, tukey

SOURCE = (
    "R 4.2.2, emmeans 1.8.4.1: summary(pairs(emmeans(lm(y ~ s + t), 's'), adjust = 'tukey'), infer = TRUE), and the"
    " same with + c, with s * t and for 't'"
)

# contrast: estimate, lower, upper, p; None where emmeans prints nonEst.
ADDITIVE_S = {
    ("A", "B"): (-2.204121111749, -4.33747906198, -0.0707631615145, 4.05963912232e-02),
    ("A", "C"): (-4.069921483285, -5.89133362329, -2.2485093432795, 3.29350836914e-06),
    ("A", "D"): (-4.854658344209, -7.06076563116, -2.6485510572563, 4.38710132555e-06),
    ("B", "C"): (-1.865800371536, -3.85002378675, 0.1184230436822, 7.17983298134e-02),
    ("B", "D"): (-2.650537232461, -5.03826747388, -0.2628069910426, 2.45888187577e-02),
    ("C", "D"): (-0.784736860924, -2.84532993423, 1.2758562123848, 7.37063889269e-01),
}
ADDITIVE_T = {
    ("x", "y"): (1.08239801847, -0.419051930863, 2.58384796781, 0.1973881388497),
    ("x", "z"): (1.51974814841, -0.118790240839, 3.15828653767, 0.0737277547191),
    ("y", "z"): (0.43735012994, -1.384272632106, 2.25897289199, 0.8286578054121),
}
WITH_COVARIATE = {
    ("A", "B"): (-2.206422615977, -4.36950184793, -0.0433433840184, 4.41274751551e-02),
    ("A", "C"): (-4.064465365160, -5.91212064400, -2.2168100863247, 4.73802892564e-06),
    ("C", "D"): (-0.820004961741, -2.94567764633, 1.3056677228438, 7.28682289023e-01),
}
CROSSED_S: dict[tuple[str, str], tuple[float, ...] | None] = {
    ("A", "B"): None,
    ("A", "C"): None,
    ("A", "D"): None,
    ("B", "C"): (-1.75, -3.86476857447, 0.364768574469, 0.1339806825076),
    ("B", "D"): (-2.79166666667, -5.47654182336, -0.106791509968, 0.0390679874623),
    ("C", "D"): (-1.04166666667, -3.47352954211, 1.390196208779, 0.6565326994625),
}
CROSSED_T: dict[tuple[str, str], tuple[float, ...] | None] = {
    ("x", "y"): (0.8875, -0.924216268056, 2.69921626806, 0.460394928103),
    ("x", "z"): None,
    ("y", "z"): None,
}


def _data() -> tuple[np.ndarray, dict[str, np.ndarray], np.ndarray]:
    """44 rows in a 4 x 3 layout with cells of 0 to 7."""
    rows = []
    for i in range(46):
        s, t = "ABCD"[(i * i + i // 3) % 4], "xyz"[(i * 5 + i // 7) % 3]
        if (s, t) != ("A", "z"):
            y = (i * 37) % 23 / 4 + 1.5 * "ABCD".index(s) - 0.7 * "xyz".index(t)
            rows.append((s, t, (i * 11) % 17 / 5, y))
    factors = {"s": np.array([row[0] for row in rows]), "t": np.array([row[1] for row in rows])}
    return np.array([row[3] for row in rows]), factors, np.array([row[2] for row in rows])


@pytest.mark.parametrize(
    ("of", "printed", "more"),
    [
        ("s", ADDITIVE_S, {}),
        ("t", ADDITIVE_T, {}),
        ("s", WITH_COVARIATE, {"covariates": True}),
        ("s", CROSSED_S, {"interactions": "all"}),
        ("t", CROSSED_T, {"interactions": "all"}),
    ],
)
def test_pairs_equal_emmeans(of: str, printed: dict[Any, Any], more: dict[str, Any]) -> None:
    y, factors, c = _data()
    if more.pop("covariates", None):
        more = {"covariates": {"c": c}}
    result = marginal_means(y, factors, of, **more).pairs
    for names, numbers in printed.items():
        pair = result[names]
        if numbers is None:
            assert pair.estimate.is_missing
            assert "empty cells" in str(pair.estimate.why_missing)
            assert pair.p is None
        else:
            assert (pair.difference, pair.estimate.low, pair.estimate.high, pair.p) == pytest.approx(numbers, rel=1e-8)
            assert pair.significant == (numbers[3] < 0.05)


def test_means_equal_emmeans() -> None:
    y, factors, _ = _data()
    result = marginal_means(y, factors, "s")
    assert {name: round(float(mean), 2) for name, mean in result.means.items()} == {
        "A": 1.37,
        "B": 3.57,
        "C": 5.44,
        "D": 6.22,
    }
    assert (result.means["A"].low, result.means["A"].high) == pytest.approx((0.328, 2.41), abs=5e-3)
    assert result.residual_df == 38


def test_the_error_term_is_the_models() -> None:
    y, factors, c = _data()
    table = anova(y, factors, covariates={"c": c})
    result = marginal_means(y, factors, "s", covariates={"c": c})
    assert result.residual_df == table.residual_df
    assert result.residual_mean_square == pytest.approx(table.residual_sum_sq / table.residual_df)


def test_one_factor_is_plain_tukey() -> None:
    y, factors, _ = _data()
    mine, plain = marginal_means(y, {"s": factors["s"]}, "s").pairs, tukey(y, factors["s"])
    for here, there in zip(mine.pairs, plain.pairs, strict=True):
        assert (here.difference, here.estimate.low, here.p) == pytest.approx(
            (there.difference, there.estimate.low, there.p)
        )


def test_of_two_levels_the_pair_is_the_effects_f_test() -> None:
    y, factors, c = _data()
    half = np.where(factors["s"] < "C", "low", "high")
    model = {"half": half, "t": factors["t"]}
    pair = marginal_means(y, model, "half", covariates={"c": c}).pairs.pairs[0]
    assert pair.p == pytest.approx(anova(y, model, covariates={"c": c})["half"].p, rel=1e-8)


def test_a_covariate_carries_no_systems_difference() -> None:
    """Systems differ only through a covariate: adjusted differences are zero, plain ones are not."""
    rng = np.random.default_rng(4)
    group = np.repeat(["a", "b", "c"], 40)
    level = np.repeat([0.0, 1.0, 2.0], 40) + rng.normal(size=120)
    y = 2 * level + 0.1 * rng.normal(size=120)
    assert all(pair.significant for pair in tukey(y, group).pairs)
    adjusted = marginal_means(y, {"g": group}, "g", covariates={"level": level}).pairs
    assert all(abs(pair.difference or 9) < 0.1 for pair in adjusted.pairs)


@pytest.mark.parametrize(
    ("y", "s", "reason"),
    [
        ([1.0, 2.0, 3.0], ["a", "a", "a"], "1 groups"),
        ([1.0, 1.0, 1.0], ["a", "b", "b"], "does not vary"),
        ([1.0, 2.0, 2.0], ["a", "b", "b"], "fits perfectly"),
        ([1.0, 2.0, 3.0], ["a", "b", "c"], "as many parameters as rows"),
    ],
)
def test_no_test_says_why(y: list[float], s: list[str], reason: str) -> None:
    result = marginal_means(y, {"s": s}, "s").pairs
    assert reason in str(result.why_missing)
    assert all(pair.p is None for pair in result.pairs)


def test_the_factor_must_be_in_the_model() -> None:
    with pytest.raises(InputError, match="not a factor"):
        marginal_means([1.0, 2.0], {"s": ["a", "b"]}, "t")
