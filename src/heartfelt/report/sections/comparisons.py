"""Stimuli judged together: strengths and pairs, order, agreement and ceilings, raters; MUSHRA, ABX and reference tests."""

from __future__ import annotations

from markupsafe import Markup

from heartfelt.analysis import Analysis
from heartfelt.analysis.comparison_results import (
    AbxPair,
    AgainstReference,
    ComparedPair,
    ComparisonQuestion,
    Contestant,
    MushraCondition,
    MushraListener,
)
from heartfelt.analysis.results import ALL
from heartfelt.report.charts import Charts
from heartfelt.report.naming import DisplayNames, system_names
from heartfelt.report.page import Section, absent, figure_block, folded, joined, paragraph, side_by_side
from heartfelt.report.tables import CellValue, Columns, PValue, table, table_of
from heartfelt.stats.comparison.consistency import RaterConsistency
from heartfelt.wording import number, plural, spaced

LEAD = "Strengths are log odds: a difference of 1 is a preference of 73 to 27."
MUSHRA_LEAD = (
    "Grades after post-screening by ITU-R BS.1534, which excludes listeners who grade the hidden reference below 90 in more than"
    " 15% of the items."
)
CEILINGS = {
    "accuracy": "One person's choice, a tie as half right",
    "decided_accuracy": "One person's choice, ties left out",
    "majority_accuracy": "The majority's choice",
    "log_loss": "Log loss of one person's choice (lowest to expect)",
    "strength": "Correlation with the strengths",
    "strength_ranks": "Rank correlation with the strengths",
}


def comparisons(analysis: Analysis, charts: Charts) -> Section | None:
    """Strengths, pairs, order, agreement, ceilings and raters of every question that compares stimuli."""
    every = [comparison for comparison in analysis.summary.comparisons or () if comparison.mushra is None]
    if not every:
        return None
    compared = any(comparison.contestants for comparison in every)
    html = joined(
        *(
            absent(f"{spaced(comparison.question)}: {comparison.why_missing}.")
            for comparison in every
            if comparison.why_missing
        ),
        *(figure_block(name, charts) for name in ("strengths", "win-matrix") if compared),
        *(_question(analysis, comparison) for comparison in every),
        figure_block("best-worst", charts)
        if any(comparison.scale == "best-worst" for comparison in every)
        else Markup(""),
        figure_block("abx", charts) if any(comparison.abx for comparison in every) else Markup(""),
        figure_block("against-reference", charts)
        if any(comparison.reference for comparison in every)
        else Markup(""),
        _sides(charts, every),
        *(_raters(comparison) for comparison in every),
    )
    lead = LEAD if compared else ""
    return Section(id="comparisons", title="How stimuli compare", lead=lead, html=html, short="Comparisons")


def _sides(charts: Charts, every: list[ComparisonQuestion]) -> Markup:
    """The order of presentation and the raters, where there is something to show of each."""
    names = ["order-effect"] if any(comparison.order for comparison in every) else []
    names += ["comparison-raters"] if any(comparison.consistency for comparison in every) else []
    return side_by_side(*(figure_block(name, charts) for name in names)) if names else Markup("")


def mushra(analysis: Analysis, charts: Charts) -> Section | None:
    """Conditions and listeners of a MUSHRA test."""
    every = [comparison for comparison in analysis.summary.comparisons or () if comparison.mushra is not None]
    if not every:
        return None
    html = joined(
        figure_block("mushra", charts),
        figure_block("mushra-medians", charts),
        *(_conditions(analysis, comparison) for comparison in every),
        *(_listeners(comparison) for comparison in every),
    )
    return Section(id="mushra", title="MUSHRA grades", lead=MUSHRA_LEAD, html=html, short="MUSHRA")


def _question(analysis: Analysis, comparison: ComparisonQuestion) -> Markup:
    names = system_names(analysis.snapshot) if comparison.of == "system" else DisplayNames()
    about = spaced(comparison.question)
    if comparison.why_missing:
        return Markup("")
    notes = (
        [paragraph(f"{about}: no strengths, because {comparison.why_no_strengths}.")]
        if comparison.why_no_strengths
        else []
    )
    return joined(
        *notes,
        *(paragraph(note) for note in comparison.notes),
        _contestants(about, comparison, names),
        _pairs(about, comparison, names),
        _tests(about, comparison),
        _agreement(about, comparison),
        _abx(about, comparison, names),
        _reference(about, comparison, names),
    )


def _contestants(about: str, comparison: ComparisonQuestion, names: DisplayNames) -> Markup:
    columns: Columns[Contestant] = {
        comparison.of: lambda row: names[row.name],
        "strength": lambda row: row.strength,
        "rank": lambda row: row.rank,
        "plausible ranks": lambda row: None if row.rank_low is None else f"{row.rank_low} to {row.rank_high}",
        "probability of being first": lambda row: row.best,
        "answers": lambda row: row.answers,
    }
    if any(row.score is not None for row in comparison.contestants):
        columns = {**columns, "best less worst": lambda row: row.score}
    caption = f"{about}: strengths ({comparison.model}), with 95% intervals"
    return table_of(caption, comparison.contestants, columns)


def _pairs(about: str, comparison: ComparisonQuestion, names: DisplayNames) -> Markup:
    mean = "mean grade for a" if comparison.scale == "preference" else "share for a"
    columns: Columns[ComparedPair] = {
        "a": lambda row: names[row.a],
        "b": lambda row: names[row.b],
        "comparisons": lambda row: row.comparisons,
        "a preferred": lambda row: row.a_wins,
        "ties": lambda row: row.ties,
        "b preferred": lambda row: row.b_wins,
        mean: lambda row: row.preference,
        "a less b": lambda row: row.difference,
        "p (Holm)": lambda row: PValue(row.p_corrected),
        "differ": lambda row: row.significant,
    }
    content = table_of(f"{about}: pairs, with 95% intervals", comparison.pairs, columns)
    return folded(f"{about}: all {plural(len(comparison.pairs), 'pair')}", content)


def _tests(about: str, comparison: ComparisonQuestion) -> Markup:
    """The order effect, ties and transitivity in a small table."""
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
    return table(f"{about}: order, ties and transitivity", ["what", "value", "p"], lines)


def _agreement(about: str, comparison: ComparisonQuestion) -> Markup:
    agreement = comparison.agreement
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
    if comparison.concordance is not None:
        lines += [
            ["Kendall's W of the rankings", comparison.concordance.w],
            ["mean rank correlation between two raters", comparison.concordance.correlation],
            ["p of rankings at random", PValue(comparison.concordance.p_value)],
        ]
    lines += [
        [f"ceiling: {CEILINGS[name]}", value]
        for name, value in comparison.ceilings.items()
        if name in CEILINGS
    ]
    return table(f"{about}: agreement on pairs, and what a predictor can expect", ["what", "value"], lines)


def _abx(about: str, comparison: ComparisonQuestion, names: DisplayNames) -> Markup:
    columns: Columns[AbxPair] = {
        "systems": lambda row: "all pairs" if row.a == ALL else f"{names[row.a]}, {names[row.b]}",
        "share correct": lambda row: row.share,
        "d'": lambda row: row.d_prime,
        "p of guessing (Holm)": lambda row: PValue(row.p_corrected),
        f"p of {number(100 * (0.5 + comparison.abx[0].margin)) if comparison.abx else ''}% or more": lambda row: (
            PValue(row.equivalence_p)
        ),
    }
    return table_of(f"{about}: ABX, exact tests", comparison.abx, columns)


def _reference(about: str, comparison: ComparisonQuestion, names: DisplayNames) -> Markup:
    columns: Columns[AgainstReference] = {
        "system": lambda row: names[row.system],
        "mean (DMOS)": lambda row: row.mean,
        "less the top of the scale": lambda row: row.below_top,
    }
    return table_of(f"{about}: next to the reference, with 95% intervals", comparison.reference, columns)


def _raters(comparison: ComparisonQuestion) -> Markup:
    columns: Columns[RaterConsistency] = {
        "rater": lambda row: str(row.rater),
        "comparisons": lambda row: row.comparisons,
        "ties": lambda row: row.ties,
        "first chosen": lambda row: row.first_share,
        "p against the others": lambda row: PValue(row.p_side),
        "with the others": lambda row: row.agreement,
        "p of guessing": lambda row: PValue(row.p_chance),
        "triads": lambda row: row.triads,
        "circular": lambda row: row.circular,
    }
    about = spaced(comparison.question)
    content = table_of(f"{about}: consistency of raters", comparison.consistency, columns)
    return folded(f"{about}: every rater", content)


def _conditions(analysis: Analysis, comparison: ComparisonQuestion) -> Markup:
    names, grades = system_names(analysis.snapshot), comparison.mushra
    columns: Columns[MushraCondition] = {
        "condition": lambda row: names[row.name],
        "role": lambda row: spaced(row.role),
        "mean": lambda row: row.mean,
        "median": lambda row: row.median,
        "quartiles": lambda row: f"{number(row.quartiles[0], 1)} to {number(row.quartiles[1], 1)}",
        "below the reference": lambda row: row.below_reference,
    }
    return table_of(
        f"{spaced(comparison.question)}: conditions", grades.conditions if grades else (), columns
    )


def _listeners(comparison: ComparisonQuestion) -> Markup:
    grades = comparison.mushra
    if grades is None:
        return Markup("")
    columns: Columns[MushraListener] = {
        "listener": lambda row: row.rater,
        "items": lambda row: row.items,
        "reference below 90": lambda row: row.reference_below,
        "reference below an anchor": lambda row: row.reference_below_anchor,
        "mid-range anchor above 90": lambda row: row.anchor_above if grades.mid_anchor else None,
        "left out": lambda row: row.excluded,
        "why": lambda row: row.reason,
    }
    content = table_of("Listeners and post-screening", grades.listeners, columns)
    excluded_count = len(grades.excluded)
    return folded(
        f"Listeners: post-screening leaves out {excluded_count} of {len(grades.listeners)}", content
    )
