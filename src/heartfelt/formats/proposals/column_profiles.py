"""What the columns of somebody's table look like: the words of a name, and what its cells hold.

A name is split into words at separators and capitals, in lower case and the singular: ``evaluator_id``, ``Evaluator ID`` and
``evaluatorID`` are all ``evaluator id``. What a name ends in besides words such as ``id`` or ``key`` is its noun.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePath

import polars as pl

from heartfelt.formats.tables.columns import MISSING, moment_expr, number_expr
from heartfelt.media.probe import AUDIO, IMAGES

ID_WORDS = frozenset(["id", "key", "code", "hash", "uuid", "guid", "no", "nr", "num", "number", "index", "idx", "name"])
"""Words at the end of a name that say that it holds ids, not what of."""
_VIDEO = {".mp4", ".webm", ".mov", ".avi", ".mkv", ".mid", ".midi", ".m4a"}
_MEDIA = AUDIO | IMAGES | _VIDEO
_MOST_CELLS = 0.9
_CELLS_SAMPLED = 500
_PLURALS = {"stimuli": "stimulus", "criteria": "criterion", "axes": "axis", "stimuluses": "stimulus"}


def words_of(name: str) -> tuple[str, ...]:
    """The words of a column's name in lower case and the singular, digits apart."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", " ", name.strip())
    parts = re.findall(r"[^\W\d_]+|\d+", spaced.replace("-", " "))
    return tuple(_singular(part.casefold()) for part in parts)


def _singular(word: str) -> str:
    if word in _PLURALS:
        return _PLURALS[word]
    keeps_its_s = len(word) < 4 or word.endswith(("ss", "us", "is", "mos"))
    return word if keeps_its_s or not word.endswith("s") else word[:-1]


@dataclass(frozen=True, kw_only=True)
class ColumnProfile:
    """One column: its name in words, and what its cells hold."""

    name: str
    words: tuple[str, ...]
    rows: int
    filled: int
    distinct: int
    """Different cells, empty ones left out."""
    numeric: bool
    """Whether every filled cell is a number."""
    whole: bool
    low: float | None
    high: float | None
    media: bool
    """Whether the cells are names of media files."""
    moments: bool
    """Whether the cells are dates or times of day."""
    length: float
    """Characters per cell, on average."""
    example: str

    @property
    def is_id(self) -> bool:
        """Whether the name ends in a word such as id or key."""
        return len(self.words) > 1 and self.words[-1] in ID_WORDS

    @cached_property
    def noun(self) -> str:
        """The last word of the name that says what the cells are; empty for a bare ``id``."""
        words = [word for word in self.words if not word.isdigit()]
        while words and words[-1] in ID_WORDS:
            words.pop()
        return words[-1] if words else ""

    @property
    def unique(self) -> bool:
        return self.rows > 0 and self.filled == self.rows == self.distinct

    @property
    def natural(self) -> bool:
        """Whether the cells are whole numbers, none of them negative."""
        return self.whole and self.low is not None and self.low >= 0

    @property
    def repeats(self) -> bool:
        """Whether cells come several times, and are not all the same."""
        return 1 < self.distinct < self.filled

    def facts(self) -> str:
        if self.numeric and self.low is not None and self.high is not None and not self.media:
            kind = "whole numbers" if self.whole else "numbers"
            return f"{kind} from {self.low:g} to {self.high:g}"
        kind = "file names" if self.media else "times" if self.moments else "texts"
        return f"{self.distinct:,} different {kind} in {self.filled:,} rows, such as '{self.example[:40]}'"


def profiles(frame: pl.DataFrame) -> dict[str, ColumnProfile]:
    """A profile per column; columns of lists and objects have none."""
    return {
        name: _profile(frame, name)
        for name, dtype in frame.schema.items()
        if not dtype.is_nested() and dtype not in (pl.Binary, pl.Object, pl.Null)
    }


def _profile(frame: pl.DataFrame, name: str) -> ColumnProfile:
    cells = frame[name].cast(pl.String).str.strip_chars()
    cells = cells.filter(cells.is_not_null() & ~cells.is_in(MISSING))
    numbers = frame.select(number_expr(name)).to_series().drop_nulls()
    numeric = bool(cells.len()) and numbers.len() == cells.len()
    some = cells.head(_CELLS_SAMPLED)
    limits = [float(v) for v in (numbers.min(), numbers.max()) if isinstance(v, float)] if numeric else []
    endings = sum(PurePath(cell).suffix.lower() in _MEDIA for cell in some)
    return ColumnProfile(
        name=name,
        words=words_of(name),
        rows=frame.height,
        filled=cells.len(),
        distinct=cells.n_unique(),
        numeric=numeric,
        whole=numeric and bool((numbers == numbers.floor()).all()),
        low=min(limits, default=None),
        high=max(limits, default=None),
        media=endings >= max(1, _MOST_CELLS * some.len()),
        moments=frame[name].dtype.is_temporal() or (not numeric and _are_moments(some)),
        length=float(some.str.len_chars().mean() or 0),  # type: ignore[arg-type]  # a mean of counts
        example=next(iter(cells), ""),
    )


def _are_moments(cells: pl.Series) -> bool:
    """Whether all cells have the form of dates or times, and most can be read as such."""
    if not cells.len() or cells.str.contains(r"\d{1,4}[-/.:]\d\d?[-/.:]\d").mean() != 1.0:
        return False
    moments = cells.to_frame().select(moment_expr(cells.name, pl.String()))
    return moments.to_series().null_count() < cells.len() / 2


def determined_by(frame: pl.DataFrame, keys: Sequence[str], columns: Sequence[str]) -> list[str]:
    """The columns that are the same in all rows of one ``keys``, where some keys have several rows."""
    dependents = [name for name in columns if name not in keys]
    if not dependents or not frame.height:
        return []
    groups = frame.group_by(keys).agg(pl.len().alias("\0rows"), pl.col(dependents).n_unique())
    several = groups.filter(pl.col("\0rows") > 1)
    if not several.height:
        return []
    most: Mapping[str, object] = several.select(pl.col(dependents).max()).row(0, named=True)
    return [name for name in dependents if most[name] == 1]


def share_unique(frame: pl.DataFrame, keys: Sequence[str]) -> float:
    """Distinct keys per row: 1 where no two rows share their key."""
    return frame.select(keys).n_unique() / frame.height if frame.height else 1.0
