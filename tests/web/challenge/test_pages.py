"""The pages of a challenge in a real browser: accessible, narrow, and nothing that their own policy blocks."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("fastapi", reason="the extra 'serve' is not installed")

import uvicorn
from typer.testing import CliRunner

from heartfelt.cli.app import app
from heartfelt.errors import InputError
from heartfelt.publishing.submissions.ledger import Member
from heartfelt.web.challenge.challenge import Challenge
from heartfelt.web.challenge.client import choose_final, own_submissions
from heartfelt.web.challenge.final import close
from heartfelt.web.challenge.options import ChallengeOptions, HostOptions
from heartfelt.web.challenge.server import challenge_app
from tests.web.challenge.made import benchmark, predictions

if TYPE_CHECKING:
    from playwright.sync_api import Browser


@contextmanager
def served(challenge: Challenge) -> Iterator[str]:
    """The challenge on a port of its own; yields its address."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{listening.getsockname()[1]}"
        application = challenge_app(challenge, HostOptions(url=address))
        server = uvicorn.Server(uvicorn.Config(application, log_level="error"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            yield address
        finally:
            server.should_exit = True
            thread.join(30)


@pytest.mark.slow
@pytest.mark.browser
def test_the_pages_work_for_everybody(browser: Browser, tmp_path: Path) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    challenge = Challenge(benchmark().write(tmp_path / "benchmark"), ChallengeOptions(step=0.05))
    with served(challenge) as address:
        for name, right in (("Sound Lab", 0.7), ("Ångström & <Sons>", 0.9)):
            token = challenge.ledger.add_member(name)
            sent = challenge.submit(
                Member(team=name, name=name), predictions(right=right).write_csv().encode(), f"{name} v1"
            )
        assert challenge.wait_for(sent.id, 60).status == "scored"
        page = browser.new_page(viewport={"width": 320, "height": 640})
        problems: list[str] = []
        page.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: problems.append(str(error)))
        for path in ("/", "/mine", "/leaderboard", "/leaderboard#final"):
            if path.endswith("#final"):
                close(challenge)
                page.goto(f"{address}/")
            page.goto(address + path)
            if path == "/":
                # The file and the command can be copied line by line.
                assert page.locator("pre").first.inner_text().splitlines()[0] == "stimulus,question,value,answer"
            if path == "/mine":
                page.get_by_label("Token", exact=True).fill(token)
                page.get_by_role("button", name="Show").click()
                page.get_by_text("Ångström & <Sons> v1").wait_for()
            assert page.evaluate("document.documentElement.scrollWidth") <= 320, path
            violations = axe.Axe().run(page).response["violations"]
            assert not violations, [(each["id"], each["nodes"][0]["html"]) for each in violations]
        assert not problems, problems
        # The command says the same as the page.
        listed = CliRunner().invoke(
            app, ["challenge", "submissions", address, "--token", token], catch_exceptions=False
        )
        assert "Ångström & <Sons> v1" in listed.output
        assert "4 left in 24 hours" in listed.output
        with pytest.raises(InputError, match="unknown or revoked"):
            own_submissions(address, "wrong")
        with pytest.raises(InputError, match="closed"):
            choose_final(address, token, sent.id)
        with pytest.raises(InputError, match="cannot be reached"):
            own_submissions("http://127.0.0.1:9", token)
        with pytest.raises(InputError, match="not the address"):
            own_submissions("file:///etc/passwd", token)
        assert page.locator("tbody tr").first.inner_text().split("\t")[:2] == ["1–2", "Ångström & <Sons>"]
        # Headings sort the table: the page's own script runs under the policy.
        page.locator("th button", has_text="team").first.click()
        assert page.locator("th[aria-sort=ascending]").count() == 1
        page.close()
