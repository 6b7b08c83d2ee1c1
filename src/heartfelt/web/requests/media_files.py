"""A media file as it is sent: without metadata, whole or in ranges; in a set, as long as the longest of its files."""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Iterator
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import TypeAlias

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from heartfelt.media.metadata import SMALLEST, Pieces, padded, read_range, stripped
from heartfelt.web.requests.errors import RequestRefused
from heartfelt.web.requests.state import state_of

_AT_ONCE = 1 << 20
_RANGE = re.compile(r"bytes=(\d*)-(\d*)")
Version: TypeAlias = tuple[int, int]
"""When a file was changed, and how large it is."""


def _stripped(path: Path) -> tuple[Version, Pieces]:
    """What is sent for a file: found out once, and again when the file has changed."""
    status = path.stat()
    version = (status.st_mtime_ns, status.st_size)
    return version, _stripped_version(path, version)


@lru_cache(maxsize=20_000)
def _stripped_version(path: Path, _version: Version) -> Pieces:
    return stripped(path)


def _sent(path: Path, in_set: tuple[Path, ...], seed: bytes) -> tuple[Version, Pieces]:
    """What is sent for a file, made as long as the longest of its set, where it is presented in one."""
    version, pieces = _stripped(path)
    if not in_set:
        return version, pieces
    longest = pieces.size
    for other in in_set:
        with suppress(OSError):  # one that is missing says nothing about the others
            longest = max(longest, _stripped(other)[1].size)
    size = -(-(longest + SMALLEST) // SMALLEST) * SMALLEST
    return version, _padded_version(path, version, size, seed)


@lru_cache(maxsize=64)
def _padded_version(path: Path, _version: Version, size: int, seed: bytes) -> Pieces:
    return padded(path, size, seed)


def _seed(secret: bytes, name: str) -> bytes:
    return hmac.digest(secret, b"padding\0" + name.encode(), "sha256")


def _tag(secret: bytes, name: str, version: Version) -> str:
    """An ETag that changes with the file and tells nothing of it, not even that two names are the same file."""
    text = f"media\0{name}\0{version[0]}\0{version[1]}".encode()
    return f'"{hmac.new(secret, text, hashlib.sha256).hexdigest()[:24]}"'


async def stripped_file(
    request: Request, path: Path, content_type: str, name: str, cache_control: str, in_set: tuple[Path, ...] = ()
) -> Response:
    """A file without its metadata, whole or the range that is asked for; in a set, as long as the longest of its files."""
    secret = state_of(request).options.secret
    try:
        version, pieces = await run_in_threadpool(_sent, path, in_set, _seed(secret, name))
    except OSError as error:
        raise missing_file() from error
    headers = {
        "cache-control": cache_control,
        "accept-ranges": "bytes",
        "etag": _tag(secret, name, version),
        "content-type": content_type,
    }
    wanted = request.headers.get("if-none-match", "")
    if headers["etag"] in {tag.strip().removeprefix("W/") for tag in wanted.split(",")}:
        del headers["content-type"]
        return Response(status_code=304, headers=headers)
    start, stop, code = _range(request, pieces.size, headers["etag"])
    if code == 416:
        whole = {"content-range": f"bytes */{pieces.size}"}
        raise RequestRefused(416, "The file is shorter than that.", "Ask for less.", whole)
    if code == 206:
        headers["content-range"] = f"bytes {start}-{stop - 1}/{pieces.size}"
    headers["content-length"] = str(stop - start)
    if request.method == "HEAD":
        return Response(status_code=code, headers=headers)
    if stop - start > _AT_ONCE:
        return StreamingResponse(_parts(path, pieces, start, stop), code, headers)
    content = await run_in_threadpool(read_range, path, pieces, start, stop)
    return Response(content, code, headers)


def missing_file() -> RequestRefused:
    """The refusal of a file that cannot be read."""
    return RequestRefused(404, "The media file is missing.", "Continue with the next one.")


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
