"""Compiled twins of the hashing in ``fingerprint``, for tables of millions of rows; a test holds them equal."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import njit

U64 = npt.NDArray[np.uint64]

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_30, _27, _31 = np.uint64(30), np.uint64(27), np.uint64(31)
_8, _1, _2, _32, _64 = np.uint64(8), np.uint64(1), np.uint64(2), np.uint64(32), np.uint64(64)
_LOW = np.uint64(0xFFFFFFFF)


@njit(cache=True, nogil=True, inline="always")
def _mixed(bits: np.uint64) -> np.uint64:  # pragma: no cover - compiled
    bits ^= bits >> _30
    bits *= _MIX_1
    bits ^= bits >> _27
    bits *= _MIX_2
    bits ^= bits >> _31
    return bits


@njit(cache=True, nogil=True)
def text_bits(
    offsets: npt.NDArray[np.int64], data: npt.NDArray[np.uint8]
) -> U64:  # pragma: no cover - compiled
    """64 bits for every text, as ``fingerprint.text_bits`` gives them."""
    out = np.empty(offsets.size - 1, dtype=np.uint64)
    for row in range(out.size):
        begin, end = offsets[row], offsets[row + 1]
        total = np.uint64(end - begin)
        place, word, shift = _1, np.uint64(0), np.uint64(0)
        for at in range(begin, end):
            word |= np.uint64(data[at]) << shift
            shift += _8
            if shift == _64 or at == end - 1:
                total += _mixed(word + place * _GOLDEN)
                place, word, shift = place + _1, np.uint64(0), np.uint64(0)
        out[row] = _mixed(total)
    return out


@njit(cache=True, nogil=True)
def short_text_bits(views: npt.NDArray[np.uint64]) -> U64:  # pragma: no cover - compiled
    """The same for texts of at most twelve bytes, which Arrow's string views hold themselves.

    A view is sixteen bytes: the length in four, then the text, filled up with zeros.
    """
    out = np.empty(views.shape[0], dtype=np.uint64)
    for row in range(out.size):
        length = views[row, 0] & _LOW
        total = length
        if length > 0:
            total += _mixed(((views[row, 0] >> _32) | (views[row, 1] << _32)) + _GOLDEN)
        if length > _8:
            total += _mixed((views[row, 1] >> _32) + _2 * _GOLDEN)
        out[row] = _mixed(total)
    return out


@njit(cache=True, nogil=True)
def add_cells(
    total: U64, bits: U64, salt: np.uint64, empty: npt.NDArray[np.bool_]
) -> None:  # pragma: no cover - compiled
    """Add the cells of one column to the rows' totals; an empty cell adds nothing. No ``empty`` at all: none is."""
    for row in range(total.size):
        if empty.size == 0 or not empty[row]:
            total[row] += _mixed(bits[row] ^ salt)


@njit(cache=True, nogil=True)
def finish_rows(total: U64) -> None:  # pragma: no cover - compiled
    """Mix the totals in place."""
    for row in range(total.size):
        total[row] = _mixed(total[row])


@njit(cache=True, nogil=True)
def meet(
    table: U64, bits: U64, empty: npt.NDArray[np.bool_], new: npt.NDArray[np.bool_]
) -> int:  # pragma: no cover - compiled
    """Put bits into an open-addressed table (0 is a free place); mark and count those that were not there."""
    mask = table.size - 1
    count = 0
    for row in range(bits.size):
        if (row > 0 and bits[row] == bits[row - 1] and not empty.size) or (empty.size and empty[row]):
            continue
        key = bits[row] | _1
        place = (bits[row] >> _8) & np.uint64(mask)
        while table[place] != 0 and table[place] != key:
            place = (place + _1) & np.uint64(mask)
        if table[place] == 0:
            table[place] = key
            new[row] = True
            count += 1
    return count


@njit(cache=True, nogil=True)
def rehash(old: U64, table: U64) -> None:  # pragma: no cover - compiled
    """Move every entry of a full table into a larger one."""
    mask = np.uint64(table.size - 1)
    for at in range(old.size):
        if old[at] != 0:
            place = (old[at] >> _8) & mask
            while table[place] != 0:
                place = (place + _1) & mask
            table[place] = old[at]


@njit(cache=True, nogil=True)
def few_codes(
    bits: U64, codes: npt.NDArray[np.int64], first: npt.NDArray[np.int64]
) -> int:  # pragma: no cover - compiled
    """Number equal bits alike, noting where each was first met; -1 where there are more kinds than ``first`` holds."""
    count = 0
    for row in range(bits.size):
        if row > 0 and bits[row] == bits[row - 1]:
            codes[row] = codes[row - 1]
            continue
        code = 0
        while code < count and bits[first[code]] != bits[row]:
            code += 1
        if code == count:
            if count == first.size:
                return -1
            first[count] = row
            count += 1
        codes[row] = code
    return count


@njit(cache=True, nogil=True)
def tally(
    codes: npt.NDArray[np.int64],
    value: npt.NDArray[np.float64],
    count: npt.NDArray[np.int64],
    facts: npt.NDArray[np.float64],
) -> None:  # pragma: no cover - compiled
    """Count the rows of each code; lowest, highest and whether all are whole go into ``facts``; NaN is no value."""
    for row in range(codes.size):
        code = codes[row]
        count[code] += 1
        one = value[row]
        if np.isnan(one):
            continue
        facts[code, 0] = min(facts[code, 0], one)
        facts[code, 1] = max(facts[code, 1], one)
        if one != np.floor(one):
            facts[code, 2] = 0.0
