"""Quality, bias and inconsistency as in P.910, with inconsistencies shrunk towards the panel's.

The P.910 model with three changes, which its likelihood needs once items have few ratings:

1. A rater's squared inconsistency is estimated with the degrees of freedom their ratings leave after items and
   raters are fitted (exact leverage), not with their number.
2. It is then shrunk towards the panel's: inconsistencies are taken as draws from a scaled inverse chi-square
   distribution whose scale and degrees of freedom are fitted to all raters (Smyth 2004, as in limma). Raters who
   left fewer than ``LEAST_FREEDOM`` degrees of freedom on average share one inconsistency.
3. Standard errors of quality include the uncertainty of the biases (the inverse information of items and raters
   together, biases with mean zero), and intervals are Student's t with Satterthwaite's degrees of freedom, at most
   four per further rater. Below five raters there are none.

Nobody's weight can run off, since no inconsistency goes below its share of the panel's.

Source: Smyth, Linear Models and Empirical Bayes Methods, Statistical Applications in Genetics and Molecular
Biology 3 (2004).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from heartfelt.stats.aggregate.result import Bools
from heartfelt.stats.aggregate.sorted_ratings import SortedRatings
from heartfelt.stats.triples import Floats

LEAST_FREEDOM = 4.0
LEAST_OVERALL, LEAST_RATERS = 12.0, 5
PER_RATER = 4.0
ROUNDS = 30
DENSE_RATERS, DENSE_PAIRS = 400, 3e8
SETTLED = 1e-4


@dataclass(frozen=True, slots=True)
class Shrunken:
    """Quality with standard errors and degrees of freedom per item; bias and inconsistency per rater."""

    quality: Floats
    errors: Floats
    freedom: Floats
    bias: Floats
    bias_errors: Floats
    inconsistency: Floats
    overall_freedom: float
    rounds: int
    converged: bool

    @property
    def why_no_interval(self) -> str | None:
        """Why the intervals are not to be trusted, or None."""
        if self.bias.size < LEAST_RATERS:
            return f"intervals need {LEAST_RATERS} raters or more; here are {self.bias.size}"
        if self.overall_freedom < LEAST_OVERALL:
            return "too few ratings are left after items and raters are fitted to tell the noise"
        return None


def shrunken_weights(s: SortedRatings, value: Floats, several: Bools) -> Shrunken:
    """Fit the model; raters without ``several`` ratings get no bias of their own."""
    from heartfelt.stats import _kernels_aggregate as kernels

    raters = len(s.raters)
    variance = np.ones(raters)
    held = ~several
    converged = False
    rounds = 0
    while rounds < ROUNDS and not converged:
        weight = 1.0 / variance
        quality, bias, squares = kernels.weighted_two_way(
            s.starts, s.rater, value, weight, held, 1e-9 * max(float(np.ptp(value)), 1e-300), 2000
        )
        covariance = _bias_covariance(s, weight, held)
        errors, free = kernels.two_way_errors(s.starts, s.rater, weight, covariance)
        updated, prior_freedom = _shrunk(squares, free, several, bias)
        rounds += 1
        converged = bool(np.abs(np.log(updated / variance)).max() < SETTLED)
        variance = updated
    total = float(free[several].sum())
    own = free + np.minimum(prior_freedom, free) if np.isfinite(prior_freedom) else np.full(raters, total)
    freedom = kernels.pooled_freedom(s.starts, s.rater, variance, np.maximum(own, 1.0))
    # Raters differ in ways the model has no parameter for, such as gain: few raters mean few degrees of freedom.
    most = min(max(total, 1.0), PER_RATER * max(raters - 1, 1))
    shift = float(bias[several].mean()) if several.any() else 0.0
    spread = covariance[:, 0] if covariance.shape[0] != covariance.shape[1] else np.diag(covariance)
    return Shrunken(
        quality + shift,
        np.sqrt(errors),
        np.minimum(freedom, most),
        bias - shift,
        np.sqrt(np.maximum(spread, 0.0)),
        np.sqrt(variance),
        total,
        rounds,
        converged,
    )


def _bias_covariance(s: SortedRatings, weight: Floats, held: Bools) -> Floats:
    """Covariance of the biases about their mean: dense for panels of a size, else variances in one column."""
    from heartfelt.stats import _kernels_aggregate as kernels

    raters = weight.size
    pairs = float((s.counts.astype(np.float64) ** 2).sum())
    if raters < 2 or raters > DENSE_RATERS or pairs > DENSE_PAIRS:
        items = np.repeat(np.arange(s.counts.size), s.counts)
        total = np.bincount(items, weight[s.rater])
        own = np.bincount(s.rater, weight[s.rater] * (1.0 - weight[s.rater] / total[items]), minlength=raters)
        out = np.where(held, 0.0, 1.0 / np.maximum(own, 1e-300))
        return np.column_stack([out, np.zeros(raters)]) if raters == 1 else out[:, None]
    information = kernels.shared_information(s.starts, s.rater, weight, raters)
    out = np.zeros((raters, raters))
    free = np.flatnonzero(~held)
    if free.size > 1:
        inverse: Floats = np.linalg.pinv(information[np.ix_(free, free)], rcond=1e-9, hermitian=True)
        out[np.ix_(free, free)] = inverse
    return out


def _shrunk(squares: Floats, free: Floats, several: Bools, bias: Floats) -> tuple[Floats, float]:
    """Variances shrunk towards the panel's, and the degrees of freedom that panel counts for."""
    total = max(float(free[several].sum()), 1e-9)
    pooled = max(float(squares[several].sum()) / total, 1e-12)
    # Who gave one rating has no bias of their own; it adds to their noise.
    lone = pooled + (float(bias[several].var()) if several.any() else 0.0)
    usable = several & (free > 0.5) & (squares > 0)
    if np.count_nonzero(usable) < 3 or float(free[several].mean()) < LEAST_FREEDOM:
        return np.where(several, pooled, lone), float("inf")
    prior_freedom, scale = _prior(squares[usable] / free[usable], free[usable])
    if not np.isfinite(prior_freedom):
        return np.where(several, pooled, lone), prior_freedom
    own = (prior_freedom * scale + squares) / (prior_freedom + np.maximum(free, 0.0))
    return np.where(several, own, lone), prior_freedom


def _prior(variances: Floats, freedom: Floats) -> tuple[float, float]:
    """Degrees of freedom and scale of the distribution of the true variances, by moments of their logs."""
    from scipy.special import digamma, polygamma

    logs = np.log(variances) - digamma(freedom / 2) + np.log(freedom / 2)
    middle = float(logs.mean())
    spread = float(logs.var(ddof=1)) - float(polygamma(1, freedom / 2).mean())
    if spread <= 1e-6:
        return float("inf"), float((variances * freedom).sum() / freedom.sum())
    half = _inverse_trigamma(spread)
    return 2.0 * half, float(np.exp(middle + digamma(half) - np.log(half)))


def _inverse_trigamma(x: float) -> float:
    """The number whose trigamma is ``x``, by Newton's method (Smyth 2004, appendix)."""
    from scipy.special import polygamma

    y = 0.5 + 1.0 / x
    for _ in range(50):
        value = float(polygamma(1, y))
        step = value * (1.0 - value / x) / float(polygamma(2, y))
        y += step
        if abs(step) < 1e-9 * y:
            break
    return y
