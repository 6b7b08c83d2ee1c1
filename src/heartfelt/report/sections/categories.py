"""Categories such as emotions and the fields around them: balance, map, consistency, confusion, attributes, pictures, agreement."""

from __future__ import annotations

import polars as pl
from markupsafe import Markup

from heartfelt.analysis import Analysis
from heartfelt.analysis.findings.categories import CategoryQuestion
from heartfelt.analysis.text.categories import outstanding, sentences
from heartfelt.report.charts import Charts
from heartfelt.report.layout.media import thumbnails
from heartfelt.report.layout.page import Section, paragraph
from heartfelt.report.layout.tables import CellValue
from heartfelt.report.layout.templates import section
from heartfelt.wording import listed, percent, plural, spaced

PICTURES = 8
"""Pictures per category on a contact sheet."""


def categories(analysis: Analysis, charts: Charts) -> Section | None:
    """What categories stimuli have, where these lie, and what goes with them."""
    results = analysis.summary.categories
    if not results:
        return None
    sheets = [(result.question, _contact_sheet(analysis, result)) for result in results]
    return section(
        "sections/categories",
        "categories",
        charts,
        results=results,
        sentences=sentences,
        means_of=_means,
        outstanding=outstanding,
        hidden_note=_hidden_note,
        sheets=[(question, rows) for question, rows in sheets if rows is not None],
    )


def _means(result: CategoryQuestion) -> list[list[CellValue]]:
    numbers = [row.question for row in result.explained]
    places = result.places if numbers else ()
    return [[spaced(row.category), row.n_stimuli, *(row.means.get(name) for name in numbers)] for row in places]


def _hidden_note(result: CategoryQuestion) -> Markup:
    """How many attributes the table leaves out."""
    hidden = [
        f"{plural(table.n_others, 'attribute')} of {spaced(table.question)}"
        for table in result.attributes
        if table.n_others
    ]
    note = f"Not shown, because they are rarer or on every stimulus: {listed(hidden)}."
    return paragraph(note) if hidden else Markup("")


def _contact_sheet(analysis: Analysis, result: CategoryQuestion) -> list[tuple[str, list[tuple[str, str, str]]]] | None:
    """Pictures of each category under its heading, those raters agreed on most first; None where there are none."""
    if analysis.snapshot.study.media != "image":
        return None
    labels = analysis.labels.filter(pl.col("question") == result.question).drop_nulls("answer")
    ranked = labels.sort(["share", "n", "stimulus"], descending=[True, True, False], nulls_last=True)
    chosen = {
        name: ranked.filter(pl.col("answer") == name).head(PICTURES).select("stimulus", "share", "n").rows()
        for name in result.categories
    }
    pictures = thumbnails(analysis.snapshot, [row[0] for rows in chosen.values() for row in rows])
    if not pictures:
        return None
    parts = []
    for row in result.balance.rows:
        shown = [
            (stimulus, pictures[stimulus], _picture_words(stimulus, row.category, share, n))
            for stimulus, share, n in chosen[row.category]
            if stimulus in pictures
        ]
        if shown:
            heading = f"{spaced(row.category)}: {len(shown)} of {plural(row.n_stimuli, 'image')}"
            parts.append((heading, shown))
    return parts


def _picture_words(stimulus: str, category: str, share: float | None, n: int | None) -> str:
    words = f"{stimulus}\n{spaced(category)}"
    return words if share is None or n is None else f"{words}: {percent(share)} of {plural(n, 'rater')}"


def fields(analysis: Analysis, charts: Charts) -> Section | None:
    """How far raters agree on every field."""
    rows = analysis.summary.field_agreement
    return section("sections/fields", "fields", charts, fields=rows) if rows else None
