"""Media stay what raters heard: a file is hashed when it is first served, and one that is replaced later is refused."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient
from typer.testing import CliRunner

from heartfelt import load
from heartfelt.cli.app import app as command
from heartfelt.collect import Collection
from heartfelt.collect.collection import collected_snapshot
from heartfelt.errors import InputError, StudyError
from heartfelt.web.requests.options import ServeOptions, WebOptions
from heartfelt.web.serving.app import create_app
from heartfelt.web.serving.serve import prepare
from tests.collect.conftest import postgres, postgres_server
from tests.collect.people import write_study as write_bare_study
from tests.facts import mentions
from tests.ports import free_port
from tests.web.conftest import SECRET
from tests.web.studies import rate, write_study

__all__ = ["postgres", "postgres_server"]
CLIP = "Quillbox_zestful_1"
OTHER = "Marrowtone_forlorn_2"


@pytest.fixture
def study(tmp_path: Path) -> Path:
    return write_study(tmp_path / "study", quota=9)


def fetch(collection: Collection, *stimuli: str) -> list[int]:
    """What a rater's browser gets for the stimuli's media."""
    with TestClient(create_app(collection, WebOptions(secret=SECRET)), raise_server_exceptions=False) as client:
        client.get("/")
        blinding = client.app.state.blinding  # type: ignore[attr-defined]  # FastAPI's
        ids = collection.media_ids()
        return [client.get(f"/media/{blinding.media('1', ids[name])}").status_code for name in stimuli]


def media_versions(collection: Collection) -> list[tuple[str, int]]:
    from heartfelt.collect.reading.media import versions

    return collection._read(versions).select("stimulus", "version").rows()


def swap(study: Path, stimulus: str = CLIP) -> None:
    """Put a clip of the same length in the place of another, with the same time."""
    file = study / "media" / f"{stimulus}.wav"
    status = file.stat()
    content = bytearray(file.read_bytes())
    content[-100:] = bytes(100)
    new = file.with_suffix(".new")
    new.write_bytes(content)
    os.utime(new, ns=(status.st_atime_ns, status.st_mtime_ns))
    new.replace(file)


@pytest.fixture
def prepared(study: Path) -> Callable[..., list[str]]:
    """Prepare to serve, and say which files were accepted."""

    def run(**options: Any) -> list[str]:
        server = prepare(study, ServeOptions(port=free_port(), **options))
        server.listener.close()
        assert server.collection is not None
        server.collection.close()
        return list(server.accepted_media)

    return run


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_a_clip_is_hashed_when_it_is_first_served(study: Path, kind: str, request: pytest.FixtureRequest) -> None:
    database = request.getfixturevalue("postgres") if kind == "postgresql" else None
    with Collection.open(study, database=database) as collection:
        assert media_versions(collection) == []
        assert fetch(collection, CLIP, CLIP, OTHER) == [200, 200, 200]
        assert media_versions(collection) == [(OTHER, 1), (CLIP, 1)]
        file = study / "media" / f"{CLIP}.wav"
        os.utime(file)
        assert fetch(collection, CLIP) == [200], "another time, the same content"
        with Collection.open(study, database=database) as second:
            assert fetch(second, CLIP) == [200]
            assert media_versions(second) == [(OTHER, 1), (CLIP, 1)]


@pytest.mark.slow
def test_a_swapped_clip_is_refused_and_can_be_accepted_as_a_version(
    study: Path, prepared: Callable[..., list[str]]
) -> None:
    with Collection.open(study) as collection:
        fetch(collection, CLIP, OTHER)
        rate(collection, "before")
    assert prepared() == []
    swap(study)
    with pytest.raises(StudyError, match=rf"1 stimuli with ratings were replaced \({CLIP}\)") as refused:
        prepared()
    assert "--accept-media" in refused.value.fix
    assert "ids of their own" in refused.value.fix
    assert "media_version" not in collected_snapshot(study).ratings.columns, "freezing is always possible"

    assert prepared(accept_media=True) == [CLIP]
    assert prepared() == [], "from now on it is the file"
    with Collection.open(study, clock=lambda: time.time() + 3600) as collection:
        assert fetch(collection, CLIP) == [200]
        rate(collection, "after")
        collection.snapshot().write(study / "frozen")
    ratings = load(study / "frozen").ratings
    versions = ratings.group_by("stimulus").agg(n="media_version").sort("stimulus")
    by_stimulus = {row["stimulus"]: sorted(row["n"]) for row in versions.iter_rows(named=True)}
    assert by_stimulus.pop(CLIP) == [1, 1, 2, 2]
    assert all(numbers == [1, 1, 1, 1] for numbers in by_stimulus.values())


@pytest.mark.slow
def test_a_clip_that_is_swapped_while_the_study_runs_is_not_served(study: Path) -> None:
    with Collection.open(study) as collection:
        fetch(collection, CLIP, OTHER)
        swap(study)
        assert fetch(collection, CLIP, OTHER) == [200, 200], "nobody has rated it"
        assert media_versions(collection) == [(OTHER, 1), (CLIP, 1), (CLIP, 2)]
        rate(collection, "p1")
        content = (study / "media" / f"{OTHER}.wav").read_bytes()
        swap(study, OTHER)
        assert fetch(collection, CLIP, OTHER) == [200, 409]
        (study / "media" / f"{OTHER}.wav").write_bytes(content)
        assert fetch(collection, OTHER) == [200], "the old file is back"
        (study / "media" / f"{OTHER}.wav").unlink()
        assert fetch(collection, OTHER) == [404]


@pytest.mark.slow
def test_missing_files_are_said_at_the_start_and_not_assigned(study: Path) -> None:
    (study / "media" / f"{CLIP}.wav").unlink()
    server = prepare(study, ServeOptions(port=free_port()))
    assert server.collection is not None
    with server.listener, server.collection as collection:
        assert list(server.missing_media) == [CLIP]
        assert collection.problems().rows()[0][:3] == (CLIP, None, "file not found")
        rate(collection, "p1")
        assert CLIP not in collection.ratings()["stimulus"].to_list()


@pytest.mark.parametrize("column", ["file", "clips"])
def test_a_manifest_without_paths_is_refused_by_check_and_serve(study: Path, column: str) -> None:
    manifest = study / "stimuli.csv"
    manifest.write_text(manifest.read_text().replace("path", column, 1))
    done = CliRunner().invoke(command, ["check", str(study)])
    assert isinstance(done.exception, InputError)
    assert mentions(done.exception.problem, "column", "'path'")
    assert f"Is it the column '{column}'?" in done.exception.fix
    with pytest.raises(InputError, match="has no column 'path'"):
        prepare(study, ServeOptions(port=free_port()))
    with Collection.open(study) as collection:
        assert collection.snapshot().stimuli.height == 12, "what needs no media goes on without"


def test_a_study_that_asks_about_prompts_needs_no_media(tmp_path: Path) -> None:
    questions = [{"id": "clear", "text": "Is it clear?", "scale": "nine", "shows": ["prompt"]}]
    study = write_bare_study(
        tmp_path / "texts", "texts", rows=["stimulus,prompt", "a,A dog barks", "b,Rain"], questions=questions
    )
    done = CliRunner().invoke(command, ["check", str(study)])
    assert done.exit_code == 0, done.output


def test_a_study_without_any_readable_file_is_not_served(study: Path) -> None:
    for file in (study / "media").iterdir():
        file.write_bytes(b"")
    with pytest.raises(InputError, match=r"12 stimuli.*media.*file"):
        prepare(study, ServeOptions(port=free_port()))
