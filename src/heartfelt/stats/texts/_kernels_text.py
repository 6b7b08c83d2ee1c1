"""Compiled loops over numbered words."""

from __future__ import annotations

from typing import Any

import numpy as np

from heartfelt.stats.columns.triples import Floats, Ints
from heartfelt.stats.compiled._kernels_resample import mix
from heartfelt.stats.compiled.kernel import compiled

_SHIFT = np.uint64(20)


@compiled
def common_lengths(
    candidate_tokens: Ints, own_starts: Ints, reference_tokens: Ints, other_starts: Ints, item: Ints
) -> Ints:
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
                above = row[k]
                if candidate_tokens[i] == reference_tokens[j]:
                    row[k] = before + 1
                elif row[k - 1] > row[k]:
                    row[k] = row[k - 1]
                before = above
        out[r] = row[b1 - b0]
    return out


@compiled
def factors(tokens: Ints, starts: Ints, kinds: int, threshold: float, backward: bool) -> Floats:
    """MTLD's factors of each text read in one direction, the last one in part."""
    out = np.zeros(starts.size - 1)
    last_stamp = np.full(kinds + 1, -1, np.int64)
    stamp = 0
    for text in range(starts.size - 1):
        first, last = starts[text], starts[text + 1]
        stamp += 1
        types, length, result = 0, 0, 0.0
        share = 1.0
        for step in range(last - first):
            token = tokens[last - 1 - step] if backward else tokens[first + step]
            length += 1
            if last_stamp[token] != stamp:
                last_stamp[token] = stamp
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


@compiled
def _slot(keys: Ints, key: Any, mask: Any) -> Any:
    """Where a key stands in a hash table with open addressing, or the free place (-1) where it belongs."""
    slot = np.int64(mix(np.uint64(key)) >> _SHIFT) & mask
    while keys[slot] >= 0 and keys[slot] != key:
        slot = (slot + 1) & mask
    return slot


@compiled
def number_pairs(first: Ints, right: Ints, kinds: int) -> Any:
    """A number for every different pair, in the order they first come, and how many there are; ``right`` is below ``kinds``."""
    size = 16
    while size < 2 * first.size:
        size *= 2
    keys = np.full(size, -1, np.int64)
    numbers = np.empty(size, np.int64)
    out = np.empty(first.size, np.int64)
    key_count, mask = 0, np.int64(size - 1)
    for i in range(first.size):
        key = first[i] * kinds + right[i]
        slot = _slot(keys, key, mask)
        if keys[slot] < 0:
            keys[slot], numbers[slot] = key, key_count
            key_count += 1
        out[i] = numbers[slot]
    return out, key_count


@compiled
def count_by_text(codes: Ints, starts: Ints, kinds: int) -> Any:
    """The different codes of each text, how often each occurs there, and where the codes of each text start."""
    gram, times = np.empty(codes.size, np.int64), np.empty(codes.size, np.int64)
    out_starts = np.zeros(starts.size, np.int64)
    slot = np.full(max(kinds, 1), -1, np.int64)
    filled = 0
    for text in range(starts.size - 1):
        first = filled
        for i in range(starts[text], starts[text + 1]):
            position = slot[codes[i]]
            if position >= first:
                times[position] += 1
            else:
                slot[codes[i]] = filled
                gram[filled], times[filled] = codes[i], 1
                filled += 1
        out_starts[text + 1] = filled
    return gram[:filled].copy(), times[:filled].copy(), out_starts


@compiled
def clipped_matches(
    candidate_tokens: Ints,
    own_starts: Ints,
    reference_tokens: Ints,
    other_starts: Ints,
    items: Ints,
    kinds: int,
    orders: int,
) -> Ints:
    """Matches of each candidate by order, each n-gram at most as often as in the reference that has it most.

    The references of item ``i`` are those from ``items[i]`` to ``items[i + 1]``. An n-gram is numbered among those of its
    candidate, from the number of its first n - 1 words and its last word; -1 for one that the candidate does not have.
    """
    out = np.zeros((items.size - 1, orders), np.int64)
    longest, widest = 1, 1
    for item in range(items.size - 1):
        longest = max(longest, own_starts[item + 1] - own_starts[item])
        widest = max(widest, other_starts[items[item + 1]] - other_starts[items[item]])
    size = 4
    while size < 2 * longest:
        size *= 2
    keys, numbers = np.empty(size, np.int64), np.empty(size, np.int64)
    times, most, now, stamp = np.empty((4, longest), np.int64)
    gram_numbers, theirs = np.empty(longest, np.int64), np.empty(widest, np.int64)
    for item in range(items.size - 1):
        a0, a1 = own_starts[item], own_starts[item + 1]
        b0 = other_starts[items[item]]
        space = 4
        while space < 2 * (a1 - a0):
            space *= 2
        mask = np.int64(space - 1)
        for order in range(1, orders + 1):
            keys[:space] = -1
            gram_count = 0
            for k in range(a1 - a0 - order + 1):
                key = candidate_tokens[a0 + k + order - 1] + (gram_numbers[k] * kinds if order > 1 else 0)
                slot = _slot(keys, key, mask)
                if keys[slot] < 0:
                    keys[slot], numbers[slot] = key, gram_count
                    times[gram_count], most[gram_count], stamp[gram_count] = 0, 0, -1
                    gram_count += 1
                gram_numbers[k] = numbers[slot]
                times[gram_numbers[k]] += 1
            for reference in range(items[item], items[item + 1]):
                c0, c1 = other_starts[reference], other_starts[reference + 1]
                for k in range(c0, c1 - order + 1):
                    before = theirs[k - b0] if order > 1 else 0
                    if before < 0:
                        continue
                    key = reference_tokens[k + order - 1] + before * kinds
                    slot = _slot(keys, key, mask)
                    if keys[slot] < 0:
                        theirs[k - b0] = -1
                        continue
                    gram = numbers[slot]
                    theirs[k - b0] = gram
                    if stamp[gram] != reference:
                        stamp[gram], now[gram] = reference, 0
                    now[gram] += 1
                    most[gram] = max(most[gram], now[gram])
            for gram in range(gram_count):
                out[item, order - 1] += min(times[gram], most[gram])
    return out


@compiled
def weighted_cosines(
    candidate_grams: Ints, own_times: Ints, own_starts: Ints, reference_grams: Ints, other_times: Ints, other_starts: Ints,
    items: Ints, kinds: int,
) -> Floats:  # fmt: skip
    """The clipped cosine of each reference with its item's candidate, n-grams weighted by how few items have them."""
    count = items.size - 1
    rarity, last_item = np.zeros(max(kinds, 1)), np.full(max(kinds, 1), -1, np.int64)
    for item in range(count):
        for k in range(other_starts[items[item]], other_starts[items[item + 1]]):
            if last_item[reference_grams[k]] != item:
                last_item[reference_grams[k]] = item
                rarity[reference_grams[k]] += 1.0
    for gram in range(kinds):
        rarity[gram] = np.log(float(count)) - np.log(max(rarity[gram], 1.0))
    out = np.zeros(other_starts.size - 1)
    weight = np.zeros(max(kinds, 1))
    last_item[:] = -1
    for item in range(count):
        own_square = 0.0
        for k in range(own_starts[item], own_starts[item + 1]):
            gram = candidate_grams[k]
            last_item[gram], weight[gram] = item, own_times[k] * rarity[gram]
            own_square += weight[gram] ** 2
        for reference in range(items[item], items[item + 1]):
            square, dot = 0.0, 0.0
            for k in range(other_starts[reference], other_starts[reference + 1]):
                gram = reference_grams[k]
                value = other_times[k] * rarity[gram]
                square += value * value
                if last_item[gram] == item:
                    dot += min(weight[gram], value) * value
            if own_square > 0 and square > 0:
                out[reference] = dot / (np.sqrt(own_square) * np.sqrt(square))
    return out


@compiled
def window_ratios(tokens: Ints, kinds: int, window: int) -> float:
    """The mean share of different words over all windows of ``window`` words."""
    count = np.zeros(max(kinds, 1), np.int64)
    types, total = 0, 0
    for i in range(tokens.size):
        if count[tokens[i]] == 0:
            types += 1
        count[tokens[i]] += 1
        if i >= window:
            gone = tokens[i - window]
            count[gone] -= 1
            if count[gone] == 0:
                types -= 1
        if i >= window - 1:
            total += types
    return total / (float(window) * (tokens.size - window + 1))
