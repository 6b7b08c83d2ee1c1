"""Other people's data: each format reads into a snapshot, and writes from one where that makes sense."""

from heartfelt.formats import aimoclips as _aimoclips  # noqa: F401  (registers itself)
from heartfelt.formats.format import FORMATS, Format

__all__ = ["FORMATS", "Format"]
