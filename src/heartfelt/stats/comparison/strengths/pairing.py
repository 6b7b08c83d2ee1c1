"""Which pair to compare next: the one whose answer is expected to narrow the widest intervals most.

With S the covariance of the strengths so far and w = p (1 - p) the information of one comparison of i and j, the answer changes
S by -w b b' / (1 + w a'b), where a = e_i - e_j and b = S a. Pairs are chosen to reduce the sum over contestants of variance^8, so
that the gain of a pair is about

    sum over k of variance_k^7 b_k^2, times w / (1 + w a'b)

(a Phi_p criterion, Kiefer 1974; the power 1 is A-optimality). A comparison of unequal contestants tells little, and random pairing
makes many of them, which leaves those at either end with the widest intervals. The power attends to these and costs the mean
width little.

Pairing by strengths that are themselves uncertain has a price: who won by luck is next compared with others who won by luck, and
few comparisons are left that could show it. The estimates spread out (Bramley 2015), the more so the more contestants there
are. So up to half of the pairs are drawn at random, which hardly costs any width at the ends, and ``estimates`` gives posterior
intervals under a normal distribution of strengths whose variance is estimated: how pairs were chosen does not matter to a
posterior. ``docs/stats/comparison.md`` has savings and coverage.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from heartfelt.errors import InputError
from heartfelt.stats._bounds import t_quantile
from heartfelt.stats.columns.triples import Floats, Ints
from heartfelt.stats.estimate import Estimate
from heartfelt.streams import stream

PRIOR_VARIANCE = 4.0
"""Of strengths, for choosing pairs: the first comparisons need a prior, later ones forget it."""
POWER = 8.0
EXPLORED, FULLY_FROM = 0.5, 25
"""Share of pairs drawn at random, once everybody was compared, from so many contestants on; fewer need less."""
STEPS, ROUNDS = 50, 200
CLOSE = 1e-9
LEAST_VARIANCE = 1e-3


class PairSchedule:
    """Comparisons as they come in, and the pairs to compare next. Contestants are numbered from 0.

    Everything depends on the comparisons added, not on when or in which order they were.
    """

    def __init__(self, size: int, *, seed: int = 0) -> None:
        if size < 2:
            raise InputError(f"Pairing needs at least two contestants; got {size}.", "Add contestants.")
        self._won: Floats = np.zeros((size, size))
        self._seed = seed
        self._state: tuple[Floats, Floats] | None = None

    @property
    def size(self) -> int:
        return int(self._won.shape[0])

    def add(self, first: int, second: int, value: float, times: int = 1) -> None:
        """Count a comparison: 1 where the first was chosen, 0 where the second was, 0.5 for a tie. ``times=-1`` takes it back."""
        if first == second or not 0 <= min(first, second) <= max(first, second) < self.size:
            raise InputError(
                f"There is no pair of {first} and {second}.", f"Pass two different numbers from 0 to {self.size - 1}."
            )
        if not 0.0 <= value <= 1.0:
            raise InputError(f"{value:g} is not an outcome of a comparison.", "Pass 1, 0 or 0.5.")
        self._won[first, second] += times * value
        self._won[second, first] += times * (1.0 - value)
        self._state = None

    @property
    def won(self) -> Floats:
        """Wins of each contestant (row) over each other one (column), ties as half."""
        return self._won.copy()

    @property
    def strengths(self) -> Floats:
        """The strengths so far, shrunken towards 0."""
        return self._posterior()[0]

    def gains(self) -> Floats:
        """What one comparison of each pair is expected to gain: a symmetric matrix, 0 on its diagonal."""
        return _gains(*self._posterior())

    def order(self, pairs: Ints, rng: np.random.Generator, under_way: Floats | None = None) -> Ints:
        """The places of candidate pairs (rows of two contestants), those to compare next first.

        They are ordered by their gain or, for a share of calls, at random. ``under_way`` counts comparisons of each
        contestant that were handed out and not answered yet, which make another one less urgent.
        """
        lot = rng.random(pairs.shape[0])
        first, second = pairs.T
        compared = (self._won + self._won.T).sum(axis=1) + (0.0 if under_way is None else under_way)
        explored = EXPLORED * min(self.size / FULLY_FROM, 1.0)
        if rng.random() < explored and bool((compared[np.unique(pairs)] > 0).all()):
            return np.argsort(lot).astype(np.int64)
        gains = self.gains()[first, second]
        if under_way is not None:
            gains /= 1.0 + under_way[first] + under_way[second]
        largest = float(gains.max(initial=0.0)) or 1.0
        return np.lexsort((lot, -np.round(gains / largest, 9))).astype(np.int64)

    def next_pairs(self, count: int, allowed: Iterable[tuple[int, int]] | None = None) -> Ints:
        """The next pairs, each chosen as if those before it were under way: rows of two contestants.

        ``allowed`` are the pairs there are; all of them unless given. Chance comes from a stream of the seed and the
        number of comparisons.
        """
        every = np.column_stack(np.triu_indices(self.size, 1))
        pairs = np.asarray(every if allowed is None else list(allowed), np.int64).reshape(-1, 2)
        if not pairs.size:
            return pairs
        rng = stream(self._seed, "pairing", round(float(self._won.sum())))
        under_way = np.zeros(self.size)
        out = np.empty((count, 2), np.int64)
        for row in range(count):
            out[row] = pairs[self.order(pairs, rng, under_way)[0]]
            under_way[out[row]] += 1.0
        return out

    def estimates(self, confidence: float = 0.95) -> tuple[Estimate, ...]:
        """Strengths with mean zero and posterior intervals, under a normal distribution of strengths with estimated variance."""
        variance = 1.0
        for _ in range(ROUNDS):
            strengths, covariance = _mode(self._won, variance)
            # A step of EM: the expected variance of the strengths about their mean.
            expected = float(strengths @ strengths + np.trace(covariance)) / (self.size - 1)
            done = abs(expected - variance) < 1e-4 * variance
            variance = max(expected, LEAST_VARIANCE)
            if done:
                break
        # The variance of the strengths is known as well as so many contestants show it.
        half = t_quantile(confidence, self.size - 1) * np.sqrt(np.diag(covariance))
        method = "Bradley-Terry, normal distribution of strengths with estimated variance"
        counts = {"comparisons": round(float(self._won.sum())), "contestants": self.size}
        return tuple(
            Estimate(value=value, method=method, counts=counts).with_interval(
                value - wide, value + wide, "posterior, Student t", confidence
            )
            for value, wide in zip(strengths.tolist(), half.tolist(), strict=True)
        )

    def _posterior(self) -> tuple[Floats, Floats]:
        if self._state is None:
            self._state = _mode(self._won, PRIOR_VARIANCE)
        return self._state


def _mode(won: Floats, variance: float) -> tuple[Floats, Floats]:
    """Mode and covariance of the strengths, relative to their mean, under a normal prior."""
    total = won + won.T
    strengths = np.zeros(won.shape[0])
    for _ in range(STEPS):
        p = _chances(strengths)
        weights = total * p * (1.0 - p)
        slope = (won - total * p).sum(axis=1) - strengths / variance
        information = np.diag(weights.sum(axis=1) + 1.0 / variance) - weights
        step = np.linalg.solve(information, slope)
        largest = float(np.abs(step).max())
        strengths = strengths + step * min(1.0, 2.0 / max(largest, 1e-300))
        if largest < CLOSE:
            break
    inverse = np.linalg.inv(information)
    # The prior knows the common level, which says nothing of differences.
    inverse -= inverse.mean(axis=0)
    inverse -= inverse.mean(axis=1)[:, None]
    return strengths - strengths.mean(), np.asarray(inverse, np.float64)


def _chances(strengths: Floats) -> npt.NDArray[np.float64]:
    return np.asarray(1.0 / (1.0 + np.exp(strengths[None, :] - strengths[:, None])))


def _gains(strengths: Floats, covariance: Floats) -> Floats:
    p = _chances(strengths)
    weight = p * (1.0 - p)
    variance = np.diag(covariance)
    squares = (covariance * variance ** (POWER - 1.0)) @ covariance
    diagonal = np.diag(squares)
    length = diagonal[:, None] + diagonal[None, :] - 2.0 * squares
    spread = variance[:, None] + variance[None, :] - 2.0 * covariance
    gain = weight * length / (1.0 + weight * spread)
    np.fill_diagonal(gain, 0.0)
    return np.maximum(gain, 0.0)
