"""Wordings that no editor would leave alone stay out of every text a rater, researcher or developer reads."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BANNED = (
    r"\b[Hh]old (the|this) \w+ against\b",
    r"\bif you like\b",
    r"goes on by itself",
    r"\b[Ii]t cannot be told\b",
    r"\bwith \w+ = \w+ cannot be\.",
    r"nothing is known of",
    r"bad weather",
    r"people a stimulus\b",
    r"\b(trials|cells) are no ratings\b",
    r"\bis no (part|rating) of\b",
    r"\bholds? (it|them) to the rules\b",
    r"\bmended?\b",
    r"\bthere whole or not at all\b",
    r"is the most any predictor",
    r"\bWho does not agree\b",
    r"\brooms in a row\b",
    r"\bput right\b",
    r"\bunless said\b",
    r"\bone a (row|line|stimulus|rater|question|system|item|file|task|model|page)\b",
)
SUFFIXES = {".py", ".html", ".js", ".yaml", ".md", ".css", ".toml"}


def texts() -> list[Path]:
    folders = [ROOT / "src", ROOT / "docs"]
    files = [path for folder in folders for path in folder.rglob("*") if path.suffix in SUFFIXES]
    return [*files, ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md", ROOT / "CHANGELOG.md"]


@pytest.mark.slow
def test_no_text_uses_a_banned_wording() -> None:
    banned = re.compile("|".join(f"(?:{pattern})" for pattern in BANNED))
    wrong = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in texts()
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if banned.search(line)
    ]
    assert not wrong, "\n".join(wrong)


def test_the_banned_wordings_are_found() -> None:
    """The patterns catch what they are meant to catch."""
    for text in (
        "Hold the voice against this",
        "bad weather",
        "one answer, one a row",
        "what was mended",
        "if you like",
    ):
        assert any(re.search(pattern, text) for pattern in BANNED), text
