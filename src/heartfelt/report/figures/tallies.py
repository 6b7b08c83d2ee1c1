"""How often each answer was given, from the analysis, with the answers nobody gave filled in and long scales in bins."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from heartfelt.report.reading import Analysis, rows
from heartfelt.report.words import number
from heartfelt.study import Study

MOST_ANSWERS = 12
BINS = 10
ALL = "all"


@dataclass(frozen=True, slots=True)
class Tally:
    """Answers in order with how often each was given, by system; under ``ALL`` over all."""

    question: str
    labels: tuple[str, ...]
    counts: dict[str, list[int]]
    means: dict[str, float]


def tallies(analysis: Analysis) -> list[Tally]:
    """One tally per question, or per scale where there are very many questions."""
    by_question: dict[str, list[dict[str, Any]]] = {}
    for row in rows(analysis, "distributions"):
        by_question.setdefault(str(row["question"]), []).append(row)
    return [_tally(analysis.snapshot.study, question, found) for question, found in by_question.items()]


def _tally(study: Study, question: str, found: list[dict[str, Any]]) -> Tally:
    values = sorted({float(a["value"]) for row in found for a in row["answers"]})
    named = {float(a["value"]): str(a["answer"]) for row in found for a in row["answers"] if a.get("answer")}
    labels, place = _slots(study, question, values, named)
    counts: dict[str, list[int]] = {}
    means: dict[str, float] = {}
    for row in found:
        own = counts.setdefault(str(row["system"]), [0] * len(labels))
        total = 0.0
        for answer in row["answers"]:
            own[place[float(answer["value"])]] += int(answer["n"])
            total += float(answer["value"]) * int(answer["n"])
        means[str(row["system"])] = total / max(sum(own), 1)
    return Tally(question, tuple(labels), counts, means)


def _slots(
    study: Study, question: str, values: list[float], named: dict[float, str]
) -> tuple[list[str], dict[float, int]]:
    """The columns, and which of them each value falls into."""
    asked = {one.id for one in study.asked}
    scale = study.scale_of(question) if question in asked else study.scales.get(question)
    codes = {**(scale.labels() if scale is not None else {}), **named}
    if codes:
        order = sorted({*codes, *values})
        return [codes.get(code, number(code)) for code in order], {code: i for i, code in enumerate(order)}
    low, high = (scale.bounds() if scale is not None else None) or (values[0], values[-1])
    if all(v.is_integer() for v in (*values, low, high)) and high - low < MOST_ANSWERS:
        low, high = min(low, values[0]), max(high, values[-1])
        points = range(int(low), int(high) + 1)
        return [number(point) for point in points], {float(point): i for i, point in enumerate(points)}
    width = (high - low) / BINS or 1.0
    places = 0 if width >= 1 else 1
    labels = [
        f"{number(low + i * width, places)}–{number(low + (i + 1) * width, places)}" for i in range(BINS)
    ]
    return labels, {v: min(max(int((v - low) / width), 0), BINS - 1) for v in values}
