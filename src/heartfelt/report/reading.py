"""What figures and sections read of an analysis besides its results: questions, names and quadrants."""

from __future__ import annotations

from collections.abc import Mapping

from heartfelt.analysis import Analysis
from heartfelt.analysis.results import Reliability

MANY_QUESTIONS = 12


def why_missing(analysis: Analysis, part: str, otherwise: str) -> str:
    """Why a part of the results is absent."""
    return analysis.summary.why_missing.get(part) or otherwise


def questions(analysis: Analysis) -> list[str]:
    """The questions with ratings or labels, in the study's order."""
    labelled = set(analysis.labels["question"].unique().to_list()) if analysis.labels.height else set()
    return [question.id for question in analysis.snapshot.study.asked if question.id in labelled]


def system_names(analysis: Analysis) -> dict[str, str]:
    """What each system is called, by id; ``all`` is all systems."""
    named = {system.id: system.name or system.id for system in analysis.snapshot.study.systems}
    stimuli = analysis.snapshot.stimuli
    seen = stimuli["system"].drop_nulls().unique().sort().to_list() if "system" in stimuli.columns else []
    return {"all": "all systems", **{name: name for name in seen}, **named}


def reliability_parts(analysis: Analysis) -> Mapping[str, Reliability]:
    """The reliability of each question; of all questions on one scale together where there are very many."""
    single, pooled = analysis.summary.reliability or {}, analysis.summary.reliability_pooled
    return pooled if pooled and len(single) > MANY_QUESTIONS else single
