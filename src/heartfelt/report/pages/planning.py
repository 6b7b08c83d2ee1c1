"""A plan as a folder: plan.html, plan.json and its figures."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from markupsafe import Markup

from heartfelt.files import whole_folder, write_text
from heartfelt.planning import DesignForecast, QuestionForecast, StudyPlan
from heartfelt.planning.results import ContrastPower, StudyForecast
from heartfelt.report.charts import Absent, Axis, Chart, CurvePoint, Curves, Line, Series, TableRow, axis
from heartfelt.report.page import (
    ReportPage,
    Section,
    bullets,
    figure_block,
    folded,
    joined,
    paragraph,
    render,
)
from heartfelt.report.palette import colour
from heartfelt.report.tables import Columns, table_of
from heartfelt.serialization import write_json
from heartfelt.stats.estimate import Estimate
from heartfelt.wording import interval, number, percent

PAGE = "plan.html"
HOW = (
    "With a pilot, the interval of a power holds 95% of what the pilot leaves open, and Monte Carlo error; without one, Monte Carlo"
    " error alone. Ranges of other figures hold 95% of the simulated studies: what a single study of that design may show."
)


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
    html = joined(
        bullets([*plan.answers.sentences, *plan.notes]),
        Markup('<p>All of it: <a href="{0}">{0}</a></p>').format(link),
    )
    about = f"Up to {plan.options.studies:,} simulated studies of each of {len(plan.designs)} designs"
    return Section(
        id="plan",
        title="What the plan said",
        lead=f"{about}, before anybody rated.",
        html=html,
        short="Plan",
        fact=about,
    )


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
                value = float(estimate)
                points.append(
                    CurvePoint(
                        x=forecast.ratings_given, y=value, words=words, low=estimate.low, high=estimate.high
                    )
                )
                rows.append(
                    {
                        "question": question,
                        "design": forecast.words,
                        "ratings": forecast.ratings_given,
                        label: value,
                        "low": estimate.low,
                        "high": estimate.high,
                    }
                )
            unit_noun = "sets" if plan.kind == "comparison" else "clips"
            series.append(Series(f"{units:,} {unit_noun}", colour(index), tuple(points)))
        if series:
            every = [point for curve in series for point in curve.points]
            tops = [point.high if point.high is not None else point.y for point in every]
            x = axis("ratings in all", [point.x for point in every], include=(0.0,))
            y = (
                Axis(label=label, low=0.0, high=1.0, ticks=(0.0, 0.2, 0.4, 0.6, 0.8, 1.0))
                if label != "width"
                else axis(label, tops, include=(0.0,))
            )
            lines = () if line is None else (Line(line, f"{percent(line)}"),)
            panels.append(Curves(title=question, x=x, y=y, series=tuple(series), lines=lines))
    if not panels:
        return Absent("no design has it")
    return Chart(title=title, caption=caption, panels=panels, rows=rows)


def _page(plan: StudyPlan, charts: dict[str, Chart | Absent]) -> ReportPage:
    best = plan.best
    head = (
        "Recommended"
        if plan.recommended is not None
        else "Best of the grid (none reaches the power asked for)"
    )
    designs: Columns[DesignForecast] = {
        "design": lambda forecast: forecast.words + (" (own)" if forecast.design.own else ""),
        "ratings per clip": lambda forecast: forecast.ratings_per_unit,
        "lowest power": lambda forecast: percent(forecast.power),
        "minutes per rater": lambda forecast: number(forecast.minutes_per_rater, 0),
        "hours": lambda forecast: number(forecast.hours, 1),
        "cost": lambda forecast: None if forecast.cost is None else number(forecast.cost, 0),
        "ratings lost to screening": lambda forecast: (
            None if forecast.screening is None else percent(forecast.screening.ratings_lost)
        ),
    }
    tables = [_question_table(plan, name) for name in plan.designs[0].questions]
    advice = joined(bullets(plan.answers.sentences, "verdict"), bullets(plan.notes))
    precision = joined(figure_block("plan-width", charts), figure_block("plan-reliability", charts))
    every = table_of("Designs, what they take and what they find", plan.designs, designs)
    sections = [
        Section(
            id="answers", title="What to do", lead=f"{head}: {best.words}.", html=advice, short="Answers"
        ),
        Section(id="power", title="Power", lead=HOW, html=figure_block("plan-power", charts)),
        Section(
            id="precision",
            title="Width of intervals and reliability",
            lead="",
            html=precision,
            short="Precision",
        ),
        Section(id="designs", title="All designs", lead="", html=joined(every, *tables)),
        Section(
            id="assumptions",
            title="What this rests on",
            lead=f"{plan.pilot.source}.",
            html=_assumptions(plan),
        ),
    ]
    contrasts = [row for q in best.questions.values() for row in q.contrasts]
    if contrasts:
        columns: Columns[ContrastPower] = {
            "first": lambda row: row.a,
            "second": lambda row: row.b,
            "planted difference": lambda row: row.difference,
            "power": lambda row: row.power,
        }
        of_pairs = [
            table_of(f"Pairs under '{q.question}', {best.words}", q.contrasts, columns)
            for q in best.questions.values()
            if q.contrasts
        ]
        sections.insert(
            2, Section(id="pairs", title="Power of each pair", html=joined(*of_pairs), short="Pairs")
        )
    facts = [
        ("designs", number(len(plan.designs))),
        ("simulated studies each, at most", number(plan.options.studies)),
        ("policy", plan.options.policy),
        ("seed", str(plan.options.seed)),
    ]
    lead = "What the study will show, take and cost, simulated before collecting."
    return ReportPage(
        title=f"Plan: {plan.study}", subtitle=lead, sections=sections, charts=charts, media={}, facts=facts
    )


def _question_table(plan: StudyPlan, question: str) -> Markup:
    def shown(forecast: StudyForecast) -> Estimate:
        return forecast.estimate

    columns: Columns[DesignForecast] = {
        "design": lambda forecast: forecast.words,
        "power": lambda forecast: forecast.questions[question].power,
        "pairs found": lambda forecast: shown(forecast.questions[question].pairs_found),
        "width of a difference": lambda forecast: shown(forecast.questions[question].difference_width),
        "width of a mean": lambda forecast: shown(forecast.questions[question].mean_width),
        "alpha": lambda forecast: shown(forecast.questions[question].alpha),
        "reliability of means": lambda forecast: shown(forecast.questions[question].icc1k),
        "ceiling": lambda forecast: shown(forecast.questions[question].ceiling),
    }
    return folded(
        f"Forecasts for '{question}'", table_of(f"Forecasts for '{question}'", plan.designs, columns)
    )


def _assumptions(plan: StudyPlan) -> Markup:
    pilot = plan.pilot
    lines = [
        f"Careless raters: {percent(pilot.careless)}; raters who leave early: {percent(pilot.dropout)}; seconds per trial:"
        f" {number(pilot.seconds, 0)}.",
        *(
            f"Variances of one rating under '{name}': system {parts.system:.3g}, intent {parts.intent:.3g}, their interaction"
            f" {parts.cell:.3g}, stimulus {parts.stimulus:.3g}, rater {parts.rater:.3g}, residual {parts.residual:.3g}."
            for name, parts in pilot.components.items()
        ),
        "What the pilot leaves open about these numbers is part of every range and of the intervals of powers."
        if pilot.from_pilot
        else "These numbers are taken as known.",
    ]
    return joined(bullets(lines), paragraph(pilot.credit) if pilot.credit else Markup(""))
