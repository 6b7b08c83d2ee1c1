"""The in-memory state of a store: built from the journal, kept up to date with it, dropped when in doubt."""

from __future__ import annotations

import json
import secrets
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from random import Random
from typing import Any

from sqlalchemy import Connection, text

from heartfelt.collect.assign import Event, State
from heartfelt.collect.material import make_material, raised, unit_names, with_quota
from heartfelt.collect.messages.commands import CollectOptions
from heartfelt.collect.session.progress.transaction import Context, Transaction
from heartfelt.collect.session.researcher import RAISED_QUOTA, first_settings
from heartfelt.collect.store import Database
from heartfelt.collect.versions import Edit, changed_sets, edits, edits_text, refuse, removed_stimuli
from heartfelt.errors import StudyError
from heartfelt.formats.study_folder.manifest import OpenStudy
from heartfelt.streams import derived_seed
from heartfelt.study import parse_study, study_text
from heartfelt.study.parts.sets import MadeSets

STORE_SECRET = "store secret"
_JOURNAL = f"SELECT {', '.join(Event._fields)} FROM journal"


class StoreState:
    """Reads the store into a state, and writes the effects of a transaction."""

    def __init__(self, database: Database, opened: OpenStudy, options: CollectOptions) -> None:
        self.database = database
        self.opened = opened
        self.options = options
        self.context: Context
        self.state: State | None = None
        self._last_rater = 0
        self._rng = Random(secrets.randbits(64) if options.seed is None else derived_seed(options.seed, "collect"))

    # --- opening ------------------------------------------------------------------------------------------------------

    def initialize(self, connection: Connection, now: float) -> None:
        """Create what a store needs before anything happens in it: secret, settings, units, this version of the study."""
        secret = named_value(connection, STORE_SECRET)
        if secret is None:
            secret = secrets.token_hex(32)
            self.database.insert(connection, "kept", ("name", "value"), [(STORE_SECRET, secret)])
        quota = named_value(connection, RAISED_QUOTA)
        if quota is not None and int(quota) > self.opened.study.design.ratings_per_item:
            self.opened = replace(self.opened, study=with_quota(self.opened.study, int(quota)))
        numbers = self._unit_numbers(connection)
        self._check_removed(connection, numbers)
        version = self._version_number(connection, now)
        self._store_facts = (bytes.fromhex(secret), numbers, version)
        if connection.exec_driver_sql("SELECT max(seq) FROM journal").scalar() is None:
            event = Event(1, now, "set", words=json.dumps(first_settings()))
            self.database.insert(connection, "journal", Event._fields, [event])

    def load_material(self) -> None:
        """Prepare what is shown. This takes seconds for a large study, and no lock is held meanwhile."""
        secret, numbers, version = self._store_facts
        material = make_material(self.opened, numbers, secret, self.options)
        self._layout = material.layout
        self.context = Context(
            material=material, options=self.options, secret=secret, version=version, rng=self._rng, new_id=self._new_id
        )

    def _new_id(self) -> str:
        if self.options.seed is None:
            return f"r{secrets.token_hex(8)}"
        return f"r{self._rng.getrandbits(64):016x}"

    def _unit_numbers(self, connection: Connection) -> dict[tuple[str, str], int]:
        rows = connection.exec_driver_sql("SELECT unit, stimulus, question FROM units")
        numbers = {(row.stimulus, row.question): row.unit for row in rows}
        first = max(numbers.values(), default=0) + 1
        names = [name for name in unit_names(self.opened) if name not in numbers]
        added = {name: first + index for index, name in enumerate(names)}
        new_rows = [(number, *name) for name, number in added.items()]
        self.database.insert(connection, "units", ("unit", "stimulus", "question"), new_rows)
        return {**numbers, **added}

    def _version_number(self, connection: Connection, now: float) -> int:
        """The number of the study's version: the latest one, or a new one if the study was edited since."""
        study = self.opened.study
        latest = connection.exec_driver_sql(
            "SELECT version, hash, study FROM versions ORDER BY version DESC LIMIT 1"
        ).first()
        number, changes = 1, None
        if latest is not None:
            differences = self._edits_since(latest.study) if latest.hash != study.hash else []
            if not differences:
                return int(latest.version)
            breaking = [edit for edit in differences if edit.breaking]
            if breaking and _has_answers(connection):
                raise refuse(self.opened.folder, breaking)
            number, changes = latest.version + 1, edits_text(differences)
        columns = ("version", "at", "hash", "study", "changes")
        row = (number, now, study.hash, study_text(study), changes)
        self.database.insert(connection, "versions", columns, [row])
        return number

    def _edits_since(self, earlier: str) -> list[Edit]:
        try:
            return edits(parse_study(earlier), self.opened.study)
        except StudyError as error:
            return [Edit(key="study.yaml", problem=f"cannot be compared with the previous version: {error.problem}")]

    def _check_removed(self, connection: Connection, numbers: Mapping[tuple[str, str], int]) -> None:
        """Refuse to continue without stimuli that have ratings."""
        present = set(self.opened.stimuli["stimulus"].to_list())
        if self.opened.sets is not None:
            self._check_sets(connection, self.opened.sets, present)
            return
        removed = {stimulus for stimulus, _ in numbers if stimulus not in present}
        if not removed:
            return
        rated = connection.exec_driver_sql(
            "SELECT DISTINCT g.stimulus FROM ratings g JOIN answers a ON a.trial = g.trial"
            " WHERE a.kind <> 'practice' AND g.stimulus IS NOT NULL"
        ).scalars()
        names = sorted(name for name in rated if name in removed)
        if names:
            raise refuse(self.opened.folder, [removed_stimuli(names, self.opened.study.stimuli.manifest)])

    def _check_sets(self, connection: Connection, sets: MadeSets, present: Collection[str]) -> None:
        """Refuse to continue if stimuli with answers are gone, or sets with answers hold others."""
        rows = connection.exec_driver_sql(
            "SELECT DISTINCT g.stimulus AS name, m.stimulus, m.role FROM members m"
            " JOIN ratings g ON g.trial = m.trial JOIN answers a ON a.trial = m.trial WHERE a.kind <> 'practice'"
        )
        answered: defaultdict[str, set[tuple[str, str]]] = defaultdict(set)
        for row in rows:
            answered[row.name].add((row.stimulus, row.role))
        names = {stimulus for members in answered.values() for stimulus, _ in members if stimulus not in present}
        if names:
            manifest = self.opened.study.stimuli.manifest
            raise refuse(self.opened.folder, [removed_stimuli(sorted(names), manifest)])
        now = {stimulus_set.id: set(stimulus_set.members) for stimulus_set in sets.sets}
        changed = sorted(name for name, members in answered.items() if now.get(name, members) != members)
        if changed:
            raise refuse(self.opened.folder, [changed_sets(changed)])

    # --- keeping up to date -------------------------------------------------------------------------------------------

    @property
    def journal_query(self) -> str:
        """The query for what the journal has beyond the state."""
        return f"{_JOURNAL} WHERE seq > {0 if self.state is None else self.state.seq} ORDER BY seq"

    def read(self) -> None:
        """Build the state from the whole journal; no lock is held meanwhile."""
        with self.database.reading() as connection:
            self.catch_up(connection)

    def catch_up(
        self, connection: Connection, rows: Iterable[Sequence[Any]] | None = None, pending: Iterable[Event] = ()
    ) -> State:
        """Apply the new journal ``rows``, read here if not given, and ``pending`` events after them.

        Without a state, one is built.
        """
        state, context = self.state, self.context
        if rows is None:
            rows = connection.exec_driver_sql(self.journal_query)
        if state is None:
            state = State(self._layout)
            self._last_rater = 0
            for cache in (context.sessions, context.persons, context.languages, context.invitations):
                cache.clear()
        before = state.seq
        state.replay(map(Event._make, rows))
        if state.seq != before:
            self._load_people(connection)
        # Events of the transaction in the making, which no journal has yet.
        state.replay(pending)
        if state.layout.quota != context.material.layout.quota:
            self._follow_quota(connection, state.layout.quota)
        self.state = state
        return state

    def _follow_quota(self, connection: Connection, quota: int) -> None:
        """Apply a quota that was raised while the study runs, here or in another process."""
        context = self.context
        context.material = raised(context.material, quota)
        query = text("SELECT max(version) FROM versions WHERE hash = :hash")
        version = connection.execute(query, {"hash": context.material.study.hash}).scalar()
        context.version = version or context.version

    def _load_people(self, connection: Connection) -> None:
        rows = connection.exec_driver_sql(
            f"SELECT number, rater, person, language, facts FROM raters WHERE number > {self._last_rater}"
        )
        for row in rows.mappings():
            self._last_rater = max(self._last_rater, row["number"])
            self.context.recognize(dict(row))
        invited = connection.exec_driver_sql("SELECT invitation FROM invitations").scalars()
        self.context.invitations.update(invited)
        admitted = connection.exec_driver_sql("SELECT adjudicator, active FROM adjudicators ORDER BY seq")
        self.context.adjudicators = {row.adjudicator: bool(row.active) for row in admitted}

    def write(self, connection: Connection, work: Transaction) -> None:
        """Write all of a transaction's events and rows."""
        groups: dict[tuple[str, tuple[str, ...]], list[Sequence[Any]]] = {}
        for name, row in work.rows:
            groups.setdefault((name, tuple(row)), []).append(tuple(row.values()))
        if work.events:
            groups["journal", Event._fields] = list(work.events)
        with self.database.together(connection):
            for statement, values in work.before_rows:
                connection.execute(text(statement), values)
            for (name, columns), rows in groups.items():
                self.database.insert(connection, name, columns, rows)
            for statement, values in work.after_rows:
                connection.execute(text(statement), values)


def named_value(connection: Connection, name: str) -> str | None:
    return connection.execute(text("SELECT value FROM kept WHERE name = :name"), {"name": name}).scalar()


def _has_answers(connection: Connection) -> bool:
    """Whether anybody has answered a trial that counts."""
    query = "SELECT 1 FROM answers WHERE kind <> 'practice' LIMIT 1"
    return connection.exec_driver_sql(query).first() is not None
