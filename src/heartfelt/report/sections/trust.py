"""How far the ratings can be trusted: agreement, reliability, ceiling, and what more raters would buy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from markupsafe import Markup

from heartfelt.report.blocks import absent, figure_block, folded, joined
from heartfelt.report.chart import Absent, Chart
from heartfelt.report.page import Section
from heartfelt.report.reading import MANY_QUESTIONS, Analysis, inside, value_of
from heartfelt.report.tables import table
from heartfelt.report.words import coefficient, number, plain

HEADLINES = (
    "alpha_interval",
    "alpha_ordinal",
    "alpha_nominal",
    "icc1",
    "icc1k",
    "icc2",
    "icc2k",
    "icc3",
    "icc3k",
    "split_half",
)
CEILINGS = ("correlation", "rmse", "accuracy", "within_cells", "cell_means", "human")
FEW = 4


def trust(analysis: Analysis, charts: Mapping[str, Chart | Absent]) -> Section:
    """Tables and figures of reliability."""
    found = inside(analysis, "reliability") or {}
    pooled = inside(analysis, "reliability_pooled") or {}
    together = {f"all: {plain(name)}": part for name, part in pooled.items()}
    # With few questions each stands for itself, and the pool comes last.
    found = {**together, **found} if len(found) > MANY_QUESTIONS else {**found, **together}
    parts = [_coefficients(found), _needed(found)]
    pair = Markup('<div class="pair">\n{}\n{}\n</div>').format(
        figure_block("reliability-by-raters", charts), figure_block("ratings-per-item", charts)
    )
    parts += [pair, figure_block("ceiling", charts), _components(found)]
    lead = (
        "Reliability says how much of the differences between stimuli is shared by raters; the ceiling is what that leaves for"
        " anything that tries to predict the labels, human or machine."
    )
    return Section("trust", "How far the ratings can be trusted", lead, html=joined(*parts), short="Trust")


def _coefficients(found: Mapping[str, Any]) -> Markup:
    if not found:
        return absent("No reliability could be estimated.")
    names = [
        name for name in HEADLINES if any(isinstance(part.get(name), Mapping) for part in found.values())
    ]
    names = [
        name for name in names if any(value_of(part.get(name)) is not None for part in found.values())
    ] or names[:1]
    ceilings = [
        name
        for name in CEILINGS
        if any(value_of((part.get("ceiling") or {}).get(name)) is not None for part in found.values())
    ]
    said = {
        "within_cells": "Ceiling of correlation within cells",
        "cell_means": "What bare cell means reach",
        "human": "What one rater reaches",
    }
    labels = [coefficient(name) for name in names] + [said.get(name, coefficient(name)) for name in ceilings]

    def cells(part: Mapping[str, Any]) -> list[Any]:
        return [part.get(name) for name in names] + [
            (part.get("ceiling") or {}).get(name) for name in ceilings
        ]

    if len(found) <= FEW:
        columns = [cells(part) for part in found.values()]
        lines = [[label, *(column[place] for column in columns)] for place, label in enumerate(labels)]
        return table(
            "Reliability and ceiling, with 95% intervals", ["coefficient", *(plain(q) for q in found)], lines
        )
    lines = [[plain(question), *cells(part)] for question, part in found.items()]
    return table(
        "Reliability and ceiling, with 95% intervals",
        ["question", *labels],
        lines,
        more="all are in summary.json",
    )


def _needed(found: Mapping[str, Any]) -> Markup:
    lines = []
    for question, part in found.items():
        needed = part.get("raters_needed")
        if isinstance(needed, Mapping) and any(n is not None for n in needed.values()):
            between = part.get("raters_needed_between") or {}
            lines.append(
                [
                    plain(question),
                    *(_count(needed.get(target), between.get(target)) for target in ("0.7", "0.8", "0.9")),
                ]
            )
    if not lines:
        return Markup("")
    return table(
        "Raters per item needed for a reliable mean, with 95% bounds",
        ["question", "for .7", "for .8", "for .9"],
        lines,
    )


def _count(found: Any, between: Any) -> str | None:
    """A number of raters with its bounds; where the reliability may be zero, only the lower bound is known."""
    needed = value_of(found)
    if needed is None:
        return None
    low, high = between if isinstance(between, list | tuple) and len(between) == 2 else (None, None)
    if high is None:
        return f"{number(int(low))} or more, no upper bound" if low is not None else "no bound"
    return (
        f"{number(int(needed))} ({number(int(low))} to {number(int(high))})"
        if low is not None
        else number(int(needed))
    )


def _components(found: Mapping[str, Any]) -> Markup:
    lines = []
    for question, part in found.items():
        components = part.get("variance_components") or {}
        for source in ("stimulus", "rater", "residual"):
            share = value_of(components.get(f"share_{source}"))
            if value_of(components.get(source)) is not None:
                lines.append(
                    [
                        plain(question),
                        source,
                        components[source],
                        None if share is None else f"{number(100 * share, 1)}%",
                    ]
                )
    if not lines:
        return Markup("")
    content = table(
        "Variance of single ratings by source", ["question", "source", "variance", "share"], lines
    )
    return folded("Where the variance of single ratings comes from", content)
