"""How far the ratings can be trusted: reliability, ceiling, raters needed, and agreement on categories."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from markupsafe import Markup

from heartfelt.analysis import Analysis
from heartfelt.analysis.results import Agreement, Ceilings, Reliability
from heartfelt.report.charts import Chart, Charts
from heartfelt.report.naming import MANY_QUESTIONS, coefficient
from heartfelt.report.page import Section, absent, figure_block, folded, joined, side_by_side
from heartfelt.report.tables import CellValue, table
from heartfelt.stats.estimate import Estimate
from heartfelt.wording import number, percent, spaced

COEFFICIENTS = (
    "alpha_interval", "alpha_ordinal", "alpha_nominal", "icc1", "icc1k", "icc2", "icc2k", "icc3", "icc3k", "split_half",
)  # fmt: skip
CEILINGS = {
    "correlation": "Ceiling of correlation",
    "rmse": "Floor of the error (RMSE)",
    "accuracy": "Ceiling of accuracy",
    "within_cells": "Ceiling of correlation within cells",
    "cell_means": "What cell means reach",
    "human": "What one rater reaches",
}
AGREEMENT = (
    "alpha_ordinal", "cohen_kappa_quadratic", "fleiss_kappa", "cohen_kappa", "gwet_ac1", "gwet_ac2", "exact_agreement",
    "pairwise_accuracy", "pairwise_balanced_accuracy", "leave_one_out",
)  # fmt: skip
FEW = 4
IN_SUMMARY = "all are in summary.json"
T = TypeVar("T")


def _with_pool(single: Mapping[str, T] | None, pooled: Mapping[str, T] | None) -> dict[str, T]:
    """The parts of the questions and of their pools by name; pools come first where there are very many questions."""
    each = {spaced(name): part for name, part in (single or {}).items()}
    together = {f"all: {spaced(name)}": part for name, part in (pooled or {}).items()}
    return together | each if len(each) > MANY_QUESTIONS else each | together


def _held(part: object, name: str) -> Estimate | None:
    """An estimate of a part by name, where the part has it."""
    held = getattr(part, name)
    return held if isinstance(held, Estimate) else None


def _known(parts: Mapping[str, object], name: str) -> bool:
    """Whether any part has a value under a name."""
    return any((held := _held(part, name)) is not None and held.value is not None for part in parts.values())


def trust(analysis: Analysis, charts: Charts) -> Section:
    """Tables and figures of reliability."""
    parts = _with_pool(analysis.summary.reliability, analysis.summary.reliability_pooled)
    html = joined(
        _coefficients(parts),
        _needed(parts),
        side_by_side(figure_block("reliability-by-raters", charts), figure_block("ratings-per-item", charts)),
        figure_block("ceiling", charts),
        _components(parts),
    )
    lead = (
        "Reliability is how much of the differences between stimuli raters share; the ceiling is what that leaves for"
        " anything that tries to predict the labels, human or machine."
    )
    return Section("trust", "How far the ratings can be trusted", lead, html, "Trust")


def _coefficients(parts: Mapping[str, Reliability]) -> Markup:
    if not parts:
        return absent("No reliability could be estimated.")
    names = [name for name in COEFFICIENTS if _known(parts, name)] or list(COEFFICIENTS[:1])
    ceilings: dict[str, Ceilings] = {question: part.ceiling for question, part in parts.items()}
    limits = [name for name in CEILINGS if _known(ceilings, name)]
    labels = [coefficient(name) for name in names] + [CEILINGS[name] for name in limits]
    columns: dict[str, list[CellValue]] = {
        question: [*(_held(part, name) for name in names), *(_held(part.ceiling, name) for name in limits)]
        for question, part in parts.items()
    }
    caption = "Reliability and ceiling, with 95% intervals"
    if len(parts) <= FEW:
        lines = [[label, *(column[at] for column in columns.values())] for at, label in enumerate(labels)]
        return table(caption, ["coefficient", *columns], lines)
    return table(
        caption, ["question", *labels], [[q, *cells] for q, cells in columns.items()], more=IN_SUMMARY
    )


def _needed(parts: Mapping[str, Reliability]) -> Markup:
    lines = [
        [question, *(_count(part, target) for target in ("0.7", "0.8", "0.9"))]
        for question, part in parts.items()
        if any(count is not None for count in part.raters_needed.values())
    ]
    if not lines:
        return Markup("")
    caption = "Raters per item needed for a reliable mean, with 95% bounds"
    return table(caption, ["question", "for .7", "for .8", "for .9"], lines)


def _count(part: Reliability, target: str) -> str | None:
    """A number of raters with its bounds; where the reliability may be zero, only the lower bound is known."""
    needed = part.raters_needed.get(target)
    if needed is None:
        return None
    low, high = part.raters_needed_between.get(target) or (None, None)
    if high is None:
        return f"{number(low)} or more, no upper bound" if low is not None else "no bound"
    return f"{number(needed)} ({number(low)} to {number(high)})" if low is not None else number(needed)


def _components(parts: Mapping[str, Reliability]) -> Markup:
    lines: list[list[CellValue]] = []
    for question, part in parts.items():
        held = part.variance_components
        if held is not None:
            lines += [
                [question, name, variance, percent(share.value, 1) if share.value is not None else None]
                for name, variance, share in (
                    ("stimulus", held.stimulus, held.share_stimulus),
                    ("rater", held.rater, held.share_rater),
                    ("residual", held.residual, held.share_residual),
                )
                if variance.value is not None
            ]
    if not lines:
        return Markup("")
    content = table(
        "Variance of single ratings by source", ["question", "source", "variance", "share"], lines
    )
    return folded("Where the variance of single ratings comes from", content)


def agreement(analysis: Analysis, charts: Charts) -> Section | None:
    """Agreement on categories, question by question and over all."""
    if not analysis.summary.agreement:
        return None
    parts: dict[str, Agreement] = _with_pool(analysis.summary.agreement, analysis.summary.agreement_pooled)
    names = [name for name in AGREEMENT if _known(parts, name)]
    lines = [[question, *(_held(part, name) for name in names)] for question, part in parts.items()]
    shows_confusion = isinstance(charts.get("confusion"), Chart) and analysis.summary.kind != "conveyance"
    html = joined(
        figure_block("agreement", charts),
        figure_block("confusion", charts) if shows_confusion else Markup(""),
        table(
            "Agreement, with 95% intervals", ["question", *map(coefficient, names)], lines, more=IN_SUMMARY
        ),
        _breakdown(analysis),
    )
    lead = "Agreement between raters on each question: beyond chance, plain, and each vote against the majority of the others."
    if "alpha_ordinal" in names:
        lead += " Where categories have an order, the coefficients that use it come first."
    return Section("agreement", "Where raters agree", lead, html, "Agreement")


def _breakdown(analysis: Analysis) -> Markup:
    """Labels by what is known of the items."""
    breakdown = analysis.summary.breakdown or {}
    every = {str(place): row for place, row in enumerate(row for rows in breakdown.values() for row in rows)}
    titles = {"present": "present", "unanimous": "unanimous", "matches_intended": "as intended"}
    shown = [name for name in titles if _known(every, name)]
    parts = []
    for fact, rows in breakdown.items():
        lines: list[list[CellValue]] = []
        for row in rows:
            estimates = [_held(row, name) for name in shown]
            counts = [row.n_items, row.n_ratings, row.n_labels, row.n_ties, row.n_single]
            known = [
                estimate if estimate is not None and estimate.value is not None else None
                for estimate in estimates
            ]
            lines.append([spaced(row.value), *counts, *known])
        counted = ["items", "ratings", "labels", "ties", "single rater"]
        columns = [spaced(fact), *counted, *(titles[name] for name in shown)]
        title = "Labels of all items" if fact == "all" else f"Labels by {spaced(fact)}"
        content = table(title, columns, lines)
        parts.append(content if fact == "all" else folded(title, content))
    return joined(*reversed(parts))
