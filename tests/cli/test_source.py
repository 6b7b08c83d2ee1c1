"""Commands that are pointed to a study folder see what it has collected."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from heartfelt.api.sources import read_source
from heartfelt.collect import Collection
from heartfelt.collect.stored import has_collected
from heartfelt.errors import InputError
from tests.collect.people import Person, write_study


@pytest.mark.slow
def test_a_study_is_read_with_its_ratings(tmp_path: Path) -> None:
    folder = write_study(tmp_path / "study", "small", 4)
    before = read_source(folder)
    assert (before.source.format, before.counts["ratings"]) == ("study", 0)
    assert not (folder / "collected.sqlite").exists(), "looking makes no store"
    with Collection.open(folder) as collection:
        Person(collection).finish()
        running = read_source(folder)
    assert (running.source.format, running.counts["ratings"]) == ("collection", 4)


def test_anything_else_is_read_as_before(tmp_path: Path) -> None:
    table = tmp_path / "ratings.csv"
    table.write_text("rater,stimulus,question,value\na,x,q,1\nb,x,q,2\n", encoding="utf-8")
    assert read_source(table, "long").counts["ratings"] == 2
    with pytest.raises(InputError):
        read_source(tmp_path / "nothing")


LOOKS = """
import sys
from pathlib import Path
from heartfelt.cli import main
folder = Path(sys.argv[1])
assert main(["show", str(folder)]) == 0
assert main(["export", "long", str(folder), str(folder.parent / "tables")]) == 0
print(sorted({"sqlalchemy", "alembic", "fastapi", "onnxruntime", "httpx", "pyarrow"} & set(sys.modules)))
"""


@pytest.mark.slow
def test_a_snapshot_needs_no_database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = tmp_path / "ratings.csv"
    table.write_text("rater,stimulus,question,value\na,x,q,1\nb,x,q,2\n", encoding="utf-8")
    folder = read_source(table, "long").write(tmp_path / "snapshot")
    # A database for all studies of a server does not make a snapshot a study that is being collected for.
    monkeypatch.setenv("HEARTFELT_DATABASE", "postgresql://nobody@localhost:1/nothing")
    assert not has_collected(folder)
    done = subprocess.run(
        [sys.executable, "-c", LOOKS, str(folder)], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "[]"
