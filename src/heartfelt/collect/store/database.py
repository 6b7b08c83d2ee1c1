"""One database: how it is found, opened, locked for writing and read at one moment.

Writing goes through one connection, one transaction at a time: ``BEGIN IMMEDIATE`` on SQLite, an advisory lock for the
length of the transaction on PostgreSQL. A study has a PostgreSQL schema of its own, so that many can share a database.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from heartfelt.collect.errors import damaged, store_away
from heartfelt.collect.store.migrate import migrate
from heartfelt.errors import HeartfeltError, InputError, MissingPartError

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine, Table

STORE_FILE = "collected.sqlite"
VARIABLE = "HEARTFELT_DATABASE"
_WAIT = 10.0
_MOST_PARAMETERS = 30_000
_MOST_TEXTS = 600
_LOOKED_OVER = 256 * 2**20
"""SQLite files up to this size are checked whole when they are opened, which takes about a second at most."""


class Database:
    """A store that can be written to by one at a time and read by many."""

    def __init__(self, source: str | Path, study: str, *, durable: bool = True) -> None:
        from sqlalchemy.engine import URL, make_url
        from sqlalchemy.exc import ArgumentError

        try:
            self.url = (
                URL.create("sqlite", database=str(source)) if isinstance(source, Path) else make_url(source)
            )
        except (ArgumentError, ValueError) as error:
            raise InputError(
                "The database's address cannot be read.",
                f"Write it as postgresql://user:password@host/name (in {VARIABLE} or 'database' in study.yaml).",
            ) from error
        self.kind = self.url.get_backend_name()
        if self.kind not in {"sqlite", "postgresql"}:
            raise InputError(
                f"heartfelt does not store ratings in {self.kind}.", "Use sqlite:///FILE or postgresql://…"
            )
        self.schema = schema_name(study)
        self._durable = durable
        self._engine = self._make_engine()
        self._texts: dict[tuple[str, int], str] = {}

    @property
    def lock_number(self) -> int:
        """The number of the study's advisory lock."""
        return int.from_bytes(hashlib.sha256(self.schema.encode()).digest()[:8], "big", signed=True)

    def _make_engine(self) -> Engine:
        from sqlalchemy import create_engine, event

        if self.kind == "sqlite":
            arguments = {"timeout": _WAIT, "check_same_thread": False, "cached_statements": _MOST_TEXTS}
            engine = create_engine(self.url, connect_args=arguments, pool_size=8)
        else:
            url = self.url.set(drivername="postgresql+psycopg")
            server: dict[str, Any] = {
                "connect_timeout": 5,
                "tcp_user_timeout": int(1000 * _WAIT),
                "options": f"-csearch_path={self.schema} -cclient_min_messages=warning"
                f" -clock_timeout={int(1000 * _WAIT)}",
                "application_name": "heartfelt",
            }
            try:
                engine = create_engine(url, connect_args=server, pool_size=8, pool_pre_ping=True)
            except ImportError as error:
                raise MissingPartError(
                    "PostgreSQL needs psycopg, which is not installed.",
                    "Install it with: pip install 'heartfelt[postgres]'.",
                ) from error
        event.listen(engine, "connect", self._prepare)
        if self.kind == "sqlite":
            event.listen(engine, "begin", _begin)
        return engine

    def _prepare(self, raw: Any, record: object) -> None:
        del record
        if self.kind == "sqlite":
            raw.isolation_level = None
            cursor = raw.cursor()
            for pragma in (
                "journal_mode=WAL",
                f"synchronous={'FULL' if self._durable else 'OFF'}",
                "temp_store=MEMORY",
                "secure_delete=ON",
            ):
                cursor.execute(f"PRAGMA {pragma}")
            cursor.close()

    def prepare(self) -> None:
        """Make the store if there is none, and bring it to this version's layout."""
        try:
            with self.connect() as connection, self.writing(connection):
                if self.kind == "postgresql":
                    connection.exec_driver_sql(f'CREATE SCHEMA IF NOT EXISTS "{self.schema}"')
                migrate(connection)
            self._look_over()
        except self.failures as error:
            raise self.trouble(error) from error

    def _look_over(self) -> None:
        """Find out at the start, rather than from the first rater, that a file of moderate size is damaged."""
        path = Path(self.url.database or "")
        if self.kind != "sqlite" or not path.is_file() or path.stat().st_size > _LOOKED_OVER:
            return
        with self._engine.connect() as connection:
            result = connection.exec_driver_sql("PRAGMA quick_check(1)").scalar()
        if result != "ok":
            raise damaged(path, str(result).splitlines()[-1])

    def trouble(self, error: Exception) -> HeartfeltError:
        """What to say of a failure: the file is damaged and needs a person, or the database is away for a while."""
        words = str(getattr(error, "orig", None) or error)
        if self.kind == "sqlite" and any(
            sign in words for sign in ("malformed", "not a database", "corrupt")
        ):
            return damaged(Path(self.url.database or STORE_FILE), words.splitlines()[0])
        return store_away(error)

    @property
    def failures(self) -> tuple[type[Exception], ...]:
        """What a database that does not do its work raises, wrapped by SQLAlchemy or straight from the driver."""
        from sqlalchemy.exc import SQLAlchemyError

        if self.kind == "sqlite":
            return (SQLAlchemyError,)
        import psycopg

        return SQLAlchemyError, psycopg.Error

    def connect(self) -> Connection:
        """The connection that writes. Whoever holds it closes it."""
        connection = self._engine.connect()
        connection.info["begin"] = "BEGIN IMMEDIATE"
        return connection

    def is_cut(self, connection: Connection) -> bool:
        """Whether the server has hung up on the connection."""
        return self.kind == "postgresql" and (
            connection.invalidated or bool(getattr(connection.connection.driver_connection, "closed", True))
        )

    @contextmanager
    def writing(self, connection: Connection, first: str = "SELECT 1") -> Iterator[Iterable[Sequence[Any]]]:
        """A transaction that nobody else writes beside; gives the rows of the query ``first``, read inside it."""
        with connection.begin():
            if self.kind == "sqlite":
                yield connection.exec_driver_sql(first)
                return
            # Both go in one message; the query is a statement of its own, so that it sees what was stored before the
            # lock was had.
            raw: Any = connection.connection.driver_connection
            lock = f"SELECT pg_advisory_xact_lock({self.lock_number})"
            found = raw.execute(f"{lock}; {first}", prepare=False)
            found.nextset()
            rows: list[Sequence[Any]] = found.fetchall()
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
            raise self.trouble(error) from error

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

    def insert(self, connection: Connection, table: Table, rows: Sequence[Sequence[Any]]) -> None:
        """Insert rows, given in the order of the table's columns, in as few statements as fit.

        One statement for many rows: the driver lets other threads in between two statements, and under load each of
        those costs a turn. PostgreSQL gets the rows as one JSON parameter, because its driver looks at every place for
        a value anew each time.
        """
        if self.kind == "postgresql":
            text = self._texts.get((table.name, 0)) or self._json_text(table)
            connection.exec_driver_sql(text, (json.dumps(rows, allow_nan=False),))
            return
        most = max(1, _MOST_PARAMETERS // len(table.columns))
        for begin in range(0, len(rows), most):
            chunk = rows[begin : begin + most]
            values = tuple(itertools.chain.from_iterable(chunk))
            text = self._texts.get((table.name, len(chunk))) or self._values_text(table, len(chunk))
            connection.exec_driver_sql(text, values)

    def _json_text(self, table: Table) -> str:
        casts = ", ".join(f"(e->>{k})::{column.type.compile()}" for k, column in enumerate(table.columns))
        return self._remember(
            table, 0, f"{_into(table)} SELECT {casts} FROM jsonb_array_elements(%s::jsonb) AS rows(e)"
        )

    def _values_text(self, table: Table, rows: int) -> str:
        row = f"({','.join('?' * len(table.columns))})"
        return self._remember(table, rows, f"{_into(table)} VALUES {','.join([row] * rows)}")

    def _remember(self, table: Table, rows: int, text: str) -> str:
        if len(self._texts) < _MOST_TEXTS:
            self._texts[table.name, rows] = text
        return text

    def close(self) -> None:
        """Let go of every connection."""
        self._engine.dispose()


def _into(table: Table) -> str:
    names = ", ".join(f'"{column.name}"' for column in table.columns)
    return f'INSERT INTO "{table.name}" ({names})'


def _begin(connection: Connection) -> None:
    connection.exec_driver_sql(connection.info.get("begin", "BEGIN"))


def schema_name(study: str) -> str:
    """The PostgreSQL schema of a study: its name in plain letters, told apart by a hash where that loses something."""
    plain = re.sub(r"[^a-z0-9]+", "_", study.lower()).strip("_")[:30]
    if plain == study:
        return f"heartfelt_{plain}"
    return f"heartfelt_{plain}_{hashlib.sha256(study.encode()).hexdigest()[:8]}"


def find_database(folder: Path, given: str | None, of_study: str | None) -> str | Path:
    """Where the store is: what was given, else the environment, else ``study.yaml``, else a file in the folder."""
    return given or os.environ.get(VARIABLE) or of_study or folder / STORE_FILE
