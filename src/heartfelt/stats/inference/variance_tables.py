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
  (Steiger 2004), widened where necessary to include the sample value. The noncentrality lambda of an effect
  tested on n rows corresponds to a share lambda / (lambda + n) of the variance left by the other effects; the
  bounds are the shares under which the observed F lies at the upper and the lower tail;
- ``omega_squared``: of the total, less what chance gives (Hays 1963).

Source: Searle (1971); Fox (2016) on the types.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from statistics import NormalDist
from typing import Literal

from heartfelt.errors import InputError
from heartfelt.stats import _bounds
from heartfelt.stats.columns.paired import Column, is_constant
from heartfelt.stats.estimate import Estimate
from heartfelt.stats.inference import linear_model
from heartfelt.stats.inference.linear_model import Interactions, ModelData, Term, holes, model_data, why_no_columns

SquaresType = Literal[1, 2, 3]
_ROMAN = {1: "I", 2: "II", 3: "III"}
_NORMAL = NormalDist()


@dataclass(frozen=True, slots=True, kw_only=True)
class AnovaRow:
    """One effect; where a number is None, ``why_missing`` gives the reason."""

    effect: str
    df: int
    sum_sq: float | None = None
    mean_sq: float | None = field(default=None, metadata={"skip": True})
    f: float | None = field(default=None, metadata={"formerly": "F"})
    p: float | None = None
    eta_squared: Estimate
    eta_squared_of_total: Estimate
    partial_eta_squared: Estimate
    omega_squared: Estimate
    why_missing: str | None = field(default=None, metadata={"omit": True})


@dataclass(frozen=True, slots=True, kw_only=True)
class AnovaResult:
    """The table. The headline is ``r_squared``, the share of the total all effects together explain.

    ``notes`` lists empty cells and lost degrees of freedom.
    """

    rows: tuple[AnovaRow, ...]
    residual_df: int
    residual_sum_sq: float
    total_sum_sq: float
    r_squared: Estimate
    method: str
    notes: tuple[str, ...]

    def __getitem__(self, effect: str) -> AnovaRow:
        return {row.effect: row for row in self.rows}[effect]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Frame:
    """What every row of the table is compared with."""

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
    reason = "fewer than two rows" if data.rows < 2 else None
    if reason is None and is_constant(data.outcome):
        reason = "the outcome does not vary"
    if reason:
        return _nothing(data, method, reason)
    model = linear_model.reduced(data)
    residual, rank = linear_model.residual(model, data.terms)
    squares, notes = _squares(model, data, type)
    df = data.rows - rank
    untested = linear_model.why_no_test(residual, df, model.total)
    table = residual + sum(square for square, _, _ in squares if square is not None)
    frame = _Frame(
        residual=residual,
        residual_df=df,
        total=model.total,
        table=table,
        counts=data.counts,
        why_no_test=untested,
        confidence=confidence,
    )
    rows = tuple(_row(term.name, *square, frame) for term, square in zip(data.terms, squares, strict=True))
    return AnovaResult(
        rows=rows,
        residual_df=frame.residual_df,
        residual_sum_sq=residual,
        total_sum_sq=model.total,
        r_squared=_r_squared(frame, rank - 1),
        method=method,
        notes=tuple(notes),
    )


Squares = tuple[float | None, int, str | None]


def _squares(model: linear_model.Reduced, data: ModelData, type: SquaresType) -> tuple[list[Squares], list[str]]:
    """Each term's sum of squares, degrees of freedom and reason, and notes on lost degrees of freedom."""
    out: list[Squares] = []
    notes: list[str] = []
    empty = holes(data)
    for index, term in enumerate(data.terms):
        over = [larger.name for larger in empty if larger.contains(term) and larger != term]
        if type == 3 and over:
            out.append((None, 0, f"{over[0]} has empty cells, where type III tests no clear hypothesis"))
            continue
        names = ["", *(base.name for base in _base_terms(data.terms, index, type))]
        square, df = linear_model.added(model, names, term.name)
        columns = linear_model.width(term, data)
        if df == 0:
            out.append((None, 0, why_no_columns(term, data)))
            continue
        if df < columns:
            cause = f"{empty[term]} of its cells are empty" if term in empty else "other effects span the rest"
            notes.append(f"{term.name} has {df} degrees of freedom instead of {columns}: {cause}")
        out.append((square, df, None))
    return out, notes


def _base_terms(terms: tuple[Term, ...], index: int, type: SquaresType) -> Iterator[Term]:
    """The terms that the one at ``index`` is added to."""
    term = terms[index]
    for position, base in enumerate(terms):
        if {1: position < index, 2: not base.contains(term), 3: base != term}[type]:
            yield base


def _row(effect: str, square: float | None, df: int, why_missing: str | None, frame: _Frame) -> AnovaRow:
    from scipy.special import fdtrc

    names = ("eta squared", "eta squared of the corrected total", "partial eta squared", "omega squared")
    if square is None or why_missing is not None:
        reason = why_missing or ""
        a, b, c, d = (Estimate.missing(reason, name, frame.counts) for name in names)
        return AnovaRow(
            effect=effect,
            df=df,
            eta_squared=a,
            eta_squared_of_total=b,
            partial_eta_squared=c,
            omega_squared=d,
            why_missing=reason,
        )
    shares = [square / frame.table, square / frame.total, square / (square + frame.residual)]
    no_interval = "intervals are given for the partial form"
    eta, of_total, partial = (
        Estimate(value=share, method=name, counts=frame.counts, why_no_interval=no_interval)
        for share, name in zip(shares, names, strict=False)
    )
    mean = square / df
    f: float | None = None
    p: float | None = None
    if frame.why_no_test:
        omega = Estimate.missing(frame.why_no_test, names[3], frame.counts)
        partial = partial.without_interval(frame.why_no_test)
    else:
        error = frame.residual / frame.residual_df
        omega_share = (square - df * error) / (frame.total + error)
        omega = Estimate(value=omega_share, method=names[3], counts=frame.counts, why_no_interval=no_interval)
        f = mean / error
        partial, p = _share_interval(partial, f, df, frame), float(fdtrc(df, frame.residual_df, f))
    return AnovaRow(
        effect=effect,
        df=df,
        sum_sq=square,
        mean_sq=mean,
        f=f,
        p=p,
        eta_squared=eta,
        eta_squared_of_total=of_total,
        partial_eta_squared=partial,
        omega_squared=omega,
        why_missing=frame.why_no_test or None,
    )


def _share_interval(share: Estimate, f: float, df: int, frame: _Frame) -> Estimate:
    bounds = share_bounds(f, df, frame.residual_df, frame.counts["rows"], frame.confidence)
    if bounds is None:
        return share.without_interval("noncentral F cannot be inverted here")
    low, high = min(bounds[0], float(share)), max(bounds[1], float(share))
    return share.with_interval(low, high, "noncentral F", frame.confidence)


def _r_squared(frame: _Frame, df: int) -> Estimate:
    share = Estimate(value=max(1 - frame.residual / frame.total, 0.0), method="R squared", counts=frame.counts)
    if frame.why_no_test or df == 0:
        return share.without_interval(frame.why_no_test or "no effect has a column")
    f = (frame.total - frame.residual) / df / (frame.residual / frame.residual_df)
    return _share_interval(share, max(f, 0.0), df, frame)


def _nothing(data: ModelData, method: str, reason: str) -> AnovaResult:
    frame = _Frame(
        residual=0.0, residual_df=0, total=0.0, table=0.0, counts=data.counts, why_no_test=reason, confidence=0.95
    )
    rows = tuple(_row(term.name, None, 0, reason, frame) for term in data.terms)
    return AnovaResult(
        rows=rows,
        residual_df=0,
        residual_sum_sq=0.0,
        total_sum_sq=0.0,
        r_squared=Estimate.missing(reason, "R squared", data.counts),
        method=method,
        notes=(),
    )


def share_bounds(f: float, df: float, df_residual: float, rows: int, confidence: float) -> tuple[float, float] | None:
    """Bounds of the share of variance behind an F statistic, or None where the distribution cannot be inverted."""
    tail = (1 - confidence) / 2
    ends = []
    for below in (1 - tail, tail):
        noncentrality = _noncentrality(f, df, df_residual, below)
        if noncentrality is None:
            return None
        ends.append(noncentrality / (noncentrality + rows))
    return ends[0], ends[1]


def _noncentrality(f: float, df: float, df_residual: float, below: float) -> float | None:
    """The noncentrality under which F lies below ``f`` with chance ``below``; 0 if even the central one is less."""
    from scipy.special import fdtr, ncfdtr

    if float(fdtr(df, df_residual, f)) <= below:
        return 0.0
    target = _NORMAL.inv_cdf(below)

    def gap(root: float) -> float:
        chance = float(ncfdtr(df, df_residual, root * root, f))
        if not math.isfinite(chance):
            return math.nan
        return _NORMAL.inv_cdf(min(max(chance, 1e-300), 1 - 1e-16)) - target

    # On the scale of the root, the normal quantile of the distribution falls almost linearly.
    middle = math.sqrt(max(df * f - df, 0.25))
    spread = math.sqrt(1 + df * f * df * f / (2 * df_residual * max(df * f, 1)))
    return _falling_root(gap, max(middle - spread * target, 0.1), spread)


def _falling_root(gap: Callable[[float], float], start: float, step: float) -> float | None:
    from scipy.optimize import brentq

    low, high = max(start - 0.5 * step, 0.0), start + 0.5 * step
    at_low, at_high = gap(low), gap(high)
    for _ in range(60):
        if math.isnan(at_low) or math.isnan(at_high):
            return None
        if at_low >= 0 >= at_high:
            root = brentq(gap, low, high, xtol=1e-9, rtol=1e-10)
            return float(root) ** 2
        step *= 2
        if at_low < 0:
            high, at_high = low, at_low
            low = max(low - step, 0.0)
            at_low = gap(low)
        else:
            low, at_low = high, at_high
            high += step
            at_high = gap(high)
    return None
