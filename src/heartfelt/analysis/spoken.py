"""Which questions a verdict speaks of one by one, and what it reads of them.

Up to four questions are all spoken of. Of more, those with references come first, then those in which systems differ most
(eta squared), then the study's order; the rest share a sentence. With more than twelve questions, those on one scale are
taken together and the verdict speaks of the pools.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from heartfelt.analysis.material import MANY_QUESTIONS

Summary: TypeAlias = Mapping[str, Any]
Figure: TypeAlias = Mapping[str, Any]
Information: TypeAlias = Literal["shown", "not shown", "unknown"]

MOST_SPOKEN = 4
NOT_THERE: Figure = {"value": None, "why_missing": "it was not computed"}


@dataclass(frozen=True, slots=True)
class Spoken:
    """Questions spoken of one by one, and the rest."""

    names: list[str]
    rest: list[str]


def rows(summary: Summary, part: str, **where: Any) -> list[dict[str, Any]]:
    """The rows of a part that hold ``where``; none where the part is missing."""
    return [
        row for row in summary.get(part) or [] if all(row.get(key) == value for key, value in where.items())
    ]


def spoken(summary: Summary) -> Spoken:
    """The questions that get sentences of their own."""
    names = list(summary.get("reliability") or {})
    if len(names) <= MOST_SPOKEN:
        return Spoken(names, [])
    order = {name: place for place, name in enumerate(names)}
    referenced = {row["question"] for row in rows(summary, "slopes")}
    size: dict[str, float] = {}
    for row in rows(summary, "anova", effect="system"):
        if row["eta_squared"] is not None and row["deviation"] != "absolute":
            size[row["outcome"]] = max(size.get(row["outcome"], 0.0), float(row["eta_squared"]))
    ranked = sorted(names, key=lambda name: (name not in referenced, -size.get(name, -1.0), order[name]))
    chosen = set(ranked[:MOST_SPOKEN])
    return Spoken([n for n in ranked if n in chosen], [n for n in names if n not in chosen])


def main_questions(summary: Summary) -> dict[str, Any]:
    """The reliability a verdict speaks of: of the questions spoken of, or of the pools where there are many questions."""
    found = dict(summary.get("reliability") or {})
    pooled = summary.get("reliability_pooled")
    if len(found) > MANY_QUESTIONS and pooled:
        return dict(pooled)
    return {name: found[name] for name in spoken(summary).names}


def called(name: str, found: Figure) -> str:
    """A question by its name; a pool by how many questions it holds."""
    if "n_questions" in found:
        return f"the {found['n_questions']} questions on the scale {name}"
    return name


def single_rating(found: Figure) -> tuple[str, Figure]:
    """The coefficient of one rating and what it is called: an ICC for numbers, else Krippendorff's alpha."""
    for key in ("icc2", "icc1"):
        if found.get(key, NOT_THERE)["value"] is not None:
            return "reliability", found[key]
    for key in ("alpha_interval", "alpha_ordinal", "alpha_nominal"):
        if found.get(key, NOT_THERE)["value"] is not None:
            return "Krippendorff's alpha", found[key]
    return "reliability", found.get("icc1", NOT_THERE)


def mean_rating(found: Figure) -> Figure:
    """The reliability of the mean of the ratings a stimulus got."""
    several: Figure = found.get("icc2k", NOT_THERE)
    return several if several["value"] is not None else found.get("icc1k", NOT_THERE)


def information(found: Figure) -> Information:
    """Whether the ratings of a question are shown to depend on the stimuli: the interval of one rating lies above zero."""
    one = single_rating(found)[1]
    low = one.get("low")
    if one["value"] is None or low is None:
        return "unknown"
    return "shown" if low > 1e-9 else "not shown"


def cell_words(summary: Summary) -> str:
    """What stimuli of one cell have in common: ``system and intent``, one of them, or nothing."""
    return " and ".join(name[:-1] for name in ("systems", "intents") if summary["counts"][name] > 1)


def held(row: Figure, summary: Summary) -> list[str]:
    """The covariates a model holds constant."""
    return [name for name in summary.get("covariates") or [] if name in row["model"].split(" + ")]


def system_effects(summary: Summary) -> dict[str, dict[str, Any]]:
    """The test of systems of each question: its mean or signed deviation, without covariates."""
    out: dict[str, dict[str, Any]] = {}
    for row in rows(summary, "anova", effect="system"):
        plain = "*" not in row["model"] and row["deviation"] != "absolute" and not held(row, summary)
        if plain and row["F"] is not None and not row.get("why_missing"):
            out.setdefault(row["outcome"], row)
    return out
