"""Studies whose trials present sets, in small, and a rater who hears and judges them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from tests.web.rater.serving import Served
from tests.web.rater.studies import picture, tone
from tests.web.rater.visitor import Visitor

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator

SCALES: dict[str, dict[str, Any]] = {
    "ties": {"type": "choice", "ties": True},
    "forced": {"type": "choice"},
    "cmos": {"type": "preference"},
    "wide": {"type": "preference", "steps": 10},
    "dmos": {"type": "points", "points": 5, "anchors": {1: "Very annoying", 5: "Inaudible"}},
    "grade": {"type": "grade"},
    "rank": {"type": "rank"},
    "ends": {"type": "best-worst", "best": "Happiest", "worst": "Least happy"},
}
SECONDS = 0.25
SMALL = {"width": 320, "height": 568}
REFERENCE = "Quillbox"
SYSTEMS = (REFERENCE, "Marrowtone", "Sedgeflute", "Larkwire")


def serve_study_of_sets(folder: Path, kind: str, *scales: str, **how: Any) -> Served:
    """Serve a study with sets of a kind: one stimulus of each system for each prompt, and a question for each scale."""
    media, systems, prompts = (how.get("media", "audio"), SYSTEMS[: how.get("systems", 2)], how.get("prompts", 1))
    sets: dict[str, Any] = {"type": kind}
    if kind in {"reference", "mushra"}:
        sets["reference"] = REFERENCE
    study = {
        "heartfelt": 1,
        "name": "sets",
        "title": "A study of sets",
        "media": media,
        "languages": how.get("languages", ["en"]),
        "systems": [{"id": system} for system in systems],
        "sets": sets,
        "scales": {name: SCALES[name] for name in scales},
        "questions": [{"id": name, "text": f"What about {name}?", "scale": name} for name in scales],
        "design": {"ratings_per_item": 9, "practice": 0, "expected_seconds": 5, **how.get("design", {})},
        **how.get("parts", {}),
    }
    folder.mkdir()
    (folder / "study.yaml").write_text(yaml.safe_dump(study), encoding="utf-8")
    lines = ["stimulus,system,prompt,path"]
    for prompt in range(prompts):
        for place, system in enumerate(systems):
            name = f"{system}_{prompt}.{'png' if media == 'image' else 'wav'}"
            if media == "image":
                picture(folder / "media" / name, 60 + 30 * place)
            else:
                tone(folder / "media" / name, how.get("seconds", SECONDS), 300 + 100 * place)
            lines.append(f"{system}_{prompt},{system},{prompt},{name}")
    (folder / "stimuli.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    served = Served(folder)
    served.begin()
    return served


class Judge(Visitor):
    """Somebody who compares, by keyboard at a desk or by touch on the smallest phone."""

    def __init__(self, browser: Browser, served: Served, hand: Any = "keyboard", **context: Any) -> None:
        small: dict[str, Any] = {"viewport": SMALL} if hand == "touch" else {}
        super().__init__(browser, served, hand, **small, **context)

    def enter(self, path: str = "/") -> None:
        self.arrive(path)
        self.begin()

    def member(self, label: str) -> Locator:
        """The button that plays a member."""
        return self.page.locator(f'.member:has(b:text-is("{label}"))').first

    def labels(self) -> list[str]:
        self.page.wait_for_selector(".member:enabled, .picture img")
        texts: list[str] = self.page.eval_on_selector_all(
            ".member b", "all => [...new Set(all.map((each) => each.textContent))]"
        )
        return texts

    def play(self, label: str) -> None:
        if self.hand == "touch":
            self.member(label).tap()
        else:
            self.page.keyboard.press({"Reference": "r"}.get(label, label.lower()))

    def hear_all(self) -> None:
        """Hear every member to its end."""
        for label in self.labels():
            named = f':has(b:text-is("{label}"))'
            self.page.wait_for_selector(f".play:not([data-state=pause]), .member.sounding{named}")
            if self.page.query_selector(f":is(.member.heard, .member.sounding){named}") is None:
                self.play(label)
            if self.clock is not None:
                self.page.wait_for_selector(f".member.sounding{named}")
                self.run(30)
            self.page.wait_for_selector(f".member.heard{named}")
        self.page.wait_for_selector(".play:not([data-state=pause])")
        self.page.wait_for_selector("form.trial:not([data-locked])")

    def swipe(self, start: tuple[float, float], end: tuple[float, float], steps: int = 8) -> None:
        """Move a finger."""
        session = self.context.new_cdp_session(self.page)
        for step in range(steps + 1):
            x, y = (a + (b - a) * step / steps for a, b in zip(start, end, strict=True))
            session.send(
                "Input.dispatchTouchEvent",
                {"type": "touchMove" if step else "touchStart", "touchPoints": [{"x": x, "y": y}]},
            )
        session.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
        session.detach()

    def middle(self, place: Locator) -> tuple[float, float]:
        place.scroll_into_view_if_needed()
        box = place.bounding_box()
        assert box is not None
        return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2

    def send(self) -> None:
        """Continue, and wait until the trial is gone."""
        form = self.page.query_selector("form.trial")
        assert form is not None
        if self.hand == "touch":
            self.page.locator("[data-does=submit]").tap()
        else:
            self.page.keyboard.press("Enter")
        form.wait_for_element_state("hidden")
        self.page.wait_for_selector("form.trial, .code output, .wait")

    def fits(self) -> None:
        """Nothing runs over the side, and what can be touched is large enough."""
        wide, small = self.page.evaluate(
            "() => [Math.max(document.documentElement.scrollWidth - innerWidth,"
            " document.querySelector('.work').scrollWidth - document.querySelector('.work').clientWidth),"
            " [...document.querySelectorAll('form.trial :is(button, .option, .grip, .edge, input[type=range])')]"
            " .filter((node) => node.checkVisibility()).map((node) => [node.className, node.getBoundingClientRect()])"
            " .filter(([, box]) => Math.min(box.width, box.height) < 43.9)"
            " .map(([name, box]) => `${name} ${box.width} ${box.height}`)]"
        )
        assert wide <= 0
        assert small == []
