"""Whether pages can be read: long words under scales wrap at every width, and what does not fit is named."""

from __future__ import annotations

import builtins
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from typer.testing import CliRunner

from heartfelt.cli.app import app
from heartfelt.formats.study_folder.manifest import OpenStudy, open_study
from heartfelt.progress import no_progress
from heartfelt.web.layout import LayoutProblem, check, check_layout
from heartfelt.web.layout.browser import draw, measure
from heartfelt.web.layout.estimate import estimated_problems
from heartfelt.web.layout.pages import drawn_pages
from heartfelt.web.layout.problem import problem_sentences
from heartfelt.web.layout.server import page_server
from tests.facts import mentions
from tests.web.rater.studies import tone

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

MIDDLE = "neither pleasant nor unpleasant"
END = "does not at all express the intended emotion now"
WORDED = ["strongly disagree", "disagree somewhat", MIDDLE, "agree somewhat", "strongly agree"]
SCALES: dict[str, Any] = {
    "nine": {"type": "points", "points": 9, "anchors": {1: "unpleasant", 5: MIDDLE, 9: "pleasant"}},
    "ends": {"type": "points", "points": 7, "anchors": {1: END, 7: END}},
    "worded": {"type": "points", "points": 5, "anchors": dict(enumerate(WORDED, 1))},
    "close": {"type": "points", "points": 11, "anchors": {1: END, 2: "unpleasant", 11: END}},
    "slide": {"type": "numeric", "low": 0, "high": 1, "step": 0.01, "anchors": {0: END, 0.25: MIDDLE, 0.5: MIDDLE, 1: END}},
    "trace": {"type": "trace", "low_text": END, "high_text": END},
}  # fmt: skip


def write(folder: Path, scales: dict[str, Any] = SCALES, **parts: Any) -> OpenStudy:
    study = {
        "name": "wide", "media": "audio", "title": "Wide words", "consent": {"text": "Do you agree?"},
        "demographics": [{"id": "age", "text": "Your age", "type": "number"}], "design": {"listening": "free", "batch": 5},
        "scales": scales, "questions": [{"id": name, "text": f"How about {name}?", "scale": name} for name in scales],
        **parts,
    }  # fmt: skip
    folder.mkdir()
    (folder / "study.yaml").write_text(yaml.safe_dump(study, sort_keys=False), encoding="utf-8")
    rows = ["stimulus,system,prompt,path"]
    for system in "abcde":
        tone(folder / "media" / f"{system}.wav")
        rows.append(f"{system},{system},p,{system}.wav")
    (folder / "stimuli.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    return open_study(folder)


@pytest.mark.slow
@pytest.mark.browser
def test_long_words_are_readable_at_every_width(browser: Browser, tmp_path: Path) -> None:
    rows = [{"id": f"row{row}", "text": END, "scale": "worded", "grid": "rows"} for row in range(3)]
    opened = write(tmp_path / "study", languages=["en", "ar"], before=rows)
    pages = drawn_pages(opened)
    names = {page.name for page in pages}
    assert {"consent", "demographics", "instructions", "break", "end", "trial with nine"} <= names
    problems, drawn = draw(browser, opened, pages, no_progress)
    assert drawn == len(pages)
    assert problem_sentences(problems) == []


@pytest.mark.slow
@pytest.mark.browser
@pytest.mark.parametrize("kind", ["mushra", "plane", "grid"])
def test_words_of_bands_planes_and_grids_are_readable(browser: Browser, tmp_path: Path, kind: str) -> None:
    if kind == "mushra":
        scales: dict[str, Any] = {"grade": {"type": "grade", "bands": [MIDDLE, "unpleasant", "so-so", "pleasant", "excellent"]},
                                  "many": {"type": "grade", "bands": ["unpleasant"] * 10}}  # fmt: skip
        opened = write(tmp_path / "study", scales, sets={"type": "mushra", "rule": "by-prompt", "reference": "a"})
    else:
        nine = {"type": "points", "points": 9, "anchors": {1: END, 9: END}}
        scale = SCALES["trace"] if kind == "plane" else nine
        design = {"listening": "free", "affect_grid": ["x", "y"]}
        opened = write(tmp_path / "study", {"x": scale, "y": scale}, design=design)
    problems, _ = draw(browser, opened, drawn_pages(opened), no_progress)
    assert problem_sentences(problems) == []


FAULTS = {
    "overlaps": "<div style='position: relative; height: 4em'><p style='position: absolute'>first words</p>"
    "<p style='position: absolute'>second words</p></div>",
    "is cut off": "<p style='width: 4em; overflow: hidden; white-space: nowrap'>words that are much too long</p>",
    "runs out of the window": "<p style='white-space: nowrap; margin-left: 90vw'>words that are much too long</p>",
    "runs out of its box": "<button style='width: 60px; min-width: 0; white-space: nowrap; display: block; margin: 0 300px'>"
    "words that are much too long</button>",
    "is broken in the middle": "<p style='width: 2em; overflow-wrap: anywhere'>unpleasantness</p>",
}  # fmt: skip


@pytest.fixture(scope="module")
def blank(browser: Browser) -> Iterator[Page]:
    context = browser.new_context(viewport={"width": 800, "height": 600})
    yield context.new_page()
    context.close()


@pytest.mark.slow
@pytest.mark.browser
@pytest.mark.parametrize("fault", FAULTS)
def test_every_kind_of_fault_is_named(blank: Page, fault: str) -> None:
    blank.set_content(FAULTS[fault])
    assert any(problem.startswith(fault) for _, problem in blank.evaluate(measure()))


@pytest.mark.slow
@pytest.mark.browser
def test_words_that_fit_are_no_fault(blank: Page) -> None:
    blank.set_content(
        "<p style='line-height: 1'>lines<br>that touch</p><p style='line-height: 1'>and follow</p>"
        "<p style='width: 4em; hyphens: manual; overflow-wrap: anywhere'>donaudampf</p>"
        "<span style='position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%)'>for readers</span>"
        "<div style='height: 2em; overflow: auto'><p>one</p><p>two</p><p>three</p></div><p>below</p>"
    )
    assert blank.evaluate(measure()) == []


@pytest.mark.slow
@pytest.mark.browser
def test_a_page_of_its_own_size_is_served_with_what_it_needs(browser: Browser, tmp_path: Path) -> None:
    opened = write(tmp_path / "study", {"nine": SCALES["nine"]})
    pages = drawn_pages(opened)
    context = browser.new_context()
    page = context.new_page()
    failed: list[str] = []
    page.on("response", lambda response: failed.append(response.url) if response.status >= 400 else None)
    page.on("pageerror", lambda error: failed.append(str(error)))
    with page_server(opened, pages) as address:
        for number in range(len(pages)):
            page.goto(f"{address}/rate?page={number}")
            page.wait_for_function("() => document.body.dataset.step !== undefined")
            assert page.locator("h1:visible, h1.sr").count() == 1, pages[number].name
    context.close()
    assert [url for url in failed if "favicon" not in url] == []


# --- without a browser ------------------------------------------------------------------------------------------------


def test_without_a_browser_long_words_are_estimated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    crowded = {"type": "points", "points": 11, "anchors": {1: "low", 5: "incomprehensibilities", 6: "high"}}
    opened = write(tmp_path / "study", {"nine": SCALES["nine"], "crowded": crowded})
    monkeypatch.setattr(check, "find_spec", lambda name: None if name == "playwright" else object())
    real = builtins.__import__

    def without_playwright(name: str, *rest: Any) -> Any:
        assert not name.startswith("playwright"), "what is not installed is not imported"
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without_playwright)
    looked = check_layout(opened)
    assert looked.pages_drawn == 0
    assert "playwright is not installed" in looked.sentence
    assert [problem.text for problem in looked.problems] == ["incomprehensibilities"]
    assert mentions(looked.warnings[0], "'crowded'", "320 pixels")


def test_words_that_wrap_are_no_problem_of_an_estimate(tmp_path: Path) -> None:
    opened = write(tmp_path / "study", {name: SCALES[name] for name in ("nine", "ends", "worded")})
    assert estimated_problems(opened.study) == []


def test_one_sentence_for_several_widths_and_languages() -> None:
    problems = [
        LayoutProblem(page="trial", language=language, width=width, text="too\n long", problem="is cut off")
        for language in ("en", "de")
        for width in (320, 390)
    ]
    assert problem_sentences(problems) == ["trial at 320, 390 pixels (en, de): “too long” is cut off."]


@pytest.mark.slow
def test_check_says_what_it_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "study", {"nine": SCALES["nine"]}, languages=["en", "de"])
    monkeypatch.setattr(check, "find_spec", lambda _: None)
    shown = CliRunner().invoke(app, ["check", str(tmp_path / "study")]).output
    assert "The pages were not drawn" in shown
    assert "are the same in all languages (en, de): title" in shown.replace("\n", " ")
    assert "drawn" not in CliRunner().invoke(app, ["check", str(tmp_path / "study"), "--no-pages"]).output
