"""Loading a snapshot: a folder of Parquet tables, the study, and a manifest of what must be there.

``manifest.json`` holds the schema version, the content hash, a hash and a row count per table, the counts, the source and
the exclusions so far. Loading checks all of it: a table that was changed, cut off or lost is named.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypedDict

import polars as pl

from heartfelt.errors import DamagedError, InputError, StudyError
from heartfelt.media.probe import AT_HAND, MADE_AT
from heartfelt.serialization import from_json
from heartfelt.snapshot.fingerprint import table_hash
from heartfelt.snapshot.marked_column import MarkedColumn
from heartfelt.snapshot.snapshot import (
    MANIFEST,
    RATINGS_FILE,
    SCHEMA_VERSION,
    SMALL_TABLES,
    VERSIONS,
    Snapshot,
    Source,
    Spooled,
)
from heartfelt.snapshot.survey import survey
from heartfelt.study import load_study
from heartfelt.tables import Contract

_IN_MEMORY = 256 * 2**20
_RESTORE = "Restore the folder, or import the data again."


class _StoredTable(TypedDict):
    """What a manifest says of one table."""

    rows: int
    hash: str


class _Manifest(TypedDict):
    """What loading needs of ``manifest.json``."""

    hash: str
    tables: dict[str, _StoredTable]
    source: Mapping[str, Any]


def is_snapshot(folder: Path) -> bool:
    try:
        return "heartfelt_snapshot" in json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False


def load(folder: Path | str) -> Snapshot:
    """Read a snapshot folder and check it against its manifest."""
    folder = Path(folder)
    expected = _manifest(folder)
    try:
        study = load_study(folder / "study.yaml")
    except StudyError as error:
        raise DamagedError(f"{folder} is damaged: {error.problem}", _RESTORE) from error
    tables = {contract.name: _table(folder, contract, expected) for contract in SMALL_TABLES}
    path = folder / RATINGS_FILE
    if not path.exists():
        raise DamagedError(f"{folder} is damaged: {RATINGS_FILE} is missing.", _RESTORE)
    ratings = _parquet(path) if path.stat().st_size < _IN_MEMORY else path
    snapshot = Snapshot(
        study, tables, Spooled(ratings, survey(ratings, str(path))), _source(folder, expected["source"])
    )
    for name, entry in expected["tables"].items():
        if entry["hash"] not in (snapshot.table_hashes.get(name), _earlier_hash(snapshot, name)):
            raise DamagedError(
                f"{folder} is damaged: its table of {name} is not the one its manifest describes.",
                "Restore the folder, or import the data again; snapshots are never edited in place.",
            )
    if snapshot.hash_of({name: entry["hash"] for name, entry in expected["tables"].items()}) != expected["hash"]:
        raise DamagedError(
            f"{folder} is damaged: its study is not the one its manifest describes.",
            "Restore study.yaml; to change a study, make a new snapshot.",
        )
    return snapshot


def _table(folder: Path, contract: Contract, expected: _Manifest) -> pl.DataFrame:
    path = folder / f"{contract.name}.parquet"
    if path.exists() or expected["tables"].get(contract.name, {"rows": 0})["rows"]:
        return contract.check(_parquet(path), str(path))
    return contract.empty()


def _source(folder: Path, stored: Mapping[str, Any]) -> Source:
    """Where the snapshot came from; what an earlier version did not store is as if there were none."""
    return Source(
        format=stored["format"],
        name=stored["name"],
        options=stored.get("options", {}),
        media_root=media_root(folder),
        layout=stored.get("layout", {}),
        notes=tuple(stored.get("notes", ())),
        versions={path.stem: path.read_text(encoding="utf-8") for path in sorted((folder / VERSIONS).glob("*.yaml"))},
        reading=tuple(stored.get("reading", ())),
        marked_columns=tuple(from_json(MarkedColumn, column) for column in stored.get("marked_columns", ())),
        inferred_raters=stored.get("inferred_raters", ""),
    )


def _earlier_hash(snapshot: Snapshot, name: str) -> str | None:
    """The hash of a table up to version 0.7, which counted when stimuli were made."""
    frame = snapshot.table(name) if name == "stimuli" else None
    if frame is None or MADE_AT not in frame.columns:
        return None
    return table_hash(name, frame.drop(AT_HAND, strict=False))


def _manifest(folder: Path) -> _Manifest:
    try:
        content = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        version = content["heartfelt_snapshot"]
        _ = content["tables"], content["hash"], content["source"]
    except (FileNotFoundError, NotADirectoryError) as error:
        if folder.is_file():
            raise InputError(
                f"{folder} is a file, not a snapshot folder.",
                f"Read a table with heartfelt.read('{folder.name}', 'long'), or with 'heartfelt import'.",
            ) from error
        problem = f"{folder} holds no snapshot (there is no {MANIFEST})."
        raise InputError(
            problem if folder.exists() else f"There is no folder {folder}.",
            "Make one with 'heartfelt import FORMAT SOURCE DIR', or point to the folder it was written to.",
        ) from error
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DamagedError(f"{folder / MANIFEST} cannot be read.", _RESTORE) from error
    if version != SCHEMA_VERSION:
        raise InputError(
            f"{folder} was written in layout {version}; this heartfelt reads layout {SCHEMA_VERSION}.",
            "Use the version of heartfelt that wrote it, or import the data again.",
        )
    manifest: _Manifest = content
    return manifest


def _parquet(path: Path) -> pl.DataFrame:
    try:
        return pl.read_parquet(path)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise DamagedError(f"{path.parent} is damaged: {path.name} cannot be read.", _RESTORE) from error


def media_root(folder: Path) -> Path | None:
    """Where the media of a folder's stimuli are, as its ``media.json`` says; None where they are not at hand."""
    try:
        root = json.loads((folder / "media.json").read_text(encoding="utf-8"))["root"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    path = (folder / str(root)).resolve()
    return path if path.is_dir() else None
