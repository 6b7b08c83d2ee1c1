"""A rater in a real browser: by keyboard, or by touch on a phone."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

import pytest

from tests.web.rater.media import PageClock
from tests.web.rater.serving import Served

if TYPE_CHECKING:
    from playwright.sync_api import Browser, ElementHandle, Page, Request

WATCH = """(() => {
  const play = HTMLMediaElement.prototype.play;
  window.started = null;
  window.ready = { clips: 0, images: 0, blobs: 0 };
  HTMLMediaElement.prototype.play = function () {
    const clear = () => (window.started = null);
    window.started = this;
    for (const stop of ["pause", "ended"]) this.addEventListener(stop, clear, { once: true });
    return play.call(this).catch((error) => { clear(); throw error; });
  };
  // The page asks for these; what is counted here happens right after the page has been told.
  const src = Object.getOwnPropertyDescriptor(HTMLMediaElement.prototype, "src");
  Object.defineProperty(HTMLMediaElement.prototype, "src", { ...src, set(url) {
    this.addEventListener("canplaythrough", () => (window.ready.clips += 1), { once: true });
    src.set.call(this, url);
  } });
  for (const [prototype, name, kind] of [[HTMLImageElement.prototype, "decode", "images"], [Response.prototype, "blob", "blobs"]]) {
    const own = prototype[name];
    prototype[name] = function () {
      const done = own.call(this);
      done.then(() => (window.ready[kind] += 1), () => {});
      return done;
    };
  }
})()"""
"""What the test has to know of the page's media: a clip is started before its button shows it, and media are fetched and
decoded before the trial that shows them."""
WAITS = "() => document.querySelector('form.trial[data-locked]') !== null && window.started === null"
NEXT = """(answered) => [...document.querySelectorAll('fieldset.question')].filter((each) => each.checkVisibility())
  .map((each) => each.dataset.form).find((form) => !answered.includes(form)) ?? null"""
"""The first question on the page that has not been answered."""
LAID_OUT = """() => new Promise((done) => new ResizeObserver((_, own) => {
  own.disconnect();
  done();
}).observe(document.body))"""
"""Observers of sizes are called in the order in which they began, the page's own first."""
STRUCTURE = {
    "page-has-heading-one", "heading-order", "empty-heading", "region", "landmark-one-main", "landmark-unique",
    "landmark-no-duplicate-main", "landmark-no-duplicate-banner", "landmark-banner-is-top-level",
}  # fmt: skip
"""Rules of axe about headings and landmarks, which it does not call serious."""
SENTENCE = "soft shapes on a calm ground"


class Visitor:
    """Somebody at the pages, with everything the pages complained about and sent."""

    def __init__(
        self,
        browser: Browser,
        served: Served,
        hand: Literal["keyboard", "touch"] = "keyboard",
        *,
        controlled: bool = False,
        **context: Any,
    ) -> None:
        """With ``controlled`` the page's time and sound stand still until ``run`` lets them go on."""
        desk: dict[str, Any] = {"viewport": {"width": 1280, "height": 800}}
        phone: dict[str, Any] = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
        self.hand = hand
        self.served = served
        device = desk if hand == "keyboard" else phone
        self.context = browser.new_context(**{"reduced_motion": "reduce", **device, **context})
        self.clock = PageClock(self.context) if controlled else None
        self.context.add_init_script(WATCH)
        self.complaints: list[str] = []
        self.sent: list[dict[str, Any]] = []
        self.asked: list[str] = []
        self.arrived: set[str] = set()
        self.at_each_screen: Callable[[], None] = lambda: None
        self.page = self.tab()

    def tab(self) -> Page:
        """One more tab of the same browser."""
        page = self.context.new_page()
        page.on("console", lambda told: self._complain(told.text) if told.type in {"error", "warning"} else None)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("request", self._noted)
        page.on("requestfinished", lambda request: self.arrived.add(request.url))
        return page

    def _complain(self, text: str) -> None:
        if "net::ERR_INTERNET_DISCONNECTED" not in text and "net::ERR_CONNECTION_REFUSED" not in text:
            self.complaints.append(text)

    def _noted(self, request: Request) -> None:
        self.asked.append(request.url)
        if request.url.endswith("/rate/answer"):
            body: dict[str, Any] = self._unblinded(json.loads(request.post_data or "{}"))
            if body["key"] not in {each["key"] for each in self.sent}:
                self.sent.append(body)

    def _unblinded(self, body: dict[str, Any]) -> dict[str, Any]:
        """The answer with questions under their real names."""
        named = functools.partial(self.served.blinding.question_of, body["trial"])
        for part in ("values", "verdicts"):
            body[part] = {named(name): value for name, value in body[part].items()}
        body["heard"]["changes"] = [[at, named(name), value] for at, name, value in body["heard"]["changes"]]
        return body

    def quiet(self) -> None:
        """Nothing was complained about, and nobody else was asked for anything."""
        assert self.complaints == []
        beyond = [url for url in self.asked if not url.startswith((self.served.url, "blob:", "data:"))]
        assert beyond == []

    def close(self) -> None:
        self.context.close()

    def run(self, seconds: float) -> None:
        """Let time pass on a page whose clock the test controls."""
        assert self.clock is not None, "this visitor's clock is not controlled"
        self.clock.run(seconds)

    def wait_for(self, selector: str) -> None:
        """Let time pass on such a page until something is there: a request that failed is repeated after a while."""
        while self.page.query_selector(selector) is None:
            self.run(1)

    # --- ways of doing things ---------------------------------------------------------------------------------------

    def press(self, selector: str) -> None:
        """Use a button."""
        result = self.page.locator(selector).first
        if self.hand == "touch":
            result.tap()
        else:
            result.focus()
            self.page.keyboard.press("Enter")

    def resize(self, width: int, height: int) -> None:
        """Change the size of the window, and wait until the page has been laid out for it."""
        self.page.set_viewport_size({"width": width, "height": height})
        self.page.wait_for_function("width => innerWidth === width", arg=width)
        self.page.evaluate(LAID_OUT)

    def still(self) -> None:
        """Nothing scrolls: neither the page nor its stage, up or sideways."""
        beyond = self.page.evaluate(
            "() => { const stage = document.querySelector('#stage'), page = document.documentElement;"
            " const work = document.querySelector('.work') ?? stage;"
            " return [stage.scrollHeight - stage.clientHeight, stage.scrollWidth - stage.clientWidth,"
            " work.scrollHeight - work.clientHeight, work.scrollWidth - work.clientWidth,"
            " page.scrollHeight - innerHeight, page.scrollWidth - innerWidth] }"
        )
        assert max(beyond) <= 0, beyond

    def accessible(self) -> None:
        """Axe finds nothing serious, and nothing wrong with headings and landmarks."""
        axe = pytest.importorskip("axe_playwright_python.sync_playwright")
        if not self.page.evaluate("() => Boolean(window.axe)"):
            self.page.evaluate(axe.Axe().axe_script)
        if self.clock is None:
            options = "{ resultTypes: ['violations'] }"
            result = self.page.evaluate(f"async () => (await axe.run({options})).violations")
        else:  # Axe uses timers
            self.page.evaluate("() => { axe.run({ resultTypes: ['violations'] }).then((all) => (window.axed = all)); }")
            while not self.page.evaluate("() => Boolean(window.axed)"):
                self.run(0.001)
            result = self.page.evaluate("() => window.axed.violations")
            self.page.evaluate("() => { window.axed = null; }")
        grave = [
            (each["id"], [node["html"][:160] for node in each["nodes"]])
            for each in result
            if each["impact"] in {"serious", "critical"} or each["id"] in STRUCTURE
        ]
        assert grave == []

    def fetched(self, media: int, here: int | None = None) -> None:
        """Wait until so many media files have arrived, and this page (after a reload with fewer) can show them offline."""
        while sum("/media/" in url for url in self.arrived) < media:
            self.page.wait_for_event("requestfinished")
        study = self.served.collection.study
        kind = "blobs" if study.sets else "images" if study.media == "image" else "clips"
        self.page.wait_for_function("([kind, count]) => window.ready[kind] >= count", arg=[kind, here or media])

    # --- the way through --------------------------------------------------------------------------------------------

    def arrive(self, path: str = "/") -> None:
        self.page.goto(self.served.url + path)

    def agree(self) -> None:
        self.page.wait_for_selector("[data-does=agree]")
        self.at_each_screen()
        self.still()
        self.press("[data-does=agree]")

    def tell_facts(self, age: str = "33") -> None:
        self.page.wait_for_selector(".facts")
        self.at_each_screen()
        for fact in self.page.query_selector_all(".fact"):
            select, field = fact.query_selector("select"), fact.query_selector("input")
            if select is not None:
                select.select_option(index=1)
            elif field is not None:
                field.fill(age if fact.get_attribute("data-fact") == "age" else "3")
        self.press(".facts + .actions button")

    def begin(self) -> None:
        self.page.wait_for_selector("[data-does=ready]")
        self.at_each_screen()
        self.press("[data-does=ready]")
        self.page.wait_for_selector("form.trial")

    def enter(self, path: str = "/") -> None:
        """From the door to the first trial."""
        self.arrive(path)
        self.agree()
        self.tell_facts()
        self.begin()

    def listen(self) -> None:
        """Hear the clip, however it starts, until the questions open."""
        self.page.wait_for_selector("form.trial:not([data-locked]), .play:enabled, .play[data-state=pause]")
        if self.page.evaluate(WAITS):
            if self.hand == "touch":
                self.page.locator(".play").tap()
            else:
                self.page.keyboard.press(" ")
        self.page.wait_for_selector("form.trial:not([data-locked])")

    def open_questions(self) -> list[ElementHandle]:
        return [each for each in self.page.query_selector_all("fieldset.question") if each.is_visible()]

    def number(self) -> str:
        """What tells this trial from another: the page's own count."""
        return self.page.inner_text("#count")

    def answer_page(self, turn: int = 0) -> bool:
        """Answer every question that is shown and go on; whether that sent the trial."""
        self.page.wait_for_selector("form.trial:not([data-locked])")
        self.still()
        answered: list[str] = []
        while (form := self.page.evaluate(NEXT, answered)) is not None:
            question = self.page.query_selector(f"fieldset.question[data-form='{form}']")
            assert question is not None
            self._answer_one(question, turn + len(answered))
            answered.append(form)
            self.still()
        last = self.page.query_selector("form.trial[data-last]") is not None
        if self.hand == "keyboard" and self.page.query_selector("form.trial.verifying") is not None:
            self.page.keyboard.press("a")
        if self.hand == "touch":
            self.page.locator("[data-does=submit]").tap()
        else:
            self.page.keyboard.press("Enter")
        return last

    def answer(self, turn: int = 0) -> None:
        """Answer a trial, page by page, and send it."""
        while not self.answer_page(turn):
            pass

    def _answer_one(self, question: ElementHandle, turn: int) -> None:
        kind = question.get_attribute("class") or ""
        if "verify" in kind:
            self._verify(question, turn % 3)
            return
        field = question.query_selector("textarea, .amount, .tagging input, input[type=text]")
        choices = question.query_selector_all("input[type=radio]")
        if choices and (field is None or not field.is_visible()):
            which = turn % len(choices)
            if self.hand == "touch":
                choices[which].tap()
            else:
                active = self.page.get_attribute("fieldset.question.active", "data-form")
                assert active == question.get_attribute("data-form"), "a digit answers the question that is active"
                self.page.keyboard.press(str(which + 1))
            return
        assert field is not None
        field.fill("0.75" if "amount" in (field.get_attribute("class") or "") else SENTENCE)
        if "tags" in kind:
            field.press("Enter")
        if self.hand == "keyboard":
            self._leave(field)

    def _verify(self, question: ElementHandle, which: int) -> None:
        """Leave a draft to be accepted with the others, correct it, or reject it."""
        if which == 0:
            return
        if self.hand == "touch":
            question.query_selector_all("button.suggestion" if which == 1 else "button.refuse")[0].tap()
        else:
            # A digit opens another field only while none is in use.
            self.page.keyboard.press(question.query_selector_all(".keycap")[0].inner_text())
        if which == 2:
            if self.hand == "keyboard":
                self.page.keyboard.press("Escape")
            return
        fixing = question.query_selector(".editor textarea, .editor input[type=text]")
        assert fixing is not None
        fixing.fill("0.25" if "amount" in (fixing.get_attribute("class") or "") else "mended")
        self.still()
        if self.hand == "touch":
            question.query_selector_all("button.done")[0].tap()
            return
        if question.query_selector(".tagging") is not None:
            fixing.press("Enter")
        fixing.press("Enter")

    def _leave(self, field: ElementHandle) -> None:
        """Enter moves on from a field, unless it is the last: there it would send."""
        if field.evaluate(
            """node => {
              const open = [...document.querySelectorAll('fieldset.question')].filter((each) => each.checkVisibility());
              const last = open.filter((each) => !each.querySelector('input:checked')).at(-1);
              return last !== undefined && last !== node.closest('fieldset');
            }"""
        ):
            field.press("Enter")

    def finish(self, most: int = 20) -> str:
        """Rate until the end, and return the code."""
        for turn in range(most):
            self.page.wait_for_selector(
                "form.trial:not([data-locked]), .play:enabled, .play[data-state=pause], .code output, [data-does=ready]:enabled"
            )
            if self.page.query_selector(".code output") is not None:
                break
            ready = self.page.query_selector("[data-does=ready]")
            if ready is not None:
                self.press("[data-does=ready]")
                ready.wait_for_element_state("hidden")
                continue
            self.at_each_screen()
            before = self.page.wait_for_selector("form.trial")
            assert before is not None
            self.listen()
            self.answer(turn)
            before.wait_for_element_state("hidden")
        self.page.wait_for_selector(".code output")
        self.at_each_screen()
        return self.page.inner_text(".code output")
