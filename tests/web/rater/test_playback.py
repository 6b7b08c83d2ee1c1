"""Playing again: where the clip was stopped, or from the beginning at each press; and where the reference stands."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from tests.web.rater.serving import Served
from tests.web.rater.sets import REFERENCE, Judge
from tests.web.rater.visitor import Visitor

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = [pytest.mark.browser, pytest.mark.slow]
Serve = Callable[..., Served]
Judges = Callable[..., Judge]
SOUNDING = '.member.sounding:has(b:text-is("{}"))'
FIVE: dict[str, Any] = {
    "consent": None,
    "demographics": [],
    "scales": {"five": {"type": "points", "points": 5}},
    "questions": [{"id": "quality", "text": "How good?", "scale": "five"}],
}


def change_in_the_middle(visitor: Judge) -> list[Any]:
    """Play A for a while, then B to the end; the parts that were heard of each, and how often something was played."""
    page = visitor.page
    visitor.labels()
    visitor.play("A")
    page.wait_for_selector(SOUNDING.format("A"))
    visitor.run(0.53)
    visitor.play("B")
    page.wait_for_selector(SOUNDING.format("B"))
    visitor.run(3)
    page.wait_for_selector(".play:not([data-state=pause])")
    page.keyboard.press("1")
    visitor.send()
    heard = visitor.sent[0]["heard"]
    return [*heard["played"], heard["plays"]]


@pytest.mark.parametrize("restarts", [False, True])
def test_another_member_plays_from_the_same_place_or_from_the_beginning(
    serve_sets: Serve, judge: Judges, restarts: bool
) -> None:
    design = {"listening": "started", **({"playback": "restart"} if restarts else {})}
    visitor = judge(serve_sets("pair", "forced", seconds=2.0, design=design), controlled=True)
    visitor.enter()
    first, second, plays = change_in_the_middle(visitor)
    assert first == [pytest.approx([0, 0.5], abs=0.01)]
    assert second == [pytest.approx([0 if restarts else 0.5, 2], abs=0.01)]
    assert plays == (2 if restarts else 1)


def test_each_press_counts_as_a_play(serve_sets: Serve, judge: Judges) -> None:
    """Two replays for two members are six plays; then the buttons play no more."""
    design = {"listening": "started", "playback": "restart", "replays": 2}
    visitor = judge(serve_sets("pair", "forced", seconds=2.0, design=design), controlled=True)
    visitor.enter()
    page = visitor.page
    visitor.labels()
    assert page.locator("[data-does=restart]:visible").count() == 0
    for press in range(6):
        visitor.play("AB"[press % 2])
        page.wait_for_selector(SOUNDING.format("AB"[press % 2]))
        visitor.run(0.3)
    visitor.play("A")
    visitor.run(0.1)
    assert page.locator(SOUNDING.format("B")).count() == 1, "what plays goes on"
    visitor.run(3)
    page.wait_for_selector(".play:not([data-state=pause])")
    assert page.inner_text("[data-part=state]") == "No replays left."
    page.keyboard.press("1")
    visitor.send()
    heard = visitor.sent[0]["heard"]
    assert heard["plays"] == 6
    assert [len(parts) for parts in heard["played"]] == [3, 3]
    assert all(part[0] == 0 for parts in heard["played"] for part in parts)


@pytest.mark.parametrize("restarts", [False, True])
def test_a_single_clip_continues_or_restarts(serve: Serve, browser: Browser, restarts: bool) -> None:
    design = {"listening": "started", "practice": 0, "playback": "restart" if restarts else "continue"}
    served = serve("aimoclips", count=1, design=design, **FIVE)
    visitor = Visitor(browser, served, controlled=True)
    visitor.arrive("/")
    visitor.begin()
    page = visitor.page
    for _ in range(2):
        page.click("[data-does=play]:enabled")
        page.wait_for_selector("[data-does=play][data-state=pause]")
        visitor.run(0.2)
        page.click("[data-does=play]")
        page.wait_for_selector("[data-does=play]:not([data-state=pause])")
    assert page.get_attribute("[data-part=player] [data-does=play]", "data-state") == ("replay" if restarts else "play")
    page.keyboard.press("4")
    page.keyboard.press("Enter")
    page.wait_for_selector("form.trial", state="detached")
    heard = visitor.sent[0]["heard"]
    assert heard["plays"] == (2 if restarts else 1)
    ends = [[0, 0.2], [0, 0.2]] if restarts else [[0, 0.2], [0.2, 0.4]]
    assert heard["intervals"] == [pytest.approx(each, abs=0.01) for each in ends]
    visitor.quiet()
    visitor.close()


def test_the_reference_is_on_the_left(serve_sets: Serve, judge: Judges) -> None:
    sets = {"sets": {"type": "pair", "reference": REFERENCE, "reference_first": True}}
    served = serve_sets("pair", "cmos", prompts=3, design={"listening": "free"}, parts=sets)
    for hand in ("keyboard", "touch"):
        visitor = judge(served, hand)
        visitor.enter()
        for _ in range(3):
            visitor.page.wait_for_selector("form.trial:not([data-locked])")
            assert visitor.labels() == ["A", "B"]
            if hand == "touch":
                visitor.page.locator(".option").nth(1).tap()
            else:
                visitor.page.keyboard.press("2")
            visitor.send()
        visitor.page.wait_for_selector(".code output")
    ratings = served.collection.ratings()
    assert ratings.height == 12
    first = ratings.filter(ratings["place"] == 1)
    assert {name.rpartition("_")[0] for name in first["stimulus"]} == {REFERENCE}
