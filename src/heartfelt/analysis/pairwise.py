"""Which systems, and which quadrants, differ: all pairs, three ways.

Tukey-Kramer pools the variance of the stimuli's scores, as most papers do; Games-Howell gives every pair its own. Both
take the raters as they are and every difference between intents as noise. The two-way jackknife takes stimuli within their
intents and raters as samples, with Holm's correction over the pairs; it is the one that marks ties in the ranking.
Differences are ``a`` minus ``b``.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

import polars as pl

from heartfelt.analysis.material import Material
from heartfelt.analysis.scores import Outcome, Scored
from heartfelt.analysis.two_way import Changes, difference, error_of, estimate, p_value
from heartfelt.analysis.variance import outcome_column
from heartfelt.stats.inference import Pairwise, games_howell, holm, tukey

MOST_GROUPS = 60
JACKKNIFE = "two-way jackknife, Holm"


def pairwise(material: Material, laid: dict[str, Scored]) -> list[dict[str, Any]]:
    """Every pair of systems and of quadrants, for every question that can be averaged."""
    rows: list[dict[str, Any]] = []
    for one in material.questions:
        if not one.numbers or not one.items.height:
            continue
        wanted: list[tuple[Outcome, str]] = [("value", "system")]
        if one.referenced:
            wanted = [("signed", "system"), ("absolute", "system"), ("absolute", "quadrant")]
        for outcome, factor in wanted:
            rows += _classical(one.items, one.id, outcome, factor)
            rows += _two_way(laid[one.id], outcome, factor)
    return rows


def _groups(items: pl.DataFrame, factor: str) -> list[str]:
    names = items[factor].drop_nulls().unique().sort().to_list()
    return names if 2 <= len(names) <= MOST_GROUPS else []


def _classical(items: pl.DataFrame, question: str, outcome: str, factor: str) -> list[dict[str, Any]]:
    frame = items.drop_nulls([factor] if outcome == "value" else [factor, "deviation"])
    if not _groups(frame, factor):
        return []
    column, group = outcome_column(frame, outcome), frame[factor]
    head = {"outcome": question, "deviation": outcome, "factor": factor}
    return [
        head | row for found in (tukey(column, group), games_howell(column, group)) for row in _rows(found)
    ]


def _rows(found: Pairwise) -> list[dict[str, Any]]:
    out = []
    for pair in found.pairs:
        row = {"method": found.method, "a": pair.a, "b": pair.b, "difference": pair.difference}
        row |= {"low": pair.low, "high": pair.high, "p": pair.p, "significant": pair.significant}
        if pair.p is None:
            row["why_missing"] = pair.estimate.why_no_interval or pair.estimate.why_missing
        out.append(row)
    return out


def _two_way(laid: Scored, outcome: Outcome, factor: str) -> list[dict[str, Any]]:
    """All pairs by the two-way jackknife, with Holm's correction."""
    names = _groups(laid.question.items, factor)
    parts = {name: laid.changes(laid.where(factor, name), outcome) for name in names}
    known = {name: found for name, found in parts.items() if isinstance(found, Changes)}
    pairs = list(combinations(known, 2))
    head = {"outcome": laid.question.id, "deviation": outcome, "factor": factor, "method": JACKKNIFE}
    rows: list[dict[str, Any]] = []
    plain: list[float | None] = []
    for a, b in pairs:
        apart = difference(known[a], known[b])
        found, error = estimate(apart, "difference of means"), error_of(apart)
        row = head | {"a": a, "b": b, "difference": found.value, "low": found.low, "high": found.high}
        plain.append(None if isinstance(error, str) else p_value(apart, error))
        rows.append(
            row | ({"why_missing": error} if isinstance(error, str) else {"interval": found.interval})
        )
    held = holm(plain)
    return [
        row | {"p": p, "p_alone": alone, "significant": significant}
        for row, p, alone, significant in zip(rows, held.adjusted, plain, held.significant, strict=True)
    ]
