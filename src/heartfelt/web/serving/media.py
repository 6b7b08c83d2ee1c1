"""Media by opaque id: whole or in ranges, for raters with a valid cookie and for the researcher.

The id is all there is to see. Raters get each file under another id in every trial, without metadata, and with headers
that say nothing about when or where it was made. In a set all files have the same number of bytes and, where one is presented
twice, other bytes each time. Duration and format are what they are: the files of a set should share them.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from heartfelt.collect.messages.errors import MediaChanged
from heartfelt.web.rater.presentation import blinding_of
from heartfelt.web.requests.errors import RequestRefused
from heartfelt.web.requests.media_files import missing_file, stripped_file
from heartfelt.web.requests.state import state_of
from heartfelt.web.security.access import is_admitted, login_of
from heartfelt.web.security.signing import adjudicator_of, rater_of

if TYPE_CHECKING:
    from fastapi import FastAPI

    from heartfelt.collect import Collection
    from heartfelt.collect.material import MediaFile

_CACHE_WEEK = "private, max-age=604800, immutable"
_log = logging.getLogger(__name__)


def add_to(app: FastAPI) -> None:
    """Give the application ``/media/{opaque}``."""
    app.router.routes.append(Route("/media/{opaque}", media, methods=["GET", "HEAD"], name="media"))


async def media(request: Request) -> Response:
    """The file behind an id."""
    researcher = login_of(request) is not None
    is_rater = researcher or rater_of(request) is not None
    if not is_rater and not await is_admitted(request, adjudicator_of(request)):
        raise RequestRefused(401, "Media are shown to raters and to the researcher.", "Open the link you were given.")
    name = request.path_params["opaque"]
    collection = state_of(request).collection
    blinded = blinding_of(request).media_of(name)
    file = None if blinded is None else collection.media(blinded)
    if file is None and researcher:
        file = collection.media(name)
    if file is None:
        raise RequestRefused(404, "There is no such stimulus.", "Continue with the next one.")
    if blinded is not None:
        await _check_unchanged(collection, file)
    unit = blinding_of(request).set_of(name)
    set_media = [] if unit is None else collection.media_of_set(unit)
    if not set_media:
        return await stripped_file(request, file.path, file.content_type, name, _CACHE_WEEK)
    kinds = {member.content_type for member in set_media}
    content_type = file.content_type if len(kinds) == 1 else "application/octet-stream"
    paths = tuple(sorted({member.path for member in set_media}))
    return await stripped_file(request, file.path, content_type, name, _CACHE_WEEK, paths)


async def _check_unchanged(collection: Collection, file: MediaFile) -> None:
    """Refuse a file that is not the one that was rated: raters continue with the next one."""
    try:
        await run_in_threadpool(collection.verify_media, file)
    except MediaChanged as error:
        _log.error("%s %s", error.problem, error.fix)
        raise RequestRefused(409, "The media file was replaced.", "Continue with the next one.") from error
    except OSError as error:
        raise missing_file() from error
