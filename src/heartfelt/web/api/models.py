"""The models of the API: what it accepts and returns."""

from __future__ import annotations

from datetime import datetime
from types import GenericAlias
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, create_model

from heartfelt.web.study.coverage import Count


class RequestBody(BaseModel):
    """A body; unknown keys are refused."""

    model_config = ConfigDict(extra="forbid", str_max_length=4000)


class ProblemModel(BaseModel):
    """Why something was refused, and what to do about it."""

    problem: str
    fix: str


class EstimateModel(BaseModel):
    """A number with its interval, counts (``n_…``) and method, or the reason there is none."""

    model_config = ConfigDict(extra="allow")

    value: float | None
    low: float | None = None
    high: float | None = None
    confidence: float | None = None
    interval: str | None = None
    method: str = ""
    why_missing: str | None = None
    why_no_interval: str | None = None
    bound_if_careless: float | None = None


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


class StudyInfo(BaseModel):
    """What is asked, and of what."""

    name: str
    title: str
    media: Literal["audio", "speech", "image"]
    hash: str
    languages: list[str]
    questions: list[QuestionInfo]
    systems: list[SystemInfo]
    sets: str | None
    """The type of sets that raters judge; None where stimuli are rated one at a time."""
    stimuli: Count
    items: Count
    ratings_per_item: Count
    stimuli_per_rater: int | None
    session_codes: list[str]
    """The codes after each session but the last, where the study has several days apart."""
    links: dict[Literal["open", "prolific", "mturk"], str]
    """Where raters come in."""
    refresh_seconds: float
    version: str


Code = Annotated[str, Field(min_length=1, max_length=64, pattern=r"^[A-Za-z0-9_-]+$")]


class SettingsChange(RequestBody):
    """Settings to change; those left out stay."""

    open: bool = True
    cap: Annotated[int | None, Field(ge=1, le=10_000_000)] = None
    code_complete: Code = ""
    code_screened_out: Code = ""
    code_no_consent: Code = ""
    code_full: Code = ""
    code_partial: Code = ""
    code_review: Code = ""
    code_screeners: Annotated[
        dict[str, Code], Field(max_length=200, description="by screener; those left out stay")
    ] = {}
    code_session: Code = ""
    ratings_per_item: Annotated[
        int, Field(ge=1, le=999_999, description="ratings wanted for each item; can only be raised")
    ] = 1
    return_url: Annotated[str | None, Field(max_length=2000, pattern=r"^https?://[^\s]+$")] = None


class VersionInfo(BaseModel):
    """One version of the study that was served, and what was changed in it."""

    version: int
    at: datetime
    hash: str
    changes: list[str]
    trials: Count


class MachineFieldInfo(BaseModel):
    """The verdicts on the values a machine filled in for one question."""

    question: str
    verified: Count
    hidden: Count
    accepted: EstimateModel
    fixed: EstimateModel
    rejected: EstimateModel
    planted_accepted: EstimateModel
    accuracy: EstimateModel
    anchoring: EstimateModel
    time: EstimateModel


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
    alpha: EstimateModel
    icc: EstimateModel
    icc_mean: EstimateModel
    over_time: list[ReliabilityPoint]


class FieldReliability(BaseModel):
    """Agreement on one question answered with tags or texts; ``answers`` says which."""

    question: str
    answers: str
    n_stimuli: Count
    n_answers: Count
    alpha: EstimateModel


class ReliabilityInfo(BaseModel):
    """Reliability per question, as of change ``change``."""

    change: int
    questions: list[QuestionReliability]
    fields: list[FieldReliability]


class SystemMean(BaseModel):
    """The mean of one system under one question, and the ratings that the wanted precision still takes."""

    question: str
    system: str
    mean: EstimateModel
    stimuli: Count
    ratings: Count
    needed: EstimateModel
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
    """One stimulus with its counts and means."""

    stimulus: str
    system: str | None = None
    intent: str | None = None
    prompt: str | None = None
    media: str | None
    media_problem: str | None = None
    complete: Count
    leased: Count
    quota: Count
    means: list[StimulusMean]


class StimuliInfo(BaseModel):
    """A page of stimuli."""

    total: Count
    stimuli: list[StimulusInfo]


class FlagInfo(BaseModel):
    """A problem with a stimulus that a rater reported."""

    stimulus: str | None
    media: str | None
    rater: str
    reason: str
    comment: str | None
    skipped: bool
    at: datetime | None


class MediaProblemInfo(BaseModel):
    """Media that would not load or play."""

    stimulus: str | None
    media: str | None
    rater: str | None
    problem: str
    at: datetime | None


class RatingsPage(BaseModel):
    """A page of ratings; ``next`` is the offset of the page after it."""

    total: Count
    next: int | None
    ratings: list[dict[str, Any]]


class InvitationsRequest(RequestBody):
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


class SnapshotInfo(BaseModel):
    """A frozen state of the study in its folder."""

    name: str
    made: datetime
    hash: str
    ratings: Count
    raters: Count
    stimuli: Count


class FormatInfo(BaseModel):
    """A format the ratings can be written in."""

    name: str
    about: str


class TokenRequest(RequestBody):
    """What a token is for."""

    name: Annotated[str, Field(min_length=1, max_length=100, pattern=r"^[\w.:@-][\w .:@-]*$")]


class TokenInfo(BaseModel):
    """A token, without its text."""

    id: str
    name: str
    made: datetime
    expires: datetime


class TokenMade(TokenInfo):
    """A new token; its text is shown only here."""

    token: str


class RaterInfo(BaseModel):
    """One rater: their progress, and the evidence of carelessness. ``score`` is evidence in powers of ten."""

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
    arm: str | None = None
    screener: str | None = None


class RatersInfo(BaseModel):
    """Every rater, most careless first."""

    change: int
    raters: list[RaterInfo]
    notes: list[str]


class TrialMember(BaseModel):
    """A stimulus of a set as it was presented: judged ones are numbered from 1, a named reference is at place 0."""

    place: int
    stimulus: str
    role: str
    kind: str
    heard: float | None
    media: str | None


class TrialInfo(BaseModel):
    """One presentation of one stimulus or set to one rater, with all that was logged."""

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
    away: float | None
    members: list[TrialMember]
    late: bool
    comment: str | None
    device: str | None
    at: datetime | None


class TrialsInfo(BaseModel):
    """Every trial of a rater, and what they answered about themselves: demographics and questionnaires, by column."""

    rater: str
    about: dict[str, str | float]
    trials: list[TrialInfo]


class BeforeAfter(BaseModel):
    """An estimate as it is and as it would be."""

    question: str
    system: str | None = None
    before: EstimateModel | None
    after: EstimateModel | None


class EffectInfo(BaseModel):
    """What excluding the rater, or restoring one who is excluded, would do."""

    rater: str
    excluded: bool
    ratings: dict[Literal["before", "after"], int]
    alpha: list[BeforeAfter]
    systems: list[BeforeAfter]
    strengths: list[BeforeAfter]


class Exclusion(RequestBody):
    """Why a rater is excluded; stored with the data."""

    reason: Annotated[str, Field(min_length=1, max_length=500)]


class ParticipantInfo(BaseModel):
    """Which rater a recruiter's participant is, how they took part, and what is suggested about paying them."""

    participant: str
    recruiter: str
    rater: str
    session: str | None
    assignment: str | None
    recruiter_study: str | None
    ended: str
    screener: str | None
    arm: str | None
    code: str | None
    trials: Count
    heard: float | None
    impossible: Count
    minutes: float
    arrived: datetime | None
    last_seen: datetime | None
    flags: str | None
    suggestion: str


class ParticipantRequest(RequestBody):
    """A recruiter's participant."""

    participant: Annotated[str, Field(min_length=1, max_length=200)]


class ErasedInfo(BaseModel):
    """What was erased, and the earlier snapshots that still contain it."""

    rater: str
    trials: Count
    snapshots: list[str]


class ResumeLink(BaseModel):
    """A link with which one rater continues in another browser."""

    rater: str
    link: str


class ExclusionInfo(BaseModel):
    """The result: slots reopened by an exclusion, or ratings that count again."""

    rater: str
    excluded: bool
    slots: Count


# --- responses with a list under one key ------------------------------------------------------------------------------


def _listing(key: str, row: type[BaseModel], about: str) -> type[BaseModel]:
    fields: dict[str, Any] = {key: (GenericAlias(list, row), ...)}
    return create_model(f"{key.capitalize()}Info", __doc__=about, **fields)


VersionsInfo = _listing("versions", VersionInfo, "Every version, oldest first.")
FlagsInfo = _listing("flags", FlagInfo, "Every flag, latest first.")
ProblemsInfo = _listing(
    "problems", MediaProblemInfo, "Every media problem; those noticed when the study was opened have no rater."
)
InvitationsInfo = _listing("invitations", InvitationInfo, "Personal links.")
SnapshotsInfo = _listing("snapshots", SnapshotInfo, "Every snapshot, latest first.")
FormatsInfo = _listing("formats", FormatInfo, "Every format that can be written.")
TokensInfo = _listing("tokens", TokenInfo, "Every token that works.")
ParticipantsInfo = _listing("participants", ParticipantInfo, "Everybody who came with a recruiter's id.")
