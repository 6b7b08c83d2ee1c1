"""Compiled loops of the reliability statistics. Ratings come sorted by item or rater (``starts`` marks the
groups)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

Array = Any


@njit(cache=True)
def group(codes: Array, count: int) -> tuple[Array, Array]:
    """Starts of each group and the order that sorts ratings by group, keeping the order within one."""
    starts = np.zeros(count + 1, np.int64)
    for c in codes:
        starts[c + 1] += 1
    for g in range(count):
        starts[g + 1] += starts[g]
    fill = starts[:-1].copy()
    order = np.empty(codes.size, np.int64)
    for i in range(codes.size):
        c = codes[i]
        order[fill[c]] = i
        fill[c] += 1
    return starts, order


@njit(cache=True)
def repeated_pairs(starts: Array, order: Array, other: Array, count: int) -> tuple[int, int]:
    """How many ratings repeat a (group, other) pair, and where the first of them stands."""
    seen = np.full(count, -1, np.int64)
    repeats, first = 0, -1
    for g in range(starts.size - 1):
        for i in range(starts[g], starts[g + 1]):
            c = other[order[i]]
            if seen[c] == g:
                repeats += 1
                if first < 0:
                    first = order[i]
            seen[c] = g
    return repeats, first


@njit(cache=True)
def level_lists(starts: Array, small: Array, fixed: Array, q: int, p: int) -> tuple[Array, Array, Array]:
    """For each group its levels on the other side (weight 1) and its distinct fixed effects (weight =
    ratings)."""
    bounds = np.zeros(starts.size, np.int64)
    levels = np.empty(2 * small.size, np.int64)
    weights = np.empty(2 * small.size, np.float64)
    slot = np.full(p, -1, np.int64)
    at = 0
    for g in range(starts.size - 1):
        for i in range(starts[g], starts[g + 1]):
            levels[at] = small[i]
            weights[at] = 1.0
            at += 1
        head = at
        for i in range(starts[g], starts[g + 1]):
            f = fixed[i]
            if slot[f] < head:
                slot[f] = at
                levels[at] = q + f
                weights[at] = 0.0
                at += 1
            weights[slot[f]] += 1.0
        bounds[g + 1] = at
    return bounds, levels[:at].copy(), weights[:at].copy()


@njit(cache=True)
def pairs_add(bounds: Array, levels: Array, weights: Array, scale: Array, out: Array) -> None:
    """``out += sum_g scale[g] m_g m_g'`` on and below the diagonal, m_g the level counts of group g."""
    for g in range(bounds.size - 1):
        s = scale[g]
        if s == 0.0:
            continue
        for i in range(bounds[g], bounds[g + 1]):
            a, wa = levels[i], s * weights[i]
            for j in range(bounds[g], i + 1):
                b = levels[j]
                if a >= b:
                    out[a, b] += wa * weights[j]
                else:
                    out[b, a] += wa * weights[j]


@njit(cache=True)
def pairs_sum(
    bounds: Array, levels: Array, weights: Array, scale: Array, matrix: Array, root: Array
) -> float:
    """``sum_g scale[g] m_g' R M R m_g`` for a symmetric matrix given on and below its diagonal."""
    total = 0.0
    for g in range(bounds.size - 1):
        part = 0.0
        for i in range(bounds[g], bounds[g + 1]):
            a = levels[i]
            wa = weights[i] * root[a]
            for j in range(bounds[g], i):
                b = levels[j]
                entry = matrix[a, b] if a >= b else matrix[b, a]
                part += 2.0 * wa * weights[j] * root[b] * entry
            part += wa * wa * matrix[a, a]
        total += scale[g] * part
    return total


@njit(cache=True)
def add_ones(small: Array, fixed: Array, q: int, out: Array) -> None:
    """``out += Z'Z`` on and below the diagonal, for one small level and one fixed effect per rating."""
    for i in range(small.size):
        s, f = small[i], q + fixed[i]
        out[s, s] += 1.0
        out[f, f] += 1.0
        out[f, s] += 1.0


@njit(cache=True)
def gather(small: Array, fixed: Array, f: Array, q: int, m: int) -> Array:
    """``Z'f``: sums of f per small level and per fixed effect."""
    out = np.zeros(m)
    for i in range(small.size):
        out[small[i]] += f[i]
        out[q + fixed[i]] += f[i]
    return out


@njit(cache=True)
def group_sums(starts: Array, f: Array) -> Array:
    """Sums of f per group."""
    out = np.zeros(starts.size - 1)
    for g in range(starts.size - 1):
        s = 0.0
        for i in range(starts[g], starts[g + 1]):
            s += f[i]
        out[g] = s
    return out


@njit(cache=True)
def shrink(starts: Array, f: Array, factor: Array) -> Array:
    """``Wf``: f less ``factor[g]`` times its group sum."""
    out = np.empty(f.size)
    for g in range(starts.size - 1):
        s = 0.0
        for i in range(starts[g], starts[g + 1]):
            s += f[i]
        s *= factor[g]
        for i in range(starts[g], starts[g + 1]):
            out[i] = f[i] - s
    return out


@njit(cache=True)
def fitted(small: Array, fixed: Array, coefficients: Array, q: int) -> Array:
    """``Z x`` per rating."""
    out = np.empty(small.size)
    for i in range(small.size):
        out[i] = coefficients[small[i]] + coefficients[q + fixed[i]]
    return out


@njit(cache=True)
def spread(starts: Array, per_group: Array) -> Array:
    """A group's number for each of its ratings."""
    out = np.empty(starts[-1])
    for g in range(starts.size - 1):
        for i in range(starts[g], starts[g + 1]):
            out[i] = per_group[g]
    return out


@njit(cache=True)
def system_product(
    starts: Array, small: Array, fixed: Array, factor: Array, root: Array, q: int, x: Array
) -> Array:
    """The mixed-model system (after elimination of the groups) times each column of x."""
    m, k = x.shape
    out = np.zeros((m, k))
    sums = np.empty(k)
    for g in range(starts.size - 1):
        sums[:] = 0.0
        for i in range(starts[g], starts[g + 1]):
            s, f = small[i], q + fixed[i]
            for c in range(k):
                sums[c] += root[s] * x[s, c] + root[f] * x[f, c]
        for i in range(starts[g], starts[g + 1]):
            s, f = small[i], q + fixed[i]
            for c in range(k):
                value = root[s] * x[s, c] + root[f] * x[f, c] - factor[g] * sums[c]
                out[s, c] += value
                out[f, c] += value
    for a in range(m):
        for c in range(k):
            out[a, c] *= root[a]
            if a < q:
                out[a, c] += x[a, c]
    return out


@njit(cache=True)
def level_forms(
    bounds: Array, levels: Array, weights: Array, scale: Array, root: Array, left: Array, right: Array
) -> Array:
    """``left' R (sum_g scale[g] m_g m_g') R right`` for each column."""
    k = left.shape[1]
    out = np.zeros(k)
    for g in range(bounds.size - 1):
        for c in range(k):
            a = 0.0
            b = 0.0
            for i in range(bounds[g], bounds[g + 1]):
                w = weights[i] * root[levels[i]]
                a += w * left[levels[i], c]
                b += w * right[levels[i], c]
            out[c] += scale[g] * a * b
    return out


@njit(cache=True)
def inverse_of_factor(chol: Array) -> Array:
    """Lower triangle of (L L')^-1 from the lower triangle of L, by row operations that vectorise."""
    m = chol.shape[0]
    x = np.zeros((m, m))
    for i in range(m):
        x[i, i] = 1.0
        for k in range(i):
            f = chol[i, k]
            for j in range(k + 1):
                x[i, j] -= f * x[k, j]
        d = 1.0 / chol[i, i]
        for j in range(i + 1):
            x[i, j] *= d
    out = np.zeros((m, m))
    for k in range(m):
        for a in range(k + 1):
            f = x[k, a]
            for j in range(a + 1):
                out[a, j] += f * x[k, j]
    return out
