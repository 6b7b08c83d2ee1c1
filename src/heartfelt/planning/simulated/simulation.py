"""One design, simulated many times: real assignment, drawn answers, and the figures its analysis would show.

Every simulated study draws its parameters (where they come from a pilot), effects, stimuli, raters and answers. Compiled
loops compute what the analysis reports of every study; some studies per design also go through the real functions of
``heartfelt.stats`` for what the loops leave out (``planning.reliability``), and one through the real screening. Studies are
simulated until the power is known well enough, or they have taken their share of work.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np

from heartfelt.planning.options import PlanOptions
from heartfelt.planning.pilots.latent import Floats
from heartfelt.planning.pilots.pilot import Pilot, QuestionPilot
from heartfelt.planning.pilots.statistics import statistics, taste_variance
from heartfelt.planning.simulated.design import PlannedDesign, StimulusTable, StudyContents, layout_of, standardised
from heartfelt.planning.simulated.incidence import AssignedUnits, Incidence, assign
from heartfelt.planning.simulated.parameters import SampledParameters, draw_answers, draw_parameters, keeps_effects
from heartfelt.planning.simulated.power import Bools, difference_weights, expected_errors, power_draws
from heartfelt.planning.simulated.rehearsed import rehearse
from heartfelt.planning.simulated.reliability import carried_over, enough, real_figures
from heartfelt.screening.panel import screen
from heartfelt.screening.policy import parse_policy
from heartfelt.stats.inference.posthoc import critical
from heartfelt.stats.reliability.two_way_jackknife import rater_factor
from heartfelt.streams import derived_seed, stream

FIGURES = (
    "ratings",
    "labelled",
    "alpha",
    "icc1",
    "icc1k",
    "label_error",
    "mean_square",
    "residual_df",
    "f_systems",
    "f_intents",
)
LARGE = 4000
CONFIDENCE = 0.95
FEWEST_STUDIES, WORK = 200, 1_200_000
"""Studies, and ratings of all of them, that are simulated before the precision of the power is asked for."""
PRECISION = 0.015
"""Standard error of a power that is enough."""


@dataclass(frozen=True, slots=True)
class Screened:
    """How often the real screening drops careless raters and attentive ones."""

    careless: int
    careless_dropped: int
    attentive: int
    attentive_dropped: int

    @property
    def rates(self) -> tuple[float, float]:
        """Shares of careless and attentive raters who are dropped (0 where there are none)."""
        return (
            (self.careless_dropped + 0.5) / (self.careless + 1.0) if self.careless else 0.0,
            (self.attentive_dropped / self.attentive) if self.attentive else 0.0,
        )


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Studies:
    """The figures of many simulated studies under one question: one entry or row per study."""

    figures: Mapping[str, Floats]
    detected: Floats
    """Per study and pair of systems, whether it was found (Tukey's correction, raters and stimuli as samples)."""
    planted: Floats
    """Per study and pair of systems, the true difference in points."""
    difference_width: Floats
    mean_width: Floats
    found_intents: Floats
    """Share of pairs of intents detected."""
    real: Mapping[str, Floats]
    """What the real functions give: ceilings and two-way reliability."""
    named: bool = False
    """Whether systems keep their effects from study to study, so that single pairs have a power of their own."""
    errors: Floats = field(default_factory=lambda: np.zeros((0, 2, 0)))
    """Per study and pair of systems, the standard error of the difference and its degrees of freedom."""
    powers: Floats | None = None
    """Per study and pair of systems, the power under the study's parameters; None where nothing is open."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class SimulatedDesign:
    """One design, simulated: collection, screening and each question."""

    design: PlannedDesign
    collected: Floats
    """Ratings of each assignment."""
    per_unit: tuple[float, float, float]
    """Mean, fewest and most ratings of a stimulus."""
    left: float
    turned_away: float
    screened: Screened | None
    lost: float
    """Share of the ratings that screening takes out."""
    questions: Mapping[str, Studies]

    @classmethod
    def of(
        cls,
        design: PlannedDesign,
        incidences: list[Incidence],
        units: int,
        questions: Mapping[str, Studies],
        screened: Screened | None = None,
        lost: float = 0.0,
    ) -> SimulatedDesign:
        """The design with what its assignments come to."""
        counts = [np.bincount(incidence.unit, minlength=units) for incidence in incidences]
        return cls(
            design=design,
            collected=np.array([incidence.rater.size for incidence in incidences], np.float64),
            per_unit=(
                float(np.mean([count.mean() for count in counts])),
                float(min(count.min() for count in counts)),
                float(max(count.max() for count in counts)),
            ),
            left=float(np.mean([incidence.left for incidence in incidences])),
            turned_away=float(np.mean([incidence.turned_away for incidence in incidences])),
            screened=screened,
            lost=lost,
            questions=questions,
        )


def assign_often(
    units: AssignedUnits, design: PlannedDesign, dropout: float, seed: int, name: tuple[str, ...], times: int
) -> list[Incidence]:
    """The assignment of a design, run several times; ``name`` names the design's random streams."""
    return [
        assign(
            units,
            design.ratings,
            design.per_rater,
            design.raters,
            dropout,
            derived_seed(seed, "planning", "assign", *name, number),
        )
        for number in range(times)
    ]


def simulate_design(
    material: StudyContents, design: PlannedDesign, pilot: Pilot, dropout: float, options: PlanOptions, studies: int
) -> SimulatedDesign:
    layout = layout_of(material, design)
    name = (str(design.stimuli), str(design.ratings), str(design.per_rater), str(design.raters))
    # In a large design one assignment is like another.
    assignments = 1 if design.wanted > LARGE else min(options.assignments, studies)
    incidences = assign_often(layout.units, design, dropout, options.seed, name, assignments)
    rng = stream(options.seed, "planning", "simulate", *name)
    shares = pilot.shares(studies, rng)
    screened = None
    if options.policy != "flag-only":
        screened = screen_once(layout, incidences[0], pilot, material, options, rng)
    rates = (0.0, 0.0) if screened is None else screened.rates
    careless, dropped = draw_people(incidences, shares, rates, rng)
    lost = np.mean([np.mean(dropped[k][incidences[k % assignments].rater]) for k in range(studies)])
    questions = {
        question: simulate_question(
            layout, incidences, question_pilot, material, options, (careless, dropped), rng, design.systems
        )
        for question, question_pilot in pilot.questions.items()
    }
    return SimulatedDesign.of(design, incidences, layout.units.count, questions, screened, float(lost))


def draw_people(
    incidences: list[Incidence], shares: Floats, rates: tuple[float, float], rng: np.random.Generator
) -> tuple[list[Bools], list[Bools]]:
    """Who is careless and who is dropped, in each study."""
    careless, dropped = [], []
    for number, share in enumerate(shares):
        raters = incidences[number % len(incidences)].raters
        is_careless = np.zeros(raters, np.bool_)
        # As many as the share says, rounded up or down by lot.
        count = int(share * raters + rng.random())
        is_careless[rng.permutation(raters)[:count]] = True
        careless.append(is_careless)
        dropped.append(rng.random(raters) < np.where(is_careless, rates[0], rates[1]))
    return careless, dropped


People: TypeAlias = tuple[list[Bools], list[Bools]]


def simulate_question(
    layout: StimulusTable,
    incidences: list[Incidence],
    question_pilot: QuestionPilot,
    material: StudyContents,
    options: PlanOptions,
    people: People,
    rng: np.random.Generator,
    names: tuple[str, ...],
) -> Studies:
    """All studies under one question."""
    most = len(people[0])
    systems, intents = len(names), len(material.intents)
    parameters = draw_parameters(question_pilot, names, options, most, rng)
    of_intents = standardised(most, intents, rng)
    pairs = np.triu_indices(systems, 1)
    planted = parameters.effects[:, pairs[0]] - parameters.effects[:, pairs[1]]
    wanted = wanted_pairs(planted, options)
    heads, detected, widths, means, intent_shares, errors = [], [], [], [], [], []
    real: dict[str, list[float]] = {}
    settled = False
    # The figures of a study are kept, its answers are not: memory does not grow with ratings.
    for number in range(most):
        incidence, (careless, dropped) = (incidences[number % len(incidences)], (people[0][number], people[1][number]))
        value = draw_answers(
            layout, incidence, question_pilot, parameters, number, of_intents[number], (systems, intents), careless, rng
        )
        head, jackknife, effects, system_cover, intent_cover, moves = statistics(
            incidence.rater, incidence.unit, value, dropped,
            layout.system, layout.intent, systems, intents, material.minimum, studies=most,
        )  # fmt: skip
        heads.append(head)
        pair_error = model_errors(head, system_cover, jackknife, moves)
        hit, width = system_pairs(effects[:systems], pair_error)
        detected.append(hit)
        widths.append(width)
        errors.append(pair_error)
        means.append(interval_width(jackknife))
        intent_hits, _ = tukey_pairs(effects[systems:], intent_cover, head)
        intent_shares.append(float(np.mean(intent_hits)) if intent_hits.size else np.nan)
        if not settled:
            _append(real, real_figures(incidence, value, dropped, material.minimum))
            settled = enough(real, dict(zip(FIGURES, np.array(heads).T, strict=True)), value.size)
        if settles(number + 1, value.size, detected, wanted):
            break
    done = len(heads)
    table: Any = np.array(heads)
    figures = {name: table[:, column] for column, name in enumerate(FIGURES)}
    hits, pair_errors = np.array(detected).reshape(done, -1), np.array(errors).reshape(done, 2, -1)
    powers = None
    if question_pilot.freedom is not None and systems > 1:
        weights = difference_weights(incidences[0].rater, incidences[0].unit, layout.system, systems)
        expected = _expected(parameters, weights, pair_errors)
        attentive = [attentive_share(incidences[k % len(incidences)], people, k) for k in range(done)]
        attentive_difference = np.abs(planted[:done]) * np.array(attentive)[:, None]
        powers = power_draws(attentive_difference / expected, hits, wanted[:done], rng)
    return Studies(
        figures=figures,
        detected=hits,
        planted=planted[:done],
        difference_width=np.array(widths),
        mean_width=np.array(means),
        found_intents=np.array(intent_shares),
        real=carried_over({name: np.array(numbers) for name, numbers in real.items()}, figures),
        named=keeps_effects(question_pilot, names, options),
        errors=pair_errors,
        powers=powers,
    )


def _append(lists: dict[str, list[float]], figures: Mapping[str, float]) -> None:
    for name, figure in figures.items():
        lists.setdefault(name, []).append(figure)


def _expected(parameters: SampledParameters, weights: Floats, pair_errors: Floats) -> Floats:
    """The standard errors to expect under the parameters of each study that was simulated."""
    done = len(pair_errors)
    parts = parameters.components[:done].copy()
    # Raters who respond more strongly to everything respond so to systems.
    parts[:, 7] += parts[:, 6] * parameters.effects[:done].var(axis=1)
    return expected_errors(parts @ weights.T, pair_errors[:, 0])


def wanted_pairs(planted: Floats, options: PlanOptions) -> Bools:
    """The pairs whose power is asked for: those that differ by the planned effect, or at all."""
    if options.effect is not None:
        return np.asarray(np.abs(np.abs(planted) - options.effect) < 1e-9)
    return np.asarray(np.abs(planted) > 1e-9)


def settles(done: int, ratings: int, detected: list[Floats], wanted: Bools) -> bool:
    """Whether so many studies know the power well enough, or have taken their share of work."""
    if done < FEWEST_STUDIES or done % 100:
        return False
    if done * ratings >= WORK:
        return True
    shares = mean_where(np.array(detected), wanted[:done])
    shares = shares[np.isfinite(shares)]
    return not shares.size or float(shares.std(ddof=1)) / np.sqrt(shares.size) <= PRECISION


def mean_where(values: Floats, chosen: Bools) -> Floats:
    """The mean of the chosen values of each row; NaN where none is chosen."""
    if not values.size:
        return np.full(len(values), np.nan)
    counted = chosen & np.isfinite(values)
    of = counted.sum(axis=1)
    total = np.where(counted, values, 0.0).sum(axis=1)
    return np.asarray(np.where(of > 0, total / np.maximum(of, 1), np.nan))


def attentive_share(incidence: Incidence, people: People, number: int) -> float:
    """The share of a study's ratings, after screening, that attentive raters gave: careless ones dilute every difference."""
    keep = ~people[1][number][incidence.rater]
    return 1.0 - float(people[0][number][incidence.rater][keep].mean()) if keep.any() else 1.0


def model_errors(head: Floats, cover: Floats, parts: Floats, moves: Floats) -> Floats:
    """Standard errors of all differences between systems' means, and their degrees of freedom (Satterthwaite).

    The variance of stimuli is pooled over systems, and what raters' tastes add is pooled over pairs, so tests have the errors and
    degrees of freedom of the mixed model of the ratings that the analysis rests on.
    """
    i, j = np.triu_indices(len(parts), 1)
    diagonal = np.diag(cover)
    items = head[6] * (diagonal[i] + diagonal[j] - 2.0 * cover[i, j])
    tastes, people = taste_variance(parts, moves)
    below = items**2 / np.maximum(head[7], 1.0) + tastes**2 / people
    total = items + tastes
    free = np.divide(total**2, below, out=np.ones_like(total), where=below > 0.0)
    return np.stack([np.sqrt(total), np.maximum(free, 1.0)])


def system_pairs(effects: Floats, errors: Floats) -> tuple[Floats, float]:
    """Which pairs differ, corrected for all pairs (Tukey), and the mean width of their intervals."""
    size = effects.size
    i, j = np.triu_indices(size, 1)
    if size < 2 or not np.isfinite(errors).all():
        return np.full(i.size, np.nan), np.nan
    half = np.array([_critical(size, int(free)) for free in errors[1]]) * errors[0] / np.sqrt(2.0)
    return (np.abs(effects[i] - effects[j]) > half).astype(np.float64), float(np.mean(2.0 * half))


def tukey_pairs(effects: Floats, cover: Floats, head: Floats) -> tuple[Floats, float]:
    """Which pairs of intents differ by Tukey and Kramer's test in the additive model, and the mean width of their intervals."""
    size = effects.size
    i, j = np.triu_indices(size, 1)
    if size < 2 or not np.isfinite(head[6]) or not np.isfinite(cover).all():
        return np.full(i.size, np.nan), np.nan
    diagonal = np.diag(cover)
    errors = np.sqrt(head[6] * (diagonal[i] + diagonal[j] - 2.0 * cover[i, j]))
    return system_pairs(effects, np.stack([errors, np.full(i.size, head[7])]))


@lru_cache(maxsize=4096)
def _critical(groups: int, df: int) -> float:
    return critical(CONFIDENCE, groups, float(df))


def interval_width(parts: Floats) -> float:
    """Mean width of the systems' 95% intervals by the two-way jackknife (``analysis.two_way``)."""
    from scipy.special import stdtrit

    items, df, raters, ratings, people = (parts[:, k] for k in range(1, 6))
    # As ``two_way.error_of`` has it.
    factor = np.array([rater_factor(count) for count in people])
    extra = np.where(people < 3, 0.0, factor * np.maximum(raters - ratings, 0.0))
    total = items + extra
    # Where rating noise swamps the raters' part, that part is known no better than its noise allows.
    doubt = np.where(people < 3, 0.0, np.maximum(extra, np.minimum(raters, items)))
    below = items**2 / df + doubt**2 / np.maximum(people - 1.0, 1.0)
    free = np.maximum(np.divide(total**2, below, out=np.ones_like(total), where=below > 0), 1.0)
    return float(np.mean(2.0 * stdtrit(free, 0.975) * np.sqrt(total)))


def screen_once(
    layout: StimulusTable,
    incidence: Incidence,
    pilot: Pilot,
    material: StudyContents,
    options: PlanOptions,
    rng: np.random.Generator,
) -> Screened:
    """One simulated study through the real screening rules."""
    rehearsed = rehearse(layout, incidence, pilot, material, options, rng)
    policy = parse_policy(options.policy)
    # Rules that only report change nothing here.
    dropping = {rule: action for rule, action in policy.actions.items() if action == "drop"}
    panel = screen(rehearsed.snapshot, replace(policy, actions=dropping), seed=options.seed)
    dropped = np.isin(rehearsed.raters, list(panel.dropped))
    careless = rehearsed.careless
    return Screened(
        int(careless.sum()), int((careless & dropped).sum()), int((~careless).sum()), int((~careless & dropped).sum())
    )
