from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from markupsafe import Markup

from heartfelt.analysis import Analysis
from heartfelt.analysis.summary import PublishedFigure
from heartfelt.report import write_overview
from heartfelt.report.analysis import analysis_page, charts_of
from heartfelt.report.charts import Chart
from heartfelt.report.figures import FIGURES
from heartfelt.report.layout.page import ReportPage, Section, render, script_json
from tests.analysis.made import summary_of
from tests.docs.reference import meanings, settings_pages
from tests.report import studies

VOID = {"meta", "link", "img", "input", "br"}


class Outline(HTMLParser):
    """Ids, links and the nesting of a page."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.links: list[str] = []
        self.headings: list[tuple[int, str]] = []
        self.sources: list[str] = []
        self._open: list[str] = []
        self.feed(html)
        assert not self._open, self._open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        result = dict(attrs)
        if tag not in VOID:
            self._open.append(tag)
        if result.get("id"):
            self.ids.append(str(result["id"]))
        if tag == "a":
            self.links.append(str(result["href"]))
        if result.get("src"):
            self.sources.append(str(result["src"]))
        if re.fullmatch(r"h[1-6]", tag):
            self.headings.append((int(tag[1]), ""))

    def handle_data(self, data: str) -> None:
        if self._open and re.fullmatch(r"h[1-6]", self._open[-1]):
            self.headings[-1] = (self.headings[-1][0], self.headings[-1][1] + data)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag


@pytest.fixture(scope="module")
def html(written: Path) -> str:
    return (written / "report.html").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def outline(html: str) -> Outline:
    return Outline(html)


def test_the_verdict_comes_first(html: str, outline: Outline, conveyance: Analysis) -> None:
    titles = [words for level, words in outline.headings if level == 2]
    assert titles[:2] == ["Bottom line", "All conclusions"]
    assert html.index(str(summary_of(conveyance)["verdict"][0])[:40]) < html.index("data-figure")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "figure"),
    [
        ("conveyance", "perceived-maps"),
        ("opinion", "system-ranking"),
        ("presence", "agreement"),
        ("compared", "strengths"),
        ("graded", "mushra"),
        ("traced", "traces"),
    ],
)
def test_the_first_screen_has_the_answers_used_one_figure_and_three_facts(
    kind: str, figure: str, request: pytest.FixtureRequest
) -> None:
    analysis: Analysis = request.getfixturevalue(kind)
    page = analysis_page(analysis, charts_of(analysis), Path("report.html"))
    text = Markup(page.opening).striptags()
    assert analysis.summary.answers_used.total > 0
    assert analysis.summary.answers_used.words in text
    assert re.findall(r'data-figure="([^"]+)" data-opening', page.opening) == [figure]
    titles = re.findall(r'<div class="one-fact">\n<h3>([^<]+)', page.opening)
    assert [title.split()[0].rstrip(":") for title in titles] == ["Reliability", "Raters", "Next"]
    assert analysis.summary.verdict_groups.next_step.replace("`", "") in text
    sections = {section.id for section in page.sections}
    for link in re.findall(r'href="#([^"]+)"', page.opening):
        assert link in sections or link == f"figure-{figure}"


def test_why_answers_are_not_used_is_folded_below_their_number(graded: Analysis) -> None:
    page = analysis_page(graded, {}, Path("report.html"))
    (reason,) = graded.summary.answers_used.reasons
    assert f"<li>{reason}</li>" in page.opening


def test_every_folded_section_has_its_main_fact(html: str, conveyance: Analysis) -> None:
    page = analysis_page(conveyance, charts_of(conveyance), Path("report.html"))
    assert [section.id for section in page.sections if not section.fact] == []
    assert html.count('<details class="part">') == len(page.sections)


def test_headings_go_down_one_level_at_a_time(outline: Outline) -> None:
    levels = [level for level, _ in outline.headings]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(b <= a + 1 for a, b in pairwise(levels))


def test_ids_are_unique_and_links_lead_somewhere(outline: Outline, written: Path) -> None:
    assert len(outline.ids) == len(set(outline.ids))
    for link in outline.links:
        if link.startswith("#"):
            assert link[1:] in outline.ids
        else:
            assert (written / link).is_file(), link


def test_nothing_is_fetched_from_elsewhere(html: str, outline: Outline) -> None:
    assert not re.search(r"(src|href)=[\"']?(https?:)?//", html)
    assert "@import" not in html
    assert "eval(" not in html
    assert "default-src 'none'" in html
    assert all(source.startswith("figures/") for source in outline.sources)


def test_every_figure_is_on_the_page_with_its_files(html: str, conveyance: Analysis, page_data: dict[str, Any]) -> None:
    drawn = {name for name, chart in charts_of(conveyance).items() if isinstance(chart, Chart)}
    assert set(page_data["figures"]) == drawn
    for name in drawn:
        assert f'data-figure="{name}"' in html
        for kind in ("pdf", "svg", "png", "csv"):
            assert f'href="figures/{name}.{kind}"' in html


def test_small_media_are_inside(page_data: dict[str, Any], conveyance: Analysis) -> None:
    assert set(page_data["media"]) == set(conveyance.snapshot.stimuli["stimulus"])
    assert all(source.startswith("data:audio/wav;base64,") for source in page_data["media"].values())


@pytest.mark.slow
def test_large_media_are_linked_from_where_the_page_will_lie(
    conveyance: Analysis, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("heartfelt.report.layout.media.EMBED_AT_MOST", 10)
    page = analysis_page(conveyance, {}, tmp_path / "deep" / "out" / "report.html")
    for name, source in page.media.items():
        assert (tmp_path / "deep" / "out" / source).resolve() == conveyance.snapshot.source.media_root / f"{name}.wav"  # type: ignore[operator]  # there is one


@pytest.mark.slow
def test_the_page_is_light_without_media(conveyance: Analysis) -> None:
    page = analysis_page(conveyance, charts_of(conveyance), Path("report.html"))
    bare = replace(page, media={})
    assert len(render(bare).encode()) < 1_500_000


def test_copies_are_shown_side_by_side(html: str, conveyance: Analysis) -> None:
    groups = summary_of(conveyance)["screening"]["collusion"]
    assert groups
    assert html.count('class="sequences"') == 2 * len(groups)
    assert f"Group 1: {', '.join(groups[0])}" in html


def test_paragraphs_for_the_paper_are_there_to_copy(html: str) -> None:
    assert 'data-copy="paper-methods"' in html
    assert 'data-copy="paper-results"' in html


def test_published_numbers_stand_beside_recomputed_ones_digit_for_digit(conveyance: Analysis) -> None:
    rows = (
        PublishedFigure(what="clips", published=991, recomputed=991, agrees=True),
        PublishedFigure(what="eta squared", published=0.0836, recomputed=0.083602, agrees=True, printed=".0836"),
        PublishedFigure(what="F", published=150.53, recomputed=151.2, agrees=False, printed="150.53"),
        PublishedFigure(what="df", published=(5, 974), recomputed=(5, 974), agrees=True),
    )
    altered = replace(conveyance, summary=replace(conveyance.summary, published=rows))
    (section,) = [s for s in analysis_page(altered, {}, Path("report.html")).sections if s.id == "published"]
    assert section.lead == "3 of 4 published numbers are reproduced from the ratings."
    assert section.html.count(">.0836<") == 2
    assert ">151.20<" in section.html
    assert section.html.count(">5, 974<") == 2
    assert section.html.count('class="no"') == 1


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["opinion", "presence"])
def test_other_studies_have_their_own_sections(kind: str, request: pytest.FixtureRequest) -> None:
    analysis: Analysis = request.getfixturevalue(kind)
    page = analysis_page(analysis, charts_of(analysis), Path("report.html"))
    ids = [section.id for section in page.sections]
    assert ids[0] == "conclusions"
    assert ("systems" in ids) == (kind == "opinion")
    assert ("agreement" in ids) == (kind == "presence")
    assert "maps" not in ids
    Outline(render(page))


def test_hostile_names_stay_text() -> None:
    bad = "</script><script>alert(1)</script><img src=x onerror=alert(2)>"
    page = ReportPage(
        title=bad,
        subtitle=bad,
        sections=[Section(id="s", title=bad, lead=bad)],
        charts={},
        media={"x": bad},
        facts=[(bad, bad)],
    )
    html = render(page)
    assert "<script>alert" not in html
    assert "<img src=x" not in html
    assert html.count("</script>") == 2


def test_script_json_refuses_what_json_has_no_word_for() -> None:
    with pytest.raises(ValueError):
        script_json({"x": float("nan")})
    assert "<" not in script_json("</script>")


@pytest.mark.slow
def test_the_overview_of_a_snapshot(tmp_path: Path) -> None:
    target = write_overview(studies.conveyance(tmp_path / "tones"), tmp_path / "new" / "overview.html")
    html = target.read_text(encoding="utf-8")
    Outline(html)
    assert 'data-figure="map"' in html
    plain = write_overview(studies.opinion(), tmp_path / "plain.html").read_text(encoding="utf-8")
    assert "there is no map to draw" in plain


@pytest.mark.slow
def test_every_figure_is_documented() -> None:
    figures = meanings(settings_pages()["figures.md"])
    assert set(figures) == set(FIGURES)
    assert all(len(meaning) > 20 for meaning in figures.values())
