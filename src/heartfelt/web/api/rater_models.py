"""What the API takes and gives about raters, in types."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from pydantic import BaseModel, Field

from heartfelt.web.api.models import Asked, Count, Estimate


class RaterInfo(BaseModel):
    """One rater: where they are, and what speaks for carelessness. ``score`` is evidence in powers of ten."""

    rater: str
    rank: int | None
    score: float | None
    flagged_by: list[str]
    reasons: list[str]
    state: str
    trials: Count
    recruiter: str
    language: str | None
    arrived: datetime | None
    seen: datetime | None
    excluded: bool
    reason: str | None


class RatersInfo(BaseModel):
    """Every rater, most careless first."""

    change: int
    raters: list[RaterInfo]
    notes: list[str]


class TrialInfo(BaseModel):
    """One presentation of one stimulus to one rater, with all that was logged."""

    trial: str
    position: int | None
    kind: str
    status: str
    stimulus: str | None
    media: str | None
    answers: dict[str, float | str | None]
    seconds: float | None
    first_play: float | None
    plays: int | None
    focus_losses: int | None
    heard: float | None
    heard_flag: str | None
    late: bool
    comment: str | None
    device: str | None
    at: datetime | None


class TrialsInfo(BaseModel):
    """Every trial of a rater."""

    rater: str
    trials: list[TrialInfo]


class BeforeAfter(BaseModel):
    """An estimate as it is and as it would be."""

    question: str
    system: str | None = None
    before: Estimate | None
    after: Estimate | None


class EffectInfo(BaseModel):
    """What excluding the rater, or restoring one who is excluded, would do."""

    rater: str
    excluded: bool
    ratings: dict[Literal["before", "after"], int]
    alpha: list[BeforeAfter]
    systems: list[BeforeAfter]


class Exclusion(Asked):
    """Why a rater is left out; kept with the data."""

    reason: Annotated[str, Field(min_length=1, max_length=500)]


class ParticipantInfo(BaseModel):
    """Which rater a recruiter's participant is."""

    participant: str
    recruiter: str
    rater: str
    session: str | None
    assignment: str | None
    recruiter_study: str | None
    ended: str
    trials: Count
    arrived: datetime | None
    last_seen: datetime | None


class ParticipantsInfo(BaseModel):
    """Everybody who came with an id of a recruiter's."""

    participants: list[ParticipantInfo]


class ParticipantWanted(Asked):
    """A recruiter's participant."""

    participant: Annotated[str, Field(min_length=1, max_length=200)]


class ErasedInfo(BaseModel):
    """What was erased, and the snapshots from before that still hold it."""

    rater: str
    trials: Count
    snapshots: list[str]


class ResumeLink(BaseModel):
    """An address with which one rater goes on in another browser."""

    rater: str
    link: str


class Judged(BaseModel):
    """What became of it: slots reopened by an exclusion, or ratings that count again."""

    rater: str
    excluded: bool
    slots: Count
