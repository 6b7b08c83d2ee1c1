"""Published studies as pilots: their variance components and use of the scale, not their data; and stated assumptions.

- ``aimoclips``: valence and arousal on nine points, by ``estimate_pilot`` from the published AImoclips ratings (111 raters, 6,162
  ratings of 991 clips; CC BY 4.0).
- ``mos``: quality on five points, from the opinion scores of the Voice Conversion Challenge 2018 (270 judges, 61,040 scores, the
  table of unilight/LDNet).
- ``presence``: an assumption. A third of the answers say present, and raters agree moderately (alpha about .35).

Comparisons have assumptions of their own (``planning.comparison``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

import numpy as np

from heartfelt.planning.latent import Components, ScaleUse
from heartfelt.planning.pilot import Pilot, QuestionPilot
from heartfelt.study import Scale, Study

AIMOCLIPS_CREDIT = (
    "Variance components from the AImoclips ratings (Go et al. 2025, CC BY 4.0), estimated with"
    " 'heartfelt plan --pilot'."
)
VCC_CREDIT = (
    "Variance components from the opinion scores of the Voice Conversion Challenge 2018 (Lorenzo-Trueba et al. 2018), as"
    " tabulated in unilight/LDNet, estimated with 'heartfelt plan --pilot'."
)
_NINE = tuple(float(point) for point in range(1, 10))

VALENCE = QuestionPilot(
    question="valence",
    components=Components(
        system=1.129, intent=0.460, cell=0.247, stimulus=0.351, rater=0.508, residual=2.350, gain=0.092, taste=0.152
    ),
    scale=ScaleUse(_NINE, (0.103, 0.094, 0.132, 0.110, 0.153, 0.162, 0.138, 0.067, 0.041)),
    bounds=(1.0, 9.0),
)
AROUSAL = QuestionPilot(
    question="arousal",
    components=Components(
        system=0.328, intent=1.518, cell=0.484, stimulus=0.304, rater=0.584, residual=2.299, gain=0.083, taste=0.161
    ),
    scale=ScaleUse(_NINE, (0.093, 0.121, 0.145, 0.113, 0.122, 0.148, 0.127, 0.073, 0.058)),
    bounds=(1.0, 9.0),
)
MOS = QuestionPilot(
    question="quality",
    components=Components(
        system=0.289, intent=0.0, cell=0.0, stimulus=0.207, rater=0.469, residual=0.582, gain=0.136, taste=0.110
    ),
    scale=ScaleUse((1.0, 2.0, 3.0, 4.0, 5.0), (0.166, 0.249, 0.224, 0.226, 0.135)),
    bounds=(1.0, 5.0),
)
PRESENCE = QuestionPilot(
    question="presence",
    components=Components(
        system=0.020, intent=0.040, cell=0.010, stimulus=0.010, rater=0.020, residual=0.122, gain=0.0
    ),
    scale=ScaleUse((0.0, 1.0), (0.67, 0.33)),
    bounds=(0.0, 1.0),
    careless_variance=1.0,
)
BUILT_IN: Mapping[str, Pilot] = MappingProxyType(
    {
        "aimoclips": Pilot(
            source="AImoclips' variance components",
            questions={"valence": VALENCE, "arousal": AROUSAL},
            careless=19 / 111,
            dropout=1 / 111,
            raters=111,
            credit=AIMOCLIPS_CREDIT,
        ),
        "mos": Pilot(
            source="variance components of the Voice Conversion Challenge 2018",
            questions={"quality": MOS},
            careless=0.0,
            dropout=0.05,
            raters=270,
            credit=VCC_CREDIT,
        ),
        "presence": Pilot(
            source="assumed components of presence answers",
            questions={"presence": PRESENCE},
            careless=0.1,
            dropout=0.05,
        ),
    }
)
ASSUMED = (
    "The figures rest on {source}, which come from another study: raters and stimuli of yours may differ. A pilot of 20 raters"
    " (--pilot SNAPSHOT) replaces them by your own, with their uncertainty."
)


def built_in_pilot(study: Study) -> Pilot:
    """The built-in pilot whose questions are like the study's; every question is fitted to its own scale."""
    plannable_questions = [question for question in study.asked if plannable(study.scale_of(question.id))]
    questions: dict[str, QuestionPilot] = {}
    sources: list[Pilot] = []
    alike: dict[tuple[str, Components, tuple[float, ...]], list[str]] = {}
    for question in plannable_questions:
        scale = study.scale_of(question.id)
        bounds = scale.bounds()
        categories = sorted(scale.labels())
        if categories and (scale.level != "interval"):
            pilot, model = BUILT_IN["presence"], PRESENCE
        elif question.axis in ("valence", "arousal") or question.id in ("valence", "arousal"):
            pilot = BUILT_IN["aimoclips"]
            model = AROUSAL if "arousal" in (question.axis, question.id) else VALENCE
        elif bounds == (1.0, 5.0) or not study.intents:
            pilot, model = BUILT_IN["mos"], MOS
        else:
            pilot, model = BUILT_IN["aimoclips"], VALENCE
        question_pilot = _on_scale(question.id, model, scale)
        same = alike.setdefault((model.question, question_pilot.components, question_pilot.scale.values), [])
        same.append(question.id)
        if len(same) == 1:
            questions[question.id] = question_pilot
        if pilot not in sources:
            sources.append(pilot)
    first = sources[0] if sources else BUILT_IN["presence"]
    source = " and ".join(pilot.source for pilot in sources) or first.source
    return replace(
        first,
        source=source,
        questions=questions,
        credit=" ".join(pilot.credit for pilot in sources if pilot.credit),
        notes=(
            ASSUMED.format(source=source),
            *(
                f"'{names[0]}' stands for {len(names)} questions on the same scale, of which nothing different is known."
                for names in alike.values()
                if len(names) > 1
            ),
        ),
    )


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
    parts = Components.scaled(model.components, stretch)
    return QuestionPilot(
        question=question, components=parts, scale=use, bounds=bounds, careless_variance=model.careless_variance
    )
