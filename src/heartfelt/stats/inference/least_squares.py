"""Sums of squares of nested linear models, with rank told from noise.

Rows are first reduced, by cells and then by QR in blocks, to a small triangle that has the same
cross-products, so memory does not grow with the rows and every model comparison costs what its columns
cost.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from heartfelt.errors import InputError
from heartfelt.stats.inference.model_matrix import Coding, Factor, ModelData, Term, cells, term_columns
from heartfelt.stats.triples import Floats, Ints

_TOLERANCE = 1e-9
_BLOCK = 2_000_000
_MOST_COLUMNS = 4000


@dataclass(frozen=True, slots=True)
class Reduced:
    """A model reduced to few rows: each term's columns (intercept under ``""``), the centred outcome, what
    lies inside cells beyond the reach of any term, and the total about the mean.
    """

    columns: dict[str, Floats]
    outcome: Floats
    inside: float
    total: float

    def stack(self, names: Sequence[str]) -> Floats:
        """Several terms' columns side by side."""
        return np.hstack([self.columns[name] for name in names])


def reduce(data: ModelData, coding: Coding = "sum") -> Reduced:
    """Reduce a model to its cells, unless a covariate's slope varies between them, then to a triangle."""
    _check_size(data)
    centred = data.outcome - data.outcome.mean()
    total = float(centred @ centred)
    slopes_vary = any(len(t.parts) > 1 and set(t.parts) & set(data.covariates) for t in data.terms)
    if slopes_vary:
        return _triangle(data, centred, np.ones(data.rows), None, (0.0, total), coding)
    code, sample = cells(list(data.factors.values()), data.rows)
    sizes = np.bincount(code).astype(np.float64)
    columns = [*data.covariates.values(), centred]
    means = [np.bincount(code, weights=column) / sizes for column in columns]
    apart = np.column_stack([column - mean[code] for column, mean in zip(columns, means, strict=True)])
    factors = {n: Factor(n, f.codes[sample], f.levels) for n, f in data.factors.items()}
    covariates = dict(zip(data.covariates, means, strict=False))
    folded = ModelData(means[-1], factors, covariates, data.terms, data.left_out)
    inside = 0.0 if data.covariates else float(apart[:, 0] @ apart[:, 0])
    within = np.asarray(np.linalg.qr(apart, mode="r")) if data.covariates else None
    return _triangle(folded, means[-1], np.sqrt(sizes), within, (inside, total), coding)


def _check_size(data: ModelData) -> None:
    columns = 1
    for term in data.terms:
        width = 1
        for part in term.parts:
            width *= max(len(data.factors[part].levels) - 1, 0) if part in data.factors else 1
        columns += width
    if columns > _MOST_COLUMNS:
        raise InputError(
            f"The model has {columns} columns; at most {_MOST_COLUMNS} are fitted.",
            "Treat a factor with that many levels as random: inference.mixed_model.",
        )


def _triangle(
    data: ModelData,
    centred: Floats,
    weights: Floats,
    within: Floats | None,
    sums: tuple[float, float],
    coding: Coding,
) -> Reduced:
    """Stack weighted rows block by block; ``within`` holds covariates' and outcome's spread inside cells."""
    one = [np.ones((1, 1)), *(term_columns(term, _rows(data, slice(0, 1)), coding) for term in data.terms)]
    ends = np.cumsum([0, *(part.shape[1] for part in one)])
    width = int(ends[-1]) + 1
    kept = np.zeros((0, width)) if within is None else _within_rows(within, data, ends)
    step = max(_BLOCK // width, 4 * width)
    for start in range(0, data.rows, step):
        rows = slice(start, start + step)
        block = _rows(data, rows)
        parts = [np.ones((block.rows, 1)), *(term_columns(term, block, coding) for term in data.terms)]
        block_rows = np.hstack([*parts, centred[rows, None]]) * weights[rows, None]
        kept = np.vstack([kept, block_rows])
        if kept.shape[0] > 2 * width:
            kept = np.asarray(np.linalg.qr(kept, mode="r"))
    names = ["", *(term.name for term in data.terms)]
    columns = {name: kept[:, ends[i] : ends[i + 1]] for i, name in enumerate(names)}
    return Reduced(columns, kept[:, -1], sums[0], sums[1])


def _within_rows(within: Floats, data: ModelData, ends: Ints) -> Floats:
    out = np.zeros((within.shape[0], int(ends[-1]) + 1))
    places = {term.name: int(ends[i + 1]) for i, term in enumerate(data.terms)}
    for index, name in enumerate(data.covariates):
        out[:, places[name]] = within[:, index]
    out[:, -1] = within[:, -1]
    return out


def _rows(data: ModelData, rows: slice) -> ModelData:
    factors = {name: Factor(name, f.codes[rows], f.levels) for name, f in data.factors.items()}
    covariates = {name: column[rows] for name, column in data.covariates.items()}
    return ModelData(data.outcome[rows], factors, covariates, data.terms, data.left_out)


def basis(columns: Floats, beyond: Floats | None = None) -> Floats:
    """An orthonormal basis of what ``columns`` span, or of what they add to the span of the basis
    ``beyond``.
    """
    from scipy.linalg import qr

    lengths = np.sqrt(np.sum(columns * columns, axis=0))
    scaled = columns[:, lengths > 0] / lengths[lengths > 0]
    if scaled.shape[1] == 0:
        return np.zeros((columns.shape[0], 0))
    if beyond is not None:
        scaled = scaled - beyond @ (beyond.T @ scaled)
        scaled = scaled - beyond @ (beyond.T @ scaled)
    q, r, _ = qr(scaled, mode="economic", pivoting=True, check_finite=False)
    rank = int(np.count_nonzero(np.abs(np.diagonal(r)) > _TOLERANCE))
    return np.asarray(q[:, :rank])


def added(model: Reduced, base: Sequence[str], term: str) -> tuple[float, int]:
    """Sum of squares and degrees of freedom a term adds to a base model."""
    below = basis(model.stack(base))
    new = basis(model.columns[term], below)
    rest = model.outcome - below @ (below.T @ model.outcome)
    return float(np.sum((new.T @ rest) ** 2)), new.shape[1]


def residual(model: Reduced, terms: Sequence[Term]) -> tuple[float, int]:
    """Residual sum of squares and rank of the model with all these terms."""
    whole = basis(model.stack(["", *(term.name for term in terms)]))
    rest = model.outcome - whole @ (whole.T @ model.outcome)
    return model.inside + float(rest @ rest), whole.shape[1]
