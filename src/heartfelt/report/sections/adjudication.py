"""Items that senior raters decided: how many, by which rule, and how often they agreed with raters and machine."""

from __future__ import annotations

from heartfelt.analysis import Analysis
from heartfelt.analysis.adjudicated import ANY_RULE, AdjudicatedQuestion
from heartfelt.report.charts import Charts
from heartfelt.report.page import Section, joined, paragraph
from heartfelt.report.tables import Columns, table_of
from heartfelt.wording import plural, spaced

LEAD = (
    "Senior raters decided these items. A decided category is the item's label; numbers stay those of the raters. The history is"
    " in adjudications.csv."
)


def adjudication(analysis: Analysis, _: Charts) -> Section | None:
    """Decisions by question and rule, with the shares that agree with the majority and with the machine's draft."""
    result = analysis.summary.adjudication
    if result is None:
        return None
    columns: Columns[AdjudicatedQuestion] = {
        "question": lambda row: spaced(row.question),
        "selected by": lambda row: "any rule" if row.rule == ANY_RULE else row.rule,
        "items": lambda row: row.items,
        "as the majority": lambda row: row.with_majority,
        "as the draft": lambda row: row.with_draft,
        "an answer nobody gave": lambda row: row.with_nobody,
        "difference from the raters' mean": lambda row: row.difference,
    }
    words = (
        f"{plural(result.senior_raters, 'senior rater')} decided {plural(result.items, 'item')};"
        f" {plural(result.revised, 'decision')} replaced an earlier one."
    )
    caption = (
        "Decisions of senior raters: shares of items with Wilson's 95% interval; differences with Student's t"
    )
    html = joined(paragraph(words), table_of(caption, result.questions, columns))
    return Section(
        id="adjudication", title="Decided by senior raters", lead=LEAD, html=html, short="Adjudication"
    )
