"""Paragraphs for a paper, with the numbers filled in."""

from __future__ import annotations

from markupsafe import Markup

from heartfelt.report.blocks import joined
from heartfelt.report.page import Section
from heartfelt.report.reading import Analysis, summary_data


def paper(analysis: Analysis) -> Section | None:
    """Methods and results to copy."""
    parts = []
    for key in ("methods", "results"):
        text = summary_data(analysis).get(key)
        if not text:
            continue
        paragraphs = Markup("\n").join(
            Markup("<p>{}</p>").format(part.strip()) for part in str(text).split("\n\n") if part.strip()
        )
        parts.append(
            Markup(
                '<h3>{0}</h3>\n<div class="paper" id="paper-{1}">\n{2}\n</div>\n'
                '<button type="button" data-copy="paper-{1}">Copy the {1} paragraph</button>'
            ).format(key.capitalize(), key, paragraphs)
        )
    if not parts:
        return None
    return Section(
        "paper",
        "For your paper",
        "Paragraphs with the numbers of this analysis; check them against your own conventions.",
        html=joined(*parts),
        short="For your paper",
    )
