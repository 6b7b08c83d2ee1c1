"""A step as the page's modules take it: ``{"kind": ..., fields}``.

A trial is of the kind ``trial``; whether it is for practice or tells the rater what to answer stands under ``sort``.
"""

from __future__ import annotations

from typing import Any

from heartfelt.collect.commands import (
    AskConsent,
    AskDemographics,
    AskHeadphones,
    ShowInstructions,
    ShowTrial,
    Step,
    TakeBreak,
    TheEnd,
)

_KINDS: dict[type[Any], str] = {
    AskConsent: "consent",
    AskDemographics: "demographics",
    AskHeadphones: "headphones",
    ShowInstructions: "instructions",
    ShowTrial: "trial",
    TakeBreak: "break",
    TheEnd: "end",
}


def step_json(step: Step) -> dict[str, Any]:
    """The step as plain data."""
    told = {"kind": _KINDS[type(step)]}
    for name in type(step).__dataclass_fields__:
        told["sort" if name == "kind" else name] = getattr(step, name)
    return told
