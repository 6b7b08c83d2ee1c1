"""Which stimuli must stay in one fold: pictures of one theme, songs of one prompt, near-duplicates.

A head that has seen one picture of a theme knows much about the others; with some of them in the training part, a score says
how well it remembers the theme. ``auto`` looks for a column of the stimuli that names such a group (theme, group, scene, source,
song, track, speaker, prompt), then for file names that differ in their last number only (``Dog 12`` belongs to ``Dog``). It uses a
grouping that has ten groups or more, none with over a third of the stimuli, and that says more than the system and the intent do,
which have readings of their own. Near-duplicates stay together whatever the grouping.

*Near-duplicates*: the same file, the same picture saved again, the same sound cut or re-encoded. Three signs, any of which is
enough: equal content; pictures whose difference hashes are close (:mod:`heartfelt.media.images.duplicates`);
embeddings, each column standardised, with a cosine of at least what the embedding gives as its ``near_duplicate``. On
OASIS the closest strangers have a cosine of .80; mirrored or cropped pictures have .85 or more. On AImoclips the
closest strangers have a cosine of .966; the same clip at half the level or as MP3 mostly has .99, without its first
0.3 s .965 or more.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl

from heartfelt.errors import HeartfeltError, InputError, suggestion
from heartfelt.media.images.duplicates import Bits, duplicate_groups, image_hash
from heartfelt.predictors.trained.facts import GroupingFacts
from heartfelt.snapshot.stimulus_groups import ALONE, detected_groups, group_names
from heartfelt.stats.columns.triples import Ints
from heartfelt.wording import plural

AUTO, NONE = "auto", "none"
_MOST_STIMULI = 20_000
_BLOCK = 512


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class StimulusGrouping:
    """What stays together, and why."""

    groups: Ints
    """A number for each stimulus."""
    by: str
    """The column, ``file name``, or empty where no grouping is known."""
    duplicates: int = 0
    """Stimuli that are a near-duplicate of an earlier one."""
    chosen: bool = False
    """Whether it was requested rather than detected."""
    names: tuple[str, ...] = ()
    """What the column calls each stimulus's group; empty for a stimulus without a value, and none where no grouping is known."""

    @property
    def count(self) -> int:
        return int(np.unique(self.groups).size)

    @property
    def unit(self) -> str:
        return self.by or "stimulus"

    @property
    def words(self) -> str:
        if self.by:
            reason = f"the stimuli of one group stay in one fold ({self.count:,} groups)"
        elif self.chosen:
            reason = "as requested"
        else:
            reason = "no column and no file name says which stimuli belong together"
        words = f"Folds are by {self.unit}: {reason}."
        if self.duplicates:
            stay = "stays" if self.duplicates == 1 else "stay"
            words += f" {plural(self.duplicates, 'near-duplicate')} {stay} in one fold with the original."
        return words

    def at(self, indices: Ints) -> Ints:
        return self.groups[indices]

    @property
    def facts(self) -> GroupingFacts:
        """What a model's folder says of it."""
        return GroupingFacts(self.by or None, self.count, self.duplicates, self.words)


def grouping_of(
    stimuli: pl.DataFrame,
    contents: Sequence[str],
    embedding: npt.NDArray[np.float32],
    hashes: Sequence[Bits | None] = (),
    *,
    cosine: float | None = None,
    by: str = AUTO,
) -> StimulusGrouping:
    """The grouping of stimuli, in their order.

    ``cosine`` is that of near-duplicates in the embedding; ``by`` is a column, ``auto``, or ``none`` for near-duplicates only.
    """
    label, values = _named(stimuli, by) or ("", [f"{at}" for at in range(stimuli.height)])
    names = tuple("" if value.startswith(ALONE) else value for value in values) if label else ()
    group_codes = np.unique(np.array(values, dtype=str), return_inverse=True)[1].astype(np.int64)
    alike = near_duplicates(contents, embedding, cosine, hashes)
    duplicates = int(alike.size - np.unique(alike).size)
    if duplicates:
        # Groups that share a near-duplicate are one: stimuli are tied to the first of their group and to their original.
        group_codes = connected(
            group_codes.size, [*enumerate(first_of_group(group_codes).tolist()), *enumerate(alike.tolist())]
        )
    return StimulusGrouping(groups=group_codes, by=label, duplicates=duplicates, chosen=by != AUTO, names=names)


def first_of_group(groups: Ints) -> Ints:
    """For each thing, the first that is in its group."""
    _, first, group = np.unique(groups, return_index=True, return_inverse=True)
    return np.asarray(first[group], dtype=np.int64)


def connected(size: int, ties: Iterable[tuple[int, int]]) -> Ints:
    """A number for each of ``size`` things, the same for those tied over any number of steps: the lowest of them."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    first, second = np.array([*ties, (0, 0)], dtype=np.int64).T
    graph = coo_array((np.ones(first.size), (first, second)), shape=(size, size))
    return first_of_group(connected_components(graph, directed=False)[1].astype(np.int64))


def _named(stimuli: pl.DataFrame, by: str) -> tuple[str, list[str]] | None:
    if by == NONE:
        return None
    if by != AUTO:
        if by not in stimuli.columns:
            raise InputError(
                f"The stimuli have no column '{by}' to group by.", suggestion(by, stimuli.columns, "They have")
            )
        return by, group_names(stimuli, by)
    return detected_groups(stimuli)


def picture_hash(path: Path) -> Bits | None:
    """The difference hash of a picture; None where it cannot be read."""
    try:
        return image_hash(path)
    except (HeartfeltError, OSError):
        return None


def near_duplicates(
    contents: Sequence[str],
    embedding: npt.NDArray[np.float32],
    cosine: float | None,
    hashes: Sequence[Bits | None] = (),
) -> Ints:
    """A number for each stimulus, the same for those that are nearly the same, over any number of steps."""
    first: dict[str, int] = {}
    equal = [(first.setdefault(content, at), at) for at, content in enumerate(contents)]
    same = enumerate(duplicate_groups(hashes).tolist())
    return connected(len(contents), [*equal, *_close_embeddings(embedding, cosine), *same])


def _close_embeddings(embedding: npt.NDArray[np.float32], cosine: float | None) -> list[tuple[int, int]]:
    if cosine is None or not 3 <= len(embedding) <= _MOST_STIMULI:
        return []
    spread = embedding.std(axis=0)
    standardised = (embedding - embedding.mean(axis=0)) / np.where(spread > 1e-9, spread, 1.0)
    length = np.linalg.norm(standardised, axis=1, keepdims=True)
    return _close((standardised / np.where(length > 1e-9, length, 1.0)).astype(np.float32), cosine)


def _close(rows: npt.NDArray[np.float32], least: float) -> list[tuple[int, int]]:
    """The pairs of rows whose product is at least this much."""
    out: list[tuple[int, int]] = []
    for start in range(0, len(rows), _BLOCK):
        pairs = zip(*np.nonzero(rows[start : start + _BLOCK] @ rows.T >= least), strict=True)
        out += [(start + int(row), int(column)) for row, column in pairs if start + row < column]
    return out
