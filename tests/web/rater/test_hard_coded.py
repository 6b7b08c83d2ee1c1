"""No word of the pages is written into a module or a template: a study in an invented language has none that is English."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from heartfelt.formats.study_folder.manifest import OpenStudy, open_study
from heartfelt.web.layout.pages import drawn_pages
from heartfelt.web.layout.server import page_server
from tests.cases import check_all
from tests.web.rater.reading import read
from tests.web.rater.studies import picture, tone

if TYPE_CHECKING:
    from playwright.sync_api import Browser

RATER = Path(__file__).resolve().parents[3] / "src" / "heartfelt" / "web" / "rater"
SPOKEN = re.compile(
    r"(?:\b(?:text|title|alt|placeholder)|\"aria-(?:label|valuetext|roledescription)\"): (?=[\"`])(?P<text>\"[^\"]*\"|`[^`]*`)"
    r"|(?:textContent = |\btell\(|\bnotice\()(?=[\"`])(?P<said>\"[^\"]*\"|`[^`]*`)"
)
FILLED = re.compile(r"\$\{(?:[^{}`]|`[^`]*`|\{[^{}]*\})*\}")
KEYS = {"A", "Esc", "Enter", "U", "N"}
INVENTED = "tlh"
EVERYTHING = re.compile(r"⟦[^⟧]*⟧")


def invented(texts: Any) -> Any:
    """Every text in an invented language: what is to be filled in, in brackets."""
    if isinstance(texts, dict):
        return {key: invented(text) for key, text in texts.items()}
    return f"⟦{' '.join(re.findall(r'{[^}]*}', str(texts)))}⟧"


@check_all("path", sorted((RATER / "static").glob("*.js")), ids=lambda path: path.name)
def test_modules_say_nothing_of_their_own(path: Path) -> None:
    module, before = path.read_text(encoding="utf-8"), ""
    while module != before:  # what is filled into texts, from the inside
        before, module = module, FILLED.sub("", module)
    for found in SPOKEN.finditer(module):
        literal = found["text"] or found["said"]
        words = re.findall(r"[A-Za-z]{2,}", literal)
        assert set(words) <= KEYS, literal


@pytest.mark.parametrize("path", sorted((RATER / "templates").glob("*.html")), ids=lambda path: path.name)
def test_templates_say_nothing_of_their_own(path: Path) -> None:
    template = re.sub(r"\{%.*?%\}|\{\{.*?\}\}", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    named = re.findall(r"\b(?:title|aria-label|placeholder|alt)=\"([^\"]*)\"", template)
    shown = re.sub(r"<[^>]*>", " ", re.sub(r"<kbd>.*?</kbd>", "", template, flags=re.DOTALL))
    assert re.findall(r"[A-Za-z]{2,}", " ".join([shown, *named])) == []


def open_invented(folder: Path, media: str, **parts: Any) -> OpenStudy:
    """A study in an invented language, with pages in it."""
    texts = yaml.safe_load((RATER / "texts" / "en.yaml").read_text(encoding="utf-8"))
    folder.mkdir()
    (folder / "texts").mkdir()
    spoken = yaml.safe_dump({**invented(texts), "choices": {"male": "⟦⟧"}}, allow_unicode=True)
    (folder / "texts" / f"{INVENTED}.yaml").write_text(spoken, encoding="utf-8")
    study = {
        "name": "⟦study⟧", "title": "⟦title⟧", "media": media, "languages": [INVENTED], "instructions": "⟦instructions⟧",
        "consent": {"text": "⟦consent⟧"}, "design": {"listening": "free", "batch": 2, "practice": 1},
        "demographics": [{"id": "gender", "text": "⟦gender⟧", "type": "choice", "choices": ["male"]},
                         {"id": "tongues", "text": "⟦tongues⟧", "type": "languages", "required": True}],
        **parts,
    }  # fmt: skip
    (folder / "study.yaml").write_text(yaml.safe_dump(study, allow_unicode=True), encoding="utf-8")
    suffix, put = ("png", picture) if media == "image" else ("wav", tone)
    for system in "ab":
        put(folder / "media" / f"{system}.{suffix}")
    rows = [f"{system},{system},p,{system}.{suffix},⟦draft⟧" for system in "ab"]
    (folder / "stimuli.csv").write_text("\n".join(["stimulus,system,prompt,path,tagged", *rows]), encoding="utf-8")
    return open_study(folder)


def asked(*scales: str, **more: Any) -> list[dict[str, Any]]:
    return [{"id": name, "text": f"⟦{name}⟧", "scale": name, "required": name != "words", **more} for name in scales]


SINGLE: dict[str, Any] = {
    "media": "audio",
    "scales": {
        "points": {"type": "points", "points": 5, "anchors": {1: "⟦low⟧"}}, "numeric": {"type": "numeric", "low": 0, "high": 1},
        "words": {"type": "text", "min_words": 2, "max_characters": 90}, "tags": {"type": "tags", "tags": ["⟦a⟧"]},
        "yes": {"type": "yes-no"}, "trace": {"type": "trace"},
    },
    "questions": asked("points", "numeric", "words", "tags", "yes", "trace", none=False),
    "before": asked("yes", none=True), "after": asked("words"),
    "probes": [{"type": "headphones", "id": "h"},
               {"type": "attention", "id": "look", "text": "⟦look⟧", "question": "points", "answer": 1}],
}  # fmt: skip
DRAFTED: dict[str, Any] = {
    "media": "image",
    "scales": {"tagged": {"type": "tags", "tags": []}},
    "questions": asked("tagged", machine_first=True, none=True),
}
SETS: dict[str, dict[str, Any]] = {
    "pair": {"choice": {"type": "choice", "ties": True}, "cmos": {"type": "preference"}},
    "ranking": {"rank": {"type": "rank"}, "grade": {"type": "grade"}, "ends": {"type": "best-worst"}},
    "abx": {"which": {"type": "choice"}},
}
STUDIES: dict[str, dict[str, Any]] = {
    "single": SINGLE,
    "drafted": DRAFTED,
    **{
        kind: {"media": media, "sets": {"type": kind}, "scales": scales, "questions": asked(*scales)}
        for (kind, scales), media in zip(SETS.items(), ("audio", "image", "audio"), strict=True)
    },
}


@pytest.mark.slow
@pytest.mark.browser
@pytest.mark.parametrize("kind", STUDIES)
def test_a_study_in_an_invented_language_shows_no_english(browser: Browser, tmp_path: Path, kind: str) -> None:
    opened = open_invented(tmp_path / "study", **STUDIES[kind])
    pages = drawn_pages(opened)
    context = browser.new_context(reduced_motion="reduce")
    page = context.new_page()
    with page_server(opened, pages) as address:
        for number, drawn in enumerate(pages):
            page.goto(f"{address}/rate?page={number}")
            page.wait_for_function("() => document.body.dataset.step !== undefined")
            submit = page.locator("form button[type=submit]:visible")
            if submit.count():
                page.wait_for_selector("form:not([data-locked]) button[type=submit]")
                submit.first.click()  # what is missing is named
            left = [EVERYTHING.sub("", text) for text in read(page)]
            assert [text for text in left if re.search(r"[^\W\d_]{2,}", text)] == [], drawn.name
    context.close()
