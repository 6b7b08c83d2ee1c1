"""What a run of drafters comes to: drafts and failures by field, and what each drafter took."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from heartfelt.representation import ShortRepr


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldDrafts:
    """The drafts of one field, as they are after the run."""

    field: str
    drafter: str | None
    """As it was requested in this run; None where no machine is named for the field."""
    items: int
    """How many stimuli the field is asked about."""
    drafted: int
    """How many of them have a draft."""
    new: int
    """How many of these were made in this run."""
    failed: int
    """How many were to be drafted in this run and were not; the ledger says why."""
    none: int
    """How many of the drafts say that there is nothing to answer."""
    confidence: float | None
    """The mean over the drafts with a confidence."""
    sources: Mapping[str, int]
    """How many drafts each machine wrote."""
    problems: Mapping[str, int]
    """The most frequent reasons for failures."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DrafterRun:
    """What one drafter did in this run."""

    drafter: str
    """As it was requested."""
    source: str
    """Its name in the drafts."""
    version: str | None
    fields: tuple[str, ...]
    stimuli: int
    """How many stimuli it was to draft."""
    seconds: float
    requests: int = 0
    """Requests to a hosted model in this run; 0 for a model that runs here."""
    input_tokens: int = 0
    output_tokens: int = 0
    without_counts: int = 0
    """Requests for which the server returned no counts; the sums leave them out."""
    cost: float | None = None
    """In the currency of the prices given; None without prices."""
    problem: str | None = None
    """Why it could not be asked at all."""
    limits: str = ""
    """What it says that it cannot see."""


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class Drafting(ShortRepr):
    """The result of drafting a study."""

    study: str
    stimuli: int
    fields: tuple[FieldDrafts, ...]
    drafters: tuple[DrafterRun, ...]
    without: tuple[str, ...]
    """Fields for which no machine is named."""
    duplicates: int | None
    """Groups of near-duplicates among the images; None where they were not looked for."""
    duplicate_images: int
    """Images in these groups."""
    spent: float | None
    """What all drafts of the study have cost so far, earlier runs included; None without prices."""
    folder: Path
    drafts: pl.DataFrame = field(metadata={"skip": True})
    """Under the contract ``DRAFTS``: every draft of the study."""
    ledger: pl.DataFrame = field(metadata={"skip": True})
    """Under the contract ``LEDGER``: what was not drafted, and drafts that were changed to fit the scale."""

    @property
    def failed(self) -> int:
        return sum(field.failed for field in self.fields)

    @property
    def new(self) -> int:
        return sum(field.new for field in self.fields)
