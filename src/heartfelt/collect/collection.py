"""A study that is being collected for: commands go in, tables and snapshots come out."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Concatenate, ParamSpec, TypeVar

import polars as pl
from sqlalchemy import Connection, text

from heartfelt.collect.material import MediaFile, StudyUnits
from heartfelt.collect.messages.adjudicators import EraseAdjudicator
from heartfelt.collect.messages.commands import (
    AdmissionSettings,
    CollectOptions,
    Command,
    Erase,
    Erased,
    SessionEnd,
    Withdraw,
)
from heartfelt.collect.messages.errors import UnknownRater
from heartfelt.collect.reading import tables
from heartfelt.collect.reading.adjudication import (
    AdjudicationDecision,
    AdjudicationState,
    adjudication_state,
    adjudicators,
    decision_before,
)
from heartfelt.collect.reading.coverage import StudyCoverage, measure_coverage
from heartfelt.collect.reading.freeze import freeze, versions
from heartfelt.collect.reading.participants import participants
from heartfelt.collect.reading.sets import ratings_by_stimulus
from heartfelt.collect.session.headphones import quietest_tones, three_tones, tone_order
from heartfelt.collect.session.participants import person_hash
from heartfelt.collect.session.progress.sessions import opening
from heartfelt.collect.session.progress.transaction import clean
from heartfelt.collect.session.researcher import (
    AUTOMATED,
    ApplyStudySettings,
    Refresh,
    SetValue,
    StateSummary,
    summarize,
)
from heartfelt.collect.session.steps import headphone_probe
from heartfelt.collect.store import Database
from heartfelt.collect.stored import find_database, has_collected, secret_file
from heartfelt.collect.writing.media_versions import MediaGuard
from heartfelt.collect.writing.store_state import StoreState, named_value
from heartfelt.collect.writing.writer import Writer
from heartfelt.errors import InputError
from heartfelt.formats.study_folder.manifest import OpenStudy, is_study, open_study
from heartfelt.progress import Progress
from heartfelt.snapshot import Snapshot
from heartfelt.study import Study

P = ParamSpec("P")
R = TypeVar("R")


class Collection:
    """A study with its store, open for raters. Make one with :meth:`open`; it is a context manager."""

    def __init__(
        self,
        opened: OpenStudy,
        database: str | None,
        clock: Callable[[], float],
        options: CollectOptions,
        *,
        read_only: bool = False,
    ) -> None:
        source = find_database(opened.folder, database, opened.study.database)
        self.folder: Path = opened.folder
        self._database = Database(source, opened.study.name, durable=options.durable)
        self._clock = clock
        self._store = StoreState(self._database, opened, options)
        self._writer = Writer(self._store, clock)
        self._read_only = read_only
        self._media_guard = MediaGuard(self.folder, self._read, self.do)
        try:
            if read_only:
                self._read(self._store.initialize, clock())
                self._store.load_material()
            else:
                self._start()
        except BaseException:  # closed, and raised again
            self._database.close()
            raise

    @classmethod
    def open(
        cls,
        study: Path | str | OpenStudy,
        *,
        database: str | None = None,
        clock: Callable[[], float] = time.time,
        options: CollectOptions | None = None,
        progress: Progress | None = None,
    ) -> Collection:
        """Open the collection of a study folder, or of one that was read already; its store is created if there is none.

        ``database`` is a URL; else ``HEARTFELT_DATABASE``, else ``database`` in ``study.yaml``, else a SQLite file in
        the folder. ``progress`` counts the media files that have been probed.
        """
        opened = study if isinstance(study, OpenStudy) else open_study(study, progress)
        return cls(opened, database, clock, options or CollectOptions())

    @classmethod
    def watch(cls, folder: Path | str, *, database: str | None = None) -> Collection:
        """Open a collection that another process serves, read-only: no lock is taken and no command accepted."""
        return cls(open_study(folder), database, time.time, CollectOptions(), read_only=True)

    def _start(self) -> None:
        self._database.prepare()
        try:
            with self._database.connect() as connection, self._database.writing(connection):
                self._store.initialize(connection, self._clock())
        except self._database.failures as error:
            raise self._database.explain(error) from error
        self._store.load_material()
        self._store.read()
        self._writer.start()
        self._writer.do(ApplyStudySettings())

    @property
    def secret_file(self) -> Path | None:
        """Where the secret that signs cookies and links is, beside a SQLite store; PostgreSQL holds it for all servers."""
        file = self._database.file
        return None if file is None else secret_file(file)

    @property
    def opened(self) -> OpenStudy:
        """The study folder as it was read, with the quota as it is now."""
        return self._material.opened

    @property
    def study(self) -> Study:
        """The study, with the quota as it is now."""
        return self._material.study

    @property
    def _material(self) -> StudyUnits:
        return self._store.context.material

    def _read(self, function: Callable[Concatenate[Connection, P], R], *args: P.args, **kwargs: P.kwargs) -> R:
        """What a function reads over a connection, all of it from one moment."""
        with self._database.reading() as connection:
            return function(connection, *args, **kwargs)

    def _summary(self) -> StateSummary:
        """The counts now; a read-only collection first reads what the journal has beyond its state."""
        return summarize(self._read(self._store.catch_up)) if self._read_only else self.do(Refresh())

    # --- commands -----------------------------------------------------------------------------------------------------

    def do(self, command: Command[R]) -> R:
        """Do a command and wait for it; its effects are durable when this returns."""
        return self._writer.do(command)

    async def ask(self, command: Command[R]) -> R:
        """The same for a coroutine."""
        return await self._writer.ask(command)

    def erase(self, *, rater: str | None = None, participant: str | None = None) -> Erased:
        """Delete everything about one person, from the database's files too; earlier snapshots keep it."""
        erased = self.do(Erase(rater, participant))
        self._database.scrub()
        return erased

    def withdraw(self, rater: str) -> SessionEnd:
        """Erase a rater who withdraws after the debriefing; they are shown their code once more."""
        page = self.do(Withdraw(rater))
        self._database.scrub()
        return page

    def erase_adjudicator(self, adjudicator: str) -> int:
        """Delete a senior rater and their decisions, whose items wait again; returns how many decisions there were."""
        decision_count = self.adjudicators().filter(pl.col("adjudicator") == adjudicator)["decisions"].sum()
        self.do(EraseAdjudicator(adjudicator))
        self._database.scrub()
        return int(decision_count)

    def check_writing(self) -> None:
        """Raise the error that raters get, where the store cannot be written to now."""
        self._writer.check()

    @property
    def settings(self) -> AdmissionSettings:
        """How the study admits raters now."""
        return self.do(Refresh()).settings

    def set_value(self, name: str, value: str) -> None:
        """Store a value under a name, replacing an older one."""
        self.do(SetValue(name, value))

    def value(self, name: str) -> str | None:
        """The value stored under a name."""
        return self._read(named_value, name)

    def values_with_prefix(self, prefix: str) -> dict[str, str]:
        """Every stored value whose name begins so."""
        query = text("SELECT name, value FROM kept WHERE substr(name, 1, :size) = :prefix")
        with self._database.reading() as connection:
            rows = connection.execute(query, {"size": len(prefix), "prefix": prefix})
            return {row.name: row.value for row in rows}

    def automated_fetches(self) -> int:
        """How often robots and link previews fetched the study's address."""
        return int(self.value(AUTOMATED) or 0)

    # --- reading ------------------------------------------------------------------------------------------------------

    def media(self, opaque: str) -> MediaFile | None:
        """The media file with this opaque id."""
        return self._material.media.get(opaque)

    def media_of_set(self, unit: int) -> list[MediaFile]:
        """The media files of the stimuli in a set."""
        members = self._material.units[unit].members if unit in self._material.units else ()
        return [self._material.media[member.media] for member in members if member.media is not None]

    def verify_media(self, file: MediaFile) -> None:
        """Raise where a file that is to be served is not the one that was rated; the first time, its hash is stored."""
        self._media_guard.verify(file)

    def check_media(self, *, accept: bool = False) -> list[str]:
        """Refuse to continue where files that were rated were replaced, or accept the new ones; returns their stimuli."""
        return self._media_guard.check(self._material.media.values(), accept=accept)

    @property
    def missing_media(self) -> Sequence[tuple[str, str]]:
        """Stimuli that nobody is assigned because their media were not there when the study was opened, and why."""
        return self._material.missing

    def media_ids(self) -> dict[str, str]:
        """The opaque id of every stimulus's media file."""
        return {file.stimulus: opaque for opaque, file in self._material.media.items()}

    def headphone_tones(self, rater: str, number: int) -> bytes | None:
        """The sound of a round, from 1, of a rater's headphone check, as a WAV file; None if there is no such round."""
        probe = headphone_probe(self.study)
        if probe is None or not 1 <= number <= probe.trials:
            return None
        return three_tones(tone_order(self._store.context.secret, rater, probe.id, number))

    def quietest_tones(self, rater: str) -> list[int]:
        """The right answers of a rater's headphone check, for simulated raters; empty if the study has none."""
        probe = headphone_probe(self.study)
        if probe is None:
            return []
        return quietest_tones(self._store.context.secret, rater, probe.id, probe.trials)

    def has_answer(self, trial: str, key: str) -> bool:
        """Whether the answer that is stored for a trial came with this key; another one may have come from another tab."""
        query = text("SELECT count(*) FROM answers WHERE trial = :trial AND key = :key")
        with self._database.reading() as connection:
            return bool(connection.execute(query, {"trial": int(trial), "key": clean(key, 200)}).scalar())

    def coverage(self) -> StudyCoverage:
        """How far the study is."""
        summary = self._summary()  # first: it may bring in a quota that was raised
        return self._read(measure_coverage, self._material, summary, self._clock())

    def ratings(self) -> pl.DataFrame:
        """Every answer to every question, practice and probes included (``kind``); of a set, a row for every member."""
        quota = None if self.study.design.adaptive else self._material.layout.quota
        return self._read(ratings_by_stimulus, self.study, quota, self._material.common_names)

    def raters(self) -> pl.DataFrame:
        """Everyone who came."""
        progress = {rater.number: tables.progress_of(rater, self.study) for rater in self._summary().raters}
        return self._read(tables.raters, progress, self.study)

    def trials(self, rater: str) -> pl.DataFrame:
        """Every trial of a rater with everything that was logged."""
        stimuli = {number: unit.stimulus for number, unit in self._material.units.items()}
        with self._database.reading() as connection:
            query = text("SELECT number FROM raters WHERE rater = :rater")
            number = connection.execute(query, {"rater": rater}).scalar()
            if number is None:
                raise unknown_rater(rater)
            return tables.trials(connection, number, stimuli)

    def versions(self) -> pl.DataFrame:
        """Every version of the study that was served, with what changed."""
        return self._read(versions)

    def flags(self) -> pl.DataFrame:
        """Problems with stimuli that raters reported."""
        return self._read(tables.flags)

    def problems(self) -> pl.DataFrame:
        """Media that could not be shown."""
        return self._read(tables.problems, self._material.missing)

    def participants(self) -> pl.DataFrame:
        """The recruiter's id of every rater who came with one, how it ended and how they listened. For the researcher alone."""
        return self._read(participants, self._summary().settings, self.study)

    def waiting(self) -> pl.DataFrame:
        """Raters who are to come back for another session: since when, until when. For the researcher alone."""
        raters, study = self._summary().raters, self.study
        return self._read(tables.waiting, raters, lambda rater: opening(study, rater), self._clock())

    def invitations(self) -> pl.DataFrame:
        """Every personal invitation, and who came by it."""
        secret = self._store.context.secret
        return self._read(tables.invitations, lambda name: person_hash(secret, "link", name))

    def adjudication(self) -> AdjudicationState:
        """Every item that waits for a senior rater or was decided by one."""
        return self._read(adjudication_state, self._material)

    def decision_before(self, adjudicator: str, before: int) -> tuple[str, str, AdjudicationDecision] | None:
        """Stimulus, question and decision of a senior rater's latest decision before that number."""
        return self._read(decision_before, adjudicator, before)

    def adjudicators(self) -> pl.DataFrame:
        """Every senior rater, with how many decisions they made."""
        return self._read(adjudicators)

    def change(self) -> int:
        """The number of the latest change; the same number means that nothing has changed."""
        with self._database.reading() as connection:
            return int(connection.exec_driver_sql("SELECT max(seq) FROM journal").scalar() or 0)

    def snapshot(self, *, excluded: bool = True) -> Snapshot:
        """The study as it is now. Raters continue while it is taken.

        Excluded raters are in the ledger and in the table of raters; ``excluded`` says whether their ratings are among
        the ratings too.
        """
        return self._read(freeze, self._material, excluded=excluded)

    # --- closing ------------------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Finish what is waiting and close the store."""
        if not self._read_only:
            self._writer.close()
        self._database.close()

    def __enter__(self) -> Collection:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def unknown_rater(rater: str) -> UnknownRater:
    """The error for an id that no rater has."""
    return UnknownRater(f"No rater is called '{rater[:80]}'.", "See the list of raters for their ids.")


def collected_snapshot(folder: Path | str, progress: Progress | None = None) -> Snapshot:
    """Freeze what has been collected for the study in ``folder``. A running server is not disturbed.

    The ratings of excluded raters stay in the store; the snapshot's ledger lists them.
    """
    home = Path(folder)
    if is_study(home) and not has_collected(home):
        raise InputError(f"{home} has no ratings yet.", "Collect some with 'heartfelt serve DIR'.")
    with Collection.open(home, progress=progress) as collection:
        return collection.snapshot(excluded=False)


def recruiters_ids(folder: Path | str) -> tuple[str, ...]:
    """The recruiter's ids of everybody in a study folder's store."""
    with Collection.watch(folder) as collection:
        people = collection.participants()
    columns = [people[name].drop_nulls().to_list() for name in ("participant", "session", "assignment")]
    return tuple(dict.fromkeys(text for column in columns for text in column))


def snapshots_holding(folder: Path | str, rater: str) -> list[Path]:
    """Snapshots in the study's folder that still contain a rater: frozen before they were erased."""
    return [
        path.parent
        for path in sorted(Path(folder).glob("snapshots/*/raters.parquet"))
        if pl.scan_parquet(path).filter(pl.col("rater") == rater).select(pl.len()).collect().item()
    ]
