"""The state of a collection beside its store: made from the journal, kept in step with it, thrown away when in doubt."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING, Any

from heartfelt.collect.assign import Fact, State
from heartfelt.collect.material import make_material, raised, unit_names, with_quota
from heartfelt.collect.options import CollectOptions
from heartfelt.collect.session.people import session_keys
from heartfelt.collect.session.researching import RAISED_QUOTA, first_settings
from heartfelt.collect.session.work import Context, Work
from heartfelt.collect.store import Database, tables
from heartfelt.collect.versions import Edit, edits, edits_text, refuse, removed_stimuli
from heartfelt.errors import StudyError
from heartfelt.formats.manifest import OpenStudy
from heartfelt.streams import derived_seed
from heartfelt.study import parse_study

if TYPE_CHECKING:
    from sqlalchemy import Connection

STORE_SECRET = "store secret"
_JOURNAL = "SELECT seq, at, kind, rater, trial, unit, number, words FROM journal WHERE seq > {} ORDER BY seq"


class Books:
    """Reads the store into a state, and writes what a transaction came to."""

    def __init__(self, database: Database, opened: OpenStudy, options: CollectOptions) -> None:
        self.database = database
        self.opened = opened
        self.options = options
        self.context: Context
        self.state: State | None = None
        self._raters = 0
        self._rng = Random(
            secrets.randbits(64) if options.seed is None else derived_seed(options.seed, "collect")
        )

    # --- opening ------------------------------------------------------------------------------------------------------

    def found(self, connection: Connection, now: float) -> None:
        """Make what a store needs before anything happens in it: a secret, settings, units, this version of the study."""
        from sqlalchemy import select

        secret = self._secret(connection)
        quota = connection.execute(
            select(tables.kept.c.value).where(tables.kept.c.name == RAISED_QUOTA)
        ).scalar()
        if quota is not None and int(quota) > self.opened.study.design.ratings_per_item:
            self.opened = replace(self.opened, study=with_quota(self.opened.study, int(quota)))
        numbers = self._units(connection)
        self._removed(connection, numbers)
        version = self._version(connection, now)
        self._beginnings = (secret, numbers, version)
        if connection.exec_driver_sql("SELECT max(seq) FROM journal").scalar() is None:
            fact = Fact(1, now, "set", words=json.dumps(first_settings()))
            self.database.insert(connection, tables.journal, [tuple(fact)])

    def lay_out(self) -> None:
        """Lay out what is shown. This takes seconds for a large study, and nobody waits for a lock meanwhile."""
        secret, numbers, version = self._beginnings
        material = make_material(self.opened, numbers, secret, self.options)
        self._layout = material.layout
        self.context = Context(
            material, self.options, secret, version, self._rng, {}, {}, set(), self._new_id
        )

    def _new_id(self) -> str:
        if self.options.seed is None:
            return f"r{secrets.token_hex(8)}"
        return f"r{self._rng.getrandbits(64):016x}"

    def _secret(self, connection: Connection) -> bytes:
        from sqlalchemy import select

        table = tables.kept
        found = connection.execute(select(table.c.value).where(table.c.name == STORE_SECRET)).scalar()
        if found is None:
            found = secrets.token_hex(32)
            self.database.insert(connection, table, [(STORE_SECRET, found)])
        return bytes.fromhex(found)

    def _units(self, connection: Connection) -> dict[tuple[str, str], int]:
        rows = connection.exec_driver_sql("SELECT unit, stimulus, question FROM units").all()
        numbers = {(stimulus, question): unit for unit, stimulus, question in rows}
        new = [name for name in unit_names(self.opened) if name not in numbers]
        first = max(numbers.values(), default=0) + 1
        added = {name: first + place for place, name in enumerate(new)}
        self.database.insert(connection, tables.units, [(n, *name) for name, n in added.items()])
        return {**numbers, **added}

    def _version(self, connection: Connection, now: float) -> int:
        """The number of the study's version: the newest one known, or a new one if the study was edited since."""
        from heartfelt.study.load import study_text

        study = self.opened.study
        row = connection.exec_driver_sql(
            "SELECT version, hash, study FROM versions ORDER BY version DESC LIMIT 1"
        ).first()
        if row is None:
            number, changes = 1, None
        else:
            found = self._edits(str(row[2])) if row[1] != study.hash else []
            if not found:
                return int(row[0])
            breaking = [edit for edit in found if edit.breaking]
            if breaking and _answered(connection):
                raise refuse(self.opened.folder, breaking)
            number, changes = int(row[0]) + 1, edits_text(found)
        values = (number, now, study.hash, study_text(study), changes)
        self.database.insert(connection, tables.versions, [values])
        return number

    def _edits(self, known: str) -> list[Edit]:
        """What changed since the version whose text is ``known``."""
        try:
            return edits(parse_study(known), self.opened.study)
        except StudyError as error:
            return [Edit("study.yaml", f"the version before cannot be compared: {error.problem}")]

    def _removed(self, connection: Connection, numbers: Mapping[tuple[str, str], int]) -> None:
        """Refuse to go on without stimuli that people have rated."""
        here = set(self.opened.stimuli["stimulus"].to_list())
        gone = {stimulus for stimulus, _ in numbers if stimulus not in here}
        if not gone:
            return
        rows = connection.exec_driver_sql(
            "SELECT DISTINCT g.stimulus FROM ratings g JOIN answers a ON a.trial = g.trial"
            " WHERE a.kind <> 'practice' AND g.stimulus IS NOT NULL"
        ).scalars()
        rated = sorted(name for name in rows if name in gone)
        if rated:
            raise refuse(self.opened.folder, [removed_stimuli(rated, self.opened.study.stimuli.manifest)])

    # --- keeping in step ----------------------------------------------------------------------------------------------

    @property
    def news(self) -> str:
        """The query for what the journal has beyond the state."""
        return _JOURNAL.format(0 if self.state is None else self.state.seq)

    def read(self) -> None:
        """Make the state from the whole journal; nobody has to wait meanwhile."""
        with self.database.reading() as connection:
            self.catch_up(connection, connection.exec_driver_sql(self.news))

    def catch_up(
        self, connection: Connection, news: Iterable[Sequence[Any]], pending: Iterable[Fact] = ()
    ) -> State:
        """Take the ``news`` in, and ``pending`` facts after them; without a state, it is made from the beginning."""
        state = self.state
        if state is None:
            state = State(self._layout)
            self._raters = 0
            self.context.sessions.clear()
            self.context.persons.clear()
            self.context.languages.clear()
            self.context.invitations.clear()
        before = state.seq
        for row in news:
            state.apply(Fact._make(row))
        if state.seq != before:
            self._know_people(connection)
        for fact in pending:
            state.apply(fact)
        if state.layout.quota != self.context.material.layout.quota:
            self._follow(connection, state.layout.quota)
        self.state = state
        return state

    def _follow(self, connection: Connection, quota: int) -> None:
        """Take over a quota that was raised while the study runs, here or in another process."""
        from sqlalchemy import func, select

        context = self.context
        context.material = raised(context.material, quota)
        table = tables.versions
        query = select(func.max(table.c.version)).where(table.c.hash == context.material.study.hash)
        context.version = connection.execute(query).scalar() or context.version

    def _know_people(self, connection: Connection) -> None:
        rows = connection.exec_driver_sql(
            f"SELECT number, rater, person, language, facts FROM raters WHERE number > {self._raters}"
        ).all()
        for number, rater, person, language, facts in rows:
            self._raters = max(self._raters, number)
            self.know(rater, person, language, facts)
        invited = connection.exec_driver_sql("SELECT invitation FROM invitations").scalars()
        self.context.invitations.update(invited)

    def know(self, rater: str, person: str | None, language: str, facts: str) -> None:
        """Know a rater again, by the hash of their recruiter's id."""
        self.context.languages[rater] = language
        keys = session_keys(json.loads(facts))
        if keys:
            self.context.sessions[rater] = keys
        if person is not None:
            self.context.persons[person] = rater

    def write(self, connection: Connection, work: Work) -> None:
        """Write all of a transaction's facts and rows."""
        from sqlalchemy import text

        by_table: dict[str, list[tuple[Any, ...]]] = {}
        for name, row in work.rows:
            by_table.setdefault(name, []).append(row)
        if work.facts:
            by_table["journal"] = list(work.facts)
        with self.database.together(connection):
            for statement, values in work.first:
                connection.execute(text(statement), values)
            for name, rows in by_table.items():
                self.database.insert(connection, tables.metadata.tables[name], rows)
            for statement, values in work.changes:
                connection.execute(text(statement), values)


def _answered(connection: Connection) -> bool:
    """Whether anybody has answered a trial that counts."""
    query = "SELECT 1 FROM answers WHERE kind <> 'practice' LIMIT 1"
    return connection.exec_driver_sql(query).first() is not None
