"""The ceiling of category labels under a smooth family of vote distributions, with its own check of fit.

The bounds of ``vote_ceiling`` assume no shape and are wide with few votes per item. Here one is assumed: an item leans
towards one category j, drawn by the overall shares m of the votes, and its long-run shares are

    p ~ Dirichlet(c ((1 - u) m + u e_j));

a share w of the items is undecided: it leans nowhere (u = 0). The lean u goes from 0 (the Dirichlet-multinomial) to
nearly 1 (everybody names j), the concentration c from items that differ widely to items as alike as their leans allow.
Items that are all alike, items of one clearness with different categories, Dirichlet items, and mixtures of clear and
undecided items are members. The mean of p is m whatever w, u and c are, so m is the share of all votes; the other
three are p_values by maximum likelihood on a grid, in one pass over the distinct rows of votes per point of the grid.

The interval is that of profile likelihood: the smallest and largest ceiling over all (w, u, c) within the likelihood's
range, which grows with the share of the error that is due to raters (``critical_value``). As in ``vote_ceiling``, the
chance of a score on as many labels is added, and the gain of a fixed panel.

*Check of fit*: the two largest counts of each item, and its leading answer with its votes, against what the family
predicts (Pearson's chi-square, cells of at least ``LEAST_EXPECTED`` items, the smaller p-value doubled). Below
``LEAST_P`` there is no interval, only the reason.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from heartfelt.stats.ceilings.vote_ceiling import Panels, by_category, expected_ratio, panel_sizes, thinned, with_chance
from heartfelt.stats.ceilings.vote_mixture import Matrix, distinct_rows
from heartfelt.stats.ceilings.yardsticks import CategoryMetric, winners
from heartfelt.stats.columns.triples import Floats, Ints
from heartfelt.stats.estimate import Estimate
from heartfelt.streams import stream

Point: TypeAlias = tuple[float, float, float]
"""A share of items that lean nowhere, a lean and a log concentration."""
UNDECIDED = (0.0, 0.15, 0.3, 0.45, 0.6, 0.75)
LEANS = np.sin(np.linspace(0.0, 0.45, 12) * np.pi) ** 2
LOG_CONCENTRATIONS = np.log(0.15) + np.linspace(0.0, np.log(500.0 / 0.15), 16)
FINE = 61
MOST_LEANS = 4
DRAWS = 4_000
LEAST_EXPECTED, LEAST_P = 5.0, 0.01
METHOD = "smooth family of votes (Dirichlet around the category an item leans towards)"
INTERVAL = "profile likelihood of the family, widened for raters and for chance in the labels"


@dataclass(frozen=True, slots=True, kw_only=True)
class VoteFamily:
    """A fitted family: the shares of all votes, its most likely point, and points on the edge of the likelihood's range."""

    shares: Floats
    best: Point
    within_range: tuple[Point, ...]

    def draw(self, point: Point, seed: int) -> Matrix:
        """Long-run shares of ``DRAWS`` items of the family."""
        undecided, lean, log_concentration = point
        rng = stream(seed, "ceiling", "vote family")
        category = rng.choice(self.shares.size, DRAWS, p=self.shares)
        by = np.where(rng.random(DRAWS) < undecided, 0.0, lean)[:, None]
        weight = np.exp(log_concentration) * ((1.0 - by) * self.shares + by * np.eye(self.shares.size)[category])
        gamma_draws = rng.standard_gamma(np.maximum(weight, 1e-6)) + 1e-300
        out: Matrix = gamma_draws / gamma_draws.sum(axis=1, keepdims=True)
        return out


def fit_family(counts: Matrix, critical: float, seed: int) -> VoteFamily:
    """The most likely point, and points whose deviance is ``critical`` above its."""
    from scipy.interpolate import RectBivariateSpline

    rows, items = distinct_rows(counts, seed)
    shares = items @ rows / (items @ rows).sum()
    leans = np.linspace(LEANS[0], LEANS[-1], FINE)
    logs = np.linspace(LOG_CONCENTRATIONS[0], LOG_CONCENTRATIONS[-1], FINE)
    grid = _log_likelihoods(rows.astype(np.int64), items, shares)
    surfaces = np.stack([RectBivariateSpline(LEANS, LOG_CONCENTRATIONS, part)(leans, logs) for part in grid])
    best = np.unravel_index(int(surfaces.argmax()), surfaces.shape)
    inside = surfaces >= surfaces[best] - critical / 2.0
    edges: set[tuple[int, int, int]] = set()
    for part, within in enumerate(inside):
        reached = np.flatnonzero(within.any(axis=1))
        if reached.size:
            chosen = reached[np.unique(np.linspace(0, reached.size - 1, MOST_LEANS).astype(np.int64))]
            edges |= {(part, row, int(end)) for row in chosen.tolist() for end in np.flatnonzero(within[row])[[0, -1]]}

    def point(at: tuple[int, int, int]) -> Point:
        return UNDECIDED[at[0]], float(leans[at[1]]), float(logs[at[2]])

    return VoteFamily(
        shares=shares,
        best=point((int(best[0]), int(best[1]), int(best[2]))),
        within_range=tuple(map(point, sorted(edges))),
    )


def _log_likelihoods(rows: Ints, items: Floats, shares: Floats) -> Matrix:
    """The log likelihood at each share of undecided items, lean and concentration of the grid."""
    from scipy.special import gammaln

    votes, steps = rows.sum(axis=1), np.arange(int(rows.max()) + 1)
    categories = np.arange(shares.size)
    undecided = np.array(UNDECIDED)[:, None, None]
    out = np.empty((undecided.size, LEANS.size, LOG_CONCENTRATIONS.size))
    for column, concentration in enumerate(np.exp(LOG_CONCENTRATIONS)):
        # Ascending factorials of each category's weight, without and with the lean: [lean, category, votes].
        weight = np.maximum(concentration * (1.0 - LEANS)[:, None] * shares, 1e-12)[..., None]
        leaning = weight + concentration * LEANS[:, None, None]
        without = (gammaln(weight + steps) - gammaln(weight))[:, categories, rows]
        added = (gammaln(leaning + steps) - gammaln(leaning))[:, categories, rows] - without
        highest = added.max(axis=2, keepdims=True)
        logs = without.sum(axis=2) + highest[..., 0] + np.log(np.exp(added - highest) @ shares)
        # The first lean is none; what all leans share, the factorial of the concentration, is taken off at the end.
        top = np.maximum(logs, logs[:1])
        mixed = (1.0 - undecided) * np.exp(logs - top) + undecided * np.exp(logs[:1] - top)
        total = gammaln(concentration + votes) - gammaln(concentration)
        out[:, :, column] = (np.log(mixed) + top - total) @ items
    return out


def smooth_ceiling(
    counts: Matrix, metric: CategoryMetric, critical: float, confidence: float, seed: int, gain: float = 0.0
) -> Estimate:
    """The ceiling under the smooth family; arguments as in ``vote_ceiling``."""
    from scipy.special import ndtri

    counts = counts[:, counts.sum(axis=0) > 0]
    if counts.shape[1] == 1:
        return Estimate.missing("all votes are the same, so there is nothing to fit", METHOD)
    votes = counts.sum(axis=1).astype(np.int64)
    won = winners(counts)
    labels = int(np.count_nonzero(won >= 0))
    if labels == 0:
        return Estimate.missing("every item is tied, so there are no labels", METHOD)
    family = fit_family(thinned(counts, votes, seed), critical, seed)
    panels, categories = panel_sizes(votes), np.unique(won[won >= 0])

    def ceiling_at(point: Point) -> float:
        points = family.draw(point, seed)
        return _expected_score(points, panels, categories, metric, seed)

    value = ceiling_at(family.best)
    ends = [value, *map(ceiling_at, family.within_range)]
    low, high = min(ends), min(max(ends) + gain, 1.0)
    value = min(value + gain / 2.0, 1.0)
    low, high = with_chance(value, low, high, labels, confidence)
    method = f"{METHOD}: undecided {family.best[0]:.1f}, lean {family.best[1]:.2f}, concentration {np.exp(family.best[2]):.3g}"
    estimate = Estimate(value=value, method=f"{metric}, {method}", confidence=confidence)
    inflation = max(critical / float(ndtri(0.5 + confidence / 2)) ** 2, 1.0)
    p = _fit_p(counts, votes, family.draw(family.best, seed), inflation, seed)
    if p is not None and p < LEAST_P:
        return estimate.without_interval(
            f"the family does not describe how many votes the leading answers got (chi-square, p = {p:.2g})"
        )
    check = "too few votes to check the fit" if p is None else f"check of fit p = {p:.2f}"
    return estimate.with_interval(low, high, f"{INTERVAL}; {check}", confidence)


def _expected_score(points: Matrix, panels: Panels, categories: Ints, metric: CategoryMetric, seed: int) -> float:
    """The expected score of each item's long-run category, on panels drawn once for each item."""
    rng = stream(seed, "ceiling", "panels of the family")
    wins = np.zeros_like(points)
    row = np.arange(points.shape[0])
    for n, share in zip(*(part.tolist() for part in panels), strict=True):
        won = winners(rng.multinomial(n, points))
        outright = won >= 0
        wins[row[outright], won[outright]] += share
    best = points.argmax(axis=1)
    weights = np.full(points.shape[0], 1.0 / points.shape[0])
    if metric == "accuracy":
        return expected_ratio(wins[row, best], wins.sum(axis=1))(weights)[0]
    return by_category(wins, best, categories, metric)(weights)[0]


def _fit_p(counts: Matrix, votes: Ints, points: Matrix, inflation: float, seed: int) -> float | None:
    """The smaller p-value of two chi-square checks, doubled; None where votes are too few to check anything.

    Checked are the two largest counts of the items, and the leading answer with its votes. ``inflation`` is what raters add.
    """
    from scipy.special import chdtrc

    rng = stream(seed, "ceiling", "check of the family")
    cells: dict[tuple[int, int, int], list[float]] = {}
    for n, items in zip(*np.unique(votes, return_counts=True), strict=True):
        # The prediction is itself drawn: its noise adds to that of the items.
        noise = inflation * (1.0 + items / points.shape[0])
        simulated = rng.multinomial(int(n), points).astype(np.float64)
        for part, (table, share) in enumerate(((counts[votes == n], 1.0), (simulated, items / points.shape[0]))):
            for check, key in enumerate(_patterns(table)):
                for at, times in zip(*np.unique(key, return_counts=True), strict=True):
                    cell = cells.setdefault((check, int(n), int(at)), [0.0, 0.0, float(noise)])
                    cell[part] += float(times * share)
    p_values = []
    for check in range(2):
        table = _joined(np.array([cell for (of, _, _), cell in sorted(cells.items()) if of == check]))
        # Three parameters were fitted; where they leave no freedom one degree is on the safe side.
        if table.shape[0] > 2:
            statistic = float(((table[:, 0] - table[:, 1]) ** 2 / (table[:, 1] * table[:, 2])).sum())
            p_values.append(float(chdtrc(max(table.shape[0] - 4, 1), statistic)))
    return min(1.0, len(p_values) * min(p_values)) if p_values else None


def _patterns(counts: Matrix) -> tuple[Ints, Ints]:
    """A number for the two largest counts of each row, and one for its leading category and count."""
    ordered = np.sort(counts, axis=1).astype(np.int64)
    first, second = ordered[:, -1], ordered[:, -2]
    return first * (first.max() + 1) + second, counts.argmax(axis=1) * (first.max() + 1) + first


def _joined(cells: Matrix) -> Matrix:
    """Neighbouring cells of (observed, expected, noise), joined until enough is expected in each."""
    out: list[Floats] = []
    waiting = np.zeros(2)
    for cell in cells:
        waiting = waiting + cell[:2]
        if waiting[1] >= LEAST_EXPECTED:
            out.append(np.append(waiting, cell[2]))
            waiting = np.zeros(2)
    if out:
        out[-1][:2] += waiting
    return np.array(out).reshape(-1, 3)
