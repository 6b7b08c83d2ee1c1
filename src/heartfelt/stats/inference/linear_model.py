"""Linear models of factors and covariates: terms, codings, usable rows, and sums of squares of nested models.

A *factor* is a column of categories; a *covariate* a column of numbers, centred at its mean. A *term* is a
set of them: a main effect or an interaction. An interaction brings all interactions it contains. Under
``sum`` coding a factor's columns add up to zero over its levels, the last being minus the others; under
``treatment`` coding each column marks one level against the first. Levels are in sorted order.

Sums of squares: rows are first reduced, by cells and then by QR in blocks, to a small triangle that has the
same cross-products, so memory does not grow with the rows and every model comparison costs what its columns
cost. A column counts towards the rank where it adds more than rounding to those before it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from heartfelt.errors import InputError, suggestion
from heartfelt.stats.columns.paired import Column, Flags, coded, present, same_length
from heartfelt.stats.columns.triples import Floats, Ints, as_array, as_floats

Coding = Literal["sum", "treatment"]
Interactions = Sequence[Sequence[str]] | Literal["all"]
_TOLERANCE = 1e-9
_BLOCK = 2_000_000
_MOST_COLUMNS = 4000


@dataclass(frozen=True, slots=True)
class CodedFactor:
    """A coded column of categories."""

    codes: Ints
    levels: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Term:
    """A main effect or an interaction, by the names of its parts."""

    parts: tuple[str, ...]

    @property
    def name(self) -> str:
        """As printed: the parts joined by colons."""
        return ":".join(self.parts)

    def contains(self, smaller: Term) -> bool:
        """Whether the other term's parts are all among this one's."""
        return set(smaller.parts) <= set(self.parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelData:
    """Usable rows: outcome, factors, centred covariates, the terms in order, and which rows were ``used``."""

    outcome: Floats
    factors: dict[str, CodedFactor]
    covariates: dict[str, Floats]
    terms: tuple[Term, ...]
    used: Flags

    @property
    def rows(self) -> int:
        return int(self.outcome.size)

    @property
    def counts(self) -> dict[str, int]:
        left_out = int(self.used.size - np.count_nonzero(self.used))
        return {"rows": self.rows, **({"left_out": left_out} if left_out else {})}

    def part(self, rows: slice | Ints) -> ModelData:
        """These rows, with the same levels and terms."""
        factors = {name: CodedFactor(factor.codes[rows], factor.levels) for name, factor in self.factors.items()}
        covariates = {name: column[rows] for name, column in self.covariates.items()}
        return replace(self, outcome=self.outcome[rows], factors=factors, covariates=covariates)


def model_data(
    outcome: Column, factors: Mapping[str, Column], covariates: Mapping[str, Column], interactions: Interactions
) -> ModelData:
    """Clean and code the columns; rows missing any of them are left out."""
    values = as_floats(outcome, "outcome")
    columns = {name: as_array(column) for name, column in factors.items()}
    numbers = {name: as_floats(column, name) for name, column in covariates.items()}
    twice = sorted(set(columns) & set(numbers))
    if twice:
        raise InputError(f"'{twice[0]}' is both a factor and a covariate.", "Give each its own name.")
    same_length({"outcome": values, **columns, **numbers})
    complete = [np.isfinite(values), *map(present, columns.values()), *map(np.isfinite, numbers.values())]
    usable = np.logical_and.reduce(complete)
    if not usable.all():
        values = values[usable]
        columns = {name: column[usable] for name, column in columns.items()}
        numbers = {name: number[usable] for name, number in numbers.items()}
    coded_factors = {name: _coded_factor(column, name) for name, column in columns.items()}
    centred = {name: number - number.mean() if number.size else number for name, number in numbers.items()}
    order = terms(list(numbers), list(columns), interactions)
    return ModelData(outcome=values, factors=coded_factors, covariates=centred, terms=order, used=usable)


def _coded_factor(column: npt.NDArray[Any], name: str) -> CodedFactor:
    levels, codes, _ = coded(column, name)
    return CodedFactor(codes, tuple(levels))


def terms(covariates: Sequence[str], factors: Sequence[str], interactions: Interactions) -> tuple[Term, ...]:
    """Covariates, factors, then interactions by how many parts they have."""
    names = [*covariates, *factors]
    wanted: dict[tuple[str, ...], None] = {}
    if interactions == "all":
        for size in range(2, len(factors) + 1):
            wanted |= dict.fromkeys(combinations(factors, size))
    else:
        for interaction in interactions:
            parts = _parts(interaction, names)
            for size in range(2, len(parts) + 1):
                wanted |= dict.fromkeys(combinations(parts, size))
    mains = [Term((name,)) for name in names]
    return (*mains, *(Term(parts) for parts in sorted(wanted, key=len)))


def _parts(interaction: Sequence[str], names: Sequence[str]) -> tuple[str, ...]:
    fix = "Name its parts as a tuple: ('system', 'intent')."
    if isinstance(interaction, str):
        raise InputError(f"The interaction '{interaction}' is one word.", fix)
    for part in interaction:
        if part not in names:
            raise InputError(f"The interaction's '{part}' is not in the model.", suggestion(part, names))
    if len(set(interaction)) < 2:
        raise InputError("An interaction needs two different parts.", fix)
    return tuple(name for name in names if name in interaction)


def contrast_rows(levels: int, coding: Coding) -> Floats:
    """One row per level: its entries in the factor's columns."""
    if coding == "treatment":
        return np.eye(levels)[:, 1:]
    return np.vstack([np.eye(levels - 1), -np.ones(levels - 1)])


def term_columns(term: Term, data: ModelData, coding: Coding) -> Floats:
    """The term's columns, one row per row of data."""
    out = np.ones((data.rows, 1))
    for part in term.parts:
        if part in data.covariates:
            out = out * data.covariates[part][:, None]
        else:
            factor = data.factors[part]
            factor_columns = contrast_rows(len(factor.levels), coding)[factor.codes]
            out = (out[:, :, None] * factor_columns[:, None, :]).reshape(data.rows, -1)
    return out


def column_names(term: Term, data: ModelData, coding: Coding) -> list[str]:
    names = [""]
    for part in term.parts:
        if part in data.covariates:
            part_names = [part]
        else:
            levels = data.factors[part].levels
            part_names = [f"{part}[{level}]" for level in (levels[1:] if coding == "treatment" else levels[:-1])]
        names = [f"{before}:{name}" if before else name for before in names for name in part_names]
    return names


def cells(factors: Sequence[CodedFactor], rows: int) -> tuple[Ints, Ints]:
    """Number the combinations of levels that occur: each row's cell, and one row from every cell."""
    if not factors:
        return np.zeros(rows, np.int64), np.zeros(min(rows, 1), np.int64)
    code, size = factors[0].codes, len(factors[0].levels)
    for factor in factors[1:]:
        if size * len(factor.levels) > 4 * rows + 1024:
            code, size = _dense(code, size)
        code, size = code * len(factor.levels) + factor.codes, size * len(factor.levels)
    code, size = _dense(code, size)
    sample = np.empty(size, np.int64)
    sample[code] = np.arange(rows)
    return code, sample


def _dense(code: Ints, size: int) -> tuple[Ints, int]:
    if size <= 8 * code.size + 1024:
        used = np.bincount(code, minlength=size) > 0
        return (np.cumsum(used) - 1)[code], int(np.count_nonzero(used))
    distinct, dense = np.unique(code, return_inverse=True)
    return dense.astype(np.int64, copy=False), int(distinct.size)


def holes(data: ModelData) -> dict[Term, int]:
    """Interactions of factors with empty cells, and how many."""
    out = {}
    for term in data.terms:
        factors = [data.factors[part] for part in term.parts if part in data.factors]
        if len(factors) > 1:
            possible = math.prod(len(factor.levels) for factor in factors)
            empty = possible - cells(factors, data.rows)[1].size
            if empty:
                out[term] = empty
    return out


def why_no_columns(term: Term, data: ModelData) -> str:
    """Why a term adds nothing to the others."""
    for part in term.parts:
        if part in data.factors and len(data.factors[part].levels) < 2:
            return f"{part} has one level"
        if part in data.covariates and not np.any(data.covariates[part]):
            return f"{part} does not vary"
    return "the other effects already span it"


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


def reduced(data: ModelData) -> Reduced:
    """Reduce a model to its cells, unless a covariate's slope varies between them, then to a triangle."""
    columns_needed = 1 + sum(width(term, data) for term in data.terms)
    if columns_needed > _MOST_COLUMNS:
        raise InputError(
            f"The model has {columns_needed} columns; at most {_MOST_COLUMNS} are fitted.",
            "Treat a factor with that many levels as random: inference.mixed_model.",
        )
    centred = data.outcome - data.outcome.mean()
    total = float(centred @ centred)
    slopes_vary = any(len(t.parts) > 1 and set(t.parts) & set(data.covariates) for t in data.terms)
    if slopes_vary:
        return _triangle(data, centred, np.ones(data.rows), None, (0.0, total))
    code, sample = cells(list(data.factors.values()), data.rows)
    sizes = np.bincount(code).astype(np.float64)
    columns = [*data.covariates.values(), centred]
    means = [np.bincount(code, weights=column) / sizes for column in columns]
    deviations = np.column_stack([column - mean[code] for column, mean in zip(columns, means, strict=True)])
    covariates = dict(zip(data.covariates, means, strict=False))
    folded = replace(data.part(sample), outcome=means[-1], covariates=covariates)
    inside = 0.0 if data.covariates else float(deviations[:, 0] @ deviations[:, 0])
    within = np.asarray(np.linalg.qr(deviations, mode="r")) if data.covariates else None
    return _triangle(folded, means[-1], np.sqrt(sizes), within, (inside, total))


def width(term: Term, data: ModelData) -> int:
    return math.prod(max(len(data.factors[part].levels) - 1, 0) for part in term.parts if part in data.factors)


def why_no_test(residual: float, df: int, total: float) -> str | None:
    """Why nothing can be tested against a residual sum of squares, or None."""
    if df == 0:
        return "no residual degrees of freedom: as many parameters as rows"
    return "no residual variation: the model fits perfectly" if residual <= 1e-20 * total else None


def _triangle(
    data: ModelData, centred: Floats, weights: Floats, within: Floats | None, sums: tuple[float, float]
) -> Reduced:
    """Stack weighted rows block by block; ``within`` is the covariates' and the outcome's spread inside cells."""
    ends = np.cumsum([0, 1, *(width(term, data) for term in data.terms)])
    total_width = int(ends[-1]) + 1
    triangle = np.zeros((0, total_width)) if within is None else _within_rows(within, data, ends)
    step = max(_BLOCK // total_width, 4 * total_width)
    for start in range(0, data.rows, step):
        rows = slice(start, start + step)
        block = data.part(rows)
        parts = [np.ones((block.rows, 1)), *(term_columns(term, block, "sum") for term in data.terms)]
        block_rows = np.hstack([*parts, centred[rows, None]]) * weights[rows, None]
        triangle = np.vstack([triangle, block_rows])
        if triangle.shape[0] > 2 * total_width:
            triangle = np.asarray(np.linalg.qr(triangle, mode="r"))
    names = ["", *(term.name for term in data.terms)]
    columns = {name: triangle[:, ends[i] : ends[i + 1]] for i, name in enumerate(names)}
    return Reduced(columns, triangle[:, -1], sums[0], sums[1])


def _within_rows(within: Floats, data: ModelData, ends: Ints) -> Floats:
    out = np.zeros((within.shape[0], int(ends[-1]) + 1))
    column_of = {term.name: int(ends[i + 1]) for i, term in enumerate(data.terms)}
    for index, name in enumerate(data.covariates):
        out[:, column_of[name]] = within[:, index]
    out[:, -1] = within[:, -1]
    return out


def basis(columns: Floats, beyond: Floats | None = None) -> Floats:
    """An orthonormal basis of what ``columns`` span, or of what they add to the span of the basis ``beyond``."""
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
    residuals = model.outcome - below @ (below.T @ model.outcome)
    return float(np.sum((new.T @ residuals) ** 2)), new.shape[1]


def residual(model: Reduced, terms: Sequence[Term]) -> tuple[float, int]:
    full_basis = basis(model.stack(["", *(term.name for term in terms)]))
    residuals = model.outcome - full_basis @ (full_basis.T @ model.outcome)
    return model.inside + float(residuals @ residuals), full_basis.shape[1]
