"""What differs from study to study: components, effects of systems, and their places on the latent scale."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from heartfelt.planning.options import PlanOptions
from heartfelt.planning.pilots.latent import Floats, latent_parts, latent_total
from heartfelt.planning.pilots.pilot import QuestionPilot
from heartfelt.planning.pilots.uncertainty import level_draws
from heartfelt.planning.simulated.design import StimulusTable, standardised
from heartfelt.planning.simulated.incidence import Incidence
from heartfelt.planning.simulated.power import Bools


def system_effects(
    question_pilot: QuestionPilot,
    names: tuple[str, ...],
    options: PlanOptions,
    variances: Floats,
    rng: np.random.Generator,
) -> Floats:
    """Planted effects of the systems in points: named, half of them ``effect`` above the others, from the pilot, or drawn."""
    count = variances.size
    if options.effects:
        planted = np.array([options.effects.get(name, 0.0) for name in names])
        return np.tile(planted - planted.mean(), (count, 1))
    if options.effect is not None:
        sides = np.where(np.arange(len(names)) % 2, -0.5, 0.5) * options.effect
        return np.tile(sides, (count, 1))
    if _from_pilot(question_pilot, names):
        indices = [list(question_pilot.systems).index(name) for name in names]
        return question_pilot.system_draws(count, rng)[:, indices]
    return standardised(count, len(names), rng) * np.sqrt(variances)[:, None]


def _from_pilot(question_pilot: QuestionPilot, names: tuple[str, ...]) -> bool:
    return len(names) > 1 and set(names) == set(question_pilot.systems) and bool(question_pilot.system_noise)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class SampledParameters:
    """The latent parts of one question for every study."""

    parts: Floats
    effects: Floats
    shifts: Floats
    """Latent shifts of the systems."""
    careless_spread: Floats
    """Latent standard deviations of a careless rater's answers about their own level."""
    components: Floats
    level: Floats
    """How far off the pilot's general level is, latent."""


def draw_parameters(
    question_pilot: QuestionPilot, names: tuple[str, ...], options: PlanOptions, studies: int, rng: np.random.Generator
) -> SampledParameters:
    components = question_pilot.draws(studies, rng)
    parts = latent_parts(question_pilot.scale, components)
    effects = system_effects(question_pilot, names, options, components[:, 0], rng)
    total = latent_total(parts)
    level = np.zeros(studies)
    if question_pilot.freedom is not None:
        level = level_draws(components, question_pilot.freedom, rng) / np.sqrt(question_pilot.components.total)
    typical = float(np.mean(total - parts[:, 0]))
    shifts = question_pilot.scale.shift_for(effects, max(typical, 0.05))
    careless = np.sqrt(question_pilot.careless_variance * np.maximum(total - parts[:, 4], 0.0))
    return SampledParameters(
        parts=parts, effects=effects, shifts=shifts, careless_spread=careless, components=components, level=level
    )


def interaction(systems: int, intents: int, rng: np.random.Generator) -> Floats:
    """Effects of cells (systems x intents, row by row) that change the mean of no system and no intent."""
    effects = rng.standard_normal((systems, intents))
    effects -= effects.mean(axis=0, keepdims=True)
    return np.asarray(effects - effects.mean(axis=1, keepdims=True)).ravel()


def draw_answers(
    layout: StimulusTable,
    incidence: Incidence,
    question_pilot: QuestionPilot,
    parameters: SampledParameters,
    number: int,
    of_intents: Floats,
    sizes: tuple[int, int],
    careless: Bools,
    rng: np.random.Generator,
) -> Floats:
    """The answers of study ``number``: what stimuli convey, how raters use the scale, and noise. ``sizes``: systems, intents."""
    part = np.sqrt(parameters.parts[number])
    conveyed = parameters.shifts[number][layout.system] + part[1] * of_intents[layout.intent]
    conveyed += part[2] * interaction(*sizes, rng)[layout.system * sizes[1] + layout.intent]
    conveyed += part[3] * rng.standard_normal(layout.system.size)
    level = parameters.level[number] + part[4] * rng.standard_normal(incidence.raters)
    gain = 1.0 + part[6] * rng.standard_normal(incidence.raters)
    noise = rng.standard_normal(incidence.rater.size)
    rater = incidence.rater
    attentive = gain[rater] * conveyed[incidence.unit] + level[rater] + float(part[5]) * noise
    if part[7] > 0:
        tastes = part[7] * rng.standard_normal((incidence.raters, sizes[0]))
        attentive += tastes[rater, layout.system[incidence.unit]]
    blind = level[rater] + float(parameters.careless_spread[number]) * noise
    felt = np.where(careless[rater], blind, attentive)
    values = np.asarray(question_pilot.scale.values, np.float64)
    value: Floats = values[np.searchsorted(question_pilot.scale.cuts[: values.size - 1], felt)]
    return value


def keeps_effects(question_pilot: QuestionPilot, names: tuple[str, ...], options: PlanOptions) -> bool:
    """Whether systems keep their effects from study to study, so that single pairs have a power of their own."""
    return bool(options.effects or options.effect is not None or _from_pilot(question_pilot, names))
