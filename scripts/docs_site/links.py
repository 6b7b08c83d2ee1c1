"""Links that work in the repository and in the site, and where a page stands."""

from __future__ import annotations

import os.path
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
BLOB = "https://github.com/heartfelt-toolkit/heartfelt/blob/main/"
TREE = "https://github.com/heartfelt-toolkit/heartfelt/tree/main/"
# Files of the repository's root that are pages of the site.
ROOT_PAGES = {
    "README.md": "index.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
}
LINK = re.compile(r"(?<=\]\()([^)\s#]+)(#[^)\s]*)?(?=\))")
CODE = re.compile(r"(^```.*?^```|`[^`\n]+`)", re.MULTILINE | re.DOTALL)


def rewritten(text: str, source: Path, page: str) -> str:
    """``text`` of the file ``source`` with links that lead out of ``docs/`` turned to pages of the site or to the repository."""

    def turn(match: re.Match[str]) -> str:
        target, anchor = match[1], match[2] or ""
        if "://" in target or target.startswith("mailto:"):
            return match[0]
        path = Path(os.path.normpath(source.parent / target))
        place = path.relative_to(ROOT).as_posix()
        if place in ROOT_PAGES:
            return os.path.relpath(ROOT_PAGES[place], Path(page).parent) + anchor
        if path.is_relative_to(DOCS) and not path.is_dir():
            return os.path.relpath(path.relative_to(DOCS), Path(page).parent) + anchor
        return (TREE if path.is_dir() else BLOB) + place + anchor

    parts = CODE.split(text)
    return "".join(part if place % 2 else LINK.sub(turn, part) for place, part in enumerate(parts))


def title_of(text: str) -> str:
    """The first heading of a page."""
    match = re.search(r"^# (.+)$", text, re.MULTILINE)
    return match[1].strip().replace("`", "") if match else ""


def summary_of(text: str) -> str:
    """The first sentence of a page's first paragraph, as plain text."""
    body = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    for paragraph in body.split("\n\n"):
        words = " ".join(paragraph.split())
        if words and not re.match(r"[#|!<>\-*\[]", words.replace("**", "")):
            plain = re.sub(r"\[([^\]]+)\]\([^)]*\)", r"\1", words).replace("**", "").replace("`", "")
            return re.split(r"(?<=[.:])\s+(?=[A-Z`])|:$", plain)[0].rstrip(":")
    return ""
