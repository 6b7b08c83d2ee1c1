"""How systems and intents differ: maps, deviations, slopes, quadrants, ranking, answers, and the tests behind them."""

from __future__ import annotations

from heartfelt.analysis import Analysis
from heartfelt.analysis.findings.ordinal import OrdinalCheck
from heartfelt.analysis.findings.parts import AnovaEffect, PairDifference, RatingModelEffect
from heartfelt.report.charts import Charts
from heartfelt.report.layout.naming import outcome, quadrant_look, system_names, why_missing
from heartfelt.report.layout.page import Section
from heartfelt.report.layout.tables import MOST_ROWS
from heartfelt.report.layout.templates import section
from heartfelt.wording import number


def maps(analysis: Analysis, charts: Charts) -> Section:
    """Where stimuli were perceived, and where they were meant to be."""
    stimuli = analysis.snapshot.stimuli
    playable = "found" in stimuli.columns and bool(stimuli["found"].any())
    return section("sections/maps", "maps", charts, playable=playable)


def deviations(analysis: Analysis, charts: Charts) -> Section:
    """How systems differ in what they convey."""
    names = system_names(analysis.snapshot)
    return section("sections/deviations", "systems", charts, names=names, **_tests(analysis))


def quadrants(analysis: Analysis, charts: Charts) -> Section:
    """Which intents come across."""
    names, look = system_names(analysis.snapshot), quadrant_look(analysis.snapshot.study)
    return section("sections/intents", "intents", charts, summary=analysis.summary, names=names, look=look)


def ranking(analysis: Analysis, charts: Charts) -> Section:
    """Systems in order, with the tests behind it."""
    return section("sections/ranking", "systems", charts, **_tests(analysis))


def answers(_: Analysis, charts: Charts) -> Section:
    """How often each answer was given."""
    return section("sections/answers", "answers", charts)


def _degrees(row: AnovaEffect | RatingModelEffect | OrdinalCheck) -> str:
    return ", ".join(number(d, 0 if float(d).is_integer() else 1) for d in row.df or () if d is not None)


def _tests(analysis: Analysis) -> dict[str, object]:
    """What the tables of tests are made of; pairs in families of one method."""
    families: dict[str, list[PairDifference]] = {}
    for pair in analysis.summary.pairwise or ():
        model = f" ({pair.model.replace('*', '×')})" if pair.model else ""
        about = f"Pairs of {pair.factor}s, {pair.outcome} {outcome(pair.deviation)}: {pair.method}{model}"
        families.setdefault(about, []).append(pair)
    return {
        "summary": analysis.summary,
        "families": families,
        "most_pairs": max(MOST_ROWS // max(len(families), 1), 1),
        "no_anova": why_missing(analysis, "anova", "nothing to compare"),
        "degrees": _degrees,
    }
