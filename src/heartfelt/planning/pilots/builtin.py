"""Published studies as pilots: their variance components and use of the scale, not their data; and stated assumptions.

``builtin.toml`` says where each is from. Comparisons have assumptions of their own (``planning.comparison``).
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import replace
from importlib.resources import files
from types import MappingProxyType
from typing import Any

import numpy as np

from heartfelt.planning.pilots.latent import Components, ScaleUse
from heartfelt.planning.pilots.pilot import Pilot, QuestionPilot
from heartfelt.study import Question, Scale, Study


def _question(name: str, row: Mapping[str, Any]) -> QuestionPilot:
    values = tuple(row["values"])
    return QuestionPilot(
        question=name,
        components=Components(**row["components"]),
        scale=ScaleUse(values, tuple(row["shares"])),
        bounds=(values[0], values[-1]),
        **{key: row[key] for key in ("careless_variance",) if key in row},
    )


def _pilot(row: Mapping[str, Any]) -> Pilot:
    questions = {name: _question(name, question) for name, question in row["questions"].items()}
    return Pilot(**{**row, "questions": questions})


_TABLES = tomllib.loads(files(__package__).joinpath("builtin.toml").read_text("utf-8"))
BUILT_IN: Mapping[str, Pilot] = MappingProxyType({name: _pilot(row) for name, row in _TABLES.items()})
ASSUMED = (
    "The figures rest on {source}, which come from another study: raters and stimuli of yours may differ. A pilot of 20 raters"
    " (--pilot SNAPSHOT) replaces them by your own, with their uncertainty."
)
ALIKE = "'{}' stands for {} questions on the same scale, of which nothing different is known."


def built_in_pilot(study: Study) -> Pilot:
    """The built-in pilot whose questions are like the study's; every question is fitted to its own scale."""
    questions: dict[str, QuestionPilot] = {}
    sources: list[Pilot] = []
    alike: dict[tuple[str, Components, tuple[float, ...]], list[str]] = {}
    for question in study.asked:
        scale = study.scale_of(question.id)
        if not plannable(scale):
            continue
        pilot, model = _like(question, scale, bool(study.intents))
        question_pilot = _on_scale(question.id, model, scale)
        same = alike.setdefault((model.question, question_pilot.components, question_pilot.scale.values), [])
        same.append(question.id)
        if len(same) == 1:
            questions[question.id] = question_pilot
        if pilot not in sources:
            sources.append(pilot)
    first = sources[0] if sources else BUILT_IN["presence"]
    source = " and ".join(pilot.source for pilot in sources) or first.source
    same_scale = [names for names in alike.values() if len(names) > 1]
    return replace(
        first,
        source=source,
        questions=questions,
        credit=" ".join(pilot.credit for pilot in sources if pilot.credit),
        notes=(ASSUMED.format(source=source), *(ALIKE.format(names[0], len(names)) for names in same_scale)),
    )


def _like(question: Question, scale: Scale, has_intents: bool) -> tuple[Pilot, QuestionPilot]:
    """The built-in question that is most like this one, and its pilot."""
    axes = {question.axis, question.id} & {"valence", "arousal"}
    if scale.labels() and scale.level != "interval":
        pilot, model = "presence", "presence"
    elif axes:
        pilot, model = "aimoclips", "arousal" if "arousal" in axes else "valence"
    elif scale.bounds() == (1.0, 5.0) or not has_intents:
        pilot, model = "mos", "quality"
    else:
        pilot, model = "aimoclips", "valence"
    return BUILT_IN[pilot], BUILT_IN[pilot].questions[model]


def plannable(scale: Scale) -> bool:
    """Whether answers on a scale can be averaged: numbers, ordered categories, or two categories."""
    if scale.level == "nominal":
        return len(scale.labels()) == 2
    return scale.level in ("interval", "ordinal") and (scale.bounds() is not None or bool(scale.labels()))


def _on_scale(question: str, model: QuestionPilot, scale: Scale) -> QuestionPilot:
    """The components of a built-in question on another scale: variances grow with the square of the range."""
    categories = sorted(scale.labels()) if scale.level != "interval" else []
    bounds = (float(categories[0]), float(categories[-1])) if categories else scale.bounds()
    assert bounds is not None, "the scale has no ends"
    if categories:
        values = tuple(float(code) for code in categories)
    elif scale.whole and bounds[1] - bounds[0] <= 100:
        values = tuple(np.arange(bounds[0], bounds[1] + 0.5).tolist())
    else:
        values = tuple(np.linspace(bounds[0], bounds[1], 101).tolist())
    use = model.scale if values == model.scale.values else model.scale.onto(model.bounds, values)
    stretch = ((bounds[1] - bounds[0]) / (model.bounds[1] - model.bounds[0])) ** 2
    parts = model.components.scaled(stretch)
    return QuestionPilot(
        question=question, components=parts, scale=use, bounds=bounds, careless_variance=model.careless_variance
    )
