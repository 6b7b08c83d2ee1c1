"""Compiled loops of Krippendorff's alpha: grouping by item, duplicate detection, sums, deletions, resamples.

Ids arrive coded; ``start[i]:start[i + 1]`` are the ratings of item ``i``, and codes may have gaps (items of
width zero). Unsigned indices spare the check for negative ones in the innermost loops.
"""

# mypy: allow-untyped-defs
# numba infers the types of compiled functions from their arguments.
from __future__ import annotations

from typing import Any

import numpy as np

from heartfelt.stats.compiled import kernel as _compiled

compiled: Any = _compiled.compiled
SMALL = _compiled.SMALL

int64: Any = np.int64
uint64: Any = np.uint64
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


@compiled(interpret_below=SMALL)
def group(item, width, rater, value):
    """Order ratings by item, keeping their order within an item; ``rater`` may be empty."""
    start = np.zeros(width + 2, np.int64)
    for k in range(item.size):
        start[uint64(item[k]) + uint64(2)] += 1
    for i in range(2, width + 2):
        start[i] += start[i - 1]
    out_rater = np.empty(rater.size, np.int32)
    out_value = np.empty_like(value)
    with_raters = rater.size > 0
    for k in range(item.size):
        slot = uint64(item[k]) + uint64(1)
        to = uint64(start[slot])
        start[slot] += 1
        out_value[to] = value[k]
        if with_raters:
            out_rater[to] = rater[k]
    return start[: width + 1], out_rater, out_value


@compiled(interpret_below=SMALL)
def grouped_duplicate(start, rater, raters):
    """Item and rater of a pair that occurs twice, or (-1, -1)."""
    last = np.full(raters, -1, np.int64)
    for i in range(start.size - 1):
        for k in range(start[i], start[i + 1]):
            if last[rater[k]] == i:
                return i, int64(rater[k])
            last[rater[k]] = i
    return -1, -1


@compiled
def loose_duplicate(item, low, width, rater, has_rated, rater_low):
    """Position of a rating whose (rater, item) occurs twice, or -1; marks the raters seen.

    Each item keeps a 64-bit signature of its raters, two bits each. Both bits met before make a suspect; suspects are
    few and are then looked up exactly. Returns -2 where items have so many ratings that suspects stop being few.
    """
    n = item.size
    mask = np.zeros(width, np.uint64)
    suspects = np.empty(n // 8 + 16, np.int64)
    space = uint64(suspects.size)
    result = uint64(0)
    for k in range(n):
        i = uint64(item[k] - low)
        r = uint64(rater[k] - rater_low)
        has_rated[r] = 1
        h = r * _GOLDEN
        bits = (uint64(1) << (h >> uint64(58))) | (uint64(1) << ((h >> uint64(52)) & uint64(63)))
        m = mask[i]
        if m & bits == bits:
            if result == space:
                return -2
            suspects[result] = k
            result += uint64(1)
        mask[i] = m | bits
    return _earlier(item, low, width, rater, rater_low, suspects[:result], uint64(has_rated.size))


@compiled
def _earlier(item, low, width, rater, rater_low, suspects, people):
    """A rating with the same (rater, item) as a suspect, exactly."""
    if suspects.size == 0:
        return -1
    flagged = np.zeros(width, np.uint8)
    bits = 4
    while (1 << bits) < 4 * suspects.size:
        bits += 1
    slots = np.full(1 << bits, -1, np.int64)
    size, shift = uint64(1 << bits), uint64(64 - bits)
    for k in suspects:
        i = uint64(item[k] - low)
        flagged[i] = 1
        # Fibonacci hashing: the golden ratio spreads neighbouring keys, and its high bits are the mixed ones.
        key = int64(i * people + uint64(rater[k] - rater_low))
        at = (uint64(key) * _GOLDEN) >> shift
        while slots[at] >= 0 and slots[at] != key:
            at = (at + uint64(1)) & (size - uint64(1))
        if slots[at] == key:
            return k
        slots[at] = key
    # Gathering first, without a branch, spares a million guesses of which few ratings are on flagged items.
    near = np.empty(item.size + 1, np.int32)
    result = uint64(0)
    for k in range(item.size):
        near[result] = k
        result += uint64(flagged[uint64(item[k] - low)])
    at_suspect = 0
    for k in near[:result]:
        if at_suspect < suspects.size and suspects[at_suspect] == k:
            at_suspect += 1
            continue
        key = int64(uint64(item[k] - low) * people + uint64(rater[k] - rater_low))
        at = (uint64(key) * _GOLDEN) >> shift
        while slots[at] >= 0:
            if slots[at] == key:
                return int64(k)
            at = (at + uint64(1)) & (size - uint64(1))
    return -1


@compiled(interpret_below=SMALL)
def participants(start, rater, people, at_least):
    """Ratings per rater on items with ``at_least`` ratings."""
    count = np.zeros(people, np.int64)
    for i in range(start.size - 1):
        if start[i + 1] - start[i] >= at_least:
            for k in range(start[i], start[i + 1]):
                count[rater[k]] += 1
    return count


@compiled
def packed_moments(item, low, width, value, value_low):
    """Per-item count, sum and sum of squares of small integers in one 64-bit word each, then their totals.

    Holds for values below 256 and items below 4,096 ratings; ``ok`` is False when that or wholeness fails.
    """
    word = np.zeros(width, np.int64)
    for k in range(item.size):
        x = int64(value[k]) - value_low
        if x + value_low != value[k]:
            return False, 0, 0.0, 0.0, 0.0, 0, 0
        word[uint64(item[k] - low)] += (int64(1) << 48) + (x << 28) + x * x
    n, total, squares, within, items, single = 0, 0, 0, 0.0, 0, 0
    for w in word:
        m = w >> 48
        if m >= 4096:
            return False, 0, 0.0, 0.0, 0.0, 0, 0
        if m >= 2:
            s, q = (w >> 28) & 0xFFFFF, w & 0xFFFFFFF
            within += (m * q - s * s) / (m - 1)
            n += m
            total += s
            squares += q
            items += 1
        elif m == 1:
            single += 1
    # A count that ran over its 16 bits would go unseen in its own item, but not in the sum.
    return n + single == item.size, n, 2.0 * within, float(total), float(squares), items, single


@compiled
def moments(item, low, width, value, shift, table):
    """Per-item sums of ``value - shift``, or of ``table[value - shift]`` if there is a table, then totals."""
    acc = np.zeros(3 * width)
    scored = table.size > 0
    for k in range(item.size):
        x = float(value[k]) - shift
        if scored:
            x = table[uint64(x)]
        # NaN and infinities less themselves are NaN: one comparison finds both.
        if x - x != 0.0:
            return False, 0, 0.0, 0.0, 0.0, 0, 0
        b = uint64(3) * uint64(item[k] - low)
        acc[b] += 1.0
        acc[b + uint64(1)] += x
        acc[b + uint64(2)] += x * x
    n, total, squares, within, items, single = 0.0, 0.0, 0.0, 0.0, 0, 0
    for b in range(0, acc.size, 3):
        m = acc[b]
        if m >= 2.0:
            within += (m * acc[b + 2] - acc[b + 1] * acc[b + 1]) / (m - 1.0)
            n += m
            total += acc[b + 1]
            squares += acc[b + 2]
            items += 1
        elif m == 1.0:
            single += 1
    return True, round(n), 2.0 * within, total, squares, items, single


@compiled
def margins(item, low, width, value, value_low, values):
    """How often each small integer occurs among pairable ratings; False when a value is not whole."""
    state = np.zeros(2 * width, np.int32)
    count = np.zeros(values, np.int64)
    for k in range(item.size):
        x = int64(value[k]) - value_low
        if x + value_low != value[k]:
            return False, count
        count[uint64(x)] += 1
        b = uint64(2) * uint64(item[k] - low)
        state[b] += 1
        state[b + uint64(1)] = x
    for b in range(0, state.size, 2):
        if state[b] == 1:
            count[state[b + 1]] -= 1
    return True, count


@compiled
def vote_table(item, low, width, value, value_low, values):
    """Votes by item and small integer, in bytes; False when a value is not whole or a count leaves the byte."""
    table = np.zeros(width * values, np.uint8)
    step, base = uint64(values), int64(value_low)
    for k in range(item.size):
        x = int64(value[k]) - base
        at = uint64(item[k] - low) * step + uint64(x)
        table[at] += np.uint8(1)
        if x + base != value[k] or table[at] == 0:
            return False, table.reshape(width, values)
    return True, table.reshape(width, values)


@compiled
def table_margins(table):
    """How often each value occurs among pairable votes; pairable items and single votes."""
    count = np.zeros(table.shape[1], np.int64)
    items, single = 0, 0
    for row in table:
        m = 0
        for votes in row:
            m += votes
        if m >= 2:
            items += 1
            for c in range(row.size):
                count[c] += row[c]
        elif m == 1:
            single += 1
    return count, items, single


@compiled
def table_within(table, scores):
    """Disagreement within items, each over its votes less one: of scores, or of unequal votes without any."""
    within = 0.0
    nominal = scores.size == 0
    for row in table:
        m, same, s, q = 0, 0, 0.0, 0.0
        for c in range(row.size):
            votes = int64(row[c])
            m += votes
            same += votes * votes
            if not nominal:
                s += votes * scores[c]
                q += votes * scores[c] * scores[c]
        if m >= 2:
            within += (m * m - same if nominal else 2.0 * (m * q - s * s)) / (m - 1)
    return within


@compiled(interpret_below=SMALL)
def add_scores(start, rater, z, inside, across, rater_sums):
    """Add one axis of squared distances: to the item's other ratings, to all, and within each rater's set.

    A rater's set is what leaves when the rater does: their pairable ratings, and the partner's where an item
    is left with one. ``own`` has three columns of sums and a fourth for the result; it may have no rows.
    """
    n, mean = 0, 0.0
    for i in range(start.size - 1):
        if start[i + 1] - start[i] >= 2:
            for k in range(start[i], start[i + 1]):
                mean += z[k]
                n += 1
    mean = mean / n if n else 0.0
    total, squares = 0.0, 0.0
    for i in range(start.size - 1):
        m = start[i + 1] - start[i]
        if m < 2:
            continue
        s, q = 0.0, 0.0
        for k in range(start[i], start[i + 1]):
            x = z[k] - mean
            s += x
            q += x * x
        total += s
        squares += q
        for k in range(start[i], start[i + 1]):
            x = z[k] - mean
            inside[k] += max(m * x * x - 2.0 * x * s + q, 0.0)
            if rater_sums.shape[0]:
                row = rater_sums[rater[k]]
                row[0] += 2 if m == 2 else 1
                row[1] += s if m == 2 else x
                row[2] += q if m == 2 else x * x
    for i in range(start.size - 1):
        if start[i + 1] - start[i] >= 2:
            for k in range(start[i], start[i + 1]):
                x = z[k] - mean
                across[k] += max(n * x * x - 2.0 * x * total + squares, 0.0)
    for row in rater_sums:
        row[3] += max(2.0 * (row[0] * row[2] - row[1] * row[1]), 0.0)
        row[:3] = 0.0


@compiled(interpret_below=SMALL)
def add_categories(start, code, width, inside, across):
    """Nominal distances: unequal ratings of the same item, and unequal ratings among all."""
    count = np.zeros(width, np.int64)
    n = 0
    for i in range(start.size - 1):
        if start[i + 1] - start[i] >= 2:
            n += start[i + 1] - start[i]
            for k in range(start[i], start[i + 1]):
                count[code[k]] += 1
    votes_here = np.zeros(width, np.int64)
    for i in range(start.size - 1):
        m = start[i + 1] - start[i]
        if m < 2:
            continue
        for k in range(start[i], start[i + 1]):
            votes_here[code[k]] += 1
        for k in range(start[i], start[i + 1]):
            inside[k] = m - votes_here[code[k]]
            across[k] = n - count[code[k]]
        for k in range(start[i], start[i + 1]):
            votes_here[code[k]] = 0


@compiled(interpret_below=SMALL)
def votes_leaving(start, rater, code):
    """Rater and category of everything that leaves with a rater (see ``add_scores``)."""
    taken_rater, taken_code = np.empty(2 * code.size, np.int64), np.empty(2 * code.size, np.int64)
    n = 0
    for i in range(start.size - 1):
        m = start[i + 1] - start[i]
        if m < 2:
            continue
        for k in range(start[i], start[i + 1]):
            taken_rater[n], taken_code[n] = rater[k], code[k]
            n += 1
            if m == 2:
                taken_rater[n], taken_code[n] = rater[k], code[start[i] + start[i + 1] - 1 - k]
                n += 1
    return taken_rater[:n], taken_code[:n]
