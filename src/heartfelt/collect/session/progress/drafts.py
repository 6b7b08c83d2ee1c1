"""What a rater sees of a machine's drafts: usually the draft, at times nothing, at times another stimulus's."""

from __future__ import annotations

from collections.abc import Mapping

from heartfelt.collect.material import Unit
from heartfelt.collect.session.progress.transaction import Transaction
from heartfelt.formats.study_folder.drafts import Boxes
from heartfelt.study.scales.similarity import clearly_different

_DRAWS = 50
"""How many drafts of other stimuli are tried for one that is clearly wrong."""


def shown_drafts(work: Transaction, drafts: Mapping[str, tuple[str, str]]) -> dict[str, tuple[str | None, str]]:
    """By question, the value that is shown and whether it is true, hidden or planted."""
    options, design, rng = work.context.options, work.study.design, work.context.rng
    hidden = design.hidden_drafts if options.hidden is None else options.hidden
    planted = design.planted_drafts if options.planted is None else options.planted
    out: dict[str, tuple[str | None, str]] = {}
    for question, (value, *_) in drafts.items():
        draw = rng.random()
        wrong = _wrong_value(work, question, value) if hidden <= draw < hidden + planted else None
        if draw < hidden:
            out[question] = (None, "hidden")
        elif wrong is not None:
            out[question] = (wrong, "planted")
        else:
            out[question] = (value, "true")
    return out


def shown_boxes(work: Transaction, unit: Unit | None, shown: Mapping[str, tuple[str | None, str]]) -> dict[str, Boxes]:
    """By question, where the machine saw what its value says; nothing where a value is withheld or has no boxes."""
    if unit is None:
        return {}
    facts = work.material.draft_facts
    boxes = {
        question: facts.boxes_of(unit.stimulus, question, value, planted=kind == "planted")
        for question, (value, kind) in shown.items()
        if value is not None
    }
    return {question: shown for question, shown in boxes.items() if shown}


def _wrong_value(work: Transaction, question: str, value: str) -> str | None:
    """Another stimulus's draft that nobody who looks would accept for this one; None where none comes up."""
    candidates, scale = work.material.others.get(question, ()), work.study.scale_of(question)
    draws = (work.context.rng.choice(candidates) for _ in range(_DRAWS if candidates else 0))
    return next((candidate for candidate in draws if clearly_different(scale, value, candidate)), None)
