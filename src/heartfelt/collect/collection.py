"""A study that is being collected for: commands go in, tables and snapshots come out."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, TypeVar

import polars as pl

from heartfelt.collect.books import Books
from heartfelt.collect.commands import Command, Erase, Erased, Settings
from heartfelt.collect.errors import UnknownRater
from heartfelt.collect.material import Material, MediaFile
from heartfelt.collect.options import CollectOptions
from heartfelt.collect.reading import coverage as covering
from heartfelt.collect.reading import frames
from heartfelt.collect.reading.coverage import Coverage
from heartfelt.collect.reading.freeze import freeze
from heartfelt.collect.reading.progress import progress_in, progress_of
from heartfelt.collect.reading.versions import versions
from heartfelt.collect.session.people import hashed
from heartfelt.collect.session.researching import Keep, Refresh, Settle, Standing, standing_of
from heartfelt.collect.store import Database
from heartfelt.collect.store.database import find_database
from heartfelt.collect.writer import Writer
from heartfelt.formats.manifest import OpenStudy, open_study
from heartfelt.progress import Progress
from heartfelt.study import Study

if TYPE_CHECKING:
    from heartfelt.snapshot import Snapshot

R = TypeVar("R")


class Collection:
    """A study with its store, open for raters. Make one with :meth:`open`; it is a context manager."""

    def __init__(
        self, opened: OpenStudy, database: Database, clock: Callable[[], float], options: CollectOptions
    ) -> None:
        self.folder: Path = opened.folder
        self._database = database
        self._clock = clock
        self._books = Books(database, opened, options)
        self._writer = Writer(self._books, clock)
        self._watches = False

    @property
    def opened(self) -> OpenStudy:
        """The study folder as it was read, with the quota as it is now."""
        return self._books.context.material.opened

    @property
    def study(self) -> Study:
        """The study, with the quota as it is now."""
        return self._books.context.material.study

    @classmethod
    def open(
        cls,
        folder: Path | str,
        *,
        database: str | None = None,
        clock: Callable[[], float] = time.time,
        options: CollectOptions | None = None,
        progress: Progress | None = None,
    ) -> Collection:
        """Open the collection of a study folder; its store is made if there is none.

        ``database`` is a URL; else ``HEARTFELT_DATABASE``, else ``database`` in ``study.yaml``, else a SQLite file in
        the folder. ``progress`` is told how many media files have been probed.
        """
        return cls.of(open_study(folder, progress), database=database, clock=clock, options=options)

    @classmethod
    def of(
        cls,
        opened: OpenStudy,
        *,
        database: str | None = None,
        clock: Callable[[], float] = time.time,
        options: CollectOptions | None = None,
    ) -> Collection:
        """The same for a study folder that was read already."""
        options = options or CollectOptions()
        source = find_database(opened.folder, database, opened.study.database)
        store = Database(source, opened.study.name, durable=options.durable)
        collection = cls(opened, store, clock, options)
        try:
            store.prepare()
            collection._begin()
        except BaseException:  # closed, and raised again
            store.close()
            raise
        return collection

    def _begin(self) -> None:
        try:
            with self._database.connect() as connection, self._database.writing(connection):
                self._books.found(connection, self._clock())
        except self._database.failures as error:
            raise self._database.trouble(error) from error
        self._books.lay_out()
        self._books.read()
        self._writer.start()
        self._writer.do(Settle())

    @classmethod
    def watch(cls, folder: Path | str, *, database: str | None = None) -> Collection:
        """Open a collection that another process serves, to read it: no lock is taken and no command can be given."""
        opened = open_study(folder)
        store = Database(find_database(opened.folder, database, opened.study.database), opened.study.name)
        collection = cls(opened, store, time.time, CollectOptions())
        try:
            with store.reading() as connection:
                collection._books.found(connection, time.time())
            collection._books.lay_out()
            collection._watches = True
        except BaseException:  # closed, and raised again
            store.close()
            raise
        return collection

    def _standing(self) -> Standing:
        """How the collection stands; whoever only watches reads what the journal has beyond what they know."""
        if not self._watches:
            return self.do(Refresh())
        with self._database.reading() as connection:
            news = connection.exec_driver_sql(self._books.news)
            return standing_of(self._books.catch_up(connection, news))

    # --- commands -----------------------------------------------------------------------------------------------------

    def do(self, command: Command[R]) -> R:
        """Do a command and wait for it; what it answers is stored for good."""
        answer: R = self._writer.do(command)
        return answer

    async def ask(self, command: Command[R]) -> R:
        """The same for a coroutine."""
        answer: R = await self._writer.ask(command)
        return answer

    @property
    def settings(self) -> Settings:
        """How the study takes raters now."""
        return self.do(Refresh()).settings

    def keep(self, name: str, value: str) -> None:
        """Keep a value under a name, in the place of an older one."""
        self.do(Keep(name, value))

    def kept(self, name: str) -> str | None:
        """The value kept under a name."""
        from sqlalchemy import select

        from heartfelt.collect.store.tables import kept

        with self._database.reading() as connection:
            return connection.execute(select(kept.c.value).where(kept.c.name == name)).scalar()

    def kept_under(self, beginning: str) -> dict[str, str]:
        """Every value whose name begins so."""
        from sqlalchemy import select

        from heartfelt.collect.store.tables import kept

        with self._database.reading() as connection:
            query = select(kept.c.name, kept.c.value).where(
                kept.c.name.startswith(beginning, autoescape=True)
            )
            return {str(row[0]): str(row[1]) for row in connection.execute(query)}

    def media(self, opaque: str) -> MediaFile | None:
        """The media file raters know by this id."""
        return self._material.media.get(opaque)

    def media_ids(self) -> dict[str | None, str]:
        """The id raters know the media file of every stimulus by."""
        return {file.stimulus: opaque for opaque, file in self._material.media.items()}

    # --- the read side ------------------------------------------------------------------------------------------------

    @property
    def _material(self) -> Material:
        return self._books.context.material

    def coverage(self) -> Coverage:
        """How far the study is."""
        standing = self._standing()
        now = self._clock()
        rough = covering.coverage(self._material, standing, covering.Forecast(None, None))
        with self._database.reading() as connection:
            forecast = covering.forecast(connection, rough.wanted - rough.complete, now)
        return replace(rough, forecast=forecast)

    def ratings(self) -> pl.DataFrame:
        """Every answer to every question, practice and probes included (``kind``)."""
        with self._database.reading() as connection:
            return frames.ratings(
                connection, None if self.study.design.adaptive else self._material.layout.quota
            )

    def raters(self) -> pl.DataFrame:
        """Everyone who came."""
        standing = self._standing()
        here = {rater.number: progress_of(rater, self.study) for rater in standing.raters}
        with self._database.reading() as connection:
            return frames.raters(connection, here)

    def trials(self, rater: str) -> pl.DataFrame:
        """Every trial of a rater with everything that was logged."""
        from sqlalchemy import select

        from heartfelt.collect.store.tables import raters

        units = {n: (unit.stimulus, "") for n, unit in self._material.units.items()}
        with self._database.reading() as connection:
            number = connection.execute(select(raters.c.number).where(raters.c.rater == rater)).scalar()
            if number is None:
                raise UnknownRater(f"There is no rater '{rater}'.", "See the list of raters for their ids.")
            return frames.trials(connection, number, units)

    def versions(self) -> pl.DataFrame:
        """Every version of the study that was served, with what changed."""
        with self._database.reading() as connection:
            return versions(connection)

    def flags(self) -> pl.DataFrame:
        """What raters found wrong with stimuli."""
        with self._database.reading() as connection:
            return frames.flags(connection)

    def problems(self) -> pl.DataFrame:
        """Media that could not be shown."""
        with self._database.reading() as connection:
            return frames.problems(connection, self._material.missing)

    def participants(self) -> pl.DataFrame:
        """Who is who: the recruiter's id of every rater who came with one. For the researcher alone."""
        with self._database.reading() as connection:
            return frames.participants(connection, progress_in(connection))

    def erase(self, *, rater: str | None = None, participant: str | None = None) -> Erased:
        """Delete everything one person said, from the database's files too; snapshots taken before keep it."""
        done = self.do(Erase(rater, participant))
        self._database.scrub()
        return done

    def invitations(self) -> pl.DataFrame:
        """Every personal invitation, and who came by it."""
        with self._database.reading() as connection:
            made = connection.exec_driver_sql("SELECT invitation FROM invitations").scalars().all()
            people = connection.exec_driver_sql("SELECT person, rater FROM raters WHERE recruiter = 'link'")
            by_person = {row[0]: row[1] for row in people}
            secret = self._books.context.secret
            came = {one: by_person[p] for one in made if (p := hashed(secret, "link", one)) in by_person}
            return frames.invitations(connection, came)

    def change(self) -> int:
        """The number of the newest change; the same number means that nothing has changed."""
        with self._database.reading() as connection:
            return int(connection.exec_driver_sql("SELECT max(seq) FROM journal").scalar() or 0)

    def changes_since(self, seq: int) -> int:
        """How many changes there were since the one of this number."""
        return self.change() - seq

    def snapshot(self, *, excluded: bool = True) -> Snapshot:
        """The study as it stands at one moment. Raters go on while it is taken.

        Raters who were left out are in the ledger and in the table of raters; ``excluded`` says whether their ratings
        are among the ratings too.
        """
        with self._database.reading() as connection:
            return freeze(connection, self._material, excluded=excluded)

    # --- closing ------------------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Finish what is waiting and let go of the store."""
        if not self._watches:
            self._writer.close()
        self._database.close()

    def __enter__(self) -> Collection:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
