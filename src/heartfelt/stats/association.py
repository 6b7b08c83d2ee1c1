"""How closely two columns of numbers agree: correlations, concordance and errors.

Pairs with a missing or infinite side are left out and counted. Correlations lie in [-1, 1] and need three pairs and two
columns that vary; errors are in the unit of the columns (``mse`` in its square) and need two pairs. Definitions are in
``metrics``, intervals in ``paired_metrics``.
"""

from __future__ import annotations

from typing import Literal

from heartfelt.stats._paired import Column
from heartfelt.stats.estimate import Estimate
from heartfelt.stats.paired_metrics import metric_estimate

Correlation = Literal["pearson", "spearman", "kendall"]


def pearson(x: Column, y: Column, *, confidence: float = 0.95) -> Estimate:
    """The product-moment correlation with Fisher's z interval (exact for bivariate normal data only)."""
    return metric_estimate("pearson", x, y, confidence=confidence)


def spearman(x: Column, y: Column, *, confidence: float = 0.95) -> Estimate:
    """The correlation of mid-ranks with Bonett and Wright's interval."""
    return metric_estimate("spearman", x, y, confidence=confidence)


def kendall(x: Column, y: Column, *, confidence: float = 0.95) -> Estimate:
    """Tau-b with a jackknife interval on Fisher's scale."""
    return metric_estimate("kendall", x, y, confidence=confidence)


def ccc(x: Column, y: Column, *, confidence: float = 0.95) -> Estimate:
    """Lin's concordance correlation: closeness to the line y = x, so bias and scale count against it."""
    return metric_estimate("ccc", x, y, confidence=confidence)


def mse(x: Column, y: Column, *, confidence: float = 0.95) -> Estimate:
    """The mean squared difference, with a jackknife interval on the log scale."""
    return metric_estimate("mse", x, y, confidence=confidence)


def mae(x: Column, y: Column, *, confidence: float = 0.95) -> Estimate:
    """The mean absolute difference, with a jackknife interval on the log scale."""
    return metric_estimate("mae", x, y, confidence=confidence)


def rmse(x: Column, y: Column, *, confidence: float = 0.95) -> Estimate:
    """The root of ``mse``; the bounds are the roots of its bounds."""
    return metric_estimate("rmse", x, y, confidence=confidence)
