"""Which stimuli are trained on, which decide when to stop, and which are scored: the parts never share a stimulus.

*Published*: the part ``train`` is trained on and every other part is scored; a part called dev or validation is used to stop
early if another part is left to score, and is scored otherwise. Without a published split, whole groups (a theme, a prompt; see
:mod:`heartfelt.scoring.grouping`) are left out to be scored, and further groups to stop early; or a system is left out.

Copies do not cross: a stimulus whose file is that of a scored one, or nearly so, is taken out of training and validation, with a
row of the ledger; so is one of the training part that is a copy of a validation stimulus.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from heartfelt.errors import InputError, suggestion
from heartfelt.scoring.grouping import StimulusGrouping
from heartfelt.training.heads.fitting import Ints, enough_folds, left_out_share
from heartfelt.training.heads.label_checks import TRAIN

VALIDATION, TEST = "validation", "test"
_VALIDATION_NAMES = ("dev", "val", "valid", "validation", "development")
_Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class TrainingParts:
    """Places of the stimuli of each part, and how they were chosen."""

    train: Ints
    validation: Ints
    test: Mapping[str, Ints]
    """Parts that are scored, by name."""
    words: str
    dropped: Mapping[int, str]
    """Why stimuli were taken out, by place."""

    @property
    def tested(self) -> Ints:
        return np.concatenate([np.empty(0, np.int64), *self.test.values()]).astype(np.int64)


@dataclass(frozen=True, slots=True)
class Fold:
    """One fold of cross-validation, counted from 1; 0 leaves none out, for the model that is used afterwards."""

    number: int
    count: int

    def mask(self, groups: Ints, seed: int) -> _Mask:
        """Which stimuli belong to the fold; whole groups."""
        return np.asarray(enough_folds(groups, self.count, seed, "finetune", "folds") == self.number - 1)


def parts_of(
    grouping: StimulusGrouping,
    copies: Ints,
    *,
    systems: Sequence[str | None],
    published: Sequence[str | None] = (),
    left_out_system: str = "",
    test: float = 0.2,
    validation: float = 0.15,
    rare: Sequence[int] = (),
    fold: Fold | None = None,
    seed: int = 0,
) -> TrainingParts:
    """The parts of stimuli in their order.

    ``copies`` has the same number for near-duplicates; ``rare`` are places whose category no other stimulus has, which can only be
    trained on. With a ``fold`` of cross-validation, that fold is scored, or none.
    """
    groups, unit = grouping.groups, grouping.unit
    dropped: dict[int, str] = {}
    stop = np.zeros(groups.size, bool)
    if published:
        tested, stop, remaining, words = _published_parts(published)
        dropped |= {at: "it has no part in the published split" for at, name in enumerate(published) if not name}
    else:
        if left_out_system:
            left_out = _of_system(systems, left_out_system)
            words = f"The system {left_out_system} was left out and scored."
        elif fold is not None:
            left_out = fold.mask(groups, seed)
            words = f"{fold.count} folds by {unit}: each was scored by a model that was trained on the others."
        else:
            left_out = left_out_share(groups, test, seed, "finetune", "test")
            words = f"A random part by {unit} was left out and scored."
        if not left_out_system:
            left_out[list(rare)] = False
        remaining = ~left_out
        tested = {} if fold is not None and not fold.number else {TEST: left_out}
    # Scored parts stay whole: copies leave the training and validation parts.
    scored = np.any([np.zeros(groups.size, bool), *tested.values()], axis=0)
    _take_out_copies(copies, scored, remaining, "the scored part", dropped)
    _take_out_copies(copies, scored, stop, "the scored part", dropped)
    if not stop.any():
        at = np.flatnonzero(remaining)
        stop[at] = left_out_share(groups[at], validation, seed, "finetune", "validation")
        stop[list(rare)] = False
        remaining &= ~stop
        words += f" Training stopped by a random part of the rest by {unit}."
    _take_out_copies(copies, stop, remaining, "the validation part", dropped)
    parts = TrainingParts(
        train=np.flatnonzero(remaining),
        validation=np.flatnonzero(stop),
        test={name: np.flatnonzero(mask) for name, mask in tested.items()},
        words=words,
        dropped=dropped,
    )
    if not parts.train.size or not parts.validation.size:
        lacking = "to train on" if not parts.train.size else "to stop early by"
        raise InputError(
            f"No stimulus is left {lacking}: {words}", "Use more stimuli, another --group, or --group none."
        )
    return parts


def _published_parts(published: Sequence[str | None]) -> tuple[dict[str, _Mask], _Mask, _Mask, str]:
    """The parts of a published split: those that are scored, the one to stop by, the one to train on; and words about them."""
    part_names = np.array([name or "" for name in published])
    other_parts = [name for name in dict.fromkeys(published) if name and name != TRAIN]
    stopping = [name for name in other_parts if name.casefold() in _VALIDATION_NAMES]
    # A validation part is scored itself where no other part is left to score.
    stopping = stopping if len(other_parts) > len(stopping) else []
    tested = {name: part_names == name for name in other_parts if name not in stopping}
    words = "The published split: trained on the part train"
    words += f", stopped by {' and '.join(stopping)}" if stopping else ""
    words += f", scored on {' and '.join(tested)}." if tested else ", with no part to score."
    return tested, np.isin(part_names, stopping), part_names == TRAIN, words


def _of_system(systems: Sequence[str | None], name: str) -> _Mask:
    """Which stimuli are by a system; an error where none is."""
    of_system = np.array([system == name for system in systems])
    if not of_system.any():
        raise InputError(
            f"No stimulus is by the system '{name}', which is to be left out.",
            suggestion(name, sorted({system for system in systems if system}), "Systems"),
        )
    return of_system


def _take_out_copies(copies: Ints, fixed: _Mask, reduced: _Mask, where: str, dropped: dict[int, str]) -> None:
    """Take what is a copy of something in ``fixed`` out of ``other``."""
    shared = reduced & np.isin(copies, copies[fixed])
    dropped |= {int(at): f"its file is (nearly) that of a stimulus of {where}" for at in np.flatnonzero(shared)}
    reduced &= ~shared
