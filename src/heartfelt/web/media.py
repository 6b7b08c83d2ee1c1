"""Media by opaque id: whole or in ranges, for raters with a valid cookie and for the researcher.

The id is all there is to see: neither path nor name nor what made the file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Route

from heartfelt.web.errors import Refused
from heartfelt.web.security.cookies import is_researcher, rater_of

if TYPE_CHECKING:
    from fastapi import FastAPI

_KEEP = "private, max-age=604800, immutable"


def add_to(app: FastAPI) -> None:
    """Give the application ``/media/{opaque}``."""
    app.router.routes.append(Route("/media/{opaque}", media, methods=["GET", "HEAD"], name="media"))


async def media(request: Request) -> Response:
    """The file behind an id."""
    if rater_of(request) is None and not is_researcher(request):
        raise Refused(
            401, "Media are shown to raters and to the researcher.", "Open the link you were given."
        )
    found = request.app.state.collection.media(request.path_params["opaque"])
    if found is None:
        raise Refused(404, "There is no such stimulus.", "Go on with the next one.")
    try:
        status = found.path.stat()
    except OSError as error:
        raise Refused(404, "The media file is missing.", "Go on with the next one.") from error
    response = FileResponse(
        found.path,
        headers={"cache-control": _KEEP, "accept-ranges": "bytes"},
        media_type=found.content_type,
        stat_result=status,
    )
    wanted = request.headers.get("if-none-match", "")
    if response.headers["etag"] in {tag.strip().removeprefix("W/") for tag in wanted.split(",")}:
        kept = {name: response.headers[name] for name in ("etag", "cache-control", "last-modified")}
        return Response(status_code=304, headers=kept)
    return response
