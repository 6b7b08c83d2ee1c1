"""What the API takes and gives, in types."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

Count = Annotated[int, Field(ge=0)]


class Asked(BaseModel):
    """A body; what it does not know is refused."""

    model_config = ConfigDict(extra="forbid", str_max_length=4000)


class Problem(BaseModel):
    """Why something was refused, and what to do about it."""

    problem: str
    fix: str


class Estimate(BaseModel):
    """A number with its interval, counts (``n_…``) and method, or the reason there is none."""

    model_config = ConfigDict(extra="allow")

    value: float | None
    low: float | None = None
    high: float | None = None
    level: float | None = None
    interval: str | None = None
    method: str = ""
    why_missing: str | None = None
    why_no_interval: str | None = None


class QuestionInfo(BaseModel):
    """One question."""

    id: str
    text: str
    scale: str
    level: str
    emotion: str | None
    bounds: tuple[float, float] | None
    categories: dict[str, str]


class SystemInfo(BaseModel):
    """One system."""

    id: str
    name: str | None
    group: str | None


class Links(BaseModel):
    """Where raters come in."""

    open: str
    prolific: str
    mturk: str


class StudyInfo(BaseModel):
    """What is asked, and of what."""

    name: str
    title: str
    media: Literal["audio", "speech", "image"]
    hash: str
    languages: list[str]
    questions: list[QuestionInfo]
    systems: list[SystemInfo]
    stimuli: Count
    items: Count
    ratings_per_item: Count
    stimuli_per_rater: int | None
    links: Links
    refresh_seconds: float
    version: str


class SettingsInfo(BaseModel):
    """How the study takes raters now."""

    open: bool
    cap: int | None
    code_complete: str
    code_screened_out: str
    code_no_consent: str
    code_full: str | None
    code_partial: str | None
    return_url: str | None
    ratings_per_item: int | None


Code = Annotated[str, Field(min_length=1, max_length=64, pattern=r"^[A-Za-z0-9_-]+$")]


class SettingsChange(Asked):
    """Settings to change; those left out stay."""

    open: bool = True
    cap: Annotated[int | None, Field(ge=1, le=10_000_000)] = None
    code_complete: Code = ""
    code_screened_out: Code = ""
    code_no_consent: Code = ""
    code_full: Code = ""
    code_partial: Code = ""
    ratings_per_item: Annotated[
        int, Field(ge=1, le=999_999, description="ratings wanted for each item; can only be raised")
    ] = 1
    return_url: Annotated[str | None, Field(max_length=2000, pattern=r"^https?://[^\s]+$")] = None


class Bin(BaseModel):
    """How many have so many complete ratings, now and once everything being rated is in."""

    ratings: Count
    units: Count
    units_with_leases: Count


class People(BaseModel):
    """How many raters are where."""

    all: Count
    active: Count
    complete: Count
    excluded: Count


class CoverageInfo(BaseModel):
    """Ratings against the quota, counted in trials: of stimuli with all their questions, or of single items."""

    change: int
    of: Literal["stimuli", "items"]
    quota: Count
    units: Count
    full: Count
    wanted: Count
    complete: Count
    extra: Count
    leased: Count
    histogram: list[Bin]
    per_hour: float | None
    finish: datetime | None
    why_no_finish: str | None
    raters: People


class VersionInfo(BaseModel):
    """One version of the study that was served, and what was changed in it."""

    version: int
    at: datetime
    hash: str
    changes: list[str]
    trials: Count


class VersionsInfo(BaseModel):
    """Every version, oldest first."""

    versions: list[VersionInfo]


class MachineFieldInfo(BaseModel):
    """What people made of the values a machine filled in for one question."""

    question: str
    verified: Count
    hidden: Count
    accepted: Estimate
    fixed: Estimate
    rejected: Estimate
    planted_accepted: Estimate


class MachineInfo(BaseModel):
    """Every question that a machine fills in first, as of change ``change``."""

    change: int
    fields: list[MachineFieldInfo]


class ReliabilityPoint(BaseModel):
    """Alpha after so many ratings."""

    ratings: Count
    value: float | None
    low: float | None = None
    high: float | None = None
    why_missing: str | None = None


class QuestionReliability(BaseModel):
    """The reliability of one question, or of all questions on one scale."""

    question: str
    questions: Count
    level: str
    alpha: Estimate
    icc: Estimate
    icc_mean: Estimate
    over_time: list[ReliabilityPoint]


class ReliabilityInfo(BaseModel):
    """Reliability per question, as of change ``change``."""

    change: int
    questions: list[QuestionReliability]


class SystemMean(BaseModel):
    """The mean of one system under one question, and the ratings that the wanted precision still takes."""

    question: str
    system: str
    mean: Estimate
    stimuli: Count
    ratings: Count
    needed: Estimate
    bounds: tuple[float, float] | None


class SystemsInfo(BaseModel):
    """Every system under every question."""

    change: int
    precision: float
    systems: list[SystemMean]


class StimulusMean(BaseModel):
    """The mean rating of a stimulus under one question so far."""

    question: str
    mean: float | None
    n: Count


class StimulusInfo(BaseModel):
    """One stimulus with where it stands."""

    stimulus: str
    system: str | None
    intent: str | None
    prompt: str | None
    media: str | None
    media_problem: str | None
    complete: Count
    leased: Count
    quota: Count
    means: list[StimulusMean]


class StimuliInfo(BaseModel):
    """A page of stimuli."""

    total: Count
    stimuli: list[StimulusInfo]


class FlagInfo(BaseModel):
    """Something a rater found wrong with a stimulus."""

    stimulus: str | None
    media: str | None
    rater: str
    reason: str
    comment: str | None
    skipped: bool
    at: datetime | None


class FlagsInfo(BaseModel):
    """Every flag, latest first."""

    flags: list[FlagInfo]


class MediaProblemInfo(BaseModel):
    """Media that would not load or play."""

    stimulus: str | None
    media: str | None
    rater: str | None
    problem: str
    at: datetime | None


class MediaProblemsInfo(BaseModel):
    """Every media problem, latest first; files missing from the start come without a rater."""

    problems: list[MediaProblemInfo]


class RatingsPage(BaseModel):
    """A page of ratings; ``next`` is the offset of the page after it."""

    total: Count
    next: int | None
    ratings: list[dict[str, Any]]


class InvitationsWanted(Asked):
    """How many personal links, and a note about them."""

    count: Annotated[int, Field(ge=1, le=1000)]
    note: Annotated[str | None, Field(max_length=200)] = None


class InvitationInfo(BaseModel):
    """A personal link."""

    invitation: str
    link: str
    note: str | None
    at: datetime | None
    rater: str | None


class InvitationsInfo(BaseModel):
    """Personal links."""

    invitations: list[InvitationInfo]


class SnapshotInfo(BaseModel):
    """A frozen state of the study in its folder."""

    name: str
    made: datetime
    hash: str
    ratings: Count
    raters: Count
    stimuli: Count


class SnapshotsInfo(BaseModel):
    """Every snapshot, latest first."""

    snapshots: list[SnapshotInfo]


class FormatInfo(BaseModel):
    """A format the ratings can be written in."""

    name: str
    about: str


class FormatsInfo(BaseModel):
    """Every format that can be written."""

    formats: list[FormatInfo]


class TokenWanted(Asked):
    """What a token is for."""

    name: Annotated[str, Field(min_length=1, max_length=100, pattern=r"^[\w.:@-][\w .:@-]*$")]


class TokenInfo(BaseModel):
    """A token, without its text."""

    id: str
    name: str
    made: datetime
    expires: datetime


class TokensInfo(BaseModel):
    """Every token that works."""

    tokens: list[TokenInfo]


class TokenMade(TokenInfo):
    """A new token; its text is shown only here."""

    token: str
