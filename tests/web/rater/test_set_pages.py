"""Pages of sets: what they hide, loops, background tabs, media that do not play, lost lines, pictures, weight."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from tests.web.rater.leaks import leaks_of
from tests.web.rater.serving import Served
from tests.web.rater.sets import SYSTEMS, Judge
from tests.web.rater.test_pages import BUDGET
from tests.web.rater.test_resilience import QUEUED

pytestmark = [pytest.mark.browser, pytest.mark.slow]
Serve = Callable[..., Served]
Judges = Callable[..., Judge]
FREE = {"listening": "free"}
SOUNDING = '.member.sounding:has(b:text-is("{}"))'
HIDE = """([hidden]) => {
  Object.defineProperty(document, "hidden", { configurable: true, get: () => hidden });
  document.dispatchEvent(new Event("visibilitychange"));
}"""
WEIGHT = """() => [...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")]
  .filter((entry) => !entry.name.includes("/media/")).reduce((sum, entry) => sum + entry.encodedBodySize, 0)"""


def opened(visitor: Judge) -> None:
    visitor.page.wait_for_selector("form.trial:not([data-locked])")


def test_nothing_tells_the_hidden_reference_from_the_others(serve_sets: Serve, judge: Judges) -> None:
    served = serve_sets("mushra", "grade", systems=4)
    visitor = judge(served)
    page = visitor.page
    sent: list[dict[str, str]] = []
    bodies: list[str] = []
    page.on("response", lambda got: sent.append(got.headers) if "/media/" in got.url else None)
    page.on("response", lambda got: bodies.append(got.text()) if "/rate" in got.url and got.ok else None)
    visitor.enter()
    visitor.hear_all()
    for row in range(4):
        page.locator(".graded input[type=range]").nth(row).focus()
        page.keyboard.press("5")
    rows = page.eval_on_selector_all(".graded .row:not(.ends)", "rows => rows.map((row) => row.outerHTML)")
    alike = {re.sub(r"\b[A-D]\b", "?", row).replace(" chosen", "") for row in rows}
    alike = {re.sub(r'aria-pressed="\w+"', "", row) for row in alike}
    assert len(rows) == 4
    assert len(alike) == 1, "every member has the same row, but for its letter"
    names = [url.rsplit("/", 1)[-1] for url in visitor.asked if "/media/" in url]
    assert [name.split("-")[0].split(".")[1] for name in names] == ["0", "1", "2", "3", "4"], "in the order shown"
    assert len({re.sub("[0-9a-f]", "0", name) for name in names}) == 1
    heads = [{name for name in head if name not in {"content-length", "date"}} for head in sent]
    assert all(head == heads[0] for head in heads)
    said = "\n".join([*bodies, *visitor.asked, page.content(), page.evaluate("JSON.stringify({...sessionStorage})")])
    for name in [*SYSTEMS, "hidden-reference", "hidden_reference", 'anchor"', "stimuli.csv"]:
        assert name not in said, name
    assert leaks_of(page) == []
    (step,) = [json.loads(body)["step"] for body in bodies if body.startswith('{"step') and '"members"' in body]
    assert [set(member) for member in step["members"]] == [{"media", "kind"}] * 5
    assert [member["kind"] for member in step["members"]] == ["reference"] + ["judged"] * 4
    assert 20_000 < page.evaluate(WEIGHT) < BUDGET


def test_a_loop_is_repeated_between_its_handles(serve_sets: Serve, judge: Judges) -> None:
    served = serve_sets("pair", "ties", seconds=2.0, design=FREE)
    visitor = judge(served, "touch", controlled=True)
    visitor.enter()
    page = visitor.page
    opened(visitor)
    page.tap("[data-does=loop]")
    assert page.inner_text("#announcement") == "The part between the two handles is repeated."
    visitor.fits()
    line = page.locator(".timeline .line").bounding_box()
    assert line is not None
    for end, share in (("from", 0.25), ("to", 0.4)):
        x, y = visitor.middle(page.locator(f".edge.{end}"))
        visitor.swipe((x, y), (x + (share - (end == "to")) * line["width"], y))
    at = [float(page.get_attribute(f".edge.{end}", "aria-valuenow") or -1) for end in ("from", "to")]
    assert at == pytest.approx([0.5, 0.8], abs=0.06)
    page.locator(".edge.to").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Home")
    assert float(page.get_attribute(".edge.to", "aria-valuenow") or 0) == pytest.approx(at[0] + 0.25, abs=0.01)
    visitor.member("A").tap()
    page.wait_for_selector(SOUNDING.format("A"))
    visitor.run(0.88)
    visitor.member("B").tap()
    page.wait_for_selector(SOUNDING.format("B"))
    visitor.run(0.7)
    page.locator(".option").first.tap()
    visitor.send()
    played = visitor.sent[0]["heard"]["played"]
    low, high = at[0], at[0] + 0.25
    # Sound begins 30 ms after a tap: .85 s of the first are three rounds and .1 s, and the second goes on from there.
    expected = [
        [[low, high], [low, high], [low, high], [low, low + 0.1]],
        [[low + 0.1, high], [low, high], [low, high], [low, low + 0.05]],
    ]
    assert [len(parts) for parts in played] == [4, 4], "rounds are counted one by one"
    for parts, wanted in zip(played, expected, strict=True):
        assert parts == [pytest.approx(part, abs=0.002) for part in wanted]


def test_a_tab_in_the_background_is_counted(serve_sets: Serve, judge: Judges) -> None:
    served = serve_sets("pair", "ties", seconds=3.0)
    visitor = judge(served, controlled=True)
    visitor.enter()
    page = visitor.page
    visitor.labels()
    visitor.run(2)
    visitor.play("A")
    page.wait_for_selector(".member.sounding")
    visitor.run(1)
    page.evaluate(HIDE, [True])
    visitor.run(0.5)
    page.evaluate(HIDE, [False])
    visitor.hear_all()
    visitor.run(4)
    page.evaluate(HIDE, [True])
    visitor.run(5)
    page.evaluate(HIDE, [False])
    page.keyboard.press("1")
    visitor.send()
    heard = visitor.sent[0]["heard"]
    assert heard["away"] == pytest.approx(0.5, abs=0.001), "only while a clip played"
    assert heard["focus_losses"] == 2
    assert heard["first_play"] == pytest.approx(2, abs=0.001)
    stored = served.collection.trials(served.collection.raters()["rater"][0])
    assert stored["away"].to_list() == [heard["away"]]


def test_parts_of_several_visits_make_a_whole_and_a_reload_keeps_them(serve_sets: Serve, judge: Judges) -> None:
    """Changing back and forth: each member has to be heard to the end, in whatever pieces."""
    served = serve_sets("mushra", "grade", systems=2, seconds=2.0)
    visitor = judge(served, controlled=True)
    visitor.enter()
    page = visitor.page
    assert visitor.labels() == ["Reference", "A", "B"]
    visitor.play("A")
    page.wait_for_selector(SOUNDING.format("A"))
    visitor.run(0.38)
    visitor.play("B")
    page.wait_for_selector(SOUNDING.format("B"))
    visitor.run(2)
    page.wait_for_selector(".play:not([data-state=pause])")
    assert page.locator(".member.heard").count() == 0
    assert page.inner_text("[data-part=state]") == "Listen to the end: Reference, A, B"
    page.keyboard.press("9")
    assert page.locator("input.untouched").count() == 2
    visitor.hear_all()
    page.keyboard.press("a")
    page.keyboard.press("7")
    page.reload()
    opened(visitor)
    assert page.locator(".member.heard").count() == 3
    assert page.locator(".graded output").all_inner_texts() == ["70", "–"]
    page.keyboard.press("Enter")
    assert page.inner_text(".note:visible") == "No grade yet: B"
    page.keyboard.press("b")
    page.keyboard.press("2")
    visitor.send()
    body = visitor.sent[0]
    assert body["values"] == {"grade": [70, 20]}
    reference, first, second = body["heard"]["played"]
    assert reference == [pytest.approx([0, 2], abs=0.002)]
    assert first == [pytest.approx([0, 0.35], abs=0.002), pytest.approx([0, 2], abs=0.002)]
    assert second == [pytest.approx([0.35, 2], abs=0.002), pytest.approx([0, 2], abs=0.002)]
    assert body["heard"]["plays"] == 6, "choosing a row plays its member"


def test_a_member_that_cannot_be_decoded_gives_the_trial_back(serve_sets: Serve, judge: Judges) -> None:
    served = serve_sets("pair", "ties", prompts=2, design=FREE)
    (served.folder / "media" / f"{SYSTEMS[1]}_0.wav").write_bytes(b"RIFF this is no sound at all")
    visitor = judge(served)
    visitor.enter()
    for _ in range(2):
        page = visitor.page
        page.wait_for_selector("form.trial:not([data-locked]), .code output")
        if page.query_selector(".code output"):
            break
        page.keyboard.press("1")
        visitor.send()
    visitor.page.wait_for_selector(".code output")
    assert len(visitor.sent) == 1
    assert len(served.collection.problems()) == 1


def test_sets_are_fetched_ahead_and_answered_offline(serve_sets: Serve, judge: Judges) -> None:
    served = serve_sets("ab", "cmos", prompts=3)
    visitor = judge(served)
    visitor.enter()
    visitor.hear_all()
    visitor.fetched(6)
    visitor.context.set_offline(True)
    for trial in range(3):
        visitor.hear_all()
        visitor.page.keyboard.press(str(trial + 3))
        visitor.send()
    visitor.page.wait_for_selector(".wait")
    assert visitor.page.evaluate(QUEUED) == 3
    visitor.context.set_offline(False)
    visitor.page.wait_for_selector(".code output")
    ratings = served.collection.ratings()
    second = ratings.filter(place=2).sort("position")["value"].to_list()
    assert second == [-1.0, 0.0, 1.0]
    assert (ratings["heard"] >= 0.95).all()


def test_several_questions_about_a_pair(serve_sets: Serve, judge: Judges) -> None:
    served = serve_sets("pair", "wide", "grade", "rank", design=FREE)
    visitor = judge(served, controlled=True)
    visitor.enter()
    page = visitor.page
    opened(visitor)
    page.keyboard.press("9")
    assert page.input_value(".amount") == "8"
    page.keyboard.press("b")
    page.wait_for_selector(SOUNDING.format("B"))
    page.keyboard.press("6")
    page.keyboard.press("a")
    page.keyboard.press("End")
    assert page.locator(".member.sounding").count() == 3, "above the questions, and in the row of each"
    page.keyboard.press("Enter")
    page.wait_for_selector(".ranking:visible")
    page.keyboard.press("2")
    visitor.send()
    assert visitor.sent[0]["values"] == {"wide": 8, "grade": [100, 60], "rank": [1, 0]}
    assert len(visitor.sent[0]["heard"]["played"]) == 2
    stored = served.collection.ratings().sort("question", "place").rows_by_key("question", named=True)
    assert {name: [row["value"] for row in rows] for name, rows in stored.items()} == {
        "grade": [100, 60], "rank": [2, 1], "wide": [-8, 8],
    }  # fmt: skip


def test_practice_and_attention_present_sets_too(serve_sets: Serve, judge: Judges) -> None:
    probe = {"type": "attention", "id": "look", "text": "Please choose B.", "question": "ties", "answer": 1}
    design = {**FREE, "practice": 1, "stimuli_per_rater": 3}
    served = serve_sets("pair", "ties", prompts=4, design=design, parts={"probes": [probe]})
    visitor = judge(served)
    visitor.enter()
    page, asked = visitor.page, 0
    assert "Practice" in page.inner_text("#count")
    for _ in range(6):
        page.wait_for_selector("form.trial:not([data-locked]), .code output")
        if page.query_selector(".code output"):
            break
        assert visitor.labels() == ["A", "B"]
        asked += page.locator(".instruction:visible").count()
        page.keyboard.press("2")
        visitor.send()
    page.wait_for_selector(".code output")
    assert asked == 1
    kinds = served.collection.ratings()["kind"].to_list()
    assert {"rating", "attention"} <= set(kinds)


def test_replays_are_limited_for_the_whole_set(serve_sets: Serve, judge: Judges) -> None:
    served = serve_sets("pair", "forced", seconds=2.0, design={"replays": 0, "listening": "full"})
    visitor = judge(served, controlled=True)
    visitor.enter()
    page = visitor.page
    visitor.labels()
    assert page.locator("[data-does=loop]:visible").count() == 0
    visitor.play("A")
    page.wait_for_selector(SOUNDING.format("A"))
    visitor.run(0.1)
    visitor.play("B")
    page.wait_for_selector(SOUNDING.format("B"))
    visitor.run(3)
    page.wait_for_selector(".play:not([data-state=pause])")
    # Two plays were for two members; whoever changed in between may still hear the rest of each.
    visitor.hear_all()
    assert page.inner_text("[data-part=state]") == "No replays left."
    visitor.play("A")
    visitor.run(0.5)
    assert page.locator(".member.sounding").count() == 0
    page.keyboard.press("2")
    visitor.send()
    assert visitor.sent[0]["heard"]["plays"] == 3
    for parts in visitor.sent[0]["heard"]["played"]:
        assert parts[-1] == [0, pytest.approx(2.0, abs=0.002)]


def test_keys_are_told_and_letters_work_on_other_keyboards(serve_sets: Serve, judge: Judges) -> None:
    served = serve_sets("abx", "forced", languages=["ko"], seconds=2.0, design=FREE)
    visitor = judge(served, controlled=True, locale="ko-KR")
    visitor.arrive()
    page = visitor.page
    page.wait_for_selector("[data-does=ready]")
    assert "같은 지점부터" in page.inner_text(".keyhelp")
    visitor.begin()
    opened(visitor)
    page.evaluate(
        "() => document.body.dispatchEvent(new KeyboardEvent('keydown', { key: 'ㅌ', code: 'KeyX', bubbles: true }))"
    )
    page.wait_for_selector(SOUNDING.format("X"))
    page.keyboard.press("b")
    page.wait_for_selector(SOUNDING.format("B"))
    visitor.run(0.5)  # stopped at its very start, a clip would be played again rather than on
    page.keyboard.press(" ")
    page.wait_for_selector(".play[data-state=play]")
    page.keyboard.press("Shift+ ")
    page.wait_for_selector(".play[data-state=pause]")
    own = {"A study of sets", "What about forced?"}
    assert [text for text in leaks_of(page) if text not in own] == []
    visitor.accessible()
    page.keyboard.press("1")
    visitor.send()
    assert visitor.sent[0]["values"] == {"forced": 0}
    assert visitor.sent[0]["heard"]["plays"] == 2


def test_pictures_side_by_side_and_over_each_other(serve_sets: Serve, judge: Judges) -> None:
    served = serve_sets("pair", "ties", media="image")
    for hand in ("keyboard", "touch"):
        visitor = judge(served, hand)
        visitor.enter()
        page = visitor.page
        opened(visitor)
        visitor.fits()
        visitor.still()
        boxes = [pane.bounding_box() for pane in page.locator(".pane").all()]
        assert boxes[0] is not None
        assert boxes[1] is not None
        assert boxes[0]["x"] + boxes[0]["width"] <= boxes[1]["x"]
        visitor.press("[data-does=overlay]")
        wipe = page.locator("[data-part=wipe]")
        clip = "() => getComputedStyle(document.querySelector('.pane.right')).clipPath"
        assert page.evaluate(clip) == "inset(0px 0px 0px 50%)"
        visitor.fits()
        visitor.still()
        if hand == "keyboard":
            wipe.focus()
            for _ in range(5):
                page.keyboard.press("ArrowRight")
            visitor.accessible()
        else:
            x, y = visitor.middle(page.locator(".pane.left"))
            box = page.locator(".pane.left").bounding_box()
            assert box is not None
            visitor.swipe((x, y), (box["x"] + 0.55 * box["width"], y))
        assert page.evaluate(clip) == "inset(0px 0px 0px 55%)"
        assert page.locator("#dialog-image[open]").count() == 0
        visitor.press("[data-does=overlay]")
        both(visitor)
        if hand == "keyboard":
            page.focus("fieldset.question")
            page.keyboard.press("3")
        else:
            page.locator(".option").nth(1).tap()
        visitor.send()
        page.wait_for_selector(".code output")
    ratings = served.collection.ratings().sort("trial", "place")["value"].to_list()
    assert ratings == [0.5, 0.5, 0.0, 1.0]


def both(visitor: Judge) -> None:
    """Two pictures are enlarged together, and move together."""
    page = visitor.page
    if visitor.hand == "keyboard":
        page.focus("fieldset.question")
        page.keyboard.press("b")
    else:
        page.locator(".pane .picture").first.tap()
    page.wait_for_selector("#dialog-image[open]")
    assert page.locator(".view img").count() == 2
    if visitor.hand == "keyboard":
        for _ in range(3):
            page.keyboard.press("+")
        visitor.accessible()
    else:
        for _ in range(3):
            page.tap(".zoombar [data-does=in]")
    places = "() => [...document.querySelectorAll('.view')].map((view) => [view.scrollLeft, view.scrollTop])"
    page.evaluate("() => document.querySelectorAll('.view')[1].scrollBy(37, 21)")
    page.wait_for_function(
        f"() => {{ const [a, b] = ({places})(); return a.every((each, axis) => Math.abs(each - b[axis]) < 1.5) }}"
    )
    first, second = page.evaluate(places)
    assert first[0] > 0
    assert first == pytest.approx(second, abs=1.5)
    page.keyboard.press("Escape")
    page.wait_for_selector("#dialog-image", state="hidden")


@pytest.mark.parametrize(("kind", "scale"), [("ranking", "rank"), ("best-worst", "ends"), ("reference", "dmos")])
def test_rows_of_pictures(serve_sets: Serve, judge: Judges, kind: str, scale: str) -> None:
    served = serve_sets(kind, scale, media="image", systems=2 if kind == "reference" else 4)
    visitor = judge(served, "touch")
    visitor.enter()
    page = visitor.page
    opened(visitor)
    visitor.fits()
    images = page.eval_on_selector_all(".picture img", "all => all.map((each) => each.getBoundingClientRect().height)")
    assert len(images) == (2 if kind == "reference" else 4)
    assert min(images) >= 40
    assert page.locator(".gallery:visible").count() == (kind == "reference")
    page.locator(".picture").nth(1).tap()
    page.wait_for_selector("#dialog-image[open]")
    page.tap("#dialog-image [data-does=close]")
    page.wait_for_selector("#dialog-image", state="hidden")
    given: dict[str, Any] = {"ranking": [1, 0, 2, 3], "best-worst": {"best": 1, "worst": 3}, "reference": 4}
    if kind == "ranking":
        for label in "BAC":
            page.get_by_label(f"Move {label} up").tap()
    elif kind == "best-worst":
        page.get_by_label("Happiest: B", exact=True).tap()
        page.get_by_label("Least happy: D").tap()
    else:
        page.locator(".option").nth(3).tap()
    visitor.send()
    page.wait_for_selector(".code output")
    assert visitor.sent[0]["values"] == {scale: given[kind]}
