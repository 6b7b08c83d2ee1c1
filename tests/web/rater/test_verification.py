"""Verifying drafts: twelve images by keyboard alone, seven by touch, and everything they did as it is in the store."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from heartfelt.collect import CollectOptions
from heartfelt.formats.study_folder.drafts import write_drafts
from heartfelt.study.recipes import recipe_study
from heartfelt.study.scales.answer import NONE
from tests.web.rater.serving import Served
from tests.web.rater.studies import small_study
from tests.web.rater.test_sessions import stored_as_sent
from tests.web.rater.visitor import SENTENCE, Visitor

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.browser
DRAFTS = {
    "style": "flat shapes", "scene": "abstract", "objects": "star;ring", "facial_expression": "smile",
    "human_action": "walking", "colour": "ochre;red", "brightness": "",
}  # fmt: skip
QUEUED = "() => Object.keys(localStorage).filter(name => name.includes(':answer:')).length"


def drafted(folder: Path, count: int, **options: Any) -> Served:
    """A study after AIGIEmo in which a machine has drafted seven fields of every image."""
    small_study("aigiemo", folder, count=count, design={"practice": 0})
    return _served(folder, list(DRAFTS), **options)


def _served(folder: Path, fields: list[str], **options: Any) -> Served:
    names = pl.read_csv(folder / "stimuli.csv")["stimulus"].to_list()

    def draft(field: str, place: int) -> str:
        if field == "human_action" and place == 3:
            return NONE
        return f"0.{40 + place}" if field == "brightness" else f"{DRAFTS[field]} {place}"

    rows = [
        (name, field, draft(field, place), "painter", "1.5", 0.75)
        for place, name in enumerate(names)
        for field in fields
    ]
    schema = ["stimulus", "question", "value", "source", "version", "confidence"]
    write_drafts(folder, pl.DataFrame(rows, schema=schema, orient="row"))
    shares = {"hidden": 0.0, "planted": 0.0, **options}
    served = Served(folder, options=CollectOptions(seed=7, durable=False, **shares))
    served.begin()
    return served


def in_batches(folder: Path, count: int, **options: Any) -> Served:
    """The same images, with one field that is verified for many images at once."""
    asked = [question for question in recipe_study("aigiemo").questions if question.id == "style"]
    together = {"practice": 0, "questions_per_page": "one", "drafts_per_page": 6}
    small_study("aigiemo", folder, count=count, design=together, questions=asked)
    return _served(folder, ["style"], **options)


class Expert:
    """A visitor who counts keys or taps on the pages that verify."""

    def __init__(self, visitor: Visitor) -> None:
        self.visitor, self.page, self.count = visitor, visitor.page, 0

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)
        self.count += len(keys)

    def tap(self, selector: str, place: int = 0) -> None:
        self.page.locator(f"{selector}:visible").nth(place).tap()
        self.count += 1

    def judge(self, turn: int) -> None:
        """Judge the image, with no machine value in sight, up to the page that verifies."""
        page = self.page
        while True:
            page.wait_for_selector("form.trial:not([data-locked])")
            if page.query_selector("form.trial.verifying") is not None:
                break
            assert page.locator(".chip.machine:visible").count() == 0
            assert self.visitor.answer_page(turn) is False
        self.count = 0

    def fill_withheld(self) -> None:
        """A draft that was withheld is asked like any other question."""
        fields = "fieldset.question:not(.verify):not([hidden]) :is(textarea, input[type=text])"
        for field in self.page.query_selector_all(fields):
            if field.is_visible():
                field.fill("0.5" if "amount" in (field.get_attribute("class") or "") else SENTENCE)

    def verdicts(self) -> list[str]:
        return [node.get_attribute("data-verdict") or "" for node in self.page.query_selector_all("fieldset.verify")]


@pytest.mark.slow
def test_twelve_images_by_keyboard_alone(browser: Browser, tmp_path: Path) -> None:
    served = drafted(tmp_path / "study", 12)
    visitor = Visitor(browser, served, controlled=True)
    visitor.enter()
    page, expert = visitor.page, Expert(visitor)
    keys: dict[int, int] = {}
    for turn in range(12):
        assert visitor.number() == f"{turn + 1} of 12"
        visitor.run(5)  # what was sent can no longer be taken back; the next images are fetched
        expert.judge(turn)
        if turn == 0:
            visitor.accessible()
            page.keyboard.press("Enter")
            assert "Not checked yet: 7" in page.inner_text("[data-part=hint]"), "Enter alone accepts nothing"
            assert expert.verdicts() == [""] * 7
        if turn == 1:  # a digit opens a field, and typing the letter of a key types it
            expert.press("1", "End", " ", "a", "u", "Enter")
            assert page.inner_text("fieldset.verify .chip.own").endswith(" au")
        elif turn == 2:  # rejected, undone, rejected after all; then the rest; then all of that undone again
            expert.press("3", "Escape", "u", "3", "Escape", "a", "Backspace", "Control+z", "3", "Escape")
            assert expert.verdicts() == ["", "", "rejected", "", "", "", ""]
        elif turn == 3:  # a number is replaced by typing; what is not a number is refused at once
            expert.press("7", "x", "Enter")
            assert "number" in page.inner_text("fieldset.verify .note:visible")
            expert.press("Backspace", ".", "2", "5", "Enter")
        elif turn == 4:  # tags: the draft's own can be removed, others added
            expert.press("3")
            page.keyboard.type("cloud")
            expert.press("Enter", "Enter")
        elif turn == 5:
            expert.press("2", "Enter")  # opened and left as it is: accepted
            page.reload()
            page.wait_for_selector("form.trial:not([data-locked])")
            assert expert.verdicts()[1] == "accepted", "a verdict survives a reload"
        elif turn == 6:
            page.keyboard.press("+")
            page.keyboard.press("+")
            page.keyboard.press("ArrowRight")
            moved = page.evaluate("() => document.querySelector('.enlarge img').style.transform")
            assert moved == "translate(-60px, 0px) scale(2.25)"
            page.mouse.move(200, 400)
            page.mouse.wheel(0, 600)
            page.keyboard.press("-")
            page.keyboard.press("-")
            assert page.evaluate("() => document.querySelector('.enlarge img').style.transform") == ""
        elif turn == 7:
            page.wait_for_function(f"() => !({QUEUED})()")
            visitor.fetched(10, here=5)  # the sixth, shown after the reload, to the tenth
            visitor.context.set_offline(True)
        elif turn == 10:  # the frame is moved to the faces, of which there are none
            expert.press("ArrowDown", "ArrowDown", "ArrowDown", "n")
            assert expert.verdicts() == ["", "", "", "fixed", "", "", ""]
        before = page.wait_for_selector("form.trial")
        assert before is not None
        expert.press("a", "Enter")
        keys[turn] = expert.count
        if turn == 8:  # sent by mistake: for a moment the whole image can be taken back
            before.wait_for_element_state("hidden")
            assert visitor.number() == "10 of 12"
            page.keyboard.press("u")
            page.wait_for_selector("#count:has-text('9 of 12')")
            assert expert.verdicts() == ["accepted"] * 7
            expert.press("u", "4", "Escape", "a")
            before = page.wait_for_selector("form.trial")
            assert before is not None
            expert.press("Enter")
            visitor.context.set_offline(False)
        if turn < 11:
            before.wait_for_element_state("hidden")
    visitor.wait_for(".code output")
    assert page.evaluate(QUEUED) == 0
    assert {turn: keys[turn] for turn in (0, 6, 9, 11)} == {0: 2, 6: 2, 9: 2, 11: 2}, "seven drafts in two keys"
    assert keys[1] <= 8
    assert keys[4] <= 8
    assert len(visitor.sent) == 12
    stored_as_sent(served, visitor)
    _as_logged(served, visitor)
    fields = served.collection.snapshot().fields
    assert fields.height == 84
    assert set(fields["source"]) == {"painter"}
    assert set(fields["version"]) == {"1.5"}
    assert set(fields["confidence"]) == {0.75}
    kinds = fields["verdict"].value_counts()
    assert dict(kinds.iter_rows()) == {"accepted": 78, "fixed": 4, "rejected": 2}
    fixed = fields.filter(verdict="fixed").sort("at")
    assert fixed["final"][0] == f"{fixed['machine'][0]} au"
    assert fixed["final"].to_list()[1:] == ["0.25", f"{fixed['machine'][2]};cloud", NONE]
    nothing = fields.filter(field="human_action", machine=NONE).row(0, named=True)
    assert (nothing["verdict"], nothing["final"]) == ("accepted", NONE)
    undone = fields.filter(pl.col("first").is_not_null()).sort("at")
    assert undone.select("field", "verdict").rows() == [("facial_expression", "rejected")]
    assert undone["first"].to_list() == undone["machine"].to_list()
    judged = served.collection.snapshot().ratings.filter(question="emotion")
    assert judged["keystrokes"].min() == 1
    visitor.quiet()
    visitor.close()
    served.close()


def _as_logged(served: Served, visitor: Visitor) -> None:
    """Time, keys and first answers of every field are stored as the page counted them, and add up."""
    stored = {(row["trial"], row["question"]): row for row in served.collection.ratings().iter_rows(named=True)}
    for body in visitor.sent:
        log = {served.blinding.question_of(body["trial"], name): each for name, each in body["heard"]["fields"].items()}
        for question, each in log.items():
            row = stored[int(body["trial"]), question]
            assert row["field_seconds"] == pytest.approx(each["seconds"])
            assert row["keystrokes"] == each["keystrokes"]
        spent = sum(each["seconds"] for each in log.values())
        assert spent == pytest.approx(body["heard"]["seconds"], abs=0.05), body["trial"]


@pytest.mark.slow
def test_seven_images_by_touch(browser: Browser, tmp_path: Path) -> None:
    """Most drafts are shown, some are withheld and some are planted; whoever taps verifies all of them."""
    served = drafted(tmp_path / "study", 7, hidden=0.1, planted=0.1)
    visitor = Visitor(browser, served, "touch", controlled=True)
    visitor.enter()
    page, expert = visitor.page, Expert(visitor)
    taps: dict[int, int] = {}
    for turn in range(7):
        visitor.run(5)
        if turn < 5:
            visitor.fetched(turn + 3)
        expert.judge(turn)
        visitor.still()
        if turn == 0:
            visitor.accessible()
            visitor.resize(320, 568)
            visitor.still()
            visitor.resize(390, 844)
            box = page.locator(".enlarge").bounding_box()
            assert box is not None
            for _ in range(2):
                page.touchscreen.tap(box["x"] + 60, box["y"] + 60)
            grown = page.evaluate("() => document.querySelector('.enlarge img').style.transform")
            assert "scale(2.5)" in grown, "a double tap zooms in"
            for _ in range(2):
                page.touchscreen.tap(box["x"] + 60, box["y"] + 60)
            visitor.run(0.35)
            assert page.query_selector("#dialog-image[open]") is None
        if turn == 1:
            expert.tap("button.suggestion")
            visitor.still()
            page.locator(".editor :is(textarea, input[type=text]):visible").fill("touched up")
            expert.tap("button.done")
            expert.tap("button.refuse", 1)
            expert.tap("[data-does=undo]")
            expert.tap("button.refuse", 1)
        before = page.wait_for_selector("form.trial")
        assert before is not None
        expert.fill_withheld()
        while page.query_selector("form.trial:not([data-last])") is not None:
            expert.tap("[data-does=submit]")
            expert.fill_withheld()
        expert.tap("[data-does=submit]")
        if turn == 2:  # the next image shows Undo for a moment
            before.wait_for_element_state("hidden")
            page.locator("[data-does=undo]").tap()
            page.wait_for_selector("#count:has-text('3 of 7')")
            before = page.wait_for_selector("form.trial")
            assert before is not None
            expert.judge(turn)
            expert.tap("[data-does=submit]")
        taps[turn] = expert.count
        before.wait_for_element_state("hidden")
    visitor.wait_for(".code output")
    assert len(visitor.sent) == 7
    taken = [count for turn, count in taps.items() if turn not in {1, 2}]
    assert set(taken) <= {1, 2}, "one tap accepts all drafts of a page and goes on; a withheld one takes room"
    assert taken.count(1) >= 2
    stored_as_sent(served, visitor)
    _as_logged(served, visitor)
    fields = served.collection.snapshot().fields
    assert fields.height == 49
    assert set(fields["shown"]) == {"true", "hidden", "planted"}
    truth = pl.read_parquet(served.folder / "drafts.parquet").select(
        "stimulus", pl.col("question").alias("field"), "value"
    )
    compared = fields.join(truth, on=["stimulus", "field"])
    planted = compared.filter(shown="planted")
    assert (planted["machine"] != planted["value"]).all()
    others = compared.filter(pl.col("shown") != "planted")
    assert (others["machine"] == others["value"]).all()
    assert set(others["version"]) == {"1.5"}
    assert set(planted["source"]) == {"planted"}
    assert planted["version"].null_count() == planted.height
    assert "touched up" in fields["final"].to_list()
    visitor.quiet()
    visitor.close()
    served.close()


def _begin(visitor: Visitor) -> None:
    visitor.arrive()
    visitor.agree()
    visitor.tell_facts()
    visitor.page.wait_for_selector("[data-does=ready]")
    visitor.press("[data-does=ready]")


@pytest.mark.slow
def test_one_field_of_many_images_at_once(browser: Browser, tmp_path: Path) -> None:
    """By keyboard and by touch, with a reload in the middle; every image is a trial of its own in the store."""
    served = in_batches(tmp_path / "study", 14)
    visitor = Visitor(browser, served)
    _begin(visitor)
    page = visitor.page
    page.wait_for_selector(".batch .main:enabled")
    assert visitor.number() == "1–6 of 14"
    visitor.accessible()
    visitor.still()
    tiles = page.locator(".tile")
    drafts = tiles.locator(".chip").all_inner_texts()
    for key in ("2", "ArrowRight", " ", "4", "u", "6"):  # marks 2, 3 and 6; 4 is taken back
        page.keyboard.press(key)
    pressed = [tile.get_attribute("aria-pressed") for tile in tiles.all()]
    assert pressed == ["false", "true", "true", "false", "false", "true"]
    page.keyboard.press("Enter")
    page.wait_for_selector("form.trial.solo, form.trial .editor:visible")
    page.keyboard.press("End")
    page.keyboard.type(" with ink")
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    page.wait_for_function(f"() => document.querySelector('.editor textarea, .editor input')?.value === '{drafts[2]}'")
    page.wait_for_timeout(400)  # counts for the image that is open
    page.reload()  # the marks and the first correction are still there
    page.wait_for_function(f"() => document.querySelector('.editor textarea, .editor input')?.value === '{drafts[2]}'")
    page.keyboard.press("Escape")
    page.keyboard.press("Enter")
    page.wait_for_function(f"() => document.querySelector('.editor textarea, .editor input')?.value === '{drafts[5]}'")
    page.keyboard.press("Enter")  # right after all: accepted as it is
    page.keyboard.press("Enter")
    page.wait_for_selector("#count:has-text('7–12 of 14')")
    page.wait_for_selector(".batch .main:enabled")
    visitor.context.set_offline(True)
    page.keyboard.press("Enter")
    page.wait_for_selector("#count:has-text('13–14 of 14')")
    assert page.evaluate(QUEUED) == 6
    page.wait_for_selector(".batch .main:enabled")
    page.keyboard.press("Enter")
    page.wait_for_selector(".wait")
    visitor.context.set_offline(False)
    page.wait_for_selector(".code output")
    assert [int(body["trial"]) for body in visitor.sent] == sorted(int(body["trial"]) for body in visitor.sent)
    stored_as_sent(served, visitor)
    _as_logged(served, visitor)
    fields = served.collection.snapshot().fields
    assert fields.height == 14
    assert dict(fields["verdict"].value_counts().iter_rows()) == {"accepted": 12, "fixed": 1, "rejected": 1}
    assert fields.filter(verdict="fixed")["final"].item() == f"{drafts[1]} with ink"
    assert fields.filter(verdict="rejected")["machine"].item() == drafts[2]
    assert (fields["seconds"] > 0).all()
    visitor.quiet()
    visitor.close()
    hand = Visitor(browser, served, "touch", viewport={"width": 320, "height": 568})
    _begin(hand)
    page = hand.page
    page.wait_for_selector(".batch .main:enabled")
    hand.accessible()
    page.locator(".tile").nth(1).tap()
    page.locator("[data-does=undo]").tap()
    page.locator(".tile").nth(2).tap()
    wrong = page.locator(".tile .chip").nth(2).inner_text()
    page.locator("[data-does=confirm]").tap()
    page.locator("button.refuse:visible").tap()
    page.locator("[data-does=submit]").tap()
    page.wait_for_selector("#count:has-text('7–12 of 14')")
    page.wait_for_function(f"() => !({QUEUED})()")
    stored = served.collection.snapshot().fields.filter(pl.col("verified_by") != fields["verified_by"][0])
    assert stored.height == 6
    assert stored.filter(verdict="rejected")["machine"].to_list() == [wrong]
    assert stored.filter(verdict="accepted").height == 5
    hand.quiet()
    hand.close()
    served.close()
