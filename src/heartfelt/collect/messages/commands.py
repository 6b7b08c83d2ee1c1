"""The commands a running collection takes, and their results.

A command is one transaction: it is done completely and durably, or not at all. ``Collection.do`` takes one and waits;
``Collection.ask`` takes one and can be awaited. Raters are identified by their own id only: authentication is the
caller's job (the web application signs a cookie).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, TypeAlias, TypeVar

from heartfelt.errors import InputError
from heartfelt.formats.study_folder.drafts import Boxes
from heartfelt.study.model import Text

R = TypeVar("R", covariant=True)
Recruiter: TypeAlias = Literal["open", "link", "prolific", "mturk", "simulated"]
Verdict: TypeAlias = Literal["accepted", "fixed", "rejected"]
Ending: TypeAlias = Literal[
    "complete",
    "review",
    "partial",
    "screened-out",
    "no-consent",
    "full",
    "closed",
    "left",
    "wait",
    "withdrawn",
    "later",
    "too-late",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectOptions:
    """How a collection runs, beyond what the study's design says."""

    ahead: int = 2
    """Trials reserved for a rater beyond the one shown, so that their media can be fetched ahead."""
    least_lease: float = 180.0
    """Minimum duration of a lease in seconds; longer if four times the expected duration of a trial is longer."""
    hidden: float | None = None
    """Share of machine values that are withheld, to see what people answer without them; as in the design if None."""
    planted: float | None = None
    """Share of machine values that are wrong on purpose, to see who accepts anything; as in the design if None."""
    seed: int | None = None
    """Seed of every draw, for simulations and tests; from the operating system if None."""
    durable: bool = True
    """Whether a commit waits for the disk. Turn it off only for a store that may be lost."""

    def __post_init__(self) -> None:
        hidden, planted = self.hidden or 0.0, self.planted or 0.0
        if not 0 <= hidden <= 1 or not 0 <= planted <= 1 or hidden + planted > 1:
            raise InputError(
                f"The shares of hidden ({hidden:g}) and planted ({planted:g}) values are invalid.",
                "Give two shares between 0 and 1 that sum to at most 1.",
            )
        if self.ahead < 0 or self.least_lease <= 0:
            raise InputError(
                f"Invalid options: ahead = {self.ahead}, least_lease = {self.least_lease:g} s.",
                "ahead must be at least 0, and least_lease must be positive.",
            )


class Command(Generic[R]):
    """Something to do in one transaction, with a result of type ``R``."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class RaterCommand(Command[R]):
    """A command that concerns one rater."""

    rater: str


@dataclass(frozen=True, slots=True)
class TrialCommand(RaterCommand[R]):
    """A command that concerns one of the rater's trials."""

    trial: str


# --- steps: what a rater is to do next --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class AskConsent:
    """The rater has to agree or decline before anything else."""

    boxes: tuple[str, ...] = ()
    """Boxes that must be ticked to agree."""


@dataclass(frozen=True, slots=True)
class AskDemographics:
    """The rater has to answer the study's demographic questions."""


@dataclass(frozen=True, slots=True)
class AskQuestionnaire:
    """The rater has to answer a page of a questionnaire; some of its questions may depend on others of the page."""

    time: str
    """``before``, ``after``, or one time that a questionnaire between trials comes, such as ``between:mood@12``."""
    questions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AskHeadphones:
    """The rater has to take the probe's headphone check."""

    probe: str
    trials: int


@dataclass(frozen=True, slots=True)
class ShowInstructions:
    """The rater has to read the instructions; ``Ready`` continues."""

    text: Text | None = None
    """The instructions of the rater's arm, where it has its own."""


@dataclass(frozen=True, slots=True)
class ShownMember:
    """A stimulus of a set as the rater meets it: nothing says which system made it, or that it is a hidden reference."""

    media: str | None
    """The opaque id of its media file. The rating pages see another name at every place, also for the same file."""
    kind: Literal["judged", "reference", "x"] = "judged"
    """``reference`` and ``x`` are named as such; all others are judged."""
    prompt: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowTrial:
    """One stimulus or set and the questions about it. It does not say whether it is a probe."""

    trial: str
    kind: Literal["practice", "rating", "attention"]
    media: str | None
    """The opaque id under which the media file is served."""
    questions: tuple[str, ...]
    number: int
    """Which trial this is for the rater, from 1, not counting practice."""
    of: int
    lease_seconds: float
    prompt: str | None = None
    """The text the stimulus was made from, where a question shows it."""
    words: str | None = None
    """What an attention trial tells the rater to answer, in the rater's language."""
    machine: Mapping[str, str | None] = field(default_factory=dict)
    """Machine-filled values to verify, by question; a value withheld on purpose is None."""
    boxes: Mapping[str, Boxes] = field(default_factory=dict)
    """Where the machine saw what its values say, by question."""
    limits: Mapping[str, str] = field(default_factory=dict)
    """What the machines that filled values in cannot see, by question."""
    members: tuple[ShownMember, ...] = ()
    """The stimuli of a set in the order this rater meets them; empty where ``media`` is the one stimulus."""
    unit: int | None = None
    """The unit that is the set; None where ``media`` is the one stimulus."""
    following: tuple[ShowTrial, ...] = ()
    """The next trials, to be fetched ahead; a rater who is offline can answer them."""


@dataclass(frozen=True, slots=True)
class TakeBreak:
    """Time for a break after ``done`` of ``of`` trials; ``Ready`` continues."""

    done: int
    of: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionEnd:
    """Nothing is left to do for this rater: why, and the code that reports it to the recruiter."""

    ending: Ending
    code: str | None = None
    url: str | None = None
    """Where the recruiter wants the rater to go."""
    retry_seconds: float | None = None
    """For ``wait``: when to ask again."""
    text: Text | None = None
    """What the screener says that screened the rater out."""
    opens: float | None = None
    """For ``later``: when the next session opens, in seconds since 1970."""
    opens_in: float | None = None
    """For ``later``: the seconds until then."""
    closes: float | None = None
    """For ``later``: until when the next session is open; None if for good."""


Step: TypeAlias = (
    AskConsent
    | AskDemographics
    | AskQuestionnaire
    | AskHeadphones
    | ShowInstructions
    | ShowTrial
    | TakeBreak
    | SessionEnd
)

# --- commands of raters -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Arrived:
    """Who the person is from now on, and whether they have been here before."""

    rater: str
    resumed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrive(Command[Arrived]):
    """Somebody comes. The same recruiter's id is the same rater, provided the person can prove it.

    An id alone is no proof, since others may know it: continuing needs the cookie of that rater, the recruiter's own
    session (which only the person's own link carries), or that nothing has been answered under this id yet.
    """

    recruiter: Recruiter = "open"
    person: str | None = None
    facts: Mapping[str, str] = field(default_factory=dict)
    """What the recruiter passed along (study, session, assignment)."""
    language: str = "en"
    device: Mapping[str, str | int | float | bool] = field(default_factory=dict)
    proven: tuple[str, ...] = ()
    """The raters this browser is proven to be, by its signed cookies."""
    arm: str | None = None
    """The arm to be in, for a preview; people are assigned to one before the instructions."""


class Next(RaterCommand[Step]):
    """The rater's current step. Asking again returns the same trial, with its lease renewed."""


@dataclass(frozen=True, slots=True)
class GiveConsent(RaterCommand[Step]):
    """The rater agrees or declines."""

    agreed: bool
    ticked: Sequence[str] = ()
    """The boxes that were ticked."""
    language: str | None = None
    """The language the page was read in, which says which document was shown."""


@dataclass(frozen=True, slots=True)
class Demographics(RaterCommand[Step]):
    """The rater's answers about themselves, by demographic id."""

    answers: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Questionnaire(RaterCommand[Step]):
    """The rater's answers to a page of a questionnaire, by question; ``questions`` are all that the page had."""

    time: str
    questions: Sequence[str]
    answers: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Headphones(RaterCommand[Step]):
    """The rater's answers in the headphone check: of each round, the place of the tone they took for the quietest, from 1."""

    probe: str
    given: Sequence[int]


class Ready(RaterCommand[Step]):
    """The rater has read the instructions, or finished their break."""


@dataclass(frozen=True, slots=True)
class FieldLog:
    """How one question of a trial was answered."""

    first: Any = None
    """The first answer, where it was changed before the trial was sent; ``REJECTED`` for a rejected machine value."""
    seconds: float | None = None
    """Time spent on the question. Those of a trial's questions add up to the time the trial took."""
    keystrokes: int | None = None
    """Keys pressed, and taps or clicks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialLog:
    """How a trial went: stored with every answer."""

    seconds: float | None = None
    """Time from when the stimulus was there until the answer was sent, less the clips heard to the end by then."""
    first_play: float | None = None
    """Seconds from the trial's start to the first play."""
    plays: int = 0
    intervals: tuple[tuple[float, float], ...] = ()
    """Parts of the clip that were played, in seconds of the clip."""
    played: tuple[tuple[tuple[float, float], ...], ...] = ()
    """For a set: the parts that were played of each member, in the order of ``ShowTrial.members``."""
    away: float = 0.0
    """Seconds the page was in the background while a clip played."""
    focus_losses: int = 0
    changes: tuple[tuple[float, str, str], ...] = ()
    """Every change of an answer: seconds from the trial's start, question, value."""
    device: str | None = None
    """Class of device: phone, tablet, computer."""
    began: float | None = None
    """When the trial was shown, by the client's clock (seconds since 1970)."""
    fields: Mapping[str, FieldLog] = field(default_factory=dict)
    """How each question was answered."""


@dataclass(frozen=True, slots=True)
class Receipt:
    """What became of an answer. It is stored in every case; ``late`` means after its lease expired."""

    trial: str
    status: Literal["stored", "already", "late"]
    next_step: Step | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer(TrialCommand[Receipt]):
    """The answers to a trial's questions. ``key`` is made by the client: the same key is the same answer, sent again."""

    key: str
    values: Mapping[str, Any]
    verdicts: Mapping[str, Verdict] = field(default_factory=dict)
    """For questions a machine filled in first: the rater's verdict on its value."""
    comment: str | None = None
    log: TrialLog = TrialLog()
    wants_next: bool = True
    """Whether the receipt carries the next step, from the same transaction."""


class Heartbeat(TrialCommand[float]):
    """The rater is still there; the result is the remaining seconds of the lease."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Flag(TrialCommand[Step]):
    """The rater reports a problem with a stimulus. With ``skip`` the trial is given back and the next one comes."""

    reason: str
    comment: str | None = None
    skip: bool = False


@dataclass(frozen=True, slots=True)
class MediaProblem(TrialCommand[Step]):
    """The media would not load or play: skipped for this rater, reported to the researcher, the slot given back."""

    problem: str


class Withdraw(RaterCommand[SessionEnd]):
    """The rater withdraws after the debriefing: everything about them is erased, and the code stays theirs."""


class Leave(RaterCommand[SessionEnd]):
    """The rater stops for good; open slots are given back at once."""


# --- commands of researchers ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Exclude(RaterCommand[int]):
    """Exclude a rater; their slots open again. The result is the number of slots reopened."""

    reason: str
    by: str = "researcher"


@dataclass(frozen=True, slots=True)
class Restore(RaterCommand[int]):
    """Restore an excluded rater; the result is the number of ratings that count again."""

    by: str = "researcher"


@dataclass(frozen=True, slots=True, kw_only=True)
class AdmissionSettings:
    """How the study admits raters now."""

    open: bool
    cap: int | None
    """The most raters it admits; no limit if None."""
    code_complete: str
    code_screened_out: str
    code_no_consent: str
    code_full: str | None = None
    """For people turned away because the study is full or closed."""
    code_partial: str | None = None
    """For people who left, or who found too little left to rate."""
    code_review: str | None = None
    """For people who finished, but whose listening was too often impossible."""
    code_screeners: Mapping[str, str] = field(default_factory=dict)
    """For people screened out by a screener of the study, by its id."""
    code_session: str | None = None
    """For a session that is not the last; its number follows, unless ``study.yaml`` has a code for it."""
    return_url: str | None = None
    """Where raters go at the end; ``{code}`` is replaced by the code."""
    ratings_per_item: int | None = None
    """A quota that was raised while the study runs; that of ``study.yaml`` if None or higher there."""


@dataclass(frozen=True, slots=True)
class ChangeSettings(Command[AdmissionSettings]):
    """Change settings by name: those of :class:`AdmissionSettings`. A quota can only be raised."""

    settings: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Erased:
    """What was erased of one person."""

    rater: str
    trials: int
    """Answered trials, not counting practice."""


@dataclass(frozen=True, slots=True)
class Erase(Command[Erased]):
    """Delete everything about one person, by the rater's id or the recruiter's; their slots open again."""

    rater: str | None = None
    participant: str | None = None


@dataclass(frozen=True, slots=True)
class Invite(Command[tuple[str, ...]]):
    """Make ``count`` personal invitations; the result is their ids, to be signed into links."""

    count: int
    note: str | None = None
