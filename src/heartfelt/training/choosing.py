"""Choosing a head on inner folds only: what is tested later has no part in it.

Every kind and setting is tried on the same inner folds: five by group (or by stimulus, where no group is known), and, where
there are three systems or more, each system left out in turn. The errors of both are added, so that a head is chosen that
does well on known and on unknown systems. What counts is the error that a straight line through the left-out predictions
leaves: a stronger penalty pulls predictions together, which a line undoes. The chosen head answers along that line.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from heartfelt.predictors.trained.model import Head
from heartfelt.streams import stream
from heartfelt.training.fitting import SETTINGS, Floats, Ints, Rows, Setting, View, fit, predictions

INNER_FOLDS = 5


@dataclass(frozen=True, slots=True, eq=False)
class Chosen:
    """The head, how it was chosen, and what was predicted of each row while it was left out of the inner folds."""

    head: Head
    kind: str
    setting: Setting
    tried: dict[str, float]
    """The best inner error of each kind: root mean squared, weighted."""
    left_out: Floats
    """By system where there are systems, else by stimulus; along the line, as the head answers."""
    plan: Ints
    """The inner fold of each row in which it was left out."""


def folds(groups: Ints, count: int, seed: int, *name: str) -> Ints:
    """A fold for each row, as even as can be with the rows of one group in one fold."""
    size = groups.size
    order = stream(seed, "train", "folds", *name).permutation(size)
    sizes = dict(zip(*(part.tolist() for part in np.unique(groups, return_counts=True)), strict=True))
    filled = np.zeros(min(count, len(sizes)), np.int64)
    fold_of: dict[int, int] = {}
    for at in order:
        group = int(groups[at])
        if group not in fold_of:
            fold_of[group] = int(np.argmin(filled))
            filled[fold_of[group]] += sizes[group]
    return np.array([fold_of[int(group)] for group in groups], np.int64)


def choose(rows: Rows, systems: Ints | None, kinds: Sequence[str], groups: Ints | None = None) -> Chosen:
    """The best kind and setting on inner folds, fitted to all rows. ``groups`` stay in one fold each; rows alone if left out."""
    alone = np.arange(rows.y.size)
    plans = [folds(alone if groups is None else groups, INNER_FOLDS, rows.seed, "inner")]
    if systems is not None and np.unique(systems).size >= 3:
        plans.append(systems)
    view = View(rows)
    said = [_left_out(kinds, view, plan) for plan in plans]
    best: tuple[float, str, Setting] | None = None
    tried: dict[str, float] = {}
    for kind, setting in said[0]:
        error = float(np.mean([_error(rows, part[kind, setting]) for part in said]))
        tried[kind] = min(tried.get(kind, np.inf), error)
        if best is None or error < best[0] - 1e-12:
            best = (error, kind, setting)
    assert best is not None
    _, kind, setting = best
    offset, slope = _line(
        np.tile(rows.y, len(said)),
        np.concatenate([part[kind, setting] for part in said]),
        np.tile(rows.weight, len(said)),
    )
    rooted = {name: float(np.sqrt(error)) for name, error in tried.items()}
    head = fit(kind, view, setting).along(offset, slope)
    return Chosen(head, kind, setting, rooted, offset + slope * said[-1][kind, setting], plans[-1])


def _left_out(kinds: Sequence[str], view: View, plan: npt.NDArray[Any]) -> dict[tuple[str, Setting], Floats]:
    said = {(kind, setting): np.empty(plan.size) for kind in kinds for setting in SETTINGS[kind]}
    for fold in np.unique(plan):
        inside, out = np.flatnonzero(plan != fold), np.flatnonzero(plan == fold)
        for kind in kinds:
            for setting, value in predictions(kind, view, inside, out).items():
                said[kind, setting][out] = value
    return said


def _error(rows: Rows, said: Floats) -> float:
    """The mean square that a line leaves."""
    offset, slope = _line(rows.y, said, rows.weight)
    return float(rows.weight @ (offset + slope * said - rows.y) ** 2 / rows.weight.sum())


def _line(y: Floats, said: Floats, weight: Floats) -> tuple[float, float]:
    """Offset and slope of the labels on what was said; a head that says nothing of them, or the opposite, is left as it is."""
    share = weight / weight.sum()
    apart = said - share @ said
    spread = float(share @ apart**2)
    slope = float(share @ (apart * y)) / spread if spread > 1e-12 else 0.0
    if slope <= 0.0:
        return 0.0, 1.0
    return float(share @ y - slope * (share @ said)), slope
