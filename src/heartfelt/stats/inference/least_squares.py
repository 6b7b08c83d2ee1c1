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
from heartfelt.stats.triples import Floats

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
    """Reduce a model to cells where it has only factors, then to a triangle."""
    _check_size(data)
    centred = data.outcome - data.outcome.mean()
    total = float(centred @ centred)
    weights = np.ones(data.rows)
    inside = 0.0
    if not data.covariates:
        code, sample = cells(list(data.factors.values()), data.rows)
        sizes = np.bincount(code).astype(np.float64)
        means = np.bincount(code, weights=centred) / sizes
        apart = centred - means[code]
        inside = float(apart @ apart)
        picked = {n: Factor(n, f.codes[sample], f.levels) for n, f in data.factors.items()}
        data = ModelData(means, picked, {}, data.terms, data.left_out)
        centred, weights = means, np.sqrt(sizes)
    names = ["", *(term.name for term in data.terms)]
    return _triangle(data, centred, weights, names, (inside, total), coding)


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
    names: list[str],
    sums: tuple[float, float],
    coding: Coding,
) -> Reduced:
    widths: list[int] = []
    kept: Floats | None = None
    step = data.rows
    start = 0
    while start < data.rows:
        rows = slice(start, start + step)
        block = _rows(data, rows)
        parts = [np.ones((block.rows, 1)), *(term_columns(term, block, coding) for term in data.terms)]
        widths = [part.shape[1] for part in parts]
        if start == 0 and sum(widths) * data.rows > _BLOCK and step == data.rows:
            step = max(_BLOCK // sum(widths), 4 * sum(widths))
            if step < data.rows:
                continue
        rows_now = np.hstack([*parts, centred[rows, None]]) * weights[rows, None]
        kept = rows_now if kept is None else np.vstack([kept, rows_now])
        if kept.shape[0] > 2 * kept.shape[1]:
            kept = np.asarray(np.linalg.qr(kept, mode="r"))
        start += step
    assert kept is not None
    ends = np.cumsum([0, *widths])
    columns = {name: kept[:, ends[i] : ends[i + 1]] for i, name in enumerate(names)}
    return Reduced(columns, kept[:, -1], sums[0], sums[1])


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
