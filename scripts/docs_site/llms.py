"""``llms.txt``: what the documentation holds, for programs that read it.

``python scripts/docs_site/llms.py`` writes the one in the repository's root; the site gets its own with links to its pages.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
from links import DOCS, ROOT, ROOT_PAGES, summary_of, title_of

HEAD = """# heartfelt

> Find out what generated media makes people feel, and how well a machine can tell: a Python toolkit and web app for rating and
> comparison studies of generated music, speech and images, from the design of a study to a published benchmark.

Install with `pip install heartfelt[all]`; `heartfelt --help` lists the commands, and `import heartfelt` gives the same functions.
Every number is an `Estimate`: a value with interval, counts and method, or the reason there is none.
"""


def llms_txt(nav: list[Any], address: Callable[[str], str]) -> str:
    """The file for a navigation, with ``address`` giving the link of a page."""
    parts = [HEAD]
    for section in nav:
        ((title, items),) = section.items()
        lines = [_line(page, address) for page in flat(items)]
        if lines := [line for line in lines if line]:
            parts.append(f"## {title}\n\n" + "\n".join(lines) + "\n")
    return "\n".join(parts)


def flat(items: Any) -> list[str]:
    """The pages of a part of the navigation, in order."""
    if isinstance(items, str):
        return [items]
    if isinstance(items, dict):
        return [page for value in items.values() for page in flat(value)]
    return [page for item in items for page in flat(item)]


def _line(page: str, address: Callable[[str], str]) -> str:
    path = DOCS / page
    if not path.is_file():
        root = {value: key for key, value in ROOT_PAGES.items() if value != "index.md"}
        if page not in root:
            return ""
        path = ROOT / root[page]
    text = path.read_text(encoding="utf-8")
    summary = summary_of(text)
    return f"- [{title_of(text)}]({address(page)})" + (f": {summary}" if summary else "")


def in_repository(page: str) -> str:
    """A page's place in the repository."""
    root = {value: key for key, value in ROOT_PAGES.items() if value != "index.md"}
    return root.get(page, f"docs/{page}")


def in_site(page: str) -> str:
    """A page's place in the site."""
    return page.removesuffix(".md") + ".html"


if __name__ == "__main__":
    from navigation import read_nav

    (ROOT / "llms.txt").write_text(llms_txt(read_nav(), in_repository), encoding="utf-8")
