"""One database: how it is found, opened, migrated, locked for writing and read consistently.

Writing goes through one connection, one transaction at a time: ``BEGIN IMMEDIATE`` on SQLite, an advisory lock for the
length of the transaction on PostgreSQL. A study has a PostgreSQL schema of its own, so that many can share a database.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import logging
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event, inspect
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, SQLAlchemyError

from heartfelt.collect.messages.errors import store_damaged, store_unavailable
from heartfelt.collect.store.tables import LAYOUTS, metadata
from heartfelt.collect.stored import DATABASE_VARIABLE, STORE_FILE
from heartfelt.errors import DamagedError, HeartfeltError, InputError, MissingPartError
from heartfelt.extras import install_command
from heartfelt.files import create_private, make_private

HEAD = max(LAYOUTS)
"""The layout of this version."""
_WAIT_SECONDS = 10.0
_MOST_PARAMETERS = 30_000
_MOST_STATEMENTS = 600
_log = logging.getLogger(__name__)
_CHECKED_BYTES = 256 * 2**20
"""SQLite files up to this size are checked completely when they are opened, which takes about a second at most."""


class Database:
    """A store that can be written to by one at a time and read by many."""

    def __init__(self, source: str | Path, study: str, *, durable: bool = True) -> None:
        local = isinstance(source, Path)
        try:
            self.url = URL.create("sqlite", database=str(source)) if local else make_url(str(source))
        except (ArgumentError, ValueError) as error:
            raise InputError(
                "The address of the database is invalid.",
                f"Write it as postgresql://user:password@host/name (in {DATABASE_VARIABLE} or 'database' in study.yaml).",
            ) from error
        self.kind = self.url.get_backend_name()
        if self.kind not in {"sqlite", "postgresql"}:
            raise InputError(
                f"heartfelt does not store ratings in {self.kind}.", "Use sqlite:///FILE or postgresql://…"
            )
        self.schema = schema_name(study)
        self._durable = durable
        self._engine = self._make_engine()
        self._statements: dict[tuple[str, tuple[str, ...], int], str] = {}

    @property
    def lock_number(self) -> int:
        """The number of the study's advisory lock."""
        return int.from_bytes(hashlib.sha256(self.schema.encode()).digest()[:8], "big", signed=True)

    def _make_engine(self) -> Engine:
        if self.kind == "sqlite":
            arguments = {"timeout": _WAIT_SECONDS, "check_same_thread": False, "cached_statements": _MOST_STATEMENTS}
            engine = create_engine(self.url, connect_args=arguments, pool_size=8)
            event.listen(engine, "connect", self._set_pragmas)
            event.listen(engine, "begin", _begin)
            return engine
        wait = int(1000 * _WAIT_SECONDS)
        server: dict[str, object] = {
            "connect_timeout": 5,
            "tcp_user_timeout": wait,
            "options": f"-csearch_path={self.schema} -cclient_min_messages=warning -clock_timeout={wait}",
            "application_name": "heartfelt",
        }
        url = self.url.set(drivername="postgresql+psycopg")
        try:
            return create_engine(url, connect_args=server, pool_size=8, pool_pre_ping=True)
        except ImportError as error:
            raise MissingPartError(
                "PostgreSQL needs psycopg, which is not installed.", f"Install it with: {install_command('postgres')}"
            ) from error

    def _set_pragmas(self, raw: Any, _: object) -> None:
        raw.isolation_level = None
        synchronous = f"synchronous={'FULL' if self._durable else 'OFF'}"
        for pragma in ("journal_mode=WAL", synchronous, "temp_store=MEMORY", "secure_delete=ON"):
            raw.execute(f"PRAGMA {pragma}").close()

    @property
    def file(self) -> Path | None:
        """The file of a SQLite store."""
        return Path(self.url.database) if self.kind == "sqlite" and self.url.database else None

    def _make_private(self) -> None:
        """Nobody but its owner reads a SQLite store; SQLite gives its log the mode of the store."""
        if self.file is None:
            return
        logs = [self.file.with_name(f"{self.file.name}{end}") for end in ("-wal", "-shm", "-journal")]
        try:
            create_private(self.file)
            opened = [make_private(path) for path in (self.file, *logs) if path.exists()]
        except OSError as error:  # a missing folder, which opening the store reports, or another user's file
            if self.file.exists():
                _log.warning("%s cannot be made private: %s", self.file, error.strerror)
            return
        if any(opened):
            _log.warning("%s could be read by others; from now on only by its owner.", self.file)

    def prepare(self) -> None:
        """Make the store if there is none, and bring it to this version's layout."""
        self._make_private()
        try:
            with self.connect() as connection, self.writing(connection):
                if self.kind == "postgresql":
                    connection.exec_driver_sql(f'CREATE SCHEMA IF NOT EXISTS "{self.schema}"')
                migrate(connection)
            self._check_file()
        except self.failures as error:
            raise self.explain(error) from error

    def _check_file(self) -> None:
        """Detect at the start, rather than at the first rater, that a file of moderate size is damaged."""
        path = self.file
        if path is None or not path.is_file() or path.stat().st_size > _CHECKED_BYTES:
            return
        with self._engine.connect() as connection:
            result = connection.exec_driver_sql("PRAGMA quick_check(1)").scalar()
        if result != "ok":
            raise store_damaged(path, str(result).splitlines()[-1])

    def explain(self, error: Exception) -> HeartfeltError:
        """The error for a failure: the file is damaged and needs repair, or the database is unavailable for a while."""
        text = str(getattr(error, "orig", None) or error)
        if self.kind == "sqlite" and any(sign in text for sign in ("malformed", "not a database", "corrupt")):
            return store_damaged(Path(self.url.database or STORE_FILE), text.splitlines()[0])
        return store_unavailable(error)

    @property
    def failures(self) -> tuple[type[Exception], ...]:
        """What a database that does not do its work raises, wrapped by SQLAlchemy or straight from the driver."""
        if self.kind == "sqlite":
            return (SQLAlchemyError,)
        import psycopg

        return SQLAlchemyError, psycopg.Error

    def connect(self) -> Connection:
        """The connection that writes. Whoever holds it closes it."""
        connection = self._engine.connect()
        connection.info["begin"] = "BEGIN IMMEDIATE"
        return connection

    def is_disconnected(self, connection: Connection) -> bool:
        """Whether the server has closed the connection."""
        return self.kind == "postgresql" and (
            connection.invalidated or bool(getattr(connection.connection.driver_connection, "closed", True))
        )

    @contextmanager
    def writing(self, connection: Connection, first: str = "SELECT 1") -> Iterator[Iterable[Sequence[Any]]]:
        """A transaction that excludes other writers; yields the rows of the query ``first``, read inside it."""
        with connection.begin():
            if self.kind == "sqlite":
                yield connection.exec_driver_sql(first)
                return
            # Both go in one message; the query is a separate statement, so that it sees everything that was committed
            # before the lock was acquired.
            raw: Any = connection.connection.driver_connection
            lock = f"SELECT pg_advisory_xact_lock({self.lock_number})"
            cursor = raw.execute(f"{lock}; {first}", prepare=False)
            cursor.nextset()
            rows: list[Sequence[Any]] = cursor.fetchall()
            yield rows

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Everything read inside is from one moment; nothing waits for it."""
        try:
            with self._engine.connect() as connection:
                connection.info["begin"] = "BEGIN"
                if self.kind == "postgresql":
                    connection = connection.execution_options(
                        isolation_level="REPEATABLE READ", postgresql_readonly=True
                    )
                with connection.begin():
                    yield connection
        except self.failures as error:
            raise self.explain(error) from error

    def scrub(self) -> None:
        """Leave nothing that was deleted in SQLite's log either, as far as no reader still needs it."""
        if self.kind == "sqlite":
            with suppress(*self.failures), self._engine.connect() as connection:
                raw: Any = connection.connection.driver_connection
                raw.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    @contextmanager
    def together(self, connection: Connection) -> Iterator[None]:
        """Statements inside go to a PostgreSQL server without waiting for one another's answers."""
        if self.kind == "sqlite":
            yield
            return
        raw: Any = connection.connection.driver_connection
        with raw.pipeline():
            yield

    def insert(self, connection: Connection, table: str, names: tuple[str, ...], rows: Sequence[Sequence[Any]]) -> None:
        """Insert rows, each with a value for every column in ``names``, in as few statements as fit.

        One statement for many rows: the driver lets other threads in between two statements, and under load each of
        those costs a turn. PostgreSQL gets the rows as one JSON parameter, because its driver parses every placeholder
        anew each time.
        """
        if self.kind == "postgresql":
            statement = self._statement(table, names, 0)
            connection.exec_driver_sql(statement, (json.dumps(rows, allow_nan=False),))
            return
        most = max(1, _MOST_PARAMETERS // len(names))
        for begin in range(0, len(rows), most):
            chunk = rows[begin : begin + most]
            parameters = tuple(itertools.chain.from_iterable(chunk))
            connection.exec_driver_sql(self._statement(table, names, len(chunk)), parameters)

    def _statement(self, table: str, names: tuple[str, ...], rows: int) -> str:
        """The statement that inserts so many rows, or rows from a JSON parameter if 0; remembered for the next time."""
        statement = self._statements.get((table, names, rows))
        if statement is None:
            quoted = ", ".join(f'"{name}"' for name in names)
            statement = f'INSERT INTO "{table}" ({quoted}) '
            if rows:
                placeholders = f"({','.join('?' * len(names))})"
                statement += f"VALUES {','.join([placeholders] * rows)}"
            else:
                kinds = [metadata.tables[table].columns[name].type.compile() for name in names]
                casts = ", ".join(f"(e->>{index})::{kind}" for index, kind in enumerate(kinds))
                statement += f"SELECT {casts} FROM jsonb_array_elements(%s::jsonb) AS rows(e)"
            if len(self._statements) < _MOST_STATEMENTS:
                self._statements[table, names, rows] = statement
        return statement

    def close(self) -> None:
        self._engine.dispose()


def _begin(connection: Connection) -> None:
    connection.exec_driver_sql(connection.info.get("begin", "BEGIN"))


def schema_name(study: str) -> str:
    """The PostgreSQL schema of a study: its name in plain letters, with a hash where that is ambiguous."""
    cleaned = re.sub(r"[^a-z0-9]+", "_", study.lower()).strip("_")[:30]
    if cleaned == study:
        return f"heartfelt_{cleaned}"
    return f"heartfelt_{cleaned}_{hashlib.sha256(study.encode()).hexdigest()[:8]}"


def migrate(connection: Connection) -> None:
    """Run every missing migration; a store of a newer version is left alone, with an error."""
    current = revision(connection)
    if current == HEAD:
        return
    if current is not None and current not in LAYOUTS:
        raise DamagedError(
            f"The collected ratings are in layout '{current}', which this version of heartfelt does not know.",
            "A newer heartfelt wrote them: install that version, or a later one.",
        )
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations").replace("%", "%%"))
    config.attributes["connection"] = connection
    command.upgrade(config, "head")


def revision(connection: Connection) -> str | None:
    """The layout the store is in; None for an empty database."""
    if not inspect(connection).has_table("alembic_version"):
        return None
    return connection.exec_driver_sql("SELECT version_num FROM alembic_version").scalar()
