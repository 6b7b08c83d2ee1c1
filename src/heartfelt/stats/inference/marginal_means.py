"""Estimated marginal means: what a linear model expects of each level of a factor, the rest held equal.

The mean of a level is the model's expectation averaged over all levels of the other factors with equal
weight, at the mean of every covariate (least-squares means; Searle, Speed and Milliken 1980). Pairs use the
model's own residual mean square and degrees of freedom, and the studentized range over all levels
(Tukey-Kramer). Where empty cells leave a mean or a difference without a single least-squares answer, it is
missing with the reason. Differences are ``a`` minus ``b``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from heartfelt.errors import InputError, suggestion
from heartfelt.stats import _bounds
from heartfelt.stats._metrics import is_constant
from heartfelt.stats._paired import Column
from heartfelt.stats.estimate import Estimate
from heartfelt.stats.inference import linear_model
from heartfelt.stats.inference.linear_model import Interactions, ModelData, contrast_rows, model_data
from heartfelt.stats.inference.posthoc import Pair, Pairwise
from heartfelt.stats.inference.studentized_range import critical, upper_tail
from heartfelt.stats.triples import Floats

METHOD = "Tukey-Kramer, adjusted means"
MEAN = "estimated marginal mean"
DIFFERENCE = "difference of adjusted means"
NOT_ESTIMABLE = "empty cells leave it without a single least-squares answer"


@dataclass(frozen=True, slots=True)
class MarginalMeans:
    """The adjusted means of one factor's levels and all their differences."""

    factor: str
    means: Mapping[Any, Estimate]
    pairs: Pairwise
    residual_df: int
    residual_mean_square: float | None

    def to_json(self) -> dict[str, Any]:
        """A plain object."""
        return {
            "factor": self.factor,
            "means": {str(name): mean.to_json() for name, mean in self.means.items()},
            "pairs": self.pairs.to_json(),
            "residual_df": self.residual_df,
            "residual_mean_square": self.residual_mean_square,
        }


def marginal_means(
    outcome: Column,
    factors: Mapping[str, Column],
    of: str,
    *,
    interactions: Interactions = (),
    covariates: Mapping[str, Column] | None = None,
    confidence: float = 0.95,
) -> MarginalMeans:
    """Adjusted means of the factor ``of`` in a linear model, and all their differences by Tukey and Kramer's
    test.
    """
    _bounds.check_confidence(confidence)
    if of not in factors:
        raise InputError(f"'{of}' is not a factor of the model.", suggestion(of, list(factors)))
    data = model_data(outcome, factors, covariates or {}, interactions)
    levels = data.factors[of].levels
    if len(levels) < 2:
        return _nothing(data, of, f"{len(levels)} groups; at least 2 are needed", confidence)
    if is_constant(data.outcome):
        return _nothing(data, of, "the outcome does not vary", confidence)
    model = linear_model.reduced(data)
    residual, rank = linear_model.residual(model, data.terms)
    free = data.rows - rank
    why = None
    if free == 0:
        why = "no residual degrees of freedom: as many parameters as rows"
    elif residual <= 1e-20 * model.total:
        why = "no residual variation: the model fits perfectly"
    fit = _Fit(data, model, of, None if why else residual / free, free, why, confidence)
    names = list(levels)
    means = {name: fit.mean(place) for place, name in enumerate(names)}
    cut = math.nan if why else critical(confidence, len(names), free)
    pairs = tuple(fit.pair(i, j, cut) for i, j in combinations(range(len(names)), 2))
    counts = data.counts | {"groups": len(names)}
    table = Pairwise(pairs, METHOD, confidence, counts, why)
    return MarginalMeans(of, means, table, free, fit.mean_square)


class _Fit:
    """The least-squares fit of one model, asked for linear combinations of its coefficients."""

    def __init__(
        self,
        data: ModelData,
        model: linear_model.Reduced,
        of: str,
        mean_square: float | None,
        free: int,
        why: str | None,
        confidence: float,
    ) -> None:
        names = ["", *(term.name for term in data.terms)]
        columns = model.stack(names)
        self.lengths = np.sqrt(np.sum(columns * columns, axis=0))
        self.lengths[self.lengths == 0] = 1.0
        left, size, right = np.linalg.svd(columns / self.lengths, full_matrices=False)
        known = size > 1e-9 * size.max()
        self.right = right[known]
        self.scores = (left.T @ model.outcome)[known] / size[known]
        self.inverse = 1.0 / size[known]
        widths = [model.columns[name].shape[1] for name in names]
        ends = np.cumsum([0, *widths])
        place = names.index(of)
        self.span = slice(int(ends[place]), int(ends[place + 1]))
        self.contrasts = contrast_rows(len(data.factors[of].levels), "sum")
        self.data, self.levels = data, data.factors[of].levels
        self.sizes = np.bincount(data.factors[of].codes, minlength=len(self.levels))
        self.grand = float(data.outcome.mean())
        self.mean_square, self.free, self.why, self.confidence = mean_square, free, why, confidence

    def _combination(self, weights: Floats) -> tuple[float, float] | None:
        """Estimate and variance factor of a linear combination of coefficients; None where it has no single
        answer.
        """
        # Columns were scaled to length one, so coefficients are in those units.
        scaled = weights / self.lengths
        inside = self.right @ scaled
        if float(np.linalg.norm(scaled - self.right.T @ inside)) > 1e-7 * float(np.linalg.norm(scaled)):
            return None
        return float(inside @ self.scores), float(np.sum((inside * self.inverse) ** 2))

    def _weights(self, place: int, *, intercept: bool) -> Floats:
        """Coefficients of a level's mean: under sum-to-zero coding every term with another factor averages to
        zero.
        """
        out = np.zeros(self.lengths.size)
        out[0] = float(intercept)
        out[self.span] = self.contrasts[place]
        return out

    def mean(self, place: int) -> Estimate:
        counts = {"rows": int(self.sizes[place])}
        found = self._combination(self._weights(place, intercept=True))
        if found is None:
            return Estimate.missing(NOT_ESTIMABLE, MEAN, counts)
        value = found[0] + self.grand
        plain = Estimate(value, method=MEAN, counts=counts)
        if self.mean_square is None:
            return _bounds.bounded(plain, None, "", self.confidence, self.why or "")
        half = _bounds.t_quantile(self.confidence, self.free) * math.sqrt(self.mean_square * found[1])
        return plain.with_interval(value - half, value + half, "Student's t", self.confidence)

    def pair(self, i: int, j: int, cut: float) -> Pair:
        a, b = self.levels[i], self.levels[j]
        counts = {"rows": int(self.sizes[i] + self.sizes[j])}
        found = self._combination(self._weights(i, intercept=False) - self._weights(j, intercept=False))
        if found is None:
            return Pair(a, b, Estimate.missing(NOT_ESTIMABLE, DIFFERENCE, counts), None, None, None, None)
        plain = Estimate(found[0], method=DIFFERENCE, counts=counts)
        if self.mean_square is None:
            bare = _bounds.bounded(plain, None, METHOD, self.confidence, self.why or "")
            return Pair(a, b, bare, None, None, None, None)
        scale = math.sqrt(self.mean_square * found[1] / 2)
        q = abs(found[0]) / scale
        p = upper_tail(q, len(self.levels), self.free)
        whole = plain.with_interval(found[0] - cut * scale, found[0] + cut * scale, METHOD, self.confidence)
        return Pair(a, b, whole, q / math.sqrt(2), float(self.free), p, p < 1 - self.confidence)


def _nothing(data: ModelData, of: str, why: str, confidence: float) -> MarginalMeans:
    levels = data.factors[of].levels
    means = {name: Estimate.missing(why, MEAN, data.counts) for name in levels}
    counts = data.counts | {"groups": len(levels)}
    pairs = tuple(
        Pair(a, b, Estimate.missing(why, DIFFERENCE, data.counts), None, None, None, None)
        for a, b in combinations(levels, 2)
    )
    return MarginalMeans(of, means, Pairwise(pairs, METHOD, confidence, counts, why), 0, None)
