"""What is known of a rater and of a trial while they can still change."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from heartfelt.collect.assign.plan import Plan
from heartfelt.collect.commands import Ending

Kind: TypeAlias = Literal["practice", "rating", "anchor", "repeat", "attention"]


@dataclass(slots=True, eq=False)
class Trial:
    """One presentation that is held for a rater and not answered yet."""

    id: int
    rater: int
    unit: int | None
    kind: Kind = "rating"
    probe: str | None = None
    repeat: int = 0
    session: int = 0
    position: int = 0
    """Its place in the rater's order, from 1; 0 until it is shown. Practice has no place: it is -1 once shown."""
    leased_at: float = 0.0
    live: bool = True
    """Whether it counts as leased."""
    over: bool = False
    """Whether the rater gave it back on purpose."""
    shows: int | None = None
    """For an attention trial: the unit it shows, so that it looks like the others."""
    machine: dict[str, tuple[str | None, str]] = field(default_factory=dict)
    """Machine values by question: what is shown (None if held back), and whether it is true, hidden or planted."""

    @property
    def shown(self) -> bool:
        """Whether the rater has seen it."""
        return self.position != 0


@dataclass(slots=True, eq=False)
class Rater:
    """Where a rater is on their way."""

    number: int
    id: str
    last: float = 0.0
    until: float = 0.0
    live: bool = False
    """Whether the rater holds leases that run until ``until``."""
    agreed: bool | None = None
    told: bool = False
    heard: bool = False
    instructed: bool = False
    rested: bool = True
    excluded: bool = False
    exhausted: bool = False
    ended: Ending | None = None
    practised: int = 0
    """Practice trials leased so far."""
    answered: int = 0
    """Trials answered, practice aside."""
    on_time: int = 0
    """Ordinary trials answered while they were held."""
    listened_until: float = 0.0
    """The moment up to which the rater's time has been spent on listening."""
    first_seq: int = 0
    """The number of the rater's first fact."""
    positions: int = 0
    """Trials shown, practice aside."""
    sessions: int = 0
    planned: int = 0
    """Ordinary trials planned over all sessions so far."""
    target: int = 0
    """Ordinary trials the rater is to get in all."""
    of: int = 0
    """Trials in all, probes included, as told to the rater."""
    plan: Plan = field(default_factory=Plan)
    """What is left of the session."""
    queue: list[Trial] = field(default_factory=list)
    seen: set[int] = field(default_factory=set)
    tried: set[int] = field(default_factory=set)
    """Units met in practice only: avoided while there are others."""
    cells: set[int] = field(default_factory=set)
    done: list[int] = field(default_factory=list)
    """Units whose ordinary trial was answered."""
    session_units: list[int] = field(default_factory=list)
    times: dict[int, int] = field(default_factory=dict)
    """How often a unit was held for the rater, practice aside: the number of its next repeat."""
    latest: int | None = None
    """The unit of the ordinary trial leased last."""
    values: list[tuple[int, dict[str, float]]] = field(default_factory=list)
    """Answers in an adaptive study, to be taken out again if the rater is left out."""

    @property
    def engaged(self) -> bool:
        """Whether the rater did more than open the link; a link preview does not."""
        return self.agreed is not None or self.told or self.heard or self.instructed
