"""What MkDocs calls while it builds: generated pages, links into the repository, formulas."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "src"))
import api
import commands
import settings_reference
from links import DOCS, ROOT, ROOT_PAGES, rewritten
from llms import in_site, llms_txt
from mathml import mathml
from mkdocs.structure.files import File, Files
from navigation import expanded

import formats

BLOCK = re.compile(r"^```math\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# A word after the language is for the tests: no-run, or the name of a file, which is shown as the block's title. MkDocs
# would not see the block with it.
FENCE = re.compile(r"^```(\w+) (?:[\w-]+|([\w./-]+))$", re.MULTILINE)
INLINE = re.compile(r"\$`([^`]+)`\$")
_generated: dict[str, str] = {}
_formulas: list[str] = []


def on_config(config: Any) -> Any:
    """Generate the references and fill in the navigation."""
    _formulas.clear()
    _generated.clear()
    folders = {
        "commands": commands.pages(),
        "api": api.pages(),
        "format-options": formats.pages(),
        "settings": settings_reference.pages(),
    }
    for folder, pages in folders.items():
        _generated.update({f"{folder}/{name}": text for name, text in pages.items()})
    for source, page in ROOT_PAGES.items():
        if page != "index.md":
            _generated[page] = rewritten((ROOT / source).read_text(encoding="utf-8"), ROOT / source, page)
    names = {folder: [_entry(folder, name) for name in pages] for folder, pages in folders.items()}
    config.nav = expanded(config.nav, names)
    _generated["llms.txt"] = llms_txt(config.nav, in_site)
    return config


def _entry(folder: str, name: str) -> dict[str, str]:
    """A page of a reference with its title in the navigation: the command or package alone."""
    page = name.removesuffix(".md")
    titles = {each.replace(" ", "-"): each for each in commands.commands()} | {"index": "Overview"}
    return {titles.get(page, page): f"{folder}/{name}"}


def on_files(files: Files, config: Any) -> Files:
    """Add the generated pages."""
    for page, text in _generated.items():
        files.append(File.generated(config, page, content=text))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Turn links that leave ``docs/``; put formulas aside until the page is HTML."""
    place = page.file.src_uri
    text = markdown if place in _generated else rewritten(markdown, DOCS / place, place)
    text = FENCE.sub(lambda match: f"```{match[1]}" + (f' title="{match[2]}"' if match[2] else ""), text)
    text = BLOCK.sub(lambda match: f'\n<div class="formula">{_aside(_row(match[1]))}</div>\n', text)
    return INLINE.sub(lambda match: _aside(mathml(match[1])), text)


def _row(latex: str) -> str:
    """Formulas that a wide space separates, each on its own, so that they wrap on a narrow screen."""
    return "".join(mathml(part, block=True) for part in latex.split(r"\qquad"))


def _aside(formula: str) -> str:
    _formulas.append(formula)
    return f"FORMULA{len(_formulas) - 1}ALUMROF"


def on_page_content(html: str, **_: Any) -> str:
    """Put the formulas back."""
    return re.sub(r"FORMULA(\d+)ALUMROF", lambda match: _formulas[int(match[1])], html)
