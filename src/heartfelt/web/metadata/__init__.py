"""Media without their metadata: tags, comments and dates could tell a rater what made a stimulus.

Nothing is decoded or encoded again. A file is described as pieces: stretches of the original, and a few bytes that take
the place of others. Originals are never written to.
"""

from heartfelt.web.metadata.pieces import Pieces, Span, read_range
from heartfelt.web.metadata.strip import stripped

__all__ = ["Pieces", "Span", "read_range", "stripped"]
