"""The ceiling over systems: how well a number that knew every system's true mean would correlate with the means people gave.

The true mean is that of the rated stimuli over all raters of this kind, so a number computed from the same stimuli could know it;
only raters make the observed means differ from it. With V the variance of the S observed means, and N the mean variance that
raters add to their differences (a jackknife over raters of the means less their average, so what a rater adds to all systems alike
does not count), true means have variance V - N, and given the observed ones they are normal about means drawn towards the average
(Spearman 1904). As V is of few systems, N / V is taken (S - 3) / (S - 1) times, which is right on average for normal means
(James and Stein 1961). The ceiling is the expected correlation of true means drawn so with the observed ones: of values, mid-ranks
or pairs. It is for these few systems, where the formula sqrt(1 - N / V) is for many.

Intervals take these systems and stimuli as fixed: true means and noise are drawn as above, with log(V / N) uncertain by ``cv^2 /
R`` for N (cv is the coefficient of variation of what the R raters add) and ``2 (1 - (1 - N / V)^2) / (S - 1)`` for the noise in V.
N / V is taken once, as the smaller share covers too rarely. Of each draw, the correlation of its true means with new observed ones
is averaged, and the interval holds the middle of these. In simulations it covers in .90 to 1 of cases; from five systems up the
value is off by under .08 on average, and by .15 where five systems hardly differ.
"""

from __future__ import annotations

import math

import numpy as np

from heartfelt.stats._bounds import satterthwaite
from heartfelt.stats.columns.triples import Floats
from heartfelt.stats.estimate import Estimate
from heartfelt.stats.prediction.association import Correlation
from heartfelt.streams import stream

DRAWS, OUTER, INNER = 4000, 1000, 40
MOST_AT_ONCE = 4_000_000
FEWEST_SYSTEMS, FEWEST_RATERS = 3, 5


def system_ceiling(
    means: Floats, without_rater: Floats, *, metric: Correlation = "spearman", confidence: float = 0.95, seed: int = 0
) -> Estimate:
    """The best expected correlation over systems with their mean ratings.

    ``without_rater`` has a row per rater and a column per system: how far the system's mean moves without that rater.
    """
    raters, systems = without_rater.shape
    counts = {"systems": systems, "raters": raters}
    method = f"expected {metric} of true and observed system means, normal model"
    if systems < FEWEST_SYSTEMS:
        return Estimate.missing(f"{systems} systems; at least {FEWEST_SYSTEMS} are needed", method, counts)
    if raters < FEWEST_RATERS:
        return Estimate.missing(f"{raters} raters; at least {FEWEST_RATERS} are needed", method, counts)
    variance = float(np.var(means, ddof=1))
    if variance <= 1e-18 * max(float(np.abs(means).max()), 1e-150) ** 2:
        return Estimate.missing("all system means are equal", method, counts)
    moved = without_rater - without_rater.mean(axis=1, keepdims=True)
    added = np.sum((moved - moved.mean(axis=0)) ** 2, axis=1) * (1 - 1 / raters) / (systems - 1)
    noise = float(added.sum()) / variance
    value = max(_against(means, noise * max(systems - 3.0, 0.5) / (systems - 1), metric, seed), 0.0)
    point_estimate = Estimate(value=value, method=method, counts=counts)
    if noise <= 0:
        return point_estimate.without_interval("no rater changes the differences between systems")
    spread = float(np.var(added)) / float(added.mean()) ** 2
    of_noise = max(spread, 2 / (systems - 1)) / raters
    of_means = 2 * (1 - max(1 - noise, 0.0) ** 2) / (systems - 1)
    total = of_noise + of_means
    df = satterthwaite((of_noise, raters - 1), (of_means, systems - 1))
    draw = stream(seed, "system ceiling", "interval")
    # On the log scale no variance is negative; with few degrees of freedom tails are heavy, and the clip keeps it finite.
    noises = noise * np.exp(np.clip(draw.standard_t(max(df, 1.0), OUTER), -30, 30) * math.sqrt(total))
    true = _true_means(means, np.minimum(noises, 1.0)[:, None], draw.standard_normal((OUTER, systems)))
    again = true[:, None] + np.sqrt(noises)[:, None, None] * draw.standard_normal((OUTER, INNER, systems))
    reached = _correlations(np.repeat(true, INNER, axis=0), again.reshape(-1, systems), metric)
    low, high = np.quantile(reached.reshape(OUTER, INNER).mean(axis=1), [(1 - confidence) / 2, (1 + confidence) / 2])
    how = "simulated from the raters' noise, for these systems and stimuli"
    return point_estimate.with_interval(max(min(float(low), value), 0.0), max(float(high), value), how, confidence)


def _against(means: Floats, noise: float, metric: Correlation, seed: int) -> float:
    """The expected correlation of true means with the observed ones."""
    draws = stream(seed, "system ceiling").standard_normal((DRAWS, means.size))
    true = _true_means(means, min(noise, 1.0), draws)
    return float(_correlations(true, np.broadcast_to(means, true.shape), metric).mean())


def _true_means(means: Floats, noise: Floats | float, draws: Floats) -> Floats:
    """Means that may be the true ones, in standard deviations; ``noise`` is the share of the variance that raters add."""
    centred = (means - means.mean()) / float(np.std(means, ddof=1))
    spread = np.sqrt(np.maximum(noise * (1 - noise), 1e-12))
    return np.asarray((1 - noise) * centred + spread * draws)


def _correlations(rows: Floats, other_rows: Floats, metric: Correlation) -> Floats:
    """The correlation of each row with its row in the other table."""
    from scipy.stats import rankdata

    pieces = len(rows) * rows.shape[1] ** 2 // MOST_AT_ONCE + 1
    if pieces > 1:
        parts = zip(np.array_split(rows, pieces), np.array_split(other_rows, pieces), strict=True)
        return np.concatenate([_correlations(*part, metric) for part in parts])
    if metric == "kendall":
        first, second = np.triu_indices(rows.shape[1], 1)
        rows, other_rows = (np.sign(side[:, first] - side[:, second]) for side in (rows, other_rows))
    else:
        if metric == "spearman":
            rows, other_rows = (rankdata(side, axis=1) for side in (rows, other_rows))
        rows, other_rows = (side - side.mean(axis=1, keepdims=True) for side in (rows, other_rows))
    lengths = np.sqrt(np.sum(rows**2, axis=1) * np.sum(other_rows**2, axis=1))
    return np.asarray(np.sum(rows * other_rows, axis=1) / np.maximum(lengths, 1e-300))
