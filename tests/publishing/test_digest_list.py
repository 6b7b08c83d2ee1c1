"""The list of hashes by hand: what is in which file, and what stops a release."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from heartfelt.files import sha256_of
from heartfelt.publishing.anonymity.check import PrivateDataError
from heartfelt.publishing.digests import DIGESTS, SOURCE_COLUMN, write_digests
from heartfelt.publishing.release.release import PublishedMedium, Release, ReleaseRecord, ReleaseStep
from heartfelt.publishing.statements.details import Details
from tests.publishing.attacks import label_only, labels

COMMIT, SPLIT, LINKED, SHOWN = "ef" * 20, "12ab" * 16, "34ab" * 16, "56cd" * 16


def test_every_hash_of_every_file_is_listed_once_per_place(tmp_path: Path) -> None:
    snapshot = label_only(labels())
    media = {
        "c00": PublishedMedium(stimulus="c00", sha256=SHOWN, bytes=1, path="media/c00.wav"),
        "c01": PublishedMedium(
            stimulus="c01", sha256=LINKED, bytes=1, path=None, source=None, link="https://example.org"
        ),
        "c02": PublishedMedium(stimulus="c02", sha256="", bytes=0),
    }
    steps = (
        ReleaseStep(kind="split", table="stimuli", column="split", about="x", settings={"hash": SPLIT}),
        ReleaseStep(kind="check", table="stimuli", column=None, about="y"),
    )
    record = ReleaseRecord(source_hash="", published_hash=snapshot.hash, version="1", k=5, l=2, steps=steps)
    release = Release(
        snapshot=snapshot,
        benchmark=None,
        why_no_benchmark=None,
        analysis=None,
        panel=None,
        record=record,
        details=Details(limits=f"see {'9a' * 20}"),
        media=media,
    )
    (tmp_path / "media").mkdir()
    (tmp_path / "media" / "c00.wav").write_bytes(b"sound")
    table = pl.DataFrame(
        {"revision": [COMMIT, COMMIT, "none"], "sha256": [SHOWN, LINKED, None], "n": ["1234567890123456", "2", "3"]}
    )
    table.write_csv(tmp_path / "z.csv")
    (tmp_path / "a.md").write_text(f"model {COMMIT}, snapshot {snapshot.hash}, {'9a' * 20}\n", encoding="utf-8")
    (tmp_path / "b.json").write_text(
        json.dumps({"hash": SPLIT, "file": sha256_of(tmp_path / "z.csv"), "study": snapshot.study.hash}, indent=1),
        encoding="utf-8",
    )
    write_digests(release, tmp_path)
    rows = pl.read_csv(tmp_path / DIGESTS)
    listed = {
        (row["file"], row["field"], row["over"]): (row["keyed"], row["count"]) for row in rows.iter_rows(named=True)
    }
    assert listed == {
        ("CHECKSUMS.sha256", "its text", "published file"): (False, 5),
        ("a.md", "its text", SOURCE_COLUMN): (False, 1),
        ("a.md", "its text", "published snapshot"): (False, 1),
        ("a.md", "its text", "what the authors state"): (False, 1),
        ("b.json", "hash", "published split"): (False, 1),
        ("b.json", "file", "published file"): (False, 1),
        ("b.json", "study", "published study"): (False, 1),
        ("z.csv", "revision", SOURCE_COLUMN): (False, 1),
        ("z.csv", "sha256", "published media file"): (False, 1),
        ("z.csv", "sha256", "linked media file without metadata"): (False, 1),
    }
    (tmp_path / DIGESTS).unlink()
    (tmp_path / "b.json").write_text(json.dumps({"hash": "0a" * 32}), encoding="utf-8")
    with pytest.raises(PrivateDataError, match=r"b\.json.*'0a0a0a0a0a0a0a0a0a0a'"):
        write_digests(release, tmp_path)
    assert not (tmp_path / DIGESTS).exists()
