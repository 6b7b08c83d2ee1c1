"""A plan: every design of a grid simulated through the real assignment and analysis, and what follows from it in words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from heartfelt import __version__
from heartfelt.errors import InputError, suggestion
from heartfelt.formats.study_folder.manifest import OpenStudy, open_study
from heartfelt.planning.forecasts import question_forecast, share_estimate
from heartfelt.planning.options import PlanOptions
from heartfelt.planning.pilots.builtin import built_in_pilot
from heartfelt.planning.pilots.pilot import Pilot, QuestionPilot, estimate_pilot
from heartfelt.planning.results import DesignForecast, PilotSummary, PlainAnswers, ScreeningForecast, StudyPlan
from heartfelt.planning.search import affordable, first_reaching, price
from heartfelt.planning.simulated.comparison import comparison_pilot
from heartfelt.planning.simulated.design import PlannedDesign, StudyContents, grid, material_of
from heartfelt.planning.simulated.simulation import SimulatedDesign
from heartfelt.planning.simulated.workers import DesignWork, simulate_all
from heartfelt.planning.words import answers, open_words
from heartfelt.progress import Progress, no_progress
from heartfelt.snapshot import Snapshot

ARMS = (
    "The study has {} arms, and each fills its own quotas: raters and costs are for one arm that shows every stimulus and asks"
    " every question."
)


def plan_study(
    study: OpenStudy | Path | str,
    options: PlanOptions | None = None,
    *,
    pilot: Snapshot | Pilot | None = None,
    progress: Progress | None = None,
) -> StudyPlan:
    """Plan a study: simulate its own design and a grid of others, and say what each would show, take and cost."""
    opened = study if isinstance(study, OpenStudy) else open_study(study)
    options = _with_smallest_effect(options or PlanOptions(), opened)
    material = material_of(opened)
    _check_systems(material, options)
    study_pilot = _pilot(opened, pilot, options)
    dropout = study_pilot.dropout
    designs, notes = grid(material, options, dropout)
    if arms := len(opened.study.design.arms):
        notes.append(ARMS.format(arms))
    if not material.compares:
        _check_effects(study_pilot, options)
    seconds = options.seconds or study_pilot.seconds or opened.study.design.expected_seconds
    paid = affordable(material, options, dropout, seconds)
    if paid is not None and not any(replace(paid, own=design.own) == design for design in designs):
        designs.append(paid)
    report = progress or no_progress

    def done(count: int) -> None:
        report("simulating designs", count, len(designs))

    work = DesignWork(material, study_pilot, dropout, options)
    forecasts = [
        _forecast(design, simulated, options, seconds, study_pilot)
        for design, simulated in zip(designs, simulate_all(work, designs, done), strict=True)
    ]

    def forecast_of(design: PlannedDesign) -> DesignForecast:
        report("looking for the wanted power", 0, 1)
        return _forecast(design, work.simulate(design), options, seconds, study_pilot)

    forecasts += first_reaching(material, options, dropout, forecasts, forecast_of)
    notes += [*study_pilot.notes, *open_words(study_pilot), *_zero_effects(study_pilot, material, options)]
    made_plan = StudyPlan(
        heartfelt=__version__,
        study=opened.study.name,
        hash=opened.study.hash,
        kind="comparison" if material.compares else "ratings",
        options=options,
        pilot=_summary(study_pilot, seconds),
        designs=tuple(forecasts),
        recommended=_recommended(forecasts, options),
        answers=PlainAnswers("", "", ""),
        notes=tuple(dict.fromkeys(notes)),
        listed=material.system.size,
    )
    return replace(made_plan, answers=answers(made_plan))


def _with_smallest_effect(options: PlanOptions, opened: OpenStudy) -> PlanOptions:
    """The options, with the study's own smallest effect where none was given."""
    smallest = opened.study.smallest_effect
    if options.smallest_effect is not None or smallest is None:
        return options
    return replace(options, smallest_effect=smallest)


def _summary(pilot: Pilot, seconds: float) -> PilotSummary:
    return PilotSummary(
        source=pilot.source,
        raters=pilot.raters,
        careless=pilot.careless,
        dropout=pilot.dropout,
        seconds=seconds,
        components={name: question.components for name, question in pilot.questions.items()},
        from_pilot=any(question.freedom is not None for question in pilot.questions.values()),
        credit=pilot.credit,
    )


def _pilot(opened: OpenStudy, pilot: Snapshot | Pilot | None, options: PlanOptions) -> Pilot:
    compares = opened.sets is not None
    if isinstance(pilot, Pilot):
        study_pilot = pilot
    elif compares:
        study_pilot = comparison_pilot(opened.study, pilot, options.seed)
    else:
        study_pilot = built_in_pilot(opened.study) if pilot is None else estimate_pilot(pilot, options.seed)
    if not compares:
        study_pilot = replace(study_pilot, questions=_shared_questions(opened, study_pilot, options))
    if options.careless is not None:
        study_pilot = replace(study_pilot, careless=options.careless, careless_raters=None)
    if options.dropout is not None:
        study_pilot = replace(study_pilot, dropout=options.dropout)
    return study_pilot


def _shared_questions(opened: OpenStudy, pilot: Pilot, options: PlanOptions) -> dict[str, QuestionPilot]:
    """What the pilot knows of the study's own questions, with raters' tastes as they are asked for."""
    question_ids = {question.id for question in opened.study.asked}
    shared = {name: question for name, question in pilot.questions.items() if name in question_ids}
    if not shared:
        raise InputError(
            f"None of the study's questions can be planned from {pilot.source}.",
            "Plan studies whose answers are numbers, ordered categories, yes or no, or comparisons; a pilot must ask"
            " the same questions.",
        )
    if options.tastes is None:
        return shared
    taste = options.tastes**2
    return {name: with_taste(question, taste) for name, question in shared.items()}


def with_taste(question_pilot: QuestionPilot, taste: float) -> QuestionPilot:
    residual = max(
        question_pilot.components.residual + question_pilot.components.taste - taste,
        0.05 * question_pilot.components.total,
    )
    freedom = question_pilot.freedom
    if freedom is not None:
        # Stated, so not open.
        freedom = replace(freedom, tastes=math.inf, ratings_per_taste=math.inf)
    return replace(
        question_pilot, components=replace(question_pilot.components, residual=residual, taste=taste), freedom=freedom
    )


def _check_systems(material: StudyContents, options: PlanOptions) -> None:
    for name in options.effects:
        if name not in material.systems:
            raise InputError(f"The study has no system '{name}'.", suggestion(name, material.systems, "Its systems"))
    if options.effects and len({options.effects.get(name, 0.0) for name in material.systems}) < 2:
        raise InputError(
            "All expected effects are equal, so there is no difference to find.",
            "Give systems different effects, such as --expect A=0.3 --expect B=-0.3; those not named have 0.",
        )
    if options.effect is not None and len(material.systems) < 2:
        raise InputError(
            "An effect between systems needs at least two systems; the study has one.",
            "Leave --effect out: the plan then shows reliability, interval widths and cost.",
        )


def _check_effects(pilot: Pilot, options: PlanOptions) -> None:
    """An effect must fit on the scale of every question."""
    effects = [options.effect] if options.effect is not None else list(options.effects.values())
    for name, question_pilot in pilot.questions.items():
        largest = max((abs(effect) for effect in effects), default=0.0)
        reach = question_pilot.scale.shift_for(np.array([-largest, largest]), 1.0)
        if not np.isfinite(reach).all():
            raise InputError(
                f"A difference of {largest:g} does not fit the scale of '{name}'"
                f" ({question_pilot.bounds[0]:g} to {question_pilot.bounds[1]:g}).",
                "Give effects in points of the scale.",
            )


def _zero_effects(pilot: Pilot, material: StudyContents, options: PlanOptions) -> list[str]:
    if options.effect is not None or options.effects or len(material.systems) < 2 or material.compares:
        return []
    return [
        f"The pilot shows no difference between systems under '{name}': its power is the rate of false alarms. Give --effect"
        " for the smallest difference that would matter."
        for name, question_pilot in pilot.questions.items()
        if question_pilot.components.system <= 0
    ]


def _forecast(
    design: PlannedDesign, simulated: SimulatedDesign, options: PlanOptions, seconds: float, pilot: Pilot
) -> DesignForecast:
    answered = float(simulated.collected.mean())
    study_price = price(design, options, seconds, answered)
    screening = None
    if simulated.screened is not None:
        counts = simulated.screened
        screening = ScreeningForecast(
            policy=options.policy,
            careless=pilot.careless,
            careless_dropped=share_estimate(
                counts.careless_dropped, counts.careless, "share of careless raters dropped", "raters"
            ),
            attentive_dropped=share_estimate(
                counts.attentive_dropped, counts.attentive, "share of attentive raters dropped", "raters"
            ),
            ratings_lost=simulated.lost,
        )
    questions = {
        name: question_forecast(name, studies, design, options) for name, studies in simulated.questions.items()
    }
    return DesignForecast(
        design=design,
        words=design.words,
        ratings_given=answered,
        ratings_per_unit=simulated.per_unit[0],
        fewest_ratings=simulated.per_unit[1],
        most_ratings=simulated.per_unit[2],
        raters_left=simulated.left,
        raters_turned_away=simulated.turned_away,
        minutes_per_rater=study_price.minutes_per_rater,
        hours=study_price.hours,
        cost=study_price.cost,
        screening=screening,
        questions=questions,
        cost_at_most=study_price.cost_at_most,
    )


def _recommended(forecasts: Sequence[DesignForecast], options: PlanOptions) -> int | None:
    """The cheapest design (by cost, else by hours) that reaches the power and the budget."""
    able = [
        (forecast.cost if forecast.cost is not None else forecast.hours, index)
        for index, forecast in enumerate(forecasts)
        if forecast.power >= options.power
        and (options.afford is None or (forecast.cost_at_most or 0.0) <= options.afford)
    ]
    return min(able)[1] if able else None
