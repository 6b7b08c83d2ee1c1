"""Linear mixed models on the ratings themselves: fixed effects and crossed random intercepts.

Averaging ratings per stimulus and testing the means treats the raters as fixed. Here rater and stimulus (and
one more grouping, if wanted) each add a normal intercept per level, so fixed effects are tested against the
right variation. Where raters prefer some systems to others, that third grouping is rater x system: without it
the preferences of the raters who happened to take part count as evidence about the systems.

Fitted by restricted maximum likelihood (``stats.reml``). Coefficients have t tests and intervals, effects have F tests
(each given all others, under sum-to-zero coding: type III), both with Satterthwaite degrees of freedom from the
observed information, as in lmerTest (Kuznetsova et al. 2017), never below 1: ``2 v² / (g' A g)`` for a contrast of
variance v, g that variance's gradient in the variance parameters, A their covariance (Giesbrecht and Burns 1985). An F
test on several contrasts pools the degrees of freedom of its independent ones (Fai and Cornelius 1996).

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
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from heartfelt.errors import InputError, suggestion
from heartfelt.stats import _bounds
from heartfelt.stats.columns.paired import Column, coded
from heartfelt.stats.columns.triples import Floats, Ints, as_floats, id_array
from heartfelt.stats.compiled.blas_threads import one_blas_thread
from heartfelt.stats.estimate import Estimate
from heartfelt.stats.inference.adjusted_means import DIFFERENCE, MEAN, NOT_ESTIMABLE
from heartfelt.stats.inference.linear_model import Coding, Interactions, ModelData, contrast_rows, holes, term_columns
from heartfelt.stats.inference.posthoc import Difference, Pairwise, PairwiseComparison
from heartfelt.stats.inference.random_intercepts import (
    NO_ERROR,
    TOO_LARGE,
    ContrastInference,
    FixedColumns,
    first_independent,
    fixed_columns,
    grouped_columns,
    too_large,
    why_unfit,
    why_untested,
)
from heartfelt.stats.ratings import Ratings
from heartfelt.stats.reliability.components import bounded_components, component_bounds
from heartfelt.stats.reliability.reml import CrossedSystem, RemlFit, maximise
from heartfelt.stats.reliability.reml_blocks import Groups, arranged

MOST_WORK = 7e10
"""Multiplications a step of the fit may take: those of 6,000 levels that cannot be eliminated."""
PRECISION = 1e-17
_METHOD = "linear mixed model, REML"
TUKEY = "Tukey, mixed model"


@dataclass(frozen=True, slots=True, kw_only=True)
class Coefficient:
    """One fixed coefficient; without a standard error there is no test."""

    name: str
    estimate: Estimate
    standard_error: float | None = None
    df: float | None = None
    t: float | None = None
    p: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MixedEffect:
    """The joint test of a term's coefficients, or why there is none."""

    effect: str
    df: int
    df_residual: float | None = None
    f: float | None = field(default=None, metadata={"formerly": "F"})
    p: float | None = None
    why_missing: str | None = field(default=None, metadata={"omit": True})


@dataclass(frozen=True, slots=True, kw_only=True)
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
        return {effect.effect: effect for effect in self.effects}[name]

    def coefficient(self, name: str) -> Coefficient:
        """One coefficient by name: ``intercept``, ``system[Suno]``."""
        return {coefficient.name: coefficient for coefficient in self.coefficients}[name]

    @property
    def intercept(self) -> Estimate:
        if not self.coefficients:
            return Estimate.missing(self.why_missing or "not fitted", self.method, self.counts)
        return self.coefficients[0].estimate


@one_blas_thread()
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
    data, groups = grouped_columns(outcome, fixed, random, interactions)
    if means_of is not None and means_of not in data.factors:
        raise InputError(f"'{means_of}' is not a factor of the model.", suggestion(means_of, list(data.factors)))
    reason = why_unfit(data, groups)
    if reason:
        return _nothing(data, random, reason)
    columns = fixed_columns(data, coding)
    if data.rows - columns.matrix.shape[1] < 1:
        return _nothing(data, random, "as many fixed coefficients as rows")
    order = arranged(groups, columns.matrix.shape[1])
    if order.work > most_work:
        return _nothing(data, random, too_large(groups))
    groups, system = order.groups, order.system(data.outcome, columns.matrix)
    fit = _fitted(system, groups, data)
    if isinstance(fit, str):
        return _nothing(data, random, fit)
    return _report(data, columns, system, fit, groups, means_of, confidence)


def _fitted(system: CrossedSystem, groups: Groups, data: ModelData) -> RemlFit | str:
    """The fit, or why there is none."""
    try:
        fit = maximise(system, [0.3] * len(groups), precision=PRECISION)
    except np.linalg.LinAlgError:
        return "no residual variation: the model fits perfectly"
    if fit.exact or fit.step.residual <= 1e-12 * float(data.outcome.var()):
        return "no residual variation: the model fits perfectly"
    if not fit.converged:
        return "no maximum of the likelihood was found"
    for name, ratio, explained in zip(groups, fit.step.ratios, fit.step.explained, strict=True):
        if ratio > 0 and explained < 1e-9:
            return f"the fixed effects leave nothing of {name}"
    return fit


def _marginal_means(
    data: ModelData, columns: FixedColumns, beta: Floats, inference: ContrastInference, of: str, confidence: float
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
        # Outside the span of the rows a combination has no single least-squares answer.
        if float(np.abs(gram @ inside - weights).max()) > 1e-6:
            return Estimate.missing(NOT_ESTIMABLE, method, data.counts), None
        row = inside @ onto
        return Estimate(value=float(row @ beta), method=f"{method} ({_METHOD})", counts=data.counts), row

    def weights(index: int, intercept: float) -> Floats:
        out = np.zeros(summed.shape[1])
        out[0], out[spans[of]] = intercept, contrasts[index]
        return out

    means: dict[Any, Estimate] = {}
    for index, level in enumerate(levels):
        point_estimate, row = combination(weights(index, 1.0), MEAN)
        if row is not None:
            error = math.sqrt(float(row @ inference.covariance @ row))
            point_estimate = _bounds.with_t(point_estimate, error, inference.df(row), "Satterthwaite t", confidence)
        means[level] = point_estimate

    def difference(i: int, j: int) -> Difference:
        point_estimate, row = combination(weights(i, 0.0) - weights(j, 0.0), DIFFERENCE)
        if row is None:
            return point_estimate
        return point_estimate, math.sqrt(float(row @ inference.covariance @ row) / 2), inference.df(row)

    return means, PairwiseComparison(TUKEY, len(levels), confidence).all_pairs(levels, difference, data.counts)


def _report(
    data: ModelData,
    columns: FixedColumns,
    system: CrossedSystem,
    fit: RemlFit,
    groups: Groups,
    means_of: str | None,
    confidence: float,
) -> MixedResult:
    step = fit.step
    fewest = max(min(size for _, size in groups.values()) - columns.matrix.shape[1], 1)
    inference, spread = _inference(system, fit, float(fewest))
    residuals = data.outcome - system.centre - columns.matrix @ step.fixed
    beta = step.fixed.copy()
    beta[0] += system.centre
    coefficients = [
        _coefficient(name, index, beta, inference, data, confidence) for index, name in enumerate(columns.names)
    ]
    gone = Estimate.missing("the other columns already span it", f"coefficient ({_METHOD})", data.counts)
    coefficients += [Coefficient(name=name, estimate=gone) for name in columns.aliased]
    methods = {name: f"variance of {name} ({_METHOD})" for name in groups}
    methods["residual"] = f"residual variance ({_METHOD})"
    variances = {
        name: Estimate(value=value, method=method, confidence=confidence, counts=data.counts)
        for (name, method), value in zip(methods.items(), step.variances, strict=True)
    }
    if len(groups) == 2:
        variances = _jackknifed(variances, groups, residuals, confidence)
    else:
        variances = {
            name: chi_square_interval(e, spread.get(index), confidence)
            for index, (name, e) in enumerate(variances.items())
        }
    notes = [f"the variance of {name} is estimated as 0" for name in groups if variances[name].value == 0]
    if not spread:
        notes.append("the information matrix is not positive: tests use the fewest degrees of freedom there could be")
    deviance = step.deviance + system.df * math.log(2 * math.pi)
    effects = _effects(data, columns, beta, inference)
    result = MixedResult(
        coefficients=tuple(coefficients),
        effects=effects,
        variances=variances,
        log_likelihood=-0.5 * deviance,
        method=_METHOD,
        notes=tuple(notes),
        counts=data.counts,
    )
    if means_of is None:
        return result
    means, pairs = _marginal_means(data, columns, beta, inference, means_of, confidence)
    return replace(result, means=means, pairs=pairs)


def _inference(system: CrossedSystem, fit: RemlFit, fewest: float) -> tuple[ContrastInference, dict[int, float]]:
    """Covariance of the coefficients with its derivatives, and the variance of each log variance by its place.

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
        return ContrastInference(step.fixed_covariance, fewest), {}
    # A log ratio is a log variance less the residual's; the score also depends on the residual variance itself.
    slopes = np.array(by_ratio).reshape(-1, len(live))
    hessian = np.vstack([slopes, -slopes.sum(axis=0) - 0.5 * step.squares[live] / step.residual])
    information = -0.5 * (hessian + hessian.T)
    if float(np.linalg.eigvalsh(information).min()) <= 0:
        return ContrastInference(step.fixed_covariance, fewest), {}
    spread = np.linalg.inv(information)
    residual_tilt = step.fixed_covariance - sum(tilt, np.zeros_like(step.fixed_covariance))
    variances = {component: float(spread[k, k]) for k, component in enumerate(live)}
    return ContrastInference(step.fixed_covariance, float(system.df), (*tilt, residual_tilt), spread), variances


def _coefficient(
    name: str, index: int, beta: Floats, inference: ContrastInference, data: ModelData, confidence: float
) -> Coefficient:
    row = np.eye(beta.size)[index]
    value, variance = float(beta[index]), float(inference.covariance[index, index])
    point_estimate = Estimate(value=value, method=f"coefficient ({_METHOD})", confidence=confidence, counts=data.counts)
    if not (variance > 0 and math.isfinite(variance)):
        return Coefficient(name=name, estimate=point_estimate.without_interval(NO_ERROR))
    error, df = math.sqrt(variance), inference.df(row)
    bounded = _bounds.with_t(point_estimate, error, df, "Satterthwaite t", confidence)
    return Coefficient(
        name=name, estimate=bounded, standard_error=error, df=df, t=value / error, p=_bounds.p_of_t(value / error, df)
    )


def chi_square_interval(point_estimate: Estimate, spread: float | None, confidence: float) -> Estimate:
    """A variance with Satterthwaite's chi-square interval, from the variance of its logarithm."""
    from scipy.special import chdtri

    value = float(point_estimate)
    if value == 0:
        return point_estimate.without_interval("estimated as 0, at the edge of what is possible")
    if spread is None:
        return point_estimate.without_interval("the information matrix is not positive")
    df, tail = 2 / spread, (1 - confidence) / 2
    if df < 1:
        return point_estimate.without_interval("it is known with less than one degree of freedom")
    low, high = (value * df / float(chdtri(df, p)) for p in (tail, 1 - tail))
    return point_estimate.with_interval(low, high, "Satterthwaite chi-square", confidence)


def _jackknifed(
    variances: dict[str, Estimate], groups: Groups, residuals: Floats, confidence: float
) -> dict[str, Estimate]:
    """Each variance with its two-way jackknife bounds, from what the fixed effects leave of the outcome."""
    rater = "rater" if "rater" in groups else list(groups)[1]
    item = next(name for name in groups if name != rater)
    (raters, n_raters), (items, n_items) = groups[rater], groups[item]
    d = Ratings(rater=raters, item=items, value=residuals, raters=range(n_raters), items=range(n_items))
    source_of = {item: "item", rater: "rater", "residual": "residual"}
    values = np.array([float(variances[name]) for name in source_of])
    bounds = component_bounds(d, values, confidence)
    if not isinstance(bounds, str):
        bounds = {name: bounds[source] for name, source in source_of.items()}
    return bounded_components(variances, bounds, confidence)


def _effects(
    data: ModelData, columns: FixedColumns, beta: Floats, inference: ContrastInference
) -> tuple[MixedEffect, ...]:
    from scipy.special import fdtrc

    out = []
    empty = holes(data)
    for term in data.terms:
        rows = columns.hypotheses[term.name]
        reason = why_untested(term, rows, data, empty)
        tested = None if reason else inference.f_test(rows, beta)
        if tested is None:
            out.append(MixedEffect(effect=term.name, df=0, why_missing=reason or NO_ERROR))
            continue
        f, df = tested
        out.append(
            MixedEffect(effect=term.name, df=rows.shape[0], df_residual=df, f=f, p=float(fdtrc(rows.shape[0], df, f)))
        )
    return tuple(out)


def _nothing(data: ModelData, random: Iterable[str], reason: str) -> MixedResult:
    variances = {name: Estimate.missing(reason, f"variance of {name}", data.counts) for name in [*random, "residual"]}
    effects = tuple(MixedEffect(effect=term.name, df=0, why_missing=reason) for term in data.terms)
    return MixedResult(
        coefficients=(),
        effects=effects,
        variances=variances,
        log_likelihood=None,
        method=_METHOD,
        notes=(),
        counts=data.counts,
        why_missing=reason,
    )


def random_variances(
    outcome: Column, cells: Sequence[Ints], random: Mapping[str, Column], *, precision: float = 1e-6
) -> dict[str, float] | str:
    """Variances of random intercepts and of the residual, the means of cells held constant; or why they cannot be estimated.

    ``cells`` are codes of each row under one or more factors without interaction.
    """
    values = as_floats(outcome, "outcome")
    groups: Groups = {}
    for name, column in random.items():
        names, codes, _ = coded(id_array(column), name)
        groups[name] = (codes, len(names))
    parts = [np.ones((values.size, 1))]
    parts += [(codes[:, None] == np.arange(1, int(codes.max()) + 1)).astype(np.float64) for codes in cells]
    matrix = np.hstack(parts)
    matrix = np.ascontiguousarray(matrix[:, first_independent(matrix)])
    order = arranged(groups, matrix.shape[1])
    if order.work > MOST_WORK:
        return TOO_LARGE
    try:
        fit = maximise(order.system(values, matrix), [0.3] * len(groups), precision=precision)
    except np.linalg.LinAlgError:
        return "the ratings do not determine the variances"
    if fit.exact or not fit.converged:
        return "no maximum of the likelihood was found"
    return dict(zip([*order.groups, "residual"], fit.step.variances.tolist(), strict=True))
