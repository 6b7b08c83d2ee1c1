"""What every model with random intercepts is made from: coded columns, independent fixed effects, tests of contrasts.

Text and yes/no columns are factors, numbers covariates. Tests have Satterthwaite's degrees of freedom: ``2 v² / (g' A g)`` for a
contrast of variance v, g its gradient in the variance parameters, A their covariance.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from heartfelt.errors import InputError
from heartfelt.stats.columns.paired import Column, coded, present
from heartfelt.stats.columns.triples import Floats, as_floats, id_array, text_array
from heartfelt.stats.inference.linear_model import (
    Coding,
    Interactions,
    ModelData,
    Term,
    column_names,
    model_data,
    term_columns,
    why_no_columns,
)
from heartfelt.stats.reliability.reml_blocks import Groups
from heartfelt.wording import listed

NO_ERROR = "its standard error is zero"
TOO_LARGE = "too large to fit"
_TOLERANCE = 1e-9


@dataclass(frozen=True, slots=True)
class FixedColumns:
    """Independent columns, their names, the names of those dropped, and per term the rows of its hypothesis."""

    matrix: Floats
    names: list[str]
    aliased: list[str]
    hypotheses: dict[str, Floats]


@dataclass(frozen=True, slots=True)
class ContrastInference:
    """Covariance of the coefficients, its derivatives in the variance parameters, and those parameters' covariance.

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
        """The F statistic of several contrasts and its denominator's degrees of freedom; None without error.

        As in lmerTest, there are 2 where one of the independent contrasts has 2 or fewer.
        """
        values, vectors = np.linalg.eigh(rows @ self.covariance @ rows.T)
        if not (values > 1e-14 * max(float(values.max()), 1e-300)).all():
            return None
        turned = vectors.T @ rows
        f = float(np.sum((turned @ beta) ** 2 / values)) / rows.shape[0]
        dfs = [self.df(row) for row in turned]
        if len(dfs) == 1 or max(dfs) - min(dfs) < 1e-8 * max(dfs):
            return f, float(np.mean(dfs))
        if min(dfs) <= 2:
            return f, 2.0
        pooled = sum(df / (df - 2) for df in dfs)
        return f, 2 * pooled / (pooled - len(dfs))


def grouped_columns(
    outcome: Column, fixed: Mapping[str, Column], random: Mapping[str, Column], interactions: Interactions
) -> tuple[ModelData, Groups]:
    """Clean and code the columns: text and yes/no ones are factors, numbers covariates; with the random groupings."""
    ids = {name: id_array(column) for name, column in random.items()}
    values = as_floats(outcome, "outcome")
    for name, column in ids.items():
        if column.size != values.size:
            raise InputError(f"'{name}' has {column.size} rows, the outcome {values.size}.", "Pass one id per row.")
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


def why_unfit(data: ModelData, groups: Groups) -> str | None:
    """Why no model with these groupings can be fitted, as far as the table tells."""
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


def too_large(groups: Groups) -> str:
    """The reason why groupings with so many levels are not fitted."""
    return f"{TOO_LARGE}: {listed([f'{size:,} levels of {name}' for name, (_, size) in groups.items()])}"


def why_untested(term: Term, rows: Floats, data: ModelData, empty: Iterable[Term]) -> str | None:
    """Why there is no test of a term from the ``rows`` of its hypothesis; ``empty`` are the terms with empty cells."""
    if not len(rows):
        return why_no_columns(term, data)
    over = [larger.name for larger in empty if larger.contains(term) and larger != term]
    return f"{over[0]} has empty cells, where the test has no clear hypothesis" if over else None


def fixed_columns(data: ModelData, coding: Coding) -> FixedColumns:
    """Build the columns, leaving out each one that those before it span."""
    matrix, names, owners, aliased = _independent(data, coding)
    term_rows = {term.name: np.eye(len(names))[[o == term.name for o in owners]] for term in data.terms}
    if coding == "sum" or all(len(term.parts) == 1 for term in data.terms):
        return FixedColumns(matrix, names, aliased, term_rows)
    summed, _, sum_owners, _ = _independent(data, "sum")
    # Sum-to-zero coefficients are this linear map of the fitted ones.
    change = np.linalg.lstsq(summed.T @ summed, summed.T @ matrix, rcond=None)[0]
    rows = {t.name: np.asarray(change[[o == t.name for o in sum_owners]], np.float64) for t in data.terms}
    return FixedColumns(matrix, names, aliased, rows)


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
    used = first_independent(matrix)
    aliased = [name for name, keep in zip(names, used, strict=True) if not keep]
    names = [name for name, keep in zip(names, used, strict=True) if keep]
    owners = [owner for owner, keep in zip(owners, used, strict=True) if keep]
    return matrix if used.all() else np.ascontiguousarray(matrix[:, used]), names, owners, aliased


def first_independent(matrix: Floats) -> npt.NDArray[np.bool_]:
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
