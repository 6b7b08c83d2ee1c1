"""The data: ratings, snapshots, exports."""

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
from heartfelt.web.api.access import Collected, Read
from heartfelt.web.api.models import FormatInfo, FormatsInfo, RatingsPage, SnapshotInfo, SnapshotsInfo
from heartfelt.web.study import freezing

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
    collection: Collected,
    reader: Read,
    form: Annotated[Literal["json", "csv", "parquet"], Query(alias="as")] = "json",
    offset: Annotated[int, Query(ge=0, le=2**31, description="of a JSON page")] = 0,
    limit: Annotated[int, Query(ge=1, le=10_000, description="of a JSON page")] = 1000,
) -> Any:
    """Every rating with all that was logged: JSON by the page, CSV and Parquet whole."""
    if form == "json":
        return reader.call(freezing.ratings_page, offset, limit)
    path = reader.call(freezing.ratings_file, form)
    kind = "text/csv" if form == "csv" else "application/vnd.apache.parquet"
    return _file(path, kind, f"{collection.study.name}-ratings.{form}")


def csv_response(frame: pl.DataFrame, name: str) -> StreamingResponse:
    """A table as a CSV file to keep, sent piece by piece."""
    return StreamingResponse(_csv(frame), media_type="text/csv", headers=_attached(name))


def _csv(frame: pl.DataFrame) -> Iterator[str]:
    flat = freezing.flat(frame)
    yield csv_text(flat.head(0))
    for begin in range(0, flat.height, _CHUNK):
        yield csv_text(flat.slice(begin, _CHUNK), header=False)


@router.get("/snapshots", response_model=SnapshotsInfo)
def snapshots(collection: Collected) -> SnapshotsInfo:
    """Every snapshot in the study's folder, latest first."""
    return SnapshotsInfo(snapshots=[SnapshotInfo(**one) for one in freezing.snapshots(collection)])


@router.post("/snapshots", response_model=SnapshotInfo, status_code=201)
def freeze(reader: Read) -> SnapshotInfo:
    """Freeze the study as it is now, without stopping it."""
    return SnapshotInfo(**reader.call(freezing.freeze))


@router.get("/snapshots/{name}/download", response_class=FileResponse, responses=_ZIP)
def download(
    name: Annotated[str, Path(pattern=r"^[0-9TZ-]{10,40}$")], collection: Collected, reader: Read
) -> FileResponse:
    """A snapshot as a ZIP file."""
    return _zip(reader.call(freezing.zipped_snapshot, name), f"{collection.study.name}-{name}.zip")


@router.get("/formats", response_model=FormatsInfo)
def formats() -> FormatsInfo:
    """The formats the ratings can be written in."""
    known = [FORMATS[name] for name in FORMATS.names()]
    return FormatsInfo(formats=[FormatInfo(name=one.name, about=one.about) for one in known if one.writes])


@router.get("/export/{format}", response_class=FileResponse, responses=_ZIP)
def export(format: Annotated[str, Path(max_length=40)], collection: Collected, reader: Read) -> FileResponse:
    """The ratings of this moment in a format, as a ZIP file."""
    return _zip(reader.call(freezing.exported, format), f"{collection.study.name}-{format}.zip")


def _zip(path: FilePath, name: str) -> FileResponse:
    return _file(path, "application/zip", name)


def _file(path: FilePath, kind: str, name: str) -> FileResponse:
    """A file in a folder of its own, which goes once it is sent."""
    gone = BackgroundTask(shutil.rmtree, path.parent, ignore_errors=True)
    return FileResponse(path, media_type=kind, filename=name, background=gone)


def _attached(name: str) -> dict[str, str]:
    return {"content-disposition": f'attachment; filename="{name}"'}
