"""Blocks of a page: a figure with its caption, files and numbers; a part that is absent with its reason."""

from __future__ import annotations

from collections.abc import Mapping

from markupsafe import Markup

from heartfelt.report.chart import Absent, Chart
from heartfelt.report.tables import pairs_table

KINDS = ("pdf", "svg", "png", "csv")
NUMBERS_SHOWN = 60


def figure_block(name: str, charts: Mapping[str, Chart | Absent], *, look: str = "") -> Markup:
    """A figure that the script draws; without it, the picture from the folder beside the page.

    ``look`` is a class of its own, such as ``flow`` for panels in two streams.
    """
    chart = charts.get(name)
    if chart is None:
        return Markup("")
    if isinstance(chart, Absent):
        return absent(f"No figure here: {chart.why}.")
    files = Markup(" ").join(
        Markup('<a href="figures/{0}.{1}" download>{2}</a>').format(name, kind, kind.upper())
        for kind in KINDS
    )
    numbers = pairs_table(
        f"{chart.title}: the numbers", chart.rows, most=NUMBERS_SHOWN, more=f"all are in figures/{name}.csv"
    )
    return Markup(
        '<figure class="chart" id="figure-{name}">\n<h3>{title}</h3>\n<div class="figure{look}" data-figure="{name}">'
        '<noscript><img src="figures/{name}.png" alt="{title}"></noscript></div>\n'
        '<figcaption>{caption}</figcaption>\n<p class="files">Files: {files}</p>\n'
        "<details><summary>Numbers behind this figure</summary>\n{numbers}\n</details>\n</figure>"
    ).format(
        name=name,
        look=f" {look}" if look else "",
        title=chart.title,
        caption=chart.caption,
        files=files,
        numbers=numbers,
    )


def absent(words: str) -> Markup:
    """A sentence in place of something that is not there."""
    return Markup('<p class="absent">{}</p>').format(words)


def folded(summary: str, content: Markup, *, printed: bool = True) -> Markup:
    """A part that opens on demand, and on paper."""
    return Markup("<details{}><summary>{}</summary>\n{}\n</details>").format(
        Markup(' class="print"') if printed else Markup(""), summary, content
    )


def joined(*parts: Markup) -> str:
    """Parts below each other."""
    return Markup("\n").join(part for part in parts if part)
