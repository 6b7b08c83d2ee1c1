"""What a report shows of stimuli judged together: the numbers of the summary, in figures, tables and words."""

from __future__ import annotations

import re
from pathlib import Path

import polars as pl
import pytest

from heartfelt.analysis import Analysis
from heartfelt.report.analysis import analysis_page, charts_of, write_analysis
from heartfelt.report.charts import Chart, Heatmap
from heartfelt.report.figures import FIGURES
from heartfelt.report.layout.page import render


def chart(name: str, analysis: Analysis) -> Chart:
    made = FIGURES[name].chart(analysis)
    assert isinstance(made, Chart), made
    return made


def page(analysis: Analysis, folder: Path) -> str:
    return render(analysis_page(analysis, charts_of(analysis), folder / "report.html"))


def test_strengths_are_those_of_the_summary(compared: Analysis) -> None:
    (result,) = compared.summary.comparisons or ()
    rows = chart("strengths", compared).rows
    assert [row["name"] for row in rows] == [each.name for each in result.ranked]
    for row, each in zip(rows, result.ranked, strict=True):
        assert (row["value"], row["low"], row["high"]) == (
            each.strength.value, each.strength.low, each.strength.high,
        )  # fmt: skip


def test_every_cell_of_the_win_matrix_is_a_share(compared: Analysis) -> None:
    (result,) = compared.summary.comparisons or ()
    (panel,) = chart("win-matrix", compared).panels
    assert isinstance(panel, Heatmap)
    for pair in result.pairs:
        a, b = panel.rows.index(pair.a), panel.rows.index(pair.b)
        share = (pair.a_wins + pair.ties / 2) / pair.comparisons
        assert panel.cells[a][b].value == pytest.approx(share)
        assert panel.cells[b][a].value == pytest.approx(1 - share)
        assert panel.cells[a][a].value is None


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "section", "words"),
    [
        ("compared", "How stimuli compare", "advantage of being first"),
        ("best_and_worst", "How stimuli compare", "best less worst"),
        ("graded", "MUSHRA grades", "post-screening leaves out"),
        ("matched", "How stimuli compare", "exact tests"),
        ("referenced", "How stimuli compare", "less the top of the scale"),
    ],
)
def test_pages_have_a_section_for_sets(
    kind: str, section: str, words: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    html = page(request.getfixturevalue(kind), tmp_path)
    assert section in re.findall(r"<h2[^>]*>(.*?)</h2>", html)
    assert words in html
    assert "This section is missing" not in html


def test_pages_without_single_ratings_leave_out_what_is_about_them(compared: Analysis, tmp_path: Path) -> None:
    titles = re.findall(r"<h2[^>]*>(.*?)</h2>", page(compared, tmp_path))
    assert "How far the ratings can be trusted" not in titles
    assert "What raters answered" not in titles


def test_pages_of_other_studies_have_no_such_section(opinion: Analysis, tmp_path: Path) -> None:
    titles = re.findall(r"<h2[^>]*>(.*?)</h2>", page(opinion, tmp_path))
    assert not {"How stimuli compare", "MUSHRA grades"} & set(titles)


def test_a_page_shows_a_related_study(opinion: Analysis, compared: Analysis, tmp_path: Path) -> None:
    charts = charts_of(opinion)
    shown = analysis_page(opinion, charts, tmp_path / "report.html", {"arena": compared})
    section = next(each for each in shown.sections if each.id == "arena")
    assert compared.summary.verdict_groups.bottom_line in section.html
    assert 'href="arena/report.html"' in section.html
    assert 'data-figure="arena-strengths"' in section.html
    assert "arena-strengths" in shown.data["figures"]  # type: ignore[operator]  # a mapping of charts by name
    assert [each.id for each in shown.sections][-1] == "files"
    assert "arena-strengths" not in charts


@pytest.mark.slow
def test_the_folder_holds_strengths_and_pairs(compared: Analysis, tmp_path: Path) -> None:
    folder = write_analysis(compared, tmp_path / "out")
    strengths = pl.read_csv(folder / "strengths.csv")
    assert strengths.filter(pl.col("of") == "system").height == 4
    pairs = pl.read_csv(folder / "pairs.csv")
    assert pairs["n"].sum() == 400
    assert (folder / "figures" / "win-matrix.svg").exists()
    assert not list((folder / "figures").glob("*.txt"))
