"""What a plan says, as frozen dataclasses: ``plan.json`` is the ``StudyPlan``.

The value of a forecast is the mean over simulated studies, its bounds hold 95% of single studies (what *your* study may show),
and ``monte_carlo_error`` is the standard error of the value, which more simulated studies make smaller. A power is the mean over
what the pilot leaves open, and its interval holds 95% of that; without a pilot, powers and shares have intervals of their Monte
Carlo error.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from heartfelt.planning.options import PlanOptions
from heartfelt.planning.pilots.latent import Components
from heartfelt.planning.simulated.design import PlannedDesign
from heartfelt.stats.estimate import Estimate


@dataclass(frozen=True, slots=True)
class StudyForecast:
    """What a study of this design will show: the mean over simulated studies, and where 95% of them lie."""

    estimate: Estimate = field(metadata={"flatten": True})
    monte_carlo_error: float | None = None

    @property
    def value(self) -> float | None:
        return self.estimate.value


@dataclass(frozen=True, slots=True)
class ContrastPower:
    """How often two systems are found to differ, after correction for all pairs."""

    a: str
    b: str
    difference: float
    """The planted difference, on average over studies, in points of the scale (log odds for comparisons)."""
    power: Estimate


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionForecast:
    """What a design will show under one question."""

    question: str
    power: Estimate
    """Of a pair of systems that differ by the planned effect, or of a pair chosen at random."""
    pairs: int
    pairs_found: StudyForecast
    power_systems: Estimate
    """Of any pair of systems."""
    power_equivalence: Estimate
    """Of showing that two systems that do not differ are equivalent within the smallest effect."""
    power_intents: Estimate
    """Share of pairs of intents found."""
    false_alarms: Estimate
    """Share of studies that find a difference between systems that do not differ; missing where all differ."""
    difference_width: StudyForecast
    """Width of the 95% interval of a difference between two systems, corrected for all pairs."""
    mean_width: StudyForecast
    """Width of the 95% interval of a system's mean, raters and stimuli being samples."""
    label_error: StudyForecast
    """Standard error of a stimulus's mean rating."""
    alpha: StudyForecast
    icc1: StudyForecast
    icc1k: StudyForecast
    """Reliability of the stimuli's mean ratings."""
    ceiling: StudyForecast
    """The highest correlation a predictor of the mean ratings can reach."""
    icc2: StudyForecast
    icc2k: StudyForecast
    icc1k_width: StudyForecast
    """Width of the reliability's own 95% interval."""
    alpha_ordinal: StudyForecast
    contrasts: tuple[ContrastPower, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ScreeningForecast:
    """What screening will take out, from a simulated study that went through the real rules."""

    policy: str
    careless: float
    """Share of careless raters that is planned for."""
    careless_dropped: Estimate
    attentive_dropped: Estimate
    ratings_lost: float


@dataclass(frozen=True, slots=True, kw_only=True)
class DesignForecast:
    """One design: what it takes and what it will show."""

    design: PlannedDesign
    words: str
    ratings_given: float
    ratings_per_unit: float
    fewest_ratings: float
    most_ratings: float
    raters_left: float
    raters_turned_away: float
    minutes_per_rater: float
    hours: float
    cost: float | None
    screening: ScreeningForecast | None
    questions: Mapping[str, QuestionForecast]
    cost_at_most: float | None = None
    """What is paid where every rater stays to the end; a budget must cover it."""

    @property
    def power(self) -> float:
        """The lowest power over the questions; 0 where none is known."""
        return min((question.power.value or 0.0 for question in self.questions.values()), default=0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class PilotSummary:
    """What the plan assumes, and where from."""

    source: str
    raters: int
    careless: float
    dropout: float
    seconds: float
    components: Mapping[str, Components]
    from_pilot: bool
    credit: str


@dataclass(frozen=True, slots=True)
class PlainAnswers:
    """Direct answers, in words."""

    raters: str
    clips_or_ratings: str
    afford: str

    @property
    def sentences(self) -> tuple[str, ...]:
        return tuple(text for text in (self.raters, self.clips_or_ratings, self.afford) if text)


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyPlan:
    """A plan: forecasts for every design of a grid, a recommendation and its reasons."""

    heartfelt: str
    study: str
    hash: str
    kind: str
    options: PlanOptions
    pilot: PilotSummary
    designs: tuple[DesignForecast, ...]
    recommended: int | None
    """The place of the recommended design; None where no design reaches the power that was asked for."""
    answers: PlainAnswers
    notes: tuple[str, ...]
    listed: int = 0
    """Stimuli that the study lists."""

    @property
    def best(self) -> DesignForecast:
        """The recommended design, or else the one with the most power that the budget pays, if it pays any."""
        if self.recommended is not None:
            return self.designs[self.recommended]
        return max(self.affordable or self.designs, key=lambda forecast: forecast.power)

    @property
    def affordable(self) -> tuple[DesignForecast, ...]:
        """The designs that the budget pays; all without one."""
        limit = self.options.afford
        return tuple(forecast for forecast in self.designs if limit is None or (forecast.cost_at_most or 0.0) <= limit)

    @property
    def first_reaching(self) -> DesignForecast | None:
        """The cheapest design that reaches the wanted power, whatever the budget: with the study's own clips, if there is one."""
        able = [forecast for forecast in self.designs if forecast.power >= self.options.power]
        return min(
            able,
            key=lambda forecast: (forecast.design.stimuli != self.listed, forecast.cost_at_most or forecast.hours),
            default=None,
        )
