"""Item quality by Recommendation ITU-T P.910, Annex E: quality, rater bias and rater inconsistency together.

Model: rating = quality of the item + bias of the rater + noise with the rater's own standard deviation (inconsistency).
Alternating projection: inconsistency is the standard deviation (divisor n) of a rater's residuals, quality the mean of the
ratings less bias with weights 1 / inconsistency squared, bias the mean of a rater's ratings less quality; until quality
changes by less than 1e-8 (root of the sum of squares). Then bias is shifted to mean zero and quality with it.

A rater with one rating has no inconsistency of their own and a bias that cannot be separated from the item; such raters enter
with bias zero and the pooled standard deviation, and their own are NaN. Quality is comparable only among items that raters
link; ``notes`` says when they fall apart, and when a rater was fitted exactly and decides their items, which with few ratings
per item happens to most data. ``leverage=True`` divides a rater's squared residuals by the sum of one minus leverage in place
of n; ``floor`` keeps every inconsistency used as a weight at or above that many points of the scale.

Two standard errors are published: sureal's, 1 / sqrt(sum of the item's weights), and that of the Recommendation's reference
code (``errors="itu"``), the standard deviation (divisor n) of the item's own residuals over the square root of their number.
Both take biases and inconsistencies as known, and intervals from them covered 0 to 92% where 95% were meant: they are refused.

``shrinkage=True`` makes three changes, which the likelihood needs once items have few ratings; use it for labels:

1. A rater's squared inconsistency is estimated with the degrees of freedom their ratings leave after items and raters are
   fitted (exact leverage).
2. It is shrunk towards the panel's: inconsistencies are draws from a scaled inverse chi-square distribution fitted to all
   raters (Smyth 2004, as in limma). Below ``LEAST_FREEDOM`` degrees of freedom on average they share one inconsistency.
3. Standard errors include the uncertainty of the biases (the inverse information of items and raters together), and
   intervals are Student's t with Satterthwaite's degrees of freedom, at most four per further rater, from three raters.

Biases have mean zero over the panel, so quality is on the panel's own level: what these raters share is part of it, and
its intervals say nothing of how far another panel's level may lie from it. The population's mean is covered in .87 to .96.

Source: the Recommendation; Li, Bampis, Krasula, Janowski & Katsavounidis (2020), equal to sureal's projection solver; Smyth,
Linear Models and Empirical Bayes Methods, Statistical Applications in Genetics and Molecular Biology 3 (2004).
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np

from heartfelt.errors import InputError
from heartfelt.stats.aggregate.result import Aggregate, Bools
from heartfelt.stats.aggregate.sorted_ratings import SortedRatings, sorted_ratings
from heartfelt.stats.columns.triples import Floats, Ids, Values

Errors: TypeAlias = Literal["sureal", "itu"]
PUBLISHED = (
    "the published standard errors take biases and inconsistencies as known, and intervals from them cover too "
    "little; use shrinkage=True"
)
ON_LEVEL = ", on this panel's own level"
METHOD = "ITU-T P.910 alternating projection"
NO_NOISE = "the raters agree perfectly, so there is no noise to measure"
LEAST_FREEDOM = 4.0
LEAST_OVERALL, LEAST_RATERS = 12.0, 3
PER_RATER = 4.0
ROUNDS = 30
DENSE_RATERS, DENSE_PAIRS = 400, 3e8
SETTLED = 1e-4


def p910(
    rater: Ids,
    item: Ids,
    value: Values,
    *,
    tolerance: float = 1e-8,
    floor: float = 0.0,
    leverage: bool = False,
    limit: int = 1000,
    shrinkage: bool = False,
    errors: Errors = "sureal",
) -> Aggregate:
    """Quality per item with rater bias and inconsistency, by alternating projection."""
    from heartfelt.stats.aggregate import _kernels_aggregate as kernels

    if not tolerance > 0 or limit < 1 or floor < 0:
        raise InputError(
            f"Alternating projection cannot run with tolerance={tolerance}, limit={limit}, floor={floor}.",
            "Leave them out for the Recommendation's 1e-8, at most 1,000 iterations and no floor.",
        )
    if errors not in ("sureal", "itu"):
        raise InputError(f"No standard errors are called '{errors}'.", "Use 'sureal' or 'itu'.")
    s = sorted_ratings(rater, item, value, repeats=True)
    if s.value.size == 0:
        none = np.zeros(0)
        return Aggregate(**s.facts, values=none, standard_errors=none, method=METHOD)
    raters = len(s.raters)
    centre = float(s.value.mean())
    if shrinkage:
        return _shrunken(s, centre)
    quality, bias, spread, iterations, change = kernels.alternate(
        s.starts, s.rater, s.value - centre, raters, floor, leverage, tolerance, limit
    )
    weight = 1.0 / (np.maximum(spread, floor) ** 2 + kernels.EPSILON)
    per_rater = np.bincount(s.rater, minlength=raters)
    several = per_rater > 1
    shift = float(bias[several].mean()) if several.any() else 0.0
    bias, quality = bias - shift, quality + shift
    standard_errors = np.full(quality.size, np.nan)
    if errors == "itu":
        residual = s.value - centre - quality[s.item] - bias[s.rater]
        mean = np.bincount(s.item, residual) / s.counts
        squares = np.bincount(s.item, (residual - mean[s.item]) ** 2)
        standard_errors = np.where(s.counts > 1, np.sqrt(squares) / s.counts, np.nan)
    elif spread.max() > 0.0:
        standard_errors = 1.0 / np.sqrt(np.bincount(s.item, weight[s.rater]))
    return Aggregate(
        **s.facts,
        values=quality + centre,
        standard_errors=standard_errors,
        method=METHOD + (", leverage-corrected" if leverage else "") + ON_LEVEL,
        bias=_of_several(bias, several),
        bias_standard_errors=_of_several(1.0 / np.sqrt(per_rater * weight), several),
        inconsistency=_of_several(spread, several),
        iterations=iterations,
        converged=bool(change < tolerance),
        notes=_notes(s, several, np.maximum(spread, floor), bool(change < tolerance), limit),
        why_no_error=NO_NOISE,
        why_no_interval=PUBLISHED,
    )


def _shrunken(s: SortedRatings, centre: float) -> Aggregate:
    """The model with inconsistencies shrunk towards the panel's; raters with one rating get no bias of their own."""
    from heartfelt.stats.aggregate import _kernels_aggregate as kernels

    raters, several = len(s.raters), np.bincount(s.rater, minlength=len(s.raters)) > 1
    method = f"ITU-T P.910 model, inconsistencies shrunk towards the panel's{ON_LEVEL}"
    means = np.bincount(s.item, s.value) / s.counts
    if np.abs(s.value - means[s.item]).max() <= 1e-10 * max(float(np.abs(s.value).max()), 1e-300):
        none = np.full(means.size, np.nan)
        return Aggregate(**s.facts, values=means, standard_errors=none, method=method, why_no_error=NO_NOISE)
    value, variance = s.value - centre, np.ones(raters)
    step = 1e-9 * max(float(np.ptp(value)), 1e-300)
    converged, rounds = False, 0
    while rounds < ROUNDS and not converged:
        weight = 1.0 / variance
        quality, bias, squares = kernels.weighted_two_way(s.starts, s.rater, value, weight, ~several, step, 2000)
        covariance = _bias_covariance(s, weight, ~several)
        errors, free = kernels.two_way_errors(s.starts, s.rater, weight, covariance)
        updated, prior_freedom = _shrunk(squares, free, several, bias)
        rounds += 1
        converged = bool(np.abs(np.log(updated / variance)).max() < SETTLED)
        variance = updated
    total = float(free[several].sum())
    rater_freedom = free + np.minimum(prior_freedom, free) if np.isfinite(prior_freedom) else np.full(raters, total)
    # Satterthwaite's degrees of freedom of each item's precision, from those of its raters' variances.
    part = 1.0 / variance[s.rater]
    precision = np.bincount(s.item, part)
    freedom = precision**2 / np.bincount(s.item, part**2 / np.maximum(rater_freedom, 1.0)[s.rater])
    # Raters differ in ways the model has no parameter for, such as gain: few raters mean few degrees of freedom.
    most = min(max(total, 1.0), PER_RATER * max(raters - 1, 1))
    shift = float(bias[several].mean()) if several.any() else 0.0
    spread = covariance[:, 0] if covariance.shape[0] != covariance.shape[1] else np.diag(covariance)
    reason = None
    if raters < LEAST_RATERS:
        reason = f"intervals need {LEAST_RATERS} raters or more; here are {raters}"
    elif total < LEAST_OVERALL:
        reason = "too few ratings are left after items and raters are fitted to tell the noise"
    return Aggregate(
        **s.facts,
        values=quality + shift + centre,
        standard_errors=np.sqrt(errors),
        method=method,
        bias=_of_several(bias - shift, several),
        bias_standard_errors=_of_several(np.sqrt(np.maximum(spread, 0.0)), several),
        inconsistency=_of_several(np.sqrt(variance), several),
        iterations=rounds,
        converged=converged,
        notes=_notes(s, several, np.sqrt(variance), converged, rounds),
        why_no_error=NO_NOISE,
        degrees=np.minimum(freedom, most),
        why_no_interval=reason,
    )


def _of_several(parameter: Floats, several: Bools) -> Floats:
    """A rater parameter, NaN for raters with one rating."""
    return np.where(several, parameter, np.nan)


def _notes(s: SortedRatings, several: Bools, spread: Floats, converged: bool, limit: int) -> tuple[str, ...]:
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    notes = []
    single = int(np.count_nonzero(~several))
    if single:
        notes.append(f"{single} raters gave one rating: bias zero and pooled inconsistency were used for them")
    exact = int(np.count_nonzero((spread < 1e-4) & several))
    if exact:
        notes.append(f"{exact} raters have inconsistency near zero and decide the items they rated (see leverage)")
    links = coo_array((np.ones(s.rater.size), (s.rater[s.starts[s.item]], s.rater)), shape=(len(s.raters),) * 2)
    parts = connected_components(links, directed=False)[0]
    if parts > 1:
        notes.append(f"raters and items fall into {parts} unlinked parts; quality is not comparable between them")
    if not converged:
        notes.append(f"not converged after {limit} iterations")
    return tuple(notes)


def _bias_covariance(s: SortedRatings, weight: Floats, fixed: Bools) -> Floats:
    """Covariance of the biases about their mean: dense for panels of a size, else variances in one column."""
    from heartfelt.stats.aggregate import _kernels_aggregate as kernels

    raters = weight.size
    pairs = float((s.counts.astype(np.float64) ** 2).sum())
    if raters < 2 or raters > DENSE_RATERS or pairs > DENSE_PAIRS:
        rating_weight = weight[s.rater]
        total = np.bincount(s.item, rating_weight)
        rater_information = np.bincount(
            s.rater, rating_weight * (1.0 - rating_weight / total[s.item]), minlength=raters
        )
        out = np.where(fixed, 0.0, 1.0 / np.maximum(rater_information, 1e-300))
        return np.column_stack([out, np.zeros(raters)]) if raters == 1 else out[:, None]
    information = kernels.shared_information(s.starts, s.rater, weight, raters)
    out = np.zeros((raters, raters))
    free = np.flatnonzero(~fixed)
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
    # Raters whose ratings leave no freedom say nothing of how inconsistencies vary.
    prior_freedom, scale = variance_prior(squares[usable] / free[usable], free[usable])
    if not np.isfinite(prior_freedom):
        return np.where(several, pooled, lone), prior_freedom
    rater_variance = (prior_freedom * scale + squares) / (prior_freedom + np.maximum(free, 0.0))
    return np.where(several, rater_variance, lone), prior_freedom


def variance_prior(variances: Floats, freedom: Floats) -> tuple[float, float]:
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
