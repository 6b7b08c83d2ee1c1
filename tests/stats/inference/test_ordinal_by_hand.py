"""Cumulative link models in small cases: whole matrices, the start of the search by moments, and its guards at their limits."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from scipy import stats

from heartfelt.stats.inference import cumulative_link_model
from heartfelt.stats.inference.ordinal import effects as _ordinal_effects
from heartfelt.stats.inference.ordinal.effects import NoMaximumError, RandomEffects
from heartfelt.stats.inference.ordinal.fit import LaplaceStep, OrdinalLikelihood
from heartfelt.stats.inference.ordinal.links import LATENT_VARIANCE, LINKS, probit
from tests.cases import check_all
from tests.stats.reliability.ratings import crossed

RATER = np.array([0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 2, 1, 3, 0, 1])
ITEM = np.array([0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 5, 5, 6, 6])
GROUPS = {"rater": (RATER, 4), "item": (ITEM, 7)}
THREE = {"item": (ITEM, 7), "taste": (RATER * 2 + ITEM % 2, 8), "system": (ITEM % 2, 2)}
CATEGORY = np.array([0, 1, 2, 1, 0, 2, 2, 1, 1, 0, 2, 1, 0, 1, 2, 2, 1, 0])


def test_the_error_behind_the_categories_has_the_variance_of_its_link() -> None:
    assert LATENT_VARIANCE["logit"] == pytest.approx(stats.logistic.var())
    assert LATENT_VARIANCE["probit"] == stats.norm.var()


def test_far_categories_keep_their_probability() -> None:
    a, b = np.array([-30.0, 31.0, 36.0]), np.array([-31.0, 30.0, 35.0])
    expected = [math.log(stats.norm.sf(30) - stats.norm.sf(31))] * 2 + [stats.norm.logsf(35)]
    assert probit(a, b).log_p == pytest.approx(expected, rel=1e-9)


@check_all("dense", [0.0, 2.0])
@check_all("together", [1, 64])
@check_all("names", [("item",), ("rater", "item"), ("item", "taste", "system")])
def test_the_factorisation_is_that_of_the_whole_matrix(
    names: tuple[str, ...], together: int, dense: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_ordinal_effects, "_SMALL_PART", together)
    monkeypatch.setattr(_ordinal_effects, "_DENSE_SHARE", dense)
    groups = {name: (GROUPS | THREE)[name] for name in names}
    effects = RandomEffects(groups, 18)
    assert len(effects.parts) == (2 if len(names) == 3 and together == 1 else 1)
    weight = 0.2 + np.arange(18) % 5 / 7
    sd = effects.standard_deviations(np.array([0.9, 0.6, 1.3])[: len(names)])
    levels = np.hstack([np.eye(size)[code] for code, size in zip(effects.codes, effects.n, strict=True) if size])
    scale = np.repeat(sd, effects.n)
    scaled = levels * scale
    whole = np.eye(scaled.shape[1]) + scaled.T @ (weight[:, None] * scaled)
    factor = effects.factor(weight, sd)
    assert factor.log_determinant == pytest.approx(np.linalg.slogdet(whole)[1])
    right = np.sin(np.arange(2.0 * len(whole))).reshape(-1, 2)
    assert effects.solve(factor, right) == pytest.approx(np.linalg.solve(whole, right))
    inverse = np.linalg.inv(whole)
    variances, traces = effects.variances(factor)
    assert variances == pytest.approx(np.diag(scaled @ inverse @ scaled.T))
    ends = np.cumsum([0, *effects.n])
    assert traces == pytest.approx([np.diag(inverse)[a:b].sum() for a, b in pairwise(ends)])
    u = np.cos(np.arange(1.0, len(whole) + 1))
    assert effects.predictor(u, sd) == pytest.approx(scaled @ u)
    assert effects.gather(weight, sd) == pytest.approx(scaled.T @ weight)
    assert effects.by_group(sd).tolist() == [0.9, 0.6, 1.3][: len(names)]


def test_variances_to_begin_with_are_by_moments() -> None:
    value = CATEGORY - CATEGORY.mean()
    total = value.var()

    def within(codes: Any) -> float:
        groups = [value[codes == code] for code in np.unique(codes)]
        return float(sum(((part - part.mean()) ** 2).sum() for part in groups)) / (18 - len(groups))

    effects = RandomEffects(GROUPS, 18)
    between = [max(total - within(GROUPS[name][0]), 0.0) for name in effects.names]
    assert max(between) > 0
    residual = max(total - sum(between), 0.05 * total)
    ratios, left = effects.variance_ratios(value)
    assert left == pytest.approx(residual)
    assert ratios == pytest.approx(np.array(between) / residual)
    # Levels of a nested grouping also differ as those of the grouping they lie in.
    half = np.array([0, 0, 0, 0, 1, 1, 1])[ITEM]
    value = value + 3.0 * half - 3.0 * half.mean()
    total = value.var()
    nested = RandomEffects({"item": (ITEM, 7), "half": (half, 2)}, 18)
    outer = total - within(half)
    inner = max(total - within(ITEM) - outer, 0.0)
    residual = max(total - outer - inner, 0.05 * total)
    found = dict(zip(nested.names, nested.variance_ratios(value)[0].tolist(), strict=True))
    assert found == pytest.approx({"item": inner / residual, "half": outer / residual})


@pytest.mark.parametrize("link", ["logit", "probit"])
def test_the_search_begins_at_a_linear_model_of_the_ranks(link: Any) -> None:
    loud = np.cos(np.arange(18.0))[:, None] + 0.4
    likelihood = OrdinalLikelihood(CATEGORY, 3, loud, {"rater": GROUPS["rater"]}, link)
    line = stats.linregress(loud[:, 0], CATEGORY)
    left = CATEGORY - line.intercept - line.slope * loud[:, 0]
    ratios, residual = likelihood.effects.variance_ratios(left)
    latent = stats.logistic if link == "logit" else stats.norm
    beta = line.slope * latent.std() / math.sqrt(residual)
    ratio = max(float(ratios[0]), 0.005)
    spread = math.sqrt(1 + ratio + (beta * loud).var() / latent.var())
    shares = [np.mean(CATEGORY <= 0), np.mean(CATEGORY <= 1)]
    cuts = latent.ppf(shares) * spread + beta * loud.mean()
    assert likelihood.start() == pytest.approx([*cuts, beta, math.log(math.sqrt(ratio) * latent.std())])


def _step() -> tuple[OrdinalLikelihood, LaplaceStep]:
    likelihood = OrdinalLikelihood(CATEGORY, 3, np.cos(np.arange(18.0))[:, None], GROUPS, "logit")
    step = likelihood.at(np.array([-0.7, 0.8, 0.2, -0.5, -0.6]))
    assert step is not None
    return likelihood, step


def test_a_grouping_vanishes_where_the_likelihood_still_rises_towards_zero() -> None:
    likelihood, step = _step()
    least = math.log(1e-3 * stats.logistic.std())

    def at(sds: list[float], slopes: list[float]) -> LaplaceStep:
        parameters, gradient = step.parameters.copy(), step.gradient.copy()
        parameters[3:], gradient[3:] = sds, slopes
        return replace(step, parameters=parameters, gradient=gradient)

    assert likelihood.vanished(at([-0.5, least - 0.01], [-1.0, -1e-9])) == 1
    assert likelihood.vanished(at([least - 0.01, least - 0.01], [-1.0, -1.0])) == 0
    assert likelihood.vanished(at([-0.5, least + 0.01], [-1.0, -1.0])) is None
    assert likelihood.vanished(at([-0.5, least - 0.01], [-1.0, 0.0])) is None


def test_parameters_on_their_way_to_infinity_are_refused() -> None:
    likelihood, step = _step()
    largest = 15.0 * stats.logistic.std()

    def at(place: int, value: float) -> LaplaceStep:
        parameters = step.parameters.copy()
        parameters[place] = value
        return replace(step, parameters=parameters)

    for place, value in ((2, largest - 0.01), (2, 0.01 - largest), (3, math.log(largest) - 0.01), (0, -99.0)):
        likelihood._require_finite(at(place, value))
    for value in (largest + 0.01, -largest - 0.01):
        with pytest.raises(NoMaximumError) as refused:
            likelihood._require_finite(at(2, value))
        assert refused.value.column == 0
    with pytest.raises(NoMaximumError, match="a random effect grows without bound"):
        likelihood._require_finite(at(4, math.log(largest) + 0.01))
    for thresholds, there in (
        ((0.8, 0.7), False),
        ((0.7, 0.7), False),
        ((-999.0, 999.0), True),
        ((-1001.0, 1.0), False),
    ):
        parameters = np.array([*thresholds, 0.0, -0.5, -0.6])
        assert (likelihood.at(parameters) is not None) == there


def test_a_small_standard_deviation_gives_way_to_none_that_is_as_good(monkeypatch: pytest.MonkeyPatch) -> None:
    likelihood, step = _step()
    scale = stats.logistic.std()
    parameters = step.parameters.copy()
    parameters[4] = math.log(0.1 * scale) - 0.01
    best = replace(step, parameters=parameters)
    asked = []

    def offer(rise: float, slope: float) -> LaplaceStep:
        gradient = step.gradient.copy()
        gradient[4] = slope
        candidate = replace(step, log_likelihood=best.log_likelihood + rise, gradient=gradient)

        def at(where: Any, *_: Any) -> LaplaceStep:
            asked.append(where[4])
            return candidate

        monkeypatch.setattr(likelihood, "at", at)
        return candidate

    for rise, slope, taken in ((0.0, -1.0, True), (0.1, -1.0, True), (-1e-9, -1.0, False), (0.1, 0.0, False)):
        candidate = offer(rise, slope)
        assert likelihood._without_tiny(best) is (candidate if taken else best)
    assert asked == pytest.approx([math.log(0.5e-3 * scale)] * 4)
    parameters = parameters.copy()
    parameters[4] = math.log(0.1 * scale) + 0.01
    large = replace(best, parameters=parameters)
    offer(0.1, -1.0)
    assert likelihood._without_tiny(large) is large


def test_a_last_step_is_taken_only_upwards(monkeypatch: pytest.MonkeyPatch) -> None:
    likelihood, best = _step()
    covariance = np.diag([0.1, 0.2, 0.3, 0.4, 0.5])
    for rise in (None, -1e-6, 0.0, 0.2):
        moved = None
        if rise is not None:
            there = best.parameters + 0.1
            moved = replace(best, parameters=there, log_likelihood=best.log_likelihood + rise)
        asked: list[Any] = []
        monkeypatch.setattr(likelihood, "at", lambda where, *_, asked=asked, moved=moved: asked.append(where) or moved)
        fit = likelihood._polished(best, covariance, ())
        assert asked[0] == pytest.approx(best.parameters + np.diag(covariance) * best.gradient)
        assert fit.parameters is (best if moved is None or rise == -1e-6 else moved).parameters


def test_steps_shorten_until_the_likelihood_rises_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    likelihood, best = _step()
    direction = np.array([4.0, 0.0, 0.0, 0.0, -1.0])
    lengths = []

    def at(where: Any, *_: Any) -> LaplaceStep | None:
        lengths.append(float(where[0] - best.parameters[0]) / 4.0)
        if len(lengths) == 1:
            return None
        rise = 1e-4 * lengths[-1] * 3.0
        return replace(best, log_likelihood=best.log_likelihood + (0.9 if len(lengths) == 2 else 1.1) * rise)

    monkeypatch.setattr(likelihood, "at", at)
    monkeypatch.setattr(likelihood, "_require_finite", lambda _: None)
    assert likelihood._line_search(best, direction, 3.0) is not None
    # The largest change of a parameter is 2 at first.
    assert lengths == pytest.approx([0.5, 0.25, 0.125])
    monkeypatch.setattr(likelihood, "at", lambda *_: None)
    assert likelihood._line_search(best, direction, 3.0) is None


def test_the_first_inverse_is_exact_for_fixed_parameters() -> None:
    likelihood, step = _step()
    inverse = likelihood._first_inverse(step)
    information, moved = likelihood.sensitivity(step)
    assert inverse[:3, :3] == pytest.approx(np.linalg.inv(information))
    _, traces = likelihood.effects.variances(step.factor)
    sizes = np.array(likelihood.effects.sizes)
    explained = np.maximum(sizes - traces[[0, 2]], 0.02 * sizes)
    assert np.diag(inverse)[3:] == pytest.approx(sizes / (2 * explained**2))
    assert not inverse[3:, :3].any()
    # The mode's change by each fixed parameter, by differences.
    for place in range(3):
        shift = np.eye(5)[place] * 1e-5
        ends = [likelihood.at(step.parameters + sign * shift) for sign in (1, -1)]
        assert ends[0] is not None
        assert ends[1] is not None
        assert moved[:, place] == pytest.approx((ends[0].mode - ends[1].mode) / 2e-5, abs=1e-6)


@pytest.mark.parametrize("link", list(LINKS))
def test_derivatives_of_categories_are_those_of_their_logarithm(link: Any) -> None:
    upper = np.array([-1.5, 0.2, 2.5, 6.0, np.inf, -5.0, 1.0])
    lower = np.array([-2.5, -0.7, 1.0, 5.0, 0.4, -7.0, -np.inf])
    here, h = LINKS[link](upper, lower), 1e-5
    up, down = LINKS[link](upper + h, lower), LINKS[link](upper - h, lower)
    assert here.by_a == pytest.approx((up.log_p - down.log_p) / (2 * h), abs=1e-6)
    assert here.by_aa == pytest.approx((up.by_a - down.by_a) / (2 * h), abs=1e-6)
    assert here.weight_by_a == pytest.approx((up.weight - down.weight) / (2 * h), abs=1e-6)
    more, less = LINKS[link](upper, lower + h), LINKS[link](upper, lower - h)
    assert here.by_b == pytest.approx((more.log_p - less.log_p) / (2 * h), abs=1e-6)
    assert here.by_bb == pytest.approx((more.by_b - less.by_b) / (2 * h), abs=1e-6)
    assert here.by_ab == pytest.approx((more.by_a - less.by_a) / (2 * h), abs=1e-6)
    assert here.weight_by_b == pytest.approx((more.weight - less.weight) / (2 * h), abs=1e-6)
    distribution = stats.logistic if link == "logit" else stats.norm
    assert here.log_p == pytest.approx(np.log(distribution.cdf(upper) - distribution.cdf(lower)), abs=1e-6)


def test_likelihood_ratios_compare_with_the_model_without_the_term() -> None:
    d = crossed(1)
    category = np.clip(np.rint(d["y"]), -1, 1)
    whole = cumulative_link_model(category, {"system": d["system"]}, {"rater": d["rater"]}, test="likelihood-ratio")
    without = cumulative_link_model(category, {}, {"rater": d["rater"]})
    assert whole.log_likelihood is not None
    assert without.log_likelihood is not None
    effect = whole.effect("system")
    expected = 2 * (whole.log_likelihood - without.log_likelihood)
    assert effect.chi_square == pytest.approx(expected, abs=1e-6)
    assert effect.p == pytest.approx(stats.chi2.sf(expected, 2), rel=1e-5)


@pytest.mark.parametrize(
    ("values", "why"), [(50, None), (51, "51 different values; at most 50 are taken for ordered categories")]
)
def test_up_to_fifty_values_are_categories(values: int, why: str | None) -> None:
    assert cumulative_link_model(np.arange(120) % values, {}).why_missing == why
