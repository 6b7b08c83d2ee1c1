"""Media of a release, for somebody who has all its files: no secret of the originals is in them, and each is accounted for."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from heartfelt.publishing.anonymity.check import PrivateDataError, check_media
from heartfelt.publishing.anonymity.draft import Draft
from heartfelt.publishing.anonymity.key import keyed_hash
from heartfelt.publishing.anonymity.media import ORIGINAL, content_digest, forbids_sharing, media_table, publish_media
from heartfelt.publishing.options import PublishOptions
from heartfelt.publishing.publish import publish
from heartfelt.snapshot import Snapshot
from heartfelt.snapshot.snapshot import Source
from tests.media.metadata.planted_pictures import PICTURES, SECRET, TEXT, saved
from tests.media.metadata.planted_sounds import FILMS, SOUNDS, UNPLAYABLE
from tests.media.metadata.test_hostile import LIES
from tests.media.metadata.test_planted_pictures import holds
from tests.publishing.test_publish import small

KEY = bytes(32)


def source_of(folder: Path, files: dict[str, bytes], **columns: Sequence[str | int | None]) -> Snapshot:
    """A small study with these media."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    base = small(12, len(files))
    stimuli = base.stimuli.with_columns(pl.Series("path", list(files)), *(pl.Series(n, v) for n, v in columns.items()))
    return Snapshot.build(
        base.study, stimuli=stimuli, ratings=base.ratings, source=Source(format="tables", name="x", media_root=folder)
    )


@pytest.mark.slow
def test_no_secret_of_any_file_is_in_the_release(tmp_path: Path) -> None:
    builders = {**PICTURES, **SOUNDS, **FILMS, **UNPLAYABLE}
    files = {f"clips/{name}": build() for name, build in builders.items()}
    files |= {f"refused/{name}": content for name, content in LIES.items()}
    options = PublishOptions(analysis=False, figures=False, layouts=())
    published = publish(source_of(tmp_path / "mine", files), tmp_path / "out", options)
    written = [path for path in published.folder.rglob("*") if path.is_file()]
    assert [path for path in written if holds(path.read_bytes()) or SECRET in path.name] == []
    table = pl.read_csv(published.folder / "media.csv")
    told = {row["stimulus"]: row for row in table.iter_rows(named=True)}
    for number, name in enumerate(files):
        row = told[f"s{number}"]
        file = published.folder / "media" / name
        if name.startswith("clips/"):
            assert row["path"] == f"media/{name}"
            assert row["sha256"] == hashlib.sha256(file.read_bytes()).hexdigest()
        else:
            assert not file.exists()
            assert row["why_absent"].startswith("metadata cannot be removed from a")


def files() -> dict[str, bytes]:
    """One medium that is shared, one that may not be, one that cannot be cleaned, one that is missing."""
    return {
        "a/one.png": saved("PNG") + TEXT,
        "two.wav": SOUNDS["list.wav"](),
        "three.svg": LIES["drawing.svg"],
        "gone.wav": b"",
    }


LICENCES = ["CC0-1.0", "All rights reserved", "CC0-1.0", None]


def test_every_medium_is_shared_or_said_to_be_absent(tmp_path: Path) -> None:
    source = source_of(
        tmp_path / "mine", files(), licence=LICENCES, link=[f"https://example.org/{n}" for n in range(4)],
        bytes=[1, 2, 3, 4], found=[True] * 4,
    )  # fmt: skip
    (tmp_path / "mine" / "gone.wav").unlink()
    told: list[tuple[str, int, int | None]] = []
    draft, plan = publish_media(
        Draft.of(source), tmp_path / "out", None, lambda text, done, total: told.append((text, done, total)), KEY
    )
    assert told == [("media without metadata", 0, 4)]
    assert {name: medium.why_absent for name, medium in plan.items()} == {
        "s0": None,
        "s1": "the licence of the media forbids sharing (All rights reserved)",
        "s2": "metadata cannot be removed from an SVG drawing: convert it to PNG",
        "s3": "the media file was not at hand",
    }
    clean = (tmp_path / "out" / "media" / "a" / "one.png").read_bytes()
    assert clean == saved("PNG")
    assert [path.name for path in (tmp_path / "out" / "media").rglob("*.*")] == ["one.png"]
    rows = media_table(plan).rows(named=True)
    original = (tmp_path / "mine" / "two.wav").read_bytes()
    assert rows[0] == {
        "stimulus": "s0", "path": "media/a/one.png", "sha256": hashlib.sha256(clean).hexdigest(), "bytes": len(clean),
        "link": "https://example.org/0", "why_absent": None,
    }  # fmt: skip
    assert (rows[1]["sha256"], rows[1]["bytes"]) == (content_digest(tmp_path / "mine" / "two.wav"), len(original))
    drawing = hashlib.sha256((tmp_path / "mine" / "three.svg").read_bytes()).hexdigest()
    assert rows[2]["sha256"] == keyed_hash(KEY, ORIGINAL, drawing)
    assert (rows[1]["path"], rows[1]["link"]) == (None, "https://example.org/1")
    assert (rows[3]["sha256"], rows[3]["bytes"], rows[3]["path"]) == ("", 0, None)
    stimuli = draft.tables["stimuli"]
    assert stimuli["bytes"].to_list() == [len(clean), 2, 3, 4]
    assert stimuli["found"].to_list() == [True, False, False, False]
    assert draft.source.media_root == tmp_path / "out" / "media"
    assert [(step.rows, step.about.partition(":")[0]) for step in draft.steps] == [
        (1, "1 media file published without metadata (tags, comments, dates, places)."),
        *[(1, "1 stimulus without a media file")] * 3,
    ]


@pytest.mark.parametrize(("share", "shared"), [(True, ["one.png", "two.wav"]), (False, []), (None, ["one.png"])])
def test_the_author_decides_before_the_licence(tmp_path: Path, share: bool | None, shared: list[str]) -> None:
    source = source_of(tmp_path / "mine", files(), license=LICENCES)
    (tmp_path / "mine" / "gone.wav").unlink()
    draft, plan = publish_media(Draft.of(source), tmp_path / "out", share, lambda *_: None, KEY)
    assert [Path(medium.path).name for medium in plan.values() if medium.path] == shared
    assert (draft.source.media_root is None) == (not shared)
    if share is False:
        absent = [medium.why_absent for medium in plan.values()]
        assert absent == [*["the media may not be shared"] * 3, "the media file was not at hand"]
        assert not (tmp_path / "out").exists()


def test_stimuli_without_paths(tmp_path: Path) -> None:
    draft, plan = publish_media(Draft.of(small()), tmp_path, None, lambda *_: None, KEY)
    assert {medium.why_absent for medium in plan.values()} == {"the media file was not at hand"}
    assert "path" not in draft.tables["stimuli"].columns
    source = source_of(tmp_path / "mine", {"a.png": saved("PNG"), "b.png": saved("PNG")})
    listed = Draft.of(source)
    gap = listed.changed(stimuli=source.stimuli.with_columns(pl.Series("path", ["a.png", None])))
    _, plan = publish_media(gap, tmp_path / "one", None, lambda *_: None, KEY)
    assert [medium.path for medium in plan.values()] == ["media/a.png", None]
    rootless = replace(listed, source=replace(listed.source, media_root=None))
    _, plan = publish_media(rootless, tmp_path / "none", None, lambda *_: None, KEY)
    assert [medium.path for medium in plan.values()] == [None, None]


def test_a_file_longer_than_a_block_is_written_whole(tmp_path: Path) -> None:
    content = SOUNDS["annotation.au"]()[:40] + bytes(range(256)) * 9000
    content = content[:8] + b"\xff" * 4 + content[12:]
    source = source_of(tmp_path / "mine", {"long.au": content})
    _, plan = publish_media(Draft.of(source), tmp_path / "out", None, lambda *_: None, KEY)
    written = (tmp_path / "out" / "media" / "long.au").read_bytes()
    assert written.endswith(bytes(range(256)) * 9000)
    assert plan["s0"].bytes == len(written) > 2 << 20
    assert plan["s0"].sha256 == hashlib.sha256(written).hexdigest()


@pytest.mark.parametrize(
    ("words", "forbidden"),
    [
        ("CC-BY-4.0", False),
        (None, False),
        ("All Rights Reserved", True),
        ("no redistribution", True),
        ("not redistributable", True),
    ],
)
def test_licences_in_words(words: str | None, forbidden: bool) -> None:
    assert forbids_sharing(words) is forbidden


@pytest.mark.parametrize("content", [saved("PNG") + TEXT, LIES["drawing.svg"], SOUNDS["comments.ogg"]()])
def test_the_last_check_compares_bytes(tmp_path: Path, content: bytes) -> None:
    """The comments of an Ogg file are blanked in place: its size says nothing."""
    (tmp_path / "media" / "clips").mkdir(parents=True)
    (tmp_path / "media" / "clips" / "plain.png").write_bytes(saved("PNG"))
    check_media(tmp_path)
    (tmp_path / "media" / "clips" / "x").write_bytes(content)
    with pytest.raises(PrivateDataError, match=r"media/clips/x.*'metadata'"):
        check_media(tmp_path)
