"""Snapshots and exports of a running study."""

from __future__ import annotations

import json
import tempfile
import zipfile
from datetime import UTC, datetime
from pathlib import Path

import polars as pl

from heartfelt.collect import Collection
from heartfelt.errors import InputError, UnknownNameError
from heartfelt.formats import FORMATS
from heartfelt.formats import export as export_snapshot
from heartfelt.formats.delimited import spreadsheet_safe
from heartfelt.snapshot.folder import is_snapshot
from heartfelt.snapshot.snapshot import MANIFEST
from heartfelt.web.api.models import RatingsPage, SnapshotInfo

FOLDER = "snapshots"
_NAME = "%Y-%m-%dT%H-%M-%SZ"


def freeze(collection: Collection) -> SnapshotInfo:
    """Write the study as it is now to ``snapshots/<time>`` in its folder."""
    name = datetime.now(UTC).strftime(_NAME)
    target = collection.folder / FOLDER / name
    if target.exists():
        raise InputError("A snapshot of this second already exists.", "Wait a second and freeze again.")
    collection.snapshot(excluded=False).write(target)
    return _described(target)


def snapshots(collection: Collection) -> list[SnapshotInfo]:
    """Every snapshot in the study's folder, latest first."""
    home = collection.folder / FOLDER
    if not home.is_dir():
        return []
    folders = [path for path in home.iterdir() if _moment(path.name) is not None and is_snapshot(path)]
    return [_described(folder) for folder in sorted(folders, reverse=True)]


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
    with tempfile.TemporaryDirectory(prefix="heartfelt-") as temporary:
        folder = Path(temporary) / format
        return zipped(export_snapshot(collection.snapshot(excluded=False), format, folder))


def zipped_snapshot(collection: Collection, name: str) -> Path:
    """A snapshot as a ZIP file."""
    folder = collection.folder / FOLDER / name
    if _moment(name) is None or not is_snapshot(folder):
        raise UnknownNameError(
            f"There is no snapshot '{name}'.", "See the list of snapshots for their names."
        )
    return zipped(folder)


def ratings_page(collection: Collection, offset: int, limit: int) -> RatingsPage:
    """A page of ratings, and where the next begins."""
    frame = collection.ratings()
    following = offset + limit if offset + limit < frame.height else None
    rows = frame.slice(offset, limit).to_dicts()
    return RatingsPage(total=frame.height, next=following, ratings=rows)


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


def _described(folder: Path) -> SnapshotInfo:
    manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    counts = {name: manifest["counts"][name] for name in ("ratings", "raters", "stimuli")}
    made = _moment(folder.name)
    assert made is not None
    return SnapshotInfo(name=folder.name, made=made, hash=manifest["hash"], **counts)
