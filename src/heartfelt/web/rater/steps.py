"""A step as the page's modules take it: ``{"kind": ..., fields}``.

A trial is of the kind ``trial``; whether it is for practice stands under ``sort``. Questions and media have the names of
that trial (:mod:`heartfelt.web.rater.blinding`), and no trial says whether it is a probe.
"""

from __future__ import annotations

from typing import Any

from heartfelt.collect.commands import (
    AskConsent,
    AskDemographics,
    AskHeadphones,
    SessionEnd,
    ShowInstructions,
    ShowTrial,
    Step,
    TakeBreak,
)
from heartfelt.web.rater.blinding import HEADPHONES, Blinding

_KINDS: dict[type[Any], str] = {
    AskConsent: "consent",
    AskDemographics: "demographics",
    AskHeadphones: "headphones",
    ShowInstructions: "instructions",
    ShowTrial: "trial",
    TakeBreak: "break",
    SessionEnd: "end",
}


def step_json(step: Step, blinding: Blinding, language: str) -> dict[str, Any]:
    """The step as plain data, in the language the rater reads now."""
    if isinstance(step, ShowTrial):
        following = [_trial(trial, blinding, language) for trial in step.following]
        return {**_trial(step, blinding, language), "following": following}
    told = {name: getattr(step, name) for name in type(step).__dataclass_fields__}
    if isinstance(step, AskHeadphones):
        told["probe"] = HEADPHONES
    return {"kind": _KINDS[type(step)], **told}


def _trial(step: ShowTrial, blinding: Blinding, language: str) -> dict[str, Any]:
    names = blinding.names(step.trial, step.questions)
    return {
        "kind": "trial",
        "sort": "practice" if step.kind == "practice" else "rating",
        "trial": step.trial,
        "media": None if step.media is None else blinding.media(step.trial, step.media),
        "questions": list(names.values()),
        "forms": [blinding.form(question) for question in step.questions],
        "number": step.number,
        "of": step.of,
        "lease_seconds": step.lease_seconds,
        "prompt": step.prompt,
        "words": None if step.words is None else blinding.words(step.words, language),
        "machine": {names[question]: value for question, value in step.machine.items() if question in names},
    }
