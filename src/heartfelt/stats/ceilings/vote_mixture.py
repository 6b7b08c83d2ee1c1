"""How items' votes are distributed: mixtures of category distributions, with no shape assumed for them.

Every item has long-run shares of votes p, one number per category; its n votes are drawn from p. The items' shares
follow a mixing distribution that is estimated by nonparametric maximum likelihood: weights on a dense set of candidate
distributions, so that items that all look alike, a few classes, a mixture of clear and ambiguous items, and a smooth
spread of clearness are all members of the family and no number of classes has to be chosen. The weights maximise a
concave likelihood and are found by Newton steps on the active candidates, candidates entering by their directional
derivative (Wang, 2007), with a certificate that none outside would raise it further.

Few votes leave much of the mixing distribution undetermined: with three votes per item, items that are all
rather clear and a mixture of clear and hopeless items can give the same votes. ``Mixture.bound`` therefore
profiles the likelihood: the smallest and largest value of a quantity over all mixtures whose log likelihood
is within ``drop`` of the best. That interval covers what the votes leave open as well as sampling error.

Two fits. ``fit_votes`` describes whole rows of votes; candidates are one-sided, two-sided and flat distributions, those
the votes themselves suggest, and the centres of the classes found. ``fit_clearness`` describes the two largest counts
of each item: which category leads does not matter there, only by how much, so an item's long-run shares are given by
the largest, the second and the shape of the rest. That leaves far less for a nonparametric fit to take for real
differences between items, and whether the leader of a panel is the long-run leader depends on little else. Items with
more than ``MOST_VOTES`` votes enter it with that many of them.

Source: Lindsay (1995), Mixture Models: Theory, Geometry and Applications; Wang (2007), JRSS B 69, 185-198.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from itertools import permutations
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from heartfelt.stats.ceilings.yardsticks import winners
from heartfelt.stats.columns.triples import Floats
from heartfelt.streams import stream

Matrix: TypeAlias = npt.NDArray[np.float64]
Quantity: TypeAlias = Callable[[Floats], tuple[float, Floats]]
"""A quantity of the mixture: its value and its derivative in the weights."""

MOST_ROWS = 2_500
MOST_ITEMS = 2_000.0
"""Beyond so many items the candidates' own coarseness matters more than chance; more items count as so many."""
MOST_CELLS = 3_000_000
SPREAD_STEPS = 60
TOP_SHARES = (0.02, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.97, 1.0)
NEW_POINTS = 25
ROUNDS = 40
SETTLED = 1e-6
MOST_VOTES = 25
LEADING, SECOND = 40, 7
RUNNERS_UP = 0.7
PANEL_DRAWS = 1_000


def distinct_rows(counts: Matrix, seed: int) -> tuple[Matrix, Floats]:
    """Distinct rows of votes per category and how many items have each; of a sample where there are too many."""
    # Random weights make one number of a row, which sorts much faster than rows do; equal rows stay equal.
    weights = np.random.Generator(np.random.PCG64(7)).integers(1, 2**62, counts.shape[1], dtype=np.int64)
    with np.errstate(over="ignore"):
        key = counts.astype(np.int64) @ weights
    _, first, times = np.unique(key, return_index=True, return_counts=True)
    if first.size > MOST_ROWS:
        chosen = stream(seed, "ceiling", "vote sample").choice(counts.shape[0], MOST_ROWS, replace=False)
        _, first, times = np.unique(key[chosen], return_index=True, return_counts=True)
        first = chosen[first]
    return counts[first], times.astype(np.float64)


def candidates(rows: Matrix, items: Floats) -> Matrix:
    """Category distributions that the items may have."""
    k = rows.shape[1]
    overall = items @ rows / (items @ rows).sum()
    if k == 2:
        share = np.unique(np.concatenate([np.linspace(0.0, 1.0, 101), overall[:1]]))
        return np.column_stack([share, 1.0 - share])
    even = np.full(k, 1.0 / k)
    parts = [even[None], overall[None]]
    tops = np.argsort(-overall)[: min(k, 24)]
    for j in tops.tolist():
        rests = [np.where(np.arange(k) == j, 0.0, shape) for shape in (even, overall)]
        shapes = [other_shares / other_shares.sum() for other_shares in rests if other_shares.sum() > 0]
        for u in TOP_SHARES:
            for shape in shapes:
                point = (1.0 - 1.0 / k) * (1.0 - u) * shape
                point[j] = 1.0 / k + (1.0 - 1.0 / k) * u
                parts.append(point[None])
    for a, b in permutations(tops[:10].tolist(), 2):
        for first in (0.52, 0.65, 0.8):
            divided = even * 0.05
            divided[a] += 0.95 * first
            divided[b] += 0.95 * (1.0 - first)
            parts.append(divided[None])
    often = np.argsort(-items, kind="stable")[:120]
    for prior in (0.05, 1.0, 4.0):
        smoothed = rows[often] + prior * 0.5 * (even + overall)
        parts.append(smoothed / smoothed.sum(axis=1, keepdims=True))
    return np.concatenate(parts)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Mixture:
    """A fitted mixture: weights of the candidates, and each kind of item's likelihood under each of them.

    ``spread`` are weights of nearly the same likelihood that stay even where the votes leave a choice.
    """

    likelihood: Matrix
    items: Floats
    weights: Floats
    spread: Floats
    log_likelihood: float

    def bound(self, quantity: Quantity, drop: float, side: float) -> float:
        """Largest (``side`` 1) or smallest (-1) value within ``drop`` of the best log likelihood."""
        size = float(self.items.sum())
        push = 4.0 / np.sqrt(size)
        inside, outside = 0.0, np.inf
        weights = self.weights
        best = quantity(weights)[0]
        for _ in range(14):
            solved, loss = self._pushed(quantity, side * push * size, weights)
            if loss <= 1.02 * drop:
                inside, weights = push, solved
                best = max(best, quantity(solved)[0], key=lambda x: side * x)
                if loss >= 0.96 * drop:
                    break
            else:
                outside = push
            guess = push * float(np.sqrt(drop / max(loss, 1e-4 * drop)))
            if np.isinf(outside):
                push = float(np.clip(guess, 1.5 * push, 8.0 * push))
            else:
                middle = np.sqrt(inside * outside) if inside > 0 else outside / 4.0
                push = guess if inside * 1.02 < guess < outside * 0.98 else float(middle)
            if push > 1e6 or outside < 1.01 * inside:
                break
        return best

    def reaching(self, quantity: Quantity, value: float, side: float = 1.0) -> tuple[Floats, float]:
        """Weights of the highest likelihood whose quantity is at least (``side`` -1: at most) ``value``, and
        the loss in log likelihood. Where no weights reach it, those that come closest.
        """
        size = float(self.items.sum())
        weights, loss = self.weights, 0.0
        if side * quantity(weights)[0] >= side * value:
            return weights, loss
        low, high = 0.0, 0.25 / np.sqrt(size)
        for _ in range(14):
            weights, loss = self._pushed(quantity, side * high * size, weights)
            if side * quantity(weights)[0] >= side * value:
                break
            low, high = high, 3.0 * high
        else:
            return weights, loss
        for _ in range(7):
            middle = 0.5 * (low + high)
            solved, lost = self._pushed(quantity, side * middle * size, weights)
            if side * quantity(solved)[0] >= side * value:
                high, weights, loss = middle, solved, lost
            else:
                low = middle
        return weights, loss

    def _pushed(self, quantity: Quantity, push: float, start: Floats) -> tuple[Floats, float]:
        weights, value = _climb(self.likelihood, self.items, start, quantity, push)
        return weights, self.log_likelihood - value


def fit_mixture(likelihood: Matrix, items: Floats, start: Floats | None = None) -> Mixture:
    """The best weights of candidates, from the likelihood of each kind of item under each of them."""
    items = items * min(1.0, MOST_ITEMS / float(items.sum()))
    spread = _spread(likelihood, items, start)
    weights, best = _climb(likelihood, items, spread, _no_quantity, 0.0)
    return Mixture(likelihood=likelihood, items=items, weights=weights, spread=spread, log_likelihood=best)


def _no_quantity(weights: Floats) -> tuple[float, Floats]:
    return 0.0, np.zeros_like(weights)


def fit_votes(counts: Matrix, seed: int = 0) -> tuple[Matrix, Mixture]:
    """Category distributions that items may have, and the mixture of them that fits the votes (none without any) best."""
    rows, items = distinct_rows(counts, seed)
    points = candidates(rows, items)
    if rows.shape[0] * points.shape[0] > MOST_CELLS:
        most = max(MOST_CELLS // rows.shape[0], 200)
        points = points[np.unique(np.linspace(0, points.shape[0] - 1, most).astype(np.int64))]
    likelihood = votes_likelihood(rows, points)
    spread = _spread(likelihood, items)
    if points.shape[1] > 2:
        for _ in range(2):
            centres = _centres(rows, items, likelihood, spread)
            points = np.concatenate([points, centres])
            likelihood = votes_likelihood(rows, points)
            spread = _spread(likelihood, items, np.concatenate([spread, np.full(len(centres), 1e-3)]))
    return points, fit_mixture(likelihood, items, spread)


def votes_likelihood(rows: Matrix, points: Matrix) -> Matrix:
    """Each row's likelihood under each point, scaled so that its largest is one."""
    logs = rows @ np.log(np.maximum(points, 1e-12)).T
    logs -= logs.max(axis=1, keepdims=True)
    out: Matrix = np.exp(logs)
    return out


def _spread(likelihood: Matrix, items: Floats, start: Floats | None = None) -> Floats:
    """Weights after some EM steps from even ones: smooth where the votes leave a choice."""
    weights = np.full(likelihood.shape[1], 1.0 / likelihood.shape[1]) if start is None else start
    weights = weights / weights.sum()
    for _ in range(SPREAD_STEPS):
        weights = weights * ((items / (likelihood @ weights)) @ likelihood) / items.sum()
    out: Floats = weights / weights.sum()
    return out


def _centres(rows: Matrix, items: Floats, likelihood: Matrix, weights: Floats) -> Matrix:
    """Where the points with the most weight would move in a step of EM."""
    used = np.argsort(-weights)[:60]
    share = likelihood[:, used] * weights[used]
    share *= (items / (likelihood @ weights))[:, None]
    cluster_sums = share.T @ rows
    total = cluster_sums.sum(axis=1, keepdims=True)
    out: Matrix = cluster_sums[total[:, 0] > 0] / total[total[:, 0] > 0]
    return out


def _climb(likelihood: Matrix, items: Floats, start: Floats, quantity: Quantity, push: float) -> tuple[Floats, float]:
    """Weights that maximise log likelihood + push x quantity, and their log likelihood."""
    size = float(items.sum())
    weights = start
    goal = _goal(likelihood, items, weights, quantity, push)
    for _ in range(ROUNDS):
        mixed = np.maximum(likelihood @ weights, 1e-300)
        slope = (items / mixed) @ likelihood + push * quantity(weights)[1]
        if float(slope.max()) - float(slope @ weights) <= SETTLED * size:
            break
        active = np.flatnonzero(weights > 1e-10)
        if active.size > 150:
            active = active[np.argsort(-weights[active])[:150]]
        active = np.union1d(active, np.argsort(-slope)[:NEW_POINTS])
        target = np.zeros_like(weights)
        target[active] = _quadratic(likelihood[:, active], items, mixed, slope[active], weights[active])
        step, before = 1.0, goal
        while step > 1e-4:
            moved = (1.0 - step) * weights + step * target
            reached = _goal(likelihood, items, moved, quantity, push)
            if reached > goal:
                weights, goal = moved, reached
                break
            step /= 2.0
        if goal - before <= 1e-10 * max(1.0, abs(before)):
            break
    return weights, _goal(likelihood, items, weights, _no_quantity, 0.0)


def _goal(likelihood: Matrix, items: Floats, weights: Floats, quantity: Quantity, push: float) -> float:
    return float(items @ np.log(np.maximum(likelihood @ weights, 1e-300))) + push * quantity(weights)[0]


def _quadratic(likelihood: Matrix, items: Floats, mixed: Floats, slope: Floats, weights: Floats) -> Floats:
    """Non-negative weights with sum one that maximise the goal's quadratic approximation."""
    from scipy.linalg import cholesky, solve_triangular
    from scipy.optimize import nnls

    ratio = likelihood * (np.sqrt(items) / mixed)[:, None]
    curve = ratio.T @ ratio
    size = float(items.sum())
    curve[np.diag_indices_from(curve)] += 1e-8 * size + 1e-11 * float(np.trace(curve))
    towards = slope + curve @ weights
    root = cholesky(curve)
    aim = solve_triangular(root, towards, trans="T")
    # A heavy row makes the weights add up to 1 without a constraint, which NNLS does not have.
    strong = 1e3 * np.sqrt(size)
    solved, _ = nnls(np.vstack([root, np.full(slope.size, strong)]), np.append(aim, strong), maxiter=50 * slope.size)
    total = float(solved.sum())
    out: Floats = solved / total if total > 0 else weights / weights.sum()
    return out


@lru_cache(maxsize=16)
def sorted_shares(categories: int) -> tuple[Matrix, Matrix]:
    """A grid of sorted category shares: the largest, the second, and the rest even, on the third, or on several runners-up."""
    grid: set[tuple[float, ...]] = set()
    for lead in np.linspace(1.0 / categories, 1.0, LEADING):
        least, most = (1.0 - lead) / (categories - 1), min(lead, 1.0 - lead)
        for second in least + (most - least) * np.linspace(0.0, 1.0, SECOND):
            remaining = max(1.0 - lead - second, 0.0)
            third = min(second, remaining)
            if categories == 2:
                grid.add(_rounded(lead, second, 0.0, 0.0, 1, 1, 0, 0))
                continue
            grid.add(_rounded(lead, second, remaining / (categories - 2), 0.0, 1, 1, categories - 2, 0))
            if categories > 3 and remaining > 0:
                last = max(remaining - third, 0.0) / (categories - 3)
                grid.add(_rounded(lead, second, third, last, 1, 1, 1, categories - 3))
                close = int(min(remaining // (RUNNERS_UP * second), categories - 3))
                if close > 1:
                    last = max(remaining - close * RUNNERS_UP * second, 0.0) / (categories - 2 - close)
                    grid.add(_rounded(lead, second, RUNNERS_UP * second, last, 1, 1, close, categories - 2 - close))
    table = np.array(sorted(grid))
    return table[:, :4].copy(), table[:, 4:].copy()


def _rounded(*numbers: float) -> tuple[float, ...]:
    return tuple(round(float(number), 12) for number in numbers)


@lru_cache(maxsize=128)
def panel_chances(categories: int, votes: int) -> tuple[Matrix, Floats, Floats, Floats]:
    """Chances of each candidate for a panel of ``votes``: of the two largest counts (in one row), of the
    long-run leader winning outright, of any category doing so, and of two panels having the same winner."""
    from heartfelt.stats.ceilings import _kernels_votes as kernels

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
        panel_wins = drawn_wins(rng, votes, p, PANEL_DRAWS)
        wins[g], outright[g], same[g] = panel_wins[0], panel_wins.sum(), (panel_wins**2).sum()
    return wins, outright, same


def drawn_wins(rng: np.random.Generator, votes: int, shares: Floats, draws: int) -> Floats:
    """How often each category wins a panel of ``votes`` outright, by drawing panels."""
    won = winners(rng.multinomial(votes, shares / shares.sum(), draws))
    return np.bincount(won[won >= 0], minlength=shares.size) / draws


def fit_clearness(counts: Matrix) -> Mixture:
    """Fit the mixture to votes per item and category; no item has more than ``MOST_VOTES``."""
    categories = counts.shape[1]
    votes = counts.sum(axis=1).astype(np.int64)
    ordered = np.partition(counts, categories - 2, axis=1)
    first, second = ordered[:, -1].astype(np.int64), ordered[:, -2].astype(np.int64)
    rows, items = [], []
    for n in np.unique(votes).tolist():
        of_size = votes == n
        cells, times_seen = np.unique(first[of_size] * (n + 1) + second[of_size], return_counts=True)
        rows.append(panel_chances(categories, n)[0][:, cells].T)
        items.append(times_seen)
    likelihood = np.concatenate(rows)
    likelihood = likelihood / likelihood.max(axis=1, keepdims=True)
    return fit_mixture(likelihood, np.concatenate(items).astype(np.float64))
