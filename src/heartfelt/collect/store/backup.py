"""Backups of a study that collects: its folder and its store as they are at one moment, and back again.

The store is copied into one SQLite file whichever database it is in, from a single transaction, so a running study can be
backed up without stopping it. A backup is restored into a file or into PostgreSQL, which is also how a study moves from one to
the other. Backups hold everything: participants' ids, the password's hash, the secret that signs links. A study.yaml that is
broken, or that was edited in a way its answers do not allow, is saved as it is; what is restored is the version that was served.
"""

from __future__ import annotations

import re
import shutil
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from sqlalchemy import Connection, select
from sqlalchemy.engine import make_url

from heartfelt import __version__
from heartfelt.collect.store import Database
from heartfelt.collect.store.database import HEAD, revision
from heartfelt.collect.store.tables import metadata
from heartfelt.collect.stored import STORE_FILE, STORED_SECRET, find_database, secret_file
from heartfelt.collect.versions import edits
from heartfelt.errors import DamagedError, InputError, StudyError
from heartfelt.files import must_be_free, sha256_of, whole_folder, write_text
from heartfelt.formats.study_folder.manifest import is_study
from heartfelt.progress import Progress, no_progress
from heartfelt.serialization import read_json, write_json
from heartfelt.study import Study, load_study, parse_study
from heartfelt.study.load import STUDY_FILE

FILE = "backup.json"
EDITED_FILE = "study.edited.yaml"
"""A restored study.yaml that does not fit the answers."""
LAYOUT = 1
_ROWS = 5_000
_STORE_FILES = (STORE_FILE, f"{STORE_FILE}-wal", f"{STORE_FILE}-shm", f"{STORE_FILE}-journal")


@dataclass(frozen=True, slots=True, kw_only=True)
class Backup:
    """What a backup holds, as its ``backup.json`` says."""

    layout: int
    version: str
    study: str
    at: str
    tables: Mapping[str, int]
    """Rows of every table of the store."""
    sha256: str
    """Of the copy of the store."""
    media: bool
    """Whether the media are part of it."""


def back_up(
    folder: Path, out: Path, *, database: str | None = None, media: bool = False, progress: Progress | None = None
) -> Backup:
    """Copy a study's folder and its store, as they are at this moment, into the new folder ``out``."""
    study = _study_in(folder, database)
    source = find_database(folder, database, study.database)
    if isinstance(source, str) and make_url(source).get_backend_name() == "sqlite":
        source = Path(make_url(source).database or "")
    if isinstance(source, Path) and not source.is_file():
        raise InputError(
            f"{folder} has collected nothing yet, so there is no store to back up.",
            "Serve the study first, or name its database with --database.",
        )
    if out.resolve().is_relative_to(folder.resolve()):
        raise InputError(f"{out} lies in the study folder itself.", "Choose a place outside it, best on another disk.")
    must_be_free(out)
    left_out = set() if media else {(folder / study.stimuli.media).resolve()}
    with whole_folder(out, private=True) as backup:
        _copy_files(folder, backup, left_out)
        store = backup / STORE_FILE
        _copy_store(source, study.name, store, progress)
        if isinstance(source, Path) and secret_file(source).is_file():
            shutil.copyfile(secret_file(source), secret_file(store))
        result = Backup(
            layout=LAYOUT,
            version=__version__,
            study=study.name,
            at=datetime.now(UTC).isoformat(timespec="seconds"),
            tables=_counted(store),
            sha256=sha256_of(store),
            media=media,
        )
        write_json(backup / FILE, result)
    return result


def restore(backup: Path, folder: Path, *, database: str | None = None, progress: Progress | None = None) -> Backup:
    """Make the study folder ``folder`` from a backup; with ``database``, its store goes into that PostgreSQL database."""
    if not (backup / FILE).is_file():
        raise InputError(f"{backup} is not a backup: it has no {FILE}.", "Make one with 'heartfelt backup DIR OUT'.")
    about = read_json(backup / FILE, Backup)
    if about.layout != LAYOUT:
        raise InputError(
            f"{backup} is in layout {about.layout}; this heartfelt reads layout {LAYOUT}.",
            "Restore it with the version that wrote it.",
        )
    store = backup / STORE_FILE
    if not store.is_file() or sha256_of(store) != about.sha256 or _counted(store) != dict(about.tables):
        raise DamagedError(
            f"The copy of the store in {backup} is not what was backed up.", "Use another backup; this one is damaged."
        )
    must_be_free(folder)
    with whole_folder(folder, private=True) as restored:
        _copy_files(backup, restored, set())
        (restored / FILE).unlink()
        _restore_served_version(restored, store)
        shutil.copyfile(store, restored / STORE_FILE)
        if database is not None:
            _into_database(restored / STORE_FILE, database, about, progress)
            (restored / STORE_FILE).unlink()
            secret_file(restored / STORE_FILE).unlink(missing_ok=True)
    return about


def _restore_served_version(folder: Path, store: Path) -> None:
    """Where study.yaml does not fit the answers, make it the version that was served; the edited file stays beside it."""
    served, has_answers = _latest_version(store)
    if served is None or not has_answers:
        return
    try:
        if not any(edit.breaking for edit in edits(parse_study(served), load_study(folder))):
            return
    except StudyError:
        parse_study(served)
    (folder / STUDY_FILE).replace(folder / EDITED_FILE)
    write_text(folder / STUDY_FILE, served)


def _latest_version(store: Path) -> tuple[str | None, bool]:
    """The text of the latest version that was served, and whether anybody has answered it."""
    with closing(sqlite3.connect(f"file:{store}?mode=ro", uri=True)) as connection:
        query = "SELECT study FROM versions ORDER BY version DESC LIMIT 1"
        row = connection.execute(query).fetchone()
        answer = connection.execute("SELECT 1 FROM answers WHERE kind <> 'practice' LIMIT 1").fetchone()
    return (None if row is None else str(row[0])), answer is not None


def _study_in(folder: Path, database: str | None) -> Study:
    """The study in a folder; where its study.yaml cannot be read, the version that was served last."""
    if not is_study(folder):
        raise InputError(f"{folder} is not a study folder: it has no study.yaml.", "Point to a study folder.")
    try:
        return load_study(folder)
    except StudyError:
        served = _served_text(folder, database)
        if served is None:  # nothing says which database is the study's
            raise
        return parse_study(served)


def _served_text(folder: Path, database: str | None) -> str | None:
    """The latest version in the store of a folder whose study.yaml cannot be read, as far as the store can be found."""
    text = (folder / STUDY_FILE).read_text(encoding="utf-8", errors="replace")
    keys = dict(re.findall(r"""(?m)^(name|database):[ \t]*["']?([^"'#\s]+)""", text))
    source = find_database(folder, database, keys.get("database"))
    if isinstance(source, Path):
        return _latest_version(source)[0] if source.is_file() else None
    if "name" not in keys:
        return None
    store = Database(source, keys["name"])
    try:
        with store.reading() as connection:
            query = "SELECT study FROM versions ORDER BY version DESC LIMIT 1"
            return connection.exec_driver_sql(query).scalar()
    finally:
        store.close()


def _copy_files(source: Path, target: Path, left_out: set[Path]) -> None:
    def skipped(folder: str, names: list[str]) -> list[str]:
        directory = Path(folder)
        stores = _STORE_FILES if directory.resolve() == source.resolve() else ()
        return [name for name in names if name in stores or (directory / name).resolve() in left_out]

    shutil.copytree(source, target, ignore=skipped, dirs_exist_ok=True)


def _copy_store(source: str | Path, study: str, target: Path, progress: Progress | None) -> None:
    """One consistent copy: SQLite makes it itself; from PostgreSQL every table is read in one transaction."""
    if isinstance(source, Path):
        with closing(sqlite3.connect(source)) as store:
            try:
                store.execute("VACUUM INTO ?", (str(target),))
            except sqlite3.Error as error:
                raise Database(source, study).explain(error) from error
        return
    database = Database(source, study)
    copy = Database(target, study, durable=False)
    try:
        copy.prepare()
        with database.reading() as connection:
            have = revision(connection)
            if have != HEAD:
                raise InputError(
                    f"The store is in layout {have}, and this heartfelt copies layout {HEAD}.",
                    "Serve the study once with this version, or back it up with pg_dump.",
                )
            with copy.connect() as writer, copy.writing(writer):
                _copy_tables(connection, copy, writer, progress or no_progress)
        copy.scrub()
    finally:
        copy.close()
        database.close()
    with closing(sqlite3.connect(target)) as store:
        store.execute("PRAGMA journal_mode=DELETE")


def _into_database(store: Path, address: str, about: Backup, progress: Progress | None) -> None:
    copy = Database(store, about.study)
    database = Database(address, about.study)
    try:
        copy.prepare()
        database.prepare()
        with database.connect() as writer, database.writing(writer), copy.reading() as connection:
            if writer.exec_driver_sql("SELECT count(*) FROM journal").scalar():
                raise InputError(
                    f"The database already holds ratings of the study '{about.study}'.",
                    f'Restore into an empty database, or drop its schema "{database.schema}" first.',
                )
            _copy_tables(connection, database, writer, progress or no_progress)
            secret = secret_file(store)
            if secret.is_file():
                row = (STORED_SECRET, secret.read_text(encoding="ascii").strip())
                database.insert(writer, "kept", ("name", "value"), [row])
    except database.failures as error:
        raise database.explain(error) from error
    finally:
        copy.close()
        database.close()


def _copy_tables(source: Connection, target: Database, writer: Connection, progress: Progress) -> None:
    """Every row of every table, from one connection to another, a few thousand at a time."""
    for done, (name, table) in enumerate(metadata.tables.items(), 1):
        names = tuple(column.name for column in table.columns)
        rows = source.execution_options(yield_per=_ROWS).execute(select(table))
        for chunk in rows.partitions():
            target.insert(writer, name, names, [list(row) for row in chunk])
        progress("copying tables", done, len(metadata.tables))


def _counted(store: Path) -> dict[str, int]:
    """The rows of every table of a copy, after SQLite has checked all of it."""
    with closing(sqlite3.connect(f"file:{store}?mode=ro", uri=True)) as connection:
        try:
            sound = connection.execute("PRAGMA integrity_check(1)").fetchone()[0]
            names = [
                name
                for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
                if not name.startswith("sqlite_")
            ]
            counts = {name: int(connection.execute(f'SELECT count(*) FROM "{name}"').fetchone()[0]) for name in names}
        except sqlite3.Error as error:
            raise DamagedError(f"{store} is damaged: {error}.", "Use another backup.") from error
    if sound != "ok":
        raise DamagedError(f"{store} is damaged: {sound}.", "Use another backup.")
    return counts
