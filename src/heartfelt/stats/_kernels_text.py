"""Compiled loops over numbered words."""

from __future__ import annotations

import numpy as np

from heartfelt.stats._kernels_resample import compiled
from heartfelt.stats.triples import Floats, Ints


@compiled
def common_lengths(own: Ints, own_starts: Ints, other: Ints, other_starts: Ints, item: Ints) -> Ints:
    """The longest common subsequence of each reference with its item's candidate."""
    out = np.zeros(item.size, np.int64)
    for r in range(item.size):
        a0, a1 = own_starts[item[r]], own_starts[item[r] + 1]
        b0, b1 = other_starts[r], other_starts[r + 1]
        row = np.zeros(b1 - b0 + 1, np.int64)
        for i in range(a0, a1):
            before = 0
            for j in range(b0, b1):
                k = j - b0 + 1
                held = row[k]
                if own[i] == other[j]:
                    row[k] = before + 1
                elif row[k - 1] > row[k]:
                    row[k] = row[k - 1]
                before = held
        out[r] = row[b1 - b0]
    return out


@compiled
def factors(tokens: Ints, starts: Ints, kinds: int, threshold: float, backward: bool) -> Floats:
    """MTLD's factors of each text read in one direction, the last one in part."""
    out = np.zeros(starts.size - 1)
    seen = np.full(kinds + 1, -1, np.int64)
    stamp = 0
    for text in range(starts.size - 1):
        first, last = starts[text], starts[text + 1]
        stamp += 1
        types, length, result = 0, 0, 0.0
        share = 1.0
        for step in range(last - first):
            token = tokens[last - 1 - step] if backward else tokens[first + step]
            length += 1
            if seen[token] != stamp:
                seen[token] = stamp
                types += 1
            share = types / length
            if share <= threshold:
                result += 1.0
                stamp += 1
                types, length, share = 0, 0, 1.0
        if length > 0:
            result += (1.0 - share) / (1.0 - threshold)
        out[text] = result
    return out
