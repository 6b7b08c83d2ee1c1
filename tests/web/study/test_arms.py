"""Arms and screeners for the researcher: counts on the dashboard and in the API, codes that can be changed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from starlette.testclient import TestClient

from heartfelt.collect import Collection, CollectOptions
from heartfelt.collect.messages.commands import Arrive, Demographics, GiveConsent, Next
from heartfelt.web.requests.options import WebOptions
from heartfelt.web.serving.app import create_app
from heartfelt.web.serving.serve import serve_in_thread
from tests.collect.people import Person
from tests.web.conftest import PASSWORD, SECRET, log_in
from tests.web.studies import write_study

if TYPE_CHECKING:
    from playwright.sync_api import Browser

API = "/api/v1"
MORE = """
demographics: [{id: hearing, text: "How well do you hear?", type: choice, choices: [well, badly]}]
screeners: [{id: deaf, when: {rater: hearing, is: badly}, text: "Sorry."}]
"""
ARMS = "arms: [{id: calm, instructions: Calmly}, {id: one, questions: [valence], weight: 1.5}], "


@pytest.fixture
def watched(tmp_path: Path) -> Iterator[Collection]:
    """A study with two arms: three raters, and somebody who was screened out."""
    folder = write_study(tmp_path / "study", each=1, quota=3)
    text = (folder / "study.yaml").read_text() + MORE
    (folder / "study.yaml").write_text(text.replace("design: {", "design: {" + ARMS))
    with Collection.open(folder, options=CollectOptions(seed=1, durable=False)) as collection:
        for name in "abc":
            person = Person(collection, recruiter="prolific", person=name)
            for _ in person.rate(2):
                pass
        rater = collection.do(Arrive(recruiter="prolific", person="d")).rater
        collection.do(Next(rater))
        collection.do(GiveConsent(rater, True))
        collection.do(Demographics(rater, {"hearing": "badly"}))
        yield collection


def test_the_api_counts_arms_and_changes_codes(watched: Collection, options: WebOptions) -> None:
    app = create_app(watched, options)
    with TestClient(app, base_url="http://study.test", follow_redirects=False) as stranger:
        client = log_in(stranger)
        coverage = client.get(f"{API}/coverage").json()
        assert [(arm["arm"], arm["weight"], arm["wanted"]) for arm in coverage["arms"]] == [
            ("calm", 1.0, 18),
            ("one", 1.5, 18),
        ]
        assert sum(arm["raters"] for arm in coverage["arms"]) == 3
        assert coverage["screened_out"] == {"deaf": 1}
        assert (coverage["units"], coverage["wanted"]) == (12, 36)
        people = client.get(f"{API}/participants").json()["participants"]
        assert [person["screener"] for person in people] == [None, None, None, "deaf"]
        assert [bool(person["arm"]) for person in people] == [True, True, True, False]
        codes = client.patch(f"{API}/settings", json={"code_screeners": {"deaf": "D1"}}).json()
        assert codes["code_screeners"] == {"deaf": "D1"}
        assert client.patch(f"{API}/settings", json={"code_screeners": {"x": "D1"}}).status_code == 422
        assert client.get(f"{API}/settings").json()["code_screeners"] == {"deaf": "D1"}


@pytest.mark.slow
@pytest.mark.browser
def test_the_dashboard_shows_arms(watched: Collection, browser: Browser, hashed: str) -> None:
    options = WebOptions(secret=SECRET, password=hashed, refresh_seconds=0.2, access_log=False)
    with serve_in_thread(create_app(watched, options)) as address:
        context = browser.new_context(viewport={"width": 1440, "height": 900}, reduced_motion="reduce")
        page = context.new_page()
        page.goto(f"{address}/study")
        page.get_by_label("Password of the study").fill(PASSWORD)
        page.get_by_role("button", name="Log in").click()
        page.wait_for_selector("#arms:not([hidden])")
        rows = page.locator("#arms tbody tr").all_inner_texts()
        assert [row.split()[0] for row in rows] == ["calm", "one"]
        assert "Screened out: deaf 1." in page.inner_text("#arms")
        page.click("#recruit")
        code = page.get_by_label("Code: screened out by deaf")
        code.fill("DEAF1")
        page.get_by_role("button", name="Save").click()
        page.get_by_text("Saved.").wait_for()
        assert watched.settings.code_screeners == {"deaf": "DEAF1"}
        context.close()
