"""What raters read when a request of the pages is refused: the pages' own words, in the language of the page.

The server's words name the problem and the fix in English, for researchers, programs and the log. Raters who read English
get those; all others get a sentence from ``refusals`` in ``texts/*.yaml``.
"""

from __future__ import annotations

from starlette.requests import Request

from heartfelt.web.rater.presentation import request_language
from heartfelt.web.rater.texts import direction, texts_for
from heartfelt.web.requests.errors import LocalizedRefusal
from heartfelt.web.requests.state import state_of

_RATER_PATHS = ("/rate", "/media", "/i", "/r", "/adjudicate", "/a")
_KEYS = {401: "unknown", 404: "missing", 409: "moved_on", 413: "too_large", 429: "busy", 503: "busy", 507: "damaged"}


def rater_refusal(request: Request, status: int, questions: tuple[str, ...] = ()) -> LocalizedRefusal | None:
    """The refusal of a request of the rating pages; None for other requests, and where the page is in English."""
    base = request.scope.get("root_path", "")
    path = request.scope.get("path", "").removeprefix(base)
    if (
        path != "/"
        and path.rstrip("/") not in _RATER_PATHS
        and not path.startswith(tuple(f"{at}/" for at in _RATER_PATHS))
    ):
        return None
    language = request_language(request)
    if language.split("-")[0] == "en":
        return None
    texts = texts_for(language, state_of(request).collection.folder)["refusals"]
    if status == 422 and questions:
        text = texts["answers"].replace("{questions}", "; ".join(questions))
    else:
        text = texts[_KEYS.get(status, "failed")]
    return LocalizedRefusal(language, direction(language), text)
