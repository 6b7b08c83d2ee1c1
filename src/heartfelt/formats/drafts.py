"""``drafts.parquet`` in a study folder: what machines wrote about stimuli, for raters to verify."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from heartfelt.errors import InputError
from heartfelt.files import whole_file
from heartfelt.study import Study
from heartfelt.tables import DRAFTS

DRAFTS_FILE = "drafts.parquet"


def read_drafts(folder: Path, study: Study) -> pl.DataFrame:
    """The drafts of the study's ``machine_first`` questions; an empty table where there is no file."""
    source = folder / DRAFTS_FILE
    if not source.is_file():
        return DRAFTS.empty()
    try:
        frame = pl.read_parquet(source)
    except (OSError, pl.exceptions.PolarsError):
        raise InputError(
            f"{source} is damaged or no Parquet file.", "Delete it and run 'heartfelt draft' again."
        ) from None
    first = [question.id for question in study.asked if question.machine_first]
    return DRAFTS.check(frame, str(source)).filter(pl.col("question").is_in(first))


def write_drafts(folder: Path, drafts: pl.DataFrame) -> Path:
    """Write the drafts of a study; the file is complete or as it was."""
    path = folder / DRAFTS_FILE
    with whole_file(path) as file:
        DRAFTS.check(drafts, str(path)).sort(DRAFTS.key).write_parquet(file)
    return path
