"""Whether the licence of a medium lets it be passed on, as far as its words say."""

from __future__ import annotations

import re

_SHARED = r"(?:re-?)?(?:distribut\w*|shar\w*|publish\w*|publication|upload\w*)"
_FORBIDS = re.compile(
    rf"""
    all\ rights\ reserved | proprietary | confidential | internal\ use | not\ redistributable
    | (?:personal|private)(?:,?\ (?:and\ )?non-?commercial)?\ use\ only | only\ for\ (?:personal|private)\ use
    | (?:no|not\ for|without|forbids?|prohibits?)\ (?:any\ |further\ |public\ )?{_SHARED}
    | (?:do|may|must|can|shall)\ ?not\ (?:be\ )?{_SHARED}
    | {_SHARED}\ (?:is|are)?\ ?(?:not\ (?:allowed|permitted)|prohibited|forbidden)
    """,
    re.IGNORECASE | re.VERBOSE,
)
_NO_DERIVATIVES = re.compile(r"\bCC[ -]BY(?:[ -]NC)?[ -]ND\b|no ?-?derivatives", re.IGNORECASE)


def forbids_sharing(licence: str | None) -> bool:
    """Whether a licence says in words that the media may not be passed on."""
    return licence is not None and _FORBIDS.search(licence) is not None


def forbids_adapting(licence: str | None) -> bool:
    """Whether a licence lets only unchanged copies be passed on."""
    return licence is not None and _NO_DERIVATIVES.search(licence) is not None
