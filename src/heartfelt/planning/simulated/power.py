"""The power a design has under each of the parameters that a pilot allows.

A simulated study finds a difference or not; its power is what lies behind. Under parameters p and a difference d it is

    P(d, p) = Phi(d / e(p) - c) + Phi(-d / e(p) - c),

e(p) being the standard error of the difference: the variances of p, weighed by who rates what in the design, times one factor that
makes their mean that of the simulated studies' own errors. The bar c is set such that the mean over the studies is the share that
they found. So the mean is simulated, and the formula only says how power moves with the parameters. What is unknown of the bar
(few simulated studies) is drawn, too.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from heartfelt.planning.pilots.latent import Floats
from heartfelt.stats.columns.triples import Ints

Bools: TypeAlias = npt.NDArray[np.bool_]
_BARS = (-8.0, 60.0)


def difference_weights(rater: Ints, stimulus: Ints, system: Ints, systems: int) -> Floats:
    """What each component adds to the variance of a difference of two systems' means of stimuli: a row per pair of systems."""
    per_stimulus = np.bincount(stimulus, minlength=system.size)
    rated = per_stimulus > 0
    sizes = np.maximum(np.bincount(system[rated], minlength=systems), 1).astype(np.float64)
    of = system[stimulus]
    share = 1.0 / (per_stimulus[stimulus] * sizes[of])
    raters = int(rater.max(initial=-1)) + 1
    by_rater = np.bincount(of * raters + rater, share, minlength=systems * raters).reshape(systems, raters)
    noise = np.bincount(of, share * share, minlength=systems)
    taste = (by_rater**2).sum(axis=1)
    i, j = np.triu_indices(systems, 1)
    weights = np.zeros((i.size, 8))
    weights[:, 3] = 1.0 / sizes[i] + 1.0 / sizes[j]
    weights[:, 4] = ((by_rater[i] - by_rater[j]) ** 2).sum(axis=1)
    weights[:, 5] = noise[i] + noise[j]
    weights[:, 7] = taste[i] + taste[j]
    return weights


def expected_errors(variances: Floats, errors: Floats) -> Floats:
    """Standard errors under each study's parameters: its expected ``variances``, scaled to the mean of the observed ``errors``."""
    usable = np.isfinite(errors) & (variances > 0)
    if not usable.any():
        return np.full(variances.shape, np.nan)
    factor = float(np.square(errors[usable]).mean()) / float(variances[usable].mean())
    return np.asarray(np.sqrt(factor * variances))


def chances(ratio: Floats, bar: Floats | float) -> Floats:
    """Probabilities that differences of ``ratio`` standard errors are found."""
    from scipy.special import ndtr

    return np.asarray(ndtr(ratio - bar) + ndtr(-ratio - bar))


def power_draws(ratio: Floats, detected: Floats, wanted: Bools, rng: np.random.Generator) -> Floats:
    """The power of each study's parameters for each pair; NaN for pairs that are not ``wanted``."""
    counted = wanted & np.isfinite(detected) & np.isfinite(ratio)
    out = np.full(ratio.shape, np.nan)
    if not counted.any():
        return out
    size = int(counted.any(axis=1).sum())
    # As many studies as there are cannot show a share nearer to 0 or 1 than this.
    share = float(np.clip(detected[counted].mean(), 0.5 / (size + 1), 1.0 - 0.5 / (size + 1)))
    bar = bar_for(ratio[counted], share)
    low, high = (float(chances(ratio[counted], bar + step).mean()) for step in (0.05, -0.05))
    per_study = [float(row[chosen].mean()) for row, chosen in zip(detected, counted, strict=True) if chosen.any()]
    # Where all studies found the same, their share still has the spread of a share.
    spread = float(np.var(per_study)) or share * (1.0 - share)
    error = np.sqrt(spread / size) / max((high - low) / 0.1, 1e-3)
    bars = bar + error * rng.standard_normal((len(ratio), 1))
    out[counted] = chances(ratio, bars)[counted]
    return out


def bar_for(ratio: Floats, share: float) -> float:
    """The bar at which the mean probability is ``share``, by halving."""
    low, high = _BARS
    for _ in range(60):
        middle = (low + high) / 2.0
        if float(chances(ratio, middle).mean()) > share:
            low = middle
        else:
            high = middle
    return (low + high) / 2.0
