"""Answers before, while and after a clip plays: what the store holds is what was heard, and how long the answer took."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from tests.web.rater.serving import Served
from tests.web.rater.studies import tone
from tests.web.rater.visitor import Visitor

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = [pytest.mark.browser, pytest.mark.slow]
CLIP = 4.0
STARTED = "() => window.started !== null || document.querySelector('.play[data-state=pause]') !== null"
HEARD = """(label) => {
  const member = [...document.querySelectorAll('.member')].find((node) => node.querySelector('b').textContent === label);
  return !member || Number(member.style.getPropertyValue('--heard')) > 0.005;
}"""
LIKING = {"id": "liking", "text": "How good is it?", "scale": "five"}
QUESTIONS: dict[str, list[dict[str, Any]]] = {
    "single": [LIKING],
    "pair": [{"id": "liking", "text": "Which one is better?", "scale": "which"}],
    "trace": [{"id": "course", "text": "How pleasant?", "scale": "course", "required": False}, LIKING],
}
Walk = Callable[..., "Listener"]


class Listener(Visitor):
    """Somebody who answers at a certain moment of a clip."""

    def pass_time(self, seconds: float) -> None:
        """Let time pass on the page, and as much on the server."""
        self.served.clock.ahead += seconds
        if self.clock is not None:
            self.run(seconds)

    def loaded(self, number: int) -> None:
        self.page.wait_for_selector(f"#count:has-text('{number} of 3')")
        self.page.wait_for_selector(".play:enabled")

    def play(self, member: str) -> None:
        """Play the clip, or a member of a set; it may have begun by itself."""
        if self.served.collection.study.sets is not None:
            self.page.keyboard.press(member)
            self.page.wait_for_selector(f'.member.sounding:has(b:text-is("{member.upper()}"))')
        elif not self.page.evaluate(STARTED):
            self.page.keyboard.press(" ")
            self.page.wait_for_function(STARTED)
        self.pass_time(0)

    def hear(self, seconds: float) -> None:
        """Hear so much, of a pair each in turn."""
        for member in "ab" if self.served.collection.study.sets is not None else "a":
            self.play(member)
            self.pass_time(seconds)

    def give(self) -> None:
        """Answer and continue; locked questions take neither."""
        choice = self.page.locator("fieldset.question input[type=radio]").first
        if choice.is_enabled():
            choice.check()
        self.page.locator("[data-does=submit]").click()


@pytest.fixture
def walk(browser: Browser, tmp_path: Path) -> Iterator[Walk]:
    """Serves three trials of a kind under a listening rule, and somebody in front of the first."""
    came: list[Listener] = []

    def start(kind: str, rule: str, seconds: float = CLIP, *, controlled: bool = True) -> Listener:
        folder = tmp_path / "study"
        study = {
            "heartfelt": 1,
            "name": "moments",
            "systems": [{"id": "p"}, {"id": "q"}],
            "scales": {
                "five": {"type": "points", "points": 5},
                "which": {"type": "choice", "ties": True},
                "course": {"type": "trace"},
            },
            "questions": QUESTIONS[kind],
            "design": {"ratings_per_item": 9, "practice": 0, "listening": rule, "auto_advance": "off"},
            **({"sets": {"type": "pair"}} if kind == "pair" else {}),
        }
        folder.mkdir()
        (folder / "study.yaml").write_text(yaml.safe_dump(study), encoding="utf-8")
        systems = "pq" if kind == "pair" else "p"
        lines = ["stimulus,system,prompt,path"]
        for prompt in range(3):
            for system in systems:
                tone(folder / "media" / f"{system}{prompt}.wav", seconds, 300 + 50 * prompt)
                lines.append(f"{system}{prompt},{system},{prompt},{system}{prompt}.wav")
        (folder / "stimuli.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
        served = Served(folder)
        served.begin()
        came.append(Listener(browser, served, controlled=controlled))
        came[-1].arrive()
        came[-1].begin()
        return came[-1]

    yield start
    for visitor in came:
        visitor.quiet()
        visitor.close()
        visitor.served.close()


def stored(served: Served) -> list[dict[str, Any]]:
    """What the store holds of each trial, in order."""
    table = served.collection.ratings().filter(question="liking").unique("trial").sort("position")
    (rater,) = served.collection.raters()["rater"]
    heard = {row["trial"]: row["heard"] for row in served.collection.trials(rater).iter_rows(named=True)}
    return [{**row, "heard": heard[str(row["trial"])]} for row in table.iter_rows(named=True)]


@pytest.mark.parametrize("kind", sorted(QUESTIONS))
@pytest.mark.parametrize("rule", ["free", "started", "full"])
def test_answers_before_while_and_after_a_clip_plays(walk: Walk, kind: str, rule: str) -> None:
    visitor = walk(kind, rule)
    clips = 2 if kind == "pair" else 1
    expected: list[tuple[float, float, int]] = []
    """Of each trial, the share heard, the seconds to answer, and whether anything was played."""
    # Before: the pages take an answer only where nothing has to be heard.
    visitor.loaded(1)
    visitor.pass_time(2.0)
    visitor.give()
    if rule == "free":
        expected.append((0.0, 2.0, 0))
    else:
        assert visitor.sent == []
        visitor.hear(CLIP + 0.5)
        visitor.pass_time(0.5)
        visitor.give()
        expected.append((1.0, 2.5 + 0.5 * clips, 1))
    # While it plays: the time is that since the trial began, since the clip was not heard to the end.
    visitor.loaded(2)
    visitor.hear(1.0)
    visitor.give()
    if rule == "full":
        assert len(visitor.sent) == 1
        for _ in range(clips):  # a pair goes on at the place where it was
            visitor.hear(CLIP + 0.5)
        # Once more: what is heard again is part of answering.
        visitor.play("a")
        visitor.pass_time(1.0)
        visitor.give()
        passed = clips * 1.0 + clips * clips * (CLIP + 0.5) + 1.0
        expected.append((1.0, passed - clips * CLIP, 1))
    else:
        expected.append((1.0 / CLIP, clips * 1.0, 1))
    # After: net of the clip.
    visitor.loaded(3)
    visitor.hear(CLIP + 0.5)
    visitor.pass_time(1.0)
    visitor.give()
    expected.append((1.0, 1.0 + 0.5 * clips, 1))
    visitor.page.wait_for_selector(".code output")
    rows = stored(visitor.served)
    assert [row["heard_flag"] for row in rows] == [None] * 3
    assert [row["heard"] for row in rows] == [pytest.approx(share, abs=0.02) for share, _, _ in expected]
    assert [row["seconds"] for row in rows] == [pytest.approx(net, abs=0.1) for _, net, _ in expected]
    assert [min(row["plays"], 1) for row in rows] == [plays for _, _, plays in expected]
    assert visitor.served.collection.raters()["state"].to_list() == ["complete"]


@pytest.mark.parametrize("kind", ["single", "pair"])
def test_a_clip_that_really_plays_is_closed_where_the_answer_is_sent(walk: Walk, kind: str) -> None:
    """In real time, with clips far longer than it takes to answer: the browser tells of the pause only afterwards."""
    visitor = walk(kind, "started", 60.0, controlled=False)
    for number in (1, 2, 3):
        visitor.loaded(number)
        for member in "ab"[: 2 if kind == "pair" else 1]:
            visitor.play(member)
            visitor.page.wait_for_function(HEARD, arg=member.upper())
        visitor.page.wait_for_selector("form.trial:not([data-locked])")
        visitor.give()
    visitor.page.wait_for_selector(".code output")
    for row, body in zip(stored(visitor.served), visitor.sent, strict=True):
        parts = body["heard"]["played"] or [body["heard"]["intervals"]]
        assert all(member for member in parts), "something was heard of every clip"
        assert 0 < row["heard"] < 0.9
        assert row["heard_flag"] is None
        assert row["seconds"] >= max(to - begin for member in parts for begin, to in member)


def test_what_was_heard_before_a_reload_is_kept(walk: Walk) -> None:
    visitor = walk("single", "free")
    visitor.loaded(1)
    visitor.hear(1.0)
    visitor.page.reload()
    visitor.loaded(1)
    visitor.pass_time(0.5)
    visitor.give()
    visitor.loaded(2)
    (row,) = stored(visitor.served)
    assert row["heard"] == pytest.approx(1.0 / CLIP, abs=0.02)
    assert row["seconds"] == pytest.approx(1.5, abs=0.1)
    assert row["heard_flag"] is None
