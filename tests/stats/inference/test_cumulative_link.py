"""Cumulative link models against R's ordinal, a dense likelihood written out here, hand calculations and simulation."""

from __future__ import annotations

import csv
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.special import expit, ndtr

from heartfelt.errors import InputError
from heartfelt.serialization import dumps
from heartfelt.stats.inference import CumulativeLinkResult, cumulative_link_model
from heartfelt.stats.inference.ordinal.fit import OrdinalLikelihood
from heartfelt.stats.inference.ordinal.links import LINKS, Link
from tests.facts import mentions

SOURCE = (
    "R 4.5, ordinal 2023.12: clm(rating ~ temp + contact), clmm(rating ~ temp + contact + (1|judge) + ..., "
    "control = clmm.control(grtol = 1e-8)) on wine; clmm(y ~ model + emotion + (1|user) + (1|audio_file) + (1|user:model)) "
    "on AImoclips, started near its maximum"
)

# Thresholds, temp, contact; their standard errors; variances; log likelihood. The bottle's variance is 0.
WINE: dict[tuple[Link, str], tuple[list[float], list[float], dict[str, float], float]] = {
    ("logit", ""): (
        [-1.344383, 1.250809, 3.466887, 5.006404, 2.503102, 1.527798],
        [0.517102, 0.437880, 0.597760, 0.730906, 0.528680, 0.476623],
        {},
        -86.491923,
    ),
    ("logit", "judge"): (
        [-1.623667, 1.513365, 4.228527, 6.088773, 3.062997, 1.834885],
        [0.682441, 0.603753, 0.808966, 0.972454, 0.595376, 0.512529],
        {"judge": 1.279461},
        -81.565413,
    ),
    ("logit", "judge bottle"): (
        [-1.623665, 1.513360, 4.228527, 6.088776, 3.063003, 1.834903],
        [0.682437, 0.603737, 0.808958, 0.972459, 0.595392, 0.512559],
        {"judge": 1.279488, "bottle": 0.0},
        -81.565413,
    ),
    ("logit", "judge judge:temp"): (
        [-1.626638, 1.514945, 4.233354, 6.098815, 3.067653, 1.836467],
        [0.690008, 0.607106, 0.823574, 1.021028, 0.615358, 0.515022],
        {"judge": 1.276094, "judge:temp": 0.016270},
        -81.564871,
    ),
    ("probit", ""): (
        [-0.773263, 0.736021, 2.044680, 2.941345, 1.499375, 0.867744],
        [0.282862, 0.249939, 0.321821, 0.387259, 0.291790, 0.266907],
        {},
        -85.761148,
    ),
    ("probit", "judge"): (
        [-0.926480, 0.889438, 2.467593, 3.536662, 1.800014, 1.048205],
        [0.388151, 0.348477, 0.446872, 0.525616, 0.326940, 0.285545],
        {"judge": 0.439772},
        -80.930605,
    ),
    ("probit", "judge judge:temp"): (
        [-0.933787, 0.896994, 2.485805, 3.570305, 1.815175, 1.056838],
        [0.395562, 0.355602, 0.462319, 0.562076, 0.347903, 0.290135],
        {"judge": 0.434617, "judge:temp": 0.029851},
        -80.913753,
    ),
}


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def wine(shared_data: Path) -> dict[str, Any]:
    path = shared_data / "paired" / "wine.csv"
    if not path.is_file():
        pytest.skip("the wine data are not here")
    rows = _rows(path)
    table: dict[str, Any] = {name: [row[name] for row in rows] for name in rows[0]}
    table["rating"] = [int(rating) for rating in table["rating"]]
    table["judge:temp"] = [f"{row['judge']} {row['temp']}" for row in rows]
    return table


def _wine(wine: dict[str, Any], groupings: str, **options: Any) -> CumulativeLinkResult:
    fixed = {name: wine[name] for name in ("temp", "contact")}
    return cumulative_link_model(wine["rating"], fixed, {name: wine[name] for name in groupings.split()}, **options)


@pytest.mark.data
@pytest.mark.parametrize(("link", "groupings"), list(WINE))
def test_wine_is_what_ordinal_gives(wine: dict[str, Any], link: Link, groupings: str) -> None:
    values, errors, variances, log_likelihood = WINE[link, groupings]
    result = _wine(wine, groupings, link=link)
    rows = (*result.thresholds, *result.coefficients)
    assert [row.name for row in rows] == ["1|2", "2|3", "3|4", "4|5", "temp[warm]", "contact[yes]"]
    assert [row.estimate.value for row in rows] == pytest.approx(values, abs=2e-5)
    assert [row.standard_error for row in rows] == pytest.approx(errors, rel=1e-4)
    assert {name: float(value) for name, value in result.variances.items()} == pytest.approx(
        variances, rel=1e-3, abs=1e-6
    )
    assert result.log_likelihood == pytest.approx(log_likelihood, abs=1e-5)


@pytest.mark.data
def test_wine_terms(wine: dict[str, Any]) -> None:
    """anova(clmm(...), clmm(... without the term)); Wald statistics are squares of summary's z."""
    ratio, wald = _wine(wine, "judge", test="likelihood-ratio"), _wine(wine, "judge")
    assert ratio.effect("temp").chi_square == pytest.approx(34.46371, abs=2e-4)
    assert ratio.effect("contact").chi_square == pytest.approx(14.34681, abs=2e-4)
    assert ratio.effect("contact").p == pytest.approx(0.00015204, rel=1e-3)
    assert wald.effect("temp").chi_square == pytest.approx(5.1445**2, rel=1e-4)
    crossed = _wine(wine, "judge", interactions="all")
    assert crossed.coefficient("temp[warm]:contact[yes]").estimate.value == pytest.approx(0.231531, abs=2e-5)
    assert crossed.coefficient("temp[warm]:contact[yes]").standard_error == pytest.approx(0.953952, rel=1e-4)
    # Terms are tested under sum-to-zero coding, whichever coding is shown.
    summed = _wine(wine, "judge", interactions="all", coding="sum")
    for name in ("temp", "contact", "temp:contact"):
        assert crossed.effect(name).chi_square == pytest.approx(summed.effect(name).chi_square, rel=1e-3)
    assert summed.effect("temp").p == pytest.approx(summed.coefficients[0].p, rel=1e-6)


# System coefficients and errors against AudioLDM2, thresholds 1|2 and 8|9, variances, log likelihood.
AIMOCLIPS: dict[str, dict[str, Any]] = {
    "valence": {
        "coefficients": [-0.247308, -0.358754, 0.392780, 2.010894, 1.940372],
        "errors": [0.146510, 0.145702, 0.145757, 0.148783, 0.148146],
        "thresholds": [-2.018762, 5.976665],
        "variances": {"stimulus": 0.423769, "rater": 0.721504, "taste": 0.536010},
        "log_likelihood": -11584.468054,
    },
    "arousal": {
        "coefficients": [1.268830, 0.335962, 0.991124, 1.154226, 1.427149],
        "errors": [0.130703, 0.129101, 0.129382, 0.130510, 0.130435],
        "thresholds": [-4.507987, 3.260419],
        "variances": {"stimulus": 0.526043, "rater": 0.967508, "taste": 0.209560},
        "log_likelihood": -11646.402906,
    },
}


@pytest.mark.data
@pytest.mark.slow
@pytest.mark.parametrize("question", list(AIMOCLIPS))
def test_aimoclips_is_what_ordinal_gives(shared_data: Path, question: str) -> None:
    folder = shared_data / "aimoclips"
    clips = {row["audio_file"]: row for row in _rows(folder / "clips_metadata.csv")}
    ratings = _rows(folder / "ratings_metadata.csv")
    system = [clips[row["audio_file"]]["model"] for row in ratings]
    rater, stimulus = ([row[name] for row in ratings] for name in ("user", "audio_file"))
    fixed = {"system": system, "intent": [clips[name]["emotion"] for name in stimulus]}
    taste = [f"{person} {model}" for person, model in zip(rater, system, strict=True)]
    random = {"rater": rater, "stimulus": stimulus, "taste": taste}
    result = cumulative_link_model([int(row[question]) for row in ratings], fixed, random)
    expected = AIMOCLIPS[question]
    systems = [row for row in result.coefficients if row.name.startswith("system")]
    assert [row.estimate.value for row in systems] == pytest.approx(expected["coefficients"], abs=5e-5)
    assert [row.standard_error for row in systems] == pytest.approx(expected["errors"], rel=1e-4)
    ends = [float(row.estimate) for row in (result.thresholds[0], result.thresholds[-1])]
    assert ends == pytest.approx(expected["thresholds"], abs=5e-5)
    variances = {name: float(value) for name, value in result.variances.items()}
    assert variances == pytest.approx(expected["variances"], rel=1e-4)
    # Never below R's maximum, which its optimiser stops short of.
    assert 0 <= float(result.log_likelihood or 0) - expected["log_likelihood"] < 1e-3


def _study(seed: int, rows: int = 160) -> dict[str, Any]:
    """Seven raters, twelve stimuli of three systems, rater x system, five categories."""
    rng = np.random.default_rng(seed)
    rater, item = rng.integers(0, 7, rows), rng.integers(0, 12, rows)
    system, loud = item % 3, rng.normal(size=rows)
    taste = rater * 3 + system
    latent = (
        0.8 * (system == 1) + 0.4 * loud + 0.7 * rng.normal(size=7)[rater] + 0.5 * rng.normal(size=12)[item]
        + 0.6 * rng.normal(size=21)[taste] + rng.logistic(size=rows)
    )  # fmt: skip
    return {
        "rating": np.digitize(latent, [-2.0, -0.5, 0.5, 2.0]),
        "fixed": {"system": np.array(["a", "b", "c"])[system], "loud": loud},
        "random": {"rater": rater, "item": item, "taste": taste},
    }


def _dense_likelihood(category: np.ndarray[Any, Any], parameters: list[float], parts: list[Any], link: Link) -> float:
    """The Laplace likelihood with whole matrices and derivatives by differences; parts are X and a matrix per grouping."""
    columns, *groups = parts
    cuts = int(category.max())
    bounds = np.array([-np.inf, *parameters[:cuts], np.inf])
    beta, sds = parameters[cuts : cuts + columns.shape[1]], np.exp(parameters[cuts + columns.shape[1] :])
    scaled = np.hstack([sd * group for sd, group in zip(sds, groups, strict=True)])
    distribution = expit if link == "logit" else ndtr

    def log_p(predictor: Any) -> Any:
        upper, lower = bounds[category + 1] - predictor, bounds[category] - predictor
        return np.log(distribution(upper) - distribution(lower))

    u, h = np.zeros(scaled.shape[1]), 1e-4
    for _ in range(30):
        predictor = columns @ beta + scaled @ u
        low, middle, high = log_p(predictor - h), log_p(predictor), log_p(predictor + h)
        weight = -(high - 2 * middle + low) / h**2
        hessian = np.eye(u.size) + scaled.T @ (weight[:, None] * scaled)
        u = u + np.linalg.solve(hessian, scaled.T @ ((high - low) / (2 * h)) - u)
    value = log_p(columns @ beta + scaled @ u).sum() - 0.5 * u @ u
    return float(value - 0.5 * np.linalg.slogdet(hessian)[1])


@pytest.mark.parametrize("link", list(LINKS))
@pytest.mark.parametrize("groupings", [("item",), ("rater", "item"), ("rater", "item", "taste")])
def test_the_likelihood_and_its_gradient_are_those_of_whole_matrices(link: Link, groupings: tuple[str, ...]) -> None:
    study = _study(3)
    columns = np.column_stack([study["fixed"]["system"] == "b", study["fixed"]["loud"]]).astype(float)
    codes = {name: (study["random"][name], int(study["random"][name].max()) + 1) for name in groupings}
    likelihood = OrdinalLikelihood(study["rating"], 5, columns, codes, link)
    sds = {"rater": -0.3, "item": -0.8, "taste": -0.5}
    names = likelihood.effects.names
    parameters = np.array([-1.2, -0.4, 0.3, 1.4, 0.5, 0.3, *(sds[name] for name in names)])
    step = likelihood.at(parameters)
    assert step is not None
    matrices = [np.eye(codes[name][1])[codes[name][0]] for name in names]
    dense = _dense_likelihood(study["rating"], parameters.tolist(), [columns, *matrices], link)
    assert step.log_likelihood == pytest.approx(dense, abs=1e-5)
    for index in range(parameters.size):
        shift = np.zeros(parameters.size)
        shift[index] = 1e-5
        ends = [likelihood.at(parameters + sign * shift) for sign in (1, -1)]
        assert ends[0] is not None
        assert ends[1] is not None
        slope = (ends[0].log_likelihood - ends[1].log_likelihood) / 2e-5
        assert step.gradient[index] == pytest.approx(slope, abs=1e-6)


def test_standard_errors_are_those_of_the_observed_information() -> None:
    """Second differences of the likelihood itself at its maximum."""
    study = _study(5)
    taste = study["random"]["taste"]
    result = cumulative_link_model(study["rating"], study["fixed"], {"taste": taste})
    loud = study["fixed"]["loud"]
    columns = np.column_stack([loud - loud.mean(), *(study["fixed"]["system"] == name for name in "bc")])
    likelihood = OrdinalLikelihood(study["rating"], 5, columns.astype(float), {"taste": (taste, 21)}, "logit")
    rows = (*result.thresholds, *result.coefficients)
    sd = 0.5 * math.log(float(result.variances["taste"]))
    best = np.array([*(float(row.estimate) for row in rows), sd])
    size, h = best.size, 1e-3

    def at(first: int, second: int, signs: tuple[int, int]) -> float:
        shifted = best.copy()
        shifted[first] += signs[0] * h
        shifted[second] += signs[1] * h
        step = likelihood.at(shifted)
        assert step is not None
        return step.log_likelihood

    information = np.empty((size, size))
    for i in range(size):
        for j in range(i + 1):
            value = at(i, j, (1, 1)) - at(i, j, (1, -1)) - at(i, j, (-1, 1)) + at(i, j, (-1, -1))
            information[i, j] = information[j, i] = -value / (4 * h * h)
    errors = np.sqrt(np.diag(np.linalg.inv(information)))[:-1]
    assert [row.standard_error for row in rows] == pytest.approx(errors.tolist(), rel=1e-3)


def test_two_categories_by_hand() -> None:
    """Two categories and one factor: the log odds ratio of a 2 x 2 table, its error from the counts."""
    low_a, high_a, low_b, high_b = 14, 6, 5, 15
    outcome = [0] * low_a + [1] * high_a + [0] * low_b + [1] * high_b
    result = cumulative_link_model(outcome, {"group": ["a"] * 20 + ["b"] * 20})
    slope = result.coefficient("group[b]")
    assert slope.estimate.value == pytest.approx(math.log(high_b * low_a / (low_b * high_a)), abs=1e-6)
    assert slope.standard_error == pytest.approx(math.sqrt(1 / 14 + 1 / 6 + 1 / 5 + 1 / 15), rel=1e-6)
    assert result.coefficient("0|1").estimate.value == pytest.approx(math.log(14 / 6), abs=1e-6)
    assert (result.parameters, result.variances) == (2, {})


def _key(result: CumulativeLinkResult) -> list[float]:
    return [
        *(float(row.estimate) for row in (*result.thresholds, *result.coefficients)),
        *(float(value) for value in result.variances.values()),
        float(result.log_likelihood or 0),
        *(float(effect.p_f or 0) for effect in result.effects),
    ]


def test_only_the_order_of_the_values_counts() -> None:
    study = _study(7)
    plain = cumulative_link_model(study["rating"], study["fixed"], study["random"])
    again = cumulative_link_model(np.array([0, 1, 10, 11, 50])[study["rating"]], study["fixed"], study["random"])
    assert _key(plain) == pytest.approx(_key(again), rel=1e-9)
    shuffled = np.random.default_rng(0).permutation(study["rating"].size)
    random = {name: column[shuffled] for name, column in reversed(study["random"].items())}
    fixed = {name: column[shuffled] for name, column in study["fixed"].items()}
    other = cumulative_link_model(study["rating"][shuffled], fixed, random)
    assert {name: float(value) for name, value in other.variances.items()} == pytest.approx(
        {name: float(value) for name, value in plain.variances.items()}, rel=1e-4
    )
    turned = cumulative_link_model(4 - study["rating"], study["fixed"], study["random"])
    assert [float(row.estimate) for row in turned.coefficients] == pytest.approx(
        [-float(row.estimate) for row in plain.coefficients], abs=1e-5
    )
    louder = cumulative_link_model(
        study["rating"], {**study["fixed"], "loud": 1e6 * study["fixed"]["loud"]}, study["random"]
    )
    assert 1e6 * float(louder.coefficient("loud").estimate) == pytest.approx(
        float(plain.coefficient("loud").estimate), rel=1e-5
    )
    assert louder.coefficient("loud").z == pytest.approx(plain.coefficient("loud").z, rel=1e-4)


def test_differences_do_not_depend_on_the_coding() -> None:
    study = _study(9)
    treatment, summed = (
        cumulative_link_model(study["rating"], study["fixed"], study["random"], coding=coding).differences("system")
        for coding in ("treatment", "sum")
    )
    assert [(pair.a, pair.b) for pair in treatment.pairs] == [("a", "b"), ("a", "c"), ("b", "c")]
    for one, other in zip(treatment.pairs, summed.pairs, strict=True):
        assert one.difference == pytest.approx(other.difference, abs=1e-5)
        assert one.p == pytest.approx(other.p, rel=1e-3)


def test_a_variance_of_zero_is_said() -> None:
    rng = np.random.default_rng(1)
    rater, item = np.repeat(np.arange(10), 12), np.tile(np.arange(12), 10)
    rating = np.digitize(rng.logistic(size=120) + rng.normal(size=12)[item], [-1, 0, 1])
    result = cumulative_link_model(rating, {}, {"rater": rater, "item": item})
    assert result.variances["rater"].value == 0
    assert mentions(result.variances["rater"].why_no_interval, "0", "edge")
    assert result.notes == ("the variance of rater is estimated as 0",)
    alone = cumulative_link_model(rating, {}, {"item": item})
    assert result.log_likelihood == pytest.approx(alone.log_likelihood, abs=1e-6)


GROUP = ["x", "x", "y", "y"] * 6
RATER = [index // 4 for index in range(24)]
MIXED = [1, 2, 3, 2] * 6


@pytest.mark.parametrize(
    ("outcome", "fixed", "reason"),
    [
        ([3] * 24, {"group": GROUP}, "the outcome does not vary"),
        ([1, 1, 2, 3] * 6, {"group": GROUP}, "every rating of group x is in the lowest category"),
        ([1, 2, 3, 3] * 6, {"group": GROUP}, "every rating of group y is in the highest category"),
        ([1, 1, 2, 2] * 6, {"loud": [0.1, 0.2, 0.8, 0.9] * 6}, "loud separates the categories"),
        ([float(index) for index in range(24)] * 3, {}, "72 rows"),
    ],
)
def test_what_cannot_be_fitted_has_a_reason(outcome: list[float], fixed: dict[str, list[Any]], reason: str) -> None:
    if reason == "72 rows":
        result = cumulative_link_model([*outcome, *range(24, 60)], {}, {})
        reason = "60 different values; at most 50 are taken for ordered categories"
    else:
        result = cumulative_link_model(outcome, fixed, {"rater": RATER})
    assert result.why_missing is not None
    assert result.why_missing.startswith(reason)
    assert all(effect.why_missing == result.why_missing for effect in result.effects)
    assert all(variance.why_missing == result.why_missing for variance in result.variances.values())
    assert not result.differences("group").pairs
    assert "why_missing" in dumps(result)


def test_what_is_too_large_or_wrong_is_refused() -> None:
    study = _study(1)
    large = cumulative_link_model(study["rating"], study["fixed"], study["random"], most_work=10)
    assert large.why_missing is not None
    assert mentions(large.why_missing, "7 levels", "rater")
    four = dict.fromkeys("abcd", RATER)
    for options, text in (
        ({"random": four}, "4 random groupings"),
        ({"link": "cloglog"}, "No link is called 'cloglog'"),
        ({"coding": "helmert"}, "No coding"),
        ({"test": "score"}, "No test"),
        ({"information": "expected"}, "No information"),
    ):
        with pytest.raises(InputError, match=text):
            cumulative_link_model(MIXED, {"group": GROUP}, **{"random": {"rater": RATER}, **options})  # type: ignore[arg-type]  # on purpose
    fitted = cumulative_link_model(MIXED, {"group": GROUP})
    with pytest.raises(InputError, match="'rater' is not a factor"):
        fitted.differences("rater")


@pytest.mark.slow
def test_any_small_table_gives_numbers_or_a_reason() -> None:
    """Warnings are errors here: nothing divides by zero, overflows or stays without a reason."""
    reasons = set()
    for seed in range(60):
        rng = np.random.default_rng(seed)
        rows = int(rng.integers(4, 40))
        random = {name: rng.integers(0, int(rng.integers(1, 8)), rows) for name in "abc"[: seed % 4]}
        fixed: dict[str, Any] = {"s": np.array(list("uvw"))[rng.integers(0, int(rng.integers(1, 4)), rows)]}
        if seed % 5 == 0:
            fixed["x"] = rng.normal(size=rows) * 10.0 ** rng.integers(-6, 7)
        link: Link = "probit" if seed % 2 else "logit"
        result = cumulative_link_model(rng.integers(0, 5, rows), fixed, random, link=link)
        known = [row for row in result.coefficients if row.standard_error is not None]
        assert all(math.isfinite(row.standard_error or math.nan) for row in known)
        assert result.why_missing or len(result.thresholds) == len(result.categories) - 1
        reasons.add(result.why_missing is None)
        dumps(result)
    assert reasons == {True, False}


def test_errors_at_the_mode_are_close_to_the_observed_ones() -> None:
    study = _study(11)
    observed, mode = (
        cumulative_link_model(study["rating"], study["fixed"], study["random"], information=information)
        for information in ("observed", "mode")
    )
    for one, other in zip(observed.coefficients, mode.coefficients, strict=True):
        assert float(one.estimate) == pytest.approx(float(other.estimate), abs=1e-3)
        assert one.standard_error == pytest.approx(other.standard_error, rel=0.03)
    assert observed.effect("system").p_f == pytest.approx(mode.effect("system").p_f, rel=0.1)


@pytest.mark.slow
def test_known_truth_is_recovered() -> None:
    """3,600 ratings: coefficients, thresholds and variances within what their errors allow."""
    rng = np.random.default_rng(2)
    rater, item = np.repeat(np.arange(60), 60), np.tile(np.arange(60), 60)
    system, taste = item % 3, rater * 3 + item % 3
    latent = (
        np.array([0.0, 0.5, 1.0])[system] + rng.normal(size=60)[rater] + 0.6 * rng.normal(size=60)[item]
        + 0.7 * rng.normal(size=180)[taste] + rng.logistic(size=3600)
    )  # fmt: skip
    rating = np.digitize(latent, [-2.0, 0.0, 1.5])
    random = {"rater": rater, "stimulus": item, "taste": taste}
    result = cumulative_link_model(rating, {"system": np.array(["a", "b", "c"])[system]}, random)
    truth = [-2.0, 0.0, 1.5, 0.5, 1.0]
    for row, value in zip((*result.thresholds, *result.coefficients), truth, strict=True):
        assert row.standard_error is not None
        assert abs(float(row.estimate) - value) < 3 * row.standard_error
    for name, value in {"rater": 1.0, "stimulus": 0.36, "taste": 0.49}.items():
        estimate = result.variances[name]
        assert estimate.low is not None
        assert estimate.high is not None
        assert estimate.low < value < estimate.high


@pytest.mark.slow
def test_tastes_are_no_evidence_about_systems() -> None:
    """Twelve raters with tastes and equal systems: a false alarm is rare with tastes in the model, and common without.

    The full simulation is benchmarks/ordinal.py.
    """
    rng = np.random.default_rng(4)
    rater, item = np.repeat(np.arange(12), 12), np.tile(np.arange(12), 12)
    system, taste = item % 3, rater * 3 + item % 3
    fixed, random = {"system": np.array(["a", "b", "c"])[system]}, {"rater": rater, "stimulus": item}
    alarms = np.zeros(2)
    for _ in range(20):
        latent = 0.3 * rng.normal(size=12)[item] + 1.2 * rng.normal(size=36)[taste] + rng.normal(size=144)
        rating = np.digitize(latent, [-1.5, -0.5, 0.5, 1.5])
        for place, groups in enumerate((random, {**random, "taste": taste})):
            p = cumulative_link_model(rating, fixed, groups).effect("system").p_f
            alarms[place] += p is not None and p < 0.05
    assert alarms[0] >= 7
    assert alarms[1] <= 4
