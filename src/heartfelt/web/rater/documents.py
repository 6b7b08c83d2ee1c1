"""Files of the study's own on the rating pages: the consent and debriefing documents, the logo, and the style sheet.

An HTML document is shown in a sandboxed frame under a policy of its own: no scripts, no forms, nothing from elsewhere.
"""

from __future__ import annotations

from pathlib import Path

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from heartfelt.errors import HeartfeltError
from heartfelt.study import Study
from heartfelt.study.model import Text, say
from heartfelt.study.parts.branding import LOGO_TYPES, stylesheet
from heartfelt.study.parts.consent import DOCUMENT_TYPES, document_file
from heartfelt.web.rater.presentation import request_language
from heartfelt.web.requests.errors import RequestRefused
from heartfelt.web.requests.state import state_of
from heartfelt.web.security.signing import rater_of

_SANDBOX = (
    "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; font-src data:; frame-ancestors 'self'"
)
_PDF = "default-src 'none'; object-src 'self'; style-src 'unsafe-inline'; frame-ancestors 'self'"
_CACHE = "private, max-age=300"


def routes() -> list[Route]:
    """The study's own files, for raters."""
    return [
        Route("/rate/document/{which}", document, methods=["GET"], name="rater-document"),
        Route("/rate/logo", logo, methods=["GET"], name="rater-logo"),
        Route("/rate/branding.css", style, methods=["GET"], name="rater-branding"),
    ]


def shown_document(study: Study, which: str, language: str) -> str | None:
    """The kind of document a page links to: ``pdf``, ``html``, or None."""
    named = _document(study, which)
    return None if named is None else Path(say(named, language)).suffix.lower().removeprefix(".")


def _document(study: Study, which: str) -> Text | None:
    part = {"consent": study.consent, "debriefing": study.debriefing}.get(which)
    return None if part is None else part.document


async def document(request: Request) -> Response:
    """The consent document, or that of the debriefing, in the rater's language."""
    if rater_of(request) is None:
        raise RequestRefused(401, "This page does not know you.", "Open the link you were given.")
    collection, which = state_of(request).collection, request.path_params["which"]
    named = _document(collection.study, which)
    if named is None:
        raise RequestRefused(404)
    path = _file(collection.folder, named, request_language(request))
    kind = DOCUMENT_TYPES[path.suffix.lower()]
    headers = {
        "content-security-policy": _PDF if path.suffix.lower() == ".pdf" else _SANDBOX,
        "x-frame-options": "SAMEORIGIN",
        "content-disposition": f'inline; filename="{which}{path.suffix.lower()}"',
        "cache-control": "private, no-cache",
    }
    return Response(await run_in_threadpool(path.read_bytes), headers=headers, media_type=kind)


async def logo(request: Request) -> Response:
    """The study's logo; an SVG can run nothing, even when it is opened by itself."""
    collection = state_of(request).collection
    branding = collection.study.branding
    if branding is None or branding.logo is None:
        raise RequestRefused(404)
    path = _file(collection.folder, branding.logo, "en")
    headers = {"content-security-policy": _SANDBOX, "cache-control": _CACHE}
    content = await run_in_threadpool(path.read_bytes)
    return Response(content, headers=headers, media_type=LOGO_TYPES[path.suffix.lower()])


async def style(request: Request) -> Response:
    """The study's colours."""
    branding = state_of(request).collection.study.branding
    if branding is None:
        raise RequestRefused(404)
    return Response(stylesheet(branding), headers={"cache-control": _CACHE}, media_type="text/css")


def _file(folder: Path, named: Text, language: str) -> Path:
    try:
        return document_file(folder, named, language)
    except HeartfeltError as error:
        raise RequestRefused(404, "The file is missing.", "Tell the researcher.") from error
