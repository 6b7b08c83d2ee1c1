"""The split a data set was published with: the stimuli's column ``split``, such as train, dev and test."""

from __future__ import annotations

import polars as pl

from heartfelt.errors import InputError, suggestion

COLUMN = "split"


def published_parts(stimuli: pl.DataFrame) -> list[str]:
    """The names of the parts, in order of appearance; an error where there are none."""
    names: list[str] = []
    if COLUMN in stimuli.columns:
        names = stimuli[COLUMN].cast(pl.String).drop_nulls().unique(maintain_order=True).to_list()
    if not len(names):
        raise InputError(
            f"The stimuli have no published split: no column '{COLUMN}'.",
            f"Add a column '{COLUMN}' to the stimuli, with values such as train, dev and test, or freeze a benchmark with a split.",
        )
    return names


def published_part(stimuli: pl.DataFrame, name: str) -> list[str]:
    """The stimuli of one part."""
    names = published_parts(stimuli)
    if name not in names:
        raise InputError(f"The published split has no part '{name}'.", suggestion(name, names, "Parts"))
    return list(stimuli.filter(pl.col(COLUMN).cast(pl.String) == name)["stimulus"])
