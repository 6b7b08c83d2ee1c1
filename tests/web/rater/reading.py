"""Everything a rater reads or hears on a page: texts, names of controls, and what is in its dialogs."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Page

READ = """() => {
  const texts = [document.title];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    if (!node.parentElement.closest('script, style, noscript, kbd, output, #languages, .languages')) texts.push(node.data);
  }
  for (const element of document.querySelectorAll('*')) {
    for (const name of ['aria-label', 'title', 'placeholder', 'alt', 'aria-valuetext', 'aria-roledescription']) {
      if (element.hasAttribute(name)) texts.push(element.getAttribute(name));
    }
  }
  return texts.map((text) => text.replace(/[\\u2066-\\u2069]/g, '').replace(/\\s+/g, ' ').trim()).filter(Boolean);
}"""


def read(page: Page) -> list[str]:
    """Every text of the page, also of dialogs that are closed."""
    texts: list[str] = page.evaluate(READ)
    return texts
