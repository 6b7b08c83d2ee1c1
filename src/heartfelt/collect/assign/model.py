"""The data of assignment: journal events, the design in plain numbers, session plans, raters and trials.

The journal is the record all decisions follow from; the state of a collection is the sum of its events, in every process
alike. Kinds of events (as stored):

| kind | what happened | carries |
|---|---|---|
| arrived | a new rater came | words: the rater's id |
| consented | the rater agreed or not | number: 1 or 0 |
| told | the demographic questions were answered | number: 1, or 0 if screened out; words: the answers |
| questioned | a page of a questionnaire was answered | words: before, after or between:ID@trials, its questions, the answers |
| heard | the headphone check was taken | number: 1, or 0 if screened out |
| failed | an attention trial that screens out was answered otherwise than asked | words: the probe |
| screened | a screener of the study ends the session; ``ended`` follows | words: the screener |
| assigned | the rater is in an arm from now on | words: the arm |
| ready | instructions read, or a break over | |
| planned | the next session was planned | number: trials in all; words: its slots |
| leased | a trial is reserved for the rater | trial, unit; words: its kind, if not an ordinary rating; a set's order |
| retaken | a lapsed lease is renewed | trial |
| shown | a trial was shown | trial; number: its place in the order |
| answered | a trial was answered | trial; number: 1 if late; words: values that steer; "": seconds listened; " ": impossible |
| returned | a trial was given back | trial; words: why |
| passed | a slot of the plan could not be filled | |
| exhausted | nothing is left for the rater | |
| renewed | the rater is still there | |
| lapsed | the rater's leases expired | |
| ended | the rater's session ended | words: how |
| revisited | the next of several sessions days apart began | number: which |
| resumed | a rater turned away because the study was full gets a place after all | |
| excluded, restored | a researcher excluded the rater, or restored them | |
| erased | everything about the rater was deleted | trial: the highest so far; number: trials answered |
| declined | the rater declined consent, and nothing was kept | trial: the highest so far |
| set | settings changed | words: the settings |
| adjudicated | a senior rater decided an item | words: stimulus, question and the decision's key |
| noted | something else was stored | |
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Literal, NamedTuple, TypeAlias

from heartfelt.collect.messages.commands import Ending
from heartfelt.study.model import AnchorProbe, AttentionProbe, Probe, RepeatProbe
from heartfelt.study.scales.answer import Coded

TrialKind: TypeAlias = Literal["practice", "rating", "anchor", "repeat", "attention"]
Slot: TypeAlias = tuple[str, str, int]
"""A place in a plan: kind, probe, and for a repeat which of the session's ordinary trials comes again."""
ORDINARY: Slot = ("rating", "", -1)
LISTENED = ""
"""Among the values of an answer, the seconds that were spent listening; no question has this id."""
IMPOSSIBLE = " "
"""Among the values of an answer, that its listening was impossible; no question's id begins with a space."""


class Event(NamedTuple):
    """One row of the journal; the fields are the table's columns."""

    seq: int
    at: float
    kind: str
    rater: int | None = None
    trial: int | None = None
    unit: int | None = None
    number: float | None = None
    words: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AssignmentUnits:
    """The units of a study and the rules of its design: a unit is a stimulus or a set with its questions, or one item."""

    size: int
    """One more than the highest unit number."""
    units: Sequence[int]
    """Units assigned in the ordinary way."""
    quota: int
    common: Sequence[int] = ()
    """Units that every rater gets; they have no quota."""
    cell: Mapping[int, int] = field(default_factory=dict)
    """The combination a rater meets at most once, by unit; empty if the design has no such rule."""
    block: Mapping[int, int] = field(default_factory=dict)
    """The block or the condition of a unit; empty if the order does not depend on one."""
    order: Literal["random", "blocks", "latin-square", "manifest"] = "random"
    lease: float = 180.0
    adaptive: bool = False
    minimum: int = 1
    spans: Mapping[str, float] = field(default_factory=dict)
    """In an adaptive study, the range of each ordered question; 0 for nominal ones."""
    contestants: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    """For units that are sets: the system of each member as a number; -1 for one that is shown but not judged."""
    leading: Mapping[int, int] = field(default_factory=dict)
    """For sets whose reference always comes first: which member that is."""
    matching: bool = False
    """Whether a set is shown with one of its members a second time, to be matched (ABX)."""
    arms: Mapping[str, AssignmentUnits] = field(default_factory=dict)
    """The part of the layout that each arm shows; empty for a study without arms."""

    def with_quota(self, quota: int) -> AssignmentUnits:
        """The same with another number of ratings per unit, in every arm."""
        arms = {name: arm.with_quota(quota) for name, arm in self.arms.items()}
        return replace(self, quota=quota, arms=arms)

    @property
    def counted(self) -> list[int]:
        """Every unit whose ratings count: those with a quota, then those that every rater gets."""
        return [*self.units, *self.common]

    @property
    def levels(self) -> int:
        """Ratings a unit gets before anything but the count decides."""
        return min(self.minimum, self.quota) if self.adaptive else self.quota

    @property
    def most(self) -> int:
        """Ordinary trials one rater can get at most."""
        if self.arms:
            return max(arm.most for arm in self.arms.values())
        return len(self.common) + (len(set(self.cell.values())) if self.cell else len(self.units))


class SessionPlan:
    """What is left of a session's plan. Only the probes are listed: every other slot is ordinary."""

    __slots__ = ("_again", "_length", "_next", "_probes")

    def __init__(self, length: int = 0, probes: Iterable[tuple[int, Slot]] = ()) -> None:
        self._length = length
        self._probes = deque(probes)
        self._next = self._again = 0

    def __len__(self) -> int:
        return self._length - self._next + self._again

    @property
    def head(self) -> Slot:
        if not self._again and self._probes and self._probes[0][0] == self._next:
            return self._probes[0][1]
        return ORDINARY

    def advance(self) -> None:
        if self._again:
            self._again -= 1
            return
        if self._probes and self._probes[0][0] == self._next:
            self._probes.popleft()
        self._next += 1

    def repeat_ordinary(self) -> None:
        """Put an ordinary slot in front, for a trial that was given back."""
        self._again += 1

    def clear(self) -> None:
        self._length = self._next = self._again = 0
        self._probes.clear()


def session_plan(ordinary: int, probes: Sequence[Probe], rng: Random) -> list[Slot]:
    """The slots of a session with ``ordinary`` ordinary trials and the study's probes at random places.

    A session is what lies between two breaks. Every probe comes as often as its ``per_session`` says, none opens a
    session, and a repeat keeps its distance from the first presentation as far as the session is long enough.
    """
    slots: list[Slot] = [ORDINARY] * ordinary
    for probe in probes:
        if isinstance(probe, AnchorProbe | AttentionProbe):
            for _ in range(probe.per_session):
                slots.insert(rng.randint(1, len(slots)) if slots else 0, (probe.type, probe.id, -1))
    for probe in probes:
        if isinstance(probe, RepeatProbe):
            _insert_repeats(slots, probe, ordinary, rng)
    return slots


def _insert_repeats(slots: list[Slot], probe: RepeatProbe, ordinary: int, rng: Random) -> None:
    repeated = {source for kind, _, source in slots if kind == "repeat"}
    for _ in range(probe.per_session):
        positions = [position for position, slot in enumerate(slots) if slot[0] == "rating"]
        gap = min(probe.gap, len(slots) - 2)
        free = [s for s in range(ordinary) if s not in repeated and positions[s] + gap + 1 <= len(slots)]
        if gap < 1 or not free:
            return
        source = rng.choice(free)
        repeated.add(source)
        slots.insert(rng.randint(positions[source] + gap + 1, len(slots)), ("repeat", probe.id, source))


def probes_each_session(probes: Sequence[Probe]) -> int:
    """How many trials of a session are probes."""
    return sum(p.per_session for p in probes if isinstance(p, AnchorProbe | AttentionProbe | RepeatProbe))


@dataclass(slots=True, eq=False, kw_only=True)
class ReservedTrial:
    """One presentation that is reserved for a rater and not answered yet."""

    id: int
    rater: int
    unit: int | None
    kind: TrialKind = "rating"
    probe: str | None = None
    repeat: int = 0
    session: int = 0
    position: int = 0
    """Its place in the rater's order, from 1; 0 until it is shown. Practice has no place: it is -1 once shown."""
    leased_at: float = 0.0
    live: bool = True
    """Whether its lease counts."""
    closed: bool = False
    """Whether the rater gave it back on purpose."""
    shows: int | None = None
    """For an attention trial: the unit it displays, so that it looks like the others."""
    machine: dict[str, tuple[str | None, str]] = field(default_factory=dict)
    """Machine values by question: what is displayed (None if withheld), and whether it is true, hidden or planted."""
    order: Sequence[int] = ()
    """For a set: which of its members is presented at each place; in an ABX trial the last one is X."""
    members: str = ""
    """For a set: the signature of its members, which an edit of the study may change."""

    @property
    def shown(self) -> bool:
        """Whether the rater has seen it."""
        return self.position != 0


@dataclass(slots=True, eq=False, kw_only=True)
class Rater:
    """The progress of one rater."""

    number: int
    id: str
    last: float = 0.0
    """When the rater last did something."""
    until: float = 0.0
    """When the rater's leases expire."""
    live: bool = False
    """Whether the rater holds leases."""
    consented: bool | None = None
    demographics_done: bool = False
    headphones_done: bool = False
    facts: dict[tuple[str, str], Coded] = field(default_factory=dict)
    """Answers about the rater, which conditions may test: by ``about``, ``before`` or ``after`` and the question."""
    questioned: set[tuple[str, str]] = field(default_factory=set)
    """Questions of questionnaires that the rater has passed, answered or not."""
    instructed: bool = False
    rested: bool = True
    excluded: bool = False
    screener: str | None = None
    """The screener of the study that screened the rater out."""
    failures: dict[str, int] = field(default_factory=dict)
    """Attention trials answered otherwise than asked, by probe, where that can screen out."""
    arm: str = ""
    """The rater's arm; empty before they are in one, and in a study without arms."""
    exhausted: bool = False
    ended: Ending | None = None
    ended_at: float = 0.0
    visit: int = 1
    """Which of the study's sessions, days apart, the rater is in."""
    earlier_answers: int = 0
    """Trials answered in sessions on earlier days."""
    earlier_sessions: int = 0
    """Sessions between breaks on earlier days."""
    practised: int = 0
    """Practice trials leased so far."""
    answered: int = 0
    """Trials answered, not counting practice."""
    on_time: int = 0
    """Ordinary trials answered before their lease expired."""
    listened_until: float = 0.0
    """The moment up to which the rater's time has been spent on listening."""
    impossible: int = 0
    """Trials whose listening was impossible, not counting practice."""
    first_seq: int = 0
    """The number of the rater's first event."""
    positions: int = 0
    """Trials shown, not counting practice."""
    sessions: int = 0
    planned: int = 0
    """Ordinary trials planned over all sessions so far."""
    target: int = 0
    """Ordinary trials the rater is to get in all."""
    of: int = 0
    """Trials in all, probes included, as displayed to the rater."""
    plan: SessionPlan = field(default_factory=SessionPlan)
    queue: list[ReservedTrial] = field(default_factory=list)
    """Trials reserved for the rater, in order; the first is the one on screen."""
    seen: set[int] = field(default_factory=set)
    practised_units: set[int] = field(default_factory=set)
    """Units met in practice only: avoided while there are others."""
    cells: set[int] = field(default_factory=set)
    rated_units: list[int] = field(default_factory=list)
    session_units: list[int] = field(default_factory=list)
    presentations: dict[int, int] = field(default_factory=dict)
    """How often each unit was reserved for the rater, not counting practice: the number of its next repeat."""
    latest: int | None = None
    """The unit of the ordinary trial leased last."""
    values: list[tuple[int, dict[str, float]]] = field(default_factory=list)
    """Answers in an adaptive study, to be subtracted if the rater is excluded."""
    orders: dict[int, list[Sequence[int]]] = field(default_factory=dict)
    """The orders in which the rater was to meet each set, not counting practice."""

    @property
    def counts(self) -> bool:
        """Whether the rater's ratings count towards quotas."""
        return not self.excluded and self.screener is None

    @property
    def engaged(self) -> bool:
        """Whether the rater did more than open the link; a link preview does not."""
        begun = self.consented is not None or self.demographics_done or self.headphones_done or self.instructed
        return begun or self.visit > 1

    @property
    def answered_now(self) -> int:
        """Trials answered in the session of this day, not counting practice."""
        return self.answered - self.earlier_answers
