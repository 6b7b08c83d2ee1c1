"""The evidence of ``_kernels_change`` by NumPy, many shuffles at a time: for panels too small to be worth compiling for."""

from __future__ import annotations

import numpy as np

from heartfelt.stats.columns.triples import Floats, Ints
from heartfelt.stats.compiled.shuffles import numbers_below, successive_shuffles

FIRST_DRAWS = 50
"""Shuffles examined before the first look; each further look examines twice as many."""


def evidence_by_place(units: Floats, at: Ints, floor: Floats, least: float) -> Floats:
    """Per session (sessions x units x channels x 6 sums): (2 x splits) likelihood ratios as in the compiled loops."""
    before = np.cumsum(units, axis=1)[:, at - 1]
    after = units.sum(axis=1)[:, None] - before
    n1, n2 = before[..., 0], after[..., 0]
    enough = (n1 >= least) & (n2 >= least)
    n1, n2 = np.where(enough, n1, 3.0), np.where(enough, n2, 3.0)
    (yy1, xx1, xy1), (yy2, xx2, xy2) = _squares(n1, before), _squares(n2, after)
    both = _log_likelihood(_rest(yy1 + yy2, xx1 + xx2, xy1 + xy2), n1 + n2 - 3.0, floor)
    follows1, follows2 = (
        _log_likelihood(_rest(yy1, xx1, xy1), n1 - 2.0, floor),
        _log_likelihood(_rest(yy2, xx2, xy2), n2 - 2.0, floor),
    )
    none1, none2 = _log_likelihood(yy1, n1 - 1.0, floor), _log_likelihood(yy2, n2 - 1.0, floor)
    ratios = np.stack([both - follows1 - none2, both - none1 - follows2], axis=1)
    summed: Floats = np.where(enough[:, None], ratios, 0.0).sum(axis=-1)
    return summed


def _squares(n: Floats, sums: Floats) -> tuple[Floats, Floats, Floats]:
    """Centred sums of squares and products yy, xx, xy."""
    _, y, x, yy, xx, xy = np.moveaxis(sums, -1, 0)
    return np.maximum(yy - y * y / n, 0.0), np.maximum(xx - x * x / n, 0.0), xy - x * y / n


def _rest(yy: Floats, xx: Floats, xy: Floats) -> Floats:
    """What a positive slope leaves of the sum of squares."""
    slope = (xx > 1e-12) & (xy > 0)
    return np.where(slope, np.maximum(yy - xy * xy / np.where(slope, xx, 1.0), 0.0), yy)


def _log_likelihood(residual: Floats, free: Floats, floor: Floats) -> Floats:
    return np.log(residual / free + floor) * free


def _overall(ratios: Floats) -> Floats:
    """The log of the mean likelihood ratio over places and directions, up to a constant."""
    top = ratios.max(axis=(1, 2))
    overall: Floats = 0.5 * top + np.log(np.exp(0.5 * (ratios - top[:, None, None])).sum(axis=(1, 2)))
    return overall


def change_chance(units: Floats, at: Ints, floor: Floats, least: float, enough: int, draws: int, seed: int) -> float:
    """The p-value of a change when units are shuffled in time: sequential, stopping after ``enough`` shuffles as extreme."""
    observed = _overall(evidence_by_place(units[None], at, floor, least))[0]
    ends = np.arange(len(units) - 1, 0, -1)
    numbers = numbers_below(seed, draws, ends + 1)
    order = np.arange(len(units))
    as_large, start, size = 0, 0, FIRST_DRAWS
    while start < draws:
        orders = order[successive_shuffles(len(units), ends, numbers[start : start + size])]
        extreme = _overall(evidence_by_place(units[orders], at, floor, least)) >= observed - 1e-9
        if as_large + int(extreme.sum()) >= enough:
            return enough / (start + int(np.flatnonzero(extreme)[enough - as_large - 1]) + 1.0)
        as_large += int(extreme.sum())
        start, size, order = start + size, 2 * size, orders[-1]
    return (as_large + 1.0) / (draws + 1.0)
