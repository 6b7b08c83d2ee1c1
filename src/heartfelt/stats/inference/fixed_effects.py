"""Fixed columns of a mixed model, the hypotheses of its terms, and their tests.

Satterthwaite's degrees of freedom of a contrast are ``2 v² / (g' A g)``: v its variance, g that variance's
gradient in the variance parameters, A their covariance (Giesbrecht and Burns 1985). An F test on several
contrasts pools the degrees of freedom of its independent ones (Fai and Cornelius 1996).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from heartfelt.stats.inference.model_matrix import Coding, ModelData, column_names, term_columns
from heartfelt.stats.triples import Floats

_TOLERANCE = 1e-9


@dataclass(frozen=True, slots=True)
class Fixed:
    """Independent columns, their names, the names of those dropped, and per term the rows of its
    hypothesis.
    """

    matrix: Floats
    names: list[str]
    aliased: list[str]
    hypotheses: dict[str, Floats]


def fixed_columns(data: ModelData, coding: Coding) -> Fixed:
    """Build the columns, leaving out each one that those before it span."""
    matrix, names, owners, aliased = _independent(data, coding)
    own = {term.name: np.eye(len(names))[[o == term.name for o in owners]] for term in data.terms}
    if coding == "sum" or all(len(term.parts) == 1 for term in data.terms):
        return Fixed(matrix, names, aliased, own)
    summed, _, sum_owners, _ = _independent(data, "sum")
    # Sum-to-zero coefficients are this linear map of the fitted ones.
    change = np.linalg.lstsq(summed.T @ summed, summed.T @ matrix, rcond=None)[0]
    rows = {t.name: np.asarray(change[[o == t.name for o in sum_owners]], np.float64) for t in data.terms}
    return Fixed(matrix, names, aliased, rows)


def _independent(data: ModelData, coding: Coding) -> tuple[Floats, list[str], list[str], list[str]]:
    parts = [np.ones((data.rows, 1))]
    names, owners = ["intercept"], [""]
    for term in data.terms:
        columns = term_columns(term, data, coding)
        if columns.shape[1]:
            parts.append(columns)
            labels = column_names(term, data, coding)
            names += labels
            owners += [term.name] * len(labels)
    matrix = np.hstack(parts)
    kept = _first_independent(matrix)
    aliased = [name for name, keep in zip(names, kept, strict=True) if not keep]
    names = [name for name, keep in zip(names, kept, strict=True) if keep]
    owners = [owner for owner, keep in zip(owners, kept, strict=True) if keep]
    return matrix if kept.all() else np.ascontiguousarray(matrix[:, kept]), names, owners, aliased


def _first_independent(matrix: Floats) -> npt.NDArray[np.bool_]:
    """Which columns are not spanned by those before them, from the triangle of their QR factors."""
    lengths = np.sqrt(np.einsum("ij,ij->j", matrix, matrix))
    triangle = np.asarray(np.linalg.qr(matrix / np.where(lengths > 0, lengths, 1.0), mode="r"))
    kept = np.zeros(lengths.size, np.bool_)
    basis = np.zeros((triangle.shape[0], 0))
    for index in range(lengths.size):
        column = triangle[:, index]
        for _ in range(2):
            column = column - basis @ (basis.T @ column)
        size = float(np.sqrt(column @ column))
        if lengths[index] > 0 and size > _TOLERANCE:
            kept[index] = True
            basis = np.column_stack([basis, column / size])
    return kept


@dataclass(frozen=True, slots=True)
class Inference:
    """Covariance of the coefficients, its derivatives in the variance parameters, and those parameters'
    covariance.

    ``fallback`` degrees of freedom serve where that covariance is not known or a contrast does not depend on
    the variance parameters.
    """

    covariance: Floats
    derivatives: tuple[Floats, ...]
    spread: Floats | None
    fallback: float

    def error(self, row: Floats) -> float | None:
        """Standard error of a contrast; None where it is zero."""
        variance = float(row @ self.covariance @ row)
        return math.sqrt(variance) if variance > 0 and math.isfinite(variance) else None

    def df(self, row: Floats) -> float:
        """Satterthwaite's degrees of freedom of a contrast, at least 1."""
        if self.spread is None:
            return self.fallback
        variance = float(row @ self.covariance @ row)
        gradient = np.array([float(row @ one @ row) for one in self.derivatives])
        doubt = float(gradient @ self.spread @ gradient)
        if not doubt > 1e-12 * variance**2:
            return max(self.fallback, 1.0)
        return max(2 * variance**2 / doubt, 1.0)

    def p_value(self, t: float, df: float) -> float:
        """Two-sided, by Student's t."""
        from scipy.special import stdtr

        return float(2 * stdtr(df, -abs(t)))

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

    def f_p_value(self, f: float, df: int, df_residual: float) -> float:
        """Upper tail of F."""
        from scipy.special import fdtrc

        return float(fdtrc(df, df_residual, f))
