"""How far the ratings can be trusted: reliability, ceiling, raters needed, and agreement on categories."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

from markupsafe import Markup

from heartfelt.analysis import Analysis
from heartfelt.analysis.findings.parts import Agreement, BreakdownRow, Ceilings, Reliability
from heartfelt.analysis.text.highlights import if_careless
from heartfelt.report.charts import Chart, Charts
from heartfelt.report.layout.naming import MANY_QUESTIONS, coefficient
from heartfelt.report.layout.page import Section
from heartfelt.report.layout.tables import CellValue, table
from heartfelt.report.layout.templates import section
from heartfelt.stats.estimate import FOR_RATERS, IF_CARELESS, Estimate
from heartfelt.wording import number, percent, spaced

COEFFICIENTS = (
    "alpha_interval", "alpha_ordinal", "alpha_nominal", "icc1", "icc1k", "icc2", "icc2k", "icc3", "icc3k", "split_half",
)  # fmt: skip
CEILINGS = ("correlation", "rmse", "accuracy", "accuracy_smooth", "within_cells", "cell_means", "human")
AGREEMENT = (
    "alpha_ordinal", "cohen_kappa_quadratic", "fleiss_kappa", "cohen_kappa", "gwet_ac1", "gwet_ac2", "exact_agreement",
    "pairwise_accuracy", "pairwise_balanced_accuracy", "leave_one_out",
)  # fmt: skip
FEW = 4
T = TypeVar("T")


def _with_pool(single: Mapping[str, T] | None, pooled: Mapping[str, T] | None) -> dict[str, T]:
    """The parts of the questions and of their pools by name; pools come first where there are very many questions."""
    by_question = {spaced(name): part for name, part in (single or {}).items()}
    together = {f"all: {spaced(name)}": part for name, part in (pooled or {}).items()}
    return together | by_question if len(by_question) > MANY_QUESTIONS else by_question | together


def _estimate_of(part: object, name: str) -> Estimate | None:
    value = getattr(part, name)
    return value if isinstance(value, Estimate) else None


def _has_estimates(parts: Mapping[str, object], name: str) -> bool:
    """Whether any part has a value under a name."""
    return any(
        (estimate := _estimate_of(part, name)) is not None and estimate.value is not None for part in parts.values()
    )


def _estimated(names: Sequence[str], parts: Mapping[str, object]) -> list[str]:
    return [name for name in names if _has_estimates(parts, name)]


def trust(analysis: Analysis, charts: Charts) -> Section:
    """Tables and figures of reliability."""
    parts = _with_pool(analysis.summary.reliability, analysis.summary.reliability_pooled)
    careless = [name for name in COEFFICIENTS if any(map(_if_careless, _estimates(parts, name)))]
    return section(
        "sections/reliability",
        "trust",
        charts,
        coefficients=_coefficients(parts, FOR_RATERS[analysis.summary.future_raters]),
        careless_title=f"Lower bounds {IF_CARELESS}",
        careless_columns=[coefficient(name) for name in careless],
        careless=[
            [question, *((estimate := _estimate_of(part, name)) and estimate.bound_if_careless for name in careless)]
            for question, part in parts.items()
        ],
        needed=_needed(parts),
        components=_components(parts),
    )


def _estimates(parts: Mapping[str, object], name: str) -> list[Estimate | None]:
    return [_estimate_of(part, name) for part in parts.values()]


def _if_careless(estimate: Estimate | None) -> bool:
    return estimate is not None and bool(if_careless(estimate))


def _coefficients(parts: Mapping[str, Reliability], whom: str) -> Markup:
    names = _estimated(COEFFICIENTS, parts) or list(COEFFICIENTS[:1])
    ceilings: dict[str, Ceilings] = {question: part.ceiling for question, part in parts.items()}
    limits = _estimated(CEILINGS, ceilings)
    labels = [coefficient(name) for name in (*names, *limits)]
    estimates = [*(_estimates(parts, name) for name in names), *(_estimates(ceilings, name) for name in limits)]
    columns, lines = ["question", *labels], list[list[CellValue]](map(list, zip(parts, *estimates, strict=True)))
    # One line per question with all coefficients is wide; few questions are read more easily across.
    if 0 < len(parts) <= FEW:
        columns = ["coefficient", *parts]
        lines = [[label, *cells] for label, cells in zip(labels, estimates, strict=True)]
    return table(f"Reliability and ceiling, with 95% intervals {whom}", columns, lines)


def _needed(parts: Mapping[str, Reliability]) -> list[list[str | None]]:
    return [
        [question, *(_count(part, target) for target in ("0.7", "0.8", "0.9"))]
        for question, part in parts.items()
        if any(count is not None for count in part.raters_needed.values())
    ]


def _count(part: Reliability, target: str) -> str | None:
    """A number of raters with its bounds; where the reliability may be zero, only the lower bound is known."""
    needed = part.raters_needed.get(target)
    if needed is None:
        return None
    low, high = part.raters_needed_between.get(target) or (None, None)
    if high is None:
        return f"{number(low)} or more, no upper bound" if low is not None else "no bound"
    return f"{number(needed)} ({number(low)} to {number(high)})" if low is not None else number(needed)


def _components(parts: Mapping[str, Reliability]) -> list[list[CellValue]]:
    lines: list[list[CellValue]] = []
    for question, part in parts.items():
        components = part.variance_components
        for name in ("stimulus", "rater", "residual") if components is not None else ():
            variance, share = _estimate_of(components, name), _estimate_of(components, f"share_{name}")
            if variance is not None and variance.value is not None:
                has_share = share is not None and share.value is not None
                lines.append([question, name, variance, percent(share.value, 1) if share and has_share else None])
    return lines


def agreement(analysis: Analysis, charts: Charts) -> Section | None:
    """Agreement on categories, question by question and over all."""
    if not analysis.summary.agreement:
        return None
    parts: dict[str, Agreement] = _with_pool(analysis.summary.agreement, analysis.summary.agreement_pooled)
    names = _estimated(AGREEMENT, parts)
    return section(
        "sections/agreement",
        "agreement",
        charts,
        shows_confusion=isinstance(charts.get("confusion"), Chart) and analysis.summary.kind != "conveyance",
        columns=["question", *map(coefficient, names)],
        lines=[[question, *(_estimate_of(part, name) for name in names)] for question, part in parts.items()],
        breakdown=_breakdown(analysis),
    )


def _breakdown(analysis: Analysis) -> list[tuple[str, list[str], list[list[CellValue]]]]:
    """Labels by what is known of the items: the fact, and the columns and lines of its table."""
    breakdown = analysis.summary.breakdown or {}
    every = {str(index): row for index, row in enumerate(row for rows in breakdown.values() for row in rows)}
    titles = {"present": "present", "unanimous": "unanimous", "matches_intended": "as intended"}
    shown = _estimated(list(titles), every)
    columns = ["items", "ratings", "labels", "ties", "single rater", *(titles[name] for name in shown)]
    parts = [
        (fact, [spaced(fact), *columns], [_breakdown_line(row, shown) for row in rows])
        for fact, rows in breakdown.items()
    ]
    return parts[::-1]


def _breakdown_line(row: BreakdownRow, names: Sequence[str]) -> list[CellValue]:
    estimates = (_estimate_of(row, name) for name in names)
    cells = (None if estimate is None or estimate.value is None else estimate for estimate in estimates)
    return [spaced(row.value), row.n_items, row.n_ratings, row.n_labels, row.n_ties, row.n_single, *cells]
