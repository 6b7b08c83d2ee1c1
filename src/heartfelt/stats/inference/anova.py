"""Analysis of variance: which factors move an outcome, and by how much.

Sums of squares of type I (each term given those before it: covariates, factors, interactions, in the order
given), II (given all terms that do not contain it; the default) or III (given all others, under sum-to-zero
coding, with covariates centred). All tests use the residual of the full model. A term whose columns the
others already span, or whose cells are empty, loses degrees of freedom or is missing with the reason.

Effect sizes, all shares of variance in [0, 1] (omega squared can fall below 0):

- ``eta_squared``: of the sum of the table's sums of squares, residual included, as most software prints it
  (effectsize, pingouin);
- ``eta_squared_of_total``: of the corrected total. The two differ on unbalanced data, where type II and III
  tables do not add up to the total;
- ``partial_eta_squared``: of itself and the residual, with an interval from the noncentral F distribution
  (Steiger
  2004), widened where it must be to hold the sample value;
- ``omega_squared``: of the total, less what chance gives (Hays 1963).

Source: Searle (1971); Fox (2016) on the types.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from heartfelt.errors import InputError
from heartfelt.stats import _bounds
from heartfelt.stats._metrics import is_constant
from heartfelt.stats._paired import Column
from heartfelt.stats.estimate import Estimate
from heartfelt.stats.inference import linear_model
from heartfelt.stats.inference.linear_model import (
    Interactions,
    ModelData,
    Term,
    holes,
    model_data,
    why_no_columns,
)
from heartfelt.stats.inference.noncentral import share_bounds

SquaresType = Literal[1, 2, 3]
_ROMAN = {1: "I", 2: "II", 3: "III"}


@dataclass(frozen=True, slots=True)
class AnovaRow:
    """One effect. Numbers are None where ``why_missing`` says so."""

    effect: str
    df: int
    sum_sq: float | None
    mean_sq: float | None
    f: float | None
    p: float | None
    eta_squared: Estimate
    eta_squared_of_total: Estimate
    partial_eta_squared: Estimate
    omega_squared: Estimate
    why_missing: str | None = None

    @property
    def eta_squared_of_table(self) -> Estimate:
        """The same as ``eta_squared``, by its full name."""
        return self.eta_squared

    def to_json(self) -> dict[str, Any]:
        """A plain object."""
        sizes = ("eta_squared", "eta_squared_of_total", "partial_eta_squared", "omega_squared")
        out: dict[str, Any] = {
            "effect": self.effect, "df": self.df, "sum_sq": self.sum_sq, "F": self.f, "p": self.p,
        }  # fmt: skip
        out |= {name: getattr(self, name).to_json() for name in sizes}
        return out | ({"why_missing": self.why_missing} if self.why_missing else {})


@dataclass(frozen=True, slots=True)
class AnovaResult:
    """The table. The headline is ``r_squared``, the share of the total all effects together explain.

    ``notes`` tells of empty cells and lost degrees of freedom.
    """

    rows: tuple[AnovaRow, ...]
    residual_df: int
    residual_sum_sq: float
    total_sum_sq: float
    r_squared: Estimate
    method: str
    notes: tuple[str, ...]

    def __getitem__(self, effect: str) -> AnovaRow:
        for row in self.rows:
            if row.effect == effect:
                return row
        raise KeyError(effect)

    @property
    def value(self) -> float | None:
        """R squared."""
        return self.r_squared.value

    @property
    def low(self) -> float | None:
        """R squared's lower bound."""
        return self.r_squared.low

    @property
    def high(self) -> float | None:
        """R squared's upper bound."""
        return self.r_squared.high

    def to_json(self) -> dict[str, Any]:
        """A plain object."""
        return {
            "method": self.method,
            "rows": [row.to_json() for row in self.rows],
            "residual_df": self.residual_df,
            "residual_sum_sq": self.residual_sum_sq,
            "total_sum_sq": self.total_sum_sq,
            "r_squared": self.r_squared.to_json(),
            "notes": list(self.notes),
        }


@dataclass(frozen=True, slots=True)
class _Frame:
    """What every row of the table is held against."""

    residual: float
    residual_df: int
    total: float
    table: float
    counts: dict[str, int]
    why_no_test: str | None
    confidence: float


def anova(
    outcome: Column,
    factors: Mapping[str, Column],
    *,
    type: SquaresType = 2,
    interactions: Interactions = (),
    covariates: Mapping[str, Column] | None = None,
    confidence: float = 0.95,
) -> AnovaResult:
    """Analyse an outcome by factors, their interactions (pairs of names, or ``"all"``) and covariates."""
    if type not in _ROMAN:
        raise InputError(f"There are no sums of squares of type {type}.", "Choose type 1, 2 or 3.")
    if not factors and not covariates:
        raise InputError("The model has no factor.", "Name at least one factor or covariate.")
    _bounds.check_confidence(confidence)
    data = model_data(outcome, factors, covariates or {}, interactions)
    method = f"analysis of variance, type {_ROMAN[type]}"
    why = "fewer than two rows" if data.rows < 2 else None
    if why is None and is_constant(data.outcome):
        why = "the outcome does not vary"
    if why:
        return _nothing(data, method, why)
    model = linear_model.reduced(data)
    residual, rank = linear_model.residual(model, data.terms)
    squares, notes = _squares(model, data, type)
    frame = _frame(data, model.total, residual, rank, squares, confidence)
    rows = tuple(_row(term.name, *found, frame) for term, found in zip(data.terms, squares, strict=True))
    return AnovaResult(
        rows, frame.residual_df, residual, model.total, _r_squared(frame, rank - 1), method, tuple(notes)
    )


Squares = tuple[float | None, int, str | None]


def _squares(
    model: linear_model.Reduced, data: ModelData, type: SquaresType
) -> tuple[list[Squares], list[str]]:
    """Each term's sum of squares, degrees of freedom and reason, and notes on lost degrees of freedom."""
    out: list[Squares] = []
    notes: list[str] = []
    empty = holes(data)
    for index, term in enumerate(data.terms):
        if type == 1:
            base = data.terms[:index]
        elif type == 2:
            base = tuple(other for other in data.terms if not other.contains(term))
        else:
            base = tuple(other for other in data.terms if other != term)
            over = [other.name for other in empty if other.contains(term) and other != term]
            if over:
                out.append((None, 0, f"{over[0]} has empty cells, where type III tests no clear hypothesis"))
                continue
        names = ["", *(other.name for other in base)]
        square, df = linear_model.added(model, names, term.name)
        width = _width(term, data)
        if df == 0:
            out.append((None, 0, why_no_columns(term, data)))
            continue
        if df < width:
            cause = (
                f"{empty[term]} of its cells are empty" if term in empty else "other effects span the rest"
            )
            notes.append(f"{term.name} has {df} degrees of freedom instead of {width}: {cause}")
        out.append((square, df, None))
    return out, notes


def _width(term: Term, data: ModelData) -> int:
    width = 1
    for part in term.parts:
        if part in data.factors:
            width *= len(data.factors[part].levels) - 1
    return width


def _frame(
    data: ModelData, total: float, residual: float, rank: int, squares: list[Squares], confidence: float
) -> _Frame:
    df = data.rows - rank
    why = None
    if df == 0:
        why = "no residual degrees of freedom: as many parameters as rows"
    elif residual <= 1e-20 * total:
        why = "no residual variation: the model fits perfectly"
    table = residual + sum(square for square, _, _ in squares if square is not None)
    return _Frame(residual, df, total, table, data.counts, why, confidence)


def _row(effect: str, square: float | None, df: int, why: str | None, frame: _Frame) -> AnovaRow:
    names = ("eta squared", "eta squared of the corrected total", "partial eta squared", "omega squared")
    if square is None or why is not None:
        reason = why or ""
        a, b, c, d = (Estimate.missing(reason, name, frame.counts) for name in names)
        return AnovaRow(effect, df, None, None, None, None, a, b, c, d, reason)
    shares = [square / frame.table, square / frame.total, square / (square + frame.residual)]
    plain = "intervals are given for the partial form"
    eta, of_total, partial = (
        Estimate(share, method=name, counts=frame.counts, why_no_interval=plain)
        for share, name in zip(shares, names, strict=False)
    )
    mean = square / df
    if frame.why_no_test:
        omega = Estimate.missing(frame.why_no_test, names[3], frame.counts)
        partial = _bounds.bounded(partial, None, "", frame.confidence, frame.why_no_test)
        return AnovaRow(
            effect, df, square, mean, None, None, eta, of_total, partial, omega, frame.why_no_test
        )
    error = frame.residual / frame.residual_df
    omega_share = (square - df * error) / (frame.total + error)
    omega = Estimate(omega_share, method=names[3], counts=frame.counts, why_no_interval=plain)
    f = mean / error
    partial = _share_interval(partial, f, df, frame)
    return AnovaRow(effect, df, square, mean, f, _upper_tail(f, df, frame), eta, of_total, partial, omega)


def _upper_tail(f: float, df: int, frame: _Frame) -> float:
    from scipy.special import fdtrc

    return float(fdtrc(df, frame.residual_df, f))


def _share_interval(share: Estimate, f: float, df: int, frame: _Frame) -> Estimate:
    bounds = share_bounds(f, df, frame.residual_df, frame.counts["rows"], frame.confidence)
    if bounds is not None:
        value = float(share)
        bounds = (min(bounds[0], value), max(bounds[1], value))
    clean = Estimate(share.value, method=share.method, counts=frame.counts)
    return _bounds.bounded(
        clean, bounds, "noncentral F", frame.confidence, "noncentral F cannot be inverted here"
    )


def _r_squared(frame: _Frame, df: int) -> Estimate:
    share = Estimate(max(1 - frame.residual / frame.total, 0.0), method="R squared", counts=frame.counts)
    if frame.why_no_test or df == 0:
        return _bounds.bounded(
            share, None, "", frame.confidence, frame.why_no_test or "no effect has a column"
        )
    f = (frame.total - frame.residual) / df / (frame.residual / frame.residual_df)
    return _share_interval(share, max(f, 0.0), df, frame)


def _nothing(data: ModelData, method: str, why: str) -> AnovaResult:
    frame = _Frame(0.0, 0, 0.0, 0.0, data.counts, why, 0.95)
    rows = tuple(_row(term.name, None, 0, why, frame) for term in data.terms)
    return AnovaResult(rows, 0, 0.0, 0.0, Estimate.missing(why, "R squared", data.counts), method, ())
