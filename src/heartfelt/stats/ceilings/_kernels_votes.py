"""Compiled loops of the vote model: how likely each category wins a panel's vote outright."""

from __future__ import annotations

from typing import Any

import numpy as np

from heartfelt.stats.compiled.kernel import compiled

Array = Any


@compiled
def _times(product: Array, share: float, most: int, degree: int, longer: Array) -> None:
    """Multiply the polynomial by sum_{t <= most} (share z)^t / t!, up to ``degree``."""
    longer[: degree + 1] = 0.0
    term = 1.0
    for t in range(min(most, degree) + 1):
        if t > 0:
            term *= share / t
        for a in range(degree - t + 1):
            longer[a + t] += product[a] * term
    product[: degree + 1] = longer[: degree + 1]


@compiled
def outright_wins(p: Array, n: int) -> Array:
    """Chance that each category gets strictly the most of ``n`` votes, one row per distribution in ``p``.

    P(j wins with m votes) = n! [z^n] (p_j z)^m / m! times the product over the others of sum_{t < m} (p z)^t / t!.
    """
    points, k = p.shape
    out = np.zeros((points, k))
    factorial = np.ones(n + 1)
    for t in range(1, n + 1):
        factorial[t] = factorial[t - 1] * t
    product = np.empty(n + 1)
    longer = np.empty(n + 1)
    for g in range(points):
        for j in range(k):
            if p[g, j] <= 0.0:
                continue
            total = 0.0
            for m in range(1, n + 1):
                if (n - m) > (k - 1) * (m - 1):
                    continue
                other_votes = n - m
                product[: other_votes + 1] = 0.0
                product[0] = 1.0
                for rival in range(k):
                    if rival == j or p[g, rival] <= 0.0:
                        continue
                    _times(product, p[g, rival], m - 1, other_votes, longer)
                total += product[other_votes] * p[g, j] ** m / factorial[m]
            out[g, j] = total * factorial[n]
    return out


@compiled
def top_two(values: Array, times: Array, n: int) -> tuple[Array, Array]:
    """Chances of the two largest vote counts among ``n`` votes, and of each kind of category winning outright.

    A distribution is given by distinct ``values`` of its shares and how many categories have each (``times``).
    Returns [distribution, largest, second] and [distribution, kind]: the chance that one category of that kind
    gets strictly the most votes.
    """
    points, kinds = values.shape
    chance = np.zeros((points, n + 1, n + 1))
    wins = np.zeros((points, kinds))
    factorial = np.ones(n + 1)
    for t in range(1, n + 1):
        factorial[t] = factorial[t - 1] * t
    product = np.empty(n + 1)
    longer = np.empty(n + 1)
    with_most = np.empty((kinds, n + 1, n + 1))
    below = np.empty(n + 1)
    for g in range(points):
        for b in range(n + 1):
            for kind in range(kinds + 1):
                product[:] = 0.0
                product[0] = 1.0
                for rival in range(kinds):
                    copies = int(times[g, rival]) - (1 if rival == kind else 0)
                    for _ in range(copies):
                        _times(product, values[g, rival], b, n, longer)
                if kind == kinds:
                    below[b] = product[n] * factorial[n]
                else:
                    for a in range(n + 1):
                        with_most[kind, a, b] = (
                            product[n - a] * values[g, kind] ** a / factorial[a] * factorial[n]
                            if times[g, kind] > 0
                            else 0.0
                        )
        for a in range(1, n + 1):
            outright = 0.0
            for b in range(a):
                total = 0.0
                for kind in range(kinds):
                    part = with_most[kind, a, b] - (with_most[kind, a, b - 1] if b > 0 else 0.0)
                    total += times[g, kind] * part
                    wins[g, kind] += part
                chance[g, a, b] = max(total, 0.0)
                outright += total
            chance[g, a, a] = max(below[a] - below[a - 1] - outright, 0.0)
    return chance, wins
