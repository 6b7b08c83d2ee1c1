"""An analysis as a folder (numbers, tables, figures and a page) that is either complete or absent, and its page."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import polars as pl
from markupsafe import Markup

from heartfelt.analysis import Analysis
from heartfelt.analysis.text.verdict_comparisons import noun
from heartfelt.failures import Failed, attempt
from heartfelt.files import whole_folder, write_text
from heartfelt.formats.tables.delimited import csv_text
from heartfelt.progress import Progress
from heartfelt.report.charts import Absent, Chart, Charts, chart_or_reason
from heartfelt.report.drawing.processes import Helper, drawing
from heartfelt.report.figures import FIGURES
from heartfelt.report.layout.media import media_sources
from heartfelt.report.layout.page import ReportPage, Section, absent, render, section_or_reason
from heartfelt.report.sections import (
    categories,
    comparisons,
    opening,
    outcome,
    raters,
    reliability,
    systems,
    traces,
    verification,
)
from heartfelt.serialization import write_json
from heartfelt.study.model import say
from heartfelt.wording import number

PAGE = "report.html"
SYSTEMS: Mapping[str, tuple[Callable[[Analysis, Charts], Section], ...]] = {
    "conveyance": (systems.maps, systems.deviations, systems.quadrants),
    "opinion": (systems.ranking,),
}
"""What a report says of systems, by kind of study."""
RELATED_FIGURES = (*("strengths", "win-matrix", "system-ranking"), *("category-map", "draft-effects", "planted-errors"))
"""What a page shows of a study that is related to its own, as far as that has it."""


def write_analysis(
    analysis: Analysis,
    folder: Path | str,
    *,
    replace: bool = False,
    related: Mapping[str, Analysis] = {},
    before: Sequence[Section] = (),
    figures: bool = True,
    progress: Progress | None = None,
    helper: Helper | None = None,
) -> Path:
    """Write summary.json, labels.csv, raters.csv, ledger.csv, figures/ and report.html; return the folder.

    Without ``figures`` no pictures are written, which takes most of the time of a small study; the page draws its own.

    ``related`` studies, by the folder of their own report next to the page, get a section each: what they found, their
    main figures, and a link. ``before`` are sections about steps before the ratings, such as the plan. ``helper`` draws
    a share of the figures, if one waits already.
    """
    target, charts = Path(folder), charts_of(analysis, pictures=figures)
    tables = {"labels": analysis.labels, "raters": analysis.raters, "ledger": full_ledger(analysis)}
    compared = {"strengths": analysis.strengths, "pairs": analysis.pairs, "courses": analysis.courses}
    compared["adjudications"] = analysis.snapshot.adjudications
    tables |= {name: table for name, table in compared.items() if table.height}
    with whole_folder(target, replace=replace) as staging, drawing(charts, staging / "figures", progress, helper):
        write_json(staging / "summary.json", analysis.summary)
        for name, table in tables.items():
            write_text(staging / f"{name}.csv", csv_text(flat(table)))
        write_text(staging / PAGE, render(analysis_page(analysis, charts, target / PAGE, related, before)))
    return target


def charts_of(analysis: Analysis, *, pictures: bool = True) -> dict[str, Chart | Absent]:
    """Every figure of an analysis, or why there is none; a failure of one leaves the others."""
    out: dict[str, Chart | Absent] = {}
    for name in FIGURES:
        chart = chart_or_reason(name, FIGURES[name].chart, analysis)
        out[name] = dataclasses.replace(chart, pictures=False) if isinstance(chart, Chart) and not pictures else chart
    return out


def flat(table: pl.DataFrame) -> pl.DataFrame:
    """Lists become words separated by semicolons, so that the table can be a CSV file."""
    lists = [name for name, kind in table.schema.items() if isinstance(kind, pl.List)]
    return table.with_columns(pl.col(name).list.eval(pl.element().cast(pl.String)).list.join("; ") for name in lists)


def full_ledger(analysis: Analysis) -> pl.DataFrame:
    """Everything left out, from reading to screening, and every flag; ``left_out`` tells them apart."""
    panel = analysis.panel
    flagged = pl.col("flagged") & pl.col("rater").is_not_null() & ~pl.col("rater").is_in(list(panel.dropped))
    facts = ("rule", "ratings", "statistic", "value", "threshold", "p")
    flags = panel.flags.filter(flagged).rename({"words": "reason", "n": "ratings"})
    constants = {"what": pl.lit("rater"), "stage": pl.lit("panel"), "left_out": pl.lit(False)}
    columns = ("what", "rater", "question", "reason", "stage", *facts, "left_out")
    flags = flags.with_columns(**constants).select(columns)
    left_out = analysis.ledger.with_columns(left_out=pl.lit(True))
    return pl.concat([left_out, flags], how="diagonal_relaxed")


def analysis_page(
    analysis: Analysis,
    charts: Charts,
    target: Path,
    related: Mapping[str, Analysis] = {},
    before: Sequence[Section] = (),
) -> ReportPage:
    """The page, for a file at ``target``."""
    study, media = analysis.snapshot.study, media_sources(analysis.snapshot, target)
    more = {"stimuli": outcome.stimuli_list(analysis), "image": study.media == "image"}
    sections, title = _sections(analysis, charts), say(study.title) or study.name
    everything = dict(charts)
    for name, related_analysis in related.items():
        related_charts = {
            f"{name}-{figure}": chart_or_reason(figure, FIGURES[figure].chart, related_analysis)
            for figure in RELATED_FIGURES
        }
        everything |= related_charts
        sections.insert(-2, outcome.related(related_analysis, name, related_charts))
    sections[-2:-2] = before
    return ReportPage(
        title=title,
        subtitle=say(study.description),
        sections=sections,
        charts=everything,
        media=media,
        facts=_facts(analysis),
        more=more,
        opening=_opening(analysis, charts, {section.id for section in sections}),
    )


def _opening(analysis: Analysis, charts: Charts, sections: set[str]) -> Markup:
    result = attempt(opening.opening, analysis, charts, sections)
    return absent(f"The summary is missing: {result.reason}.") if isinstance(result, Failed) else result


def _sections(analysis: Analysis, charts: Charts) -> list[Section]:
    """The sections for this kind of study, in order; a sentence in place of one that fails."""
    sections = []
    # A study in which every question compares stimuli has no ratings of single ones.
    single = bool(analysis.summary.reliability) or not analysis.summary.comparisons
    for build in (
        outcome.conclusions,
        outcome.preregistration,
        outcome.published,
        comparisons.comparisons,
        comparisons.mushra,
        *(SYSTEMS.get(analysis.summary.kind, ()) if single else ()),
        *((categories.categories, categories.fields) if single else ()),
        traces.traces,
        *((reliability.agreement, reliability.trust) if single else ()),
        verification.verification,
        verification.adjudication,
        raters.raters,
        raters.rater_groups,
        raters.instruments,
        *((systems.answers,) if single else ()),
        outcome.stimuli,
        outcome.paper,
        outcome.files,
    ):
        section = section_or_reason(build, analysis, charts)
        if section is not None:
            sections.append(opening.with_fact(section, analysis))
    return sections


def _sizes(analysis: Analysis) -> list[tuple[str, str]]:
    """How many ratings there are, and trials where one trial has several; of sets, what raters did with them."""
    counts, unit = analysis.summary.counts, noun(analysis.summary)
    if unit != "rating":
        return [(f"{unit}s", retained_of(counts.ratings_kept, counts.ratings))]
    ratings = ("ratings", retained_of(counts.answers_kept, counts.answers))
    trials = ("trials", retained_of(counts.ratings_kept, counts.ratings))
    return [ratings] if counts.answers == counts.ratings else [ratings, trials]


def retained_of(part: int, total: int) -> str:
    """A count, or ``5 of 7`` where some were left out."""
    return number(total) if part == total else f"{number(part)} of {number(total)}"


def _facts(analysis: Analysis) -> list[tuple[str, str]]:
    summary, counts = analysis.summary, analysis.summary.counts

    sizes = (("systems", counts.systems), ("intents", counts.intents), ("questions", counts.questions))
    return [
        *_sizes(analysis),
        ("raters", retained_of(counts.raters_kept, counts.raters)),
        ("stimuli rated", f"{number(counts.rated)} of {number(counts.stimuli)}"),
        *((name, number(count)) for name, count in sizes if count),
        ("policy", summary.policy.name),
        ("seed", str(summary.seed)),
        ("snapshot", summary.hash[:12]),
    ]
