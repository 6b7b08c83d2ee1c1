"""Compiled loops over pixels, colour bins and hashes."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from heartfelt.stats.columns.triples import Ints
from heartfelt.stats.compiled.kernel import SMALL, compiled

Counts = npt.NDArray[np.int32]
Words = npt.NDArray[np.uint64]

_BLOCK = 4096
_BYTE, _G, _B = np.uint32(255), np.uint32(8), np.uint32(16)
_ONE, _FULL, _HALF = np.int32(1), np.float32(65_536), np.float32(0.5)

_M1, _M2, _M4 = np.uint64(0x5555555555555555), np.uint64(0x3333333333333333), np.uint64(0x0F0F0F0F0F0F0F0F)
_H01 = np.uint64(0x0101010101010101)
_BIN, _U15 = np.uint64(0x7FFF), np.uint64(15)
_U1, _U2, _U4, _U56 = np.uint64(1), np.uint64(2), np.uint64(4), np.uint64(56)


@compiled
def add_pixels(
    pixels: npt.NDArray[np.uint32], packed: Words, lightness: npt.NDArray[np.uint16], sums: Ints, bins: Counts
) -> None:
    """Add pixels (R in the lowest byte, then G and B) to the running sums of an image, all in whole numbers.

    ``packed[channel, value]``, added over the channels, has the colour bin in its lower 15 bits and above them the luminance,
    an index into ``lightness``. ``sums``: L* (65,535 for 100), its square, HSV saturation (65,536 for 1), R - G, its square,
    R + G - 2B, its square. ``bins``: pixels in each colour bin.
    """
    for start in range(0, pixels.size, _BLOCK):
        stop = min(start + _BLOCK, pixels.size)
        light, light2 = np.int64(0), np.int64(0)
        for i in range(start, stop):
            p = pixels[i]
            code = packed[0, p & _BYTE] + packed[1, (p >> _G) & _BYTE] + packed[2, (p >> _B) & _BYTE]
            bins[code & _BIN] += 1
            level = np.int64(lightness[code >> _U15])
            light += level
            light2 += level * level
        sums[0] += light
        sums[1] += light2
        # 32-bit sums of a block cannot overflow, and the loop becomes vector instructions.
        saturation, rg1, rg2, yb1, yb2 = np.int32(0), np.int32(0), np.int32(0), np.int32(0), np.int32(0)
        for i in range(start, stop):
            p = pixels[i]
            r, g, b = np.int32(p & _BYTE), np.int32((p >> _G) & _BYTE), np.int32((p >> _B) & _BYTE)
            rg, yb = np.int32(r - g), np.int32(r + g - 2 * b)
            rg1, rg2 = np.int32(rg1 + rg), np.int32(rg2 + rg * rg)
            yb1, yb2 = np.int32(yb1 + yb), np.int32(yb2 + yb * yb)
            most, least = max(r, max(g, b)), min(r, min(g, b))
            share = np.float32(most - least) / np.float32(max(most, _ONE))
            saturation = np.int32(saturation + np.int32(share * _FULL + _HALF))
        sums[2] += saturation
        sums[3] += rg1
        sums[4] += rg2
        sums[5] += yb1
        sums[6] += yb2


@compiled
def main_colours(
    bins: Counts,
    lab: npt.NDArray[np.float32],
    warmth: npt.NDArray[np.float32],
    term_of: npt.NDArray[np.uint8],
    terms: int,
) -> Any:
    """The sum of warmth over the pixels, and by term the sums of L*, a* and b* over its pixels and their number."""
    by_term = np.zeros((terms, 4))
    warm = 0.0
    for i in range(bins.size):
        weight = bins[i]
        if weight > 0:
            warm += weight * warmth[i]
            term = term_of[i]
            for d in range(3):
                by_term[term, d] += weight * lab[i, d]
            by_term[term, 3] += weight
    return warm, by_term


@compiled
def bits_set(word: Any) -> Any:
    """How many bits of a 64-bit word are set."""
    word = word - ((word >> _U1) & _M1)
    word = (word & _M2) + ((word >> _U2) & _M2)
    word = (word + (word >> _U4)) & _M4
    return (word * _H01) >> _U56


@compiled
def _root(parent: Ints, at: int) -> int:
    while parent[at] != at:
        parent[at] = parent[parent[at]]
        at = parent[at]
    return at


@compiled
def _join(hashes: Words, order: Ints, first: int, start: int, stop: int, most: int, parent: Ints) -> None:
    """Connect the hash at place ``first`` with those from ``start`` to ``stop`` that are close to it."""
    for position in range(start, stop):
        differing = np.uint64(0)
        for word in range(hashes.shape[1]):
            differing += bits_set(hashes[first, word] ^ hashes[position, word])
            if differing > most:
                break
        if differing <= most:
            a, b = _root(parent, order[first]), _root(parent, order[position])
            parent[max(a, b)] = min(a, b)


@compiled(interpret_below=SMALL)
def join_close(hashes: Words, keys: Ints, widths: Ints, most: int) -> Ints:
    """The lowest index each hash is connected to by steps of at most ``most`` differing bits.

    ``keys[band, hash]`` are the bits of a band, ``widths`` their number. Only hashes whose keys differ in at most one bit in
    at least one band are compared, which misses no pair while ``most < 2 * bands``.
    """
    parent = np.arange(hashes.shape[0])
    for band in range(keys.shape[0]):
        order = np.argsort(keys[band], kind="mergesort")
        ordered = hashes[order]
        starts = np.zeros((1 << widths[band]) + 1, np.int64)
        for i in range(order.size):
            starts[keys[band, i] + 1] += 1
        starts = np.cumsum(starts)
        for key in range(starts.size - 1):
            for i in range(starts[key], starts[key + 1]):
                _join(ordered, order, i, i + 1, starts[key + 1], most, parent)
                for flip in range(widths[band]):
                    neighbour = key | (1 << flip)
                    if neighbour != key:
                        _join(ordered, order, i, starts[neighbour], starts[neighbour + 1], most, parent)
    for i in range(parent.size):
        parent[i] = _root(parent, i)
    return parent
