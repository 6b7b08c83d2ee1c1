"""Restricted maximum likelihood for crossed ratings: Newton steps on the variance ratios with the average
information.

A ratio may end at zero; then the other is optimised along that edge. The likelihood is never allowed to
fall where it is known (direct systems); where it is not, steps are limited instead. Small systems are
solved to rounding, large ones until the deviance can fall by no more than 1e-5, three thousandths of a
standard error.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from heartfelt.stats.reliability.iterative import IterativeSystem
from heartfelt.stats.reliability.system import COMPILED_LIMIT, TINY, DenseSystem, Step
from heartfelt.stats.triples import Floats

CEILING = 1e8
DIRECT_LIMIT = 3000


@dataclass(frozen=True, slots=True)
class Fit:
    """Where the likelihood is highest; ``free`` tells which ratios (big, small) were not held at zero."""

    step: Step
    iterations: int
    converged: bool
    free: tuple[bool, bool]


def maximise(
    system: DenseSystem | IterativeSystem,
    start: tuple[float, float],
    free: tuple[bool, bool] = (True, True),
    *,
    limit: int = 60,
) -> Fit:
    """Find the ratios (big, small) of highest restricted likelihood, holding those not free at zero."""
    exact = isinstance(system, DenseSystem) and system.m <= COMPILED_LIMIT
    precision = 1e-11 if exact else 1e-5
    ratios = np.where(free, np.clip(start, 0.01, 100.0), 0.0)
    now = system.step(float(ratios[0]), float(ratios[1]))
    for iteration in range(1, limit + 1):
        gradient, curvature = _in_ratios(now)
        open_ = np.array(free) & ~((ratios <= TINY) & (gradient >= 0))
        if not open_.any():
            return Fit(now, iteration, True, free)
        move = np.zeros(2)
        move[open_] = -_solve(curvature[np.ix_(open_, open_)], gradient[open_])
        gain = -float(gradient @ move)
        if gain < precision:
            return Fit(now, iteration, True, free)
        if ratios.max() >= CEILING:
            return Fit(now, iteration, False, free)
        if isinstance(system, DenseSystem):
            found = _search(system, now, ratios, move)
            if found is None:
                return Fit(now, iteration, gain < 1e-6, free)
            now = found
        else:
            trial = _inside(ratios, move, 2.0)
            now = system.step(float(trial[0]), float(trial[1]))
        ratios = np.array(now.ratios)
    return Fit(now, limit, False, free)


def _search(system: DenseSystem, now: Step, ratios: Floats, move: Floats) -> Step | None:
    """The first of ever shorter steps that raises the likelihood."""
    for halving in range(30):
        trial = _inside(ratios, move * 0.5**halving, 10.0)
        try:
            found = system.step(float(trial[0]), float(trial[1]))
        except np.linalg.LinAlgError:
            continue
        if found.deviance < now.deviance:
            return found
    return None


def _inside(ratios: Floats, move: Floats, growth: float) -> Floats:
    """The point after a move, at most ``growth`` times larger, at least zero (small ratios drop to zero)."""
    trial = np.minimum(ratios + move, np.maximum(ratios, 0.01) * growth)
    trial = np.where(trial < 0, np.where(ratios > 1e-3, ratios * 0.1, 0.0), trial)
    return np.where(trial < TINY, 0.0, np.minimum(trial, CEILING))


def _in_ratios(step: Step) -> tuple[Floats, Floats]:
    """Gradient and curvature of the deviance in the two ratios, the residual variance at its best."""
    big, small = step.ratios
    v = step.residual
    jacobian = np.array([[v, 0.0, big], [0.0, v, small], [0.0, 0.0, 1.0]])
    gradient = (step.score @ jacobian)[:2]
    information = jacobian.T @ (2.0 * step.information) @ jacobian
    cross = information[:2, 2]
    curvature = information[:2, :2] - np.outer(cross, cross) / max(information[2, 2], 1e-300)
    return gradient, curvature


def _solve(curvature: Floats, gradient: Floats) -> Floats:
    ridge = 1e-10 * np.trace(curvature) + 1e-300
    out: Floats = np.linalg.solve(curvature + ridge * np.eye(len(gradient)), gradient)
    return out
