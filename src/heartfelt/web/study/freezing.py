"""Freezing a running study to a snapshot, and taking its data away."""

from __future__ import annotations

import json
import tempfile
import zipfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl

from heartfelt.collect import Collection
from heartfelt.errors import InputError, UnknownNameError
from heartfelt.formats import FORMATS
from heartfelt.formats import export as export_snapshot
from heartfelt.formats.delimited import spreadsheet_safe
from heartfelt.snapshot.folder import MANIFEST, is_snapshot

FOLDER = "snapshots"
_NAME = "%Y-%m-%dT%H-%M-%SZ"


def freeze(collection: Collection) -> dict[str, Any]:
    """Write the study as it is now to ``snapshots/<time>`` in its folder."""
    name = datetime.now(UTC).strftime(_NAME)
    target = collection.folder / FOLDER / name
    if target.exists():
        raise InputError("A snapshot of this second is there already.", "Wait a second and freeze again.")
    collection.snapshot(excluded=False).write(target)
    return _described(target)


def snapshots(collection: Collection) -> list[dict[str, Any]]:
    """Every snapshot in the study's folder, latest first."""
    home = collection.folder / FOLDER
    if not home.is_dir():
        return []
    found = [one for one in home.iterdir() if _moment(one.name) is not None and is_snapshot(one)]
    return [_described(one) for one in sorted(found, reverse=True)]


def folder_of(collection: Collection, name: str) -> Path:
    """The folder of a snapshot."""
    target = collection.folder / FOLDER / name
    if _moment(name) is None or not is_snapshot(target):
        raise UnknownNameError(
            f"There is no snapshot '{name}'.", "See the list of snapshots for their names."
        )
    return target


def zipped(folder: Path) -> Path:
    """A folder as a ZIP file, in a folder of its own that the caller removes."""
    target = Path(tempfile.mkdtemp(prefix="heartfelt-")) / "data.zip"
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as out:
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                out.write(path, f"{folder.name}/{path.relative_to(folder).as_posix()}")
    return target


def exported(collection: Collection, format: str) -> Path:
    """The ratings of this moment in a format, as a ZIP file."""
    if not FORMATS[format].writes:
        raise InputError(f"The format '{format}' can be read but not written.", "See the list of formats.")
    with tempfile.TemporaryDirectory(prefix="heartfelt-") as room:
        return zipped(export_snapshot(collection.snapshot(excluded=False), format, Path(room) / format))


def zipped_snapshot(collection: Collection, name: str) -> Path:
    """A snapshot as a ZIP file."""
    return zipped(folder_of(collection, name))


def ratings_page(collection: Collection, offset: int, limit: int) -> dict[str, Any]:
    """A page of ratings, and where the next begins."""
    frame = collection.ratings()
    following = offset + limit if offset + limit < frame.height else None
    return {"total": frame.height, "next": following, "ratings": frame.slice(offset, limit).to_dicts()}


def ratings_file(collection: Collection, form: str) -> Path:
    """Every rating as a CSV or Parquet file, in a folder of its own that the caller removes."""
    target = Path(tempfile.mkdtemp(prefix="heartfelt-")) / f"ratings.{form}"
    frame = collection.ratings()
    if form == "csv":
        spreadsheet_safe(flat(frame)).write_csv(target)
    else:
        frame.write_parquet(target, compression="zstd")
    return target


def flat(frame: pl.DataFrame) -> pl.DataFrame:
    """The table with lists and structs written as JSON, for formats that hold only plain cells."""
    nested = [name for name, kind in frame.schema.items() if kind.is_nested()]
    return frame.with_columns(
        pl.Series(
            name, [None if v is None else json.dumps(v) for v in frame[name].to_list()], dtype=pl.String
        )
        for name in nested
    )


def _moment(name: str) -> datetime | None:
    try:
        return datetime.strptime(name, _NAME).replace(tzinfo=UTC)
    except ValueError:
        return None


def _described(folder: Path) -> dict[str, Any]:
    manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    counts = manifest["counts"]
    return {
        "name": folder.name,
        "made": _moment(folder.name),
        "hash": manifest["hash"],
        **{name: counts[name] for name in ("ratings", "raters", "stimuli")},
    }
