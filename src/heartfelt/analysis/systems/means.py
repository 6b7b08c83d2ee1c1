"""Means, deviations and slopes of questions, systems and intents, with ranks, and how often each answer was given.

Means are taken over stimuli, with intervals that take stimuli and raters as samples (``analysis.two_way``). An absolute
deviation also contains the noise of the mean rating: a stimulus exactly on its reference still lands next to it. The *corrected*
deviation takes that out by simulation extrapolation (Cook and Stefanski 1994): the mean absolute deviation with the noise
variance once and one and a half times as large is known in closed form (folded normal), and a parabola through the three points
is read off at no noise. The noise variance of a stimulus is the variance of ratings within stimuli, pooled, over its number
of ratings.

Systems are ranked by absolute deviation (closest to its intents first) where stimuli have references, else by mean rating
(highest first). A system is tied with those it does not differ from in the same measure by the two-way jackknife with Holm's
correction.

The slope is that of the least-squares line of mean ratings on the references of the intents. 1 means that what was
intended is what was perceived; below 1, differences shrink towards ``neutral``, the point where the line meets
perceived = intended. The interval of ``slope`` takes stimuli and raters as samples and the intents as fixed;
``slope_for_other_intents`` takes the intents as a sample too (clustered by intent, CR2; Bell and McCaffrey 2002), and
is wider.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl

from heartfelt.analysis.data.material import AnalysisData, QuestionData
from heartfelt.analysis.findings.parts import (
    ALL,
    AnswerCount,
    Distribution,
    IntentMeans,
    MeanFigures,
    Outcome,
    PairDifference,
    QuestionMeans,
    Slope,
    SystemMeans,
)
from heartfelt.analysis.systems.two_way import (
    Bools,
    Changes,
    Matrix,
    Stimuli,
    estimate,
    mean_changes,
    p_value,
    slope_changes,
    stimuli_of,
)
from heartfelt.stats.columns.triples import Floats, Ints
from heartfelt.stats.estimate import Estimate
from heartfelt.stats.prediction.regression import shrinkage_slope

JACKKNIFE = "two-way jackknife, Holm"
NO_REFERENCE = "the stimuli have no reference to deviate from"
NO_MEAN = "the answers are categories without an order, which have no mean"
NO_NOISE = "the noise of the means is unknown: no stimulus has two ratings, or a spread and a count"
METHODS: Mapping[Outcome, str] = {
    "value": "mean over stimuli of the mean rating",
    "signed": "mean over stimuli of the mean rating less its reference",
    "absolute": "mean over stimuli of the absolute deviation from the reference",
    "corrected": "mean absolute deviation less the noise of the ratings (simulation extrapolation)",
}
SLOPE = "least-squares slope of mean ratings on references"
EXTRAPOLATION = ((0.0, 6.0), (0.5, -8.0), (1.0, 3.0))
"""Extra noise, in variances of the noise there is, and its weight in the parabola's value at -1: none at all."""
MOST_INTENTS = 500
MOST_VALUES, BINS = 101, 20


@dataclass(frozen=True, slots=True, eq=False)
class StimulusScores:
    """A question's stimuli, their references, and the system, intent and quadrant of each."""

    question: QuestionData
    data: Stimuli
    reference: Floats
    noise: Floats
    """Variance of each stimulus's mean from the noise of its ratings; NaN where unknown."""

    @property
    def everything(self) -> Bools:
        """All stimuli."""
        return np.ones(len(self.data.names), dtype=np.bool_)

    def where(self, column: str, name: str) -> Bools:
        """The stimuli of one system, intent or quadrant."""
        return (self.question.items[column] == name).fill_null(False).to_numpy()

    def changes(self, chosen: Bools, outcome: Outcome) -> Changes | str:
        """The mean of an outcome over the chosen stimuli, or why there is none."""
        if not self.question.numbers:
            return NO_MEAN
        if outcome == "value":
            return mean_changes(self.data, chosen, lambda mean, _: mean[:, 0])
        chosen = chosen & np.isfinite(self.reference)
        if not chosen.any():
            return NO_REFERENCE
        if outcome == "corrected" and not np.isfinite(self.noise[chosen]).all():
            return NO_NOISE

        def deviation(mean: Matrix, at: Ints) -> Floats:
            from_reference = mean[:, 0] - self.reference[at]
            if outcome == "corrected":
                return without_noise(from_reference, self.noise[at])
            return np.abs(from_reference) if outcome == "absolute" else from_reference

        return mean_changes(self.data, chosen, deviation)

    def estimate(self, chosen: Bools, outcome: Outcome) -> Estimate:
        """The mean of an outcome over the chosen stimuli, with its interval."""
        return estimate(self.changes(chosen, outcome), METHODS[outcome])

    def means(self, chosen: Bools) -> MeanFigures:
        """All figures over the chosen stimuli."""
        return MeanFigures(
            n_stimuli=int(np.count_nonzero(chosen)),
            n_ratings=int(np.count_nonzero(chosen[self.data.stimulus])),
            mean=self.estimate(chosen, "value"),
            deviation=self.estimate(chosen, "signed"),
            absolute_deviation=self.estimate(chosen, "absolute"),
            absolute_deviation_corrected=self.estimate(chosen, "corrected"),
        )


Scores = Mapping[str, StimulusScores]


def without_noise(deviation: Floats, noise: Floats) -> Floats:
    """Scores whose mean is the mean absolute deviation without the noise; a single score may be negative."""
    from scipy.special import ndtr

    out = np.zeros_like(deviation)
    for more, weight in EXTRAPOLATION:
        spread = np.sqrt(more * noise)
        wide = spread > 0
        z = np.divide(deviation, spread, out=np.zeros_like(deviation), where=wide)
        folded = spread * np.sqrt(2 / np.pi) * np.exp(-z * z / 2) + deviation * (1 - 2 * ndtr(-z))
        out += weight * np.where(wide, folded, np.abs(deviation))
    return out


def stimulus_scores(question: QuestionData) -> StimulusScores:
    """A question's stimuli with their mean ratings and the noise of these."""
    items = question.items
    data = stimuli_of(items, [question.ratings], ["mean"], question.why_no_raters)
    reference = items["reference"].fill_null(np.nan).to_numpy().astype(np.float64)
    noise = np.full(items.height, np.nan)
    n, sd = items.select("n", "sd").cast(pl.Float64).fill_null(np.nan).to_numpy().T
    usable = np.isfinite(n) & np.isfinite(sd) & (n > 1)
    if question.numbers and usable.any():
        free = n[usable] - 1
        within = float((free * sd[usable] ** 2).sum()) / float(free.sum())
        noise = np.where(n >= 1, within / np.maximum(n, 1.0), np.nan)
    return StimulusScores(question, data, reference, noise)


def question_means(scores: Scores) -> tuple[QuestionMeans, ...]:
    """Every question over all its stimuli."""
    out = []
    for name, score in scores.items():
        sd = score.question.items["mean"].std() if score.question.numbers else None
        spread = float(sd) if isinstance(sd, float) else None
        out.append(QuestionMeans(name, score.question.level, spread, score.means(score.everything)))
    return tuple(out)


def system_means(scores: Scores, pairs: Iterable[PairDifference]) -> tuple[SystemMeans, ...]:
    """Every system under every question, with its rank and its ties."""
    tests = [pair for pair in pairs if pair.method == JACKKNIFE and pair.factor == "system"]
    return tuple(row for name, score in scores.items() for row in _ranked_systems(name, score, tests))


def _ranked_systems(question: str, score: StimulusScores, tests: Iterable[PairDifference]) -> Iterator[SystemMeans]:
    """The systems under one question: the closest to its intents first where there are references, else the highest mean."""
    means = {system: score.means(score.where("system", system)) for system in score.question.systems}
    if score.question.referenced:
        measure, ranked_by = "absolute", "absolute deviation, smallest first"
        rank_of = _ranks({system: figures.absolute_deviation.value for system, figures in means.items()}, 1)
    else:
        measure, ranked_by = "value", "mean, highest first"
        rank_of = _ranks({system: figures.mean.value for system, figures in means.items()}, -1)
    tested = [pair for pair in tests if (pair.outcome, pair.deviation) == (question, measure)]
    for system, figures in means.items():
        yield SystemMeans(
            system=system,
            question=question,
            means=figures,
            rank=rank_of.get(system),
            ranked_by=ranked_by,
            tied_with=_ties(system, tested, means) if tested else None,
        )


def _ties(system: str, tested: Iterable[PairDifference], systems: Collection[str]) -> tuple[str, ...]:
    """The other systems that a system is not shown to differ from."""
    pairs = [(pair.a, pair.b) for pair in tested if not pair.significant and system in (pair.a, pair.b)]
    return tuple(sorted({name for pair in pairs for name in pair if name != system and name in systems}))


def _ranks(values: Mapping[str, float | None], sign: int) -> dict[str, int]:
    """The rank of each system that has a value, by value times ``sign`` and then by name."""
    ordered = sorted((sign * value, system) for system, value in values.items() if value is not None)
    return {system: rank for rank, (_, system) in enumerate(ordered, 1)}


def intent_means(scores: Scores) -> tuple[IntentMeans, ...]:
    """Every intent under every question, with its reference."""
    out: list[IntentMeans] = []
    for name, score in scores.items():
        facts = score.question.items.select("intent", "quadrant", "reference").drop_nulls("intent")
        facts = facts.unique("intent").sort("intent")
        if facts.height <= MOST_INTENTS and score.question.numbers:
            out += [
                IntentMeans(
                    intent=intent,
                    question=name,
                    quadrant=quadrant,
                    reference=reference,
                    means=score.means(score.where("intent", intent)),
                )
                for intent, quadrant, reference in facts.iter_rows()
            ]
    return tuple(out)


def slopes(scores: Scores) -> tuple[Slope, ...]:
    """The line of every system, and of all together, under every question with references."""
    out: list[Slope] = []
    for score in scores.values():
        if score.question.referenced and score.question.numbers:
            out.append(_slope(score, score.everything, ALL))
            if len(score.question.systems) > 1:
                out += [_slope(score, score.where("system", name), name) for name in score.question.systems]
    return tuple(out)


def _slope(score: StimulusScores, chosen: Bools, name: str) -> Slope:
    line = slope_changes(score.data, chosen, score.reference)
    mean = score.data.mean[:, 0]
    usable = chosen & np.isfinite(score.reference) & np.isfinite(mean)
    ids = score.question.items["intent"].fill_null("").to_numpy()[usable]
    clustered = Estimate.missing(f"{len(set(ids))} intents; at least 3 are needed", SLOPE)
    if len(set(ids)) >= 3:
        clustered = shrinkage_slope(mean[usable], score.reference[usable], cluster=ids).slope
    if isinstance(line, str):
        gone = Estimate.missing(line, SLOPE)
        return Slope(
            system=name,
            question=score.question.id,
            slope=gone,
            intercept=gone,
            neutral=None,
            p_no_relation=None,
            p_no_shrinkage=None,
            slope_for_other_intents=clustered,
        )
    slope, intercept = line
    shrinkage = 1 - slope.value
    return Slope(
        system=name,
        question=score.question.id,
        slope=estimate(slope, SLOPE),
        intercept=estimate(intercept, "intercept of the same line"),
        neutral=intercept.value / shrinkage if abs(shrinkage) > 1e-6 else None,
        p_no_relation=p_value(slope),
        p_no_shrinkage=p_value(slope, null=1.0),
        slope_for_other_intents=clustered,
    )


def distributions(material: AnalysisData) -> tuple[Distribution, ...]:
    """How often each answer was given, over all stimuli and by system; long scales in twenty bins."""
    out: list[Distribution] = []
    for question in material.blocks:
        ratings = question.ratings.select("system", "value")
        if not ratings.height:
            continue
        edges = None
        if ratings["value"].n_unique() > MOST_VALUES:
            numbers = ratings["value"].to_numpy()
            limits = np.linspace(float(numbers.min()), float(numbers.max()), BINS + 1)
            at = np.clip(np.searchsorted(limits, numbers, side="right") - 1, 0, BINS - 1)
            ratings = ratings.with_columns(pl.Series("value", limits[at]))
            edges = tuple(limits.tolist())
        names = question.systems if len(question.systems) <= MOST_INTENTS else []
        for name in [ALL, *names]:
            of_system = ratings if name == ALL else ratings.filter(pl.col("system") == name)
            counted = of_system.group_by("value").len("n").sort("value")
            answers = tuple(AnswerCount(value, question.categories.get(value), n) for value, n in counted.iter_rows())
            out.append(Distribution(question.id, name, edges, answers))
    return tuple(out)
