"""Internal consistency of a scale made of several items answered by the same people.

Cronbach's alpha is ``k / (k - 1) * (1 - sum of the items' variances / variance of their sum)`` over the people who answered
all ``k`` items; it may be negative. Its interval is Feldt's, from the F distribution with ``n - 1`` and ``(n - 1)(k - 1)``
degrees of freedom (Feldt, Woodruff & Salih, 1987). McDonald's omega is the share of the sum's variance that one common
factor explains, ``(sum of loadings)^2 / ((sum of loadings)^2 + sum of uniquenesses)``, with loadings that minimise the
squared differences of the covariances (McDonald, 1999). It needs three items.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from heartfelt.stats.estimate import Estimate

Answers: TypeAlias = np.ndarray[tuple[int, int], np.dtype[np.float64]]
"""A row per person, a column per item; NaN where there is no answer. Reversed items have been turned round."""
ALPHA = "Cronbach's alpha"
OMEGA = "McDonald's omega"
_STEPS = 2_000
_CONVERGED = 1e-10


def cronbach_alpha(answers: Answers, confidence: float = 0.95) -> Estimate:
    """Cronbach's alpha with Feldt's interval."""
    complete, counts, reason = _complete(answers, least_items=2)
    if reason is not None:
        return Estimate.missing(reason, ALPHA, counts)
    people, items = complete.shape
    total = float(complete.sum(axis=1).var(ddof=1))
    if total <= 0:
        return Estimate.missing("everybody has the same score", ALPHA, counts)
    alpha = items / (items - 1) * (1 - float(complete.var(axis=0, ddof=1).sum()) / total)
    estimate = Estimate(value=alpha, method=ALPHA, counts=counts)
    if alpha >= 1:
        return estimate.without_interval("all items have the same answers")
    from scipy.stats import f

    degrees = people - 1, (people - 1) * (items - 1)
    tail = (1 - confidence) / 2
    low, high = (1 - (1 - alpha) * float(f.ppf(share, *degrees)) for share in (1 - tail, tail))
    return estimate.with_interval(low, high, "Feldt (F distribution)", confidence)


def mcdonald_omega(answers: Answers) -> Estimate:
    """McDonald's omega of a single factor."""
    complete, counts, reason = _complete(answers, least_items=3)
    if reason is not None:
        return Estimate.missing(reason, OMEGA, counts)
    covariance = np.cov(complete, rowvar=False)
    if not (np.diag(covariance) > 0).all():
        return Estimate.missing("an item has the same answer from everybody", OMEGA, counts)
    omega = omega_of(covariance)
    if isinstance(omega, str):
        return Estimate.missing(omega, OMEGA, counts)
    return Estimate(value=omega, method=OMEGA, counts=counts, why_no_interval="only alpha has an interval")


def omega_of(covariance: Answers) -> float | str:
    """Omega of a covariance matrix, or the reason there is none."""
    scale = np.sqrt(np.diag(covariance))
    loadings = _loadings(covariance / np.outer(scale, scale))
    if loadings is None:
        return "no single factor could be fitted"
    loadings = loadings * scale
    unique = np.diag(covariance) - loadings**2
    if (unique < 0).any():
        return "one factor would explain more than all the variance of an item"
    common = float(loadings.sum()) ** 2
    return common / (common + float(unique.sum()))


def _loadings(correlation: Answers) -> np.ndarray[tuple[int], np.dtype[np.float64]] | None:
    """Loadings of one factor that minimise the squared off-diagonal differences, one item after another."""
    off_diagonal = correlation - np.diag(np.diag(correlation))
    values, vectors = np.linalg.eigh(correlation)
    loadings: np.ndarray[tuple[int], np.dtype[np.float64]] = vectors[:, -1] * np.sqrt(values[-1])
    if loadings.sum() < 0:
        loadings = -loadings
    for _ in range(_STEPS):
        before = loadings.copy()
        for item in range(len(loadings)):
            squares = float(loadings @ loadings - loadings[item] ** 2)
            if squares <= 0:
                return None
            loadings[item] = float(off_diagonal[item] @ loadings) / squares
        if float(np.abs(loadings - before).max()) < _CONVERGED:
            return loadings
    return None


def _complete(answers: Answers, least_items: int) -> tuple[Answers, dict[str, int], str | None]:
    """The people who answered everything, the counts, and why there can be no figure."""
    complete = answers[~np.isnan(answers).any(axis=1)]
    counts = {"raters": len(complete), "items": answers.shape[1]}
    if answers.shape[1] < least_items:
        return complete, counts, f"a scale of {answers.shape[1]} items; at least {least_items} are needed"
    if len(complete) < 3:
        return complete, counts, f"{len(complete)} raters answered all items; at least 3 are needed"
    return complete, counts, None
