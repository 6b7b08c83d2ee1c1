"""Comparison designs: choices between two stimuli, analysed by the strengths the report shows.

The strength of a stimulus is that of its system plus its own, in log odds. An attentive rater chooses the first with the
probability of Bradley and Terry's model plus an advantage of being first; where the scale offers ties, perceived
differences below a width are ties. Careless raters choose at random. Every simulated study is fitted by the function the
analysis uses (Bradley-Terry, or Davidson's model with ties; order effect; jackknife over raters and sets) and its pairs of systems
are tested with Holm's correction.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import polars as pl

from heartfelt import stats
from heartfelt.errors import InputError
from heartfelt.labels.strengths import contest
from heartfelt.planning.options import PlanOptions
from heartfelt.planning.pilots.latent import Components, Floats, ScaleUse
from heartfelt.planning.pilots.pilot import LEAST_RATERS, Pilot, QuestionPilot
from heartfelt.planning.pilots.uncertainty import Freedom
from heartfelt.planning.simulated.design import PlannedDesign, StimulusTable, StudyContents, layout_of
from heartfelt.planning.simulated.incidence import Incidence
from heartfelt.planning.simulated.parameters import keeps_effects, system_effects
from heartfelt.planning.simulated.power import expected_errors, power_draws
from heartfelt.planning.simulated.simulation import (
    SimulatedDesign,
    Studies,
    assign_often,
    mean_where,
    settles,
    wanted_pairs,
)
from heartfelt.screening.panel import screen
from heartfelt.snapshot import Snapshot
from heartfelt.snapshot.comparisons import set_questions
from heartfelt.stats.columns.triples import Ints
from heartfelt.stats.comparison.strengths.models import Strengths
from heartfelt.stats.estimate import Estimate
from heartfelt.streams import stream
from heartfelt.study import Study
from heartfelt.study.scales.set_scale import Choice
from heartfelt.wording import plural

SYSTEM_VARIANCE, STIMULUS_VARIANCE = 0.36, 0.16
STIMULUS_DOUBT = 0.5
"""Standard deviation of the logarithm of the variance between stimuli, which no pilot of comparisons tells."""
SIDE_BIAS, TIE_WIDTH = 0.1, 0.6
CARELESS, DROPOUT = 0.1, 0.05
ASSUMED = (
    "The figures assume that strengths differ by 0.6 log odds (standard deviation) between systems and 0.4 between stimuli of a"
    " system: a pilot (--pilot SNAPSHOT) replaces the first by your own."
)
STIMULI_ASSUMED = (
    "The variance between stimuli of a system is assumed (0.16, between 0.06 and 0.43 in 95% of the simulated studies), not"
    " estimated from the pilot."
)


def planned_question(study: Study) -> str:
    """The choice a comparison design is planned for."""
    assert study.sets is not None
    names = [name for name in set_questions(study) if isinstance(study.scale_of(name), Choice)]
    if study.sets.type not in ("pair", "ab") or not names:
        raise InputError(
            f"Sets of type '{study.sets.type}' without a choice between two cannot be planned.",
            "Plan pairs (type: pair or ab) with a question on a choice scale, or studies that rate stimuli one by one.",
        )
    return names[0]


def comparison_pilot(study: Study, snapshot: Snapshot | None, seed: int = 0) -> Pilot:
    """Strengths of systems from a pilot, or stated assumptions."""
    question = planned_question(study)
    scale = study.scale_of(question)
    ties = isinstance(scale, Choice) and scale.ties
    use = ScaleUse((0.0, 0.5, 1.0), (0.4, 0.2, 0.4)) if ties else ScaleUse((0.0, 1.0), (0.5, 0.5))
    if snapshot is None:
        model = _question_pilot(question, use, SYSTEM_VARIANCE)
        return Pilot(
            source="assumed strengths",
            questions={question: model},
            careless=CARELESS,
            dropout=DROPOUT,
            notes=(ASSUMED,),
        )
    raters = len(snapshot.survey.raters)
    if raters < LEAST_RATERS:
        raise InputError(
            f"A pilot of {plural(raters, 'rater')} does not show how raters differ.",
            f"Collect answers of at least {LEAST_RATERS} raters, or plan without --pilot.",
        )
    panel = screen(snapshot, "default", seed=seed)
    fitted = contest(panel.snapshot(), question, "system")
    if fitted is None or not fitted.result.core or fitted.result.covariance is None:
        raise InputError(
            f"The pilot {snapshot.source.name} gives no strengths of systems for '{question}'.",
            "Collect a pilot in which every system is compared with others, or plan without --pilot.",
        )
    result, size = fitted.result, len(fitted.result.core)
    strengths = np.array([float(result.strengths[index]) for index in result.core])
    centre = np.eye(size) - 1.0 / size
    noise = centre @ fitted.result.covariance.total[:size, :size] @ centre
    model = replace(
        _question_pilot(question, use, strength_variance(strengths, noise)),
        systems={str(result.names[index]): float(value) for index, value in zip(result.core, strengths, strict=True)},
        system_noise=tuple(tuple(row) for row in noise.tolist()),
        careless_variance=1.0,
        freedom=pairs_freedom(fitted.pairs["rater"].n_unique(), fitted.pairs["unit"].n_unique()),
        ties=tie_share(fitted.pairs) if ties else None,
    )
    careless = len(panel.dropped)
    return Pilot(
        source=f"pilot {snapshot.source.name} ({plural(raters, 'rater')})",
        questions={question: model},
        careless=careless / raters,
        dropout=DROPOUT,
        raters=raters,
        careless_raters=careless,
        notes=(STIMULI_ASSUMED,),
    )


def _question_pilot(question: str, use: ScaleUse, system: float) -> QuestionPilot:
    """Strengths with this variance between systems, and what is assumed of stimuli and choices."""
    parts = Components(
        system=system, intent=0.0, cell=0.0, stimulus=STIMULUS_VARIANCE, rater=0.0, residual=np.pi**2 / 3
    )
    return QuestionPilot(question=question, components=parts, scale=use, bounds=(0.0, 1.0))


def strength_variance(strengths: Floats, noise: Floats) -> float:
    """Variance between systems' strengths beyond their noise, whose covariance is about their mean."""
    return max(float(strengths.var(ddof=1)) - float(np.trace(noise)) / (strengths.size - 1), 0.0)


def pairs_freedom(raters: int, units: int) -> Freedom:
    """What strengths of so many raters leave open; nothing else of a comparison is estimated from variances."""
    few = max(min(raters, units) - 1, 1)
    return Freedom(
        stimuli=few,
        ratings_per_stimulus=1.0,
        raters=few,
        ratings_per_rater=1.0,
        tastes=few,
        ratings_per_taste=1.0,
        residual=few,
    )


def tie_share(pairs: pl.DataFrame) -> tuple[float, float]:
    """The mean of raters' own shares of ties, and its standard error."""
    shares = pairs.group_by("rater").agg((pl.col("value") == 0.5).mean())["value"].to_numpy()
    error = float(shares.std(ddof=1)) / np.sqrt(shares.size) if shares.size > 1 else 0.0
    return float(shares.mean()), max(error, 0.5 / pairs.height)


def tie_widths(question_pilot: QuestionPilot, count: int, rng: np.random.Generator) -> Floats:
    """Perceived differences below which raters answer with a tie, a width per study.

    Between equals a share s of answers is a tie where the width is log((1 + s) / (1 - s)), the noise being logistic.
    """
    if question_pilot.ties is None:
        return np.full(count, TIE_WIDTH)
    share = np.clip(question_pilot.ties[0] + question_pilot.ties[1] * rng.standard_normal(count), 0.0, 0.95)
    return np.asarray(np.log((1.0 + share) / (1.0 - share)))


def simulate_comparisons(
    material: StudyContents, design: PlannedDesign, pilot: Pilot, dropout: float, options: PlanOptions, studies: int
) -> SimulatedDesign:
    layout = layout_of(material, design, options.seed)
    name = (str(design.sets), str(design.ratings), str(design.per_rater), str(design.raters))
    times = min(options.assignments, studies)
    incidences = assign_often(layout.units, design, dropout, options.seed, name, times)
    rng = stream(options.seed, "planning", "comparisons", *name)
    [(question, question_pilot)] = pilot.questions.items()
    simulated = _studies(layout, incidences, question_pilot, material, options, pilot.shares(studies, rng), rng)
    return SimulatedDesign.of(design, incidences, layout.units.count, {question: simulated})


def _studies(
    layout: StimulusTable,
    incidences: list[Incidence],
    question_pilot: QuestionPilot,
    material: StudyContents,
    options: PlanOptions,
    shares: Floats,
    rng: np.random.Generator,
) -> Studies:
    names, most = material.systems, shares.size
    effects = system_effects(question_pilot, names, options, np.full(most, question_pilot.components.system), rng)
    first, second = np.triu_indices(len(names), 1)
    planted = effects[:, first] - effects[:, second]
    wanted = wanted_pairs(planted, options)
    stimulus = np.full(most, question_pilot.components.stimulus)
    if question_pilot.freedom is not None:
        stimulus *= np.exp(STIMULUS_DOUBT * rng.standard_normal(most))
    ties = tie_widths(question_pilot, most, rng)
    detected: list[Floats] = []
    widths, means = [], []
    for number in range(most):
        incidence = incidences[number % len(incidences)]
        strength = effects[number][layout.system]
        strength = strength + np.sqrt(stimulus[number]) * rng.standard_normal(layout.system.size)
        choices = drawn_choices(layout, incidence, question_pilot, strength, shares[number], rng, ties[number])
        fitted = fit_choices(layout, incidence, choices)
        hits, width, mean_width = _figures(fitted, list(zip(first.tolist(), second.tolist(), strict=True)))
        detected.append(hits)
        widths.append(width)
        means.append(mean_width)
        if settles(number + 1, incidence.rater.size, detected, wanted):
            break
    done = len(detected)
    hits, spans_of_pairs = np.array(detected).reshape(done, -1), np.array(widths).reshape(done, -1)
    powers = None
    if question_pilot.freedom is not None and first.size:
        expected = expected_errors(_variances(stimulus[:done], spans_of_pairs), spans_of_pairs)
        distance = np.abs(planted[:done]) * (1.0 - shares[:done, None])
        powers = power_draws(4.0 * distance / expected, hits, wanted[:done], rng)
    return Studies(
        figures={},
        detected=hits,
        planted=planted[:done],
        difference_width=mean_where(spans_of_pairs, np.isfinite(spans_of_pairs)),
        mean_width=np.array(means),
        found_intents=np.full(done, np.nan),
        real={},
        named=keeps_effects(question_pilot, names, options),
        powers=powers,
    )


def _figures(fitted: Strengths, pairs: Sequence[tuple[int, int]]) -> tuple[Floats, list[float], float]:
    """Which pairs of systems differ (NaN where that is not known), the widths of their intervals, and that of a strength's."""
    tested = [_difference(fitted, a, b) for a, b in pairs]
    corrected = stats.holm([p for p, _ in tested])
    hits = np.array(corrected.significant, np.float64)
    spans = [span for strength in fitted.strengths if (span := _width(strength)) is not None]
    return hits, [np.nan if width is None else width for _, width in tested], float(np.mean(spans)) if spans else np.nan


def _width(estimate: Estimate) -> float | None:
    return None if estimate.low is None or estimate.high is None else estimate.high - estimate.low


def _variances(stimulus: Floats, widths: Floats) -> Floats:
    """How the squared widths of intervals grow with the variance between stimuli: a straight line that does not fall."""
    squares = mean_where(np.square(widths), np.isfinite(widths))
    finite = np.isfinite(squares)
    if not finite.any():
        return np.full(widths.shape, np.nan)
    centred = stimulus - stimulus[finite].mean()
    slope = max(float(centred[finite] @ squares[finite]) / max(float(centred[finite] @ centred[finite]), 1e-12), 0.0)
    level = float(squares[finite].mean())
    return np.asarray(np.maximum(level + slope * centred, 0.05 * level)[:, None] + np.zeros(widths.shape))


def drawn_choices(
    layout: StimulusTable,
    incidence: Incidence,
    question_pilot: QuestionPilot,
    strength: Floats,
    careless: float,
    rng: np.random.Generator,
    tie_width: float = TIE_WIDTH,
) -> tuple[Ints, Ints, Floats]:
    """First and second stimulus of every trial in the order shown, and the answer in favour of the first."""
    pair = np.column_stack([layout.first, layout.second])[incidence.unit]
    rows = np.arange(incidence.unit.size)
    shown_first, shown_second = pair[rows, incidence.first], pair[rows, 1 - incidence.first]
    noise = rng.logistic(size=rows.size)
    advantage = strength[shown_first] - strength[shown_second] + SIDE_BIAS + noise
    value = (advantage > 0).astype(np.float64)
    if len(question_pilot.scale.values) == 3:
        value[np.abs(advantage) < tie_width] = 0.5
    count = int(careless * incidence.raters + rng.random())
    lazy = np.isin(incidence.rater, rng.permutation(incidence.raters)[:count])
    value[lazy] = np.asarray(question_pilot.scale.values)[
        rng.integers(0, len(question_pilot.scale.values), int(lazy.sum()))
    ]
    return shown_first, shown_second, value


def fit_choices(layout: StimulusTable, incidence: Incidence, choices: tuple[Ints, Ints, Floats]) -> Strengths:
    """The strengths of the systems, as the analysis fits them; contestants are the systems' numbers."""
    shown_first, shown_second, value = choices
    model = stats.davidson if (value == 0.5).any() else stats.bradley_terry
    columns = (incidence.rater, layout.system[shown_first], layout.system[shown_second], value)
    result = model(*columns, stimulus=incidence.unit, order_effect=True)
    return result if result.core else model(*columns, stimulus=incidence.unit)


def _difference(fitted: Strengths, a: int, b: int) -> tuple[float | None, float | None]:
    """p-value and interval width of a difference of two systems; None where a system has no strength."""
    if a not in fitted.names or b not in fitted.names:
        return None, None
    effect = fitted.difference(a, b)
    return effect.p_value, _width(effect.estimate)
