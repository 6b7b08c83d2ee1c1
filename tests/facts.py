"""What a message must tell, whatever its wording: numbers, names, options and key words. Whole sentences are in golden files."""

from __future__ import annotations

import re
from collections.abc import Iterable

REACH = 250
"""Characters within which the facts of one message are, for the text may be a whole page."""
_WHOLE = r"(?<!\w)(?<!\w[.,](?=\d)){0}(?!\w)(?![.,]\d)"


def mentions(text: str | Iterable[str | None] | None, *facts: str) -> bool:
    """Whether a text, or one of several, has every fact in one place, as whole words and whole numbers."""
    assert facts
    if text is None:
        return False
    if not isinstance(text, str):
        return any(mentions(one, *facts) for one in text)
    first, *others = ([found.start() for found in re.finditer(_WHOLE.format(re.escape(fact)), text)] for fact in facts)
    return any(all(any(abs(a - b) <= REACH for b in spots) for spots in others) for a in first)
