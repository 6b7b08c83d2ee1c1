"""Compiled loops of the bootstrap. Thirty-two resamples ("lanes") run side by side, so that every loop over rows does
one contiguous addition per row and the memory held is 32 counts a row, whatever the number of resamples.

``counts[row, lane]`` is how often a row entered a resample, as a float: exact, and floats vectorise where
small integers do not. Loops run to ``counts.shape[1]`` rather than a constant for the same reason. Chance
comes from SplitMix64 (Steele et al. 2014) seeded from a named stream; 32 random bits choose a row by
multiplication (a bias below ``rows / 2**32``).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from heartfelt.stats.columns.triples import Floats, Ints
from heartfelt.stats.compiled.kernel import compiled

LANES = 32
_BLOCK = 256
Counts = npt.NDArray[np.floating[Any]]

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)
_HALF = np.uint64(32)
_MASK = np.uint64(0xFFFFFFFF)
_S30, _S27, _S31, _S11 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(11)


@compiled
def mix(state: Any) -> Any:
    z = (state ^ (state >> _S30)) * _FIRST
    z = (z ^ (z >> _S27)) * _SECOND
    return z ^ (z >> _S31)


@compiled
def below(state: Any, size: int) -> Any:
    """The generator's next state, and a number from 0 to ``size - 1``."""
    state = np.uint64(state) + _GOLDEN
    return state, np.int64(((mix(state) >> _HALF) * np.uint64(size)) >> _HALF)


@compiled
def draw(state: Any, counts: Counts) -> Any:
    """Fill every lane with one bootstrap sample of the rows; return the generator's next state.

    Random numbers are made a block at a time, counted in bytes (no row is drawn 256 times), then laid out by row.
    """
    rows, lanes = counts.shape
    size, words = np.uint64(rows), (rows + 1) // 2
    picked = np.empty(2 * _BLOCK, np.uint32)
    times = np.zeros((lanes, rows), np.uint8)
    for lane in range(lanes):
        lane_times = times[lane]
        done = 0
        while done < words:
            block = min(_BLOCK, words - done)
            for k in range(block):
                # Both halves of a random word choose a row, by multiplication in place of a slower remainder.
                z = mix(state + np.uint64(k + 1) * _GOLDEN)
                picked[k] = np.uint32(((z & _MASK) * size) >> _HALF)
                picked[_BLOCK + k] = np.uint32(((z >> _HALF) * size) >> _HALF)
            state += np.uint64(block) * _GOLDEN
            done += block
            for k in range(block):
                lane_times[picked[k]] += 1
            for k in range(block - 1 if done == words and rows % 2 else block):
                lane_times[picked[_BLOCK + k]] += 1
    for row in range(rows):
        for lane in range(lanes):
            counts[row, lane] = times[lane, row]
    return state


@compiled
def moments(counts: Counts, x: Floats, y: Floats) -> Floats:
    """Per lane: total weight, then weighted sums of x, y, x², y² and xy."""
    lanes = counts.shape[1]
    out = np.zeros((6, lanes))
    for row in range(x.size):
        a, b = x[row], y[row]
        aa, bb, ab = a * a, b * b, a * b
        for lane in range(lanes):
            weight = np.float64(counts[row, lane])
            out[0, lane] += weight
            out[1, lane] += weight * a
            out[2, lane] += weight * b
            out[3, lane] += weight * aa
            out[4, lane] += weight * bb
            out[5, lane] += weight * ab
    return out


@compiled
def mean(counts: Counts, values: Floats) -> Floats:
    """Per lane: the weighted mean, NaN without weight."""
    lanes = counts.shape[1]
    work = np.zeros((2, lanes))
    for row in range(values.size):
        value = values[row]
        for lane in range(lanes):
            weight = np.float64(counts[row, lane])
            work[0, lane] += weight
            work[1, lane] += weight * value
    out = np.empty(lanes)
    for lane in range(lanes):
        out[lane] = work[1, lane] / work[0, lane] if work[0, lane] > 0 else np.nan
    return out


@compiled
def class_totals(counts: Counts, label: Ints, predicted: Ints, classes: int) -> Floats:
    """Per class and lane: how many labels, how many predictions, how many both."""
    lanes = counts.shape[1]
    out = np.zeros((3, classes, lanes))
    for row in range(label.size):
        a, b = label[row], predicted[row]
        for lane in range(lanes):
            out[0, a, lane] += counts[row, lane]
        for lane in range(lanes):
            out[1, b, lane] += counts[row, lane]
        if a == b:
            for lane in range(lanes):
                out[2, a, lane] += counts[row, lane]
    return out


@compiled
def spearman(counts: Counts, order: Ints, starts: Ints, rank_index: Ints, rank_count: int) -> Floats:
    """Per lane: the correlation of mid-ranks.

    ``order`` lists the rows by x, ``starts`` where each distinct x begins in it, ``place`` is the rank of a
    row's y among the distinct ones.
    """
    lanes = counts.shape[1]
    ranks = np.zeros((rank_count, lanes))
    for row in range(rank_index.size):
        p = rank_index[row]
        for lane in range(lanes):
            ranks[p, lane] += counts[row, lane]
    work = np.zeros((7, lanes))
    for p in range(rank_count):
        for lane in range(lanes):
            count = ranks[p, lane]
            rank = work[0, lane] + 0.5 * (count + 1.0)
            ranks[p, lane] = rank
            work[0, lane] += count
            work[1, lane] += count * rank * rank
    for g in range(starts.size - 1):
        first, last = starts[g], starts[g + 1]
        for lane in range(lanes):
            work[5, lane] = 0.0
            work[6, lane] = 0.0
        for k in range(first, last):
            row = order[k]
            p = rank_index[row]
            for lane in range(lanes):
                weight = np.float64(counts[row, lane])
                work[5, lane] += weight
                work[6, lane] += weight * ranks[p, lane]
        for lane in range(lanes):
            rank = work[2, lane] + 0.5 * (work[5, lane] + 1.0)
            work[2, lane] += work[5, lane]
            work[3, lane] += work[5, lane] * rank * rank
            work[4, lane] += rank * work[6, lane]
    out = np.empty(lanes)
    for lane in range(lanes):
        centre = work[0, lane] * 0.25 * (work[0, lane] + 1.0) ** 2
        spread_x, spread_y = work[3, lane] - centre, work[1, lane] - centre
        usable = spread_x > 0.125 and spread_y > 0.125
        out[lane] = (work[4, lane] - centre) / np.sqrt(spread_x * spread_y) if usable else np.nan
    return out


@compiled
def kendall(counts: Counts, order: Ints, starts: Ints, rank: Ints, rank_count: int) -> Floats:
    """Per lane: tau-b, by one Fenwick tree whose nodes hold all lanes."""
    lanes = counts.shape[1]
    tree = np.zeros((rank_count + 1, lanes), counts.dtype)
    same = np.zeros((rank_count, lanes), counts.dtype)
    prefix, total = np.zeros(lanes, counts.dtype), np.zeros(lanes, counts.dtype)
    work = np.zeros((4, lanes))
    for g in range(starts.size - 1):
        first, last = starts[g], starts[g + 1]
        for k in range(first, last):
            row = order[k]
            p = rank[row]
            for lane in range(lanes):
                prefix[lane] = same[p, lane] - total[lane]
            node = p
            while node > 0:
                for lane in range(lanes):
                    prefix[lane] += tree[node, lane] + tree[node, lane]
                node &= node - 1
            for lane in range(lanes):
                work[0, lane] += np.float64(counts[row, lane]) * np.float64(prefix[lane])
        for lane in range(lanes):
            work[1, lane] = 0.0
        for k in range(first, last):
            row = order[k]
            p = rank[row]
            for lane in range(lanes):
                work[1, lane] += counts[row, lane]
            for lane in range(lanes):
                same[p, lane] += counts[row, lane]
            for lane in range(lanes):
                total[lane] += counts[row, lane]
            node = p + 1
            while node <= rank_count:
                for lane in range(lanes):
                    tree[node, lane] += counts[row, lane]
                node += node & -node
        for lane in range(lanes):
            work[2, lane] += work[1, lane] * (work[1, lane] - 1.0)
    for p in range(rank_count):
        for lane in range(lanes):
            work[3, lane] += np.float64(same[p, lane]) * (np.float64(same[p, lane]) - 1.0)
    out = np.empty(lanes)
    for lane in range(lanes):
        pairs = np.float64(total[lane]) * (np.float64(total[lane]) - 1.0)
        free_x, free_y = pairs - work[2, lane], pairs - work[3, lane]
        usable = free_x > 0 and free_y > 0
        out[lane] = 2.0 * work[0, lane] / (np.sqrt(free_x) * np.sqrt(free_y)) if usable else np.nan
    return out


@compiled
def concordance(order: Ints, starts: Ints, rank: Ints, rank_count: int, backward: bool, out: Ints) -> int:
    """Add to each row how many rows before it in x (after it if ``backward``) are concordant, less the discordant.

    Returns the sum over rows.
    """
    tree, same = np.zeros(rank_count + 1, np.int64), np.zeros(rank_count, np.int64)
    total, net = 0, 0
    for step in range(starts.size - 1):
        g = starts.size - 2 - step if backward else step
        for k in range(starts[g], starts[g + 1]):
            row = order[k]
            node = rank[row]
            less = 0
            while node > 0:
                less += tree[node]
                node &= node - 1
            score = 2 * less + same[rank[row]] - total
            out[row] += -score if backward else score
            net += score
        for k in range(starts[g], starts[g + 1]):
            p = rank[order[k]]
            same[p] += 1
            total += 1
            node = p + 1
            while node <= rank_count:
                tree[node] += 1
                node += node & -node
    return net


@compiled
def kendall_scores(order: Ints, starts: Ints, rank: Ints, rank_count: int) -> Ints:
    """Per row: concordant minus discordant partners."""
    out = np.zeros(rank.size, np.int64)
    concordance(order, starts, rank, rank_count, False, out)
    concordance(order, starts, rank, rank_count, True, out)
    return out


@compiled
def auroc(counts: Counts, order: Ints, starts: Ints, positive: npt.NDArray[np.bool_]) -> Floats:
    """Per lane: area under the ROC curve; ``order`` and ``starts`` sort the rows by rising prediction."""
    lanes = counts.shape[1]
    work = np.zeros((5, lanes))
    for g in range(starts.size - 1):
        for lane in range(lanes):
            work[0, lane] = 0.0
            work[1, lane] = 0.0
        for k in range(starts[g], starts[g + 1]):
            row = order[k]
            side = 1 if positive[row] else 0
            for lane in range(lanes):
                work[side, lane] += counts[row, lane]
        for lane in range(lanes):
            work[2, lane] += work[1, lane] * (work[3, lane] + 0.5 * work[0, lane])
            work[3, lane] += work[0, lane]
            work[4, lane] += work[1, lane]
    out = np.empty(lanes)
    for lane in range(lanes):
        pairs = work[3, lane] * work[4, lane]
        out[lane] = work[2, lane] / pairs if pairs > 0 else np.nan
    return out


@compiled
def average_precision(counts: Counts, order: Ints, starts: Ints, positive: npt.NDArray[np.bool_]) -> Floats:
    """Per lane: average precision, stepping down through the distinct predictions."""
    lanes = counts.shape[1]
    work = np.zeros((5, lanes))
    for g in range(starts.size - 2, -1, -1):
        for lane in range(lanes):
            work[0, lane] = 0.0
            work[1, lane] = 0.0
        for k in range(starts[g], starts[g + 1]):
            row = order[k]
            side = 1 if positive[row] else 0
            for lane in range(lanes):
                work[side, lane] += counts[row, lane]
        for lane in range(lanes):
            work[3, lane] += work[0, lane]
            work[4, lane] += work[1, lane]
            work[2, lane] += work[1, lane] * work[4, lane] / max(work[3, lane] + work[4, lane], 1.0)
    out = np.empty(lanes)
    for lane in range(lanes):
        out[lane] = work[2, lane] / work[4, lane] if work[4, lane] > 0 else np.nan
    return out


@compiled
def binned_gap(counts: Counts, gap: Floats, which: Ints, bins: int) -> Floats:
    """Per lane: summed absolute mean gap of the bins, weighted by their share."""
    lanes = counts.shape[1]
    sums, weights = np.zeros((bins, lanes)), np.zeros(lanes)
    for row in range(gap.size):
        b, value = which[row], gap[row]
        for lane in range(lanes):
            sums[b, lane] += counts[row, lane] * value
        for lane in range(lanes):
            weights[lane] += counts[row, lane]
    out = np.zeros(lanes)
    for b in range(bins):
        for lane in range(lanes):
            out[lane] += abs(sums[b, lane])
    for lane in range(lanes):
        out[lane] = out[lane] / weights[lane] if weights[lane] > 0 else np.nan
    return out


@compiled
def calibrated_gap(probability: Floats, which: Ints, bins: int, resamples: int, state: Any) -> Floats:
    """Per resample: the same, of outcomes drawn from the probabilities themselves."""
    n = probability.size
    sums = np.zeros(bins)
    out = np.empty(resamples)
    for r in range(resamples):
        sums[:] = 0.0
        for row in range(n):
            state += _GOLDEN
            true = np.float64(mix(state) >> _S11) * 2.0**-53 < probability[row]
            sums[which[row]] += probability[row] - (1.0 if true else 0.0)
        out[r] = np.sum(np.abs(sums)) / n
    return out
