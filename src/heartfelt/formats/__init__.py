"""Other people's data: each format reads into a snapshot, and writes from one where that makes sense."""

from heartfelt.formats import arena, long, means, opinion_lists, tools, voicemos, votes, webmushra, wide
from heartfelt.formats.format import FORMATS, Format, export, read

__all__ = [
    "FORMATS",
    "Format",
    "arena",
    "export",
    "long",
    "means",
    "opinion_lists",
    "read",
    "tools",
    "voicemos",
    "votes",
    "webmushra",
    "wide",
]
