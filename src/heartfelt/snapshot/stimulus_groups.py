"""Which stimuli belong together: pictures of one theme, songs of one prompt.

What holds for one stimulus of such a group holds for the others too, so they are no independent sample. A group is named by a
column of the stimuli (theme, group, scene, source, song, track, speaker, prompt), or else by file names that differ in their last
number only (``Dog 12`` belongs to ``Dog``). A grouping is used that has ten groups or more, none with over a third of the stimuli,
and that says more than the system and the intent do, which have readings of their own.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import PurePosixPath

import polars as pl

COLUMNS = ("theme", "group", "scene", "source", "song", "track", "speaker", "prompt")
FILE_NAME = "file name"
LEAST_GROUPS = 10
ALONE = "\x00"
"""What the name of a group of one begins with, where the column has no value."""
_LARGEST_SHARE = 1 / 3
_NUMBERED = re.compile(r"^(?P<stem>.*?\D)[\s_.\-]*\(?\d+\)?$")


def stem_of(name: str) -> str:
    """A name without the number it ends in: ``Dog 12``, ``Dog_12`` and ``Dog (12)`` are ``Dog``."""
    match = _NUMBERED.match(name.strip())
    return match["stem"].rstrip(" _.-(") if match else name.strip()


def detected_groups(stimuli: pl.DataFrame) -> tuple[str, list[str]] | None:
    """The column (or ``file name``) that says which stimuli belong together, with each one's group; None where none does."""
    candidates = {name: group_names(stimuli, name) for name in COLUMNS if name in stimuli.columns}
    files = group_names(stimuli, "path" if "path" in stimuli.columns else "stimulus")
    candidates[FILE_NAME] = [PurePosixPath(name).with_suffix("").as_posix() for name in files]
    columns = [name for name in ("system", "intent") if name in stimuli.columns]
    cells = stimuli.select(pl.col(columns).cast(pl.String).fill_null("")).rows() if columns else []
    for name, values in candidates.items():
        unique = len(set(values)) == len(values)
        numbered = [stem_of(value) for value in values] if unique or name == FILE_NAME else values
        if _usable(numbered, cells):
            return name, numbered
    return None


def group_names(stimuli: pl.DataFrame, column: str) -> list[str]:
    """A column as text; a stimulus without a value is a group of its own."""
    alone = pl.concat_str(pl.lit(ALONE), pl.col("stimulus").cast(pl.String))
    return list(stimuli.select(pl.col(column).cast(pl.String).fill_null(alone)).to_series())


def _usable(values: Sequence[str], cells: Sequence[tuple[str, ...]]) -> bool:
    counts = Counter(values)
    if not LEAST_GROUPS <= len(counts) < len(values) or max(counts.values()) > _LARGEST_SHARE * len(values):
        return False
    # What the system and the intent together decide is the cell, which has a reading of its own.
    return not cells or len(set(zip(cells, values, strict=True))) > len(set(cells))
