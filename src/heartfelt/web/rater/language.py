"""Which language a rater reads."""

from __future__ import annotations

from collections.abc import Sequence

from starlette.requests import Request

LANGUAGE_COOKIE = "heartfelt_language"


def language_of(request: Request, offered: Sequence[str]) -> str:
    """The language chosen in the address, else the one chosen before, else what the browser asks for, else the first."""
    for wish in (request.query_params.get("lang"), request.cookies.get(LANGUAGE_COOKIE)):
        if wish is not None and wish in offered:
            return wish
    for wish in _asked_for(request.headers.get("accept-language", "")):
        for language in offered:
            if wish == language.lower() or wish.split("-")[0] == language.lower().split("-")[0]:
                return language
    return offered[0]


def _asked_for(header: str) -> list[str]:
    """The tags of an Accept-Language header, most wanted first."""
    wishes = []
    for place, part in enumerate(header.split(",")[:20]):
        tag, _, quality = part.strip().partition(";q=")
        try:
            weight = float(quality) if quality else 1.0
        except ValueError:
            weight = 0.0
        if tag:
            wishes.append((-weight, place, tag.lower()))
    return [tag for _, _, tag in sorted(wishes)]
