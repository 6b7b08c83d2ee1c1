"""A senior rater in a real browser, by keyboard and by touch on a small phone: what is stored is what was decided."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from heartfelt.collect import Collection, CollectOptions
from heartfelt.collect.messages.adjudicators import AddAdjudicator, RevokeAdjudicator
from heartfelt.web.security.signing import Signer, adjudicator_link
from tests.collect.people import Person
from tests.web.rater.serving import SECRET, Served
from tests.web.rater.visitor import Visitor

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.browser
DECIDED = ("emotion", "valence", "caption", "objects")
DRAFT = "tree; dog"
GIVEN: list[dict[str, Any]] = [
    {"emotion": "awe", "valence": 0.9, "caption": "a tree and a dog", "objects": ["tree", "dog"]},
    {"emotion": "fear", "valence": 0.25, "caption": "one large old tree", "objects": ["boat"]},
]


def rated(serve: Callable[..., Served]) -> Served:
    """Three images with the answers of two people, who differ in everything; a machine drafted the objects."""
    served = serve(
        "aigiemo",
        count=3,
        columns=[pl.lit(DRAFT).alias("objects")],
        design={"practice": 0, "ratings_per_item": 2},
        adjudication={"questions": list(DECIDED), "rules": [{"type": "disagreement"}]},
        options=CollectOptions(seed=7, durable=False, hidden=0, planted=0),
    )
    for place, answers in enumerate(GIVEN):
        person = Person(served.collection)
        person.begin()
        for _ in range(3):
            values = {name: answers.get(name, "three words here") for name in person.trial.questions}
            values |= {"arousal": 0.5, "brightness": 0.5, "objects": answers["objects"]}
            person.answer(values=values, verdicts={"objects": "fixed" if place else "accepted"})
    return served


def come(browser: Browser, served: Served, hand: Any, **context: Any) -> Visitor:
    visitor = Visitor(browser, served, hand, **context)
    who = served.collection.do(AddAdjudicator(hand))
    visitor.page.goto(adjudicator_link(Signer(SECRET), served.url, who))
    visitor.page.wait_for_selector(".deciding")
    return visitor


def asked(visitor: Visitor, served: Served) -> str:
    """The question on the page."""
    text = visitor.page.inner_text("[data-part=asks]")
    return next(q.id for q in served.collection.study.asked if q.text["en"] == text)  # type: ignore[index]  # its texts are translated


def meant(question: str, text: str) -> Any:
    """The answer that the page shows as this text, as it is stored."""
    answers = [each[question] for each in GIVEN]
    if question == "objects":
        return next(";".join(answer) for answer in answers if ", ".join(answer) == text)
    return next(answer for answer in answers if str(answer).lower() == text.lower())


def item_on(visitor: Visitor) -> str:
    """What tells one item from the next: the address of its picture and the question."""
    visitor.page.wait_for_selector(".enlarge:not([hidden]) img[src]")
    return visitor.page.inner_text("[data-part=asks]") + visitor.page.inner_text("#counts")


def wait_for_next(visitor: Visitor, before: str) -> None:
    visitor.page.wait_for_function(
        "before => (document.querySelector('[data-part=asks]')?.innerText ?? '')"
        " + document.querySelector('#counts').innerText !== before",
        arg=before,
    )


def final(collection: Collection) -> list[tuple[str, Any]]:
    """Question and final answer of every decided item, latest last."""
    table = collection.snapshot().adjudications.sort("at")
    return [
        (row["question"], row["value"] if row["answer"] is None else row["answer"])
        for row in table.iter_rows(named=True)
    ]


@pytest.mark.slow
def test_by_keyboard_and_by_touch(browser: Browser, serve: Callable[..., Served]) -> None:
    served = rated(serve)
    assert served.collection.adjudication().waiting == 12
    by_keyboard(browser, served)
    by_touch(browser, served)
    revoked(browser, served)


def by_keyboard(browser: Browser, served: Served) -> None:
    visitor = come(browser, served, "keyboard")
    page, keys = visitor.page, visitor.page.keyboard
    visitor.accessible()
    expected: list[tuple[str, Any]] = []
    for step in range(3):
        before, question = item_on(visitor), asked(visitor, served)
        options = page.locator(".given-option[data-option] .words").all_inner_texts()
        assert len(options) == 2
        if step == 0:
            # One key decides, with a comment typed before it.
            keys.press("c")
            keys.type("seen twice")
            keys.press("Escape")
            keys.press("1")
            wanted: Any = meant(question, options[0])
        else:
            keys.press("0")
            page.wait_for_selector("[data-part=own]:not([hidden])")
            if question == "caption":
                wanted = "a very different caption"
                keys.type(wanted)
                keys.press("Tab")
                keys.press("Enter")
            else:
                keys.press("4")
                keys.press("Enter")
                wanted = {"emotion": "excitement", "valence": 0.4}[question]
        wait_for_next(visitor, before)
        expected.append((question, wanted))
        assert final(served.collection) == expected
    assert served.collection.snapshot().adjudications.sort("at")["comment"][0] == "seen twice"

    # S passes an item over; Backspace goes back to the decision before, and another key revises it.
    before = item_on(visitor)
    keys.press("s")
    wait_for_next(visitor, before)
    keys.press("Backspace")
    page.wait_for_selector("[data-part=revising]:not([hidden])")
    assert asked(visitor, served) == expected[-1][0]
    keys.press("2")
    page.wait_for_selector("[data-part=revising]", state="hidden")
    table = served.collection.snapshot().adjudications
    assert table["decisions"].to_list().count(2) == 1
    assert served.collection.adjudication().decided == 3
    visitor.quiet()
    visitor.close()


def by_touch(browser: Browser, served: Served) -> None:
    visitor = come(browser, served, "touch", viewport={"width": 320, "height": 640})
    page = visitor.page
    visitor.accessible()
    done = set(served.collection.snapshot().adjudications.select("stimulus", "question").iter_rows())
    while page.query_selector(".deciding") is not None:
        assert page.evaluate("() => document.querySelector('#stage').scrollWidth <= innerWidth")
        before, question = item_on(visitor), asked(visitor, served)
        if question == "caption":
            page.locator("[data-does=other]").tap()
            page.locator("[data-part=own] textarea").fill("entered on a phone")
            page.locator("[data-part=own] button[type=submit]").tap()
            wanted: Any = "entered on a phone"
        else:
            option = page.locator(".given-option[data-option]").last
            text = option.locator(".words").inner_text()
            wanted = meant(question, text)
            assert option.locator(".soft").inner_text().startswith("Machine's draft") is (wanted == "tree;dog")
            option.tap()
        wait_for_next(visitor, before)
        table = served.collection.snapshot().adjudications
        new = [row for row in table.iter_rows(named=True) if (row["stimulus"], row["question"]) not in done]
        assert len(new) == 1
        assert (new[0]["question"], new[0]["value"] if new[0]["answer"] is None else new[0]["answer"]) == (
            question,
            wanted,
        )
        done.add((new[0]["stimulus"], question))
    assert len(done) == 12
    assert "0 waiting" in page.inner_text("#counts")
    page.locator("[data-does=back]").tap()
    page.wait_for_selector("[data-part=revising]:not([hidden])")
    page.locator("[data-does=continue]").tap()
    page.wait_for_selector("[data-does=look]")
    visitor.quiet()
    visitor.close()


def revoked(browser: Browser, served: Served) -> None:
    """A link that is revoked while its page is open ends the page."""
    served.collection.erase_adjudicator(served.collection.adjudicators()["adjudicator"][1])
    visitor = come(browser, served, "keyboard")
    served.collection.do(RevokeAdjudicator(served.collection.adjudicators()["adjudicator"][-1]))
    visitor.page.keyboard.press("s")
    visitor.page.wait_for_selector("text=Please open your link")
    visitor.close()
