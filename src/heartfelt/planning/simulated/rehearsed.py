"""One simulated study as a snapshot, for whatever takes a snapshot: the real screening, the real analysis."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from heartfelt.planning.options import PlanOptions
from heartfelt.planning.pilots.latent import Floats
from heartfelt.planning.pilots.pilot import Pilot
from heartfelt.planning.simulated.design import StimulusTable, StudyContents, standardised
from heartfelt.planning.simulated.incidence import Incidence
from heartfelt.planning.simulated.parameters import draw_answers, draw_parameters
from heartfelt.planning.simulated.power import Bools
from heartfelt.snapshot import Snapshot
from heartfelt.study import Question, Study
from heartfelt.study.parts.design import Design
from heartfelt.study.scales.scale import Numeric


@dataclass(frozen=True, slots=True, eq=False)
class Rehearsed:
    """A simulated study: the snapshot, its raters in order, and who of them is careless."""

    snapshot: Snapshot
    raters: list[str]
    careless: Bools
    values: dict[str, Floats]


def rehearse(
    layout: StimulusTable,
    incidence: Incidence,
    pilot: Pilot,
    material: StudyContents,
    options: PlanOptions,
    rng: np.random.Generator,
) -> Rehearsed:
    careless = np.zeros(incidence.raters, np.bool_)
    careless[rng.permutation(incidence.raters)[: round(pilot.careless * incidence.raters)]] = True
    intents = len(material.intents)
    values = {}
    for name, question_pilot in pilot.questions.items():
        parameters = draw_parameters(question_pilot, material.systems, options, 1, rng)
        of_intents = standardised(1, intents, rng)[0]
        sizes = (len(material.systems), intents)
        values[name] = draw_answers(layout, incidence, question_pilot, parameters, 0, of_intents, sizes, careless, rng)
    names = [f"rater{number:04d}" for number in range(incidence.raters)]
    snapshot = simulated_snapshot(layout, incidence, pilot, material, names, values)
    return Rehearsed(snapshot, names, careless, values)


def simulated_snapshot(
    layout: StimulusTable,
    incidence: Incidence,
    pilot: Pilot,
    material: StudyContents,
    names: list[str],
    values: dict[str, Floats],
) -> Snapshot:
    """Simulated answers with the stimuli they are about."""
    scales, questions = {}, []
    for index, (name, question_pilot) in enumerate(pilot.questions.items()):
        scales[f"scale{index}"] = Numeric(type="numeric", low=question_pilot.bounds[0], high=question_pilot.bounds[1])
        questions.append(Question(id=name, text=name, scale=f"scale{index}"))
    design = Design(minimum_ratings=material.minimum)
    study = Study(name="simulated", scales=scales, questions=questions, design=design)
    stimuli = pl.DataFrame(
        {
            "stimulus": [f"stimulus{number:05d}" for number in range(layout.system.size)],
            "system": [material.systems[number] or "only" for number in layout.system.tolist()],
            "intent": [material.intents[number] or "only" for number in layout.intent.tolist()],
        }
    )
    ids = stimuli["stimulus"].to_numpy()
    ratings = pl.concat(
        pl.DataFrame(
            {
                "rater": np.array(names)[incidence.rater],
                "stimulus": ids[incidence.unit],
                "question": pl.Series([question] * incidence.rater.size, dtype=pl.String),
                "value": value,
                "position": incidence.position,
            }
        )
        for question, value in values.items()
    )
    return Snapshot.build(study, stimuli=stimuli, ratings=ratings)
