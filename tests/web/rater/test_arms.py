"""Arms and screeners on the pages: own instructions, own words and code at the end, in the rater's language."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
import pytest

from heartfelt.study.model import Condition
from heartfelt.study.parts.design import Arm, Screener
from heartfelt.web.serving.serve import preview
from tests.web.rater.serving import Served
from tests.web.rater.studies import small_study
from tests.web.rater.visitor import Visitor

if TYPE_CHECKING:
    from playwright.sync_api import Browser

ARMS = [
    Arm(id="calm", instructions={"en": "Listen <calmly>.", "ko": "차분히 들으세요."}),
    Arm(id="tense", instructions="Listen tensely.", questions=["valence"]),
]
OLD = Screener(
    id="old",
    when=[Condition(rater="age", above=70)],
    text={"en": "Only people up to 70.", "ko": "70세 이하만 참여할 수 있습니다."},
)


@pytest.mark.slow
def test_arms_and_screeners_in_a_browser(browser: Browser, serve: Callable[..., Served]) -> None:
    served = serve(count=2, design={"arms": ARMS, "practice": 0}, screeners=[OLD])
    code = served.collection.settings.code_screeners["old"]
    old = Visitor(browser, served)
    old.arrive()
    old.agree()
    old.tell_facts(age="71")
    old.page.wait_for_selector("h1:has-text('Thank you for your interest')")
    assert old.page.inner_text("[data-part=text]") == "Only people up to 70."
    assert old.page.inner_text(".code output") == code
    old.page.goto(f"{served.url}/rate?lang=ko")
    assert old.page.inner_text("[data-part=text]") == "70세 이하만 참여할 수 있습니다."
    old.accessible()
    old.quiet()
    old.close()
    met = {}
    for _ in range(2):
        visitor = Visitor(browser, served)
        visitor.arrive()
        visitor.agree()
        visitor.tell_facts()
        visitor.page.wait_for_selector("[data-does=ready]")
        words = visitor.page.inner_text("[data-part=text]")
        visitor.press("[data-does=ready]")
        visitor.page.wait_for_selector("form.trial fieldset.question")
        met[words] = visitor.page.locator("fieldset.question").count()
        visitor.quiet()
        visitor.close()
    assert met == {"Listen <calmly>.": 2, "Listen tensely.": 1}


@pytest.mark.slow
def test_a_preview_shows_the_arm_in_its_address(tmp_path: Path) -> None:
    folder = tmp_path / "study"
    small_study("aimoclips", folder, count=2, design={"arms": ARMS}, consent=None, demographics=[])
    with preview(folder) as address:
        for arm, words in (("calm", "Listen <calmly>."), ("tense", "Listen tensely.")) * 2:
            with httpx.Client(base_url=address, follow_redirects=True, trust_env=False) as client:
                client.get("/", params={"arm": arm})
                assert client.get("/rate/step").json()["step"] == {"kind": "instructions", "text": words}
        assert httpx.get(address, params={"arm": "other"}, trust_env=False).status_code == 422
