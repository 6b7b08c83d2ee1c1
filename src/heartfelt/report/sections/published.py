"""Published numbers beside the same numbers computed again."""

from __future__ import annotations

from heartfelt.report.page import Section
from heartfelt.report.reading import Analysis, rows
from heartfelt.report.tables import table


def published(analysis: Analysis) -> Section | None:
    """The table, where the source is a data set whose numbers were published."""
    found = rows(analysis, "published")
    if not found:
        return None
    lines = [[row.get("what"), row.get("published"), row.get("recomputed"), row.get("agrees")] for row in found]
    agree = sum(bool(row.get("agrees")) for row in found)
    lead = (
        "Every published number comes out of the ratings again."
        if agree == len(found)
        else f"{agree} of {len(found)} published numbers come out of the ratings again."
    )
    html = table("Published and recomputed", ["number", "published", "recomputed", "agrees"], lines)
    return Section("published", "Published and recomputed", lead, html=html, short="Published")
