"""Compiled loops over answers that are sets: only sets that share a member are ever compared.

Set ``s`` has the sorted member codes ``members[start[s]:start[s + 1]]``. Likeness is 1 for equal sets (two empty ones too)
and 0 for sets without a common member; distance is 1 less likeness.
"""

# mypy: allow-untyped-defs
# numba infers the types of compiled functions from their arguments.
from __future__ import annotations

from typing import Any

import numpy as np

from heartfelt.stats.compiled import kernel as _compiled

compiled: Any = _compiled.compiled
SMALL = _compiled.SMALL


@compiled
def _likeness(a, b, shared, masi):
    """Jaccard's index of two sets with ``a`` and ``b`` members; for MASI times 1, 2/3 or 1/3."""
    if a + b == 0:
        return 1.0
    index = shared / (a + b - shared)
    if not masi or shared == 0 or (shared == a and shared == b):
        return index
    return index * (2.0 / 3.0 if shared in (a, b) else 1.0 / 3.0)


@compiled
def _shared(first, second):
    i, j, count = 0, 0, 0
    while i < first.size and j < second.size:
        if first[i] == second[j]:
            count += 1
            i += 1
            j += 1
        elif first[i] < second[j]:
            i += 1
        else:
            j += 1
    return count


@compiled(interpret_below=SMALL)
def add_inside(item_start, code, start, members, masi, inside):
    """Distance of every rating to the other ratings of its item."""
    for i in range(item_start.size - 1):
        for k in range(item_start[i], item_start[i + 1]):
            a = members[start[code[k]] : start[code[k] + 1]]
            for q in range(k + 1, item_start[i + 1]):
                if code[q] == code[k]:
                    continue
                b = members[start[code[q]] : start[code[q] + 1]]
                distance = 1.0 - _likeness(a.size, b.size, _shared(a, b), masi)
                inside[k] += distance
                inside[q] += distance


@compiled(interpret_below=SMALL)
def likeness_sums(queries, references, weights, start, members, width, masi):
    """For each query set, the weighted sum of its likeness to the reference sets (each named once).

    ``width`` is the number of distinct members. A member leads to the references that hold it, so the cost is that of the
    pairs with a common member.
    """
    ends = np.zeros(width + 1, np.int64)
    empty = 0.0
    for at in range(references.size):
        s = references[at]
        if start[s] == start[s + 1]:
            empty += weights[at]
        for k in range(start[s], start[s + 1]):
            ends[members[k] + 1] += 1
    for t in range(width):
        ends[t + 1] += ends[t]
    holders, fill = np.empty(ends[width], np.int32), ends[:width].copy()
    for at in range(references.size):
        for k in range(start[references[at]], start[references[at] + 1]):
            holders[fill[members[k]]] = at
            fill[members[k]] += 1
    out, shared, met = (
        np.zeros(queries.size),
        np.zeros(references.size, np.int32),
        np.empty(references.size, np.int32),
    )
    for q in range(queries.size):
        first, last = start[queries[q]], start[queries[q] + 1]
        if first == last:
            out[q] = empty
            continue
        count, total = 0, 0.0
        for k in range(first, last):
            for position in range(ends[members[k]], ends[members[k] + 1]):
                at = holders[position]
                if shared[at] == 0:
                    met[count] = at
                    count += 1
                shared[at] += 1
        for m in range(count):
            at = met[m]
            size = start[references[at] + 1] - start[references[at]]
            total += weights[at] * _likeness(last - first, size, shared[at], masi)
            shared[at] = 0
        out[q] = total
    return out
