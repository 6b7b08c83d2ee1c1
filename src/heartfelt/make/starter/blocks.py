"""Changing a ``study.yaml`` as a person would: block by block, so that its comments and its layout stay."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable

WIDTH = 120


def replace_block(text: str, key: str, block: str, *, before: str = "") -> str:
    """Put ``block`` in the place of the top-level ``key`` and of the comment above it.

    Where there is no such key, the block goes above the key ``before`` and its comment.
    """
    lines = text.splitlines()
    if any(line.startswith(f"{key}:") for line in lines):
        start, end = _extent(lines, key)
        return "\n".join([*lines[:start], *block.splitlines(), *lines[end:], ""])
    start, _ = _extent(lines, before)
    return "\n".join([*lines[:start], *block.splitlines(), "", *lines[start:], ""])


def _extent(lines: list[str], key: str) -> tuple[int, int]:
    """The lines of a top-level block: from the comment right above it to its last line that is not empty."""
    starts = [number for number, line in enumerate(lines) if line.startswith(f"{key}:")]
    if len(starts) != 1:
        raise LookupError(f"the recipe has {len(starts)} blocks called '{key}'")
    start, end = starts[0], starts[0] + 1
    while start > 0 and lines[start - 1].startswith("#"):
        start -= 1
    while end < len(lines) and (not lines[end].strip() or lines[end].startswith((" ", "-"))):
        end += 1
    while not lines[end - 1].strip():
        end -= 1
    return start, end


def substitute(text: str, pattern: str, replacement: str) -> str:
    """Replace the one place where ``pattern`` matches; none or several are a mistake."""
    changed, count = re.subn(pattern, lambda match: match.expand(replacement), text, flags=re.MULTILINE)
    if count != 1:
        raise LookupError(f"the recipe has {count} places like '{pattern}'")
    return changed


def comment(words: str) -> str:
    """A comment, wrapped."""
    return "\n".join(textwrap.wrap(words, WIDTH, initial_indent="# ", subsequent_indent="# "))


def listed(key: str, entries: Iterable[str], words: str = "") -> str:
    """A block that is a list, one entry a line, with a comment above it."""
    lines = [comment(words)] if words else []
    return "\n".join([*lines, f"{key}:", *(f"  - {{{entry}}}" for entry in entries)])
