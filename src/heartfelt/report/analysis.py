"""An analysis as a folder (numbers, tables, figures and a page) that is either complete or absent, and its page."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TypeAlias

import polars as pl

from heartfelt.analysis import Analysis
from heartfelt.analysis.failures import Failed, attempt
from heartfelt.files import whole_folder, write_text
from heartfelt.formats.delimited import csv_text
from heartfelt.progress import Progress
from heartfelt.report.charts import Absent, Chart, Charts
from heartfelt.report.figures import FIGURES
from heartfelt.report.media import media_sources
from heartfelt.report.page import Page, Section, absent, render
from heartfelt.report.sections import outcome, raters, reliability, systems
from heartfelt.serialization import write_json
from heartfelt.study.model import say
from heartfelt.wording import number

PAGE = "report.html"
SectionOf: TypeAlias = Callable[[], Section | None]


def write_analysis(
    analysis: Analysis, folder: Path | str, *, replace: bool = False, progress: Progress | None = None
) -> Path:
    """Write summary.json, labels.csv, raters.csv, ledger.csv, figures/ and report.html; return the folder."""
    from heartfelt.report.drawing.files import drawing

    target = Path(folder)
    with whole_folder(target, replace=replace) as made:
        figures = made / "figures"
        figures.mkdir()
        charts = charts_of(analysis)
        drawn = {name: chart for name, chart in charts.items() if isinstance(chart, Chart)}
        with drawing(drawn, figures, progress):
            write_chart_tables(drawn, figures)
            write_json(made / "summary.json", analysis.summary)
            for name, table in (
                ("labels", analysis.labels),
                ("raters", analysis.raters),
                ("ledger", full_ledger(analysis)),
            ):
                write_text(made / f"{name}.csv", csv_text(flat(table)))
            write_text(made / PAGE, render(analysis_page(analysis, charts, target / PAGE)))
    return target


def charts_of(analysis: Analysis) -> dict[str, Chart | Absent]:
    """Every figure of an analysis, or why there is none; a failure of one leaves the others."""
    out: dict[str, Chart | Absent] = {}
    for name in FIGURES:
        chart = attempt(partial(FIGURES[name].chart, analysis))
        out[name] = Absent(chart.why) if isinstance(chart, Failed) else chart
    return out


def write_chart_tables(charts: Charts, folder: Path) -> None:
    """Write the table behind every chart as a CSV file."""
    for name, chart in charts.items():
        if isinstance(chart, Chart):
            rows = pl.DataFrame(list(chart.rows), infer_schema_length=None)
            write_text(folder / f"{name}.csv", csv_text(flat(rows)))


def flat(table: pl.DataFrame) -> pl.DataFrame:
    """Lists become words separated by semicolons, so that the table can be a CSV file."""
    lists = [name for name, kind in table.schema.items() if isinstance(kind, pl.List)]
    return table.with_columns(
        pl.col(name).list.eval(pl.element().cast(pl.String)).list.join("; ") for name in lists
    )


def full_ledger(analysis: Analysis) -> pl.DataFrame:
    """Everything left out, from reading to screening, and every flag; ``left_out`` tells them apart."""
    panel = analysis.panel
    flags = panel.flags.filter(
        pl.col("flagged") & pl.col("rater").is_not_null() & ~pl.col("rater").is_in(list(panel.dropped))
    ).select(
        pl.lit("rater").alias("what"),
        "rater",
        "question",
        pl.col("words").alias("reason"),
        pl.lit("panel").alias("stage"),
        "rule",
        pl.col("n").alias("ratings"),
        "statistic",
        "value",
        "threshold",
        "p",
    )
    left_out = analysis.ledger.with_columns(pl.lit(True).alias("left_out"))
    return pl.concat([left_out, flags.with_columns(pl.lit(False).alias("left_out"))], how="diagonal_relaxed")


def analysis_page(analysis: Analysis, charts: Charts, target: Path) -> Page:
    """The page, for a file at ``target``."""
    study = analysis.snapshot.study
    return Page(
        say(study.title) or study.name,
        say(study.description),
        _sections(analysis, charts),
        charts,
        media_sources(analysis.snapshot, target),
        _facts(analysis),
        {"stimuli": outcome.stimuli_list(analysis), "image": study.media == "image"},
    )


def _sections(analysis: Analysis, charts: Charts) -> list[Section]:
    """The sections for this kind of study, in order; a sentence in place of one that fails."""
    build: dict[str, SectionOf] = {
        "verdict": lambda: outcome.verdict(analysis),
        "published": lambda: outcome.published(analysis),
    }
    if analysis.summary.kind == "conveyance":
        build |= {
            "maps": lambda: systems.maps(analysis, charts),
            "systems": lambda: systems.deviations(analysis, charts),
            "intents": lambda: systems.quadrants(analysis, charts),
        }
    elif analysis.summary.kind == "opinion":
        build["systems"] = lambda: systems.ranking(analysis, charts)
    build |= {
        "agreement": lambda: reliability.agreement(analysis, charts),
        "trust": lambda: reliability.trust(analysis, charts),
        "raters": lambda: raters.raters(analysis, charts),
        "rater-groups": lambda: raters.rater_groups(analysis, charts),
        "answers": lambda: systems.answers(charts),
        "stimuli": outcome.stimuli,
        "paper": lambda: outcome.paper(analysis),
        "files": lambda: outcome.files(charts),
    }
    sections = []
    for name, section_of in build.items():
        section = attempt(section_of)
        if isinstance(section, Failed):
            title = name.replace("-", " ").capitalize()
            section = Section(
                name, title, html=absent(f"This section is missing: {section.why}."), short=title
            )
        if section is not None:
            sections.append(section)
    return sections


def _facts(analysis: Analysis) -> list[tuple[str, str]]:
    summary, counts = analysis.summary, analysis.summary.counts

    def of(part: int, whole: int) -> str:
        return number(whole) if part == whole else f"{number(part)} of {number(whole)}"

    sizes = (("systems", counts.systems), ("intents", counts.intents), ("questions", counts.questions))
    return [
        ("ratings", of(counts.ratings_kept, counts.ratings)),
        ("raters", of(counts.raters_kept, counts.raters)),
        ("stimuli rated", f"{number(counts.rated)} of {number(counts.stimuli)}"),
        *((name, number(count)) for name, count in sizes if count),
        ("policy", summary.policy.name),
        ("seed", str(summary.seed)),
        ("snapshot", summary.hash[:12]),
    ]
