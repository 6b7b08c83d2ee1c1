"""Which pair to compare next: the one whose answer is expected to narrow the strengths most.

With S the covariance of the strengths so far and w = p (1 - p) the information of one comparison of i and j, the answer
shortens the sum of the strengths' variances by about

    w |S a|^2 / (1 + w a'S a),  a = e_i - e_j

(A-optimality; Chaloner and Verdinelli 1995). Before there are answers, strengths have a normal prior about zero, which the first
rounds need and later ones forget. Lopsided pairs carry little information and are compared less often, pairs whose
difference is uncertain more often; every contestant stays connected, since one that was not compared has the widest variance.
"""

from __future__ import annotations

import numpy as np

from heartfelt.stats.triples import Floats, Ints

PRIOR_VARIANCE = 4.0


class Pairing:
    """Strengths of contestants as comparisons come in, and the pairs to compare next."""

    def __init__(self, size: int, prior_variance: float = PRIOR_VARIANCE) -> None:
        self.won = np.zeros((size, size))
        """Wins of each contestant (row) over each other one (column), ties as half."""
        self.strengths: Floats = np.zeros(size)
        self.covariance: Floats = np.eye(size) * prior_variance
        self._prior = prior_variance

    @property
    def size(self) -> int:
        """Number of contestants."""
        return int(self.strengths.size)

    def add(self, first: int, second: int, value: float) -> None:
        """Count one comparison and move the covariance by its information; ``refit`` makes it exact."""
        self.won[first, second] += value
        self.won[second, first] += 1.0 - value
        self._narrow(first, second)

    def _narrow(self, first: int, second: int) -> None:
        column = self.covariance[:, first] - self.covariance[:, second]
        p = 1.0 / (1.0 + np.exp(self.strengths[second] - self.strengths[first]))
        weight = p * (1.0 - p)
        self.covariance -= np.outer(column, column) * (
            weight / (1.0 + weight * (column[first] - column[second]))
        )

    def refit(self) -> None:
        """Fit the strengths to all comparisons so far, with the prior."""
        total = self.won + self.won.T
        for _ in range(30):
            p = 1.0 / (1.0 + np.exp(self.strengths[None, :] - self.strengths[:, None]))
            weights = total * p * (1.0 - p)
            slope = (self.won - total * p).sum(axis=1) - self.strengths / self._prior
            information = np.diag(weights.sum(axis=1) + 1.0 / self._prior) - weights
            self.covariance = np.asarray(np.linalg.inv(information), np.float64)
            step = self.covariance @ slope
            self.strengths = self.strengths + step
            if float(np.abs(step).max()) < 1e-6:
                break

    def gains(self) -> Floats:
        """How much one comparison of each pair is expected to shorten the sum of variances; a symmetric matrix."""
        s = self.covariance
        squares = s @ s
        length = np.diag(squares)[:, None] + np.diag(squares)[None, :] - 2.0 * squares
        spread = np.diag(s)[:, None] + np.diag(s)[None, :] - 2.0 * s
        p = 1.0 / (1.0 + np.exp(self.strengths[None, :] - self.strengths[:, None]))
        weight = p * (1.0 - p)
        gain = weight * length / (1.0 + weight * spread)
        np.fill_diagonal(gain, -np.inf)
        return np.asarray(gain)

    def next_pairs(self, count: int) -> Ints:
        """The next pairs, each chosen as if the ones before it had been answered: rows of two contestants."""
        keep = self.covariance.copy()
        out = np.empty((count, 2), np.int64)
        for row in range(count):
            place = int(np.argmax(self.gains()))
            out[row] = place // self.size, place % self.size
            self._narrow(*out[row])
        self.covariance = keep
        return out
