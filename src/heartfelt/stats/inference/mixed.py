"""Linear mixed models on the ratings themselves: fixed effects beside crossed random intercepts.

Averaging ratings per stimulus and testing the means treats the raters as fixed. Here rater and stimulus
(and one more grouping, if wanted) each add a normal intercept per level, so fixed effects are tested
against the right variation.

Fitted by restricted maximum likelihood. Coefficients have t tests and intervals, effects have F tests (each
given all others, under sum-to-zero coding: type III), both with Satterthwaite degrees of freedom from the
observed information, as in lmerTest (Kuznetsova et al. 2017), never below 1. Variances are in the outcome's
unit squared. With two crossed groupings their intervals are two-way jackknives on what the fixed effects leave
(``reliability.component_bounds``), which hold where raters differ in gain or some are careless, and reach 0;
with one or three they are Satterthwaite's chi-square, and missing below one degree of freedom or where the
variance is estimated as 0. Text and yes/no columns are factors; numbers are covariates, centred at their mean,
so the intercept is the expectation there.

Source: Bates et al. (2015); Patterson and Thompson (1971).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np

from heartfelt.errors import InputError
from heartfelt.stats import _bounds
from heartfelt.stats._paired import Column, coded, present
from heartfelt.stats.estimate import Estimate
from heartfelt.stats.inference import reml
from heartfelt.stats.inference.fixed_effects import Fixed, Inference, fixed_columns
from heartfelt.stats.inference.mixed_result import Coefficient, MixedEffect, MixedResult
from heartfelt.stats.inference.model_matrix import (
    Coding,
    Interactions,
    ModelData,
    holes,
    model_data,
    why_no_columns,
)
from heartfelt.stats.reliability.component_bounds import component_bounds
from heartfelt.stats.reliability.design import Design
from heartfelt.stats.reliability.jackknife import NAME as JACKKNIFE
from heartfelt.stats.triples import Floats, Ints, as_floats, id_array, text_array

__all__ = ["Coefficient", "MixedEffect", "MixedResult", "mixed_model"]

Groups: TypeAlias = dict[str, tuple[Ints, int]]
_METHOD = "linear mixed model, REML"
_TESTS = "Satterthwaite t"
NO_ERROR = "its standard error is zero"


def mixed_model(
    outcome: Column,
    fixed: Mapping[str, Column],
    random: Mapping[str, Column],
    *,
    interactions: Interactions = (),
    coding: Coding = "treatment",
    confidence: float = 0.95,
) -> MixedResult:
    """Fit an outcome by fixed effects and one to three crossed random intercepts."""
    _bounds.check_confidence(confidence)
    if not 1 <= len(random) <= 3:
        raise InputError(
            f"{len(random)} random groupings were given.", "Name one to three, such as rater and stimulus."
        )
    if coding not in ("treatment", "sum"):
        raise InputError(f"There is no coding called '{coding}'.", "Choose 'treatment' or 'sum'.")
    data, groups = _columns(outcome, fixed, random, interactions)
    why = _unfit(data, groups)
    if why:
        return _nothing(data, list(random), why)
    design = fixed_columns(data, coding)
    free = data.rows - design.matrix.shape[1]
    if free < 1:
        return _nothing(data, list(random), "as many fixed coefficients as rows")
    order = sorted(groups, key=lambda name: -groups[name][1])
    if sum(groups[name][1] for name in order[1:]) > reml.MOST_LEVELS:
        why = f"{order[1]} has more than {reml.MOST_LEVELS:,} levels beside {order[0]}: too many to fit"
        return _nothing(data, list(random), why)
    mean = float(data.outcome.mean())
    system = reml.build(data.outcome - mean, design.matrix, [groups[name] for name in order])
    found = reml.fit(system)
    if found is None or float(found[0].max()) > math.log(1e8):
        return _nothing(data, list(random), "no residual variation: the model fits perfectly")
    if found[2] < 0:
        return _nothing(data, list(random), "no maximum of the likelihood was found")
    flat = [name for name, share in zip(order, found[1].explained, strict=True) if share < 1e-9]
    hidden = [name for name in flat if not reml.at_zero(found[0][order.index(name)])]
    if hidden:
        return _nothing(data, list(random), f"the fixed effects leave nothing of {hidden[0]}")
    return _report(data, design, system, found, (groups, order, mean, confidence))


def _columns(
    outcome: Column, fixed: Mapping[str, Column], random: Mapping[str, Column], interactions: Interactions
) -> tuple[ModelData, Groups]:
    ids = {name: id_array(column) for name, column in random.items()}
    values = as_floats(outcome, "outcome")
    for name, column in ids.items():
        if column.size != values.size:
            raise InputError(
                f"'{name}' has {column.size} rows, the outcome {values.size}.", "Pass one id per row."
            )
        values = np.where(present(column), values, np.nan)
    arrays = {name: text_array(column) for name, column in fixed.items()}
    factors = {name: column for name, column in arrays.items() if column.dtype.kind not in "iuf"}
    numbers = {name: column for name, column in arrays.items() if name not in factors}
    data = model_data(values, factors, numbers, interactions)
    kept = np.isfinite(values)
    for name, column in arrays.items():
        kept = kept & (present(column) if name in factors else np.isfinite(as_floats(column, name)))
    groups = {}
    for name, column in ids.items():
        names, codes, _ = coded(column[kept], name) if kept.any() else ([], np.zeros(0, np.int64), None)
        groups[name] = (codes, len(names))
    return data, groups


def _unfit(data: ModelData, groups: Groups) -> str | None:
    if data.rows < 3:
        return f"{data.rows} rows; at least 3 are needed"
    if float(np.ptp(data.outcome)) == 0:
        return "the outcome does not vary"
    for name, (_, size) in groups.items():
        if size < 2:
            return f"{name} has one level"
        if size == data.rows:
            return f"every level of {name} has one row: its variance cannot be told from the residual"
    names = list(groups)
    for i, first in enumerate(names):
        for second in names[:i]:
            (a, size_a), (b, size_b) = groups[first], groups[second]
            if size_a == size_b and np.unique(a * size_b + b).size == size_a:
                return f"{first} and {second} group the rows the same way"
    return None


def _report(
    data: ModelData,
    design: Fixed,
    system: reml.System,
    found: tuple[Floats, reml.Point, int],
    how: tuple[Groups, list[str], float, float],
) -> MixedResult:
    log_ratios, point, steps = found
    groups, order, mean, level = how
    free = data.rows - design.matrix.shape[1]
    residual = point.residual / free
    zero = [reml.at_zero(float(one)) for one in log_ratios]
    fewest = max(min(size for _, size in groups.values()) - design.matrix.shape[1], 1)
    inference, spread = _inference(system, log_ratios, point, zero, float(fewest))
    beta = point.coefficients.copy()
    beta[0] += mean
    coefficients = tuple(
        _coefficient(name, index, beta, inference, data, level) for index, name in enumerate(design.names)
    ) + tuple(_aliased(name, data) for name in design.aliased)
    values = {
        name: 0.0 if zero[index] else math.exp(log_ratios[index]) * residual
        for index, name in enumerate(order)
    } | {"residual": residual}
    if len(order) == 2:
        left = data.outcome - mean - design.matrix @ point.coefficients
        variances = _jackknifed_variances(values, groups, order, left, (data, level))
    else:
        spreads = {name: spread.get(index + 1) for index, name in enumerate(order)}
        spreads["residual"] = spread.get(0)
        variances = {name: _variance(name, v, spreads[name], data, level) for name, v in values.items()}
    notes = [
        f"the variance of {name} is estimated as 0" for name, none in zip(order, zero, strict=True) if none
    ]
    if not spread:
        notes.append(
            "the information matrix is not positive: tests use the fewest degrees of freedom there could be"
        )
    effects = _effects(data, design, beta, inference)
    return MixedResult(
        coefficients, effects, variances, -0.5 * point.deviance, _METHOD, tuple(notes), data.counts, steps
    )


def _inference(
    system: reml.System, log_ratios: Floats, point: reml.Point, zero: list[bool], fewest: float
) -> tuple[Inference, dict[int, float]]:
    """Covariance of the coefficients with its derivatives, and the variance of each log variance.

    Parameters are the logarithms of the residual variance (0) and of each factor's that is not 0. All
    derivatives of the score and the covariance come from central differences over the ratios.
    """
    free = system.rows - system.columns
    residual = point.residual / free
    live = [index for index, none in enumerate(zero) if not none]
    step = 1e-4
    shifted = []
    for index in live:
        pair = []
        for sign in (1, -1):
            moved = log_ratios.copy()
            moved[index] += sign * step
            pair.append(reml.evaluate(system, moved))
        shifted.append(pair)
    covariance = residual * point.inverse
    if any(one is None for pair in shifted for one in pair):
        return Inference(covariance, (), None, fewest), {}
    scores = [[_score(one, live, residual, free) for one in pair if one is not None] for pair in shifted]
    by_ratio = np.array([(plus - minus) / (2 * step) for plus, minus in scores]).reshape(
        len(live), 1 + len(live)
    )
    inverses = [[one.inverse for one in pair if one is not None] for pair in shifted]
    tilt = [residual * (plus - minus) / (2 * step) for plus, minus in inverses]
    # A log ratio is a log variance less the residual's; the score also holds the residual variance outright.
    direct = np.array([_left(point, live), *point.squares[live]]) / residual
    hessian = np.vstack([-by_ratio.sum(axis=0) - 0.5 * direct, by_ratio])
    information = -0.5 * (hessian + hessian.T)
    derivatives = (covariance - sum(tilt, np.zeros_like(covariance)), *tilt)
    if float(np.linalg.eigvalsh(information).min()) <= 0:
        return Inference(covariance, (), None, fewest), {}
    spread = np.linalg.inv(information)
    places = [0, *(index + 1 for index in live)]
    variances = {place: float(spread[k, k]) for k, place in enumerate(places)}
    return Inference(covariance, derivatives, spread, float(free)), variances


def _left(point: reml.Point, live: list[int]) -> float:
    return point.residual - float(point.squares[live].sum())


def _score(point: reml.Point, live: list[int], residual: float, free: int) -> Floats:
    """Of the log likelihood in the log variances, the residual variance held."""
    own = free - float(point.explained[live].sum()) - _left(point, live) / residual
    return -0.5 * np.array([own, *(point.explained[live] - point.squares[live] / residual)])


def _coefficient(
    name: str, index: int, beta: Floats, inference: Inference, data: ModelData, confidence: float
) -> Coefficient:
    row = np.zeros(beta.size)
    row[index] = 1.0
    error, df = inference.error(row), inference.df(row)
    value = float(beta[index])
    plain = Estimate(value, method=f"coefficient ({_METHOD})", counts=data.counts)
    if error is None:
        return Coefficient(
            name, _bounds.bounded(plain, None, "", confidence, NO_ERROR), None, None, None, None
        )
    half = _bounds.t_quantile(confidence, df) * error
    bounded = plain.with_interval(value - half, value + half, _TESTS, confidence)
    return Coefficient(name, bounded, error, df, value / error, inference.p_value(value / error, df))


def _aliased(name: str, data: ModelData) -> Coefficient:
    why = "the other columns already span it"
    return Coefficient(
        name, Estimate.missing(why, f"coefficient ({_METHOD})", data.counts), None, None, None, None
    )


def _variance(name: str, value: float, spread: float | None, data: ModelData, confidence: float) -> Estimate:
    plain = Estimate(value, method=_variance_method(name), counts=data.counts)
    if value == 0:
        return _bounds.bounded(plain, None, "", confidence, "estimated as 0, at the edge of what is possible")
    if spread is None:
        return _bounds.bounded(plain, None, "", confidence, "the information matrix is not positive")
    from scipy.special import chdtri

    df, tail = 2 / spread, (1 - confidence) / 2
    if df < 1:
        return _bounds.bounded(
            plain, None, "", confidence, "it is known with less than one degree of freedom"
        )
    low, high = value * df / float(chdtri(df, tail)), value * df / float(chdtri(df, 1 - tail))
    return plain.with_interval(low, high, "Satterthwaite chi-square", confidence)


def _jackknifed_variances(
    values: dict[str, float], groups: Groups, order: list[str], left: Floats, how: tuple[ModelData, float]
) -> dict[str, Estimate]:
    """Each variance with its two-way jackknife bounds, from what the fixed effects leave of the outcome."""
    data, level = how
    rater = "rater" if "rater" in order else order[1]
    item = next(name for name in order if name != rater)
    (raters, n_raters), (items, n_items) = groups[rater], groups[item]
    d = Design(
        raters, items, left, range(n_raters), range(n_items),
        np.bincount(items, minlength=n_items), np.bincount(raters, minlength=n_raters),
    )  # fmt: skip
    found = component_bounds(d, np.array([values[item], values[rater], values["residual"]]), level)
    out = {}
    for name, value in values.items():
        plain = Estimate(value, method=_variance_method(name), counts=data.counts)
        if isinstance(found, str):
            out[name] = _bounds.bounded(plain, None, "", level, found)
            continue
        low, high = {item: found.item, rater: found.rater, "residual": found.residual}[name]
        out[name] = plain.with_interval(low, high, f"{JACKKNIFE}, log scale", level)
    return out


def _variance_method(name: str) -> str:
    return f"{'residual variance' if name == 'residual' else f'variance of {name}'} ({_METHOD})"


def _effects(data: ModelData, design: Fixed, beta: Floats, inference: Inference) -> tuple[MixedEffect, ...]:
    out = []
    empty = holes(data)
    for term in data.terms:
        rows = design.hypotheses.get(term.name)
        over = [other.name for other in empty if other.contains(term) and other != term]
        why = None
        if rows is None or rows.shape[0] == 0:
            why = why_no_columns(term, data)
        elif over:
            why = f"{over[0]} has empty cells, where the test has no clear hypothesis"
        if why or rows is None:
            out.append(MixedEffect(term.name, 0, None, None, None, why))
            continue
        tested = inference.f_test(rows, beta)
        if tested is None:
            out.append(MixedEffect(term.name, 0, None, None, None, NO_ERROR))
            continue
        f, df = tested
        out.append(MixedEffect(term.name, rows.shape[0], df, f, inference.f_p_value(f, rows.shape[0], df)))
    return tuple(out)


def _nothing(data: ModelData, random: list[str], why: str) -> MixedResult:
    variances: dict[str, Any] = {
        name: Estimate.missing(why, f"variance of {name}", data.counts) for name in [*random, "residual"]
    }
    effects = tuple(MixedEffect(term.name, 0, None, None, None, why) for term in data.terms)
    return MixedResult((), effects, variances, None, _METHOD, (), data.counts, 0, why)
