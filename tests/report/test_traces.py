"""Traces in a report: the numbers are those of the statistics, the choice is bounded, and a cursor follows the clip."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import pytest

import heartfelt
from heartfelt.analysis import Analysis, AnalyzeOptions, analyze
from heartfelt.collect import Collection, CollectOptions
from heartfelt.labels.traces import aligned
from heartfelt.report import write_analysis
from heartfelt.report.analysis import analysis_page, charts_of
from heartfelt.report.charts import Absent, Chart, TracePanel
from heartfelt.report.figures import FIGURES
from heartfelt.report.figures.traces import MOST_LINES, MOST_MOMENTS, MOST_STIMULI, shown_stimuli
from heartfelt.report.layout.page import render
from heartfelt.report.sections.traces import traces as section
from heartfelt.snapshot import Snapshot
from heartfelt.stats.traces.traces import agreement_over_time, consensus
from tests.compared import traced as some_traces
from tests.report.test_browser import Watched, until
from tests.web.studies import rate, write_study

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page


def panels_of(analysis: Analysis) -> list[TracePanel]:
    chart = FIGURES["traces"].chart(analysis)
    assert isinstance(chart, Chart), chart
    return [panel for panel in chart.panels if isinstance(panel, TracePanel)]


def test_a_panel_shows_the_statistics(traced: Analysis) -> None:
    every = aligned(traced.snapshot, "valence")
    for panel in panels_of(traced):
        data = every[panel.stimulus]
        shared = consensus(data)
        assert panel.moments == pytest.approx(data.seconds, abs=1e-3)
        assert panel.shared == pytest.approx(shared.value, abs=1e-4)
        assert panel.low == pytest.approx(shared.low, abs=1e-4)
        assert panel.high == pytest.approx(shared.high, abs=1e-4)
        assert np.array(panel.raters) == pytest.approx(data.values, abs=1e-4)
        assert panel.y.low <= -1 < 1 <= panel.y.high
        moments, spread = agreement_over_time(data, 10.0)
        assert len(panel.spread) == len(moments)
        assert [value for _, value in panel.spread] == pytest.approx(spread, abs=1e-4)


def test_a_bounded_choice_runs_from_most_to_least_agreement(traced: Analysis) -> None:
    assert traced.summary.traces is not None
    (question,) = traced.summary.traces
    shown = shown_stimuli(question)
    values = [float(each.pairwise) for each in shown]
    every = [float(each.pairwise) for each in question.stimuli]
    assert len(shown) == MOST_STIMULI < len(every)
    assert values == sorted(values, reverse=True)
    assert (values[0], values[-1]) == (max(every), min(every))
    assert [panel.stimulus for panel in panels_of(traced)] == [each.stimulus for each in shown]
    chart = FIGURES["traces"].chart(traced)
    assert isinstance(chart, Chart)
    assert "6 of 8 are drawn" in chart.caption
    assert {row["stimulus"] for row in chart.rows} == {each.stimulus for each in question.stimuli}


@pytest.mark.slow
def test_long_traces_of_many_raters_are_thinned() -> None:
    base = some_traces(raters=30, clips=1)
    longer = base.traces.with_columns(pl.col("samples").list.eval(pl.element().repeat_by(20).explode()))
    snapshot = Snapshot.build(base.study, stimuli=base.stimuli, ratings=base.ratings, traces=longer)
    (panel,) = panels_of(analyze(snapshot, AnalyzeOptions(resamples=100)))
    assert len(panel.raters) == MOST_LINES
    assert len(panel.moments) == len(panel.shared) == len(panel.raters[0]) == MOST_MOMENTS
    assert panel.moments[-1] == pytest.approx(1195 / 2)


@pytest.mark.slow
def test_two_raters_have_no_band_and_one_no_agreement() -> None:
    two = analyze(some_traces(raters=2, clips=2), AnalyzeOptions(resamples=100))
    assert all(panel.low == () and panel.high == () for panel in panels_of(two))
    one = analyze(some_traces(raters=1, clips=2), AnalyzeOptions(resamples=100))
    assert all("CCC" not in panel.note for panel in panels_of(one))
    assert isinstance(FIGURES["trace-agreement"].chart(one), Absent)
    made = section(one, charts_of(one))
    assert made is not None
    assert "fewer than two raters" in made.html


def test_a_study_without_traces_has_no_section(conveyance: Analysis) -> None:
    assert section(conveyance, {}) is None
    absent = FIGURES["traces"].chart(conveyance)
    assert isinstance(absent, Absent)
    assert "no question was answered with traces" in absent.reason


def test_lags_of_every_rater_are_in_the_table(traced: Analysis) -> None:
    chart = FIGURES["trace-lags"].chart(traced)
    assert isinstance(chart, Chart)
    assert traced.summary.traces is not None
    lags = traced.summary.traces[0].lags
    assert {row["rater"]: row["lag"] for row in chart.rows} == {rater: lag.value for rater, lag in lags.items()}
    made = section(traced, charts_of(traced))
    assert made is not None
    assert all(f">{rater}</th>" in made.html for rater in lags)
    assert made.html.count('class="listen"') == 8


@pytest.fixture(scope="module")
def folder(traced: Analysis, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_analysis(traced, tmp_path_factory.mktemp("traced") / "out")


@pytest.mark.slow
def test_the_folder_has_courses_and_figures(folder: Path, traced: Analysis) -> None:
    table = pl.read_csv(folder / "courses.csv")
    assert table["stimulus"].to_list() == traced.courses["stimulus"].to_list()
    course = [float(value) for value in table["samples"][0].split("; ")]
    assert course == pytest.approx(traced.courses["samples"][0].to_list())
    assert 'href="courses.csv"' in (folder / "report.html").read_text(encoding="utf-8")
    for name in ("traces", "trace-agreement", "trace-lags"):
        for kind in ("pdf", "svg", "png", "csv"):
            assert (folder / "figures" / f"{name}.{kind}").stat().st_size > 100


@pytest.fixture
def report(browser: Browser, folder: Path) -> Iterator[Page]:
    watched = Watched(browser, folder / "report.html")
    yield watched.page
    watched.quiet(folder / "report.html")
    watched.context.close()


CURSORS = (
    "() => [...document.querySelectorAll('#figure-traces .cursor.on')].map((line) => Number(line.getAttribute('x1')))"
)


@pytest.mark.slow
@pytest.mark.browser
def test_a_cursor_follows_the_clip_and_a_click_plays_from_there(report: Page) -> None:
    report.evaluate("document.querySelector('details:has(> #traces)').open = true")
    figure = report.locator("#figure-traces [data-figure=traces]")
    assert figure.locator("svg[role=group]").count() == MOST_STIMULI
    assert report.evaluate(CURSORS) == []
    figure.locator("svg[role=group] .mark").first.click()
    until(report, "() => document.querySelectorAll('#figure-traces .cursor.on').length === 1")
    before = report.evaluate(CURSORS)[0]
    until(report, f"(before) => ({CURSORS})()[0] > before + 2", before)
    area = figure.locator("rect.hit.plays").nth(1)
    area.scroll_into_view_if_needed()
    box = area.bounding_box()
    assert box is not None
    report.mouse.click(box["x"] + 0.75 * box["width"], box["y"] + box["height"] / 2)
    until(report, "() => document.getElementById('player-audio').currentTime > 2")
    until(report, "() => document.getElementById('player-audio').ended")
    assert report.evaluate("() => document.querySelectorAll('#figure-traces .cursor.on').length") == 1
    report.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    until(report, "() => !document.querySelector('.tip').hidden")
    assert re.match(r"1\.[45] seconds\n", report.locator(".tip").inner_text())
    report.keyboard.press("Escape")
    assert report.evaluate(CURSORS) == []


@pytest.mark.slow
@pytest.mark.data
def test_vgmidi(shared_data: Path, tmp_path: Path) -> None:
    """3,006 traces in measures: a choice of pieces, without seconds and with nothing to play."""
    snapshot = heartfelt.read(shared_data / "vgmidi" / "vgmidi_raw_1.json")
    analysis = analyze(snapshot, AnalyzeOptions(resamples=100))
    panels = panels_of(analysis)
    assert len(panels) == 2 * MOST_STIMULI
    assert {panel.x.label for panel in panels} == {"samples"}
    text = render(analysis_page(analysis, charts_of(analysis), tmp_path / "report.html"))
    assert 'data-figure="trace-lags"' in text
    assert len(text) < 1_500_000


@pytest.mark.slow
def test_a_collected_study_with_gaps_is_reported(tmp_path: Path) -> None:
    """From answers as the pages send them, one with a tab in the background for half the clip, to the report."""
    folder = write_study(tmp_path / "study", each=1, quota=4)
    text = (folder / "study.yaml").read_text(encoding="utf-8")
    text = text.replace("{type: points, points: 9}", "{type: trace, low: 1, high: 9}")
    (folder / "study.yaml").write_text(text, encoding="utf-8")
    with Collection.open(folder, options=CollectOptions(seed=1, durable=False)) as collection:
        for place, person in enumerate(("ann", "ben", "cam", "dee")):
            course = [round(5 + 2 * math.sin(moment / 8 + place / 9) + place / 9, 3) for moment in range(60)]
            samples = [None, None, *course[2:25], *([None] * 30 if person == "dee" else course[25:55]), *course[55:]]
            answers = {question: {"samples": samples} for question in ("valence", "arousal")}
            rate(collection, person, values=answers)
        snapshot = collection.snapshot()
    analysis = analyze(snapshot, AnalyzeOptions(resamples=100))
    assert analysis.summary.traces is not None
    question = analysis.summary.traces[0]
    panel = panels_of(analysis)[0]
    assert panel.timed
    assert panel.moments[0] == pytest.approx(0.2), "nobody has a sample before the first move"
    left_out = {rater for stimulus in question.stimuli for rater in stimulus.left_out}
    assert len(left_out) == 1, "half a trace is too little"
    made = section(analysis, charts_of(analysis))
    assert made is not None
    assert "of less than half the longest trace" in made.html
