"""What you can and cannot conclude, in plain words, before any number."""

from __future__ import annotations

from markupsafe import Markup

from heartfelt.report.blocks import absent
from heartfelt.report.page import Section
from heartfelt.report.reading import Analysis

MANY = 6


def verdict(analysis: Analysis) -> Section:
    """The sentences of the verdict."""
    sentences = analysis.summary.get("verdict") or []
    items = Markup("\n").join(Markup("<li>{}</li>").format(sentence) for sentence in sentences)
    many = " many" if len(sentences) > MANY else ""
    html = (
        Markup('<ul class="verdict{}">\n{}\n</ul>').format(many, items)
        if sentences
        else absent("No verdict could be reached.")
    )
    return Section(
        "verdict", "What you can and cannot conclude from these ratings", html=html, short="Verdict"
    )
