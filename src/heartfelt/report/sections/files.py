"""Every file of the analysis, and the figures that could not be drawn."""

from __future__ import annotations

from collections.abc import Mapping

from markupsafe import Markup

from heartfelt.report.blocks import KINDS, folded, joined
from heartfelt.report.chart import Absent, Chart
from heartfelt.report.figures import FIGURES
from heartfelt.report.page import Section
from heartfelt.report.tables import table

TABLES = {
    "summary.json": "every number of this page, with methods and intervals",
    "labels.csv": "the label of every item, with its uncertainty",
    "raters.csv": "every rater, with what screening found",
    "ledger.csv": "what was left out or flagged, why, by which statistic and limit",
}


def files(charts: Mapping[str, Chart | Absent]) -> Section:
    """Links to the files beside the page."""
    lines = [[Markup('<a href="{0}" download>{0}</a>').format(name), words] for name, words in TABLES.items()]
    drawn = [name for name, chart in charts.items() if isinstance(chart, Chart)]
    pictures = [
        [
            name,
            FIGURES[name].about,
            *(
                Markup('<a href="figures/{0}.{1}" download>{2}</a>').format(name, kind, kind.upper())
                for kind in KINDS
            ),
        ]
        for name in drawn
    ]
    not_drawn = [[name, chart.why] for name, chart in charts.items() if isinstance(chart, Absent)]
    parts = [
        table("Tables", ["file", "holds"], lines),
        table("Figures", ["figure", "shows", *(kind.upper() for kind in KINDS)], pictures),
    ]
    if not_drawn:
        parts.append(
            folded(
                "Figures this study has no data for",
                table("Not drawn", ["figure", "why"], not_drawn),
                printed=False,
            )
        )
    return Section("files", "Files", html=joined(*parts))
