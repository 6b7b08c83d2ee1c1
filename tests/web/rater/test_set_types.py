"""Every type of set is judged to its end by keyboard and by touch on the smallest phone; what is stored is what was done."""

from __future__ import annotations

import json
from collections.abc import Callable

import polars as pl
import pytest

from tests.web.rater.serving import Served
from tests.web.rater.sets import REFERENCE, SECONDS, Judge

pytestmark = [pytest.mark.browser, pytest.mark.slow]
HANDS = ("keyboard", "touch")


def values(served: Served, question: str) -> pl.DataFrame:
    """The stored value of each member: rater, trial, place, role, value, stimulus."""
    return served.collection.ratings().filter(pl.col("question") == question).sort("trial", "place")


def each_hand(
    served: Served, judge: Callable[..., Judge], act: Callable[[Judge, int], None], trials: int = 1
) -> list[Judge]:
    """Walk a study to its end, by keyboard and by touch."""
    out = []
    for hand in HANDS:
        visitor = judge(served, hand)
        visitor.enter()
        for trial in range(trials):
            visitor.hear_all()
            visitor.fits()
            act(visitor, trial)
            visitor.send()
        visitor.page.wait_for_selector(".code output")
        heard = [body["heard"] for body in visitor.sent]
        assert all(len(each["played"]) == len(heard[0]["played"]) > 0 for each in heard)
        for parts in (part for each in heard for part in each["played"]):
            assert parts[0][0] == pytest.approx(0, abs=0.03)
            assert max(end for _, end in parts) == pytest.approx(SECONDS, abs=0.03)
        out.append(visitor)
    raters = served.collection.raters()["rater"].to_list()
    members = pl.concat(served.collection.trials(rater) for rater in raters)["members"].to_list()
    shares = [member["heard"] for trial in members for member in json.loads(trial)]
    assert len(shares) >= 4
    assert min(shares) >= 0.95
    return out


def test_a_pair_by_choice(serve_sets: Callable[..., Served], judge: Callable[..., Judge]) -> None:
    served = serve_sets("pair", "ties", prompts=2)

    def act(visitor: Judge, trial: int) -> None:
        if visitor.hand == "keyboard":
            visitor.page.keyboard.press("2" if trial else "1")
        else:
            visitor.page.locator(".option").nth(2 if trial else 0).tap()

    each_hand(served, judge, act, 2)
    stored = values(served, "ties").group_by("trial", maintain_order=True).agg("value")["value"].to_list()
    assert sorted(stored) == [[0.0, 1.0], [0.5, 0.5], [1.0, 0.0], [1.0, 0.0]]


def test_a_pair_by_preference(serve_sets: Callable[..., Served], judge: Callable[..., Judge]) -> None:
    served = serve_sets("ab", "cmos")

    def act(visitor: Judge, trial: int) -> None:
        options = visitor.page.locator(".option")
        assert options.count() == 7
        assert options.first.inner_text().endswith("A: Much better")
        if visitor.hand == "keyboard":
            visitor.page.keyboard.press("6")
        else:
            options.first.tap()

    each_hand(served, judge, act)
    second = values(served, "cmos").filter(pl.col("place") == 2)["value"].sort().to_list()
    assert second == [-3.0, 2.0]


def test_abx(serve_sets: Callable[..., Served], judge: Callable[..., Judge]) -> None:
    served = serve_sets("abx", "forced")

    def act(visitor: Judge, trial: int) -> None:
        assert visitor.labels() == ["A", "B", "X"]
        if visitor.hand == "keyboard":
            visitor.page.keyboard.press("1")
        else:
            visitor.page.get_by_label("X is A").tap()

    each_hand(served, judge, act)
    stored = values(served, "forced")
    assert stored.height == 2
    # Everybody answered A: right where X was presented as A.
    assert stored["value"].to_list() == [float(place == 1) for place in stored["place"]]


def test_against_a_reference(serve_sets: Callable[..., Served], judge: Callable[..., Judge]) -> None:
    served = serve_sets("reference", "dmos")

    def act(visitor: Judge, trial: int) -> None:
        assert visitor.labels() == ["Reference", "A"]
        if visitor.hand == "keyboard":
            visitor.page.keyboard.press("4")
        else:
            visitor.page.locator(".option").nth(1).tap()

    each_hand(served, judge, act)
    stored = values(served, "dmos")
    assert sorted(stored["value"].to_list()) == [2.0, 4.0]
    assert not any(name.startswith(REFERENCE) for name in stored["stimulus"])


def test_mushra(serve_sets: Callable[..., Served], judge: Callable[..., Judge]) -> None:
    served = serve_sets("mushra", "grade", systems=3)

    def act(visitor: Judge, trial: int) -> None:
        page = visitor.page
        assert visitor.labels() == ["Reference", "A", "B", "C"]
        for place, label in enumerate("ABC"):
            if visitor.hand == "keyboard":
                page.keyboard.press(label.lower())
                page.keyboard.press(str(3 * place + 1))
                page.keyboard.press("ArrowRight")
            else:
                box = page.locator(".graded input[type=range]").nth(place).bounding_box()
                assert box is not None
                page.touchscreen.tap(box["x"] + 14 + (box["width"] - 28) * (0.2 + 0.3 * place), box["y"] + 23)
        outputs = page.locator(".graded output").all_inner_texts()
        visitor.press(".sorter")
        assert page.locator(".graded output").all_inner_texts() == outputs[::-1], "highest first"
        assert page.locator(".graded .member b").all_inner_texts() == ["C", "B", "A"]
        if visitor.hand == "keyboard":
            page.locator(".graded input[type=range]").first.focus()

    visitors = each_hand(served, judge, act)
    assert visitors[0].sent[0]["values"]["grade"] == [11, 41, 71]
    assert visitors[1].sent[0]["values"]["grade"] == pytest.approx([20, 50, 80], abs=3)
    stored = values(served, "grade")
    assert stored.height == 2 * 3
    assert set(stored["role"]) == {"member", "hidden-reference"}
    for body in (body for visitor in visitors for body in visitor.sent):
        rows = stored.filter(pl.col("trial") == int(body["trial"]))
        assert rows["value"].to_list() == body["values"]["grade"]
    changes = [change[1:] for change in visitors[0].sent[0]["heard"]["changes"]]
    assert changes == [["grade", "11;;"], ["grade", "11;41;"], ["grade", "11;41;71"]]


def test_ranking(serve_sets: Callable[..., Served], judge: Callable[..., Judge]) -> None:
    served = serve_sets("ranking", "rank", systems=4)

    def act(visitor: Judge, trial: int) -> None:
        page = visitor.page
        if visitor.hand == "keyboard":
            page.keyboard.press("c")
            page.keyboard.press("ArrowUp")
            assert page.inner_text("#announcement") == "C: place 1 of 4"
            page.keyboard.press("d")
            page.keyboard.press("ArrowUp")
            page.keyboard.press("ArrowUp")
            page.keyboard.press("1")
            visitor.accessible()
            page.keyboard.press("Backspace")
        else:
            page.tap("[data-does=submit]")
            assert page.locator(".note:visible").count() == 1, "nothing is an answer before it is moved"
            rows = {label: page.locator(f'.ranking .row:has(b:text-is("{label}"))') for label in "ABCD"}
            x, y = visitor.middle(rows["D"].locator(".grip"))
            visitor.swipe((x, y), (x, visitor.middle(page.locator(".ranking .extreme").first)[1]))
            rows["A"].locator("[aria-label='Move A up']").tap()
            rows["B"].locator("[aria-label='Move B up']").tap()
            rows["B"].locator("[aria-label='Move B up']").tap()
            first, second = (visitor.middle(rows[label].locator(".grip")) for label in "BD")
            visitor.swipe(first, (second[0], second[1] - 10))
        assert page.locator(".unranked").count() == 0

    visitors = each_hand(served, judge, act)
    assert visitors[0].sent[0]["values"]["rank"] == [3, 2, 0, 1]
    assert visitors[1].sent[0]["values"]["rank"] == [1, 3, 0, 2]
    stored = values(served, "rank")
    for body in (body for visitor in visitors for body in visitor.sent):
        rows = stored.filter(pl.col("trial") == int(body["trial"]))
        order = body["values"]["rank"]
        assert rows["value"].to_list() == [order.index(place) + 1 for place in range(4)]


def test_best_and_worst(serve_sets: Callable[..., Served], judge: Callable[..., Judge]) -> None:
    served = serve_sets("best-worst", "ends", systems=4)

    def act(visitor: Judge, trial: int) -> None:
        page = visitor.page
        if visitor.hand == "keyboard":
            page.keyboard.press("2")
            page.keyboard.press("Enter")
            assert "Happiest and Least happy" in page.inner_text(".note:visible")
            page.keyboard.press("4")
        else:
            page.get_by_label("Happiest: A").tap()
            page.get_by_label("Least happy: A").tap()
            assert not page.get_by_label("Happiest: A").is_checked(), "a member cannot be both"
            page.get_by_label("Happiest: C").tap()

    visitors = each_hand(served, judge, act)
    assert visitors[0].sent[0]["values"]["ends"] == {"best": 1, "worst": 3}
    assert visitors[1].sent[0]["values"]["ends"] == {"best": 2, "worst": 0}
    stored = values(served, "ends")
    assert sorted(stored["value"].to_list()) == [-1.0] * 2 + [0.0] * 4 + [1.0] * 2
