"""The rating page: one document with every screen as a template and the rater's step, in their language, and its assets."""

from __future__ import annotations

import functools
import gzip
import hashlib
import mimetypes
import re
from dataclasses import asdict
from importlib.resources import files
from typing import TYPE_CHECKING, Any, NamedTuple, cast
from urllib.parse import urlencode

import orjson
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from heartfelt.collect.messages.commands import Next, SessionEnd, Step
from heartfelt.collect.messages.errors import UnknownRater
from heartfelt.errors import InputError
from heartfelt.files import inside
from heartfelt.study import Study
from heartfelt.study.load import check_documents
from heartfelt.study.model import say
from heartfelt.study.scales.scale import Points
from heartfelt.study.scales.set_scale import Trace
from heartfelt.web.rater.automated import ENTER
from heartfelt.web.rater.documents import shown_document
from heartfelt.web.rater.forms import demographic, present
from heartfelt.web.rater.presentation import LANGUAGE_COOKIE, blinding_of, request_language, step_json
from heartfelt.web.rater.texts import check_languages, direction, run_direction, texts_for
from heartfelt.web.requests.errors import RequestRefused
from heartfelt.web.requests.media_files import stripped_file
from heartfelt.web.requests.state import state_of
from heartfelt.web.requests.templates import page_environment
from heartfelt.web.security.access import is_admitted
from heartfelt.web.security.signing import RATER_SECONDS, adjudicator_of, rater_of, set_cookie, signer_of

if TYPE_CHECKING:
    from pathlib import Path

    from heartfelt.study import Study

_YEAR = 365 * 24 * 3600
_CACHE_DAY = "private, max-age=86400"
_CACHE_FOREVER = "public, max-age=31536000, immutable"
_OTHER_PAGE = "adjudicate.js"
"""The script of the page for senior raters."""
_COMMENTS = re.compile(rb"^[ \t]*//[^\n]*\n|^[ \t]+", re.MULTILINE)
"""Comments on lines of their own and indentation, which browsers need not fetch; no text spans lines in these files."""
_TYPES = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}


class Notice(Exception):
    """Somebody cannot continue: the ending, or the name of the one to show, and the status of the page."""

    def __init__(self, ending: SessionEnd | str, status: int) -> None:
        super().__init__(ending)
        self.ending = ending
        self.status = status


class Pages:
    """Renders the pages of one study; what is the same for all raters is made once per language."""

    def __init__(self, study: Study, folder: Path) -> None:
        self._study = study
        check_languages(study, folder)
        check_documents(study, folder)
        self._texts = {language: texts_for(language, folder) for language in study.languages}
        self._presented = {
            language: orjson.dumps(present(study, language, texts)) for language, texts in self._texts.items()
        }

    async def notice(self, request: Request, notice: Exception) -> Response:
        """The page of somebody who cannot continue, with the reason, and a code where there is one."""
        assert isinstance(notice, Notice)
        ending = notice.ending
        end = asdict(ending) if isinstance(ending, SessionEnd) else {"ending": ending, "code": None, "url": None}
        return self.page(request, {"kind": "end", **end}, status=notice.status)

    def page(self, request: Request, step: dict[str, object], rater: str = "", status: int = 200) -> Response:
        """The page at a step; ``rater`` tells raters who share a browser apart."""
        language = request_language(request)
        base = request.scope.get("root_path", "")
        again = urlencode([*request.query_params.multi_items(), (ENTER, "1")])
        html = self.html(
            language,
            step,
            base,
            rater,
            enter=f"{request.scope['path']}?{again}",
            preview=state_of(request).options.preview,
        )
        headers = {"cache-control": "no-store", "vary": "accept-encoding, accept-language, cookie"}
        if step.get("retry_seconds"):
            headers["refresh"] = headers["retry-after"] = f"{step['retry_seconds']:.0f}"
        response = compressed(request, html.encode(), "text/html", headers)
        response.status_code = status
        if request.query_params.get("lang") == language:
            set_cookie(response, state_of(request).options, LANGUAGE_COOKIE, language, _YEAR)
        return response

    def html(
        self,
        language: str,
        step: dict[str, object],
        base: str = "",
        rater: str = "",
        *,
        enter: str = "",
        preview: bool = False,
    ) -> str:
        """The document at a step, below the address ``base``; ``enter`` is where a person goes on who was taken for a robot."""
        study, texts = self._study, self._texts[language]
        data = {
            "base": base,
            "who": rater,
            "step": step,
            "study": orjson.Fragment(self._presented[language]),
            "texts": texts["live"],
        }
        files, digest = assets()
        template = page_environment("heartfelt.web.rater").get_template("rate.html")
        html: str = template.render(
            base=base,
            enter=enter,
            static=f"{base}/static/rater/{digest}",
            modules=[name for name in files if name.endswith(".js") and name != _OTHER_PAGE],
            language=language,
            direction=direction(language),
            fixed_scales=study.design.rtl_scales == "fixed",
            languages=[(tag, self._texts[tag]["language"]) for tag in study.languages],
            t=texts,
            run_direction=functools.partial(run_direction, language=language),
            preview=preview,
            title=say(study.title, language) or study.name,
            media=study.media,
            audio=study.media != "image",
            set_type=None if study.sets is None else study.sets.type,
            traces=any(isinstance(scale, Trace) for scale in study.scales.values()),
            consent=_consent(study, language),
            debriefing=None if study.debriefing is None else say(study.debriefing.text, language),
            documents={which: shown_document(study, which, language) for which in ("consent", "debriefing")},
            brand=study.branding,
            logo_text="" if study.branding is None else say(study.branding.logo_text or "", language),
            instructions=say(study.instructions, language),
            practice=study.design.practice,
            facts=[demographic(fact, language, texts) for fact in study.demographics],
            data=orjson.dumps(data).decode().replace("<", "\\u003c"),
        )
        return html


def _consent(study: Study, language: str) -> dict[str, object]:
    """The consent text and its boxes, for the template."""
    if study.consent is None:
        return {"text": "", "boxes": []}
    boxes = [(box.id, say(box.text, language), box.required) for box in study.consent.boxes]
    return {"text": say(study.consent.text, language), "boxes": boxes}


def routes() -> list[Route]:
    """The page, its assets (with or without their digest), and the pictures of its scales."""
    return [
        Route("/rate", rate, methods=["GET"], name="rater-page"),
        Route("/rate/picture/{scale:int}/{point:int}", picture, methods=["GET"], name="rater-picture"),
        Route("/static/rater/{version}/{name}", asset, methods=["GET"], name="rater-asset"),
        Route("/static/rater/{name}", asset, methods=["GET"], name="rater-asset-now"),
    ]


async def rate(request: Request) -> Response:
    rater = rater_of(request)
    step = step_json(await current_step(request, rater), blinding_of(request), request_language(request))
    add_return_link(request, rater, step)
    pages = cast(Pages, request.app.state.rater_pages)
    return pages.page(request, step, hashlib.sha256(f"page {rater}".encode()).hexdigest()[:12])


def add_return_link(request: Request, rater: str | None, step: dict[str, Any]) -> None:
    """Give a rater who is to come back days later a link that is theirs, whatever browser they come back in."""
    if rater is not None and step.get("ending") == "later":
        signed = signer_of(request).sign("resume", rater, RATER_SECONDS + int(step.get("opens_in") or 0))
        step["link"] = f"{request.scope.get('root_path', '')}/r/{signed}"


async def current_step(request: Request, rater: str | None) -> Step:
    """Where the rater of a cookie or a link is; somebody the study does not know gets a page that says so."""
    if rater is None:
        raise Notice("stranger", 401)
    try:
        return await state_of(request).collection.ask(Next(rater))
    except UnknownRater as error:
        raise Notice("stranger", 404) from error


async def picture(request: Request) -> Response:
    """A picture at a point of a scale, where the study brings its own."""
    if rater_of(request) is None and not await is_admitted(request, adjudicator_of(request)):
        raise RequestRefused(401, "This page does not know you.", "Open the link you were given.")
    collection = state_of(request).collection
    scales, number = list(collection.study.scales.values()), request.path_params["scale"]
    scale = scales[number] if number < len(scales) else None
    name = None
    if isinstance(scale, Points) and isinstance(scale.pictures, dict):
        name = scale.pictures.get(request.path_params["point"])
    if name is None:
        raise RequestRefused(404)
    try:
        path = inside(collection.folder, name, "the picture")
    except InputError as error:
        raise RequestRefused(404) from error
    kind = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
    return await stripped_file(request, path, kind, request.url.path, _CACHE_DAY)


# --- assets -----------------------------------------------------------------------------------------------------------


class Asset(NamedTuple):
    """One file, as it is and compressed."""

    content: bytes
    packed: bytes
    content_type: str


@functools.lru_cache(maxsize=1)
def assets() -> tuple[dict[str, Asset], str]:
    """Every file by name (they are few and small, and nothing else can be asked for), and a short digest of them all."""
    out, digest = {}, hashlib.sha256()
    for path in sorted(files("heartfelt.web.rater").joinpath("static").iterdir(), key=lambda path: path.name):
        content = path.read_bytes()
        if path.name.endswith(".js"):
            content = _COMMENTS.sub(b"", content)
        kind = _TYPES.get(path.name[path.name.rfind(".") :], "application/octet-stream")
        out[path.name] = Asset(content, gzip.compress(content, mtime=0), kind)
        digest.update(path.name.encode() + b"\0" + content + b"\0")
    return out, digest.hexdigest()[:12]


async def asset(request: Request) -> Response:
    """A file; one whose address names its version need never be asked for again."""
    files, digest = assets()
    file = files.get(request.path_params["name"])
    if file is None:
        raise RequestRefused(404)
    current = request.path_params.get("version") == digest
    headers = {
        "etag": f'"{digest}"',
        "vary": "accept-encoding",
        "cache-control": _CACHE_FOREVER if current else "no-cache",
    }
    if request.headers.get("if-none-match") == headers["etag"]:
        return Response(status_code=304, headers=headers)
    return compressed(request, file.content, file.content_type, headers, file.packed)


def compressed(
    request: Request, content: bytes, media_type: str, headers: dict[str, str], packed: bytes | None = None
) -> Response:
    """The content, compressed where the browser takes that."""
    if "gzip" in request.headers.get("accept-encoding", ""):
        content, headers = packed or gzip.compress(content, 5), {**headers, "content-encoding": "gzip"}
    return Response(content, headers=headers, media_type=media_type)
