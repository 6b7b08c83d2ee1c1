"""Drafts that people verified, by field, model and rater; items that senior raters decided."""

from __future__ import annotations

from collections.abc import Sequence

from heartfelt.analysis import Analysis
from heartfelt.analysis.consistency.adjudicated import ANY_RULE
from heartfelt.analysis.consistency.verification import ALL
from heartfelt.report.charts import Charts
from heartfelt.report.figures.verification import field_name, stampers
from heartfelt.report.layout.page import Section
from heartfelt.report.layout.templates import section


def verification(analysis: Analysis, charts: Charts) -> Section | None:
    """Verdicts, planted errors, anchoring and time; nothing where nobody verified a draft."""
    drafts = analysis.summary.verification
    if drafts is None:
        return None
    stamps = stampers(analysis)

    def field_names(fields: Sequence[str]) -> str:
        return ", ".join(map(field_name, fields))

    return section(
        "sections/verification",
        "drafts",
        charts,
        drafts=drafts,
        stamps=stamps,
        raters=sorted(drafts.raters, key=lambda row: (row.rater not in stamps, row.rater)),
        planted_alike=sum(field.planted_alike for field in drafts.fields if field.field != ALL),
        field_name=field_name,
        field_names=field_names,
        all_fields=ALL,
    )


def adjudication(analysis: Analysis, _: Charts) -> Section | None:
    """Decisions by question and rule, with the shares that agree with the majority and with the machine's draft."""
    result = analysis.summary.adjudication
    if result is None:
        return None
    return section("sections/adjudication", "adjudication", result=result, any_rule=ANY_RULE)
