"""Stimuli judged together: strengths and pairs, order, agreement and ceilings, raters; MUSHRA, ABX and reference tests."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from heartfelt.analysis import Analysis
from heartfelt.analysis.findings.comparisons import ComparisonQuestion
from heartfelt.analysis.findings.parts import ALL
from heartfelt.report.charts import Charts
from heartfelt.report.layout.naming import DisplayNames, system_names
from heartfelt.report.layout.page import Section, figure_block
from heartfelt.report.layout.tables import CellValue, PValue
from heartfelt.report.layout.templates import section
from heartfelt.wording import number

CEILINGS = {
    "accuracy": "One person's choice, a tie as half right",
    "decided_accuracy": "One person's choice, ties left out",
    "majority_accuracy": "The majority's choice",
    "log_loss": "Log loss of one person's choice (lowest to expect)",
    "strength": "Correlation with the strengths",
    "strength_ranks": "Rank correlation with the strengths",
}
FIGURES: Mapping[str, Callable[[ComparisonQuestion], object]] = {
    "best-worst": lambda question: question.scale == "best-worst",
    "abx": lambda question: question.abx,
    "against-reference": lambda question: question.reference,
}
"""The figures of some questions only, with what a question must have."""
SIDES: Mapping[str, Callable[[ComparisonQuestion], object]] = {
    "order-effect": lambda question: question.order,
    "comparison-raters": lambda question: question.consistency,
}


def comparisons(analysis: Analysis, charts: Charts) -> Section | None:
    """Strengths, pairs, order, agreement, ceilings and raters of every question that compares stimuli."""
    every = _questions(analysis, mushra=False)
    if not every:
        return None
    systems = system_names(analysis.snapshot)
    return section(
        "sections/comparisons",
        "comparisons",
        charts,
        every=every,
        compared=any(comparison.contestants for comparison in every),
        names_of=lambda comparison: systems if comparison.of == "system" else DisplayNames(),
        scores_best_and_worst=lambda comparison: any(row.score is not None for row in comparison.contestants),
        tests_of=_tests,
        agreement_of=_agreement,
        all_pairs=ALL,
        shown=[name for name, has_data in FIGURES.items() if any(map(has_data, every))],
        sides=[figure_block(name, charts) for name, has_data in SIDES.items() if any(map(has_data, every))],
    )


def mushra(analysis: Analysis, charts: Charts) -> Section | None:
    """Conditions and listeners of a MUSHRA test."""
    every = _questions(analysis, mushra=True)
    names = system_names(analysis.snapshot)
    return section("sections/mushra", "mushra", charts, every=every, names=names) if every else None


def _questions(analysis: Analysis, *, mushra: bool) -> list[ComparisonQuestion]:
    return [question for question in analysis.summary.comparisons or () if (question.mushra is not None) == mushra]


def _tests(comparison: ComparisonQuestion) -> list[list[CellValue]]:
    """The order effect, ties and transitivity as lines of a table."""
    lines: list[list[CellValue]] = []
    if comparison.order is not None:
        lines.append(["share of first choices", comparison.order.first_share, PValue(None)])
        lines.append(["advantage of being first", comparison.order.effect, PValue(comparison.order.p)])
    if comparison.tie is not None and not comparison.tie.is_missing:
        lines.append(["Davidson's tie parameter", comparison.tie, PValue(None)])
    line = comparison.transitivity
    if line is not None:
        test = f"one order for all pairs: deviance on {line.df} df"
        shown = number(line.deviance, 2) if line.deviance is not None else line.why_missing
        lines.append([test, shown, PValue(line.p_value)])
    return lines


def _agreement(comparison: ComparisonQuestion) -> list[list[CellValue]]:
    agreement, concordance = comparison.agreement, comparison.concordance
    lines: list[list[CellValue]] = []
    if agreement is not None:
        lines += [
            ["pairs of stimuli compared", agreement.pairs],
            ["compared by several raters", agreement.judged_twice],
            ["of these with a majority", agreement.with_majority],
            ["all answers to a pair are the same", agreement.unanimous],
            ["two answers to a pair are the same", agreement.two_answers],
            ["an answer is that of the majority of the others", agreement.with_the_others],
            ["Krippendorff's alpha (nominal)", agreement.alpha],
        ]
    if concordance is not None:
        lines += [
            ["Kendall's W of the rankings", concordance.w],
            ["mean rank correlation between two raters", concordance.correlation],
            ["p of rankings at random", PValue(concordance.p_value)],
        ]
    ceilings = ((name, value) for name, value in comparison.ceilings.items() if name in CEILINGS)
    return lines + [[f"ceiling: {CEILINGS[name]}", value] for name, value in ceilings]
