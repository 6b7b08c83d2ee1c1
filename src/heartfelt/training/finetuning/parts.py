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
from heartfelt.training.heads.fitting import Ints, folds
from heartfelt.training.heads.label_checks import TRAIN
from heartfelt.wording import plural

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
        have = np.unique(groups).size
        if have < self.count:
            raise InputError(
                f"{plural(have, 'group')} of stimuli cannot be put into {self.count} folds.",
                "Group by a column with more values (--group), use --group none, or fewer --folds.",
            )
        return np.asarray(folds(groups, self.count, seed, "finetune", "folds") == self.number - 1)


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
    size, groups = grouping.groups.size, grouping.groups
    remaining = np.ones(size, bool)
    dropped: dict[int, str] = {}
    tested: dict[str, _Mask] = {}
    stop = np.zeros(size, bool)
    unit = grouping.unit
    if published:
        part_names = np.array([name or "" for name in published])
        names = list(dict.fromkeys(name for name in published if name))
        other_parts = [name for name in names if name != TRAIN]
        stopping = [name for name in other_parts if name.casefold() in _VALIDATION_NAMES]
        stopping = stopping if len(other_parts) > len(stopping) else []
        tested = {name: part_names == name for name in other_parts if name not in stopping}
        stop = np.isin(part_names, stopping)
        remaining = part_names == TRAIN
        dropped |= {int(at): "it has no part in the published split" for at in np.flatnonzero(part_names == "")}
        words = "The published split: trained on the part train"
        words += f", stopped by {' and '.join(stopping)}" if stopping else ""
        words += f", scored on {' and '.join(tested)}." if tested else ", with no part to score."
    elif left_out_system:
        of_system = np.array([name == left_out_system for name in systems])
        if not of_system.any():
            system_names = sorted({name for name in systems if name})
            raise InputError(
                f"No stimulus is by the system '{left_out_system}', which is to be left out.",
                suggestion(left_out_system, system_names, "Systems"),
            )
        tested, remaining = {TEST: of_system}, ~of_system
        words = f"The system {left_out_system} was left out and scored."
    elif fold is not None:
        chosen = fold.mask(groups, seed)
        chosen[list(rare)] = False
        tested, remaining = ({TEST: chosen} if fold.number else {}), ~chosen
        words = f"{fold.count} folds by {unit}: each was scored by a model that was trained on the others."
    else:
        chosen = folds(groups, max(2, round(1 / test)), seed, "finetune", "test") == 0
        chosen[list(rare)] = False
        tested, remaining = {TEST: chosen}, ~chosen
        words = f"A random part by {unit} was left out and scored."
    scored = np.any([np.zeros(size, bool), *tested.values()], axis=0)
    _take_out_copies(copies, scored, remaining, "the scored part", dropped)
    _take_out_copies(copies, scored, stop, "the scored part", dropped)
    if not stop.any():
        at = np.flatnonzero(remaining)
        plan = folds(groups[at], max(2, round(1 / validation)), seed, "finetune", "validation")
        stop[at[plan == 0]] = True
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


def _take_out_copies(copies: Ints, fixed: _Mask, reduced: _Mask, where: str, dropped: dict[int, str]) -> None:
    """Take what is a copy of something in ``fixed`` out of ``other``."""
    shared = reduced & np.isin(copies, copies[fixed])
    dropped |= {int(at): f"its file is (nearly) that of a stimulus of {where}" for at in np.flatnonzero(shared)}
    reduced &= ~shared
