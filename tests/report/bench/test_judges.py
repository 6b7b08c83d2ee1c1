"""What a bench page says of predicted choices and traces."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
import pytest

from heartfelt.report.bench import write_bench
from heartfelt.report.site import write_site
from heartfelt.report.site.viewer import read_run_folder, write_view
from heartfelt.scoring import score, truth_of
from tests.facts import mentions
from tests.report.test_browser import Watched
from tests.scoring.compared import arena, courses
from tests.scoring.made import predictions

if TYPE_CHECKING:
    from playwright.sync_api import Browser


def plain(path: Path) -> str:
    html = re.sub(r"<(script|style|svg).*?</\1>", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", html))


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bench of a number per stimulus, of probabilities, and of a judge in both orders."""
    snapshot, truth = arena(prompts=6, raters=5)
    names = truth_of(snapshot).pairs.items["stimulus"].to_list()
    chances, verdicts = [], []
    for place, name in enumerate(names):
        one, other = name.split("|")
        p = 0.85 if truth[one] > truth[other] else 0.15
        chances.append({"stimulus": name, "question": "better", "shares": json.dumps({one: p, other: 1 - p})})
        biased = place % 3 == 0
        members, orders = ({one: 0.5, other: 0.5}, [1, 1]) if biased else ({one: 1, other: 0}, [1, 0])
        row = {"stimulus": name, "question": "better", "members": json.dumps(members), "orders": json.dumps(orders)}
        verdicts.append(row)
    numbers = [{"stimulus": name, "question": "better", "value": v} for name, v in truth.items() if name != "A00"]
    tables = [predictions("numbers", numbers), predictions("chances", chances), predictions("judge", verdicts)]
    table = pl.concat(tables, how="diagonal")
    folder = tmp_path_factory.mktemp("pairs") / "bench"
    return write_bench(score(snapshot, table), table, folder, snapshot=snapshot)


@pytest.mark.slow
def test_the_page_shows_choices_calibration_and_position_bias(pairs: Path) -> None:
    text = plain(pairs / "report.html")
    assert "has the best accuracy of single choices, 0." in text
    assert mentions(text, "95% intervals", "raters")
    assert "better: calibration model" in text
    assert "better: position bias model" in text
    assert "by the difference of two predictions (numbers)" in text
    assert mentions(text, "changed", "verdict", "0.333")
    assert "of these, 1.000 [" in text or "of these, 1.00 [" in text
    assert "raters chose the stimulus presented first in" in text
    assert "Calibration: better" in text
    assert mentions(text, "2 items", "18")
    assert "by systems" in text
    assert "Ranks generalise to other pairs and raters like these." in text
    assert "better (strength)" in text


@pytest.mark.slow
def test_the_worst_misses_are_pairs_on_which_raters_agreed(pairs: Path) -> None:
    items = pl.read_parquet(pairs / "items.parquet")
    assert set(items["task"]) == {"better", "better (strength)"}
    mine = items.filter((pl.col("task") == "better") & (pl.col("model") == "numbers"))
    assert mine.height == 18
    assert mine.filter(~pl.col("answered"))["counted"].max() <= 0.5  # type: ignore[operator]  # a number


@pytest.mark.slow
def test_a_leaderboard_compares_choices_over_pairs(pairs: Path, tmp_path: Path) -> None:
    site = write_site(pairs.parent, tmp_path / "site")
    page = (site / "stimuli" / "A00.html").read_text()
    assert "compared with" in page
    assert "% preferred this one" in page
    assert any(sample.truth is not None for sample in read_run_folder(pairs).samples)
    assert (write_view(pairs, tmp_path / "view") / "index.html").is_file()
    board = json.loads((site / "leaderboard.json").read_text())["boards"][0]
    found = {row["model"]: row for row in board["ranks"] if row["task"] == "better"}
    assert found["chances"]["place"] == 1
    assert len([row for row in board["comparisons"] if row["task"] == "better"]) == 3


@pytest.mark.slow
def test_the_page_shows_traces_and_their_lag(tmp_path: Path) -> None:
    snapshot, truth = courses(stimuli=5)
    rows = [
        {
            "stimulus": name,
            "question": "arousal",
            "value": 0.0,
            "samples": json.dumps(course),
            "rate": 2.0,
            "start": 0.0,
        }
        for name, course in truth.items()
    ]
    table = predictions("follower", rows)
    text = plain(write_bench(score(snapshot, table), table, tmp_path / "bench", snapshot=snapshot) / "report.html")
    assert "arousal (trace): by how much raters follow the prediction" in text
    assert "follower 2.0 0.99" in text
    assert mentions(text, "95% intervals", "stimuli", "raters")


@pytest.mark.browser
def test_every_figure_of_choices_is_drawn(browser: Browser, pairs: Path) -> None:
    html = (pairs / "report.html").read_text(encoding="utf-8")
    start = html.index(">", html.index('id="report-data"')) + 1
    figures = json.loads(html[start : html.index("</script>", start)])["figures"]
    assert {name.split("-")[0] for name in figures} == {"leaderboard", "shares", "scatter", "calibration"}
    watched = Watched(browser, pairs / "report.html")
    for name, figure in figures.items():
        host = watched.page.locator(f'[data-figure="{name}"]')
        assert host.locator("svg[role=group]").count() == len(figure["panels"]), name
        assert host.locator(".mark").count() > 0, name
    watched.quiet(pairs / "report.html")
    watched.context.close()
