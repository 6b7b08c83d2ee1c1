"""Categories such as emotions and the fields around them: balance, map, consistency, confusion, attributes, pictures, agreement."""

from __future__ import annotations

import polars as pl
from markupsafe import Markup

from heartfelt.analysis import Analysis
from heartfelt.analysis.category_results import (
    AttributeTable,
    CategoryQuestion,
    CategoryShare,
    CoOccurrence,
    FieldAgreement,
)
from heartfelt.analysis.category_text import outstanding, sentences
from heartfelt.report.charts import Charts
from heartfelt.report.media import thumbnails
from heartfelt.report.page import Section, bullets, figure_block, figure_blocks, folded, joined, paragraph
from heartfelt.report.tables import CellValue, Columns, PValue, table, table_of
from heartfelt.wording import listed, percent, plural, spaced

PICTURES = 8
"""Pictures per category on a contact sheet."""


def categories(analysis: Analysis, charts: Charts) -> Section | None:
    """What categories stimuli have, where these lie, and what goes with them."""
    results = analysis.summary.categories
    if not results:
        return None
    html = joined(
        *(bullets(sentences(result)) for result in results),
        figure_block("category-balance", charts),
        figure_block("category-map", charts),
        figure_blocks(charts, "category-consistency", "category-confusion"),
        figure_block("attributes", charts) if any(result.attributes for result in results) else Markup(""),
        *(_tables(result) for result in results),
        *(_contact_sheet(analysis, result) for result in results),
    )
    lead = "The category of a stimulus is the answer most raters gave; where two are tied it has none."
    return Section(
        id="categories", title="Categories, and what goes with them", lead=lead, html=html, short="Categories"
    )


def _tables(result: CategoryQuestion) -> Markup:
    shares: Columns[CategoryShare] = {
        "category": lambda row: spaced(row.category),
        "stimuli": lambda row: row.n_stimuli,
        "share": lambda row: row.share,
        "intended": lambda row: row.n_intended,
    }
    numbers = [row.question for row in result.explained]
    mean_rows: list[list[CellValue]] = [
        [
            spaced(category_place.category),
            category_place.n_stimuli,
            *(category_place.means.get(name) for name in numbers),
        ]
        for category_place in result.places
    ]
    attributes: Columns[tuple[AttributeTable, CoOccurrence]] = {
        "attribute": lambda row: row[1].attribute,
        "field": lambda row: spaced(row[0].question),
        "category": lambda row: spaced(row[1].category),
        "stimuli with both": lambda row: row[1].n_both,
        "expected": lambda row: round(row[1].expected, 1),
        "lift": lambda row: None if row[1].lift is None else round(row[1].lift, 2),
        "standardised residual": lambda row: None if row[1].residual is None else round(row[1].residual, 1),
        "p (Holm)": lambda row: PValue(row[1].p),
    }
    name = spaced(result.question)
    means = table(
        f"Mean ratings by {name}, with 95% intervals over stimuli and raters",
        [name, "stimuli", *map(spaced, numbers)],
        mean_rows if numbers else [],
    )
    hidden = [
        f"{plural(table.n_others, 'attribute')} of {spaced(table.question)}"
        for table in result.attributes
        if table.n_others
    ]
    note = f"Not shown, because they are rarer or on every stimulus: {listed(hidden)}." if hidden else ""
    return joined(
        folded(
            "Balance and means, as tables",
            joined(table_of(f"Balance of {name}", result.balance.rows, shares), means),
        ),
        folded(
            "Attributes that stand out, as a table",
            joined(
                table_of(
                    "Pairs that differ from independence after correction",
                    outstanding(result.attributes),
                    attributes,
                ),
                paragraph(note) if note else Markup(""),
            ),
        )
        if result.attributes
        else Markup(""),
    )


def _contact_sheet(analysis: Analysis, result: CategoryQuestion) -> Markup:
    """Pictures of each category, those raters agreed on most first."""
    if analysis.snapshot.study.media != "image":
        return Markup("")
    labels = analysis.labels.filter(pl.col("question") == result.question).drop_nulls("answer")
    ranked = labels.sort(["share", "n", "stimulus"], descending=[True, True, False], nulls_last=True)
    chosen = {
        name: ranked.filter(pl.col("answer") == name).head(PICTURES).select("stimulus", "share", "n").rows()
        for name in result.categories
    }
    pictures = thumbnails(analysis.snapshot, [row[0] for rows in chosen.values() for row in rows])
    if not pictures:
        return Markup("")
    parts = []
    for row in result.balance.rows:
        shown = [candidate for candidate in chosen[row.category] if candidate[0] in pictures]
        if not shown:
            continue
        heading = f"{spaced(row.category)}: {len(shown)} of {plural(row.n_stimuli, 'image')}"
        items = [
            _picture(stimulus, pictures[stimulus], row.category, share, n) for stimulus, share, n in shown
        ]
        parts.append(
            Markup('<section class="sheet"><h4>{}</h4>\n<ul>\n{}\n</ul></section>').format(
                heading, joined(*items)
            )
        )
    head = Markup("<h3>{}</h3>").format(f"Contact sheet: {spaced(result.question)}")
    about = "Images that raters agreed on most come first. Select one to see it at full size."
    return joined(head, paragraph(about), *parts)


def _picture(stimulus: str, source: str, category: str, share: float | None, n: int | None) -> Markup:
    words = f"{stimulus}\n{spaced(category)}"
    if share is not None and n is not None:
        words += f": {percent(share)} of {plural(n, 'rater')}"
    return Markup(
        '<li><button type="button" data-stimulus="{}" data-words="{}"><img src="{}" alt="{}"></button></li>'
    ).format(stimulus, words, source, words.replace("\n", ", "))


def fields(analysis: Analysis, charts: Charts) -> Section | None:
    """How far raters agree on every field."""
    rows = analysis.summary.field_agreement
    if not rows:
        return None
    columns: Columns[FieldAgreement] = {
        "field": lambda row: spaced(row.question),
        "answers": lambda row: row.answers,
        "stimuli": lambda row: row.n_stimuli,
        "number of answers": lambda row: row.n_answers,
        "alpha": lambda row: row.alpha,
        "alpha (Jaccard)": lambda row: row.jaccard,
        "“none”": lambda row: row.n_none,
        "after a draft": lambda row: row.n_drafted,
    }
    drafted = any(row.n_drafted for row in rows)
    note = paragraph("Answers given in sight of the same draft agree more than independent ones would.")
    html = joined(
        figure_block("field-agreement", charts),
        table_of("Agreement on every field, with 95% intervals", rows, columns),
        note if drafted else Markup(""),
    )
    lead = "Krippendorff's alpha: 1 is perfect agreement, 0 is chance."
    return Section(id="fields", title="Agreement on every field", lead=lead, html=html, short="Fields")
