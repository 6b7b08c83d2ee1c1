"""Fetches with nobody there: robots, link previews, prefetching. They get a page with a button, and are counted.

Nobody is refused: a person whose browser is mistaken for a robot presses the button, and robots do not. A link preview must
not come in by itself, because the person whose personal link it fetched could not come in afterwards.
"""

from __future__ import annotations

import re

from starlette.requests import Request

ENTER = "enter"
"""The name in the query of somebody who pressed the button."""
_ROBOTS = re.compile(
    r"""
      (?<![a-z])(?!cubot)[a-z]*bot(?![a-z])         # Googlebot, TelegramBot, AdsBot-Google; CUBOT makes phones
    | (?<![a-z])[a-z]*(?:crawler|spider)(?![a-z])
    | \+https?://                                   # where the robot's operator can be reached
    | ^(?:whatsapp|pinterest|line-poker|viber|signal-desktop-preview)/   # in an app's own browser it stands further behind
    | facebookexternalhit | facebookcatalog | meta-externalagent
    | skypeuripreview | bingpreview | slack-imgproxy | vkshare | embedly | iframely | outbrain | quora\ link\ preview
    | google-(?:safety|read-aloud|pagerenderer|inspectiontool) | mediapartners-google | feedfetcher-google
    | apis-google | chrome-lighthouse | yahoo!\ slurp | ia_archiver | bitlybot | nuzzel | tumblr/ | flipboardproxy
    """,
    re.IGNORECASE | re.VERBOSE,
)
_PURPOSES = ("sec-purpose", "purpose", "x-purpose", "x-moz")


def is_robot(user_agent: str) -> bool:
    """Whether a user agent is that of a robot or a link preview."""
    return _ROBOTS.search(user_agent) is not None


def is_automated(request: Request) -> bool:
    """Whether a request fetches the page with nobody there, as far as its headers say."""
    if request.method == "HEAD":
        return True
    if ENTER in request.query_params:
        return False
    purposes = (request.headers.get(name, "") for name in _PURPOSES)
    if any("prefetch" in purpose or "preview" in purpose for purpose in purposes):
        return True
    return is_robot(request.headers.get("user-agent", ""))
