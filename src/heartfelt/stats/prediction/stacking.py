"""Does combining predictions beat the best of them? A cross-fitted stack with non-negative weights.

Predictions are standardised, which takes no labels. Whole groups are dealt into folds. For every fold, labels are regressed on
the predictions of the other folds only, by least squares with weights of 0 or more and a small ridge (Breiman 1996, *Machine
Learning* 24); the fold is predicted with these weights, scaled so that the combination has unit variance. No label has a part in
its own prediction. This is repeated with other folds and averaged. The best single prediction is chosen in the same way: in every
fold that with the best correlation in the other folds. Both sides so pay for having been chosen.

The difference of correlations has the jackknife's error over groups with the out-of-fold predictions held fixed
(``metric_difference``), and the variance between repeats is added for what the weights owe to the folds they were fitted on.
``docs/stats/coverage.md`` has how often a stack without anything to gain is called better.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from heartfelt.stats.columns.paired import correlation
from heartfelt.stats.columns.triples import Floats, Ints
from heartfelt.stats.estimate import Estimate
from heartfelt.stats.prediction.association import metric_difference
from heartfelt.stats.prediction.jackknife import jackknife_metric
from heartfelt.streams import stream

FOLDS = 5
REPEATS = 10
RIDGE = 0.01
LEAST_GROUPS = 10
METHOD = "cross-fitted stack, non-negative least squares"


@dataclass(frozen=True, slots=True)
class StackWeight:
    """A prediction's share of the weights: the mean over all fits, and its range over them."""

    model: str
    share: float
    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class StackResult:
    """The stack's correlation out of fold, that of the cross-fitted best prediction, and their difference.

    ``chosen`` says how often each prediction was the best in the fitting folds.
    """

    stack: Estimate
    best: Estimate
    difference: Estimate
    p: Estimate
    weights: tuple[StackWeight, ...] = ()
    chosen: Mapping[str, float] = field(default_factory=dict)

    def renamed(self, names: Mapping[str, str]) -> StackResult:
        """The same with predictions under other names."""
        weights = tuple(replace(weight, model=names[weight.model]) for weight in self.weights)
        return replace(self, weights=weights, chosen={names[name]: share for name, share in self.chosen.items()})


def stacked(
    label: Floats,
    predicted: npt.NDArray[np.float64],
    names: tuple[str, ...],
    group: Ints,
    *,
    confidence: float = 0.95,
    seed: int = 0,
) -> StackResult:
    """Stack the columns of ``predicted``; rows of one ``group`` stay in one fold."""
    codes = np.unique(group, return_inverse=True)[1].astype(np.int64)
    groups = int(codes.max()) + 1 if codes.size else 0
    counts = {"items": int(label.size), "groups": groups, "models": len(names)}
    reason = _why_none(label, groups, len(names))
    if reason:
        missing = Estimate.missing(reason, METHOD, counts)
        return StackResult(stack=missing, best=missing, difference=missing, p=missing)
    fits = _cross_fitted(label, predicted, codes, groups, seed)
    units = None if groups == label.size else codes
    of_stack, of_best = (
        jackknife_metric("pearson", label, side, group=units, confidence=confidence) for side in (fits.stack, fits.best)
    )
    difference, p = _difference(label, fits, units, confidence)
    total = fits.weights.sum(axis=1, keepdims=True)
    shares = np.divide(fits.weights, total, out=np.zeros_like(fits.weights), where=total > 0)
    weights = tuple(
        StackWeight(name, float(column.mean()), float(column.min()), float(column.max()))
        for name, column in zip(names, shares.T, strict=True)
    )
    picked = np.bincount(fits.chosen, minlength=len(names)) / fits.chosen.size
    chosen = {name: float(share) for name, share in zip(names, picked, strict=True) if share > 0}
    return StackResult(stack=of_stack, best=of_best, difference=difference, p=p, weights=weights, chosen=chosen)


def _why_none(label: Floats, groups: int, models: int) -> str | None:
    if models < 2:
        return f"there is {'only one' if models else 'no'} model to combine"
    if groups < 3 or label.size < max(LEAST_GROUPS, 3 * models):
        return f"{label.size} items in {groups} groups are too few to fit weights for {models} models"
    return "the labels do not vary" if float(np.ptp(label)) <= 0 else None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Fits:
    stack: Floats
    best: Floats
    weights: npt.NDArray[np.float64]
    chosen: Ints
    repeated: Floats
    """The difference of the two correlations in every repeat."""


def _difference(label: Floats, fits: _Fits, units: Ints | None, confidence: float) -> tuple[Estimate, Estimate]:
    compared = metric_difference("pearson", label, fits.stack, fits.best, group=units, confidence=confidence)
    if float(np.abs(fits.stack - fits.best).max()) <= 1e-9:
        p = Estimate(value=1.0, method="the stack is the best model itself", why_no_interval="a p-value")
        return compared.estimate, p
    spread = compared.spread
    if spread is None or spread.why_none or fits.repeated.size < 2:
        return compared.estimate, compared.p
    spread = replace(spread, error=float(np.hypot(spread.error, fits.repeated.std(ddof=1))))
    estimate = spread.estimate(replace(compared.estimate, low=None, high=None), confidence)
    return estimate, replace(compared.p, value=spread.p(0.0))


def _cross_fitted(label: Floats, predicted: npt.NDArray[np.float64], codes: Ints, groups: int, seed: int) -> _Fits:
    folds, rng = min(FOLDS, groups), stream(seed, "stack", "folds")
    # With few groups every repeat would deal the same folds.
    repeats = REPEATS if groups > folds else 1
    spread = predicted.std(axis=0)
    z = (predicted - predicted.mean(axis=0)) / np.where(spread > 1e-12, spread, np.inf)
    gram_of_all = z.T @ z / label.size
    stack, best = np.zeros(label.size), np.zeros(label.size)
    weights, chosen, repeated = [], [], []
    for _ in range(repeats):
        once = np.zeros((2, label.size))
        fold = (rng.permutation(groups) % folds)[codes]
        for k in range(folds):
            inside, outside = fold == k, fold != k
            x = z[outside] - z[outside].mean(axis=0)
            products = x.T @ (label[outside] - label[outside].mean()) / x.shape[0]
            gram = x.T @ x / x.shape[0]
            top = int(np.argmax(products / np.sqrt(np.maximum(np.diag(gram), 1e-12))))
            fitted = _non_negative(gram, products)
            if not fitted.any():
                fitted[top] = 1.0
            # Folds are put side by side, so their combinations must have the same scale.
            fitted /= max(float(np.sqrt(fitted @ gram_of_all @ fitted)), 1e-12)
            once[0, inside], once[1, inside] = z[inside] @ fitted, z[inside, top]
            weights.append(fitted)
            chosen.append(top)
        stack, best = stack + once[0] / repeats, best + once[1] / repeats
        of_stack, of_best = (correlation(label, side) or 0.0 for side in once)
        repeated.append(of_stack - of_best)
    return _Fits(
        stack=stack,
        best=best,
        weights=np.array(weights),
        chosen=np.array(chosen, np.int64),
        repeated=np.array(repeated),
    )


def _non_negative(gram: npt.NDArray[np.float64], products: Floats) -> Floats:
    """Weights of 0 or more that minimise the squared error plus a small ridge, from products of standardised columns."""
    from scipy.optimize import nnls

    root = np.linalg.cholesky(gram + RIDGE * np.eye(products.size))
    return np.asarray(nnls(root.T, np.linalg.solve(root, products))[0])
