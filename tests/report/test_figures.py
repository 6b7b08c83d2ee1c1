from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import polars as pl
import pytest

from heartfelt.analysis import Analysis
from heartfelt.analysis.findings.parts import PairDifference
from heartfelt.analysis.systems.effects import ADJUSTED, ONE_WAY
from heartfelt.report.charts import Absent, Chart, Map, TableRow
from heartfelt.report.figures import FIGURES, Figure
from heartfelt.report.figures.answers import tied_runs
from heartfelt.report.figures.deviations import brackets
from heartfelt.stats.estimate import Estimate
from tests.analysis.made import summary_of
from tests.facts import mentions

OF_SETS = ("compared", "best_and_worst", "graded", "matched", "referenced")
KINDS = ("conveyance", "opinion", "presence", "traced", "emotional", "drafted", *OF_SETS)
EVERYWHERE = {"ratings-per-item", "reliability-by-raters", "ceiling", "answers"}
TYPES = {"columns", "intervals", "plane", "map", "curve", "heatmap", "dumbbell", "trace"}
OF_CONVEYANCE = {
    "perceived-maps", "deviation-maps", "deviation-by-system", "absolute-deviation-by-quadrant",
    "absolute-deviation-by-system-and-quadrant", "slopes", "confusion", "answers-by-system", "raters", "sensitivity",
}  # fmt: skip
OF_TRACES = {"traces", "trace-agreement", "trace-lags"}
OF_CATEGORIES = {
    "category-balance", "category-map", "category-consistency", "category-confusion", "attributes", "field-agreement",
}  # fmt: skip
EXPECTED = {
    "emotional": EVERYWHERE | OF_CATEGORIES | {"agreement", "system-ranking", "answers-by-system", "confusion"},
    "conveyance": EVERYWHERE | OF_CONVEYANCE,
    "opinion": EVERYWHERE | {"system-ranking", "answers-by-system", "rater-groups"},
    "presence": EVERYWHERE | {"agreement"},
    "compared": {"ratings-per-item", "strengths", "win-matrix", "order-effect", "comparison-raters"},
    "best_and_worst": {"ratings-per-item", "strengths", "win-matrix", "best-worst"},
    "graded": EVERYWHERE | {"mushra", "mushra-medians", "system-ranking", "answers-by-system"},
    "matched": {"ratings-per-item", "abx"},
    "referenced": EVERYWHERE | {"against-reference", "system-ranking", "answers-by-system"},
    "drafted": {"draft-verdicts", "draft-effects", "planted-errors"},
    "traced": EVERYWHERE | OF_TRACES | {"system-ranking", "answers-by-system"},
}


def rows(analysis: Analysis, part: str, **where: Any) -> list[dict[str, Any]]:
    return [row for row in summary_of(analysis)[part] if all(row[key] == value for key, value in where.items())]


def panels(name: str, analysis: Analysis) -> list[dict[str, Any]]:
    """The panels as the page's script reads them."""
    result: Any = made(name, analysis).to_json()["panels"]
    return list(result)


def count(row: TableRow, column: str) -> float:
    value = row[column]
    assert isinstance(value, int | float)
    return value


def made(name: str, analysis: Analysis) -> Chart:
    chart = FIGURES[name].chart(analysis)
    assert isinstance(chart, Chart), chart
    return chart


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_of_study_gets_its_figures_and_reasons_for_the_rest(
    kind: str, request: pytest.FixtureRequest
) -> None:
    analysis: Analysis = request.getfixturevalue(kind)
    results = {name: FIGURES[name].chart(analysis) for name in FIGURES}
    drawn = {name for name, chart in results.items() if isinstance(chart, Chart)}
    assert EXPECTED[kind] <= drawn
    assert not drawn & (
        (OF_CONVEYANCE | OF_TRACES | {"system-ranking", "agreement", "rater-groups"})
        - EXPECTED[kind]
        - {"raters", "sensitivity"}
    )
    for chart in results.values():
        if isinstance(chart, Absent):
            assert len(chart.reason) > 10


@pytest.mark.slow
@pytest.mark.parametrize("name", list(FIGURES))
def test_every_figure_keeps_the_form(name: str, request: pytest.FixtureRequest) -> None:
    figure = FIGURES[name]
    assert isinstance(figure, Figure)
    assert figure.name == name
    assert figure.about
    charts = [figure.chart(request.getfixturevalue(kind)) for kind in KINDS]
    known = [chart for chart in charts if isinstance(chart, Chart)]
    assert known, "no kind of study shows it"
    for chart in known:
        assert chart.type in TYPES
        assert chart.title
        assert chart.caption.endswith(".")
        assert chart.panels
        assert chart.rows, "a figure without the table behind it"
        json.dumps([chart.to_json(), list(chart.rows)], allow_nan=False)


def test_ratings_per_item_are_the_counts(conveyance: Analysis) -> None:
    chart = made("ratings-per-item", conveyance)
    (what,) = set(chart.rows[0]) - {"ratings"}
    results = {int(str(row["ratings"])): count(row, what) for row in chart.rows}
    counts = summary_of(conveyance)["counts"]["ratings_per_item"]
    assert {n: k for n, k in results.items() if k} == {int(n): k for n, k in counts.items()}
    assert (what == "stimuli") == (sum(results.values()) == summary_of(conveyance)["counts"]["rated"])


def test_deviations_are_those_of_the_summary(conveyance: Analysis) -> None:
    table = made("deviation-by-system", conveyance).rows
    assert len(table) == 6
    for row in table:
        (result,) = rows(conveyance, "systems", system=row["system"], question=row["question"])
        assert (row["deviation"], row["low"]) == (result["deviation"]["value"], result["deviation"]["low"])


def test_marks_are_the_three_smallest_significant_differences(conveyance: Analysis) -> None:
    for question, panel in zip(("valence", "arousal"), panels("deviation-by-system", conveyance), strict=True):
        pairs = rows(
            conveyance,
            "pairwise",
            outcome=question,
            deviation="signed",
            factor="system",
            method="Tukey-Kramer, adjusted means",
        )
        real = sorted((p for p in pairs if p["significant"]), key=lambda p: abs(p["difference"]))[:3]
        order = [row["label"] for row in panel["rows"]]
        marked = {frozenset((order[mark["a"]], order[mark["b"]])) for mark in panel["brackets"]}
        assert marked == {frozenset((p["a"], p["b"])) for p in real}
        assert all(mark["stars"] for mark in panel["brackets"])


def test_a_map_has_every_stimulus_reference_mean_and_ellipse(conveyance: Analysis) -> None:
    chart = made("perceived-maps", conveyance)
    drawn = panels("perceived-maps", conveyance)
    assert len(drawn) == 3
    assert sum(len(panel["points"]) for panel in drawn) == len(chart.rows) == summary_of(conveyance)["counts"]["rated"]
    for panel in drawn:
        assert len(panel["crosses"]) == 12
        assert len(panel["stars"]) == len(panel["ellipses"]) == 4
    value = conveyance.labels.filter(pl.col("question") == "valence").sort("stimulus")["value"][0]
    first = min(chart.rows, key=lambda row: str(row["stimulus"]))
    assert first["valence"] == pytest.approx(value)


def test_many_stimuli_are_thinned_but_not_their_means(conveyance: Analysis, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = made("perceived-maps", conveyance)
    monkeypatch.setattr("heartfelt.report.figures.maps.MOST_POINTS", 15)
    thin = made("perceived-maps", conveyance)
    assert sum(len(panel.points) for panel in thin.panels if isinstance(panel, Map)) <= 15
    assert mentions(thin.caption, "3 stimuli", "drawn")
    assert thin.rows == whole.rows
    assert [panel.stars for panel in thin.panels if isinstance(panel, Map)] == [
        panel.stars for panel in whole.panels if isinstance(panel, Map)
    ]


def test_the_curve_passes_through_what_was_estimated(conveyance: Analysis) -> None:
    for series in panels("reliability-by-raters", conveyance)[0]["series"]:
        given = summary_of(conveyance)["reliability"][series["label"]]["reliability_with"]
        curve = {point["x"]: point["y"] for point in series["points"]}
        for raters, estimate in given.items():
            if int(raters) in curve:
                assert curve[int(raters)] == pytest.approx(estimate["value"], abs=0.005)


def test_raters_are_marked_and_linked_as_screening_found(conveyance: Analysis) -> None:
    chart = made("raters", conveyance)
    flagged = {row["rater"] for row in chart.rows if row["flagged"]}
    messages = {
        rater for rater, words in summary_of(conveyance)["screening"]["flagged"].items()
        if any(not reason.startswith("bias:") for reason in words)
    }  # fmt: skip
    assert flagged
    assert flagged <= messages
    groups = summary_of(conveyance)["screening"]["collusion"]
    (panel,) = panels("raters", conveyance)
    points = panel["points"]
    for a, b in panel["links"]:
        assert any({points[a]["label"], points[b]["label"]} <= set(group) for group in groups)


def test_sensitivity_shows_both_sides(conveyance: Analysis) -> None:
    chart = made("sensitivity", conveyance)
    assert len(chart.rows) == len(summary_of(conveyance)["sensitivity"])
    by_title = {panel["title"]: panel["rows"] for panel in panels("sensitivity", conveyance)}
    (alpha,) = [row for row in by_title["Reliability"] if row["label"].endswith("(interval), valence")]
    (result,) = rows(conveyance, "sensitivity", figure="alpha_interval", question="valence")
    assert alpha["before"]["value"] == result["with_all"]["value"]
    assert alpha["after"]["value"] == result["without"]["value"]


def test_confusion_counts_are_shares_of_rows(conveyance: Analysis) -> None:
    table = made("confusion", conveyance).rows
    for intended in {row["intended"] for row in table}:
        assert sum(count(row, "share") for row in table if row["intended"] == intended) == pytest.approx(1.0)


def test_answers_add_up_to_the_ratings(opinion: Analysis) -> None:
    assert (
        sum(count(row, "ratings") for row in made("answers", opinion).rows) == summary_of(opinion)["counts"]["answers"]
    )
    by_system = made("answers-by-system", opinion)
    assert sum(count(row, "ratings") for row in by_system.rows) == summary_of(opinion)["counts"]["answers"]
    assert [panel["columns"] for panel in panels("answers-by-system", opinion)] == [["1", "2", "3", "4", "5"]] * 2


def test_ranking_is_in_order(opinion: Analysis) -> None:
    for panel in panels("system-ranking", opinion):
        means = [row["value"] for row in panel["rows"]]
        assert means == sorted(means, reverse=True)


def test_ties_are_runs_of_neighbours_all_tied_with_each_other() -> None:
    assert tied_runs({"a": ["b"], "b": ["a", "c"], "c": ["b"], "d": []}) == ((0, 1), (1, 2))
    assert tied_runs({"a": ["b", "c"], "b": ["a", "c"], "c": ["a", "b"]}) == ((0, 2),)
    assert tied_runs({"a": ["c"], "b": [], "c": ["a"]}) == ()
    assert tied_runs({"a": []}) == ()


def test_agreement_has_every_question(presence: Analysis) -> None:
    chart = made("agreement", presence)
    assert {row["question"] for row in chart.rows} == {"joy", "pride"}
    kappas = [row["value"] for row in panels("agreement", presence)[0]["rows"]]
    assert kappas == sorted(kappas, reverse=True)


def pair(a: str, b: str, difference: float, *, significant: bool = True, method: str = ADJUSTED) -> PairDifference:
    model = "system + intent" if method == ADJUSTED else "system"
    size = Estimate(value=difference, low=difference - 0.1, high=difference + 0.1)
    return PairDifference(
        outcome="valence",
        deviation="signed",
        factor="system",
        model=model,
        method=method,
        a=a,
        b=b,
        difference=size,
        p=0.004,
        significant=significant,
    )


def test_brackets_mark_the_smallest_significant_differences_of_one_test(conveyance: Analysis) -> None:
    pairs = (
        pair("c", "a", 0.9),
        pair("a", "b", -0.2),
        pair("b", "c", 0.3, significant=False),
        pair("a", "d", 0.5),
        pair("b", "d", -0.4),
        pair("c", "d", 0.1, method=ONE_WAY),
        pair("a", "x", 0.05),
    )
    altered = replace(conveyance, summary=replace(conveyance.summary, pairwise=pairs))
    marks = brackets(altered, "valence", "signed", "system", {name: name.upper() for name in "abcd"})
    assert [(mark.a, mark.b) for mark in marks] == [(0, 1), (1, 3), (0, 3)]
    assert [mark.stars for mark in marks] == ["**"] * 3
    assert marks[0].words == f"A and B differ by 0.20\np = .004, {ADJUSTED}"
    assert brackets(altered, "valence", "absolute", "system", {"a": "a", "b": "b"}) == ()


@pytest.mark.parametrize(("needed", "marked"), [(40, True), (41, False)])
def test_a_target_is_marked_up_to_the_last_number_of_raters(conveyance: Analysis, needed: int, marked: bool) -> None:
    held = conveyance.summary.reliability
    assert held is not None
    part = replace(held["valence"], raters_needed={"0.7": 3, "0.8": 4, "0.9": needed})
    altered = replace(conveyance, summary=replace(conveyance.summary, reliability={"valence": part}))
    (panel,) = panels("reliability-by-raters", altered)
    assert panel["x"]["high"] == 40
    places = [(mark["x"], mark["y"]) for mark in panel["series"][0]["needed"]]
    assert places == [(4, 0.8), *([(needed, 0.9)] if marked else [])]
