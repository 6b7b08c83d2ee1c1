"""Opinion scores: how answers are spread, and which systems are ahead."""

from __future__ import annotations

from collections.abc import Mapping

from heartfelt.report.blocks import figure_block, joined
from heartfelt.report.chart import Absent, Chart
from heartfelt.report.page import Section
from heartfelt.report.reading import Analysis
from heartfelt.report.sections.conveyance import anova_table, mixed_table, pairwise_table


def ranking(analysis: Analysis, charts: Mapping[str, Chart | Absent]) -> Section:
    """Systems in order, with the tests behind it."""
    parts = [
        figure_block("system-ranking", charts),
        anova_table(analysis),
        pairwise_table(analysis),
        mixed_table(analysis),
    ]
    lead = (
        "Systems in order of their mean. The intervals take both raters and stimuli as samples; systems that cannot be"
        " told apart are marked."
    )
    return Section("systems", "Which systems are ahead", lead, html=joined(*parts), short="Systems")


def answers(charts: Mapping[str, Chart | Absent]) -> Section:
    """How often each answer was given."""
    parts = [figure_block("answers", charts), figure_block("answers-by-system", charts)]
    return Section("answers", "What raters answered", html=joined(*parts), short="Answers")
