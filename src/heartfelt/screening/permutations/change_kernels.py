"""Compiled loops of the change rule: does a rater's dependence on the stimuli begin or end somewhere in the session?

A rater's trials are cut into units (single trials, or short stretches of very long sessions), each with the sums that a
regression of answers on predictions needs: n, y, x, yy, xx, xy, channel by channel.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from heartfelt.stats.compiled._kernels_resample import below
from heartfelt.stats.compiled.kernel import compiled


@compiled
def _squares(n: float, sums: Any) -> Any:
    """Centred sums of squares and products yy, xx, xy."""
    yy = sums[3] - sums[1] * sums[1] / n
    xx = sums[4] - sums[2] * sums[2] / n
    xy = sums[5] - sums[1] * sums[2] / n
    return max(yy, 0.0), max(xx, 0.0), xy


@compiled
def _rest(yy: float, xx: float, xy: float) -> float:
    """What a positive slope leaves of the sum of squares."""
    return max(yy - xy * xy / xx, 0.0) if xx > 1e-12 and xy > 0 else yy


@compiled
def evidence_by_place(units: Any, total: Any, order: Any, at: Any, floor: Any, least: float) -> Any:
    """For each split ``at``: twice the log likelihood ratio that the answers follow the stimuli only before it, or only after it.

    The null has one slope and one variance; each part has its own mean under both, so a shift of the mean is no evidence.
    """
    size, width = units.shape[0], units.shape[1]
    out = np.zeros((2, at.size))
    before, after = np.zeros(6), np.zeros(6)
    for c in range(width):
        before[:] = 0.0
        split = 0
        for u in range(size):
            unit = order[u]
            for s in range(6):
                before[s] += units[unit, c, s]
            if u + 1 != at[split]:
                continue
            for s in range(6):
                after[s] = total[c, s] - before[s]
            n1, n2 = before[0], after[0]
            if n1 >= least and n2 >= least:
                yy1, xx1, xy1 = _squares(n1, before)
                yy2, xx2, xy2 = _squares(n2, after)
                free = n1 + n2 - 3.0
                both = np.log(_rest(yy1 + yy2, xx1 + xx2, xy1 + xy2) / free + floor[c]) * free
                follows1 = np.log(_rest(yy1, xx1, xy1) / (n1 - 2) + floor[c]) * (n1 - 2)
                follows2 = np.log(_rest(yy2, xx2, xy2) / (n2 - 2) + floor[c]) * (n2 - 2)
                none1 = np.log(yy1 / (n1 - 1) + floor[c]) * (n1 - 1)
                none2 = np.log(yy2 / (n2 - 1) + floor[c]) * (n2 - 1)
                out[0, split] += both - follows1 - none2
                out[1, split] += both - none1 - follows2
            split += 1
            if split == at.size:
                break
    return out


@compiled
def _overall(ratios: Any) -> Any:
    """The log of the mean likelihood ratio over places and directions, up to a constant."""
    top, total = ratios[0, 0], 0.0
    for i in range(ratios.shape[0]):
        for j in range(ratios.shape[1]):
            top = max(top, ratios[i, j])
    for i in range(ratios.shape[0]):
        for j in range(ratios.shape[1]):
            total += np.exp(0.5 * (ratios[i, j] - top))
    return 0.5 * top + np.log(total)


@compiled
def change_chance(units: Any, at: Any, floor: Any, least: float, enough: int, draws: int, seed: int) -> Any:
    """The p-value of a change when units are shuffled in time: sequential, stopping after ``enough`` shuffles as extreme.

    Source: Besag and Clifford (1991), "Sequential Monte Carlo p-values".
    """
    size = units.shape[0]
    order = np.arange(size)
    total = np.zeros(units.shape[1:])
    for u in range(size):
        for c in range(total.shape[0]):
            for s in range(total.shape[1]):
                total[c, s] += units[u, c, s]
    observed = _overall(evidence_by_place(units, total, order, at, floor, least))
    state = np.uint64(seed)
    as_large = 0
    for draw in range(draws):
        for i in range(size - 1, 0, -1):
            state, j = below(state, i + 1)
            order[i], order[j] = order[j], order[i]
        if _overall(evidence_by_place(units, total, order, at, floor, least)) >= observed - 1e-9:
            as_large += 1
            if as_large >= enough:
                return as_large / (draw + 1.0)
    return (as_large + 1.0) / (draws + 1.0)
