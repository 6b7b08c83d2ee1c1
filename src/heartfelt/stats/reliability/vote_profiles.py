"""How clear items are, from the two largest vote counts of each: a mixture over sorted category shares.

Which category leads does not matter here, only by how much: an item is described by its largest and second
largest number of votes, and its long-run shares by the largest, the second and the shape of the rest. That
leaves far less for a nonparametric fit to take for real differences between items than whole rows of votes
do, and whether the leader of a panel is the long-run leader depends on little else. The candidates are a
grid of shares; see `vote_mixture` for the fit.

Items with more than ``MOST_VOTES`` votes enter the likelihood with that many of them, drawn at random.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from heartfelt.stats.reliability.vote_mixture import Matrix, Mixture, fit_mixture
from heartfelt.stats.triples import Floats
from heartfelt.streams import stream

MOST_VOTES = 25
LEADING, SECOND = 40, 7
RUNNERS_UP = 0.7
DRAWS = 1_000


@dataclass(frozen=True, slots=True, eq=False)
class ClearnessMixture:
    """Sorted shares (``shares`` and how many categories have each, ``times``), and the mixture that fits best."""

    shares: Matrix
    times: Matrix
    mixture: Mixture


@lru_cache(maxsize=16)
def sorted_shares(categories: int) -> tuple[Matrix, Matrix]:
    """A grid of sorted category shares: the largest, the second, and the rest even, on the third, or on several runners-up."""
    grid: set[tuple[float, ...]] = set()
    for lead in np.linspace(1.0 / categories, 1.0, LEADING):
        least, most = (1.0 - lead) / (categories - 1), min(lead, 1.0 - lead)
        for second in least + (most - least) * np.linspace(0.0, 1.0, SECOND):
            rest = max(1.0 - lead - second, 0.0)
            third = min(second, rest)
            if categories == 2:
                grid.add(_rounded(lead, second, 0.0, 0.0, 1, 1, 0, 0))
                continue
            grid.add(_rounded(lead, second, rest / (categories - 2), 0.0, 1, 1, categories - 2, 0))
            if categories > 3 and rest > 0:
                last = max(rest - third, 0.0) / (categories - 3)
                grid.add(_rounded(lead, second, third, last, 1, 1, 1, categories - 3))
                close = int(min(rest // (RUNNERS_UP * second), categories - 3))
                if close > 1:
                    last = max(rest - close * RUNNERS_UP * second, 0.0) / (categories - 2 - close)
                    grid.add(
                        _rounded(lead, second, RUNNERS_UP * second, last, 1, 1, close, categories - 2 - close)
                    )
    table = np.array(sorted(grid))
    return table[:, :4].copy(), table[:, 4:].copy()


def _rounded(*numbers: float) -> tuple[float, ...]:
    return tuple(round(float(number), 12) for number in numbers)


@lru_cache(maxsize=128)
def panel_chances(categories: int, votes: int) -> tuple[Matrix, Floats, Floats, Floats]:
    """Chances of each candidate for a panel of ``votes``: of the two largest counts (in one row), of the long-run
    leader winning outright, of anyone doing so, and of two panels having the same winner."""
    from heartfelt.stats import _kernels_votes as kernels

    shares, times = sorted_shares(categories)
    if votes > MOST_VOTES:
        return np.zeros((shares.shape[0], 0)), *_simulated(shares, times, votes)
    chance, wins = kernels.top_two(shares, times, votes)
    same = (times * wins**2).sum(axis=1)
    return chance.reshape(shares.shape[0], -1), wins[:, 0], (times * wins).sum(axis=1), same


def _simulated(shares: Matrix, times: Matrix, votes: int) -> tuple[Floats, Floats, Floats]:
    """The three last of ``panel_chances`` by drawing panels."""
    rng = stream(0, "ceiling", "large panels", votes)
    wins, outright, same = (np.zeros(shares.shape[0]) for _ in range(3))
    for g in range(shares.shape[0]):
        p = np.repeat(shares[g], times[g].astype(np.int64))
        drawn = rng.multinomial(votes, p / p.sum(), DRAWS)
        top = drawn.max(axis=1)
        alone = (drawn == top[:, None]).sum(axis=1) == 1
        each = (drawn[alone] == top[alone, None]).sum(axis=0) / DRAWS
        wins[g], outright[g], same[g] = each[0], each.sum(), (each**2).sum()
    return wins, outright, same


def fit_clearness(counts: Matrix) -> ClearnessMixture:
    """Fit the mixture to votes per item and category; no item has more than ``MOST_VOTES``."""
    categories = counts.shape[1]
    votes = counts.sum(axis=1).astype(np.int64)
    shares, times = sorted_shares(categories)
    ordered = np.partition(counts, categories - 2, axis=1)
    first, second = ordered[:, -1].astype(np.int64), ordered[:, -2].astype(np.int64)
    rows, items = [], []
    for n in np.unique(votes).tolist():
        here = votes == n
        cells, times_seen = np.unique(first[here] * (n + 1) + second[here], return_counts=True)
        rows.append(panel_chances(categories, n)[0][:, cells].T)
        items.append(times_seen)
    likelihood = np.concatenate(rows)
    likelihood = likelihood / likelihood.max(axis=1, keepdims=True)
    return ClearnessMixture(shares, times, fit_mixture(likelihood, np.concatenate(items).astype(np.float64)))
