"""Compiled loops of the reliability statistics. Ratings come sorted by item or rater (``starts`` marks the groups)."""

from __future__ import annotations

from typing import Any

import numpy as np

from heartfelt.stats.compiled.kernel import IN_ALL, SMALL, compiled

Array = Any


@compiled(interpret_below=SMALL)
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


@compiled(interpret_below=SMALL)
def repeated_pairs(starts: Array, order: Array, second_code: Array, count: int) -> tuple[int, int]:
    """How many ratings repeat a (group, other) pair, and where the first of them stands."""
    last_group = np.full(count, -1, np.int64)
    repeats, first = 0, -1
    for g in range(starts.size - 1):
        for i in range(starts[g], starts[g + 1]):
            c = second_code[order[i]]
            if last_group[c] == g:
                repeats += 1
                if first < 0:
                    first = order[i]
            last_group[c] = g
    return repeats, first


@compiled(interpret_below=5 * SMALL)
def level_lists(starts: Array, codes: Array, columns: Array, marked: int) -> tuple[Array, Array, Array]:
    """For each group how often each code occurs in it, then the sums of the dense columns (numbered from ``marked``)."""
    n, kinds = codes.shape
    width = columns.shape[1]
    most = n * kinds + (starts.size - 1) * width
    bounds = np.zeros(starts.size, np.int64)
    levels = np.empty(most, np.int64)
    weights = np.zeros(most, np.float64)
    slot = np.full(marked, -1, np.int64)
    at = 0
    for g in range(starts.size - 1):
        head = at
        for k in range(kinds):
            for i in range(starts[g], starts[g + 1]):
                c = codes[i, k]
                # Slots of earlier groups lie below this one, so the table needs no clearing between groups.
                if slot[c] < head:
                    slot[c] = at
                    levels[at] = c
                    at += 1
                weights[slot[c]] += 1.0
        for j in range(width):
            levels[at] = marked + j
            for i in range(starts[g], starts[g + 1]):
                weights[at] += columns[i, j]
            at += 1
        bounds[g + 1] = at
    return bounds, levels[:at].copy(), weights[:at].copy()


@compiled(interpret_below=SMALL)
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


@compiled
def pairs_sum(bounds: Array, levels: Array, weights: Array, scale: Array, matrix: Array, root: Array) -> float:
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


@compiled(interpret_below=SMALL)
def add_ones(codes: Array, out: Array) -> None:
    """``out += Z'Z`` on and below the diagonal, each row of Z being one at its codes (in rising order)."""
    for i in range(codes.shape[0]):
        for a in range(codes.shape[1]):
            for b in range(a + 1):
                out[codes[i, a], codes[i, b]] += 1.0


@compiled(interpret_below=SMALL, interpret_in_all=4 * IN_ALL)
def gather(codes: Array, f: Array, size: int) -> Array:
    out = np.zeros(size)
    for i in range(codes.shape[0]):
        for k in range(codes.shape[1]):
            out[codes[i, k]] += f[i]
    return out


@compiled(interpret_below=SMALL)
def group_sums(starts: Array, f: Array) -> Array:
    out = np.zeros(starts.size - 1)
    for g in range(starts.size - 1):
        s = 0.0
        for i in range(starts[g], starts[g + 1]):
            s += f[i]
        out[g] = s
    return out


@compiled(interpret_below=SMALL, interpret_in_all=4 * IN_ALL)
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


@compiled(interpret_below=SMALL)
def fitted(codes: Array, coefficients: Array) -> Array:
    """The sum of each rating's coefficients."""
    out = np.zeros(codes.shape[0])
    for i in range(codes.shape[0]):
        for k in range(codes.shape[1]):
            out[i] += coefficients[codes[i, k]]
    return out


@compiled(interpret_below=SMALL)
def spread(starts: Array, per_group: Array) -> Array:
    """A group's number for each of its ratings."""
    out = np.empty(starts[-1])
    for g in range(starts.size - 1):
        for i in range(starts[g], starts[g + 1]):
            out[i] = per_group[g]
    return out


@compiled
def system_product(starts: Array, codes: Array, factor: Array, root: Array, random: int, x: Array) -> Array:
    """The mixed-model system (after elimination of the groups) times each column of x."""
    m, columns = x.shape
    kinds = codes.shape[1]
    out = np.zeros((m, columns))
    sums = np.empty(columns)
    column_sums = np.empty(columns)
    for g in range(starts.size - 1):
        sums[:] = 0.0
        for i in range(starts[g], starts[g + 1]):
            for k in range(kinds):
                a = codes[i, k]
                for c in range(columns):
                    sums[c] += root[a] * x[a, c]
        for i in range(starts[g], starts[g + 1]):
            for c in range(columns):
                column_sums[c] = -factor[g] * sums[c]
            for k in range(kinds):
                a = codes[i, k]
                for c in range(columns):
                    column_sums[c] += root[a] * x[a, c]
            for k in range(kinds):
                a = codes[i, k]
                for c in range(columns):
                    out[a, c] += column_sums[c]
    for a in range(m):
        for c in range(columns):
            out[a, c] *= root[a]
            if a < random:
                out[a, c] += x[a, c]
    return out


@compiled
def level_forms(
    bounds: Array, levels: Array, weights: Array, scale: Array, root: Array, left_factor: Array, right: Array
) -> Array:
    """``left' R (sum_g scale[g] m_g m_g') R right`` for each column."""
    k = left_factor.shape[1]
    out = np.zeros(k)
    for g in range(bounds.size - 1):
        for c in range(k):
            a = 0.0
            b = 0.0
            for i in range(bounds[g], bounds[g + 1]):
                w = weights[i] * root[levels[i]]
                a += w * left_factor[levels[i], c]
                b += w * right[levels[i], c]
            out[c] += scale[g] * a * b
    return out


@compiled
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
        # Rows of L^-1 in order: each needs only those above it, and the inner loops run along memory.
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
