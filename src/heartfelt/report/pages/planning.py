"""A plan as a folder: plan.html, plan.json and its figures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from heartfelt.files import whole_folder, write_text
from heartfelt.planning import DesignForecast, QuestionForecast, StudyPlan
from heartfelt.report.charts import Absent, Axis, Chart, CurvePoint, Curves, Line, Series, TableRow, axis
from heartfelt.report.layout.page import ReportPage, Section, render
from heartfelt.report.layout.templates import section
from heartfelt.report.palette import colour
from heartfelt.serialization import write_json
from heartfelt.stats.estimate import Estimate
from heartfelt.wording import interval, number, percent

PAGE = "plan.html"


def write_plan(plan: StudyPlan, folder: Path | str, *, replace: bool = False) -> Path:
    """Write plan.html, plan.json and figures/; return the folder."""
    from heartfelt.report.drawing.processes import drawing

    target, charts = Path(folder), plan_charts(plan)
    with whole_folder(target, replace=replace) as staging, drawing(charts, staging / "figures"):
        write_json(staging / "plan.json", plan)
        write_text(staging / PAGE, render(_page(plan, charts)))
    return target


def plan_section(plan: StudyPlan, link: str) -> Section:
    """The plan on another page: its answers, and the way to the whole."""
    return section("pages/plan_elsewhere", "plan", plan=plan, link=link)


def plan_charts(plan: StudyPlan) -> dict[str, Chart | Absent]:
    """Power, and the width of intervals, over the ratings that designs take."""
    return {
        "plan-power": _chart(
            plan,
            "Power",
            "Power to find a pair of systems, corrected for all pairs, by ratings in all. Bands: what the pilot leaves open, and"
            " Monte Carlo error.",
            lambda q: q.power,
            "power",
            plan.options.power,
        ),
        "plan-width": _chart(
            plan,
            "Width of intervals",
            "Width of the 95% interval of a difference between two systems. Bands hold 95% of the simulated studies.",
            lambda q: q.difference_width.estimate,
            "width",
            None,
        ),
        "plan-reliability": _chart(
            plan,
            "Reliability of mean ratings",
            "ICC(1,k) of the stimuli's mean ratings. Bands hold 95% of the simulated studies.",
            lambda q: q.icc1k.estimate,
            "reliability",
            None,
        ),
    }


def _chart(
    plan: StudyPlan,
    title: str,
    caption: str,
    figure: Callable[[QuestionForecast], Estimate],
    label: str,
    line: float | None,
) -> Chart | Absent:
    panels, rows = [], list[TableRow]()
    for question in plan.designs[0].questions:
        groups: dict[int, list[DesignForecast]] = {}
        for forecast in plan.designs:
            if not figure(forecast.questions[question]).is_missing:
                groups.setdefault(forecast.design.units, []).append(forecast)
        series = []
        for index, (units, designs) in enumerate(sorted(groups.items())):
            points = []
            for forecast in sorted(designs, key=lambda forecast: forecast.ratings_given):
                estimate = figure(forecast.questions[question])
                words = f"{forecast.words}: {label} {interval(estimate)}"
                ratings, value, low, high = forecast.ratings_given, float(estimate), estimate.low, estimate.high
                points.append(CurvePoint(x=ratings, y=value, words=words, low=low, high=high))
                about: TableRow = {"question": question, "design": forecast.words, "ratings": ratings}
                rows.append({**about, label: value, "low": low, "high": high})
            unit_noun = "sets" if plan.kind == "comparison" else "clips"
            series.append(Series(f"{units:,} {unit_noun}", colour(index), tuple(points)))
        if series:
            panels.append(_panel(question, series, label, line))
    if not panels:
        return Absent("no design has it")
    return Chart(title=title, caption=caption, panels=panels, rows=rows)


def _panel(question: str, series: Sequence[Series], label: str, line: float | None) -> Curves:
    every = [point for curve in series for point in curve.points]
    y = Axis(label=label, low=0.0, high=1.0, ticks=(0.0, 0.2, 0.4, 0.6, 0.8, 1.0))
    if label == "width":
        y = axis(label, [point.high if point.high is not None else point.y for point in every], include=(0.0,))
    x = axis("ratings in all", [point.x for point in every], include=(0.0,))
    lines = () if line is None else (Line(line, f"{percent(line)}"),)
    return Curves(title=question, x=x, y=y, series=tuple(series), lines=lines)


def _page(plan: StudyPlan, charts: dict[str, Chart | Absent]) -> ReportPage:
    questions = [question for question in plan.best.questions.values() if question.contrasts]
    names = ["answers", "power", *(["pairs"] if questions else []), "precision", "designs", "assumptions"]
    facts = [
        ("designs", number(len(plan.designs))),
        ("simulated studies each, at most", number(plan.options.studies)),
        ("policy", plan.options.policy),
        ("seed", str(plan.options.seed)),
    ]
    return ReportPage(
        title=f"Plan: {plan.study}",
        subtitle="What the study will show, take and cost, simulated before collecting.",
        sections=[section(f"pages/plan_{name}", name, charts, plan=plan, questions=questions) for name in names],
        charts=charts,
        facts=facts,
    )
