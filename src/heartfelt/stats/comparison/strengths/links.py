"""How a difference of strengths becomes an outcome: the models of paired comparison.

With d the strength of the first contestant less that of the second (plus the order effect where there is one):

| model | first is chosen | tie | scale of strengths |
|---|---|---|---|
| Bradley-Terry (1952) | logistic(d) | half a win and half a loss | log odds |
| Thurstone (1927), Case V | Phi(d) | half a win and half a loss | standard deviations of a difference |
| Davidson (1970) | exp(d/2) / z | nu / z, with z = exp(d/2) + exp(-d/2) + nu | log odds |
| Rao-Kupper (1967) | logistic(d - eta) | the rest, theta = exp(eta) | log odds |
| graded | normal about d | a grade of 0 | the grades' own |

Each model gives, for rows of outcomes, the log-likelihood and its derivatives by d and by its tie parameter (log nu, eta).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from heartfelt.stats.columns.triples import Floats

Evaluate: TypeAlias = "Callable[[Floats, Floats, float], Derivatives]"


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Derivatives:
    """Log-likelihood of each row, its slope by d, and the negative second derivatives; those by the tie parameter where it
    has one.
    """

    likelihood: Floats
    slope: Floats
    curvature: Floats
    tie_slope: Floats | None = None
    tie_cross: Floats | None = None
    tie_curvature: Floats | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """A model of paired comparison. ``evaluate`` takes d, rows of sums (won, tied, lost) and the tie parameter."""

    name: str
    evaluate: Evaluate
    ties: bool = False
    start: float = 0.0
    """Where the search for the tie parameter begins."""
    least: float = -np.inf
    """The tie parameter stays above this."""
    logistic: bool = False
    """Whether the slope is won - total * logistic(d), which has a compiled pass."""
    far: float = 30.0
    """A parameter beyond this is on its way to infinity: on a log scale the odds are 10^13 to one."""


def outcome_columns(value: Floats) -> list[Floats]:
    """Won, tied and lost, as columns of 1 and 0."""
    return [(value == outcome).astype(np.float64) for outcome in (1.0, 0.5, 0.0)]


def graded_columns(value: Floats) -> list[Floats]:
    """The sums a normal likelihood needs: count, grades, squares."""
    return [np.ones_like(value), value, value * value]


def _logistic(d: Floats) -> Floats:
    from scipy.special import expit

    return np.asarray(expit(d))


def _log_logistic(d: Floats) -> Floats:
    return -np.logaddexp(0.0, -d)


def _bradley_terry(d: Floats, sums: Floats, _: float) -> Derivatives:
    won, lost = sums[:, 0] + sums[:, 1] / 2, sums[:, 2] + sums[:, 1] / 2
    p = _logistic(d)
    total = won + lost
    likelihood = won * _log_logistic(d) + lost * _log_logistic(-d)
    return Derivatives(likelihood=likelihood, slope=won - total * p, curvature=total * p * (1 - p))


def _thurstone(d: Floats, sums: Floats, _: float) -> Derivatives:
    from scipy.special import log_ndtr

    won, lost = sums[:, 0] + sums[:, 1] / 2, sums[:, 2] + sums[:, 1] / 2
    log_win, log_loss = log_ndtr(d), log_ndtr(-d)
    log_density = -d * d / 2 - np.log(2 * np.pi) / 2
    win, loss = np.exp(log_density - log_win), np.exp(log_density - log_loss)
    curvature = won * win * (win + d) + lost * loss * (loss - d)
    return Derivatives(likelihood=won * log_win + lost * log_loss, slope=won * win - lost * loss, curvature=curvature)


def _davidson(d: Floats, sums: Floats, tie: float) -> Derivatives:
    won, tied, lost = sums[:, 0], sums[:, 1], sums[:, 2]
    total = won + tied + lost
    log_z = np.logaddexp(np.logaddexp(d / 2, -d / 2), tie)
    win, loss, draw = np.exp(d / 2 - log_z), np.exp(-d / 2 - log_z), np.exp(tie - log_z)
    lead = win - loss
    return Derivatives(
        likelihood=(won - lost) * d / 2 + tied * tie - total * log_z,
        slope=(won - lost - total * lead) / 2,
        curvature=total * (win + loss - lead * lead) / 4,
        tie_slope=tied - total * draw,
        tie_cross=-total * lead * draw / 2,
        tie_curvature=total * draw * (1 - draw),
    )


def _rao_kupper(d: Floats, sums: Floats, tie: float) -> Derivatives:
    won, lost, tied = sums[:, 0] + sums[:, 1], sums[:, 2] + sums[:, 1], sums[:, 1]
    win, loss = _logistic(d - tie), _logistic(-d - tie)
    by_win, by_loss = won * win * (1 - win), lost * loss * (1 - loss)
    grown = np.expm1(2 * tie)
    likelihood = won * _log_logistic(d - tie) + lost * _log_logistic(-d - tie) + tied * np.log(grown)
    return Derivatives(
        likelihood=likelihood,
        slope=won * (1 - win) - lost * (1 - loss),
        curvature=by_win + by_loss,
        tie_slope=-won * (1 - win) - lost * (1 - loss) + tied * 2 * (grown + 1) / grown,
        tie_cross=by_loss - by_win,
        tie_curvature=by_win + by_loss + tied * 4 * (grown + 1) / grown**2,
    )


def _graded(d: Floats, sums: Floats, _: float) -> Derivatives:
    count, grades, squares = sums[:, 0], sums[:, 1], sums[:, 2]
    return Derivatives(likelihood=d * grades - (squares + count * d * d) / 2, slope=grades - count * d, curvature=count)


BRADLEY_TERRY = Link(name="Bradley-Terry", evaluate=_bradley_terry, logistic=True)
THURSTONE = Link(name="Thurstone, Case V", evaluate=_thurstone)
DAVIDSON = Link(name="Davidson", evaluate=_davidson, ties=True)
RAO_KUPPER = Link(name="Rao-Kupper", evaluate=_rao_kupper, ties=True, start=0.5, least=0.0)
GRADED = Link(name="graded comparisons, least squares", evaluate=_graded, far=np.inf)
