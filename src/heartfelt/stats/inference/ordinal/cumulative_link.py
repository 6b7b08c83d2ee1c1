"""Cumulative link models: ratings as ordered categories, without assuming equal steps between them.

Behind every rating is a latent value: a linear predictor (fixed effects and crossed random intercepts) plus
logistic or normal error. The rating says between which two thresholds it fell. Thresholds are free, so the model
holds whatever the distances between the points of the scale are; coefficients are in the latent unit, log odds
ratios under the ``logit`` link, and positive where ratings are higher.

Maximum likelihood; with random effects by the Laplace approximation, standard errors from the observed
information, as ``clm`` and ``clmm`` of R's ordinal (Christensen 2019). Without random effects the likelihood is
exact. Categories are the distinct outcomes in increasing order. Text and yes/no columns are factors; numbers are
covariates, centred at their mean, so thresholds hold there.

Tests of terms are each given all others, under sum-to-zero coding. ``p`` is from the chi-square distribution (Wald, or
twice the difference of log likelihoods), which assumes many levels of every grouping; with few raters it is too small.
``p_f`` takes the Wald statistic over its degrees of freedom for an F with Satterthwaite's denominator, whose gradient
is that of the coefficients' covariance at the mode; so do the ``differences`` between levels, with Tukey's correction.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Literal

import numpy as np

from heartfelt.errors import InputError
from heartfelt.stats import _bounds
from heartfelt.stats.columns.paired import Column
from heartfelt.stats.columns.triples import Floats, Ints
from heartfelt.stats.compiled.blas_threads import one_blas_thread
from heartfelt.stats.estimate import Estimate
from heartfelt.stats.inference.linear_model import Coding, Interactions, ModelData, holes
from heartfelt.stats.inference.mixed import chi_square_interval
from heartfelt.stats.inference.ordinal.effects import NoMaximumError
from heartfelt.stats.inference.ordinal.fit import Information, LaplaceStep, OrdinalFit, OrdinalLikelihood
from heartfelt.stats.inference.ordinal.links import LINKS, Link
from heartfelt.stats.inference.posthoc import Difference, Pairwise, PairwiseComparison
from heartfelt.stats.inference.random_intercepts import (
    NO_ERROR,
    ContrastInference,
    FixedColumns,
    fixed_columns,
    grouped_columns,
    too_large,
    why_unfit,
    why_untested,
)
from heartfelt.stats.reliability.reml_blocks import Groups

OrdinalTest = Literal["wald", "likelihood-ratio"]
TUKEY = "Tukey, cumulative link model"
MOST_CATEGORIES = 50
MOST_WORK = 1e10
"""Multiplications a factorisation may take: those of 3,000 levels that cannot be eliminated."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OrdinalCoefficient:
    """A threshold or a coefficient in the latent unit, with its Wald test."""

    name: str
    estimate: Estimate
    standard_error: float | None = None
    z: float | None = None
    p: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OrdinalEffect:
    """The joint test of a term's coefficients, or why there is none; ``p_f`` is the one for few levels."""

    effect: str
    df: int = 0
    chi_square: float | None = None
    p: float | None = None
    df_residual: float | None = None
    p_f: float | None = None
    why_missing: str | None = field(default=None, metadata={"omit": True})


@dataclass(frozen=True, slots=True, kw_only=True)
class CumulativeLinkResult:
    """A fitted model. ``thresholds`` separate neighbouring ``categories``; ``variances`` are the random factors'.

    Without a fit, ``why_missing`` says why.
    """

    link: Link
    categories: tuple[float, ...]
    thresholds: tuple[OrdinalCoefficient, ...]
    coefficients: tuple[OrdinalCoefficient, ...]
    effects: tuple[OrdinalEffect, ...]
    variances: Mapping[str, Estimate]
    log_likelihood: float | None
    parameters: int
    method: str
    notes: tuple[str, ...]
    counts: Mapping[str, int]
    why_missing: str | None = field(default=None, metadata={"omit": True})
    model: _Fitted | None = field(default=None, repr=False, compare=False, metadata={"omit": True})

    def effect(self, name: str) -> OrdinalEffect:
        return {effect.effect: effect for effect in self.effects}[name]

    def coefficient(self, name: str) -> OrdinalCoefficient:
        """One threshold or coefficient by name: ``2|3``, ``system[Suno]``."""
        return {row.name: row for row in (*self.thresholds, *self.coefficients)}[name]

    def differences(self, factor: str, *, confidence: float = 0.95) -> Pairwise:
        """All pairs of a factor's levels, ``a`` minus ``b``, simultaneous by the studentized range (Tukey)."""
        _bounds.check_confidence(confidence)
        if self.model is None:
            return Pairwise(
                pairs=(), method=self.method, confidence=confidence, counts=self.counts, why_missing=self.why_missing
            )
        return self.model.differences(factor, self.method, confidence)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Fitted:
    """Coefficients with what their contrasts are tested by."""

    data: ModelData
    names: list[str]
    coding: Coding
    beta: Floats
    inference: ContrastInference

    def differences(self, factor: str, method: str, confidence: float) -> Pairwise:
        if factor not in self.data.factors or any(
            factor in term.parts and len(term.parts) > 1 for term in self.data.terms
        ):
            raise InputError(
                f"'{factor}' is not a factor of the model, or it is part of an interaction.",
                "Name a factor whose differences are the same throughout.",
            )
        levels = self.data.factors[factor].levels
        column_of = {name: index for index, name in enumerate(self.names)}
        rows = np.zeros((len(levels), len(self.names)))
        for index, level in enumerate(levels):
            name = f"{factor}[{level}]"
            if name in column_of:
                rows[index, column_of[name]] = 1.0
            elif self.coding == "sum" and index == len(levels) - 1:
                rows[index, [column_of[f"{factor}[{level}]"] for level in levels[:-1]]] = -1.0

        def difference(a: int, b: int) -> Difference:
            row = rows[a] - rows[b]
            variance = float(row @ self.inference.covariance @ row)
            point_estimate = Estimate(value=float(row @ self.beta), method=method, counts=self.data.counts)
            if not variance > 0:
                return point_estimate.without_interval(NO_ERROR)
            return point_estimate, math.sqrt(variance / 2), self.inference.df(row)

        return PairwiseComparison(TUKEY, len(levels), confidence).all_pairs(levels, difference, self.data.counts)


@one_blas_thread()
def cumulative_link_model(
    outcome: Column,
    fixed: Mapping[str, Column],
    random: Mapping[str, Column] | None = None,
    *,
    link: Link = "logit",
    interactions: Interactions = (),
    coding: Coding = "treatment",
    test: OrdinalTest = "wald",
    confidence: float = 0.95,
    most_work: float = MOST_WORK,
    information: Information = "observed",
) -> CumulativeLinkResult:
    """Fit ordered categories by fixed effects and up to three random intercepts, crossed or nested.

    ``most_work`` bounds the multiplications of one factorisation, of which a fit takes about a hundred; beyond it the
    model is refused. ``information="mode"`` saves most of them: standard errors leave out the curvature of the
    Laplace term in the coefficients, which makes them 0 to 3% too small.
    """
    _bounds.check_confidence(confidence)
    random = random or {}
    _check_arguments(len(random), link, coding, test, information)
    data, groups = grouped_columns(outcome, fixed, random, interactions)
    method = f"cumulative {link} model, {'Laplace' if random else 'maximum likelihood'}"
    categories, codes = np.unique(data.outcome, return_inverse=True)
    task = _Task(
        data=data,
        groups=groups,
        link=link,
        coding=coding,
        method=method,
        confidence=confidence,
        categories=tuple(categories.tolist()),
        category=codes.astype(np.int64),
        random=tuple(random),
        most_work=most_work,
        information=information,
    )
    reason = _why_unfit(task)
    if reason:
        return task.nothing(reason)
    columns = fixed_columns(data, coding)
    scale = np.maximum(np.abs(columns.matrix[:, 1:]).max(axis=0, initial=0.0), 1e-300)
    try:
        likelihood, best, gone = _maximum(task, columns.matrix[:, 1:] / scale)
        fit = likelihood.inference(best, task.information)
        return _report(task, columns, scale, likelihood, fit, gone, test)
    except NoMaximumError as problem:
        if problem.column is None:
            return task.nothing(str(problem))
        name = columns.names[1 + problem.column]
        return task.nothing(f"{name} separates the categories: its coefficient grows without bound")


def _check_arguments(groupings: int, link: str, coding: str, test: str, information: str) -> None:
    if groupings > 3:
        raise InputError(f"{groupings} random groupings were given.", "Name at most three.")
    for value, argument, allowed in (
        (link, "link", tuple(LINKS)),
        (coding, "coding", ("treatment", "sum")),
        (test, "test", ("wald", "likelihood-ratio")),
        (information, "information", ("observed", "mode")),
    ):
        if value not in allowed:
            choices = " or ".join(f"'{name}'" for name in allowed)
            raise InputError(f"No {argument} is called '{value}'.", f"Choose {choices}.")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Task:
    """What is to be fitted, and how it is reported."""

    data: ModelData
    groups: Groups
    link: Link
    coding: Coding
    method: str
    confidence: float
    categories: tuple[float, ...]
    category: Ints
    random: tuple[str, ...]
    most_work: float
    information: Information

    def nothing(self, reason: str) -> CumulativeLinkResult:
        """No fit, and why."""
        counts = self.data.counts
        return CumulativeLinkResult(
            link=self.link,
            categories=self.categories,
            thresholds=(),
            coefficients=(),
            effects=tuple(OrdinalEffect(effect=term.name, why_missing=reason) for term in self.data.terms),
            variances={name: Estimate.missing(reason, f"variance of {name}", counts) for name in self.random},
            log_likelihood=None,
            parameters=0,
            method=self.method,
            notes=(),
            counts=counts,
            why_missing=reason,
        )


def _why_unfit(task: _Task) -> str | None:
    """Why the model cannot be fitted, as far as the table alone tells."""
    data, last = task.data, len(task.categories) - 1
    if last > MOST_CATEGORIES - 1:
        return f"{last + 1:,} different values; at most {MOST_CATEGORIES} are taken for ordered categories"
    reason = why_unfit(data, task.groups)
    if reason:
        return reason
    for name, factor in data.factors.items():
        for end, where in ((0, "lowest"), (last, "highest")):
            inside = np.bincount(factor.codes, task.category == end, minlength=len(factor.levels))
            one_sided = np.flatnonzero(inside == np.bincount(factor.codes, minlength=len(factor.levels)))
            if one_sided.size and len(factor.levels) > 1:
                level = factor.levels[int(one_sided[0])]
                return f"every rating of {name} {level} is in the {where} category: its effect has no bound"
    return None


def _maximum(task: _Task, columns: Floats) -> tuple[OrdinalLikelihood, LaplaceStep, list[str]]:
    """The maximum, without the groupings whose variance is estimated as 0, and those groupings."""
    groups = dict(task.groups)
    gone: list[str] = []
    before: tuple[OrdinalLikelihood, LaplaceStep] | None = None
    while True:
        likelihood = OrdinalLikelihood(task.category, len(task.categories), columns, groups, task.link)
        if likelihood.effects.work > task.most_work:
            raise NoMaximumError(too_large(groups))
        start = likelihood.start() if before is None else likelihood.start_after(*before)
        best = likelihood.maximise(start)
        vanished = likelihood.vanished(best)
        if vanished is None:
            return likelihood, best, gone
        name = likelihood.effects.names[vanished]
        gone.append(name)
        del groups[name]
        before = likelihood, best


def _report(
    task: _Task,
    columns: FixedColumns,
    scale: Floats,
    likelihood: OrdinalLikelihood,
    fit: OrdinalFit,
    gone: list[str],
    test: OrdinalTest,
) -> CumulativeLinkResult:
    cuts, end, data = likelihood.cuts, likelihood.fixed, task.data
    unit = np.concatenate([np.ones(cuts), 1.0 / scale])
    values = fit.parameters[:end] * unit
    covariance = fit.covariance[:end, :end] * np.outer(unit, unit)
    rows = [
        _coefficient(name, float(value), float(variance), task)
        for name, value, variance in zip(
            [*_threshold_names(task.categories), *columns.names[1:]], values, np.diag(covariance), strict=True
        )
    ]
    aliased = Estimate.missing("the other columns already span it", task.method, data.counts)
    rows += [OrdinalCoefficient(name=name, estimate=aliased) for name in columns.aliased]
    inference = ContrastInference(
        covariance[cuts:, cuts:],
        float(max(data.rows - end, 1)),
        tuple(tilt[cuts:end, cuts:end] * np.outer(unit, unit)[cuts:, cuts:] for tilt in fit.tilt),
        fit.covariance[end:, end:] if len(fit.tilt) else None,
    )
    variances = {}
    for name in task.random:
        value, spread = 0.0, None
        if name not in gone:
            index = end + likelihood.effects.names.index(name)
            value, spread = math.exp(2 * fit.parameters[index]), 4 * float(fit.covariance[index, index])
        method = f"variance of {name} ({task.method})"
        point_estimate = Estimate(value=value, method=method, confidence=task.confidence, counts=data.counts)
        variances[name] = chi_square_interval(point_estimate, spread, task.confidence)
    fitted = _Fitted(data=data, names=columns.names[1:], coding=task.coding, beta=values[cuts:], inference=inference)
    return CumulativeLinkResult(
        link=task.link,
        categories=task.categories,
        thresholds=tuple(rows[:cuts]),
        coefficients=tuple(rows[cuts:]),
        effects=tuple(_effects(task, columns, scale, fitted, fit.log_likelihood, test)),
        variances=variances,
        log_likelihood=fit.log_likelihood,
        parameters=end + len(task.random),
        method=task.method,
        notes=tuple(f"the variance of {name} is estimated as 0" for name in gone),
        counts=data.counts,
        model=fitted,
    )


def _threshold_names(categories: Iterable[float]) -> list[str]:
    names = [f"{value:g}" for value in categories]
    return [f"{below}|{above}" for below, above in pairwise(names)]


def _coefficient(name: str, value: float, variance: float, task: _Task) -> OrdinalCoefficient:
    from scipy.special import ndtr

    error = math.sqrt(variance)
    half = _bounds.normal_quantile(task.confidence) * error
    estimate = Estimate(value=value, method=task.method, counts=task.data.counts)
    return OrdinalCoefficient(
        name=name,
        estimate=estimate.with_interval(value - half, value + half, "Wald", task.confidence),
        standard_error=error,
        z=value / error,
        p=float(2 * ndtr(-abs(value / error))),
    )


def _effects(
    task: _Task, columns: FixedColumns, scale: Floats, fitted: _Fitted, log_likelihood: float, test: OrdinalTest
) -> Iterable[OrdinalEffect]:
    from scipy.special import chdtrc, fdtrc

    empty = holes(task.data)
    for term in task.data.terms:
        rows = columns.hypotheses[term.name][:, 1:]
        reason = why_untested(term, rows, task.data, empty)
        if reason:
            yield OrdinalEffect(effect=term.name, why_missing=reason)
            continue
        df = len(rows)
        if test == "likelihood-ratio":
            chi_square = 2 * (log_likelihood - _restricted(task, columns.matrix[:, 1:] / scale, rows / scale))
            p = float(chdtrc(df, max(chi_square, 0.0)))
            yield OrdinalEffect(effect=term.name, df=df, chi_square=chi_square, p=p)
            continue
        tested = fitted.inference.f_test(rows, fitted.beta)
        if tested is None:
            yield OrdinalEffect(effect=term.name, why_missing=NO_ERROR)
            continue
        f, df_residual = tested
        yield OrdinalEffect(
            effect=term.name,
            df=df,
            chi_square=f * df,
            p=float(chdtrc(df, f * df)),
            df_residual=df_residual,
            p_f=float(fdtrc(df, df_residual, f)),
        )


def _restricted(task: _Task, columns: Floats, rows: Floats) -> float:
    """The largest log likelihood where the rows times the coefficients are 0."""
    _, _, directions = np.linalg.svd(rows)
    _, best, _ = _maximum(task, columns @ directions[len(rows) :].T)
    return best.log_likelihood
