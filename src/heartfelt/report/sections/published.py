"""Published numbers beside the same numbers computed again."""

from __future__ import annotations

from typing import Any

from heartfelt.report.page import Section
from heartfelt.report.reading import Analysis, rows
from heartfelt.report.tables import Verdict, table
from heartfelt.report.words import number


def published(analysis: Analysis) -> Section | None:
    """The table, where the source is a data set whose numbers were published."""
    found = rows(analysis, "published")
    if not found:
        return None
    lines = [
        [
            row.get("what"),
            row.get("printed") or _said(row.get("published")),
            _alike(row),
            Verdict(bool(row.get("agrees"))),
        ]
        for row in found
    ]
    agree = sum(bool(row.get("agrees")) for row in found)
    lead = (
        "Every published number comes out of the ratings again."
        if agree == len(found)
        else f"{agree} of {len(found)} published numbers come out of the ratings again."
    )
    html = table(
        "Numbers of the publication, and the same numbers out of these ratings",
        ["number", "published", "recomputed", "agrees"],
        lines,
    )
    return Section("published", "Published and recomputed", lead, html=html, short="Published")


def _said(found: Any) -> Any:
    """Pairs, such as degrees of freedom, as text; numbers as they are."""
    return ", ".join(number(part) for part in found) if isinstance(found, list) else found


def _alike(row: dict[str, Any]) -> Any:
    """What was recomputed, with as many digits as were printed."""
    printed, found = row.get("printed"), row.get("recomputed")
    if not isinstance(printed, str) or not isinstance(found, (int, float)):
        return _said(found)
    text = number(float(found), len(printed.partition(".")[2]))
    return text.removeprefix("0") if printed.startswith(".") else text
