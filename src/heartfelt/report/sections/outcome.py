"""The verdict, published numbers, paragraphs for a paper, the list of stimuli and the files of an analysis."""

from __future__ import annotations

import polars as pl
from markupsafe import Markup

from heartfelt.analysis import Analysis
from heartfelt.analysis.preregistration import Deviation
from heartfelt.analysis.summary import PublishedFigure
from heartfelt.report.charts import Absent, Chart, Charts
from heartfelt.report.naming import questions, system_names
from heartfelt.report.page import KINDS, Section, bullets, figure_block, folded, joined, paragraph
from heartfelt.report.tables import CellValue, Columns, YesNoCell, table, table_of
from heartfelt.study.model import say
from heartfelt.wording import listed, number, plural, spaced

TABLES = {
    "summary.json": "every number of this page, with methods and intervals",
    "labels.csv": "the label of every item, with its uncertainty",
    "raters.csv": "every rater, with what screening found",
    "ledger.csv": "what was left out or flagged, why, by which statistic and limit",
}
OF_TRACES = {"courses.csv": "the course the raters of a stimulus share, with its band, agreement and ceiling"}
MOST_STIMULI = 4000
MOST_WIDE = 3


READING = (
    "Intervals are at 95%; unless they say otherwise they take both raters and stimuli as samples.",
    "“Not shown” is not evidence of equality.",
    "Analyses of variance are about these raters; mixed models take raters as a sample too.",
    "A flag is a reason to look, not proof: a logging fault can look like a copied answer, and a rater who reads a scale upside"
    " down like one who does not listen. Nobody is excluded unless the policy says so.",
    "Agreement rises without flagged raters in part because they were chosen by how they agree; on held-out stimuli they were"
    " chosen on one half of the stimuli and alpha was measured on the other.",
    "The ceiling is what a perfect predictor that does not know who rated which stimulus can expect on these labels.",
    "Deviation is perceived minus intended, in scale points. Absolute deviations contain rating noise, so fewer ratings make them"
    " larger. Chance is that of intents reassigned at random within systems.",
)
"""What a reader must know once to read every section."""


def conclusions(analysis: Analysis, _: Charts) -> Section:
    """What you can and cannot conclude: by systems, reliability and raters, with remarks and what to know to read them."""
    groups = analysis.summary.verdict_groups
    parts = []
    for title, sentences, look in (
        ("Systems and intents", groups.systems, "verdict"),
        ("Reliability", groups.reliability, "verdict"),
        ("Raters", groups.raters, "verdict"),
        ("Remarks", analysis.summary.notes, ""),
        ("How to read this page", READING, ""),
    ):
        if sentences:
            frame = Markup('<div class="{}">\n<h3>{}</h3>\n{}\n</div>')
            parts.append(
                frame.format("verdict-group" if look else "remarks", title, bullets(sentences, look))
            )
    count = len(groups.sentences) - 1
    fact = f"{plural(count, 'finding')} on systems, reliability and raters"
    return Section(
        id="conclusions", title="All conclusions", html=joined(*parts), short="Conclusions", fact=fact
    )


def preregistration(analysis: Analysis, _: Charts) -> Section | None:
    """What was registered before collecting, and every deviation from it; nothing where nothing was."""
    registered = analysis.summary.registered
    if registered is None:
        return None
    columns: Columns[Deviation] = {
        "what": lambda row: row.topic,
        "registered": lambda row: row.registered,
        "done": lambda row: row.done,
    }
    html = joined(
        table_of("Deviations from the preregistration", registered.deviations, columns),
        folded("Registered hypotheses", bullets(registered.hypotheses)),
        folded("Registered analyses", bullets(registered.analyses)),
    )
    return Section(
        id="preregistration",
        title="Preregistration and deviations",
        lead=registered.words,
        html=html,
        short="Preregistration",
    )


def related(analysis: Analysis, folder: str, charts: Charts) -> Section:
    """Another study of the same subject: its bottom line, its main figures, and the way to its own report."""
    study, groups = analysis.snapshot.study, analysis.summary.verdict_groups
    figures = [name for name, chart in charts.items() if isinstance(chart, Chart)]
    html = joined(
        bullets([groups.bottom_line, *groups.systems, *groups.raters], "verdict"),
        *(figure_block(name, charts, files=False, numbers=False) for name in figures),
        Markup('<p>All of it: <a href="{0}/report.html">{0}/report.html</a></p>').format(folder),
    )
    title, short = say(study.title) or study.name, spaced(folder).capitalize()
    return Section(
        id=folder, title=title, lead=say(study.description), html=html, short=short, fact=groups.bottom_line
    )


def published(analysis: Analysis, _: Charts) -> Section | None:
    """Published numbers next to the same numbers recomputed, where the source is a dataset with published numbers."""
    figures = analysis.summary.published
    if not figures:
        return None
    columns: Columns[PublishedFigure] = {
        "number": lambda row: row.what,
        "published": lambda row: row.printed or _numbers(row.published),
        "recomputed": _recomputed,
        "agrees": lambda row: YesNoCell(row.agrees),
    }
    agree = sum(row.agrees for row in figures)
    lead = (
        "Every published number is reproduced from the ratings."
        if agree == len(figures)
        else f"{agree} of {len(figures)} published numbers are reproduced from the ratings."
    )
    html = table_of("Published numbers, and the same numbers recomputed from these ratings", figures, columns)
    return Section(id="published", title="Published and recomputed", lead=lead, html=html, short="Published")


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
    parts = []
    for name, text in (("methods", analysis.summary.methods), ("results", analysis.summary.results)):
        paragraphs = [paragraph(part.strip()) for part in text.split("\n\n") if part.strip()]
        if paragraphs:
            parts.append(
                Markup(
                    '<h3>{0}</h3>\n<div class="paper" id="paper-{1}">\n{2}\n</div>\n'
                    '<button type="button" data-copy="paper-{1}">Copy the {1} paragraph</button>'
                ).format(name.capitalize(), name, joined(*paragraphs))
            )
    lead = "Check the paragraphs against your own conventions."
    return Section(id="paper", title="For your paper", lead=lead, html=joined(*parts)) if parts else None


def files(analysis: Analysis, charts: Charts) -> Section:
    """Every file of the analysis, and the figures this study has no data for."""
    tables = TABLES | (OF_TRACES if analysis.courses.height else {})
    lines = [[Markup('<a href="{0}" download>{0}</a>').format(name), about] for name, about in tables.items()]
    figure_count = sum(isinstance(chart, Chart) for chart in charts.values())
    absent: dict[str, list[str]] = {}
    for name, chart in charts.items():
        if isinstance(chart, Absent):
            absent.setdefault(chart.reason, []).append(name)
    missing = [[", ".join(names), reason] for reason, names in absent.items()]
    kinds = listed([kind.upper() for kind in KINDS])
    holds = f"figures/ holds each of the {figure_count} figures as {kinds}; links are below each figure."
    if not any(chart.pictures for chart in charts.values() if isinstance(chart, Chart)):
        holds = f"figures/ holds the numbers of each of the {figure_count} figures as CSV; no pictures were asked for."
    html = joined(
        table("Tables", ["file", "contents"], lines),
        paragraph(holds),
        folded("Figures this study has no data for", table("Not drawn", ["figures", "why"], missing)),
    )
    fact = f"{len(tables)} tables and {plural(figure_count, 'figure')}"
    return Section(id="files", title="Files", html=html, fact=fact)


def stimuli(_analysis: Analysis, _charts: Charts) -> Section:
    """The list of stimuli, which the script fills."""
    html = Markup(
        '<div id="stimuli-list" data-list="stimuli"><noscript><p>The list is made by the page\'s own script;'
        ' <a href="labels.csv">labels.csv</a> has it too.</p></noscript></div>\n'
        '<p class="files">File: <a href="labels.csv" download>labels.csv</a></p>'
    )
    lead = "Find, sort and play the stimuli. A label is the panel's estimate."
    return Section(id="stimuli", title="Stimuli and their labels", lead=lead, html=html, short="Stimuli")


def stimuli_list(analysis: Analysis) -> dict[str, object]:
    """The list as the script reads it: one row per stimulus, or per item where there are many questions."""
    labels = analysis.labels
    facts = [
        name
        for name in ("system", "intent")
        if name in labels.columns and labels[name].null_count() < labels.height
    ]
    columns: list[dict[str, object]] = [
        {"label": fact, "kind": "text", "names": fact == "system"} for fact in ("stimulus", *facts)
    ]
    wide_questions = questions(analysis)
    numeric = labels.schema["value"].is_numeric()
    raters = {"label": "raters", "kind": "number", "places": 0}
    if len(wide_questions) <= MOST_WIDE and numeric:
        rows = labels.select("stimulus", *facts).unique("stimulus").sort("stimulus")
        spread = ["sd"] if "sd" in labels.columns else []
        for question in wide_questions:
            question_labels = labels.filter(pl.col("question") == question).select(
                "stimulus",
                *(pl.col(name).round(3).alias(f"{name} {question}") for name in ("value", *spread)),
                pl.col("n").alias(f"n {question}"),
            )
            rows = rows.join(question_labels, on="stimulus", how="left", maintain_order="left")
            columns += [{"label": name, "kind": "number"} for name in (question, *spread)]
            columns.append(raters)
    else:
        value = pl.col("value").round(3) if numeric else pl.col("value").cast(pl.String)
        rows = labels.select("stimulus", *facts, "question", value, "n").sort("stimulus", "question")
        columns += [{"label": "question", "kind": "text"}]
        columns += [{"label": "label", "kind": "number" if numeric else "text"}, raters]
    example = [str(rows[0, fact]) for fact in facts if rows.height and rows[0, fact] is not None]
    return {
        "columns": columns,
        "rows": rows.head(MOST_STIMULI).rows(),
        "total": rows.height,
        "names": {
            key: name
            for key, name in system_names(analysis.snapshot).items()
            if key != "all" and "system" in facts
        },
        "hint": f"such as {' '.join(example)}" if example else "",
    }
