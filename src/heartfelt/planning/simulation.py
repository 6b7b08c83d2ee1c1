"""One design, simulated many times: real assignment, drawn answers, and the figures its analysis would show.

Every simulated study draws its parameters (where they come from a pilot), effects, stimuli, raters and answers. Compiled
loops compute what the analysis reports of every study; a few studies per design also go through the real functions of
``heartfelt.stats`` for what the loops leave out (ceilings, two-way reliability and its interval), and one through the real
screening.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np

from heartfelt.planning.design import Layout, Material, PlannedDesign, PlanOptions, layout_of, standardised
from heartfelt.planning.incidence import Incidence, Units, assign
from heartfelt.planning.latent import Floats
from heartfelt.planning.parameters import Bools, draw_answers, draw_parameters, keeps_effects
from heartfelt.planning.pilot import Pilot, QuestionPilot
from heartfelt.planning.rehearsed import rehearse
from heartfelt.planning.statistics import statistics
from heartfelt.screening.panel import screen
from heartfelt.screening.policy import parse_policy
from heartfelt.stats.agreement import alpha
from heartfelt.stats.inference.posthoc import critical
from heartfelt.stats.ratings import as_ratings
from heartfelt.stats.reliability import icc
from heartfelt.stats.reliability.number_ceiling import number_ceiling
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
REAL_STUDIES = 8
LARGE = 4000
CONFIDENCE = 0.95


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


@dataclass(frozen=True, slots=True, eq=False)
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
    """Of the studies that went through the real functions."""
    named: bool = False
    """Whether systems keep their effects from study to study, so that single pairs have a power of their own."""
    errors: Floats = field(default_factory=lambda: np.zeros((0, 2, 0)))
    """Per study and pair of systems, the standard error of the difference and its degrees of freedom."""


@dataclass(frozen=True, slots=True, eq=False)
class Simulated:
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
    ) -> Simulated:
        """The design with what its assignments come to."""
        counts = [np.bincount(each.unit, minlength=units) for each in incidences]
        return cls(
            design,
            np.array([each.rater.size for each in incidences], np.float64),
            (
                float(np.mean([count.mean() for count in counts])),
                float(min(count.min() for count in counts)),
                float(max(count.max() for count in counts)),
            ),
            float(np.mean([each.left for each in incidences])),
            float(np.mean([each.turned_away for each in incidences])),
            screened,
            lost,
            questions,
        )


def assign_often(
    units: Units, design: PlannedDesign, dropout: float, seed: int, name: tuple[str, ...], times: int
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
    material: Material,
    design: PlannedDesign,
    pilot: Pilot,
    dropout: float,
    options: PlanOptions,
    studies: int,
) -> Simulated:
    """Simulate ``studies`` studies of a design."""
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
            layout, incidences, known, material, options, (careless, dropped), rng, design.systems
        )
        for question, known in pilot.questions.items()
    }
    return Simulated.of(design, incidences, layout.units.count, questions, screened, float(lost))


def draw_people(
    incidences: list[Incidence], shares: Floats, rates: tuple[float, float], rng: np.random.Generator
) -> tuple[list[Bools], list[Bools]]:
    """Who is careless and who is dropped, in each study."""
    careless, dropped = [], []
    for number, share in enumerate(shares):
        raters = incidences[number % len(incidences)].raters
        who = np.zeros(raters, np.bool_)
        # As many as the share says, rounded up or down by lot.
        count = int(share * raters + rng.random())
        who[rng.permutation(raters)[:count]] = True
        careless.append(who)
        dropped.append(rng.random(raters) < np.where(who, rates[0], rates[1]))
    return careless, dropped


People: TypeAlias = tuple[list[Bools], list[Bools]]


def simulate_question(
    layout: Layout,
    incidences: list[Incidence],
    known: QuestionPilot,
    material: Material,
    options: PlanOptions,
    people: People,
    rng: np.random.Generator,
    names: tuple[str, ...],
) -> Studies:
    """All studies under one question."""
    studies = len(people[0])
    systems, intents = len(names), len(material.intents)
    drawn = draw_parameters(known, names, options, studies, rng)
    of_intents = standardised(studies, intents, rng)
    pairs = np.triu_indices(systems, 1)
    heads, detected, widths, means, intent_shares, errors = [], [], [], [], [], []
    real: dict[str, list[float]] = {}
    for number in range(studies):
        incidence, (careless, dropped) = (
            incidences[number % len(incidences)],
            (people[0][number], people[1][number]),
        )
        value = draw_answers(
            layout, incidence, known, drawn, number, of_intents[number], (systems, intents), careless, rng
        )
        head, jackknife, effects, _, right, moves = statistics(
            incidence.rater, incidence.unit, value, dropped,
            layout.system, layout.intent, systems, intents, material.minimum, studies=studies,
        )  # fmt: skip
        heads.append(head)
        pair_error = system_errors(jackknife, moves)
        hit, width = system_pairs(effects[:systems], pair_error)
        detected.append(hit)
        widths.append(width)
        errors.append(pair_error)
        means.append(interval_width(jackknife))
        other, _ = tukey_pairs(effects[systems:], right, head)
        intent_shares.append(float(other.mean()) if other.size else np.nan)
        if number < REAL_STUDIES:
            for name, figure in real_figures(incidence, value, dropped, material.minimum).items():
                real.setdefault(name, []).append(figure)
    table: Any = np.array(heads)
    figures = {name: table[:, place] for place, name in enumerate(FIGURES)}
    planted = drawn.effects[:, pairs[0]] - drawn.effects[:, pairs[1]]
    return Studies(
        figures,
        np.array(detected).reshape(studies, -1),
        planted,
        np.array(widths),
        np.array(means),
        np.array(intent_shares),
        {name: np.array(numbers) for name, numbers in real.items()},
        keeps_effects(known, names, options),
        np.array(errors).reshape(studies, 2, -1),
    )


def system_errors(parts: Floats, moves: Floats) -> Floats:
    """Standard errors of all differences between systems' means and their degrees of freedom, by the two-way jackknife.

    As the analysis has them (``analysis.two_way``): raters' tastes for systems widen them, as in its model of the ratings.
    """
    i, j = np.triu_indices(len(parts), 1)
    items = parts[i, 1] + parts[j, 1]
    below_items = parts[i, 1] ** 2 / parts[i, 2] + parts[j, 1] ** 2 / parts[j, 2]
    took = np.isfinite(moves)
    either = took[i] | took[j]
    people = either.sum(axis=1).astype(np.float64)
    apart = np.where(either, np.where(took, moves, 0.0)[i] - np.where(took, moves, 0.0)[j], 0.0)
    many = np.maximum(people, 1.0)
    raters = (apart**2).sum(axis=1) - apart.sum(axis=1) ** 2 / many
    raters *= (many - 1.0) / many
    return _two_way_errors(items, below_items, raters, parts[i, 4] + parts[j, 4], people)


def _two_way_errors(
    items: Floats, below_items: Floats, raters: Floats, ratings: Floats, people: Floats
) -> Floats:
    """Standard errors and degrees of freedom from the variances over stimuli, raters and ratings (``two_way.error_of``).

    ``below_items`` is the squared variance over stimuli divided by its degrees of freedom.
    """
    extra = np.where(people < 3, 0.0, np.maximum(raters - ratings, 0.0))
    total = items + extra
    doubt = np.where(people < 3, 0.0, np.maximum(extra, np.minimum(raters, items)))
    below = below_items + doubt**2 / np.maximum(people - 1.0, 1.0)
    free = np.maximum(np.divide(total**2, below, out=np.ones_like(total), where=below > 0), 1.0)
    return np.stack([np.sqrt(total), free])


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
    own = np.diag(cover)
    errors = np.sqrt(head[6] * (own[i] + own[j] - 2.0 * cover[i, j]))
    return system_pairs(effects, np.stack([errors, np.full(i.size, head[7])]))


@lru_cache(maxsize=4096)
def _critical(groups: int, df: int) -> float:
    return critical(CONFIDENCE, groups, float(df))


def interval_width(parts: Floats) -> float:
    """Mean width of the systems' 95% intervals by the two-way jackknife (``analysis.two_way``)."""
    from scipy.special import stdtrit

    items, df, raters, ratings, people = (parts[:, k] for k in range(1, 6))
    errors, free = _two_way_errors(items, items**2 / df, raters, ratings, people)
    return float(np.mean(2.0 * stdtrit(free, 0.975) * errors))


def real_figures(incidence: Incidence, value: Floats, dropped: Bools, minimum: int) -> dict[str, float]:
    """What the analysis computes by functions that are too slow for every study."""
    keep = ~dropped[incidence.rater]
    counts = np.bincount(incidence.unit[keep], minlength=int(incidence.unit.max()) + 1)
    keep &= counts[incidence.unit] >= minimum
    rater, unit, answer = incidence.rater[keep], incidence.unit[keep], value[keep]
    ratings = as_ratings(rater, unit, answer)
    both = icc(ratings)
    top = number_ceiling(ratings, None, "correlation", CONFIDENCE, 0)
    ordinal = alpha(rater, unit, answer, "ordinal")
    out = {
        "icc2": both.icc2.value,
        "icc2k": both.icc2k.value,
        "ceiling": top.value,
        "alpha_ordinal": ordinal.value,
        "icc1k_width": None
        if both.icc1k.low is None or both.icc1k.high is None
        else both.icc1k.high - both.icc1k.low,
    }
    return {name: np.nan if number is None else float(number) for name, number in out.items()}


def screen_once(
    layout: Layout,
    incidence: Incidence,
    pilot: Pilot,
    material: Material,
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
        int(careless.sum()),
        int((careless & dropped).sum()),
        int((~careless).sum()),
        int((~careless & dropped).sum()),
    )
