"""Which stimuli must stay in one fold: pictures of one theme, songs of one prompt, near-duplicates.

A head that has seen one picture of a theme knows much about the others; with some of them in the training part, a score says
how well it remembers the theme. ``auto`` looks for a column of the stimuli that names such a group (theme, group, scene, source,
song, track, speaker, prompt), then for file names that differ in their last number only (``Dog 12`` belongs to ``Dog``). It takes a
grouping that has ten groups or more, none with over a third of the stimuli, and that says more than the system and the intent do,
which have readings of their own. Near-duplicates stay together whatever the grouping.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from heartfelt.errors import InputError, suggestion
from heartfelt.training.fitting import Ints
from heartfelt.training.near_duplicates import Bits, near_duplicates

AUTO, NONE = "auto", "none"
COLUMNS = ("theme", "group", "scene", "source", "song", "track", "speaker", "prompt")
FILE_NAME = "file name"
LEAST_GROUPS = 10
_LARGEST_SHARE = 1 / 3
_NUMBERED = re.compile(r"^(?P<stem>.*?\D)[\s_.\-]*\(?\d+\)?$")


@dataclass(frozen=True, slots=True, eq=False)
class Grouping:
    """What stays together, and why."""

    groups: Ints
    """A number for each stimulus."""
    by: str
    """The column, ``file name``, or empty where no grouping is known."""
    duplicates: int = 0
    """Stimuli that are a near-duplicate of an earlier one."""
    chosen: bool = False
    """Whether it was asked for, not looked for."""

    @property
    def count(self) -> int:
        """How many groups there are."""
        return int(np.unique(self.groups).size)

    @property
    def unit(self) -> str:
        """What folds are made of."""
        return self.by or "stimulus"

    @property
    def words(self) -> str:
        """The grouping in a sentence."""
        extra = ""
        if self.duplicates:
            one = self.duplicates == 1
            extra = f" {self.duplicates:,} near-duplicate{' stays' if one else 's stay'} in one fold with the original."
        if not self.by:
            why = (
                "as asked for"
                if self.chosen
                else "no column and no file name says which stimuli belong together"
            )
            return f"Folds are by stimulus: {why}.{extra}"
        return f"Folds are by {self.by}: the stimuli of one group stay in one fold ({self.count:,} groups).{extra}"

    def at(self, places: Ints) -> Ints:
        """The groups of some stimuli."""
        return self.groups[places]

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "by": self.by or None,
            "groups": self.count,
            "near_duplicates": self.duplicates,
            "words": self.words,
        }


def stem_of(name: str) -> str:
    """A name without the number it ends in: ``Dog 12``, ``Dog_12`` and ``Dog (12)`` are ``Dog``."""
    found = _NUMBERED.match(name.strip())
    return found["stem"].rstrip(" _.-(") if found else name.strip()


def grouping_of(
    stimuli: pl.DataFrame,
    contents: Sequence[str],
    embedding: npt.NDArray[np.float32],
    hashes: Sequence[Bits | None] = (),
    *,
    cosine: float | None = None,
    by: str = AUTO,
) -> Grouping:
    """The grouping of stimuli, in their order.

    ``cosine`` is that of near-duplicates in the embedding; ``by`` is a column, ``auto``, or ``none`` for near-duplicates only.
    """
    names = _named(stimuli, by)
    label, values = names if names is not None else ("", [f"{at}" for at in range(stimuli.height)])
    own = np.unique(np.array(values, dtype=str), return_inverse=True)[1].astype(np.int64)
    alike = near_duplicates(contents, embedding, cosine, hashes)
    duplicates = int(alike.size - np.unique(alike).size)
    return Grouping(_joined(own, alike) if duplicates else own, label, duplicates, by != AUTO)


def _joined(own: Ints, alike: Ints) -> Ints:
    """Groups that share a near-duplicate are one."""
    while True:
        lowest = own.copy()
        for group in np.unique(alike):
            members = alike == group
            lowest[members] = own[members].min()
        # A group follows its lowest member, until nothing moves.
        moved = {int(group): int(lowest[own == group].min()) for group in np.unique(own)}
        after = np.array([moved[int(group)] for group in own], dtype=np.int64)
        if np.array_equal(after, own):
            return own
        own = after


def _named(stimuli: pl.DataFrame, by: str) -> tuple[str, list[str]] | None:
    if by == NONE:
        return None
    if by != AUTO:
        if by not in stimuli.columns:
            raise InputError(
                f"The stimuli have no column '{by}' to group by.",
                suggestion(by, stimuli.columns, "They have"),
            )
        return by, _values(stimuli, by)
    candidates: dict[str, list[str]] = {
        name: _values(stimuli, name) for name in COLUMNS if name in stimuli.columns
    }
    column = "path" if "path" in stimuli.columns else "stimulus"
    candidates[FILE_NAME] = [
        PurePosixPath(name).with_suffix("").as_posix() for name in _values(stimuli, column)
    ]
    cells = _cells(stimuli)
    for name, values in candidates.items():
        unique = len(set(values)) == len(values)
        numbered = [stem_of(value) for value in values] if unique or name == FILE_NAME else values
        if _usable(numbered, cells):
            return name, numbered
    return None


def _values(stimuli: pl.DataFrame, column: str) -> list[str]:
    """A column as text; a stimulus without a value is a group of its own."""
    alone = pl.concat_str(pl.lit("\x00"), pl.col("stimulus").cast(pl.String))
    return list(stimuli.select(pl.col(column).cast(pl.String).fill_null(alone)).to_series())


def _cells(stimuli: pl.DataFrame) -> list[tuple[str, ...]]:
    known = [name for name in ("system", "intent") if name in stimuli.columns]
    return list(stimuli.select(pl.col(known).cast(pl.String).fill_null("")).rows()) if known else []


def _usable(values: Sequence[str], cells: Sequence[tuple[str, ...]]) -> bool:
    counts = Counter(values)
    if not LEAST_GROUPS <= len(counts) < len(values):
        return False
    if max(counts.values()) > _LARGEST_SHARE * len(values):
        return False
    # What the system and the intent together decide is the cell, which has a reading of its own.
    return not cells or not _follows(values, cells)


def _follows(values: Sequence[str], given: Sequence[tuple[str, ...]]) -> bool:
    """Whether what is given decides the value."""
    by_given: dict[tuple[str, ...], set[str]] = {}
    for value, key in zip(values, given, strict=True):
        by_given.setdefault(key, set()).add(value)
    return all(len(found) == 1 for found in by_given.values())
