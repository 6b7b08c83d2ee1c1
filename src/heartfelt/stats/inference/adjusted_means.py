"""Estimated marginal means: what a linear model expects of each level of a factor, the rest held equal.

The mean of a level is the model's expectation averaged over all levels of the other factors with equal weight, at the
mean of every covariate (least-squares means; Searle, Speed and Milliken 1980). Pairs use the model's own residual mean
square and degrees of freedom, and the studentized range over all levels (Tukey-Kramer). Where empty cells leave a mean
or a difference without a single least-squares answer, it is missing with the reason. Differences are ``a`` minus ``b``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from heartfelt.errors import InputError, suggestion
from heartfelt.stats import _bounds
from heartfelt.stats.columns.paired import Column, is_constant
from heartfelt.stats.columns.triples import Floats
from heartfelt.stats.estimate import Estimate
from heartfelt.stats.inference import linear_model
from heartfelt.stats.inference.linear_model import Interactions, ModelData, contrast_rows, model_data
from heartfelt.stats.inference.posthoc import Difference, Pairwise, PairwiseComparison

METHOD = "Tukey-Kramer, adjusted means"
MEAN = "estimated marginal mean"
DIFFERENCE = "difference of adjusted means"
NOT_ESTIMABLE = "empty cells leave it without a single least-squares answer"


@dataclass(frozen=True, slots=True, kw_only=True)
class MarginalMeans:
    """The adjusted means of one factor's levels and all their differences."""

    factor: str
    means: Mapping[Any, Estimate]
    pairs: Pairwise
    residual_df: int = 0
    residual_mean_square: float | None = None


def marginal_means(
    outcome: Column,
    factors: Mapping[str, Column],
    of: str,
    *,
    interactions: Interactions = (),
    covariates: Mapping[str, Column] | None = None,
    confidence: float = 0.95,
) -> MarginalMeans:
    """Adjusted means of the factor ``of`` in a linear model, and all their differences by Tukey and Kramer's test."""
    _bounds.check_confidence(confidence)
    if of not in factors:
        raise InputError(f"'{of}' is not a factor of the model.", suggestion(of, list(factors)))
    data = model_data(outcome, factors, covariates or {}, interactions)
    levels = data.factors[of].levels
    counts = data.counts | {"groups": len(levels)}
    compare = PairwiseComparison(METHOD, len(levels), confidence)
    gone = f"{len(levels)} groups; at least 2 are needed" if len(levels) < 2 else None
    if gone is None and is_constant(data.outcome):
        gone = "the outcome does not vary"
    if gone is not None:
        means = {name: Estimate.missing(gone, MEAN, data.counts) for name in levels}
        nothing = Estimate.missing(gone, DIFFERENCE, data.counts)
        pairs = compare.all_pairs(levels, lambda _i, _j: nothing, counts, gone)
        return MarginalMeans(factor=of, means=means, pairs=pairs)
    model = linear_model.reduced(data)
    residual, rank = linear_model.residual(model, data.terms)
    free = data.rows - rank
    reason = linear_model.why_no_test(residual, free, model.total)
    fit = _Fit(data, model, of, None if reason else residual / free, free, reason or "")
    pairs = compare.all_pairs(levels, fit.difference, counts, reason)
    means = {level: fit.mean(index, confidence) for index, level in enumerate(levels)}
    return MarginalMeans(factor=of, means=means, pairs=pairs, residual_df=free, residual_mean_square=fit.mean_square)


class _Fit:
    """The least-squares fit of one model, asked for linear combinations of its coefficients."""

    def __init__(
        self, data: ModelData, model: linear_model.Reduced, of: str, mean_square: float | None, free: int, reason: str
    ) -> None:
        names = ["", *(term.name for term in data.terms)]
        columns = model.stack(names)
        lengths = np.sqrt(np.sum(columns * columns, axis=0))
        self.lengths = np.where(lengths > 0, lengths, 1.0)
        left_vectors, size, right = np.linalg.svd(columns / self.lengths, full_matrices=False)
        estimable = size > 1e-9 * size.max()
        self.right = right[estimable]
        self.scores = (left_vectors.T @ model.outcome)[estimable] / size[estimable]
        self.inverse = 1.0 / size[estimable]
        ends = np.cumsum([0, *(model.columns[name].shape[1] for name in names)])
        index = names.index(of)
        self.span = slice(int(ends[index]), int(ends[index + 1]))
        levels = len(data.factors[of].levels)
        self.contrasts = contrast_rows(levels, "sum")
        self.sizes = np.bincount(data.factors[of].codes, minlength=levels)
        self.grand = float(data.outcome.mean())
        self.mean_square, self.free, self.why = mean_square, free, reason

    def _combination(self, weights: Floats, method: str, rows: int) -> tuple[Estimate, float]:
        """A linear combination of coefficients and its variance factor; missing without a single answer."""
        # Columns were scaled to length one, so coefficients are in those units.
        scaled = weights / self.lengths
        inside = self.right @ scaled
        if float(np.linalg.norm(scaled - self.right.T @ inside)) > 1e-7 * float(np.linalg.norm(scaled)):
            return Estimate.missing(NOT_ESTIMABLE, method, {"rows": rows}), 0.0
        # Only means weigh the intercept.
        value = float(inside @ self.scores) + weights[0] * self.grand
        factor = float(np.sum((inside * self.inverse) ** 2))
        return Estimate(value=value, method=method, counts={"rows": rows}, why_no_interval=self.why or None), factor

    def _weights(self, index: int, intercept: float) -> Floats:
        """Coefficients of a level's mean: under sum-to-zero coding every term with another factor averages to zero."""
        out = np.zeros(self.lengths.size)
        out[0] = intercept
        out[self.span] = self.contrasts[index]
        return out

    def mean(self, index: int, confidence: float) -> Estimate:
        point_estimate, factor = self._combination(self._weights(index, 1.0), MEAN, int(self.sizes[index]))
        if point_estimate.value is None or self.mean_square is None:
            return point_estimate
        error = math.sqrt(self.mean_square * factor)
        return _bounds.with_t(point_estimate, error, self.free, "Student's t", confidence)

    def difference(self, i: int, j: int) -> Difference:
        rows = int(self.sizes[i] + self.sizes[j])
        point_estimate, factor = self._combination(self._weights(i, 0.0) - self._weights(j, 0.0), DIFFERENCE, rows)
        if point_estimate.value is None or self.mean_square is None:
            return point_estimate
        return point_estimate, math.sqrt(self.mean_square * factor / 2), float(self.free)
