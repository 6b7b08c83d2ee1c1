"""Questionnaires that score themselves: distribution, internal consistency and norms of every score."""

from __future__ import annotations

from heartfelt.analysis import Analysis
from heartfelt.analysis.summary import InstrumentScore, NormFigures
from heartfelt.report.charts import Charts
from heartfelt.report.page import Section, bullets, joined, paragraph
from heartfelt.report.tables import Columns, table_of

LEAD = "Alpha has Feldt's 95% interval; both coefficients are of the raters who answered all items."


def instruments(analysis: Analysis, _: Charts) -> Section | None:
    """The scores of the raters, where the study has instruments."""
    scores = analysis.summary.instruments
    if not scores:
        return None
    columns: Columns[InstrumentScore] = {
        "score": lambda row: row.score,
        "column": lambda row: row.column,
        "items": lambda row: row.items,
        "raters": lambda row: row.raters,
        **({"no score": lambda row: row.missing} if any(row.missing for row in scores) else {}),
        "mean": lambda row: row.mean,
        "SD": lambda row: row.sd,
        "alpha": lambda row: row.alpha,
        "omega": lambda row: row.omega,
    }
    norms = [(row, norm) for row in scores for norm in row.norms]
    published: Columns[tuple[InstrumentScore, NormFigures]] = {
        "score": lambda pair: pair[0].score,
        "sample": lambda pair: pair[1].population,
        "n": lambda pair: pair[1].n,
        "mean": lambda pair: pair[1].mean,
        "SD": lambda pair: pair[1].sd,
        "here": lambda pair: pair[0].mean,
        "source": lambda pair: pair[1].source,
    }
    cited = [f"{used.name}: {used.citation}" for used in analysis.snapshot.study.instruments.values()]
    html = joined(
        table_of("Scores of the raters", scores, columns),
        *([table_of("Published norms", norms, published)] if norms else []),
        bullets(list(dict.fromkeys(cited))),
        paragraph("Compare groups of raters by a score with --by and its column."),
    )
    return Section(id="instruments", title="Questionnaires", lead=LEAD, html=html, short="Questionnaires")
