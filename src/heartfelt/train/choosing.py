"""Choosing a head on inner folds only: what is tested later has no part in it.

Every kind and setting is tried on the same inner folds: five by stimulus, and, where there are three systems or more, each
system left out in turn. The errors of both are added, so that a head is chosen that does well on known and on unknown
systems.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from heartfelt.predict.trained.head import Head
from heartfelt.streams import stream
from heartfelt.train.fitting import SETTINGS, Floats, Rows, Setting, fit_all

Ints: TypeAlias = npt.NDArray[np.int64]

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
    """By system where there are systems, else by stimulus."""


def folds(size: int, count: int, seed: int, *name: str) -> Ints:
    """A fold for each of ``size`` rows, as even as can be."""
    order = stream(seed, "train", "folds", *name).permutation(size)
    out = np.empty(size, np.int64)
    out[order] = np.arange(size) % count
    return out


def choose(rows: Rows, systems: Ints | None, kinds: Sequence[str]) -> Chosen:
    """The best kind and setting on inner folds, fitted to all rows."""
    plans = [folds(rows.y.size, INNER_FOLDS, rows.seed, "inner")]
    if systems is not None and np.unique(systems).size >= 3:
        plans.append(systems)
    best: tuple[float, str, Setting, Floats] | None = None
    tried: dict[str, float] = {}
    for kind in kinds:
        said = [_left_out(kind, rows, plan) for plan in plans]
        for setting in SETTINGS[kind]:
            error = float(np.mean([_error(rows, part[setting]) for part in said]))
            tried[kind] = min(tried.get(kind, np.inf), error)
            if best is None or error < best[0] - 1e-12:
                best = (error, kind, setting, said[-1][setting])
    assert best is not None
    _, kind, setting, left_out = best
    head = fit_all(kind, rows, [setting])[setting]
    return Chosen(head, kind, setting, {name: float(np.sqrt(e)) for name, e in tried.items()}, left_out)


def _left_out(kind: str, rows: Rows, plan: npt.NDArray[Any]) -> dict[Setting, Floats]:
    said = {setting: np.empty(rows.y.size) for setting in SETTINGS[kind]}
    for fold in np.unique(plan):
        out = plan == fold
        for setting, head in fit_all(kind, rows.take(~out)).items():
            said[setting][out] = head.answer(rows.x[out])
    return said


def _error(rows: Rows, said: Floats) -> float:
    return float(rows.weight @ (said - rows.y) ** 2 / rows.weight.sum())
