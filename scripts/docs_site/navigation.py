"""The navigation: ``folder/*`` in mkdocs.yml stands for a folder's pages that are not named elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml
from links import DOCS, ROOT


class _Loader(yaml.SafeLoader):
    """Reads mkdocs.yml without running what its tags name."""


_Loader.add_multi_constructor("tag:yaml.org,2002:python/", lambda *_: None)


def read_nav() -> list[Any]:
    """The navigation of mkdocs.yml, expanded; generated references are left out."""
    config = yaml.load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"), _Loader)
    return expanded(config["nav"], {})


def expanded(nav: list[Any], generated: dict[str, list[dict[str, str]]]) -> list[Any]:
    """``nav`` with its wildcards filled in. Pages nobody named come last, under "More"."""
    pages = sorted(path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md"))
    named = set(_strings(nav))
    here = [page for page in pages if page not in named]

    def fill(item: Any) -> list[Any]:
        if isinstance(item, dict):
            ((title, value),) = item.items()
            inner = [page for each in (value if isinstance(value, list) else [value]) for page in fill(each)]
            return [{title: inner if isinstance(value, list) or value.endswith("*") else value}] if inner else []
        if not item.endswith("/*"):
            return [item]
        folder = item.removesuffix("/*")
        return generated.get(folder, []) or [page for page in here if page.startswith(f"{folder}/")]

    result = [filled for item in nav for filled in fill(item)]
    shown = set(_strings(result))
    left = [page for page in pages if page not in shown and Path(page).name != "README.md"]
    return [*result, {"More": left}] if left else result


def _strings(item: Any) -> list[str]:
    if isinstance(item, str):
        return [item]
    values = item.values() if isinstance(item, dict) else item
    return [each for value in values for each in _strings(value)]
