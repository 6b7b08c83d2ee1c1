"""What the analysis of one simulated study would show: figures of its labels and the effects of systems and intents."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from heartfelt.planning.pilots._kernels_planning import label_statistics
from heartfelt.stats.columns.triples import Floats, Ints

COMPILED_FROM = 200_000
"""Ratings of all simulated studies together from which compiling the loops pays."""


def statistics(
    rater: Ints,
    stimulus: Ints,
    value: Floats,
    dropped: npt.NDArray[np.bool_],
    system: Ints,
    intent: Ints,
    systems: int,
    intents: int,
    minimum: int,
    *,
    studies: int = 1,
) -> tuple[Floats, Floats, Floats, Floats, Floats, Floats]:
    """Figures of the study; per system mean and jackknife parts; adjusted effects of systems and of intents with the matrices
    that give the variance of their differences (in units of the residual mean square); and per system and rater how the mean
    changes without the rater.

    ``studies`` says how many like it are simulated, which decides whether the loops are worth compiling.
    """
    kernel: Any = label_statistics
    run = kernel.interpreted if studies * rater.size < COMPILED_FROM else kernel
    head, parts, n, mean, moves = run(rater, stimulus, value, dropped, system, intent, systems, intents, minimum)
    effects = np.full(systems + intents, np.nan)
    covers = np.full((systems, systems), np.nan), np.full((intents, intents), np.nan)
    if head[1] >= 3:
        _additive(n, mean, system, intent, head, effects, *covers)
    return head, parts, effects, *covers, moves


def taste_variance(parts: Floats, moves: Floats) -> tuple[float, float]:
    """What raters add to the variance of a difference of two systems beyond the noise of their ratings, which is their tastes,
    on average over the pairs; and its degrees of freedom.
    """
    i, j = np.triu_indices(len(parts), 1)
    took = np.isfinite(moves)
    people = (took[i] | took[j]).sum(axis=1)
    if not i.size or people.min() < 3:
        return 0.0, 1.0
    moved = np.where(took, moves, 0.0)
    difference = moved[i] - moved[j]
    raters = ((difference**2).sum(axis=1) - difference.sum(axis=1) ** 2 / people) * (people - 1) / people
    variance = max(float(np.mean(raters - parts[i, 4] - parts[j, 4])), 0.0)
    return variance, max((float(people.mean()) - 1.0) * (len(parts) - 1), 1.0)


def _additive(
    n: Floats,
    mean: Floats,
    system: Ints,
    intent: Ints,
    head: Floats,
    effects: Floats,
    cover_left: Floats,
    cover_right: Floats,
) -> None:
    """Least squares of the labels on system + intent, by eliminating one factor at a time."""
    systems, intents = len(cover_left), len(cover_right)
    labelled = n > 0.0
    system, intent, mean = system[labelled], intent[labelled], mean[labelled]
    cell = system * intents + intent
    count = np.bincount(cell, minlength=systems * intents).reshape(systems, intents).astype(np.float64)
    sums = np.bincount(cell, mean, systems * intents).reshape(systems, intents)
    per_system, per_intent = count.sum(axis=1), count.sum(axis=0)
    if per_system.min() < 1.0 or per_intent.min() < 1.0:
        return
    by_system, by_intent = sums.sum(axis=1), sums.sum(axis=0)
    target = by_system - (count / per_intent) @ by_intent
    cover_left[:] = np.linalg.inv(np.diag(per_system) - (count / per_intent) @ count.T + 1.0)
    alpha = cover_left @ target
    wanted = by_intent - (count.T / per_system) @ by_system
    cover_right[:] = np.linalg.inv(np.diag(per_intent) - (count.T / per_system) @ count + 1.0)
    beta = cover_right @ wanted
    level = (by_intent - count.T @ alpha) / per_intent
    residual = float(((mean - alpha[system] - level[intent]) ** 2).sum())
    df = mean.size - systems - intents + 1
    effects[:systems], effects[systems:] = alpha, beta
    head[7] = df
    if df > 0 and residual > 0.0:
        head[6] = residual / df
        if systems > 1:
            head[8] = (alpha @ target) / (systems - 1) / head[6]
        if intents > 1:
            head[9] = (beta @ wanted) / (intents - 1) / head[6]
