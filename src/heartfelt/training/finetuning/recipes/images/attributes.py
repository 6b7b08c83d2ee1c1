"""Annotation fields as inputs: categories, tags, phrases and numbers that a person verified or a machine drafted.

The value of a field is the final one where a person verified it, else the machine's; a rejected or planted value does not
count. An attribute with names has a column for each name that at least two training stimuli have (at most 200; every category
of a closed scale), one for all other names and one for a missing value; several values of a stimulus add up to 1 each. A number
is standardised by the training stimuli, next to a column that says whether it is known.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl

from heartfelt.errors import InputError, suggestion
from heartfelt.snapshot import Snapshot
from heartfelt.study import Scale, Study
from heartfelt.study.scales.scale import Categories, Ordered, Tags, YesNo

ALL = "all"
"""Every field that a machine fills in first."""
MOST_NAMES, LEAST_STIMULI = 200, 2
Values: TypeAlias = Mapping[str, tuple[str, ...]]
"""By stimulus, the values of an attribute."""


@dataclass(frozen=True, slots=True)
class Attribute:
    """One input: names with a column each, or a number (``spread`` is then positive)."""

    name: str
    names: tuple[str, ...] = ()
    mean: float = 0.0
    spread: float = 0.0

    @property
    def columns(self) -> int:
        """How many numbers it is given as."""
        return 2 if self.spread else 2 + len(self.names)

    def encode(self, values: Sequence[str]) -> npt.NDArray[np.float32]:
        """The columns of one stimulus: known and the number, or missing, other, and each name."""
        row = np.zeros(self.columns, np.float32)
        if self.spread:
            numbers = [number for value in values if (number := _number(value)) is not None]
            if numbers:
                row[:] = 1.0, (float(np.mean(numbers)) - self.mean) / self.spread
            return row
        if not values:
            row[0] = 1.0
        for value in values:
            row[2 + self.names.index(value) if value in self.names else 1] = 1.0
        return row


def chosen_attributes(study: Study, wanted: Sequence[str], labelled_questions: Sequence[str]) -> tuple[str, ...]:
    """The fields to use; those that are trained on cannot be inputs."""
    fields = [
        question.id for question in study.asked if question.machine_first and question.id not in labelled_questions
    ]
    if tuple(wanted) == (ALL,):
        if not fields:
            raise InputError(
                f"'{study.name}' has no field that a machine fills in first.",
                "Name the columns or fields to use: --set attributes=scene,objects.",
            )
        return tuple(fields)
    for name in wanted:
        if name in labelled_questions:
            raise InputError(
                f"'{name}' is what is to be predicted, so it cannot be an input.",
                "Leave it out of attributes, or out of questions.",
            )
    return tuple(wanted)


def attribute_values(snapshot: Snapshot, name: str) -> dict[str, tuple[str, ...]]:
    """The values of a field, or of a column of the stimuli, by stimulus; tags one by one."""
    fields = snapshot.fields
    if fields.height and name in fields["field"].unique():
        table = fields.filter(pl.col("field") == name)
        lacking = [
            pl.lit(None, pl.String).alias(column)
            for column in ("verdict", "final", "shown")
            if column not in table.columns
        ]
        table = table.with_columns(lacking).filter(
            pl.col("shown").fill_null("") != "planted", pl.col("verdict").fill_null("") != "rejected"
        )
        rows = table.select("stimulus", pl.coalesce("final", "machine").alias("value")).drop_nulls()
    elif name in snapshot.stimuli.columns and name != "stimulus":
        rows = snapshot.stimuli.select("stimulus", pl.col(name).cast(pl.String).alias("value")).drop_nulls()
    elif name in {question.id for question in snapshot.study.asked}:
        rows = pl.DataFrame(schema={"stimulus": pl.String, "value": pl.String})
    else:
        choices = [*(fields["field"].unique() if fields.height else ()), *snapshot.stimuli.columns]
        raise InputError(
            f"'{snapshot.study.name}' has no field or column '{name}'.", suggestion(name, choices, "It has")
        )
    separator = _separator(snapshot.study, name)
    out: dict[str, tuple[str, ...]] = {}
    for stimulus, value in rows.iter_rows():
        parts = str(value).split(separator) if separator else [str(value)]
        clean = [part.strip().casefold() for part in parts if part.strip()]
        out[stimulus] = tuple(dict.fromkeys([*out.get(stimulus, ()), *clean]))
    return out


def fitted_attribute(name: str, study: Study, values: Iterable[Sequence[str]]) -> Attribute:
    """The columns of an attribute, from the values of the stimuli trained on."""
    every = list(values)
    scale = _scale_of(study, name)
    if isinstance(scale, Categories | Ordered | YesNo):
        return Attribute(name, tuple(code.casefold() for code in scale.codes()))
    texts = list(chain.from_iterable(every))
    numbers = [_number(text) for text in texts]
    if numbers and None not in numbers:
        return Attribute(name, (), float(np.mean(numbers)), float(np.std(numbers)) or 1.0)  # type: ignore[arg-type]  # all are numbers
    counts = Counter(chain.from_iterable(map(set, every)))
    common = [value for value, count in counts.most_common(MOST_NAMES) if count >= LEAST_STIMULI]
    return Attribute(name, tuple(sorted(common)))


def _scale_of(study: Study, name: str) -> Scale | None:
    """The scale of a field that is a question of the study."""
    return study.scale_of(name) if name in {question.id for question in study.asked} else None


def _separator(study: Study, name: str) -> str | None:
    scale = _scale_of(study, name)
    return scale.separator if isinstance(scale, Tags) else None


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if np.isfinite(number) else None
