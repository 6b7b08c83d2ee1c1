"""Other people's data: each format reads into a snapshot, and writes from one where that makes sense."""

from heartfelt.formats import aigiemo, aimoclips, emolia_dim, emolia_emo, long, means, musiceval, votes, wide
from heartfelt.formats.format import FORMATS, Format
from heartfelt.formats.reading import export, read

__all__ = [
    "FORMATS",
    "Format",
    "aigiemo",
    "aimoclips",
    "emolia_dim",
    "emolia_emo",
    "export",
    "long",
    "means",
    "musiceval",
    "read",
    "votes",
    "wide",
]
