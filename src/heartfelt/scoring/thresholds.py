"""The threshold that cuts scores into yes and no, chosen on other stimuli than those it is used on.

Stimuli are dealt into folds by a named stream; for each fold the threshold with the best balanced accuracy on the others is
taken (the middle of the best stretch), and applied to the fold. So no item has a part in its own threshold.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from heartfelt.scoring.sheet import Flags, Floats
from heartfelt.streams import stream

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class HeldOut:
    """What each row's fold says (1, 0, NaN where there is no score), and the threshold of each fold."""

    said: Floats
    thresholds: tuple[float, ...]
    why_none: str | None = None


def held_out(label: Floats, score: Floats, unit: Ints, folds: int, seed: int) -> HeldOut:
    """Cut scores at thresholds chosen on other folds; ``unit`` keeps rows of one stimulus together."""
    known = np.isfinite(score)
    nothing = np.full(score.size, np.nan)
    names = np.unique(unit[known])
    if names.size < 2 * folds:
        return HeldOut(nothing, (), f"{names.size} stimuli are too few for {folds} folds")
    fold_of = np.full(int(unit.max()) + 1, -1, np.int64)
    fold_of[stream(seed, "threshold", "folds").permutation(names)] = np.arange(names.size) % folds
    fold = fold_of[unit]
    said, found = nothing.copy(), []
    for k in range(folds):
        rest: Flags = known & (fold != k)
        cut = best_threshold(label[rest], score[rest])
        if cut is None:
            return HeldOut(nothing, (), "the other folds hold labels of one side only")
        mine = known & (fold == k)
        said[mine] = score[mine] > cut
        found.append(cut)
    return HeldOut(said, tuple(found))


def best_threshold(label: Floats, score: Floats) -> float | None:
    """The threshold with the best balanced accuracy: the middle of the longest best stretch of scores.

    Between two scores it is their middle; below or above all of them half the range away. None without both sides.
    """
    positive = label > 0.5
    total_yes, total_no = int(positive.sum()), int((~positive).sum())
    if not total_yes or not total_no:
        return None
    values, place = np.unique(score, return_inverse=True)
    yes = np.bincount(place, weights=positive, minlength=values.size)
    no = np.bincount(place, weights=~positive, minlength=values.size)
    # Position k lies below values[k]; what is at or above it is called yes.
    hits = (total_yes - np.append(0, np.cumsum(yes))) / total_yes
    passes = np.append(0, np.cumsum(no)) / total_no
    balanced = (hits + passes) / 2
    half = max(float(values[-1] - values[0]) / 2, 0.5)
    edges = np.concatenate([[values[0] - half], values, [values[-1] + half]])
    best = np.flatnonzero(balanced >= balanced.max() - 1e-12)
    at = int(best[np.argmax(edges[best + 1] - edges[best])])
    return float((edges[at] + edges[at + 1]) / 2)
