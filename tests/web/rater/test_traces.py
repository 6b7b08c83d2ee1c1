"""Traces: a marker whose course is recorded by the clip's clock, whatever the frame rate, the hand or the tab."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import heartfelt.web.rater
from heartfelt.study.model import Question
from heartfelt.study.scales.scale import Points
from heartfelt.study.scales.set_scale import Trace
from tests.web.rater.serving import Served
from tests.web.rater.studies import tone
from tests.web.rater.visitor import Visitor

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, Route

pytestmark = pytest.mark.browser
STATIC = Path(heartfelt.web.rater.__file__).parent / "static"
SECONDS = 2.0
RATE = 10.0
SAMPLES = math.ceil(SECONDS * RATE)
VALENCE = Trace(type="trace", low_text="unpleasant", high_text="pleasant")
AROUSAL = Trace(type="trace", low=0, high=100, low_text="calm", high_text="excited")
LIKING = Points(type="points", points=5)
HIDE = """(state) => {
  Object.defineProperty(document, 'visibilityState', { value: state, configurable: true });
  Object.defineProperty(document, 'hidden', { value: state === 'hidden', configurable: true });
  document.dispatchEvent(new Event('visibilitychange'));
  return performance.now() / 1000;
}"""


# --- what is recorded, by a clock of its own ---------------------------------------------------------------------------


@pytest.fixture
def blank(browser: Browser) -> Iterator[Page]:
    """An empty page that can import the page's modules."""
    context = browser.new_context()
    page = context.new_page()

    def answer(route: Route) -> None:
        name = route.request.url.rsplit("/", 1)[1]
        kind = "text/javascript" if name.endswith(".js") else "text/html"
        body = (STATIC / name).read_text() if name.endswith(".js") else "<body></body>"
        route.fulfill(body=body, content_type=kind)

    page.route("http://pages.test/**", answer)
    page.goto("http://pages.test/blank")
    yield page
    context.close()


DRIVE = """async ({ fps, jitter }) => {
  const { Course, Trace } = await import('/trace.js');
  const { Tracing } = await import('/trace-pass.js');
  let now = 0;
  performance.now = () => now;
  const scale = { low: -1, high: 1, rate: 10, low_text: 'low', high_text: 'high' };
  const field = () => new Trace('q', { text: 'Q', required: true }, scale, () => {});
  const fields = [field(), field()];
  const course = new Course(...fields);
  const form = { courses: [course], here: fields, active: fields[0] };
  const audio = { addEventListener() {}, get currentTime() { return Math.min(4, now / 1000); }, ended: false };
  const player = { audio, rule: 'full', seconds: 4, playing: true };
  const tracing = new Tracing(form, player, { anew() {}, finished() {} });
  tracing.began();
  // A mouse that moves every 4 ms from 0.2 s on, then keys: down held from 2 s to 2.6 s, left from 2.3 s to 3.1 s.
  const hand = [];
  for (let at = 200; at < 1900; at += 4) hand.push([at, [0.5 + 0.4 * Math.sin(at / 300), at / 2000]]);
  const keys = [[2000, 'keydown', 'ArrowDown'], [2300, 'keydown', 'ArrowLeft'],
    [2600, 'keyup', 'ArrowDown'], [3100, 'keyup', 'ArrowLeft']];
  let random = 1;
  for (let frame = 1; now < 4000; frame += 1) {
    random = (random * 16807) % 2147483647;
    now = (frame * 1000) / fps + jitter * (random / 2147483647);
    // Events are handled in the frame after they happened, the mouse's moves all together.
    const moves = [];
    while (hand.length && hand[0][0] <= now) moves.push(hand.shift());
    course.moved(moves);
    while (keys.length && keys[0][0] <= now) {
      const [timeStamp, kind, key] = keys.shift();
      if (kind === 'keydown') course.key({ key, timeStamp, target: null });
      else course.keyUp({ key, timeStamp });
    }
    course.advance(now);
  }
  now = 4000;
  tracing.stopped('ended');
  return fields.map((one) => one.value.samples);
}"""


def test_the_frame_rate_does_not_change_the_samples(blank: Page) -> None:
    across, up = blank.evaluate(DRIVE, {"fps": 60, "jitter": 0})
    assert [across, up] == blank.evaluate(DRIVE, {"fps": 20, "jitter": 0})
    assert [across, up] == blank.evaluate(DRIVE, {"fps": 3, "jitter": 200})
    assert len(across) == 40
    assert across[:2] == [None, None]
    for place in range(2, 19):
        at = place * 100
        moved = at - (at - 200) % 4
        assert up[place] == pytest.approx(-1 + 2 * moved / 2000, abs=2e-4)
        assert across[place] == pytest.approx(0.8 * math.sin(moved / 300), abs=2e-4)
    assert up[20] < up[19], "a press moves at once"
    steps = [earlier - later for earlier, later in pairwise(up[21:27])]
    assert steps == sorted(steps), "and a key that is held moves ever faster"
    assert up[27:] == [up[27]] * 13
    assert across[31:] == [across[31]] * 9


RECORD = """async (moves) => {
  const { Recorder } = await import('/trace-recorder.js');
  const recorder = new Recorder();
  for (const [what, ...rest] of moves) recorder[what](...rest);
  return recorder.samples(2, 3).map((position) => position && position[0]);
}"""


@pytest.mark.parametrize(
    ("moves", "expected"),
    [
        ([], [None] * 6),
        ([["move", 0, [0.5]]], [0.5] * 6),
        ([["move", 0.5, [0.2]], ["move", 1.49, [0.9]]], [None, 0.2, 0.2, 0.9, 0.9, 0.9]),
        ([["move", 9, [0.2]]], [None] * 6),
        ([["move", 0, [0.1]], ["leave", 0.5], ["comeBack", 1.5]], [0.1, None, None, 0.1, 0.1, 0.1]),
        ([["move", 0, [0.1]], ["leave", 1], ["leave", 2], ["comeBack", 3]], [0.1, 0.1, None, None, None, None]),
        ([["move", 0, [0.1]], ["jump", 1, 2]], [0.1, 0.1, None, None, 0.1, 0.1]),
        ([["move", 0, [0.1]], ["move", 2, [0.7]], ["jump", 2.2, 1]], [0.1, 0.1, 0.7, 0.7, 0.7, 0.7]),
    ],
)
def test_samples_are_where_the_marker_was(blank: Page, moves: list[Any], expected: list[Any]) -> None:
    assert blank.evaluate(RECORD, moves) == expected


# --- raters ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def visit(browser: Browser, serve: Callable[..., Served]) -> Iterator[Callable[..., Visitor]]:
    came: list[Visitor] = []

    def start(hand: Any = "keyboard", plane: bool = False, **given: Any) -> Visitor:
        design = {"practice": 0, **given.pop("design", {})}
        questions = [Question(id="valence", text="How pleasant is it?", scale="valence")]
        if plane:
            design["affect_grid"] = ("valence", "arousal")
            questions.append(Question(id="arousal", text="How exciting is it?", scale="arousal"))
        questions += given.pop("questions", [])
        scales = {"valence": VALENCE, "arousal": AROUSAL, "liking": LIKING}
        context = given.pop("context", {})
        served = serve("aimoclips", count=1, design=design, questions=questions, scales=scales, **given)
        for path in served.folder.glob("media/**/*.wav"):
            tone(path, SECONDS)
        visitor = Visitor(browser, served, hand, controlled=True, **context)
        came.append(visitor)
        visitor.enter()
        visitor.page.wait_for_selector(".play:enabled")
        return visitor

    yield start
    for visitor in came:
        visitor.quiet()
        visitor.close()


def to_second(visitor: Visitor, second: float) -> None:
    """Let the clip play until then."""
    page = visitor.page
    page.wait_for_selector(".play[data-state=pause]")
    share = "() => Number(document.querySelector('.line i').style.getPropertyValue('--share'))"
    visitor.run(second - SECONDS * page.evaluate(share))
    page.wait_for_function(f"at => ({share})() >= at", arg=(second - 0.02) / SECONDS)


def to_the_end(visitor: Visitor) -> None:
    visitor.page.wait_for_selector(".play[data-state=pause]")
    visitor.run(SECONDS)
    visitor.page.wait_for_selector(".play[data-state=replay]")


LIKES = [Question(id="liking", text="How much do you like it?", scale="liking")]


@pytest.mark.slow
def test_a_trace_by_keyboard_offline(visit: Callable[..., Visitor]) -> None:
    visitor = visit(questions=LIKES)
    page = visitor.page
    visitor.still()
    visitor.accessible()
    assert page.evaluate("() => document.activeElement.getAttribute('role')") == "slider"
    assert page.get_attribute("[role=slider]", "aria-valuetext") == "no answer yet"
    assert "starts the recording over" not in page.inner_text(".tracing")
    page.keyboard.press("4")
    assert page.locator("input:checked").count() == 0, "other answers stay locked"
    page.keyboard.press("Enter")
    assert visitor.number() == "1 of 1"
    page.keyboard.press(" ")
    to_second(visitor, 0.3)
    assert page.inner_text(".tracing").startswith("Recording")
    page.keyboard.down("ArrowUp")
    to_second(visitor, 0.6)
    page.keyboard.up("ArrowUp")
    to_second(visitor, 0.8)
    page.keyboard.press("Home")
    to_the_end(visitor)
    assert "starts the recording over" in page.inner_text(".tracing")
    visitor.run(1.1)
    assert page.get_attribute("[role=slider]", "aria-valuetext") == "100 percent towards unpleasant"
    visitor.accessible()
    page.keyboard.press("ArrowUp")
    visitor.context.set_offline(True)
    page.keyboard.press("5")
    page.keyboard.press("Enter")
    page.wait_for_selector(".wait")
    visitor.context.set_offline(False)
    page.wait_for_selector(".code output")
    body = visitor.sent[0]
    samples = body["values"]["valence"]["samples"]
    assert body["values"]["liking"] == 5
    assert len(samples) == SAMPLES
    assert samples[:3] == [-0.2] * 3, "set before the clip started"
    assert max(samples) > -0.2
    assert samples[-1] == -1, "what is moved after the end is not recorded"
    assert body["heard"]["away"] == 0
    assert [change[1:] for change in body["heard"]["changes"]] == [
        ["valence", f"{SAMPLES} of {SAMPLES} samples"],
        ["liking", "5"],
    ]
    (row,) = visitor.served.collection.ratings().filter(question="valence").iter_rows(named=True)
    assert row["value"] == pytest.approx(sum(samples) / SAMPLES, abs=1e-6)


@pytest.mark.slow
def test_the_plane_by_touch_on_a_small_phone(visit: Callable[..., Visitor]) -> None:
    visitor = visit("touch", plane=True)
    page = visitor.page
    for width, height in ((320, 568), (390, 844), (844, 390), (667, 375)):
        visitor.resize(width, height)
        visitor.still()
    visitor.resize(320, 568)
    visitor.accessible()
    box = page.locator(".trace-plane").bounding_box()
    assert box is not None
    assert box["width"] == box["height"] >= 180
    finger = visitor.context.new_cdp_session(page)
    stamps = [time.time()]

    def touch(kind: str, *place: float) -> None:
        points = (
            [{"x": box["x"] + place[0] * box["width"], "y": box["y"] + (1 - place[1]) * box["height"]}] if place else []
        )
        stamps[0] += 0.2  # a finger that comes to rest: after a flick a browser would swallow the next tap
        finger.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points, "timestamp": stamps[0]})

    page.tap(".play")
    to_second(visitor, 0.3)
    touch("touchStart", 0.5, 0.5)
    for step in range(1, 11):
        touch("touchMove", 0.5 + 0.04 * step, 0.5 - 0.05 * step)
    touch("touchMove", 0.9, 0)
    touch("touchEnd")
    to_the_end(visitor)
    page.tap("[data-does=submit]")
    page.wait_for_selector(".code output")
    values = visitor.sent[0]["values"]
    across, up = values["valence"]["samples"], values["arousal"]["samples"]
    assert len(across) == len(up) == SAMPLES
    assert across[:3] == up[:3] == [None] * 3
    assert across[-1] == pytest.approx(0.8, abs=0.02)
    assert up[-1] == pytest.approx(0, abs=1)
    assert page.evaluate("() => document.querySelector('#stage').scrollTop") == 0
    stored = {row["question"]: row for row in visitor.served.collection.snapshot().traces.iter_rows(named=True)}
    for question, sent in {"valence": across, "arousal": up}.items():
        known = [sample for sample in sent if sample is not None]
        assert stored[question]["samples"][: -len(known)] == [None] * (SAMPLES - len(known))
        assert stored[question]["samples"][-len(known) :] == pytest.approx(known, rel=1e-6)
        assert (stored[question]["rate"], stored[question]["start"], stored[question]["away"]) == (RATE, 0, 0)


@pytest.mark.slow
def test_the_plane_by_mouse_and_keys(visit: Callable[..., Visitor]) -> None:
    visitor = visit(plane=True, context={"color_scheme": "dark"})
    page = visitor.page
    visitor.still()
    visitor.accessible()
    box = page.locator(".trace-plane").bounding_box()
    assert box is not None
    centre = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    rail = page.locator(".trace-rail").first.bounding_box()
    assert rail is not None
    page.mouse.click(rail["x"] + 0.75 * rail["width"], rail["y"] + rail["height"] / 2)
    page.mouse.move(*centre)
    page.keyboard.press(" ")
    to_second(visitor, 0.2)
    page.mouse.down()
    page.mouse.up()
    page.mouse.move(centre[0] + box["width"] / 4, centre[1])
    to_second(visitor, 0.4)
    page.mouse.down()
    page.mouse.up()
    page.mouse.move(centre[0], centre[1] - box["height"] / 4)
    to_second(visitor, 0.6)
    page.keyboard.press("Tab")
    page.keyboard.press("End")
    page.keyboard.press("PageDown")
    to_the_end(visitor)
    page.keyboard.press("Enter")
    page.wait_for_selector(".code output")
    values = visitor.sent[0]["values"]
    across, up = values["valence"]["samples"], values["arousal"]["samples"]
    assert across[:2] == pytest.approx([0.5, 0.5], abs=0.02), "a mouse that only passes over moves nothing"
    assert across[-1] == pytest.approx(0.5, abs=0.01), "it follows after a click, until the next"
    assert up[:2] == pytest.approx([50, 50], abs=1)
    assert up[-1] == pytest.approx(90, abs=0.1)


@pytest.mark.slow
def test_a_tab_in_the_background_leaves_a_gap(visit: Callable[..., Visitor]) -> None:
    visitor = visit()
    page = visitor.page
    page.keyboard.press("7")
    page.keyboard.press(" ")
    to_second(visitor, 0.4)
    hidden = page.evaluate(HIDE, "hidden")
    to_second(visitor, 1.1)
    visible = page.evaluate(HIDE, "visible")
    to_the_end(visitor)
    page.keyboard.press("Enter")
    page.wait_for_selector(".code output")
    body = visitor.sent[0]
    samples, away = body["values"]["valence"]["samples"], body["heard"]["away"]
    assert len(samples) == SAMPLES
    gone = [place for place, sample in enumerate(samples) if sample is None]
    assert gone == list(range(gone[0], gone[-1] + 1))
    assert away == pytest.approx(visible - hidden, abs=0.02)
    assert len(gone) == pytest.approx(away * RATE, abs=1)
    assert set(samples) == {0.4, None}
    (stored,) = visitor.served.collection.snapshot().traces.iter_rows(named=True)
    assert [place for place, sample in enumerate(stored["samples"]) if sample is None] == gone
    assert stored["away"] == pytest.approx(away)


@pytest.mark.slow
def test_a_clip_nobody_followed_must_be_heard_again_whatever_the_limit(visit: Callable[..., Visitor]) -> None:
    visitor = visit(design={"replays": 0})
    page = visitor.page
    page.keyboard.press(" ")
    to_the_end(visitor)
    assert "Nothing was recorded" in page.inner_text(".tracing")
    page.keyboard.press("Enter")
    assert "Nothing was recorded" in page.inner_text(".note:visible")
    page.keyboard.press(" ")
    page.wait_for_selector(".play[data-state=pause]")
    page.keyboard.press("ArrowRight")
    to_the_end(visitor)
    page.wait_for_selector(".play:disabled")
    page.keyboard.press("Enter")
    page.wait_for_selector(".code output")
    assert visitor.sent[0]["heard"]["plays"] == 2


@pytest.mark.slow
def test_a_replay_and_a_reload_begin_anew(visit: Callable[..., Visitor]) -> None:
    visitor = visit(design={"replays": 1})
    page = visitor.page
    page.keyboard.press("9")
    page.keyboard.press(" ")
    to_second(visitor, 0.5)
    page.reload()
    page.wait_for_selector(".play:enabled")
    assert page.get_attribute("[role=slider]", "aria-valuetext") == "no answer yet", "the trial begins again"
    page.keyboard.press("2")
    page.keyboard.press(" ")
    to_second(visitor, 0.6)
    page.keyboard.press(" ")
    page.wait_for_selector(".play[data-state=play]")
    assert page.inner_text(".tracing").startswith("Paused")
    page.keyboard.press("Enter")
    page.keyboard.press(" ")
    to_the_end(visitor)
    assert visitor.sent == []
    page.reload()
    page.wait_for_selector("form.trial:not([data-locked])")
    assert page.inner_text(".tracing").startswith("Recorded"), "a trace that is complete outlives a reload"
    page.keyboard.press("Enter")
    page.wait_for_selector(".code output")
    assert visitor.sent[0]["values"]["valence"]["samples"] == [-0.6] * SAMPLES
    assert visitor.sent[0]["heard"]["plays"] == 2


@pytest.mark.slow
def test_two_traces_take_two_passes_and_free_listening_may_stop(visit: Callable[..., Visitor]) -> None:
    arousal = Question(id="arousal", text="How exciting is it?", scale="arousal")
    visitor = visit(questions=[arousal], design={"listening": "free", "replays": 0})
    page = visitor.page
    visitor.resize(700, 530)
    for tenth in ("8", "3"):
        page.keyboard.press("Enter")
        assert "to the end" in page.inner_text(".note:visible")
        page.keyboard.press(tenth)
        page.keyboard.press(" ")
        page.wait_for_selector(".play[data-state=pause]")
        to_second(visitor, 0.7)
        page.keyboard.press(" ")
        page.wait_for_selector(".play[data-state=play]")
        page.keyboard.press("Enter")
    page.wait_for_selector(".code output")
    assert visitor.sent[0]["heard"]["plays"] == 2
    for question, value in {"valence": 0.6, "arousal": 30}.items():
        samples = visitor.sent[0]["values"][question]["samples"]
        assert samples == [value] * len(samples)
        assert 7 <= len(samples) < SAMPLES
