"""Routes of the data: ratings, snapshots, exports."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path as FilePath
from typing import Annotated, Any, Literal

import polars as pl
from fastapi import APIRouter, Path, Query
from fastapi.responses import FileResponse, StreamingResponse
from starlette.background import BackgroundTask

from heartfelt.formats import FORMATS
from heartfelt.formats.delimited import csv_text
from heartfelt.web.api.access import CollectionDep, ReaderDep
from heartfelt.web.api.models import FormatInfo, FormatsInfo, RatingsPage, SnapshotInfo, SnapshotsInfo
from heartfelt.web.study import exports

router = APIRouter(tags=["data"])
_CHUNK = 20_000
_ZIP: dict[int | str, dict[str, Any]] = {
    200: {"content": {"application/zip": {"schema": {"type": "string", "format": "binary"}}}}
}


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
        return reader.call(exports.ratings_page, offset, limit)
    path = reader.call(exports.ratings_file, form)
    kind = "text/csv" if form == "csv" else "application/vnd.apache.parquet"
    return _file(path, kind, f"{collection.study.name}-ratings.{form}")


def csv_response(frame: pl.DataFrame, name: str) -> StreamingResponse:
    """A table as a CSV file, streamed."""
    headers = {"content-disposition": f'attachment; filename="{name}"'}
    return StreamingResponse(_csv(frame), media_type="text/csv", headers=headers)


def _csv(frame: pl.DataFrame) -> Iterator[str]:
    flat = exports.flat(frame)
    yield csv_text(flat.head(0))
    for begin in range(0, flat.height, _CHUNK):
        yield csv_text(flat.slice(begin, _CHUNK), header=False)


@router.get("/snapshots")
def snapshots(collection: CollectionDep) -> SnapshotsInfo:
    """Every snapshot in the study's folder, latest first."""
    return SnapshotsInfo(snapshots=exports.snapshots(collection))


@router.post("/snapshots", status_code=201)
def freeze(reader: ReaderDep) -> SnapshotInfo:
    """Freeze the study as it is now, without stopping it."""
    return reader.call(exports.freeze)


@router.get("/snapshots/{name}/download", response_class=FileResponse, responses=_ZIP)
def download(
    name: Annotated[str, Path(pattern=r"^[0-9TZ-]{10,40}$")], collection: CollectionDep, reader: ReaderDep
) -> FileResponse:
    """A snapshot as a ZIP file."""
    path = reader.call(exports.zipped_snapshot, name)
    return _file(path, "application/zip", f"{collection.study.name}-{name}.zip")


@router.get("/formats")
def formats() -> FormatsInfo:
    """The formats the ratings can be written in."""
    formats = [FORMATS[name] for name in FORMATS.names()]
    return FormatsInfo(formats=[FormatInfo(name=f.name, about=f.about) for f in formats if f.writes])


@router.get("/export/{format}", response_class=FileResponse, responses=_ZIP)
def export(
    format: Annotated[str, Path(max_length=40)], collection: CollectionDep, reader: ReaderDep
) -> FileResponse:
    """The ratings of this moment in a format, as a ZIP file."""
    path = reader.call(exports.exported, format)
    return _file(path, "application/zip", f"{collection.study.name}-{format}.zip")


def _file(path: FilePath, kind: str, name: str) -> FileResponse:
    """A file in a temporary folder, which is removed once it is sent."""
    remove = BackgroundTask(shutil.rmtree, path.parent, ignore_errors=True)
    return FileResponse(path, media_type=kind, filename=name, background=remove)
