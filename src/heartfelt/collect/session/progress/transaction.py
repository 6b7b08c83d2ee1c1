"""One transaction in the making: events that are applied to the state at once, and rows to be stored with them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any, TypeAlias

from heartfelt.collect.assign import Event, State
from heartfelt.collect.assign.model import Rater, ReservedTrial
from heartfelt.collect.material import StudyUnits, Unit
from heartfelt.collect.messages.commands import AdmissionSettings, CollectOptions, SessionEnd
from heartfelt.collect.messages.errors import UnknownRater
from heartfelt.study import Study

_LONGEST = 20_000
_LARGEST = 2**31 - 1
Statement: TypeAlias = tuple[str, Mapping[str, Any]]
Mark: TypeAlias = tuple[int, int, int, int]


@dataclass(slots=True, kw_only=True)
class Context:
    """What stays the same from one transaction to the next."""

    material: StudyUnits
    options: CollectOptions
    secret: bytes
    version: int
    rng: Random
    new_id: Callable[[], str]
    persons: dict[str, str] = field(default_factory=dict)
    """Rater ids by the hash of their recruiter's id."""
    languages: dict[str, str] = field(default_factory=dict)
    """The language each rater came in, by their id."""
    invitations: set[str] = field(default_factory=set)
    adjudicators: dict[str, bool] = field(default_factory=dict)
    """Whether each senior rater's link is valid, by their id."""
    sessions: dict[str, frozenset[str]] = field(default_factory=dict)
    """Hashes of the recruiter's own sessions of each rater, by the rater's id."""
    gone: dict[str, SessionEnd] = field(default_factory=dict)
    """What the last people who declined or withdrew are shown after a reload, by random ids. Never stored."""

    def recognize(self, row: Mapping[str, Any]) -> None:
        """Remember a row of the table of raters, to recognise the person by the hash of their recruiter's id."""
        facts = json.loads(row["facts"])
        self.languages[row["rater"]] = row["language"]
        self.sessions[row["rater"]] = session_keys(facts)
        if row["person"] is not None:
            self.persons[row["person"]] = row["rater"]

    def forget(self, rater: str) -> None:
        """Forget everything that was remembered of a rater."""
        self.languages.pop(rater, None)
        self.sessions.pop(rater, None)
        for person in [person for person, name in self.persons.items() if name == rater]:
            del self.persons[person]


@dataclass(slots=True, kw_only=True)
class Transaction:
    """The effects of the commands of one transaction so far."""

    context: Context
    state: State
    now: float
    events: list[Event] = field(default_factory=list)
    rows: list[tuple[str, dict[str, object]]] = field(default_factory=list)
    """Rows to be inserted, each with its table's name."""
    before_rows: list[Statement] = field(default_factory=list)
    after_rows: list[Statement] = field(default_factory=list)

    @property
    def material(self) -> StudyUnits:
        return self.context.material

    @property
    def study(self) -> Study:
        return self.context.material.study

    @property
    def settings(self) -> AdmissionSettings:
        return settings_of(self.state)

    def rater(self, name: str) -> Rater:
        rater = self.state.by_id.get(name)
        if rater is None:
            raise UnknownRater(
                "This study does not know you.", "Open the link you were given again, from its beginning."
            )
        return rater

    def unit_of(self, trial: ReservedTrial) -> Unit | None:
        """The unit a trial is about, if the study still has it."""
        return None if trial.unit is None else self.material.units.get(trial.unit)

    def stimulus_of(self, trial: ReservedTrial) -> str | None:
        """The stimulus that is stored with what is said about a trial; None for a trial about none."""
        unit = self.unit_of(trial)
        return None if unit is None else unit.stimulus

    def record(
        self,
        kind: str,
        rater: int | None = None,
        trial: int | None = None,
        unit: int | None = None,
        number: float | None = None,
        words: str | None = None,
    ) -> int:
        """Add an event and apply it; returns its number in the journal."""
        event = Event(
            seq=self.state.seq + 1,
            at=self.now,
            kind=kind,
            rater=rater,
            trial=trial,
            unit=unit,
            number=number,
            words=words,
        )
        self.state.apply(event)
        self.events.append(event)
        return event.seq

    def insert(self, table: str, **values: Any) -> None:
        """Insert a row: a value for every column of the table."""
        self.rows.append((table, values))

    def insert_about(self, rater: Rater, table: str, **values: Any) -> None:
        """Insert a row about a rater, stored at this moment."""
        self.insert(table, rater=rater.number, at=self.now, **values)

    def set_value(self, name: str, value: str) -> None:
        """Store a value under a name, replacing an older one."""
        insert = "INSERT INTO kept (name, value) VALUES (:name, :value)"
        self.after_rows.append(("DELETE FROM kept WHERE name = :name", {"name": name}))
        self.after_rows.append((insert, {"name": name, "value": value}))

    def mark(self) -> Mark:
        """Where the transaction stands, to roll back to if a command fails."""
        return len(self.events), len(self.rows), len(self.before_rows), len(self.after_rows)

    def roll_back(self, mark: Mark) -> None:
        """Drop the events and rows after ``mark``; the state has to be rebuilt."""
        effects: tuple[list[Any], ...] = (self.events, self.rows, self.before_rows, self.after_rows)
        for effect, length in zip(effects, mark, strict=True):
            del effect[length:]


def session_keys(facts: Mapping[str, str]) -> frozenset[str]:
    """Of a recruiter's hashed facts, those that only the person's own link carries."""
    return frozenset(facts[name] for name in ("session", "assignment") if facts.get(name))


def settings_of(state: State) -> AdmissionSettings:
    """The settings of a state, without what else is stored among them."""
    field_names = AdmissionSettings.__dataclass_fields__
    return AdmissionSettings(**{name: value for name, value in state.settings.items() if name in field_names})


def clean(text: str | None, longest: int = _LONGEST) -> str | None:
    """Text that every database accepts: no null bytes, no lone surrogates, not too long."""
    # The usual case first: this is called for every text of every answer.
    if text is None or (type(text) is str and len(text) <= longest and text.isalnum() and text.isascii()):
        return text
    return str(text)[:longest].encode("utf-8", "replace").decode().replace("\x00", "")


def plain_json(content: Any, longest: int = _LONGEST) -> str:
    """Small plain data as JSON text; data that is too large or not plain is replaced by a note."""
    try:
        text = json.dumps(content, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError):
        return json.dumps({"dropped": "not plain data"})
    # An escaped null byte would become a real one when the JSON is read.
    return text.replace("\\u0000", "") if len(text) <= longest else json.dumps({"dropped": "too long"})


def seconds(value: Any) -> float | None:
    """A duration or a moment that is a finite number, else None."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if abs(value) < 1e15 else None


def count(value: Any) -> int:
    """A count that fits the database."""
    return max(0, min(int(value), _LARGEST)) if isinstance(value, int | float) and abs(value) < 1e15 else 0
