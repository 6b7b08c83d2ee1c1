"""What a report reads of an analysis: the parts of its summary, with the reason where one is absent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from heartfelt.analysis import Analysis
from heartfelt.serialization import to_json

__all__ = [
    "Analysis",
    "bounds_of",
    "inside",
    "questions",
    "rows",
    "summary_data",
    "system_names",
    "trust_parts",
    "value_of",
    "why",
]

MANY_QUESTIONS = 12


@lru_cache(maxsize=4)
def summary_data(analysis: Analysis) -> dict[str, Any]:
    """The summary as plain data."""
    made = to_json(analysis.summary)
    assert isinstance(made, dict)
    return made


def rows(analysis: Analysis, part: str, **where: Any) -> list[dict[str, Any]]:
    """The rows of a listed part that hold ``where``; none if the part is absent."""
    found = summary_data(analysis).get(part)
    if not isinstance(found, Sequence):
        return []
    return [row for row in found if all(row.get(key) == value for key, value in where.items())]


def inside(analysis: Analysis, *path: str) -> Any:
    """What the summary holds at ``path``, or None."""
    found: Any = summary_data(analysis)
    for key in path:
        if not isinstance(found, Mapping):
            return None
        found = found.get(key)
    return found


def why(analysis: Analysis, part: str, otherwise: str) -> str:
    """Why a part of the summary is absent."""
    reasons = summary_data(analysis).get("why_missing")
    if isinstance(reasons, Mapping) and reasons.get(part):
        return str(reasons[part])
    found = summary_data(analysis).get(part)
    if isinstance(found, Mapping) and found.get("why_missing"):
        return str(found["why_missing"])
    return otherwise


def value_of(estimate: Any) -> float | None:
    """The value of an estimate, or of a plain number."""
    if isinstance(estimate, Mapping):
        found = estimate.get("value")
        return None if found is None else float(found)
    return None if estimate is None or isinstance(estimate, bool) else float(estimate)


def bounds_of(estimate: Any) -> tuple[float | None, float | None]:
    """The interval of an estimate, where it has one."""
    if not isinstance(estimate, Mapping):
        return None, None
    low, high = estimate.get("low"), estimate.get("high")
    return (None, None) if low is None or high is None else (float(low), float(high))


def questions(analysis: Analysis) -> list[str]:
    """The questions with ratings or labels, in the study's order."""
    labelled = set(analysis.labels["question"].unique().to_list()) if analysis.labels.height else set()
    return [question.id for question in analysis.snapshot.study.asked if question.id in labelled]


def system_names(analysis: Analysis) -> dict[str, str]:
    """Each system's id and what it is called."""
    named = {system.id: system.name or system.id for system in analysis.snapshot.study.systems}
    seen: list[str] = (
        analysis.snapshot.stimuli["system"].drop_nulls().unique().sort().to_list()
        if "system" in analysis.snapshot.stimuli.columns
        else []
    )
    return {**named, **{name: named.get(name, name) for name in seen}}


def trust_parts(analysis: Analysis) -> dict[str, dict[str, Any]]:
    """The reliability of each question; of all questions on one scale together where there are very many."""
    found = inside(analysis, "reliability")
    pooled = inside(analysis, "reliability_pooled")
    chosen = pooled if isinstance(pooled, Mapping) and len(found or {}) > MANY_QUESTIONS else found
    return (
        {str(name): part for name, part in chosen.items() if isinstance(part, dict)}
        if isinstance(chosen, Mapping)
        else {}
    )
