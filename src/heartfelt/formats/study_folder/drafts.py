"""``drafts.parquet`` in a study folder: what machines wrote about stimuli, for raters to verify."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from heartfelt.errors import InputError
from heartfelt.files import whole_file
from heartfelt.study import Study
from heartfelt.tables import DRAFTS

DRAFTS_FILE = "drafts.parquet"
Boxes = tuple[tuple[str, tuple[float, float, float, float]], ...]
"""What a detector saw where: tags, each with left, top, right and bottom as fractions of the image."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftFacts:
    """What people who verify drafts are shown besides the values."""

    boxes: Mapping[tuple[str, str], tuple[str, Boxes]]
    """By stimulus and question: the value that was drafted, and where it was seen."""
    limits: Mapping[str, str]
    """By question: what the machines that drafted it cannot see."""

    def boxes_of(self, stimulus: str, question: str, value: str, *, planted: bool) -> Boxes:
        """The boxes of a value that is shown; a planted one comes with those it has in its own image, so as to look like others."""
        if not planted:
            drafted, boxes = self.boxes.get((stimulus, question), ("", ()))
            return boxes if drafted == value else ()
        same = (boxes for (_, name), (drafted, boxes) in self.boxes.items() if (name, drafted) == (question, value))
        return next(same, ())


def draft_facts(drafts: pl.DataFrame) -> DraftFacts:
    """Boxes and limits of drafts; boxes that cannot be read are left out."""
    boxes: dict[tuple[str, str], tuple[str, Boxes]] = {}
    limits: dict[str, dict[str, None]] = {}
    for row in drafts.iter_rows(named=True):
        if row.get("boxes"):
            boxes[row["stimulus"], row["question"]] = (row["value"], _read_boxes(row["boxes"]))
        if row.get("limits"):
            limits.setdefault(row["question"], {})[row["limits"]] = None
    return DraftFacts(boxes=boxes, limits={name: " ".join(texts) for name, texts in limits.items()})


def _read_boxes(text: str) -> Boxes:
    """A file may be somebody else's: only whole boxes inside the image are drawn."""
    try:
        parts = json.loads(text)
        read = [(str(part["tag"]), tuple(float(edge) for edge in part["box"])) for part in parts]
    except (ValueError, TypeError, KeyError):
        return ()
    return tuple(
        (tag, (box[0], box[1], box[2], box[3]))
        for tag, box in read
        if len(box) == 4 and 0 <= box[0] < box[2] <= 1 and 0 <= box[1] < box[3] <= 1
    )


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
