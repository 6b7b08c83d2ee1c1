"""The shrinkage slope: how much of an intended difference listeners perceive.

The least-squares line of perceived on intended coordinates. Slope 1 with intercept 0 means that what was meant is what
was felt; a slope below 1 means that differences shrink towards the point where the line meets perceived = intended
(``neutral``); 0 means that the intent does not come through. Both columns are in one unit.

Errors never assume equal variances. Without clusters: HC3 (MacKinnon and White 1985) with Student t. One
clustering (the clips of one intent): CR2 with Satterthwaite degrees of freedom (Bell and McCaffrey 2002),
made for few clusters. Two clusterings at once (rater and stimulus): Cameron, Gelbach and Miller (2011), CR1
each, Student t with the smaller number of clusters less one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from heartfelt.errors import InputError
from heartfelt.stats import _bounds
from heartfelt.stats.columns.paired import Column, PairedValues, cluster_codes, coded, is_constant, pairs
from heartfelt.stats.columns.triples import Floats, Ints
from heartfelt.stats.estimate import Estimate


@dataclass(frozen=True, slots=True, kw_only=True)
class ShrinkageSlope:
    """The line of perceived on intended; the slope is the headline.

    ``p_no_relation`` tests slope 0, ``p_no_shrinkage`` slope 1; ``df`` are the slope's degrees of freedom.
    """

    slope: Estimate
    intercept: Estimate
    neutral: float | None = None
    r_squared: float | None = None
    standard_error: float | None = None
    df: float | None = None
    p_no_relation: float | None = None
    p_no_shrinkage: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Line:
    """A fitted line: x centred, coefficients at the centre, residuals, and the inverse of X'X."""

    design: Floats
    residual: Floats
    inverse: Floats
    centre: float
    mean: float
    slope: float

    @property
    def contrasts(self) -> Floats:
        """Rows that read intercept and slope off the centred coefficients."""
        return np.array([[1.0, -self.centre], [0.0, 1.0]])


def shrinkage_slope(
    perceived: Column,
    intended: Column,
    *,
    cluster: Column | Mapping[str, Column] | None = None,
    confidence: float = 0.95,
) -> ShrinkageSlope:
    """Fit the line. ``cluster``: one column of ids, or a mapping of two named ones."""
    _bounds.check_confidence(confidence)
    data = pairs(intended, perceived)
    clusters = _clusters(cluster, data)
    counts = data.counts | {name: int(codes.max()) + 1 for name, codes in clusters.items() if codes.size}
    name = "least-squares slope of perceived on intended"
    reason = f"{data.n} pairs; at least 3 are needed" if data.n < 3 else None
    if reason is None and is_constant(data.x):
        reason = "the intended coordinate does not vary"
    if reason:
        slope, intercept = (Estimate.missing(reason, method, counts) for method in (name, "intercept"))
        return ShrinkageSlope(slope=slope, intercept=intercept)
    line = _fit(data)
    total = float(np.sum((data.y - data.y.mean()) ** 2))
    r_squared = 1 - float(line.residual @ line.residual) / total if total > 0 else None
    estimates, error, df = _estimates(line, clusters, counts, confidence)
    tests = [_p_value(line.slope - at, error, df) for at in (0.0, 1.0)]
    shrinkage = 1 - line.slope
    neutral = (line.mean - line.slope * line.centre) / shrinkage if abs(shrinkage) > 1e-12 else None
    return ShrinkageSlope(
        slope=estimates[1],
        intercept=estimates[0],
        neutral=neutral,
        r_squared=r_squared,
        standard_error=error,
        df=df,
        p_no_relation=tests[0],
        p_no_shrinkage=tests[1],
    )


def _clusters(cluster: Column | Mapping[str, Column] | None, data: PairedValues) -> dict[str, Ints]:
    if cluster is None:
        return {}
    named = dict(cluster) if isinstance(cluster, Mapping) else {"clusters": cluster}
    if len(named) > 2:
        raise InputError(f"{len(named)} clusterings were given.", "Pass one or two.")
    return {name: cluster_codes(column, data.used, name)[0] for name, column in named.items()}


def _fit(data: PairedValues) -> _Line:
    centre = float(data.x.mean())
    x = data.x - centre
    spread = float(x @ x)
    mean, slope = float(data.y.mean()), float(x @ data.y) / spread
    design = np.column_stack([np.ones(data.n), x])
    residual = data.y - mean - slope * x
    return _Line(
        design=design,
        residual=residual,
        inverse=np.diag([1 / data.n, 1 / spread]),
        centre=centre,
        mean=mean,
        slope=slope,
    )


def _estimates(
    line: _Line, clusters: dict[str, Ints], counts: dict[str, int], confidence: float
) -> tuple[list[Estimate], float | None, float | None]:
    values = line.contrasts @ np.array([line.mean, line.slope])
    names = ("intercept", "least-squares slope of perceived on intended")
    point_estimates = [Estimate(value=v, method=m, counts=counts) for v, m in zip(values, names, strict=True)]
    fewest = min((int(codes.max()) + 1 for codes in clusters.values()), default=3)
    reason = None
    if fewest < 3:
        reason = f"{fewest} clusters; at least 3 are needed"
    elif float(line.residual @ line.residual) <= 1e-24 * float(np.sum(line.design[:, 1] ** 2)):
        reason = "the points lie on a line"
    else:
        interval, covariance, dfs = _covariance(line, clusters)
        variances = [float(row @ covariance @ row) for row in line.contrasts]
        reason = "the two-way clustered variance is not positive" if min(variances) <= 0 else None
    if reason:
        return [estimate.without_interval(reason) for estimate in point_estimates], None, None
    out = [
        _bounds.with_t(estimate, math.sqrt(variance), df, interval, confidence)
        for estimate, variance, df in zip(point_estimates, variances, dfs, strict=True)
    ]
    return out, math.sqrt(variances[1]), dfs[1]


def _covariance(line: _Line, clusters: dict[str, Ints]) -> tuple[str, Floats, list[float]]:
    n = line.residual.size
    if not clusters:
        leverage = np.sum((line.design @ line.inverse) * line.design, axis=1)
        scores = line.design * (line.residual / np.maximum(1 - leverage, 1e-12))[:, None]
        return "HC3, Student t", line.inverse @ (scores.T @ scores) @ line.inverse, [n - 2.0, n - 2.0]
    if len(clusters) == 1:
        covariance, dfs = _cr2(line, next(iter(clusters.values())))
        return "CR2, Satterthwaite t", covariance, dfs
    first, second = clusters.values()
    _, both, _ = coded(first * (int(second.max()) + 1) + second, "clusters")
    covariance = _cr1(line, first) + _cr1(line, second) - _cr1(line, both)
    df = min(int(first.max()), int(second.max()))
    return "two-way clustered (CR1), Student t", covariance, [float(df), float(df)]


def _sums(columns: Floats, codes: Ints) -> Floats:
    groups = int(codes.max()) + 1
    return np.column_stack([np.bincount(codes, weights=column, minlength=groups) for column in columns.T])


def _cr1(line: _Line, codes: Ints) -> Floats:
    n, groups = line.residual.size, int(codes.max()) + 1
    scores = _sums(line.design * line.residual[:, None], codes)
    factor = groups / (groups - 1) * (n - 1) / (n - 2)
    return np.asarray(factor * line.inverse @ (scores.T @ scores) @ line.inverse)


def _cr2(line: _Line, codes: Ints) -> tuple[Floats, list[float]]:
    """Bell and McCaffrey's covariance and each coefficient's degrees of freedom, in time linear in the rows.

    With K = M^½ S M^½ for a cluster's S = X'X and the whole's M, the adjustment (I - H)^-½ acts inside the
    cluster's column space, where it has the eigenvectors of K.
    """
    x = line.design[:, 1]
    squares = _sums(np.column_stack([np.ones(x.size), x, x * x]), codes)
    within = squares[:, [0, 1, 1, 2]].reshape(-1, 2, 2)
    root = np.sqrt(line.inverse)
    # Eigenvalues are the clusters' leverages; where one is 1 nothing is left of the residuals, and its direction drops out.
    share, turn = np.linalg.eigh(root @ within @ root)
    share = np.clip(share, 0.0, 1.0)
    free = np.where(share < 1 - 1e-10, 1 - share, np.inf)
    stretch = np.where(share > 1e-12, (1 / np.sqrt(free) - 1) / np.maximum(share, 1e-12), 0.5)
    adjust = np.eye(2) + within @ root @ (turn * stretch[:, None, :]) @ turn.transpose(0, 2, 1) @ root
    scores = _sums(line.design * line.residual[:, None], codes)
    adjusted = np.einsum("gij,gj->gi", adjust, scores)
    covariance = line.inverse @ (adjusted.T @ adjusted) @ line.inverse
    full_adjustment = within + within @ root @ (turn / free[:, None, :]) @ turn.transpose(0, 2, 1) @ root @ within
    dfs = []
    for row in line.contrasts:
        direction = line.inverse @ row
        cluster_share = np.einsum("i,gij,j->g", direction, full_adjustment, direction)
        pulled = np.einsum("gij,gjk,k->gi", adjust, within, direction)
        shared = np.einsum("gi,ij,gj->g", pulled, line.inverse, pulled)
        gram = line.inverse @ (pulled.T @ pulled)
        square = float(np.sum((cluster_share - shared) ** 2) + np.trace(gram @ gram) - np.sum(shared**2))
        dfs.append(float(np.sum(cluster_share - shared)) ** 2 / square)
    return np.asarray(covariance), dfs


def _p_value(gap: float, error: float | None, df: float | None) -> float | None:
    return None if error is None or df is None or error == 0 else _bounds.p_of_t(gap / error, df)
