"""The verdict, published numbers, paragraphs for a paper, the list of stimuli and the files of an analysis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

import polars as pl
from markupsafe import Markup

from heartfelt.analysis import Analysis
from heartfelt.analysis.summary import PublishedFigure
from heartfelt.report.charts import Absent, Chart, Charts
from heartfelt.report.layout.naming import questions, system_names
from heartfelt.report.layout.page import KINDS, Section
from heartfelt.report.layout.tables import CellValue
from heartfelt.report.layout.templates import section
from heartfelt.study.model import say
from heartfelt.wording import number

Column: TypeAlias = Mapping[str, object]
"""A column of a list that the page's script shows."""
RATERS: Column = {"label": "raters", "kind": "number", "places": 0}
MOST_STIMULI = 4000
MOST_WIDE = 3


def conclusions(analysis: Analysis, _: Charts) -> Section:
    """What you can and cannot conclude: by systems, reliability and raters, with remarks and what to know to read them."""
    summary = analysis.summary
    return section("sections/conclusions", "conclusions", groups=summary.verdict_groups, notes=summary.notes)


def preregistration(analysis: Analysis, _: Charts) -> Section | None:
    """What was registered before collecting, and every deviation from it; nothing where nothing was."""
    registered = analysis.summary.registered
    if registered is None:
        return None
    return section("sections/preregistration", "preregistration", registered=registered)


def related(analysis: Analysis, folder: str, charts: Charts) -> Section:
    """Another study of the same subject: its bottom line, its main figures, and the way to its own report."""
    return section(
        "sections/related",
        folder,
        charts,
        study=analysis.snapshot.study,
        groups=analysis.summary.verdict_groups,
        figures=[name for name, chart in charts.items() if isinstance(chart, Chart)],
        folder=folder,
        say=say,
    )


def published(analysis: Analysis, _: Charts) -> Section | None:
    """Published numbers next to the same numbers recomputed, where the source is a dataset with published numbers."""
    figures = analysis.summary.published
    return (
        section(
            "sections/published",
            "published",
            figures=figures,
            agree=sum(row.agrees for row in figures),
            as_cell=_numbers,
            recomputed=_recomputed,
        )
        if figures
        else None
    )


def _numbers(value: float | tuple[float | None, ...] | None) -> CellValue:
    """Pairs, such as degrees of freedom, as text; numbers as they are."""
    return ", ".join(number(part) for part in value) if isinstance(value, tuple) else value


def _recomputed(row: PublishedFigure) -> CellValue:
    """The recomputed number with as many digits as were printed."""
    if row.printed is None or row.recomputed is None or isinstance(row.recomputed, tuple):
        return _numbers(row.recomputed)
    text = number(float(row.recomputed), len(row.printed.partition(".")[2]))
    return text.removeprefix("0") if row.printed.startswith(".") else text


def paper(analysis: Analysis, _: Charts) -> Section | None:
    """Paragraphs on methods and results to copy, with the numbers filled in."""
    texts = [
        (name, [part.strip() for part in text.split("\n\n") if part.strip()])
        for name, text in (("methods", analysis.summary.methods), ("results", analysis.summary.results))
    ]
    return section("sections/paper", "paper", texts=texts) if any(parts for _, parts in texts) else None


def files(analysis: Analysis, charts: Charts) -> Section:
    """Every file of the analysis, and the figures this study has no data for."""
    drawn = [chart for chart in charts.values() if isinstance(chart, Chart)]
    absent: dict[str, list[str]] = {}
    for name, chart in charts.items():
        if isinstance(chart, Absent):
            absent.setdefault(chart.reason, []).append(name)
    return section(
        "sections/files",
        "files",
        traced=bool(analysis.courses.height),
        drawn=len(drawn),
        pictures=any(chart.pictures for chart in drawn),
        kinds=[kind.upper() for kind in KINDS],
        missing=[[", ".join(names), reason] for reason, names in absent.items()],
        download=Markup('<a href="{}" download>{}</a>').format,
    )


def stimuli(_analysis: Analysis, _charts: Charts) -> Section:
    """The list of stimuli, which the script fills."""
    return section("sections/stimuli", "stimuli")


def stimuli_list(analysis: Analysis) -> dict[str, object]:
    """The list as the script reads it: one row per stimulus, or per item where there are many questions."""
    labels = analysis.labels
    facts = [
        name for name in ("system", "intent") if name in labels.columns and labels[name].null_count() < labels.height
    ]
    wide = len(questions(analysis)) <= MOST_WIDE and labels.schema["value"].is_numeric()
    columns, rows = (_by_stimulus if wide else _by_item)(analysis, facts)
    named = [{"label": fact, "kind": "text", "names": fact == "system"} for fact in ("stimulus", *facts)]
    return {
        "columns": [*named, *columns],
        "rows": rows.head(MOST_STIMULI).rows(),
        "total": rows.height,
        "names": {
            key: name for key, name in system_names(analysis.snapshot).items() if key != "all" and "system" in facts
        },
        "hint": _hint(rows, facts),
    }


def _hint(rows: pl.DataFrame, facts: Sequence[str]) -> str:
    """What can be searched for, by the facts of the first row."""
    example = [str(rows[0, fact]) for fact in facts if rows.height and rows[0, fact] is not None]
    return f"such as {' '.join(example)}" if example else ""


def _by_stimulus(analysis: Analysis, facts: Sequence[str]) -> tuple[list[Column], pl.DataFrame]:
    """A row per stimulus, and the columns of each question: its label, the spread where it is known, and raters."""
    labels, columns = analysis.labels, list[Column]()
    rows = labels.select("stimulus", *facts).unique("stimulus").sort("stimulus")
    spread = ["sd"] if "sd" in labels.columns else []
    for question in questions(analysis):
        question_labels = labels.filter(pl.col("question") == question).select(
            "stimulus",
            *(pl.col(name).round(3).alias(f"{name} {question}") for name in ("value", *spread)),
            pl.col("n").alias(f"n {question}"),
        )
        rows = rows.join(question_labels, on="stimulus", how="left", maintain_order="left")
        columns += [*({"label": name, "kind": "number"} for name in (question, *spread)), RATERS]
    return columns, rows


def _by_item(analysis: Analysis, facts: Sequence[str]) -> tuple[list[Column], pl.DataFrame]:
    """A row per stimulus and question."""
    labels = analysis.labels
    numeric = labels.schema["value"].is_numeric()
    value = pl.col("value").round(3) if numeric else pl.col("value").cast(pl.String)
    rows = labels.select("stimulus", *facts, "question", value, "n").sort("stimulus", "question")
    label: Column = {"label": "label", "kind": "number" if numeric else "text"}
    return [{"label": "question", "kind": "text"}, label, RATERS], rows
