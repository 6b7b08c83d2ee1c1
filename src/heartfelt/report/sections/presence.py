"""Presence and rubric studies: on which questions raters agree."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from markupsafe import Markup

from heartfelt.report.blocks import figure_block, folded, joined
from heartfelt.report.chart import Absent, Chart
from heartfelt.report.page import Section
from heartfelt.report.reading import MANY_QUESTIONS, Analysis, inside, summary_data, value_of
from heartfelt.report.tables import table
from heartfelt.report.words import coefficient, plain

SHOWN = (
    "alpha_ordinal",
    "cohen_kappa_quadratic",
    "fleiss_kappa",
    "cohen_kappa",
    "gwet_ac1",
    "gwet_ac2",
    "exact_agreement",
    "pairwise_accuracy",
    "pairwise_balanced_accuracy",
    "leave_one_out",
)


def agreement(analysis: Analysis, charts: Mapping[str, Chart | Absent]) -> Section | None:
    """Agreement on categories, question by question and over all."""
    found = inside(analysis, "agreement")
    found = (
        {q: row for q, row in found.items() if isinstance(row, Mapping)} if isinstance(found, Mapping) else {}
    )
    if not found:
        return None
    pooled = inside(analysis, "agreement_pooled") or {}
    together = {f"all: {plain(name)}": row for name, row in pooled.items() if isinstance(row, Mapping)}
    single = {plain(name): row for name, row in found.items()}
    everything: dict[str, Any] = together | single if len(single) > MANY_QUESTIONS else single | together
    names = [
        name for name in SHOWN if any(value_of(row.get(name)) is not None for row in everything.values())
    ]
    lines = [[question, *(row.get(name) for name in names)] for question, row in everything.items()]
    html = joined(
        figure_block("agreement", charts),
        figure_block("confusion", charts)
        if isinstance(charts.get("confusion"), Chart) and summary_data(analysis).get("kind") != "conveyance"
        else Markup(""),
        table(
            "Agreement, with 95% intervals",
            ["question", *(coefficient(name) for name in names)],
            lines,
            more="all are in summary.json",
        ),
        _breakdown(analysis),
    )
    lead = "Agreement between raters on each question: beyond chance, plain, and each vote against the majority of the others."
    if "alpha_ordinal" in names:
        lead += " Where categories have an order, the coefficients that know it come first."
    return Section("agreement", "Where raters agree", lead, html=html, short="Agreement")


def _breakdown(analysis: Analysis) -> Markup:
    """Labels by what is known of the items."""
    found = inside(analysis, "breakdown")
    if not isinstance(found, Mapping):
        return Markup("")
    parts = []
    known = [row for rows in found.values() for row in rows]
    shown = [
        (key, title)
        for key, title in (
            ("present", "present"),
            ("unanimous", "unanimous"),
            ("matches_intended", "as intended"),
        )
        if any(value_of(row[key]) is not None for row in known)
    ]
    for fact, rows in found.items():
        lines = [
            [
                plain(str(row["value"])),
                *(row[key] for key in ("n_items", "n_ratings", "n_labels", "n_ties", "n_single")),
                *(row[key] if value_of(row[key]) is not None else None for key, _ in shown),
            ]
            for row in rows
        ]
        columns = [
            plain(fact),
            "items",
            "ratings",
            "labels",
            "ties",
            "single rater",
            *(title for _, title in shown),
        ]
        content = table(
            f"Labels by {plain(fact)}" if fact != "all" else "Labels of all items", columns, lines
        )
        parts.append(content if fact == "all" else folded(f"Labels by {plain(fact)}", content))
    return Markup("\n").join(parts[::-1])
