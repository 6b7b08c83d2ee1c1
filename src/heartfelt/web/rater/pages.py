"""The rating page: one document with every screen as a template and the rater's step, in their language, and its assets."""

from __future__ import annotations

import gzip
import hashlib
import mimetypes
from dataclasses import asdict, dataclass
from functools import lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import orjson
from jinja2 import Template
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from heartfelt.collect.commands import Next, SessionEnd
from heartfelt.collect.errors import UnknownRater
from heartfelt.errors import InputError
from heartfelt.files import inside
from heartfelt.study.model import say
from heartfelt.study.scale import Points
from heartfelt.web.errors import Refused
from heartfelt.web.media import stripped_file
from heartfelt.web.rater.presentation import LANGUAGE_COOKIE, demographic, language_of, present, step_json
from heartfelt.web.rater.texts import Texts, check_languages, texts_for
from heartfelt.web.security.signing import rater_of
from heartfelt.web.templates import page_environment

if TYPE_CHECKING:
    from heartfelt.collect import Collection

_YEAR = 365 * 24 * 3600
_CACHE_DAY = "private, max-age=86400"
_CACHE_FOREVER = "public, max-age=31536000, immutable"
_TYPES = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}


@lru_cache(maxsize=1)
def _template() -> Template:
    return page_environment("heartfelt.web.rater").get_template("rate.html")


class Pages:
    """Renders the pages of one study; what is the same for all raters is made once per language."""

    def __init__(self, collection: Collection) -> None:
        self._collection = collection
        self._texts: dict[str, Texts] = {}
        self._presented: dict[str, bytes] = {}
        check_languages(collection.study, collection.folder)
        for language in collection.study.languages:
            self._texts[language] = texts_for(language, collection.folder)

    def shell(self, request: Request, rater: str, step: dict[str, Any]) -> Response:
        """The page of a rater at a step."""
        who = hashlib.sha256(f"page {rater}".encode()).hexdigest()[:12]
        return self._page(request, step, who)

    def notice(self, request: Request, ending: str, status: int) -> Response:
        """The page of somebody who cannot continue, with the reason."""
        step = {"kind": "end", "ending": ending, "code": None, "url": None}
        return self._page(request, step, "", status)

    def ending(self, request: Request, end: SessionEnd, status: int) -> Response:
        """The page of somebody who is turned away with a code, or who waits while the page asks again."""
        return self._page(request, {"kind": "end", **asdict(end)}, "", status)

    def _page(self, request: Request, step: dict[str, Any], who: str, status: int = 200) -> Response:
        study = self._collection.study
        language = language_of(request, study.languages)
        texts = self._texts[language]
        base = request.scope.get("root_path", "")
        data = {
            "base": base,
            "who": who,
            "step": step,
            "study": orjson.Fragment(self._study(language)),
            "texts": texts["live"],
        }
        html = _template().render(
            base=base,
            static=f"{base}/static/rater/{asset_digest()}",
            modules=modules(),
            language=language,
            languages=[(tag, self._texts[tag]["language"]) for tag in study.languages],
            t=texts,
            preview=request.app.state.options.preview,
            title=say(study.title, language) or study.name,
            media=study.media,
            audio=study.media != "image",
            consent="" if study.consent is None else say(study.consent.text, language),
            instructions=say(study.instructions, language),
            practice=study.design.practice,
            facts=[demographic(fact, language, texts) for fact in study.demographics],
            data=orjson.dumps(data).decode().replace("<", "\\u003c"),
        )
        headers = {"cache-control": "no-store", "vary": "accept-encoding, accept-language, cookie"}
        if step.get("retry_seconds"):
            headers["refresh"] = headers["retry-after"] = f"{step['retry_seconds']:.0f}"
        response = compressed(request, html.encode(), "text/html", headers)
        response.status_code = status
        if request.query_params.get("lang") == language:
            options = request.app.state.options
            response.set_cookie(
                LANGUAGE_COOKIE, language, _YEAR, path=options.prefix or "/", secure=options.secure_cookies,
                httponly=True, samesite="lax",
            )  # fmt: skip
        return response

    def _study(self, language: str) -> bytes:
        if language not in self._presented:
            self._presented[language] = orjson.dumps(present(self._collection.study, language))
        return self._presented[language]


def routes() -> list[Route]:
    """The page, its assets (with or without their digest), and the pictures of its scales."""
    return [
        Route("/rate", rate, methods=["GET"], name="rater-page"),
        Route("/rate/picture/{scale:int}/{point:int}", picture, methods=["GET"], name="rater-picture"),
        Route("/static/rater/{version}/{name}", asset, methods=["GET"], name="rater-asset"),
        Route("/static/rater/{name}", asset, methods=["GET"], name="rater-asset-now"),
    ]


async def rate(request: Request) -> Response:
    """The page, at the step the rater is at."""
    pages: Pages = request.app.state.rater_pages
    rater = rater_of(request)
    if rater is None:
        return pages.notice(request, "stranger", 401)
    try:
        step = await request.app.state.collection.ask(Next(rater))
    except UnknownRater:
        return pages.notice(request, "stranger", 404)
    state = request.app.state
    language = language_of(request, state.collection.study.languages)
    return pages.shell(request, rater, step_json(step, state.blinding, language))


async def picture(request: Request) -> Response:
    """A picture at a point of a scale, where the study brings its own."""
    if rater_of(request) is None:
        raise Refused(401, "This page does not know you.", "Open the link you were given.")
    collection: Collection = request.app.state.collection
    scales, number = list(collection.study.scales.values()), request.path_params["scale"]
    scale = scales[number] if number < len(scales) else None
    name = None
    if isinstance(scale, Points) and isinstance(scale.pictures, dict):
        name = scale.pictures.get(request.path_params["point"])
    if name is None:
        raise Refused(404)
    try:
        path = inside(collection.folder, name, "the picture")
    except InputError as error:
        raise Refused(404) from error
    kind = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
    return await stripped_file(request, path, kind, request.url.path, _CACHE_DAY)


# --- assets -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Asset:
    """One file, plain and compressed."""

    plain: bytes
    packed: bytes
    content_type: str


@lru_cache(maxsize=1)
def assets() -> dict[str, Asset]:
    """Every file by name: they are few and small, and nothing else can be asked for."""
    out = {}
    for path in sorted(files("heartfelt.web.rater").joinpath("static").iterdir(), key=lambda path: path.name):
        content = path.read_bytes()
        kind = _TYPES.get(path.name[path.name.rfind(".") :]) or mimetypes.guess_type(path.name)[0]
        out[path.name] = Asset(content, gzip.compress(content, mtime=0), kind or "application/octet-stream")
    return out


@lru_cache(maxsize=1)
def asset_digest() -> str:
    """A short digest of all the files, which stands in their addresses."""
    whole = hashlib.sha256()
    for name, asset in assets().items():
        whole.update(name.encode() + b"\0" + asset.plain + b"\0")
    return whole.hexdigest()[:12]


def modules() -> tuple[str, ...]:
    """The names of the script modules, to be fetched at once rather than one after the other."""
    return tuple(name for name in assets() if name.endswith(".js"))


async def asset(request: Request) -> Response:
    """A file; one whose address names its version need never be asked for again."""
    file = assets().get(request.path_params["name"])
    if file is None:
        raise Refused(404)
    current = request.path_params.get("version") == asset_digest()
    headers = {
        "etag": f'"{asset_digest()}"',
        "vary": "accept-encoding",
        "cache-control": _CACHE_FOREVER if current else "no-cache",
    }
    if request.headers.get("if-none-match") == headers["etag"]:
        return Response(status_code=304, headers=headers)
    return compressed(request, file.plain, file.content_type, headers, file.packed)


def compressed(
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
