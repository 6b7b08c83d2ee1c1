"""The pages' own files: style, modules, drawings. An address with their digest in it can be kept for ever."""

from __future__ import annotations

import gzip
import hashlib
import mimetypes
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from heartfelt.web.errors import Refused

_FOR_EVER = "public, max-age=31536000, immutable"
_TYPES = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}


@dataclass(frozen=True, slots=True)
class Asset:
    """One file, plain and compressed."""

    plain: bytes
    packed: bytes
    content_type: str


@lru_cache(maxsize=1)
def assets() -> dict[str, Asset]:
    """Every file by name: they are few and small, and nothing else can be asked for."""
    found = {}
    for path in sorted(files("heartfelt.web.rater").joinpath("static").iterdir(), key=lambda one: one.name):
        content = path.read_bytes()
        kind = _TYPES.get(path.name[path.name.rfind(".") :]) or mimetypes.guess_type(path.name)[0]
        found[path.name] = Asset(content, gzip.compress(content, mtime=0), kind or "application/octet-stream")
    return found


@lru_cache(maxsize=1)
def digest() -> str:
    """A short digest of all the files, which stands in their addresses."""
    found = hashlib.sha256()
    for name, asset in assets().items():
        found.update(name.encode() + b"\0" + asset.plain + b"\0")
    return found.hexdigest()[:12]


def modules() -> tuple[str, ...]:
    """The names of the script modules, to be fetched at once rather than one after the other."""
    return tuple(name for name in assets() if name.endswith(".js"))


def routes() -> list[Route]:
    """``/static/rater/{digest}/{name}``, and the same without the digest for whoever does not know it."""
    return [
        Route("/static/rater/{version}/{name}", asset, methods=["GET"], name="rater-asset"),
        Route("/static/rater/{name}", asset, methods=["GET"], name="rater-asset-now"),
    ]


async def asset(request: Request) -> Response:
    """A file; one whose address names its version need never be asked for again."""
    found = assets().get(request.path_params["name"])
    if found is None:
        raise Refused(404)
    version = request.path_params.get("version", digest())
    headers = {
        "etag": f'"{digest()}"',
        "vary": "accept-encoding",
        "cache-control": _FOR_EVER
        if version == digest() and "version" in request.path_params
        else "no-cache",
    }
    if request.headers.get("if-none-match") == headers["etag"]:
        return Response(status_code=304, headers=headers)
    return packed(request, found.plain, found.content_type, headers, found.packed)


def packed(
    request: Request, content: bytes, media_type: str, headers: dict[str, str], small: bytes | None = None
) -> Response:
    """The content, compressed where the browser takes that."""
    if "gzip" in request.headers.get("accept-encoding", ""):
        return Response(
            small or gzip.compress(content, 5),
            headers={**headers, "content-encoding": "gzip"},
            media_type=media_type,
        )
    return Response(content, headers=headers, media_type=media_type)
