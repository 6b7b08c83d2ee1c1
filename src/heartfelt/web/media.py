"""Media by opaque id: whole or in ranges, for raters with a valid cookie and for the researcher.

The id is all there is to see. Raters get each file under another id in every trial, without metadata, and with headers
that say nothing about when or where it was made. The length and the kind of a file cannot be hidden.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import re
from collections import OrderedDict
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from heartfelt.web.errors import Refused
from heartfelt.web.metadata import Pieces, read_range, stripped
from heartfelt.web.security.access import login_of
from heartfelt.web.security.signing import rater_of

if TYPE_CHECKING:
    from fastapi import FastAPI

    from heartfelt.collect.material import MediaFile

_CACHE_WEEK = "private, max-age=604800, immutable"
_AT_ONCE = 1 << 20
_REMEMBERED = 20_000
_RANGE = re.compile(r"bytes=(\d*)-(\d*)")


def add_to(app: FastAPI) -> None:
    """Give the application ``/media/{opaque}``."""
    app.state.stripped_media = StrippedMedia(app.state.options.secret)
    app.router.routes.append(Route("/media/{opaque}", media, methods=["GET", "HEAD"], name="media"))


class StrippedMedia:
    """What is sent for each file: found out once, and again when the file has changed."""

    def __init__(self, secret: bytes) -> None:
        self._secret = secret
        self._known: OrderedDict[Path, tuple[tuple[int, int], Pieces]] = OrderedDict()

    async def pieces(self, path: Path, status: os.stat_result) -> Pieces:
        """The file without its metadata."""
        version = (status.st_mtime_ns, status.st_size)
        known = self._known.get(path)
        if known is None or known[0] != version:
            known = (version, await run_in_threadpool(stripped, path))
            self._known[path] = known
            while len(self._known) > _REMEMBERED:
                self._known.popitem(last=False)
        return known[1]

    def tag(self, name: str, status: os.stat_result) -> str:
        """An ETag that changes with the file and tells nothing of it, not even that two names are the same file."""
        version = f"media\0{name}\0{status.st_mtime_ns}\0{status.st_size}".encode()
        return f'"{hmac.new(self._secret, version, hashlib.sha256).hexdigest()[:24]}"'


async def media(request: Request) -> Response:
    """The file behind an id."""
    rater, researcher = rater_of(request), login_of(request) is not None
    if rater is None and not researcher:
        raise Refused(
            401, "Media are shown to raters and to the researcher.", "Open the link you were given."
        )
    name = request.path_params["opaque"]
    collection = request.app.state.collection
    blinded = request.app.state.blinding.media_of(name)
    file: MediaFile | None = None if blinded is None else collection.media(blinded)
    if file is None and researcher:
        file = collection.media(name)
    if file is None:
        raise Refused(404, "There is no such stimulus.", "Continue with the next one.")
    return await stripped_file(request, file.path, file.content_type, name, _CACHE_WEEK)


async def stripped_file(
    request: Request, path: Path, content_type: str, name: str, cache_control: str
) -> Response:
    """A file without its metadata, whole or the range that is asked for."""
    known: StrippedMedia = request.app.state.stripped_media
    try:
        status = await run_in_threadpool(path.stat)
        pieces = await known.pieces(path, status)
    except OSError as error:
        raise Refused(404, "The media file is missing.", "Continue with the next one.") from error
    headers = {
        "cache-control": cache_control,
        "accept-ranges": "bytes",
        "etag": known.tag(name, status),
        "content-type": content_type,
    }
    wanted = request.headers.get("if-none-match", "")
    if headers["etag"] in {tag.strip().removeprefix("W/") for tag in wanted.split(",")}:
        del headers["content-type"]
        return Response(status_code=304, headers=headers)
    start, stop, code = _range(request, pieces.size, headers["etag"])
    if code == 416:
        raise Refused(
            416,
            "The file is shorter than that.",
            "Ask for less.",
            {"content-range": f"bytes */{pieces.size}"},
        )
    if code == 206:
        headers["content-range"] = f"bytes {start}-{stop - 1}/{pieces.size}"
    headers["content-length"] = str(stop - start)
    if request.method == "HEAD":
        return Response(status_code=code, headers=headers)
    if stop - start > _AT_ONCE:
        return StreamingResponse(_parts(path, pieces, start, stop), code, headers)
    content = await run_in_threadpool(read_range, path, pieces, start, stop)
    return Response(content, code, headers)


def _parts(path: Path, pieces: Pieces, start: int, stop: int) -> Iterator[bytes]:
    for at in range(start, stop, _AT_ONCE):
        yield read_range(path, pieces, at, min(stop, at + _AT_ONCE))


def _range(request: Request, size: int, tag: str) -> tuple[int, int, int]:
    """First byte, byte after the last, and status. Several ranges at once are answered with the whole."""
    match = _RANGE.fullmatch(request.headers.get("range", "").strip())
    if match is None or match.groups() == ("", "") or request.headers.get("if-range", tag) != tag:
        return 0, size, 200
    first, last = match.groups()
    if not first:
        return (max(0, size - int(last)), size, 206) if int(last) and size else (0, 0, 416)
    start, stop = int(first), min(size, int(last) + 1) if last else size
    return (start, stop, 206) if start < stop else (0, 0, 416)
