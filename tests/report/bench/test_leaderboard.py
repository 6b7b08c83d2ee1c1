"""The site of many benches: ranks across runs, pages that open offline, links that lead somewhere."""

from __future__ import annotations

import json
import re
import shutil
from html import unescape
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

import polars as pl
import pytest

from heartfelt.errors import InputError
from heartfelt.report.bench import write_bench
from heartfelt.report.site import write_leaderboard, write_site
from heartfelt.scoring import Scores, score
from heartfelt.snapshot import Snapshot
from tests.facts import mentions
from tests.report.bench.conftest import FEW, told
from tests.report.test_browser import Watched

pytestmark = pytest.mark.slow  # what they look at takes seconds to make

if TYPE_CHECKING:
    from playwright.sync_api import Browser


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory, sounding: Snapshot, folder: Path, sided: Path) -> Path:
    """Two benches of one source, in one of which a model is better than all others, and one of another source."""
    home = tmp_path_factory.mktemp("runs")
    shutil.copytree(folder, home / "first")
    shutil.copytree(sided, home / "deep" / "other study")
    answer = (
        told(sounding)
        .filter(pl.col("model") != "flat")
        .with_columns(pl.col("model").replace({"good <one>": "newcomer"}))
    )
    write_bench(score(sounding, answer, FEW), answer, home / "second")
    return home


@pytest.fixture(scope="module")
def site(runs: Path) -> Path:
    return write_leaderboard(runs)


def test_models_of_all_runs_are_ranked_together(site: Path, numbered: Scores) -> None:
    boards = json.loads((site / "leaderboard.json").read_text())["boards"]
    assert len(boards) == 2
    board = next(each for each in boards if each["hash"] == numbered.hash)
    ranks = {rank["model"]: rank for rank in board["ranks"] if rank["task"] == "valence"}
    assert set(ranks) == {"good <one>", "poor (first)", "poor (second)", "flat", "newcomer"}
    # The newcomer says what the good model said, and one poor model what the other did.
    assert (ranks["newcomer"]["best"], ranks["newcomer"]["worst"]) == (1, 2)
    assert (ranks["poor (first)"]["best"], ranks["poor (first)"]["worst"]) == (3, 4)
    assert mentions(ranks["flat"]["why_none"], "predictions", "vary")


@pytest.mark.browser
def test_the_site_opens_offline(site: Path, browser: Browser) -> None:
    for path in (site / "index.html", *sorted((site / "runs").iterdir())):
        watched = Watched(browser, path)
        assert watched.page.locator("svg[role=group]").count() > 0
        assert watched.complaints == []
        assert all(url.startswith(("data:", site.as_uri())) for url in watched.requests)
        watched.context.close()


def test_links_lead_somewhere(site: Path) -> None:
    for path in (site / "index.html", *sorted((site / "runs").iterdir())):
        for link in re.findall(r'href="([^"#]+)"', path.read_text()):
            if not link.startswith("data:"):
                assert (path.parent / unquote(link)).resolve().is_file(), (path.name, link)


def test_every_kind_of_task_has_pages_of_stimuli(runs: Path, worded: Path, tmp_path: Path) -> None:
    home = tmp_path / "runs"
    shutil.copytree(runs, home / "numbers", ignore=shutil.ignore_patterns("leaderboard"))
    shutil.copytree(worded, home / "words")
    site = write_site(home, tmp_path / "site")
    named = len({path.name.casefold() for path in (site / "stimuli").iterdir()})
    assert named == len(list((site / "stimuli").iterdir())) == 36 + 40 + 25 + 1
    page = next((site / "stimuli").glob("c0*.html")).read_text()
    assert "People: joy" in page or "People: fear" in page or "People: calm" in page
    assert "a joy song number 0" in page
    for path in site.rglob("*.html"):
        for link in re.findall(r'(?:href|src)="([^"#]+)"', path.read_text()):
            if not link.startswith("data:"):
                assert (path.parent / unquote(unescape(link))).resolve().is_file(), (path.name, link)


def test_it_can_be_built_again_and_elsewhere(runs: Path, site: Path, tmp_path: Path) -> None:
    before = (site / "leaderboard.json").read_text()
    assert write_leaderboard(runs) == site
    assert (site / "leaderboard.json").read_text() == before
    assert (write_leaderboard(runs, tmp_path / "elsewhere", title="Ours") / "index.html").read_text().count(
        "<h1>Ours</h1>"
    ) == 1


def test_a_run_without_its_items_is_shown_unranked(runs: Path, tmp_path: Path) -> None:
    home = tmp_path / "runs"
    shutil.copytree(runs / "first", home / "a")
    (home / "a" / "items.parquet").unlink()
    site = write_leaderboard(home)
    (board,) = json.loads((site / "leaderboard.json").read_text())["boards"]
    assert all(rank["place"] is None for rank in board["ranks"])
    assert mentions((site / "index.html").read_text(), "readable", "items.parquet")


def test_bad_input_is_said(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="There is no folder"):
        write_leaderboard(tmp_path / "nowhere")
    with pytest.raises(InputError, match="There is no bench below"):
        write_leaderboard(tmp_path)
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "mine.txt").write_text("x")
    with pytest.raises(InputError, match="is not a leaderboard"):
        write_leaderboard(tmp_path, tmp_path / "taken")
