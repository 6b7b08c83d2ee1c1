"""Sections and figures of studies that ask for categories: what they show is what the analysis says."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from heartfelt.analysis import Analysis
from heartfelt.analysis.findings.categories import CategoryQuestion
from heartfelt.report import plot
from heartfelt.report.analysis import analysis_page, charts_of
from heartfelt.report.charts import Absent, Chart, Heatmap, Intervals, Map
from heartfelt.report.figures import FIGURES
from heartfelt.report.layout.media import thumbnails
from heartfelt.report.layout.page import Section, render
from heartfelt.report.palette import BASE_COLOUR, FLAGGED
from tests.analysis.emotions import EMOTIONS

if TYPE_CHECKING:
    from playwright.sync_api import Browser

NAMES = (
    "category-balance", "category-map", "category-consistency", "category-confusion", "attributes", "field-agreement",
)  # fmt: skip


def made(name: str, analysis: Analysis) -> Chart:
    chart = FIGURES[name].chart(analysis)
    assert isinstance(chart, Chart)
    return chart


@pytest.fixture(scope="module")
def result(emotional: Analysis) -> CategoryQuestion:
    (result,) = emotional.summary.categories or ()
    return result


@pytest.fixture(scope="module")
def sections(emotional: Analysis) -> dict[str, Section]:
    page = analysis_page(emotional, charts_of(emotional), Path("report.html"))
    return {section.id: section for section in page.sections}


def test_balance_has_a_bar_for_every_category(emotional: Analysis, result: CategoryQuestion) -> None:
    (panel,) = made("category-balance", emotional).panels
    assert isinstance(panel, Intervals)
    assert [row.label for row in panel.rows] == list(EMOTIONS)
    assert [row.value for row in panel.rows] == [row.share.value for row in result.balance.rows]
    assert panel.lines[0].at == pytest.approx(1 / 8)
    assert all("intended for 6 (12%)" in row.words for row in panel.rows)


@pytest.mark.slow
def test_the_map_has_every_category_and_stimulus(emotional: Analysis, result: CategoryQuestion) -> None:
    chart = made("category-map", emotional)
    panels = [panel for panel in chart.panels if isinstance(panel, Map)]
    assert [panel.title for panel in panels] == ["all categories", *EMOTIONS]
    assert not panels[0].points
    assert {star.label: (star.x, star.y) for star in panels[0].stars} == {
        place.category: tuple(place.means[name].value for name in result.axes) for place in result.places
    }
    for panel, place in zip(panels[1:], result.places, strict=True):
        assert len(panel.points) == place.n_stimuli
        assert place.ellipse is not None
        assert (panel.ellipses[0].long, panel.ellipses[0].short) == place.ellipse.semi_axes
        labels = emotional.labels.filter(pl.col("stimulus") == panel.points[0].stimulus)
        assert labels.filter(pl.col("question") == "emotion")["answer"].item() == place.category
        assert panel.points[0].x == pytest.approx(
            labels.filter(pl.col("question") == "valence")["value"].item(), abs=5e-4
        )
    assert len(chart.rows) == 8
    assert chart.rows[0]["valence"] == result.places[0].means["valence"].value
    axes = plot(emotional, "category-map").axes
    assert {text.get_text() for text in axes[0].texts} == set(EMOTIONS)


def test_consistency_and_confusion_show_the_numbers(emotional: Analysis, result: CategoryQuestion) -> None:
    variance, sides = (panel for panel in made("category-consistency", emotional).panels)
    assert isinstance(variance, Intervals)
    assert isinstance(sides, Intervals)
    assert [row.value for row in variance.rows] == [row.eta_squared.value for row in result.explained]
    assert result.polarity is not None
    assert [row.label for row in sides.rows] == ["all", *result.polarity.by_category]
    raters, recovered = (panel for panel in made("category-confusion", emotional).panels)
    assert isinstance(raters, Heatmap)
    assert isinstance(recovered, Heatmap)
    assert result.raters is not None
    assert [[cell.value for cell in line] for line in raters.cells] == [
        list(line) for line in result.raters.confusion.proportions
    ]
    assert "pairs of answers" in raters.cells[0][0].words


def test_attributes_are_shaded_both_ways(emotional: Analysis, result: CategoryQuestion) -> None:
    panel = made("attributes", emotional).panels[1]
    assert isinstance(panel, Heatmap)
    table = result.attributes[1]
    assert [row.split(" (")[0] for row in panel.rows] == list(table.attributes)
    cells = {(c.attribute, c.category): c for c in table.cells}
    shown = panel.cells[list(table.attributes).index("dog")][EMOTIONS.index("amusement")]
    dog = cells["dog", "amusement"]
    assert shown.text == f"{dog.lift:.1f}*"
    assert shown.value == pytest.approx(min(dog.residual or 0.0, 4.0))
    assert f"{dog.n_both} of {table.by_category['amusement']} stimuli" in shown.words
    away = panel.cells[list(table.attributes).index("dog")][EMOTIONS.index("anger")]
    assert away.value is not None
    assert away.value < 0
    drawn: Any = plot(emotional, "attributes").axes[1].collections[0]
    blue, orange = (tuple(int(code[i : i + 2], 16) / 255 for i in (1, 3, 5)) for code in (BASE_COLOUR, FLAGGED))
    colours = drawn.get_facecolors()[:, :3]
    assert any(colour == pytest.approx(blue, abs=0.01) for colour in colours), "the strongest cell is full blue"
    lightest = min(colours.tolist(), key=lambda c: c[2] - c[0])
    assert lightest[0] > lightest[2], f"cells below chance lean towards {orange}"


def test_agreement_by_field_leaves_out_what_has_none(emotional: Analysis) -> None:
    (panel,) = made("field-agreement", emotional).panels
    assert isinstance(panel, Intervals)
    assert [row.label for row in panel.rows] == ["emotion", "valence", "arousal", "objects"]
    assert [line.at for line in panel.lines] == [0.0, 0.667, 0.8]


def test_sections_say_it_in_words(sections: dict[str, Section], result: CategoryQuestion) -> None:
    html = sections["categories"].html
    assert f"{result.balance.n_stimuli} stimuli" in html
    assert "Stuart-Maxwell test" in html
    assert "of answers have a valence on the side of the rater" in html
    assert "of the categories are recovered" in html
    assert "dog with amusement" in html
    fields = sections["fields"].html
    assert "no distance between texts is agreed on" in fields
    assert "nobody answered this question" in fields


def test_the_contact_sheet_has_pictures_of_each_category(
    sections: dict[str, Section], result: CategoryQuestion
) -> None:
    html = sections["categories"].html
    sheets = re.findall(
        r'<section class="sheet"><h4>(\w+): (\d+) of (\d+) images?</h4>\n<ul>\n(.*?)</ul>', html, re.DOTALL
    )
    assert [sheet[0] for sheet in sheets] == list(EMOTIONS)
    for _, shown, of, pictures in sheets:
        assert int(shown) == pictures.count("<img") <= min(8, int(of))
    assert 'alt="image-000, amusement: ' in html
    assert "image-003.png" not in html
    assert 'data-stimulus="image-003"' not in html, "what cannot be read as an image is left out"
    assert html.count('src="data:image/jpeg;base64,') == sum(int(sheet[1]) for sheet in sheets)


@pytest.mark.slow
def test_pictures_are_bounded(emotional: Analysis, monkeypatch: pytest.MonkeyPatch) -> None:
    names = emotional.snapshot.stimuli["stimulus"].to_list()
    everything = thumbnails(emotional.snapshot, names)
    assert len(everything) == len(names) - 1
    monkeypatch.setattr("heartfelt.report.layout.media.THUMBNAILS_AT_MOST", 3000)
    few = thumbnails(emotional.snapshot, names)
    assert 0 < len(few) < len(everything)


@pytest.mark.slow
def test_other_studies_have_no_such_sections(conveyance: Analysis) -> None:
    charts = charts_of(conveyance)
    assert all(isinstance(charts[name], Absent) for name in NAMES)
    page = analysis_page(conveyance, charts, Path("report.html"))
    assert {"categories", "fields"}.isdisjoint(section.id for section in page.sections)


@pytest.mark.browser
def test_the_page_shows_a_picture_that_is_selected(emotional: Analysis, browser: Browser, tmp_path: Path) -> None:
    target = tmp_path / "report.html"
    target.write_text(render(analysis_page(emotional, charts_of(emotional), target)), encoding="utf-8")
    page = browser.new_context().new_page()
    problems: list[str] = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
    page.goto(f"{target.as_uri()}#categories")
    sheet = page.locator(".sheet button").first
    sheet.scroll_into_view_if_needed()
    sheet.focus()
    page.keyboard.press("Enter")
    assert page.locator("#player-image").is_visible()
    assert (
        page.locator("#player-image").evaluate("async image => { await image.decode(); return image.naturalWidth }")
        == 300
    )
    assert page.locator('#figure-category-map path[fill-opacity="0.09"]').count() == 16
    assert page.locator('#figure-attributes rect[fill="#d55e00"]').count() > 0
    assert problems == []
    page.context.close()
