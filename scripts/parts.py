"""The map of the packages in docs/architecture.md: every sub-folder, with the sentence its ``__init__`` opens with.

python scripts/parts.py            print the map
python scripts/parts.py --write    write it to docs/architecture.md
"""

from __future__ import annotations

import ast
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "heartfelt"
PAGE = ROOT / "docs" / "architecture.md"
BEGIN, END = "<!-- parts: python scripts/parts.py --write -->\n", "<!-- end of parts -->\n"
MOST_NAMES = 15
"""Modules and sub-folders that one folder may show."""


def parts() -> dict[str, str]:
    """The first sentence about each sub-folder of a package, by ``package/part``."""
    found = {}
    for path in sorted(PACKAGE.glob("*/*/__init__.py")):
        description = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
        found[path.parent.relative_to(PACKAGE).as_posix()] = description.partition("\n")[0]
    return found


def table() -> str:
    """The map as a Markdown table."""
    rows = (f"| `{part}` | {description.replace('``', '`')} |\n" for part, description in parts().items())
    return f"\n| part | what it holds |\n|---|---|\n{''.join(rows)}\n"


def crowded() -> dict[str, int]:
    """The folders that show more than ``MOST_NAMES`` modules and sub-folders, with their number."""
    folders = (path.parent for path in PACKAGE.glob("*/**/__init__.py"))
    names = {
        folder.relative_to(PACKAGE).as_posix(): sum(
            child.name != "__init__.py" and (child.suffix == ".py" or (child / "__init__.py").exists())
            for child in folder.iterdir()
        )
        for folder in folders
    }
    return {folder: count for folder, count in names.items() if count > MOST_NAMES}


def documented(page: str) -> str:
    """The map as it stands in the text of the page."""
    return page.partition(BEGIN)[2].partition(END)[0]


def main(arguments: list[str]) -> None:
    """Print or write the map."""
    if arguments == ["--write"]:
        page = PAGE.read_text(encoding="utf-8")
        PAGE.write_text(page.replace(documented(page), table()), encoding="utf-8")
    else:
        print(table())


if __name__ == "__main__":
    main(sys.argv[1:])
