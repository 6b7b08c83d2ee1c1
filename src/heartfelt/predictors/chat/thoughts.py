"""Telling a model's answer from the draft it wrote on the way.

Models that reason write their draft between tags such as ``<think>`` and ``</think>``, sometimes nested, sometimes without the
opening tag (the chat template wrote it) and, where the answer was cut off, without the closing one. Nothing inside such a
stretch is an answer.
"""

from __future__ import annotations

import re

_NAMES = r"think|thinking|thought|thoughts|reasoning|reason|scratchpad|analysis|reflection|begin_of_thought|end_of_thought"
_TAG = re.compile(
    rf"<\s*\|?\s*(?P<close>/)?\s*(?P<name>{_NAMES})\b[^<>]*>"
    r"|\[(?P<square_close>/)?(?P<square>THINK)\]"
    r"|(?P<black>[◁])(?P<black_close>/)?(?:think|thinking)▷",
    re.IGNORECASE,
)


def without_thoughts(content: str) -> tuple[str, bool]:
    """What was written outside of drafts, and whether the text ends inside one that was never closed."""
    kept: list[str] = []
    depth = at = 0
    for tag in _TAG.finditer(content):
        name = (tag["name"] or "").lower()
        closes = bool(tag["close"] or tag["square_close"] or tag["black_close"]) or name == "end_of_thought"
        if depth == 0 and not closes:
            kept.append(content[at : tag.start()])
        if closes:
            if depth == 0:
                kept.clear()
            depth = max(0, depth - 1)
        else:
            depth += 1
        at = tag.end()
    if depth == 0:
        kept.append(content[at:])
    return "".join(kept).strip(), depth > 0
