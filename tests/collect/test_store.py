"""The store: its layout, its migrations, what it keeps, and what happens when it cannot store."""

from __future__ import annotations

import asyncio
import inspect
import os
import sqlite3
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from heartfelt.collect import Collection, CollectOptions
from heartfelt.collect.messages.commands import Answer, Arrive, Command, Next, Ready, ShowTrial
from heartfelt.collect.messages.errors import StoreDamaged, StoreUnavailable, TrialNotFound
from heartfelt.collect.session.progress.transaction import Transaction
from heartfelt.collect.store import Database
from heartfelt.collect.store.database import HEAD, revision, schema_name
from heartfelt.collect.store.tables import metadata
from heartfelt.collect.stored import STORE_FILE
from heartfelt.collect.writing.writer import HANDLERS
from heartfelt.errors import DamagedError, InputError
from heartfelt.study import load_study
from tests.collect.people import Clock, Person
from tests.collect.postgres import PostgresServer
from tests.facts import mentions

Make = Callable[..., Path]
Open = Callable[..., Collection]
ROOT = Path(__file__).resolve().parents[2]


def store_of(folder: Path, database: str | None) -> Database:
    return Database(database or folder / STORE_FILE, load_study(folder).name)


@pytest.mark.slow
@pytest.mark.parametrize("run", ["migrated", "given what the migrations ran"])
def test_migrations_make_the_tables_the_code_works_with(
    make_study: Make, database: str | None, run: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from alembic.autogenerate import compare_metadata
    from alembic.migration import MigrationContext
    from alembic.script import ScriptDirectory

    import heartfelt.collect.store.migrations as migrations
    from heartfelt.collect.store import database as code

    if run == "migrated":
        monkeypatch.setattr(code, "migrate", inspect.unwrap(code.migrate))
    else:
        first = store_of(make_study(), database)
        first.prepare()
        first.close()
    store = store_of(make_study(), database)
    store.prepare()
    with store.connect() as connection:
        options = {"compare_type": True, "include_schemas": False}
        context = MigrationContext.configure(connection, opts=options)
        differences = [
            d for d in compare_metadata(context, metadata) if d[0] != "remove_table" or "alembic" not in str(d)
        ]
        assert differences == []
        assert revision(connection) == HEAD
    store.close()
    assert migrations.__file__ is not None
    assert ScriptDirectory(str(Path(migrations.__file__).parent)).get_current_head() == HEAD


def test_a_store_of_a_newer_version_is_left_alone(make_study: Make, opened: Open, database: str | None) -> None:
    folder = make_study()
    opened(folder).close()
    store = store_of(folder, database)
    with store.connect() as connection, connection.begin():
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = '9999'")
    store.close()
    with pytest.raises(DamagedError, match=r"9999.*\n.*install that version"):
        opened(folder)


@pytest.mark.slow
def test_opening_together_makes_one_store(make_study: Make, database: str | None) -> None:
    folder = make_study(30)
    errors: list[BaseException] = []

    def open_and_close() -> None:
        try:
            with Collection.open(folder, database=database) as collection:
                collection.do(Arrive())
        except BaseException as error:  # noqa: BLE001 - reported below
            errors.append(error)

    threads = [threading.Thread(target=open_and_close) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    with Collection.open(folder, database=database) as collection:
        assert collection.raters().height == 4


def test_kept_values(make_study: Make, opened: Open) -> None:
    folder = make_study()
    collection = opened(folder)
    assert collection.value("password") is None
    collection.set_value("password", "one")
    collection.set_value("password", "two")
    collection.set_value("pass_word", "three")
    assert collection.values_with_prefix("pass") == {"password": "two", "pass_word": "three"}
    assert collection.values_with_prefix("pass_") == {"pass_word": "three"}, "no letter stands for any other"
    collection.close()
    assert opened(folder).value("password") == "two"


def test_a_refused_command_spoils_nothing_for_the_others(make_study: Make, opened: Open) -> None:
    collection = opened(make_study(20))
    people = [Person(collection) for _ in range(6)]
    for person in people:
        person.begin()

    async def all_at_once() -> list[object]:
        commands: list[Command[object]] = []
        for place, person in enumerate(people):
            trial = people[0].trial.trial if place % 2 else person.trial.trial
            commands.append(Answer(person.id, trial, key=f"k{place}", values={"valence": 5}))
        return await asyncio.gather(*(collection.ask(command) for command in commands), return_exceptions=True)

    answers = asyncio.run(all_at_once())
    assert [isinstance(answer, TrialNotFound) for answer in answers] == [False, True] * 3
    assert collection.ratings().height == 3


def test_a_fault_in_one_command_is_its_own(make_study: Make, opened: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    """A command that breaks halfway leaves nothing: not in the store, not in the counts, not for the others."""

    class Broken(Command[None]):
        pass

    def breaks(work: Transaction, command: Broken) -> None:
        del command
        work.insert("raters", number=99, rater="rx", person=None, facts="{}", language="en")
        work.record("arrived", 99, words="rx")
        raise ZeroDivisionError("a fault")

    monkeypatch.setitem(HANDLERS, Broken, breaks)
    collection = opened(make_study(5))
    person = Person(collection)
    person.begin()

    async def together() -> list[object]:
        trial = person.trial.trial
        commands: list[Command[object]] = [
            Arrive(recruiter="prolific", person="p1"),
            Broken(),
            Answer(person.id, trial, key="k", values={"valence": 5}),
            Arrive(recruiter="prolific", person="p1"),
        ]
        return await asyncio.gather(*(collection.ask(command) for command in commands), return_exceptions=True)

    first, broken, answer, again = asyncio.run(together())
    assert isinstance(broken, ZeroDivisionError)
    assert getattr(answer, "status", None) == "stored"
    assert getattr(again, "rater", 1) == getattr(first, "rater", 2)
    assert collection.raters().height == 2
    assert collection.coverage().complete == 1
    person.step = collection.do(Next(person.id))
    person.finish()


@pytest.mark.slow
def test_many_at_once_share_a_transaction(make_study: Make, opened: Open) -> None:
    collection = opened(make_study(200, design={"ratings_per_item": 3}))

    async def rate() -> int:
        async def each() -> int:
            rater = (await collection.ask(Arrive())).rater
            step = await collection.ask(Ready(rater))
            done = 0
            while isinstance(step, ShowTrial) and done < 5:
                receipt = await collection.ask(Answer(rater, step.trial, key=f"{rater}{done}", values={"valence": 5}))
                assert receipt.next_step is not None
                step, done = receipt.next_step, done + 1
            return done

        return sum(await asyncio.gather(*(each() for _ in range(40))))

    assert asyncio.run(rate()) == 200
    assert collection.ratings().height == 200
    counts = collection.coverage()
    assert max(counts.histogram) <= 3


def test_a_cancelled_waiter_does_not_stop_the_writer(make_study: Make, opened: Open) -> None:
    collection = opened(make_study())

    async def hurry() -> None:
        task = asyncio.ensure_future(collection.ask(Arrive()))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await collection.ask(Arrive())

    asyncio.run(hurry())
    assert collection.raters().height == 2


def test_a_closed_collection_says_so(make_study: Make, opened: Open) -> None:
    collection = opened(make_study())
    collection.close()
    collection.close()
    with pytest.raises(StoreUnavailable, match="closed"):
        collection.do(Arrive())


@pytest.mark.slow
def test_the_database_goes_away_and_comes_back(make_study: Make, postgres_server: PostgresServer) -> None:
    """Raters are told to try again; nothing is half stored; it works again without a restart."""
    folder = make_study(5)
    with Collection.open(folder, database=postgres_server.address) as collection:
        person = Person(collection)
        person.begin()
        person.answer()
        waiting = Answer(person.id, person.trial.trial, key="k", values={"valence": 8})
        postgres_server.stop()
        try:
            for _ in range(2):
                with pytest.raises(StoreUnavailable, match=r"cannot store anything now.*\n.*Try again"):
                    collection.do(waiting)
            with pytest.raises(StoreUnavailable):
                collection.ratings()
            with pytest.raises(StoreUnavailable):
                collection.coverage()
        finally:
            postgres_server.start()
        assert collection.do(waiting).status == "stored"
        assert collection.do(waiting).status == "already"
        assert sorted(collection.ratings()["value"]) == [5.0, 8.0]


def test_a_server_that_was_started_again_in_the_meantime(make_study: Make, postgres_server: PostgresServer) -> None:
    """A connection that was cut while nobody used it turns nobody away."""
    folder = make_study(3)
    with Collection.open(folder, database=postgres_server.address) as collection:
        person = Person(collection)
        person.begin()
        postgres_server.stop()
        postgres_server.start()
        assert person.answer().status == "stored"
        assert collection.ratings().height == 1


@pytest.mark.slow
def test_a_database_that_is_not_there(make_study: Make) -> None:
    with pytest.raises(StoreUnavailable):
        Collection.open(make_study(), database="postgresql://nobody@127.0.0.1:1/none")


def test_somebody_else_holds_the_lock(make_study: Make, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("heartfelt.collect.store.database._WAIT_SECONDS", 0.2)
    folder = make_study()
    with Collection.open(folder, clock=clock) as collection:
        holder = sqlite3.connect(folder / STORE_FILE, isolation_level=None)
        holder.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreUnavailable, match="locked"):
            collection.do(Arrive())
        holder.execute("ROLLBACK")
        holder.close()
        collection.do(Arrive())
        assert collection.raters().height == 1


@pytest.mark.slow
def test_a_full_disk(make_study: Make) -> None:
    """With no room to grow the store refuses, keeps what it had, and goes on when there is room again."""
    folder = make_study(40)
    code = textwrap.dedent(
        """
        import resource, signal, sys
        from heartfelt.collect import Collection
        from heartfelt.collect.messages.commands import Answer
        from heartfelt.collect.messages.errors import StoreUnavailable
        from tests.collect.people import Person
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        with Collection.open(sys.argv[1]) as collection:
            person = Person(collection)
            person.begin()
            person.answer(1)
            size = 4096 * 64
            soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
            stored = 1
            try:
                while True:
                    person.answer(2, comment="x" * 3000)
                    stored += 1
                    assert stored < 30, "the limit was never met"
            except StoreUnavailable as error:
                print("refused", error.problem)
            resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard))
            try:
                collection.check_writing()
                raise SystemExit("says that writing works")
            except StoreUnavailable:
                pass
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
            assert collection.ratings().height == stored
            person.answer(3)
            collection.check_writing()
            assert collection.ratings().height == stored + 1
            assert collection.coverage().complete == stored + 1
        """
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(folder)], cwd=ROOT, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert mentions(done.stdout, "refused", "database")


def test_a_file_that_is_no_store(make_study: Make) -> None:
    folder = make_study()
    (folder / STORE_FILE).write_bytes(b"not a database at all, but long enough to be looked at" * 100)
    with pytest.raises(StoreDamaged, match=r"collected\.sqlite.*not a database.*\n.*restore your last backup"):
        Collection.open(folder)


def filled(folder: Path) -> Path:
    """A store with enough in it to have pages in the middle."""
    with Collection.open(folder) as collection:
        for _ in range(6):
            person = Person(collection)
            person.begin()
            while isinstance(person.step, ShowTrial):
                person.answer(comment="x" * 500)
    return folder / STORE_FILE


def spoil(path: Path) -> None:
    """Overwrite everything behind the first pages, as a failing disk would."""
    size = path.stat().st_size
    with path.open("r+b") as file:
        file.seek(min(size // 4, 16_384))
        file.write(os.urandom(size - min(size // 4, 16_384)))


@pytest.mark.slow
def test_a_damaged_file_is_named_at_the_start(make_study: Make) -> None:
    folder = make_study(30, design={"ratings_per_item": 6})
    spoil(filled(folder))
    with pytest.raises(StoreDamaged) as message:
        Collection.open(folder)
    assert STORE_FILE in message.value.problem
    assert "damaged" in message.value.problem
    for words in ("copy", "backup", ".recover", "integrity_check"):
        assert words in message.value.fix
    assert "Try again" not in message.value.fix


@pytest.mark.slow
def test_a_file_that_is_damaged_while_it_is_open(make_study: Make) -> None:
    folder = make_study(30, design={"ratings_per_item": 9})
    path = filled(folder)
    with Collection.open(folder) as collection:
        person = Person(collection)
        person.begin()
        person.answer()
        collection._database.scrub()
        spoil(path)
        with pytest.raises(StoreDamaged, match="damaged"):
            collection.ratings()
        with pytest.raises(StoreDamaged, match="damaged"):
            for _ in range(20):
                person.answer(comment="y" * 3000)


def test_the_environment_names_the_database(make_study: Make, postgres: str, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = make_study()
    monkeypatch.setenv("HEARTFELT_DATABASE", postgres)
    with Collection.open(folder) as collection:
        collection.do(Arrive())
    assert not (folder / STORE_FILE).exists()
    monkeypatch.delenv("HEARTFELT_DATABASE")
    with Collection.open(folder, database=postgres) as collection:
        assert collection.raters().height == 1


def test_a_password_in_the_study_reaches_no_snapshot(make_study: Make, hidden_address: str, tmp_path: Path) -> None:
    folder = make_study(3)
    plain = load_study(folder)
    text = yaml.safe_load((folder / "study.yaml").read_text(encoding="utf-8"))
    (folder / "study.yaml").write_text(yaml.safe_dump({**text, "database": hidden_address}), encoding="utf-8")
    study = load_study(folder)
    assert study.database == hidden_address
    assert study.hash == plain.hash, "where ratings are kept is no part of what is asked"
    with Collection.open(folder) as collection:
        Person(collection).finish()
        written = collection.snapshot().write(tmp_path / "frozen")
    for path in written.rglob("*"):
        assert path.is_dir() or b"sesame" not in path.read_bytes(), path


@pytest.mark.parametrize("address", ["mysql://u@h/d", "nonsense", "postgresql://h:port/d"])
def test_addresses_that_are_none(make_study: Make, address: str) -> None:
    with pytest.raises(InputError):
        Collection.open(make_study(), database=address)


def test_studies_share_a_database_without_meeting(make_study: Make, postgres: str) -> None:
    each, two = make_study(3), make_study(4)
    with Collection.open(each, database=postgres) as first, Collection.open(two, database=postgres) as second:
        Person(first).finish()
        assert first.ratings().height == 3
        assert second.ratings().height == 0


def test_schema_names_tell_studies_apart() -> None:
    assert schema_name("aimoclips") == "heartfelt_aimoclips"
    names = {schema_name(name) for name in ("My study", "my-study", "my_study", "감정", "a" * 80, "a" * 81)}
    assert len(names) == 6
    assert all(len(name) < 63 and name.replace("_", "").isalnum() and name.isascii() for name in names)


@pytest.mark.slow
def test_a_long_journal_is_replayed(make_study: Make, opened: Open) -> None:
    """What is made from the journal is what was there before: counts, leases, places, settings."""
    folder = make_study(30, design={"ratings_per_item": 5, "batch": 7})
    collection = opened(folder)
    people = [Person(collection) for _ in range(5)]
    for person in people:
        for _ in person.rate(12):
            pass
    before = collection.coverage()
    steps = [collection.do(Next(person.id)) for person in people]
    settings = collection.settings
    collection.close()
    again = opened(folder)
    after = again.coverage()
    assert after.items.equals(before.items)
    assert [again.do(Next(person.id)) for person in people] == steps
    assert again.settings == settings


def test_the_writer_waits_for_the_disk(make_study: Make) -> None:
    folder = make_study()
    for durable, level in ((True, 2), (False, 0)):
        store = Database(folder / f"{durable}.sqlite", "s", durable=durable)
        with store.connect() as connection:
            assert connection.exec_driver_sql("PRAGMA synchronous").scalar() == level
            assert connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "wal"
        store.close()
    assert CollectOptions().durable
    assert os.environ.get("HEARTFELT_DATABASE") is None
