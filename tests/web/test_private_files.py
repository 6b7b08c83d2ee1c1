"""Every file that is about people belongs to its owner alone, whatever the umask; what is published does not."""

from __future__ import annotations

import logging
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from heartfelt.cli.app import app
from heartfelt.collect import Collection
from heartfelt.collect.collection import collected_snapshot
from heartfelt.collect.store.backup import back_up, restore
from heartfelt.formats import export
from heartfelt.publishing.options import PublishOptions
from heartfelt.publishing.publish import publish
from heartfelt.web.security.signing import load_keys
from tests.collect.conftest import postgres, postgres_server
from tests.web.studies import rate, write_study

__all__ = ["postgres", "postgres_server"]
STORE = ("collected.sqlite", "collected.sqlite-wal", "collected.sqlite-shm", "collected.secret")


@pytest.fixture(autouse=True)
def open_umask(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What is created without a mode of its own can be read by everybody."""
    monkeypatch.delenv("HEARTFELT_SECRET", raising=False)
    before = os.umask(0)
    yield
    os.umask(before)


def readable_by_others(*paths: Path) -> list[str]:
    """The files and folders at and below ``paths`` that somebody else may read, write or list."""
    inner = [path for top in paths for path in (top, *top.rglob("*"))]
    assert all(path.exists() for path in inner)
    return sorted(
        f"{path.name} {stat.S_IMODE(path.stat().st_mode):o}"
        for path in inner
        if path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO)
    )


def run(*arguments: str | Path) -> None:
    done = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert done.exit_code == 0, done.output


@pytest.mark.slow
def test_what_is_written_about_people_is_their_researchers_alone(tmp_path: Path) -> None:
    study = write_study(tmp_path / "study", quota=12)
    with Collection.open(study) as collection:
        load_keys(collection)
        for person in ("p1", "p2", "p3", "p4", "p5"):
            rate(collection, person)
        assert readable_by_others(*(study / name for name in STORE)) == []
    run("snapshot", study)
    run("backup", study, tmp_path / "backups" / "one")
    run("restore", tmp_path / "backups" / "one", tmp_path / "restored")
    run("study", "participants", study, "--out", tmp_path / "people.csv")
    run("snapshot", study, tmp_path / "frozen")
    run("export", "long", tmp_path / "frozen", tmp_path / "exported")
    run("import", "long", tmp_path / "exported", tmp_path / "imported")
    names = ("backups", "restored", "people.csv", "frozen", "exported", "imported", "study/snapshots")
    assert readable_by_others(*(tmp_path / name for name in names)) == []

    snapshot = collected_snapshot(study)
    publish(snapshot, tmp_path / "published", PublishOptions(figures=False, analysis=False))
    assert readable_by_others(tmp_path / "published-private") == []
    published = [tmp_path / "published", *(tmp_path / "published").rglob("*")]
    closed = [path for path in published if not path.stat().st_mode & stat.S_IROTH]
    assert closed == [], "a release is for everybody"
    assert readable_by_others(tmp_path / "frozen") == [], "which opens no snapshot"


@pytest.mark.slow
def test_a_store_that_others_could_read_is_closed_to_them_with_a_note(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    study = write_study(tmp_path / "study")
    with Collection.open(study) as collection:
        rate(collection, "p1", most=1)
    (study / "collected.sqlite").chmod(0o644)
    with caplog.at_level(logging.WARNING), Collection.open(study):
        pass
    assert readable_by_others(study / "collected.sqlite") == []
    assert "could be read by others" in caplog.text
    caplog.clear()
    with caplog.at_level(logging.WARNING), Collection.open(study):
        pass
    assert caplog.text == ""


@pytest.mark.slow
def test_the_signing_secret_is_outside_the_store_and_travels_with_backups(
    tmp_path: Path, postgres: str, caplog: pytest.LogCaptureFixture
) -> None:
    study = write_study(tmp_path / "study")
    with Collection.open(study) as collection:
        secret = load_keys(collection).secret
        rate(collection, "p1", most=1)
        assert collection.value("secret") is None
    files = [path for path in study.rglob("*") if path.is_file() and secret in path.read_bytes()]
    assert files == [study / "collected.secret"]

    back_up(study, tmp_path / "backup")
    restore(tmp_path / "backup", tmp_path / "in-file")
    restore(tmp_path / "backup", tmp_path / "in-postgres", database=postgres)
    assert not (tmp_path / "in-postgres" / "collected.secret").exists(), "servers share the one in the database"
    back_up(tmp_path / "in-postgres", tmp_path / "again", database=postgres)
    restore(tmp_path / "again", tmp_path / "back-in-file")
    for name, database in (("in-file", None), ("in-postgres", postgres), ("back-in-file", None)):
        with Collection.open(tmp_path / name, database=database) as collection:
            assert load_keys(collection).secret == secret, name

    (study / "collected.secret").unlink()
    with caplog.at_level(logging.WARNING), Collection.open(study) as collection:
        assert load_keys(collection).secret != secret
    assert "personal links are not valid any more" in caplog.text


@pytest.mark.slow
def test_a_store_of_an_earlier_version_keeps_its_secret(tmp_path: Path) -> None:
    study = write_study(tmp_path / "study")
    with Collection.open(study) as collection:
        collection.set_value("secret", "e" * 64)
        assert load_keys(collection).secret == b"e" * 64
    assert not (study / "collected.secret").exists()


@pytest.mark.slow
def test_an_export_of_a_snapshot_does_not_change_the_mode_of_another(tmp_path: Path) -> None:
    study = write_study(tmp_path / "study")
    with Collection.open(study) as collection:
        rate(collection, "p1")
        first = collection.snapshot().write(tmp_path / "first")
    (first / "ratings.parquet").chmod(0o640)
    from heartfelt import load

    second = load(first).write(tmp_path / "second")
    assert stat.S_IMODE((first / "ratings.parquet").stat().st_mode) == 0o640
    assert readable_by_others(second) == []
    assert export(load(second), "long", tmp_path / "csv") == tmp_path / "csv"
