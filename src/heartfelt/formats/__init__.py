"""Other people's data: each format reads into a snapshot, and writes from one where that makes sense."""

from heartfelt.formats import tools
from heartfelt.formats.format import FORMATS, Format, export, read
from heartfelt.formats.table_formats import arena, long, means, opinion_lists, voicemos, votes, webmushra, wide

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
