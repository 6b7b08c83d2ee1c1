"""The figures of drafts that people verified: what became of them, what they did to the answers, and who looked."""

from __future__ import annotations

from dataclasses import dataclass

from heartfelt.stats.estimate import Estimate


@dataclass(frozen=True, slots=True)
class DraftVerdicts:
    """What people made of the machine's own drafts; shares are of verifications."""

    verified: int
    accepted: Estimate
    fixed: Estimate
    rejected: Estimate


@dataclass(frozen=True, slots=True, kw_only=True)
class Contrast:
    """Answers with a draft against answers without it. ``p`` is that of no difference, ``p_holm`` Holm's over the fields."""

    with_draft: Estimate
    without_draft: Estimate
    difference: Estimate
    p: float | None
    p_holm: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftedField:
    """One field, or all of them (``all``)."""

    field: str
    verdicts: DraftVerdicts
    hidden: int
    """Answers given without seeing the draft."""
    planted: int
    """Drafts of other stimuli that were shown and are clearly wrong."""
    planted_alike: int
    """Drafts of other stimuli that are too much like the machine's own to count as wrong."""
    missed: Estimate
    """Share of planted errors that were accepted."""
    accuracy: Estimate
    """Mean similarity, from 0 to 1, of the draft to what people answer without seeing it."""
    anchoring: Contrast
    """Mean similarity of answers to the draft; a positive difference means that answers follow it."""
    seconds: Contrast
    """Seconds for the field on the log scale: geometric means, and the time with a draft as a multiple of that without."""
    keystrokes: Contrast


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftedModel:
    """The drafts of one model and version."""

    source: str
    version: str | None
    fields: tuple[str, ...]
    verdicts: DraftVerdicts
    accuracy: Estimate


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyingRater:
    """One rater: verdicts, planted errors, and the median time for a field with and without a draft."""

    rater: str
    verdicts: DraftVerdicts
    planted: int
    planted_accepted: int
    missed: Estimate
    seconds: float | None
    seconds_without: float | None


@dataclass(frozen=True, slots=True)
class DraftVerification:
    """The evidence on drafts. ``fields`` begins with all fields together where there are several."""

    fields: tuple[DraftedField, ...]
    models: tuple[DraftedModel, ...]
    raters: tuple[VerifyingRater, ...]
    left_out: int
    """Rows of raters who were left out; only ``raters`` holds them."""
