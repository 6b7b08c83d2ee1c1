"""Everything a page shows or reads aloud, searched for what should never be there."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Page

LEAKS = re.compile(
    r"<built-in|<bound method|<function|<class|object at 0x|0x[0-9a-f]{6,}|\{\{|\}\}|\{%|\{\w+\}|\[object|"
    r"\b(?:None|undefined|NaN|Undefined|null)\b|Traceback"
)
KEY = re.compile(r"^[a-z]+(?:[._][a-z]+)+$")
"""A text that looks like the name of a text."""
ENGLISH = re.compile(r"[A-Za-z]{2,} [A-Za-z]{2,}")
GATHER = """(everything) => {
  const found = [document.title];
  const names = ["title", "alt", "placeholder", "aria-label", "aria-valuetext", "aria-description", "label"];
  const said = ["play", "pause", "replay", "felt", "perceived", "grid", "rows", "next", "submit", "missing", "practice"];
  const visible = (node) => everything || (node.checkVisibility ? node.checkVisibility() : true);
  const foreign = (node) => node.closest?.("blockquote, .chip, output, kbd, [lang]:not(html), script, .studys-own") !== null;
  const walk = (root) => {
    for (const node of root.querySelectorAll("*")) {
      if (node.tagName === "TEMPLATE") { if (everything) walk(node.content); continue; }
      if (!visible(node) || ["SCRIPT", "STYLE"].includes(node.tagName)) continue;
      const mark = foreign(node) ? "foreign" : "own";
      for (const name of names) if (node.hasAttribute(name)) found.push([mark, node.getAttribute(name)]);
      if (["INPUT", "TEXTAREA", "BUTTON", "OPTION"].includes(node.tagName) && !["radio", "checkbox"].includes(node.type)) {
        if (node.tagName !== "OPTION" && node.tagName !== "BUTTON" && node.value) found.push(["foreign", node.value]);
      }
      for (const child of node.childNodes) if (child.nodeType === 3 && child.data.trim()) found.push([mark, child.data.trim()]);
      if (everything) for (const [name, value] of Object.entries(node.dataset))
        if (said.includes(name)) found.push([mark, value]);
    }
  };
  walk(document);
  return found.slice(1).concat([["own", found[0]]]);
}"""


def texts_of(page: Page, *, everything: bool = False) -> list[tuple[str, str]]:
    """What is visible; with ``everything`` also what waits in templates. Each with whether it is the study's own data."""
    return [(mark, text) for mark, text in page.evaluate(GATHER, everything)]


def leaks_of(page: Page, *, everything: bool = False) -> list[str]:
    """Texts that are no texts: representations of objects, unfilled places, names of texts, another language."""
    language = page.get_attribute("html", "lang")
    wrong = []
    for mark, text in texts_of(page, everything=everything):
        result = LEAKS.search(text)
        # A place to fill, such as {count}, is right in a text that waits to be filled.
        waits = everything and result is not None and re.fullmatch(r"\{\w+\}", result.group())
        foreign = mark == "own" and (KEY.match(text) or (language != "en" and ENGLISH.search(text)))
        if (result and not waits) or foreign:
            wrong.append(text)
    return wrong
