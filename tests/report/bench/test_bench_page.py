"""The bench's page in a real Chromium, and the files beside it."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import polars as pl
import pytest

from heartfelt.errors import InputError
from heartfelt.predictors.interface.calls import Usage
from heartfelt.predictors.interface.predictor import PREDICTIONS
from heartfelt.report.bench import write_bench
from heartfelt.report.bench.page import score_sections, sentences
from heartfelt.report.site.sources.runs import read_scores
from heartfelt.scoring import ModelInfo, Scores
from heartfelt.snapshot import Snapshot
from tests.facts import mentions
from tests.report.bench.conftest import told
from tests.report.test_browser import Watched, until

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.browser


@pytest.fixture
def page(browser: Browser, folder: Path) -> Iterator[Watched]:
    watched = Watched(browser, folder / "report.html")
    yield watched
    watched.quiet(folder / "report.html")
    watched.context.close()


def data_of(folder: Path) -> dict[str, Any]:
    html = (folder / "report.html").read_text(encoding="utf-8")
    start = html.index(">", html.index('id="report-data"')) + 1
    results: dict[str, Any] = json.loads(html[start : html.index("</script>", start)])
    return results


def test_every_figure_is_drawn(page: Watched, folder: Path) -> None:
    figures = data_of(folder)["figures"]
    assert {name.split("-")[0] for name in figures} == {"leaderboard", "shares", "scatter", "parts"}
    for name, figure in figures.items():
        host = page.page.locator(f'[data-figure="{name}"]')
        assert host.locator("svg[role=group]").count() == len(figure["panels"]), name
        assert host.locator(".mark").count() > 0, name


def test_the_leaderboard_stands_under_its_ceiling(page: Watched, folder: Path) -> None:
    labels = page.page.locator('[data-figure="leaderboard-0"] svg text').all_text_contents()
    assert any("ceiling" in text for text in labels)
    assert "good <one>" in labels
    lines = data_of(folder)["figures"]["leaderboard-0"]["panels"][0]["lines"]
    ceiling = read_scores(folder / "scores.json").scores[0].ceiling.value
    assert lines[-1]["at"] == pytest.approx(ceiling)


def test_a_point_of_the_scatter_plays(page: Watched) -> None:
    dot = page.page.locator('[data-figure="scatter-0"] .plays').first
    dot.scroll_into_view_if_needed()
    box = dot.bounding_box()
    assert box is not None
    page.page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    assert page.page.locator("#player").is_visible()
    until(page.page, "document.getElementById('player-audio').readyState >= 1")
    assert "prediction" in page.page.locator("#player-words").inner_text()


def test_the_worst_misses_play_and_are_the_worst(page: Watched, folder: Path) -> None:
    page.page.locator("#misses summary").first.click()
    rows = page.page.locator("#misses table").first.locator("tbody tr")
    shown = [row.locator("td").all_inner_texts() for row in rows.all()]
    rows.first.locator("button.listen").click()
    assert page.page.locator("#player").is_visible()
    items = pl.read_parquet(folder / "items.parquet").filter((pl.col("task") == "valence") & pl.col("answered"))
    off = items.with_columns((pl.col("code") - pl.col("truth")).abs().alias("off"))
    for model in ("good <one>", "poor", "flat"):
        worst = off.filter(pl.col("model") == model)["off"].max()
        listed = [row for row in shown if row[0] == model]
        assert len(listed) == 10
        assert float(listed[0][3]) == pytest.approx(worst, abs=0.006)


def test_names_of_models_are_text(page: Watched) -> None:
    assert "good <one>" in (page.page.locator("#leaderboard").text_content() or "")
    assert page.page.locator("one").count() == 0


def test_narrow_screens_keep_to_their_width(browser: Browser, folder: Path) -> None:
    watched = Watched(browser, folder / "report.html", width=390)
    assert watched.page.evaluate("document.documentElement.scrollWidth") <= 392
    watched.quiet(folder / "report.html")
    watched.context.close()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["sided", "worded"])
def test_other_kinds_of_task(browser: Browser, request: pytest.FixtureRequest, kind: str) -> None:
    made: Path = request.getfixturevalue(kind)
    watched = Watched(browser, made / "report.html")
    for name, figure in data_of(made)["figures"].items():
        assert watched.page.locator(f'[data-figure="{name}"] svg[role=group]').count() == len(figure["panels"]), name
    text = watched.page.locator("main").inner_text()
    if kind == "sided":
        drawn = data_of(made)["figures"]
        assert [panel["title"] for panel in drawn["calibration-0"]["panels"]] == ["likely"]
        assert [panel["title"] for panel in drawn["confusion-0"]["panels"]] == ["similar", "likely"]
        assert "a failed prediction counts as the wrong answer" in text
    else:
        assert "caption" in text
        assert "CIDEr-D" in text
    watched.quiet(made / "report.html")
    watched.context.close()


def test_the_files_beside_the_page(folder: Path, numbered: Scores) -> None:
    names = {path.name for path in folder.iterdir()}
    assert names == {
        "predictions.parquet", "predictions.csv", "scores.json", "scores.csv", "items.parquet", "ledger.csv", "report.html",
        "media",
    }  # fmt: skip
    answer = json.loads(
        (folder / "scores.json").read_text(), parse_constant=lambda word: pytest.fail(f"{word} is no JSON")
    )
    assert answer["coverage"]["poor"]["valence"]["problems"] == {"HTTP 500": 4}
    assert {each["estimate"].get("why_missing") for each in answer["scores"] if each["estimate"]["value"] is None}
    frame = PREDICTIONS.check(pl.read_parquet(folder / "predictions.parquet"), "file")
    assert frame.height == 3 * 72
    with (folder / "scores.csv").open(newline="") as lines:
        assert len(list(csv.DictReader(lines))) == len(numbered.scores)


def test_media_are_files_next_to_the_page(
    folder: Path, sounding: Snapshot, numbered: Scores, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The page stays small; of a large collection nothing is copied."""
    played = data_of(folder)["media"]
    assert set(played) == set(sounding.stimuli["stimulus"])
    root = sounding.source.media_root
    assert root is not None
    for address in played.values():
        assert (folder / unquote(address)).read_bytes() == (root / unquote(address).removeprefix("media/")).read_bytes()
    assert "data:audio" not in (folder / "report.html").read_text()
    monkeypatch.setattr("heartfelt.report.layout.media.EMBED_AT_MOST", 1_000)
    linked = write_bench(numbered, told(sounding), tmp_path / "large", snapshot=sounding)
    assert not (linked / "media").exists()
    for address in data_of(linked)["media"].values():
        assert (linked / unquote(address)).is_file()


def test_tokens_and_cost_are_on_the_page(numbered: Scores, folder: Path) -> None:
    assert "Tokens and cost" not in (folder / "report.html").read_text()
    usage = Usage(
        requests=36,
        input_tokens=32_400,
        output_tokens=1_440,
        without_counts=2,
        cost=0.1188,
        models=("m-1",),
        fingerprints=(),
    )
    about = {"poor": ModelInfo(spec="poor", display_name="poor", usage=usage)}
    shown = next(section for section in score_sections(replace(numbered, model_info=about)) if section.id == "usage")
    for words in ("poor", "m-1", "32,400", "1,440", "0.1188"):
        assert words in shown.html


def test_the_verdict_says_who_leads_and_what_failed(numbered: Scores) -> None:
    answer = sentences(numbered, numbered.tasks[0])
    assert answer[0].startswith("valence: good <one> has the best Pearson correlation")
    assert mentions(answer, "4 items", "36")


def test_what_is_no_scores_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "scores.json"
    for text in ("{}", "nonsense"):
        path.write_text(text)
        with pytest.raises(InputError, match=r"read.*Scores"):
            read_scores(path)
