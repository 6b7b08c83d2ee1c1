"""What may be asked of a running collection, and what it answers.

A command is one transaction: it is done whole and durably, or not at all. ``Collection.do`` takes one and waits;
``Collection.ask`` takes one and can be awaited. Raters are known here by their own id only: who may speak for a rater is
decided by whoever holds the door (the web application signs a cookie).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, TypeAlias, TypeVar

R = TypeVar("R", covariant=True)
Recruiter: TypeAlias = Literal["open", "link", "prolific", "mturk", "simulated"]
Ending: TypeAlias = Literal[
    "complete", "partial", "screened-out", "no-consent", "full", "closed", "left", "wait"
]


class Command(Generic[R]):
    """Something to do in one transaction, answered with an ``R``."""

    __slots__ = ()


# --- what raters ask -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Arrived:
    """A person at the door: who they are from now on, and whether they have been here before."""

    rater: str
    resumed: bool


@dataclass(frozen=True, slots=True)
class Arrive(Command[Arrived]):
    """Somebody comes. The same recruiter's id is the same rater, if whoever brings it can show that they are.

    An id alone is no proof, since others may know it: going on needs the cookie of that rater, the recruiter's own
    session (which only the person's own link carries), or that nothing has been said under this id yet.
    """

    recruiter: Recruiter = "open"
    person: str | None = None
    facts: Mapping[str, str] = field(default_factory=dict)
    """What the recruiter passed along (study, session, assignment)."""
    language: str = "en"
    device: Mapping[str, str | int | float | bool] = field(default_factory=dict)
    proven: tuple[str, ...] = ()
    """The raters this browser has shown to be, by its signed cookies."""


@dataclass(frozen=True, slots=True)
class AskConsent:
    """The rater has to agree, or not, before anything else."""


@dataclass(frozen=True, slots=True)
class AskDemographics:
    """The study's questions about the rater are to be answered."""


@dataclass(frozen=True, slots=True)
class AskHeadphones:
    """The headphone check of the probe is to be taken."""

    probe: str
    trials: int


@dataclass(frozen=True, slots=True)
class ShowInstructions:
    """The instructions are to be read; ``Ready`` goes on."""


@dataclass(frozen=True, slots=True)
class ShowTrial:
    """One stimulus and the questions about it. Whether it is a probe is not told."""

    trial: str
    kind: Literal["practice", "rating", "attention"]
    media: str | None
    """The opaque id under which the media file is served."""
    questions: tuple[str, ...]
    number: int
    """Which trial this is for the rater, from 1, practice aside."""
    of: int
    lease_seconds: float
    prompt: str | None = None
    """The text the stimulus was made from, where a question shows it."""
    words: str | None = None
    """What an attention trial tells the rater to answer, in the rater's language."""
    machine: Mapping[str, str | None] = field(default_factory=dict)
    """Machine-filled values to verify, by question; a value held back on purpose is None."""
    upcoming: tuple[str, ...] = ()
    """Media ids of the next trials, to be fetched ahead."""
    following: tuple[ShowTrial, ...] = ()
    """The next trials themselves, which a rater who is offline can answer; they are shown when they are answered."""


@dataclass(frozen=True, slots=True)
class TakeBreak:
    """Time for a break after ``done`` of ``of`` trials; ``Ready`` goes on."""

    done: int
    of: int


@dataclass(frozen=True, slots=True)
class TheEnd:
    """Nothing more to do for this rater: why, and the code that says so to the recruiter."""

    ending: Ending
    code: str | None = None
    url: str | None = None
    """Where the recruiter wants the rater back."""
    retry_seconds: float | None = None
    """For ``wait``: when to ask again."""


Step: TypeAlias = (
    AskConsent | AskDemographics | AskHeadphones | ShowInstructions | ShowTrial | TakeBreak | TheEnd
)


@dataclass(frozen=True, slots=True)
class Next(Command[Step]):
    """Where the rater is. Asking again gives the same trial again, with its lease renewed."""

    rater: str


@dataclass(frozen=True, slots=True)
class Consent(Command[Step]):
    """The rater agrees or does not."""

    rater: str
    agreed: bool


@dataclass(frozen=True, slots=True)
class Demographics(Command[Step]):
    """The rater's answers about themselves, by demographic id."""

    rater: str
    answers: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Headphones(Command[Step]):
    """What the rater answered in the headphone check, and what would have been right."""

    rater: str
    probe: str
    given: Sequence[int]
    right: Sequence[int]


@dataclass(frozen=True, slots=True)
class Ready(Command[Step]):
    """The rater has read the instructions, or had their break."""

    rater: str


@dataclass(frozen=True, slots=True)
class Heard:
    """How a trial went: kept with every answer."""

    seconds: float | None = None
    """Time to answer, net of the clip's own length."""
    first_play: float | None = None
    """Seconds from the trial's start to the first play."""
    plays: int = 0
    intervals: tuple[tuple[float, float], ...] = ()
    """Stretches of the clip that were heard, in seconds of the clip."""
    focus_losses: int = 0
    changes: tuple[tuple[float, str, str], ...] = ()
    """Every change of an answer: seconds from the trial's start, question, value."""
    device: str | None = None
    """Class of device: phone, tablet, computer."""
    began: float | None = None
    """When the trial was shown, by the client's clock (seconds since 1970)."""


@dataclass(frozen=True, slots=True)
class Receipt:
    """What became of an answer. Only ``stored``, ``already`` and ``late`` mean it is kept."""

    trial: str
    status: Literal["stored", "already", "late"]
    then: Step | None = None


@dataclass(frozen=True, slots=True)
class Answer(Command[Receipt]):
    """The answers to a trial's questions. ``key`` is made by the client: the same key is the same answer, sent again."""

    rater: str
    trial: str
    key: str
    values: Mapping[str, Any]
    verdicts: Mapping[str, Literal["accepted", "fixed", "rejected"]] = field(default_factory=dict)
    """For questions a machine filled in first: what the rater made of its value."""
    comment: str | None = None
    heard: Heard = Heard()
    go_on: bool = True
    """Whether the receipt brings the next step, in the same transaction."""


@dataclass(frozen=True, slots=True)
class Beat(Command[float]):
    """The rater is still there; answered with the seconds the lease now lasts."""

    rater: str
    trial: str


@dataclass(frozen=True, slots=True)
class Flag(Command[Step]):
    """The rater finds something wrong with a stimulus. With ``skip`` the trial is given back and the next one comes."""

    rater: str
    trial: str
    reason: str
    comment: str | None = None
    skip: bool = False


@dataclass(frozen=True, slots=True)
class MediaProblem(Command[Step]):
    """The media would not load or play: skipped for this rater, shown to the researcher, the slot given back."""

    rater: str
    trial: str
    problem: str


@dataclass(frozen=True, slots=True)
class Leave(Command[TheEnd]):
    """The rater stops for good; open slots are given back at once."""

    rater: str


# --- what researchers ask --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Exclude(Command[int]):
    """Leave a rater out; their slots open again. Answered with the number of slots reopened."""

    rater: str
    reason: str
    by: str = "researcher"


@dataclass(frozen=True, slots=True)
class Restore(Command[int]):
    """Take a rater back in; answered with the number of ratings that count again."""

    rater: str
    by: str = "researcher"


@dataclass(frozen=True, slots=True)
class Settings:
    """How the study takes raters now."""

    open: bool
    cap: int | None
    """The most raters it takes; no limit if None."""
    code_complete: str
    code_screened_out: str
    code_no_consent: str
    code_full: str | None = None
    """For people who were turned away because the study is full or closed."""
    code_partial: str | None = None
    """For people who left, or who found too little left to rate."""
    return_url: str | None = None
    """Where raters go at the end; ``{code}`` stands for the code."""
    ratings_per_item: int | None = None
    """A quota that was raised while the study runs; what ``study.yaml`` says if None or higher there."""


@dataclass(frozen=True, slots=True)
class Change(Command[Settings]):
    """Change settings by name: those of :class:`Settings`. A quota can only be raised."""

    settings: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Erased:
    """What was erased of one person."""

    rater: str
    trials: int
    """Answered trials, practice aside."""


@dataclass(frozen=True, slots=True)
class Erase(Command[Erased]):
    """Delete everything one person said, by the rater's id or the recruiter's; their places open again."""

    rater: str | None = None
    participant: str | None = None


@dataclass(frozen=True, slots=True)
class Invite(Command[tuple[str, ...]]):
    """Make ``count`` personal invitations; answered with their ids, to be signed into links."""

    count: int
    note: str | None = None
