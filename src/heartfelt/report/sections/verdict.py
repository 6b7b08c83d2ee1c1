"""What you can and cannot conclude, in plain words, before any number: a bottom line, then by systems, reliability and raters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from markupsafe import Markup

from heartfelt.report.blocks import absent
from heartfelt.report.page import Section
from heartfelt.report.reading import Analysis, summary_data

GROUPS = (("systems", "Systems and intents"), ("reliability", "Reliability"), ("raters", "Raters"))


def verdict(analysis: Analysis) -> Section:
    """The bottom line and the sentences of each group."""
    groups = summary_data(analysis).get("verdict_groups")
    if isinstance(groups, Mapping):
        html = _grouped(groups)
    else:
        sentences = summary_data(analysis).get("verdict") or []
        html = _sentences(sentences) if sentences else absent("No verdict could be reached.")
    return Section(
        "verdict",
        "What you can and cannot conclude from these ratings",
        html=html + _failed(analysis),
        short="Verdict",
    )


def _sentences(sentences: list[str]) -> Markup:
    items = Markup("\n").join(Markup("<li>{}</li>").format(sentence) for sentence in sentences)
    return Markup('<ul class="verdict">\n{}\n</ul>').format(items)


def _grouped(groups: Mapping[str, Any]) -> Markup:
    parts = [Markup('<p class="bottom-line">{}</p>').format(groups.get("bottom_line") or "")]
    for key, title in GROUPS:
        sentences = groups.get(key) or []
        if sentences:
            parts.append(
                Markup('<div class="verdict-group">\n<h3>{}</h3>\n{}\n</div>').format(
                    title, _sentences(list(sentences))
                )
            )
    return Markup("\n").join(parts)


def _failed(analysis: Analysis) -> Markup:
    """Remarks of the analysis, such as a part that could not be computed."""
    notes = [str(note) for note in summary_data(analysis).get("notes") or []]
    if not notes:
        return Markup("")
    items = Markup("\n").join(Markup("<li>{}</li>").format(note) for note in notes)
    return Markup('\n<div class="remarks">\n<h3>Remarks</h3>\n<ul>\n{}\n</ul>\n</div>').format(items)
