"""Routes of the data: ratings, snapshots, exports. Functions that take a collection run in the background process."""

from __future__ import annotations

import json
import shutil
import tempfile
import zipfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Literal

import fastapi
import polars as pl
from fastapi import APIRouter, Query
from fastapi.responses import FileResponse, StreamingResponse
from starlette.background import BackgroundTask

from heartfelt.collect import Collection
from heartfelt.errors import InputError, UnknownNameError
from heartfelt.formats import FORMATS
from heartfelt.formats import export as export_snapshot
from heartfelt.formats.tables.delimited import csv_text, spreadsheet_safe
from heartfelt.snapshot.folder import is_snapshot
from heartfelt.snapshot.snapshot import MANIFEST
from heartfelt.web.api.access import CollectionDep, ReaderDep
from heartfelt.web.api.models import FormatsInfo, RatingsPage, SnapshotInfo, SnapshotsInfo

router = APIRouter(tags=["data"])
_FOLDER = "snapshots"
_NAME = "%Y-%m-%dT%H-%M-%SZ"
_CHUNK = 20_000
_ZIP: dict[int | str, dict[str, object]] = {
    200: {"content": {"application/zip": {"schema": {"type": "string", "format": "binary"}}}}
}


# --- ratings ----------------------------------------------------------------------------------------------------------


@router.get(
    "/ratings",
    response_model=RatingsPage,
    responses={
        200: {
            "content": {
                "text/csv": {"schema": {"type": "string"}},
                "application/vnd.apache.parquet": {"schema": {"type": "string", "format": "binary"}},
            }
        }
    },
)
def ratings(
    collection: CollectionDep,
    reader: ReaderDep,
    form: Annotated[Literal["json", "csv", "parquet"], Query(alias="as")] = "json",
    offset: Annotated[int, Query(ge=0, le=2**31, description="of a JSON page")] = 0,
    limit: Annotated[int, Query(ge=1, le=10_000, description="of a JSON page")] = 1000,
) -> Any:
    """Every rating with everything that was logged: JSON in pages, CSV and Parquet complete."""
    if form == "json":
        return reader.call(ratings_page, offset, limit)
    kind = "text/csv" if form == "csv" else "application/vnd.apache.parquet"
    return _file(reader.call(_ratings_file, form), kind, f"{collection.study.name}-ratings.{form}")


def ratings_page(collection: Collection, offset: int, limit: int) -> RatingsPage:
    """A page of ratings, and where the next begins."""
    frame = collection.ratings()
    following = offset + limit if offset + limit < frame.height else None
    rows = frame.slice(offset, limit).to_dicts()
    return RatingsPage(total=frame.height, next=following, ratings=rows)


def _ratings_file(collection: Collection, form: str) -> Path:
    target = _temporary(f"ratings.{form}")
    frame = collection.ratings()
    if form == "csv":
        spreadsheet_safe(_flat(frame)).write_csv(target)
    else:
        frame.write_parquet(target, compression="zstd")
    return target


def csv_response(frame: pl.DataFrame, name: str) -> StreamingResponse:
    """A table as a CSV file, streamed."""
    headers = {"content-disposition": f'attachment; filename="{name}"'}
    return StreamingResponse(_csv(_flat(frame)), media_type="text/csv", headers=headers)


def _csv(flat: pl.DataFrame) -> Iterator[str]:
    yield csv_text(flat.head(0))
    for part in flat.iter_slices(_CHUNK):
        yield csv_text(part, header=False)


def _flat(frame: pl.DataFrame) -> pl.DataFrame:
    """The table with lists and structs written as JSON, for formats that hold only plain cells."""
    nested = [name for name, kind in frame.schema.items() if kind.is_nested()]
    return frame.with_columns(
        pl.Series(name, [None if v is None else json.dumps(v) for v in frame[name].to_list()], dtype=pl.String)
        for name in nested
    )


# --- snapshots and exports --------------------------------------------------------------------------------------------


@router.get("/snapshots", response_model=SnapshotsInfo)
def snapshots(collection: CollectionDep) -> Any:
    """Every snapshot in the study's folder, latest first."""
    folders = sorted((collection.folder / _FOLDER).glob("*"), reverse=True)
    return {"snapshots": [_described(folder) for folder in folders if _is_ours(folder)]}


@router.post("/snapshots", status_code=201)
def freeze(reader: ReaderDep) -> SnapshotInfo:
    """Freeze the study as it is now, without stopping it."""
    return reader.call(_freeze)


def _freeze(collection: Collection) -> SnapshotInfo:
    target = collection.folder / _FOLDER / datetime.now(UTC).strftime(_NAME)
    if target.exists():
        raise InputError("A snapshot of this second already exists.", "Wait a second and freeze again.")
    collection.snapshot(excluded=False).write(target)
    return _described(target)


def _is_ours(folder: Path) -> bool:
    try:
        datetime.strptime(folder.name, _NAME)
    except ValueError:
        return False
    return is_snapshot(folder)


def _described(folder: Path) -> SnapshotInfo:
    manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    counts = {name: manifest["counts"][name] for name in ("ratings", "raters", "stimuli")}
    frozen_at = datetime.strptime(folder.name, _NAME).replace(tzinfo=UTC)
    return SnapshotInfo(name=folder.name, made=frozen_at, hash=manifest["hash"], **counts)


@router.get("/snapshots/{name}/download", response_class=FileResponse, responses=_ZIP)
def download(
    name: Annotated[str, fastapi.Path(pattern=r"^[0-9TZ-]{10,40}$")], collection: CollectionDep, reader: ReaderDep
) -> FileResponse:
    """A snapshot as a ZIP file."""
    path = reader.call(_zipped_snapshot, name)
    return _file(path, "application/zip", f"{collection.study.name}-{name}.zip")


def _zipped_snapshot(collection: Collection, name: str) -> Path:
    folder = collection.folder / _FOLDER / name
    if not _is_ours(folder):
        raise UnknownNameError(f"No snapshot is called '{name}'.", "See the list of snapshots for their names.")
    return _zipped(folder)


@router.get("/formats", response_model=FormatsInfo)
def formats() -> Any:
    """The formats the ratings can be written in."""
    return {"formats": [FORMATS[name] for name in FORMATS.names() if FORMATS[name].writes]}


@router.get("/export/{format}", response_class=FileResponse, responses=_ZIP)
def export(
    format: Annotated[str, fastapi.Path(max_length=40)], collection: CollectionDep, reader: ReaderDep
) -> FileResponse:
    """The ratings of this moment in a format, as a ZIP file."""
    path = reader.call(_exported, format)
    return _file(path, "application/zip", f"{collection.study.name}-{format}.zip")


def _exported(collection: Collection, format: str) -> Path:
    if not FORMATS[format].writes:
        raise InputError(f"The format '{format}' can be read but not written.", "See the list of formats.")
    with tempfile.TemporaryDirectory(prefix="heartfelt-") as temporary:
        folder = Path(temporary) / format
        return _zipped(export_snapshot(collection.snapshot(excluded=False), format, folder))


def _zipped(folder: Path) -> Path:
    target = _temporary("data.zip")
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as out:
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                out.write(path, f"{folder.name}/{path.relative_to(folder).as_posix()}")
    return target


def _temporary(name: str) -> Path:
    """A path in a folder of its own, which :func:`_file` removes."""
    return Path(tempfile.mkdtemp(prefix="heartfelt-")) / name


def _file(path: Path, kind: str, name: str) -> FileResponse:
    """A file in a temporary folder, which is removed once it is sent."""
    remove = BackgroundTask(shutil.rmtree, path.parent, ignore_errors=True)
    return FileResponse(path, media_type=kind, filename=name, background=remove)
