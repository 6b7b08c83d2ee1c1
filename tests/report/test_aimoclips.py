"""The published study: its five figures redrawn from the real ratings, with the published numbers in them."""

from __future__ import annotations

from pathlib import Path

import pytest

import heartfelt
from heartfelt.analysis import Analysis, AnalyzeOptions, analyze
from heartfelt.report.analysis import analysis_page, charts_of
from heartfelt.report.charts import Absent, Chart, Intervals, Map, TableRow
from heartfelt.report.layout.page import render

pytestmark = pytest.mark.data
SOURCE = "Go et al. (2025), AImoclips: text and figures 2 to 6"
RATINGS_PER_CLIP = {"4": 67, "5": 205, "6": 315, "7": 270, "8": 117, "9": 17}


@pytest.fixture(scope="module")
def analysis(shared_data: Path) -> Analysis:
    return analyze(heartfelt.read(shared_data / "aimoclips"), AnalyzeOptions(resamples=100))


@pytest.fixture(scope="module")
def charts(analysis: Analysis) -> dict[str, Chart | Absent]:
    return charts_of(analysis)


def drawn(charts: dict[str, Chart | Absent], name: str) -> Chart:
    chart = charts[name]
    assert isinstance(chart, Chart), chart
    return chart


def number(row: TableRow, column: str) -> float:
    value = row[column]
    assert isinstance(value, float)
    return value


def test_figure_2_ratings_per_clip(charts: dict[str, Chart | Absent]) -> None:
    rows = drawn(charts, "ratings-per-item").rows
    assert {row["ratings"]: row["stimuli"] for row in rows} == RATINGS_PER_CLIP


def test_figure_3_open_systems_are_less_pleasant_than_intended(charts: dict[str, Chart | Absent]) -> None:
    chart = drawn(charts, "deviation-maps")
    off = {row["name"]: row for row in chart.rows}
    assert all(
        number(off[name], "valence") < 0 for name in ("AudioLDM 2", "MusicGen", "Mustango", "Stable Audio Open 1.0")
    )
    assert all(number(off[name], "valence") > 0 for name in ("Suno v4.5", "Udio v1.5 Allegro"))
    assert {name for name, row in off.items() if row["part"] == "systems" and number(row, "arousal") < 0} == {
        "AudioLDM 2",
        "Mustango",
    }
    nearest = min(
        (row for row in chart.rows if row["part"] == "quadrants"), key=lambda row: abs(number(row, "arousal"))
    )
    assert nearest["name"] == "HVHA"


@pytest.mark.parametrize("name", ["deviation-by-system", "absolute-deviation-by-quadrant"])
def test_figures_4_and_6_carry_three_marks_a_panel(charts: dict[str, Chart | Absent], name: str) -> None:
    for panel in drawn(charts, name).panels:
        assert isinstance(panel, Intervals)
        assert len(panel.brackets) == 3
        for row in panel.rows:
            assert row.low is not None
            assert row.value is not None
            assert row.high is not None
            assert row.low < row.value < row.high


def test_figure_5_has_six_maps_of_all_clips(charts: dict[str, Chart | Absent]) -> None:
    chart = drawn(charts, "perceived-maps")
    assert len(chart.panels) == 6
    assert len(chart.rows) == sum(len(panel.points) for panel in chart.panels if isinstance(panel, Map)) == 991


def test_the_page_has_every_published_number_and_stays_light(
    analysis: Analysis, charts: dict[str, Chart | Absent], tmp_path: Path
) -> None:
    page = analysis_page(analysis, charts, tmp_path / "out" / "report.html")
    (section,) = [each for each in page.sections if each.id == "published"]
    assert section.lead == "Every published number is reproduced from the ratings."
    for printed in ("150.53", ".123", "39.44", ".0836", "29.27", ".0814", "14.62", ".0421"):
        assert section.html.count(f">{printed}<") == 2
    assert len(render(page).encode()) < 1_500_000
    media = page.media
    if media:
        assert not any(source.startswith("data:") for source in media.values())
        assert all((tmp_path / "out" / source).resolve().is_file() for source in list(media.values())[:20])
