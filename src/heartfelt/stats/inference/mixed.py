"""Linear mixed models on the ratings themselves: fixed effects and crossed random intercepts.

Averaging ratings per stimulus and testing the means treats the raters as fixed. Here rater and stimulus (and
one more grouping, if wanted) each add a normal intercept per level, so fixed effects are tested against the
right variation. Where raters prefer some systems to others, that third grouping is rater x system: without it
the preferences of the raters who happened to take part count as evidence about the systems.

Fitted by restricted maximum likelihood (``stats.reml``). Coefficients have t tests and intervals, effects
have F tests (each given all others, under sum-to-zero coding: type III), both with Satterthwaite degrees of
freedom from the observed information, as in lmerTest (Kuznetsova et al. 2017), never below 1: ``2 v² / (g' A
g)`` for a contrast of variance v, g that variance's gradient in the variance parameters, A their covariance
(Giesbrecht and Burns 1985). An F test on several contrasts pools the degrees of freedom of its independent
ones (Fai and Cornelius 1996).

``means_of`` names a factor whose estimated marginal means are wanted: the other factors' levels weigh the same, covariates are
at their mean. All pairs have their own standard error and degrees of freedom and are corrected by the studentized range
(Tukey), as in emmeans.

Variances are in the outcome's unit squared. With two crossed groupings their intervals are two-way jackknives
on what the fixed effects leave (``reliability.components``), which hold where raters differ in gain or some
are careless, and reach 0; with one or three they are Satterthwaite's chi-square, and missing below one degree
of freedom or where the variance is estimated as 0. Text and yes/no columns are factors; numbers are
covariates, centred at their mean, so the intercept is the expectation there.

Source: Bates et al. (2015); Patterson and Thompson (1971).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from heartfelt.errors import InputError, suggestion
from heartfelt.stats import _bounds
from heartfelt.stats._paired import Column, coded, present
from heartfelt.stats.estimate import Estimate
from heartfelt.stats.inference.linear_model import (
    Coding,
    Interactions,
    ModelData,
    column_names,
    contrast_rows,
    holes,
    model_data,
    term_columns,
    why_no_columns,
)
from heartfelt.stats.inference.marginal_means import DIFFERENCE, MEAN, NOT_ESTIMABLE
from heartfelt.stats.inference.posthoc import Comparison, Pair, Pairwise
from heartfelt.stats.ratings import Ratings
from heartfelt.stats.reliability.components import bounded_components, component_bounds
from heartfelt.stats.reml import CrossedSystem, Fit, maximise
from heartfelt.stats.reml_blocks import Groups, arranged
from heartfelt.stats.triples import Floats, as_floats, id_array, text_array
from heartfelt.wording import listed

MOST_WORK = 7e10
"""Multiplications a step of the fit may take: those of 6,000 levels that cannot be eliminated."""
PRECISION = 1e-17
_METHOD = "linear mixed model, REML"
TUKEY = "Tukey, mixed model"
TOO_LARGE = "too large to fit"
NO_ERROR = "its standard error is zero"
_TOLERANCE = 1e-9


@dataclass(frozen=True, slots=True)
class Coefficient:
    """One fixed coefficient; without a standard error there is no test."""

    name: str
    estimate: Estimate
    standard_error: float | None = None
    df: float | None = None
    t: float | None = None
    p: float | None = None


@dataclass(frozen=True, slots=True)
class MixedEffect:
    """The joint test of a term's coefficients, or why there is none."""

    effect: str
    df: int
    df_residual: float | None = None
    f: float | None = field(default=None, metadata={"key": "F"})
    p: float | None = None
    why_missing: str | None = field(default=None, metadata={"omit": True})


@dataclass(frozen=True, slots=True)
class MixedResult:
    """A fitted model. ``variances`` holds each random factor's and ``residual``; the headline is the intercept."""

    coefficients: tuple[Coefficient, ...]
    effects: tuple[MixedEffect, ...]
    variances: Mapping[str, Estimate]
    log_likelihood: float | None
    method: str
    notes: tuple[str, ...]
    counts: Mapping[str, int]
    why_missing: str | None = field(default=None, metadata={"omit": True})
    means: Mapping[Any, Estimate] = field(default_factory=dict, metadata={"omit": True})
    pairs: Pairwise | None = field(default=None, metadata={"omit": True})

    def effect(self, name: str) -> MixedEffect:
        """The test of one term."""
        return {effect.effect: effect for effect in self.effects}[name]

    def coefficient(self, name: str) -> Coefficient:
        """One coefficient by name: ``intercept``, ``system[Suno]``."""
        return {coefficient.name: coefficient for coefficient in self.coefficients}[name]

    @property
    def intercept(self) -> Estimate:
        """The headline."""
        if not self.coefficients:
            return Estimate.missing(self.why_missing or "not fitted", self.method, self.counts)
        return self.coefficients[0].estimate


@dataclass(frozen=True, slots=True)
class _Fixed:
    """Independent columns, their names, the names of those dropped, and per term the rows of its hypothesis."""

    matrix: Floats
    names: list[str]
    aliased: list[str]
    hypotheses: dict[str, Floats]


@dataclass(frozen=True, slots=True)
class _Inference:
    """Covariance of the coefficients, its derivatives in the variance parameters, and those parameters'
    covariance.

    ``fallback`` degrees of freedom serve where that covariance is not known or a contrast does not depend on
    the variance parameters.
    """

    covariance: Floats
    fallback: float
    derivatives: tuple[Floats, ...] = ()
    spread: Floats | None = None

    def df(self, row: Floats) -> float:
        """Satterthwaite's degrees of freedom of a contrast, at least 1."""
        if self.spread is None:
            return self.fallback
        variance = float(row @ self.covariance @ row)
        gradient = np.array([float(row @ derivative @ row) for derivative in self.derivatives])
        doubt = float(gradient @ self.spread @ gradient)
        if not doubt > 1e-12 * variance**2:
            return max(self.fallback, 1.0)
        return max(2 * variance**2 / doubt, 1.0)

    def f_test(self, rows: Floats, beta: Floats) -> tuple[float, float] | None:
        """The F statistic of several contrasts and its denominator's degrees of freedom; None without error."""
        values, vectors = np.linalg.eigh(rows @ self.covariance @ rows.T)
        if not (values > 1e-14 * max(float(values.max()), 1e-300)).all():
            return None
        turned = vectors.T @ rows
        f = float(np.sum((turned @ beta) ** 2 / values)) / rows.shape[0]
        dfs = [self.df(row) for row in turned]
        if len(dfs) == 1 or max(dfs) - min(dfs) < 1e-8 * max(dfs):
            return f, float(np.mean(dfs))
        pooled = sum(df / (df - 2) for df in dfs if df > 2)
        return f, 2 * pooled / (pooled - len(dfs)) if pooled > len(dfs) else 2.0


def mixed_model(
    outcome: Column,
    fixed: Mapping[str, Column],
    random: Mapping[str, Column],
    *,
    interactions: Interactions = (),
    coding: Coding = "treatment",
    means_of: str | None = None,
    confidence: float = 0.95,
    most_work: float = MOST_WORK,
) -> MixedResult:
    """Fit an outcome by fixed effects and one to three random intercepts, crossed or nested.

    ``most_work`` bounds the multiplications of one step of the fit; beyond it the model is refused.
    """
    _bounds.check_confidence(confidence)
    if not 1 <= len(random) <= 3:
        raise InputError(
            f"{len(random)} random groupings were given.", "Name one to three, such as rater and stimulus."
        )
    if coding not in ("treatment", "sum"):
        raise InputError(f"No coding is called '{coding}'.", "Choose 'treatment' or 'sum'.")
    data, groups = _columns(outcome, fixed, random, interactions)
    if means_of is not None and means_of not in data.factors:
        raise InputError(
            f"'{means_of}' is not a factor of the model.", suggestion(means_of, list(data.factors))
        )
    why = _why_unfit(data, groups)
    if why:
        return _nothing(data, random, why)
    columns = _fixed_columns(data, coding)
    if data.rows - columns.matrix.shape[1] < 1:
        return _nothing(data, random, "as many fixed coefficients as rows")
    order = arranged(groups, columns.matrix.shape[1])
    if order.work > most_work:
        sizes = listed([f"{size:,} levels of {name}" for name, (_, size) in groups.items()])
        return _nothing(data, random, f"{TOO_LARGE}: {sizes}")
    groups, system = order.groups, order.system(data.outcome, columns.matrix)
    try:
        fit = maximise(system, [0.3] * len(groups), precision=PRECISION)
    except np.linalg.LinAlgError:
        fit = None
    if fit is None or fit.exact or fit.step.residual <= 1e-12 * float(data.outcome.var()):
        return _nothing(data, random, "no residual variation: the model fits perfectly")
    if not fit.converged:
        return _nothing(data, random, "no maximum of the likelihood was found")
    for name, ratio, explained in zip(groups, fit.step.ratios, fit.step.explained, strict=True):
        if ratio > 0 and explained < 1e-9:
            return _nothing(data, random, f"the fixed effects leave nothing of {name}")
    return _report(data, columns, system, fit, groups, means_of, confidence)


def _marginal_means(
    data: ModelData, columns: _Fixed, beta: Floats, inference: _Inference, of: str, confidence: float
) -> tuple[dict[Any, Estimate], Pairwise]:
    """The expectation of each level with all else held equal, and all differences."""
    levels, contrasts = data.factors[of].levels, contrast_rows(len(data.factors[of].levels), "sum")
    parts, spans = [np.ones((data.rows, 1))], {}
    for term in data.terms:
        begin = sum(part.shape[1] for part in parts)
        parts.append(term_columns(term, data, "sum"))
        spans[term.name] = slice(begin, begin + parts[-1].shape[1])
    summed = np.hstack(parts)
    # A combination of sum-to-zero coefficients is one of the fitted coefficients where the rows span it.
    gram, onto = summed.T @ summed, summed.T @ columns.matrix
    inverse = np.linalg.pinv(gram, rcond=1e-11, hermitian=True)

    def combination(weights: Floats, method: str) -> tuple[Estimate, Floats | None]:
        inside = inverse @ weights
        if float(np.abs(gram @ inside - weights).max()) > 1e-6:
            return Estimate.missing(NOT_ESTIMABLE, method, data.counts), None
        row = inside @ onto
        return Estimate(float(row @ beta), method=f"{method} ({_METHOD})", counts=data.counts), row

    def weights(place: int, intercept: float) -> Floats:
        out = np.zeros(summed.shape[1])
        out[0], out[spans[of]] = intercept, contrasts[place]
        return out

    means: dict[Any, Estimate] = {}
    for place, level in enumerate(levels):
        plain, row = combination(weights(place, 1.0), MEAN)
        if row is not None:
            error = math.sqrt(float(row @ inference.covariance @ row))
            plain = _bounds.with_t(plain, error, inference.df(row), "Satterthwaite t", confidence)
        means[level] = plain
    compare = Comparison(TUKEY, len(levels), confidence)
    pairs = []
    for i, j in combinations(range(len(levels)), 2):
        plain, row = combination(weights(i, 0.0) - weights(j, 0.0), DIFFERENCE)
        if row is None:
            pairs.append(Pair(levels[i], levels[j], plain))
            continue
        scale = math.sqrt(float(row @ inference.covariance @ row) / 2)
        pairs.append(compare.pair(levels[i], levels[j], plain, scale, inference.df(row)))
    return means, Pairwise(tuple(pairs), TUKEY, confidence, data.counts)


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
    groups: Groups = {}
    for name, column in ids.items():
        names, codes, _ = coded(column[data.used], name)
        groups[name] = (codes, len(names))
    return data, groups


def _why_unfit(data: ModelData, groups: Groups) -> str | None:
    if data.rows < 3:
        return f"{data.rows} rows; at least 3 are needed"
    if float(np.ptp(data.outcome)) == 0:
        return "the outcome does not vary"
    for name, (_, size) in groups.items():
        if size < 2:
            return f"{name} has one level"
        if size == data.rows:
            return f"every level of {name} has one row: its variance cannot be separated from the residual"
    names = list(groups)
    for i, first in enumerate(names):
        for second in names[:i]:
            (a, size_a), (b, size_b) = groups[first], groups[second]
            if size_a == size_b and np.unique(a * size_b + b).size == size_a:
                return f"{first} and {second} group the rows the same way"
    return None


def _fixed_columns(data: ModelData, coding: Coding) -> _Fixed:
    """Build the columns, leaving out each one that those before it span."""
    matrix, names, owners, aliased = _independent(data, coding)
    own = {term.name: np.eye(len(names))[[o == term.name for o in owners]] for term in data.terms}
    if coding == "sum" or all(len(term.parts) == 1 for term in data.terms):
        return _Fixed(matrix, names, aliased, own)
    summed, _, sum_owners, _ = _independent(data, "sum")
    # Sum-to-zero coefficients are this linear map of the fitted ones.
    change = np.linalg.lstsq(summed.T @ summed, summed.T @ matrix, rcond=None)[0]
    rows = {t.name: np.asarray(change[[o == t.name for o in sum_owners]], np.float64) for t in data.terms}
    return _Fixed(matrix, names, aliased, rows)


def _independent(data: ModelData, coding: Coding) -> tuple[Floats, list[str], list[str], list[str]]:
    """The independent columns, their names and terms, and the names of the others."""
    parts, names, owners = [np.ones((data.rows, 1))], ["intercept"], [""]
    for term in data.terms:
        columns = term_columns(term, data, coding)
        if columns.shape[1]:
            parts.append(columns)
            labels = column_names(term, data, coding)
            names += labels
            owners += [term.name] * len(labels)
    matrix = np.hstack(parts)
    used = independent_columns(matrix)
    aliased = [name for name, keep in zip(names, used, strict=True) if not keep]
    names = [name for name, keep in zip(names, used, strict=True) if keep]
    owners = [owner for owner, keep in zip(owners, used, strict=True) if keep]
    return matrix if used.all() else np.ascontiguousarray(matrix[:, used]), names, owners, aliased


def independent_columns(matrix: Floats) -> npt.NDArray[np.bool_]:
    """Which columns are not spanned by those before them, from the triangle of their QR factors."""
    lengths = np.sqrt(np.einsum("ij,ij->j", matrix, matrix))
    triangle = np.asarray(np.linalg.qr(matrix / np.where(lengths > 0, lengths, 1.0), mode="r"))
    used = np.zeros(lengths.size, np.bool_)
    basis = np.zeros((triangle.shape[0], 0))
    for index in range(lengths.size):
        column = triangle[:, index]
        for _ in range(2):
            column = column - basis @ (basis.T @ column)
        size = float(np.sqrt(column @ column))
        if lengths[index] > 0 and size > _TOLERANCE:
            used[index] = True
            basis = np.column_stack([basis, column / size])
    return used


def _report(
    data: ModelData,
    columns: _Fixed,
    system: CrossedSystem,
    fit: Fit,
    groups: Groups,
    means_of: str | None,
    confidence: float,
) -> MixedResult:
    step = fit.step
    fewest = max(min(size for _, size in groups.values()) - columns.matrix.shape[1], 1)
    inference, spread = _inference(system, fit, float(fewest))
    left = data.outcome - system.centre - columns.matrix @ step.fixed
    beta = step.fixed.copy()
    beta[0] += system.centre
    coefficients = [
        _coefficient(name, index, beta, inference, data, confidence)
        for index, name in enumerate(columns.names)
    ]
    gone = Estimate.missing("the other columns already span it", f"coefficient ({_METHOD})", data.counts)
    coefficients += [Coefficient(name, gone) for name in columns.aliased]
    methods = {name: f"variance of {name} ({_METHOD})" for name in groups}
    methods["residual"] = f"residual variance ({_METHOD})"
    variances = {
        name: Estimate(value, method=method, confidence=confidence, counts=data.counts)
        for (name, method), value in zip(methods.items(), step.variances, strict=True)
    }
    if len(groups) == 2:
        variances = _jackknifed(variances, groups, left, confidence)
    else:
        variances = {
            name: chi_square_interval(e, spread.get(index), confidence)
            for index, (name, e) in enumerate(variances.items())
        }
    notes = [f"the variance of {name} is estimated as 0" for name in groups if variances[name].value == 0]
    if not spread:
        notes.append(
            "the information matrix is not positive: tests use the fewest degrees of freedom there could be"
        )
    deviance = step.deviance + system.df * math.log(2 * math.pi)
    effects = _effects(data, columns, beta, inference)
    result = MixedResult(
        tuple(coefficients), effects, variances, -0.5 * deviance, _METHOD, tuple(notes), data.counts
    )
    if means_of is None:
        return result
    means, pairs = _marginal_means(data, columns, beta, inference, means_of, confidence)
    return replace(result, means=means, pairs=pairs)


def _inference(system: CrossedSystem, fit: Fit, fewest: float) -> tuple[_Inference, dict[int, float]]:
    """Covariance of the coefficients with its derivatives, and the variance of each log variance by its
    place.

    Parameters are the logarithms of the variances that are not 0, the residual's last. All derivatives of the
    score and the covariance come from central differences over the ratios, the residual variance held.
    """
    step, h = fit.step, 1e-4
    live = [*np.flatnonzero(step.ratios).tolist(), step.ratios.size]
    by_ratio, tilt = [], []
    try:
        for index in live[:-1]:
            ends = []
            for sign in (1, -1):
                ratios = step.ratios.copy()
                ratios[index] *= math.exp(sign * h)
                ends.append(system.step(ratios, step.residual))
            plus, minus = (-0.5 * end.score * end.variances for end in ends)
            by_ratio.append((plus - minus)[live] / (2 * h))
            tilt.append((ends[0].fixed_covariance - ends[1].fixed_covariance) / (2 * h))
    except np.linalg.LinAlgError:
        return _Inference(step.fixed_covariance, fewest), {}
    # A log ratio is a log variance less the residual's; the score also depends on the residual variance itself.
    slopes = np.array(by_ratio).reshape(-1, len(live))
    hessian = np.vstack([slopes, -slopes.sum(axis=0) - 0.5 * step.squares[live] / step.residual])
    information = -0.5 * (hessian + hessian.T)
    if float(np.linalg.eigvalsh(information).min()) <= 0:
        return _Inference(step.fixed_covariance, fewest), {}
    spread = np.linalg.inv(information)
    whole = step.fixed_covariance - sum(tilt, np.zeros_like(step.fixed_covariance))
    variances = {place: float(spread[k, k]) for k, place in enumerate(live)}
    return _Inference(step.fixed_covariance, float(system.df), (*tilt, whole), spread), variances


def _coefficient(
    name: str, index: int, beta: Floats, inference: _Inference, data: ModelData, confidence: float
) -> Coefficient:
    from scipy.special import stdtr

    row = np.eye(beta.size)[index]
    value, variance = float(beta[index]), float(inference.covariance[index, index])
    plain = Estimate(value, method=f"coefficient ({_METHOD})", confidence=confidence, counts=data.counts)
    if not (variance > 0 and math.isfinite(variance)):
        return Coefficient(name, plain.without_interval(NO_ERROR))
    error, df = math.sqrt(variance), inference.df(row)
    bounded = _bounds.with_t(plain, error, df, "Satterthwaite t", confidence)
    return Coefficient(name, bounded, error, df, value / error, float(2 * stdtr(df, -abs(value / error))))


def chi_square_interval(plain: Estimate, spread: float | None, confidence: float) -> Estimate:
    """A variance with Satterthwaite's chi-square interval, from the variance of its logarithm."""
    from scipy.special import chdtri

    value = float(plain)
    if value == 0:
        return plain.without_interval("estimated as 0, at the edge of what is possible")
    if spread is None:
        return plain.without_interval("the information matrix is not positive")
    df, tail = 2 / spread, (1 - confidence) / 2
    if df < 1:
        return plain.without_interval("it is known with less than one degree of freedom")
    low, high = (value * df / float(chdtri(df, p)) for p in (tail, 1 - tail))
    return plain.with_interval(low, high, "Satterthwaite chi-square", confidence)


def _jackknifed(
    variances: dict[str, Estimate], groups: Groups, left: Floats, confidence: float
) -> dict[str, Estimate]:
    """Each variance with its two-way jackknife bounds, from what the fixed effects leave of the outcome."""
    rater = "rater" if "rater" in groups else list(groups)[1]
    item = next(name for name in groups if name != rater)
    (raters, n_raters), (items, n_items) = groups[rater], groups[item]
    d = Ratings(raters, items, left, range(n_raters), range(n_items))
    places = {item: "item", rater: "rater", "residual": "residual"}
    values = np.array([float(variances[name]) for name in places])
    bounds = component_bounds(d, values, confidence)
    if not isinstance(bounds, str):
        bounds = {name: bounds[place] for name, place in places.items()}
    return bounded_components(variances, bounds, confidence)


def _effects(
    data: ModelData, columns: _Fixed, beta: Floats, inference: _Inference
) -> tuple[MixedEffect, ...]:
    from scipy.special import fdtrc

    out = []
    empty = holes(data)
    for term in data.terms:
        rows = columns.hypotheses[term.name]
        over = [other.name for other in empty if other.contains(term) and other != term]
        tested = None
        why = NO_ERROR
        if rows.shape[0] == 0:
            why = why_no_columns(term, data)
        elif over:
            why = f"{over[0]} has empty cells, where the test has no clear hypothesis"
        else:
            tested = inference.f_test(rows, beta)
        if tested is None:
            out.append(MixedEffect(term.name, 0, why_missing=why))
            continue
        f, df = tested
        out.append(MixedEffect(term.name, rows.shape[0], df, f, float(fdtrc(rows.shape[0], df, f))))
    return tuple(out)


def _nothing(data: ModelData, random: Iterable[str], why: str) -> MixedResult:
    variances = {
        name: Estimate.missing(why, f"variance of {name}", data.counts) for name in [*random, "residual"]
    }
    effects = tuple(MixedEffect(term.name, 0, why_missing=why) for term in data.terms)
    return MixedResult((), effects, variances, None, _METHOD, (), data.counts, why)
