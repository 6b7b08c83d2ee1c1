"""The documentation site: it builds strictly, holds every command and public name, and reads offline in a real browser."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

import pytest

from heartfelt import stats
from heartfelt.cli.app import app
from heartfelt.formats import FORMATS
from tests.docs.questions import badly_found, unanswered

if TYPE_CHECKING:
    from playwright.sync_api import Browser

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
SCRIPTS = ROOT / "scripts" / "docs_site"
PAGES = ["index", "methods/agreement", "commands/analyze", "api/heartfelt", "tutorial"]


def build(folder: Path) -> Path:
    """The site, built by a process of its own; any warning fails."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "NO_MKDOCS_2_WARNING": "1"}
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder / "site")]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr, done.stderr
    return folder / "site"


@pytest.mark.browser
@pytest.mark.slow
def test_the_site_builds_and_reads_offline(browser: Browser, tmp_path: Path) -> None:
    """One build for all: pages and links, generated references, then a handful of pages in Chromium."""
    pytest.importorskip("material", reason="MkDocs Material is not installed (pip install 'heartfelt[docs]')")
    site = build(tmp_path)
    html = {path.relative_to(site).as_posix(): path.read_text(encoding="utf-8") for path in site.rglob("*.html")}
    del html["404.html"]  # for a server; its addresses begin at the server's root
    _every_page_is_in_the_navigation(html)
    _links_and_anchors_lead_somewhere(html, site)
    _every_command_option_and_name_has_its_place(html)
    assert "<math display=" in html["methods/agreement.html"]
    assert not [page for page, text in html.items() if "\n```" in text], "a block that was not recognised"
    assert (site / "llms.txt").is_file()
    assert unanswered(html) == []
    _pages_read_well(browser, site)


def _every_page_is_in_the_navigation(html: dict[str, str]) -> None:
    """From the first page, by links of the navigation alone."""
    reached, next_ones = {"index.html"}, ["index.html"]
    while next_ones:
        page = next_ones.pop()
        links = re.findall(r'href="([^"#]+)" class="md-(?:nav|tabs)__link', html[page])
        found = {os.path.normpath(Path(page).parent / unquote(link)) for link in links if "://" not in link}
        next_ones += sorted(found - reached)
        reached |= found
    pages = {path.relative_to(DOCS).with_suffix(".html").as_posix() for path in DOCS.rglob("*.md")}
    assert (
        pages | {page for page in html if page.startswith(("api/", "commands/", "format-options/", "settings/"))}
        <= reached
    )


def _links_and_anchors_lead_somewhere(html: dict[str, str], site: Path) -> None:
    """Also those in raw HTML and of generated pages. Nothing is loaded from another machine."""
    anchors = {page: set(re.findall(r'\bid="([^"]+)"', text)) for page, text in html.items()}
    wrong = []
    for page, text in html.items():
        for tag, target in re.findall(r'<(a|img|script|link|iframe)\b[^>]*?\b(?:href|src)="([^"]*)"', text):
            parts = urlsplit(target)
            if parts.scheme or parts.netloc:
                if tag != "a" and "canonical" not in text[max(0, text.find(target) - 30) : text.find(target)]:
                    wrong.append(f"{page} loads {target}")
                continue
            path = os.path.normpath(Path(page).parent / unquote(parts.path)) if parts.path else page
            if path != "." and not (site / path).exists():
                wrong.append(f"{page} links to {target}")
            elif parts.fragment and path in anchors and unquote(parts.fragment) not in anchors[path]:
                wrong.append(f"{page} links to {target}, which has no such section")
    assert not wrong, "\n".join(sorted(set(wrong))[:40])


def _every_command_option_and_name_has_its_place(html: dict[str, str]) -> None:
    from typer.main import get_command

    def leaves(command: object, prefix: str = "") -> list[tuple[str, object]]:
        return [
            leaf
            for name, each in getattr(command, "commands", {}).items()
            for leaf in (leaves(each, f"{prefix}{name}-") or [(prefix + name, each)])
            if not getattr(each, "hidden", False)
        ]

    for name, command in leaves(get_command(app)):
        page = html[f"commands/{name}.html"]
        for parameter in getattr(command, "params", ()):
            if parameter.name != "help" and parameter.param_type_name == "option" and not parameter.hidden:
                for flag in [*parameter.opts, *parameter.secondary_opts]:
                    assert re.search(rf"<code>{flag}\b", page), f"heartfelt {name} {flag}"
    assert "<strong>Parameters</strong>" in html["api/heartfelt.html"], "sections of docstrings are lists, not headings"
    for name in stats.__all__:
        assert f'<h2 id="{name.lower()}"' in html["api/heartfelt.stats.html"], name
    for name, each in FORMATS.items():
        assert f'<h2 id="{name}"' in html["format-options/index.html"], name
        for option in each.options:
            assert f"<code>{option}</code>" in html["format-options/index.html"], option


def _pages_read_well(browser: Browser, site: Path) -> None:
    """No machine is asked, axe finds nothing, 320 pixels suffice, dark and print are legible, and search works from a file."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    requested: list[str] = []
    context = browser.new_context(viewport={"width": 1280, "height": 900}, reduced_motion="reduce")
    context.on("request", lambda request: requested.append(request.url))
    page = context.new_page()
    problems: list[str] = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    for place, name in enumerate(PAGES):
        page.emulate_media(color_scheme="dark" if place % 2 else "light")
        page.goto((site / f"{name}.html").as_uri(), wait_until="load")
        found = axe.run(page, options={"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]})
        problems += [
            f"{name}: {rule['id']}: {node['html'][:160]}"
            for rule in found.response["violations"]
            for node in rule["nodes"][:3]
        ]
        page.set_viewport_size({"width": 320, "height": 640})
        wide = page.evaluate("document.scrollingElement.scrollWidth - document.scrollingElement.clientWidth")
        if wide > 0:
            problems.append(f"{name}: {wide} pixels too wide at 320")
        page.set_viewport_size({"width": 1280, "height": 900})
    problems += badly_found(page)
    page.emulate_media(media="print")
    assert not page.locator(".md-header").is_visible(), "the header is not printed"
    assert page.locator(".md-content h1").is_visible()
    context.close()
    assert not problems, "\n".join(problems)
    assert all(url.startswith(("file:", "data:", "blob:")) for url in requested), requested


def test_llms_txt_is_current() -> None:
    """``make docs`` renews it."""
    before = (ROOT / "llms.txt").read_text(encoding="utf-8")
    program = (
        f"import sys; sys.path.insert(0, {str(SCRIPTS)!r}); import llms, navigation; "
        "print(llms.llms_txt(navigation.read_nav(), llms.in_repository), end='')"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.stdout == before, done.stderr or "llms.txt is out of date: python scripts/docs_site/llms.py renews it"
    for target in re.findall(r"\]\(([^)]+)\)", before):
        assert (ROOT / target).is_file(), target
