"""Ten questions a user would ask, in a user's words, with the page that answers each and words its answer has to contain."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

if TYPE_CHECKING:
    from playwright.sync_api import Page

FIRST_HITS = 3


@dataclass(frozen=True, kw_only=True)
class Question:
    """What somebody types, the page that answers it, and words of the answer."""

    typed: str
    page: str
    answer: tuple[str, ...]


QUESTIONS = (
    Question(
        typed="how many raters do I need", page="how-to/sample-size", answer=("heartfelt plan", "--ratings", "power")
    ),
    Question(typed="read an Excel file", page="how-to/excel", answer=(".xlsx", "heartfelt import")),
    Question(
        typed="study in two languages", page="how-to/two-languages", answer=("languages: [en, de]", "texts/nl.yaml")
    ),
    Question(
        typed="delete a participant's data",
        page="how-to/erase-a-person",
        answer=("heartfelt study erase", "--participant"),
    ),
    Question(typed="docker", page="deployment", answer=("docker compose", "deploy/compose.yaml")),
    Question(typed="use with R", page="how-to/r", answer=("heartfelt export long", "read.R")),
    Question(typed="attention check", page="how-to/attention-checks", answer=("type: attention", "attention_right")),
    Question(typed="which model is best", page="how-to/which-model", answer=("heartfelt bench", "ceiling")),
    Question(typed="how do I cite", page="citing", answer=("@software{heartfelt", "CITATION.cff")),
    Question(typed="upgrade to a new version", page="installing", answer=("git pull", "pip install")),
)


def unanswered(html: dict[str, str]) -> list[str]:
    """What is wrong with the answers in a built site: too far from the first page, or without the words of the answer."""
    near = within_clicks(html, "index.html", 2)
    problems = []
    for question in QUESTIONS:
        page = f"{question.page}.html"
        if page not in near:
            problems.append(f"{question.typed}: {page} is not within two clicks of the first page")
            continue
        text = plain(html[page])
        problems += [f"{question.typed}: {page} lacks '{words}'" for words in question.answer if words not in text]
    return problems


def within_clicks(html: dict[str, str], start: str, clicks: int) -> set[str]:
    """The pages that so many links lead to."""
    reached, newest = {start}, {start}
    for _ in range(clicks):
        found = {
            os.path.normpath(Path(page).parent / unquote(link))
            for page in newest
            for link in re.findall(r'<a\b[^>]*?href="([^"#?]+)', html[page])
            if "://" not in link
        }
        newest = (found & html.keys()) - reached
        reached |= newest
    return reached


def plain(html: str) -> str:
    """A page's text, without the marks of highlighted code."""
    text = re.sub(r"<[^>]+>", "", html)
    return text.replace("&quot;", '"').replace("&#39;", "'").replace("&amp;", "&")


def badly_found(page: Page) -> list[str]:
    """Questions whose page is not among the first hits of the search of the page that is open."""
    problems = []
    page.keyboard.press("/")
    for question in QUESTIONS:
        page.keyboard.press("Control+A")
        page.keyboard.press("Backspace")
        page.wait_for_function("!document.querySelector('.md-search-result__item')")
        page.keyboard.type(question.typed)
        page.wait_for_selector(".md-search-result__item")
        links = page.locator(".md-search-result__item").evaluate_all(
            "items => items.map(item => item.querySelector('a').getAttribute('href'))"
        )
        hits = [re.sub(r"[?#].*", "", link) for link in links[:FIRST_HITS]]
        if not any(hit.endswith(f"/{question.page}.html") for hit in hits):
            problems.append(f"{question.typed}: {', '.join(hits)}")
    return problems
