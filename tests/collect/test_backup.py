"""Backups: everything of one moment, from a running study, back into a file or another database."""

from __future__ import annotations

import json
import shutil
import stat
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from heartfelt.collect import Collection, CollectOptions
from heartfelt.collect.collection import collected_snapshot
from heartfelt.collect.store.backup import back_up, restore
from heartfelt.errors import DamagedError, InputError
from heartfelt.serialization import dumps
from tests.collect.people import Person

pytestmark = pytest.mark.slow


def collected(folder: Path, database: str | None = None, people: int = 3) -> str:
    with Collection.open(folder, database=database, options=CollectOptions(durable=False)) as collection:
        for number in range(people):
            visitor = Person(collection, recruiter="prolific", person=f"p{number}")
            list(visitor.rate())
        return collection.snapshot().hash


def hash_of(folder: Path, database: str | None = None) -> str:
    with Collection.open(folder, database=database) as collection:
        assert collection.participants()["participant"].sort().to_list() == ["p0", "p1", "p2"]
        return collection.snapshot().hash


def test_a_study_moves_between_databases_without_losing_anything(
    make_study: Callable[..., Path], postgres: str, tmp_path: Path
) -> None:
    folder = make_study(4, design={"ratings_per_item": 9})
    before = collected(folder)
    first = back_up(folder, tmp_path / "first")
    assert (tmp_path / "first").stat().st_mode & stat.S_IRWXO == 0, "nobody else may read it"
    assert first.tables["answers"] == first.tables["ratings"] == 12
    assert first.tables["participants"] == 3

    restore(tmp_path / "first", tmp_path / "in-postgres", database=postgres)
    assert not (tmp_path / "in-postgres" / "collected.sqlite").exists()
    assert hash_of(tmp_path / "in-postgres", postgres) == before
    with pytest.raises(InputError, match="already holds ratings"):
        restore(tmp_path / "first", tmp_path / "again", database=postgres)
    assert not (tmp_path / "again").exists()

    back_up(tmp_path / "in-postgres", tmp_path / "second", database=postgres)
    restore(tmp_path / "second", tmp_path / "in-file")
    assert hash_of(tmp_path / "in-file") == before
    with Collection.open(tmp_path / "in-file", options=CollectOptions(durable=False)) as collection:
        assert Person(collection).begin() is not None, "the restored study goes on"


def test_a_backup_of_a_running_study_has_everything_that_was_acknowledged(
    make_study: Callable[..., Path], tmp_path: Path
) -> None:
    folder = make_study(40, design={"ratings_per_item": 5000})
    (folder / "media").mkdir()
    (folder / "media" / "s0.wav").write_bytes(b"sound")
    stop = threading.Event()
    acknowledged = [0]
    with Collection.open(folder, options=CollectOptions(durable=False)) as collection:

        def rate() -> None:
            while not stop.is_set():
                visitor = Person(collection)
                visitor.begin()
                visitor.answer()
                acknowledged[0] += 1

        raters = [threading.Thread(target=rate) for _ in range(3)]
        for each in raters:
            each.start()
        while acknowledged[0] < 20:
            stop.wait(0.01)
        lower = acknowledged[0]
        done = back_up(folder, tmp_path / "with", media=True)
        stop.set()
        for each in raters:
            each.join()
        final = collection.snapshot().survey.ratings
    assert lower <= done.tables["answers"] <= final
    restore(tmp_path / "with", tmp_path / "restored")
    assert (tmp_path / "restored" / "media" / "s0.wav").read_bytes() == b"sound"
    with Collection.open(tmp_path / "restored") as collection:
        assert collection.snapshot().survey.ratings == done.tables["ratings"]


def test_what_cannot_be_backed_up_or_restored_leaves_nothing(make_study: Callable[..., Path], tmp_path: Path) -> None:
    folder = make_study(4, design={"ratings_per_item": 9})
    with pytest.raises(InputError, match="collected nothing"):
        back_up(folder, tmp_path / "out")
    collected(folder)
    with pytest.raises(InputError, match="lies in the study folder"):
        back_up(folder, folder / "backup")
    with pytest.raises(InputError, match="not a study folder"):
        back_up(tmp_path / "nowhere", tmp_path / "out")
    assert not (tmp_path / "out").exists()
    back_up(folder, tmp_path / "out")
    with pytest.raises(InputError, match="not empty"):
        back_up(folder, tmp_path / "out")
    with pytest.raises(InputError, match="not empty"):
        restore(tmp_path / "out", folder)
    with pytest.raises(InputError, match="is not a backup"):
        restore(folder, tmp_path / "new")
    damaged = tmp_path / "damaged"
    shutil.copytree(tmp_path / "out", damaged)
    content = bytearray((damaged / "collected.sqlite").read_bytes())
    content[len(content) // 2] ^= 255
    (damaged / "collected.sqlite").write_bytes(content)
    with pytest.raises(DamagedError, match="not what was backed up"):
        restore(damaged, tmp_path / "new")
    about = json.loads((tmp_path / "out" / "backup.json").read_text("utf-8"))
    (tmp_path / "out" / "backup.json").write_text(dumps({**about, "layout": 99}), "utf-8")
    with pytest.raises(InputError, match="layout 99"):
        restore(tmp_path / "out", tmp_path / "new")
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda text: text.replace("scales:", "scales: [oops", 1), "broken"),
        (lambda text: text.replace("points: 9", "points: 7", 1), "forbidden"),
    ],
)
def test_a_study_yaml_that_does_not_fit_the_answers_is_saved_and_the_restored_study_can_be_frozen(
    make_study: Callable[..., Path], tmp_path: Path, database: str | None, edit: Callable[[str], str], message: str
) -> None:
    folder = make_study(4, design={"ratings_per_item": 9})
    before = collected(folder, database)
    file = folder / "study.yaml"
    edited = edit(file.read_text("utf-8"))
    assert edited != file.read_text("utf-8"), message
    file.write_text(edited, "utf-8")
    back_up(folder, tmp_path / "backup", database=database)
    assert (tmp_path / "backup" / "study.yaml").read_text("utf-8") == edited
    restore(tmp_path / "backup", tmp_path / "restored")
    assert (tmp_path / "restored" / "study.edited.yaml").read_text("utf-8") == edited
    assert hash_of(tmp_path / "restored") == before
    restored = collected_snapshot(tmp_path / "restored")
    assert restored.survey.ratings == 12


def test_an_allowed_edit_is_restored_as_it_was_written(make_study: Callable[..., Path], tmp_path: Path) -> None:
    folder = make_study(4, design={"ratings_per_item": 9})
    collected(folder)
    file = folder / "study.yaml"
    file.write_text(file.read_text("utf-8") + "\ntitle: A better title\n", "utf-8")
    back_up(folder, tmp_path / "backup")
    restore(tmp_path / "backup", tmp_path / "restored")
    assert (tmp_path / "restored" / "study.yaml").read_text("utf-8") == file.read_text("utf-8")
    assert not (tmp_path / "restored" / "study.edited.yaml").exists()
