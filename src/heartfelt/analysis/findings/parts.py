"""The figures of an analysis, part by part: reliability, agreement, effects, means, quadrants and distributions.

Each part is a frozen dataclass of estimates, counts and words; ``analysis.summary`` holds them all. Outcomes of models are
``value`` (the mean rating), ``signed`` (its deviation from the reference of the intent) and ``absolute`` (the size of that
deviation); ``system`` is ``all`` for figures over all systems.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from heartfelt.stats.estimate import Estimate

Kind: TypeAlias = Literal["conveyance", "opinion", "presence"]
Level: TypeAlias = Literal["interval", "ordinal", "nominal"]
Outcome: TypeAlias = Literal["value", "signed", "absolute", "corrected"]
ByName: TypeAlias = Mapping[str, Estimate]
Df: TypeAlias = tuple[int, int | float | None]

ALL = "all"
OMIT = {"omit": True}
OMIT_NONE = {"omit": "none"}


@dataclass(frozen=True, slots=True, kw_only=True)
class AnalysisCounts:
    """What there is. A *rating* is one rater's answers to one stimulus at one presentation; ``answers`` counts single answers."""

    stimuli: int
    rated: int
    unrated: int
    raters: int
    """Raters who gave at least one rating; those who are listed and gave none are ``raters_without_ratings``."""
    raters_kept: int
    raters_without_ratings: int
    ratings: int
    ratings_kept: int
    answers: int
    answers_kept: int
    answers_of_unknown_raters: int
    probe_stimuli: int
    answers_to_probes: int
    means: int
    questions: int
    systems: int
    intents: int
    labels: int
    items_without_label: int
    ratings_by_question: Mapping[str, int]
    ratings_per_item: Mapping[str, int]
    """How many items have how many ratings."""
    blank_answers: int | None = field(default=None, metadata=OMIT)
    """Rows without an answer, which nothing else counts; None where there are none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ceilings:
    """The best a predictor can be expected to reach, by metric; within cells and by system for the main ``metric``.

    The bounds of ``accuracy`` assume no shape of the vote distributions, ``accuracy_smooth`` a smooth family of them.
    """

    correlation: Estimate
    rmse: Estimate | None = field(default=None, metadata=OMIT)
    accuracy: Estimate | None = field(default=None, metadata=OMIT)
    accuracy_smooth: Estimate | None = field(default=None, metadata=OMIT)
    accuracy_cell_means: Estimate | None = field(default=None, metadata=OMIT)
    accuracy_human: Estimate | None = field(default=None, metadata=OMIT)
    metric: str | None = field(default=None, metadata=OMIT)
    by_system: ByName | None = field(default=None, metadata=OMIT_NONE)
    within_cells: Estimate | None = field(default=None, metadata=OMIT)
    cell_means: Estimate | None = field(default=None, metadata=OMIT)
    cell_means_in_sample: Estimate | None = field(default=None, metadata=OMIT)
    human: Estimate | None = field(default=None, metadata=OMIT)


@dataclass(frozen=True, slots=True, kw_only=True)
class VarianceShares:
    """Variance between raters, between stimuli and left over, and the share of each."""

    rater: Estimate
    stimulus: Estimate
    residual: Estimate
    share_rater: Estimate
    share_stimulus: Estimate
    share_residual: Estimate


@dataclass(frozen=True, slots=True, kw_only=True)
class Reliability:
    """How far the ratings of one question can be trusted, or of the ``n_questions`` questions on one scale together.

    ``reliability_with`` is that of the mean of so many raters; ``raters_needed`` how many a target takes, and
    ``raters_needed_between`` its bounds and ``raters_needed_if_careless`` the upper one if some future raters are
    careless; ``single_rating`` names the coefficient they are worked out from.
    """

    alpha_interval: Estimate
    alpha_ordinal: Estimate
    alpha_nominal: Estimate
    icc1: Estimate
    icc1k: Estimate
    icc2: Estimate
    icc2k: Estimate
    icc3: Estimate
    icc3k: Estimate
    split_half: Estimate
    ceiling: Ceilings
    variance_components: VarianceShares | None = field(default=None, metadata=OMIT)
    reliability_with: ByName = field(default_factory=dict, metadata=OMIT)
    raters_needed: Mapping[str, int | None] = field(default_factory=dict, metadata=OMIT)
    raters_needed_between: Mapping[str, tuple[int | None, int | None]] = field(default_factory=dict, metadata=OMIT)
    raters_needed_if_careless: Mapping[str, int | None] = field(default_factory=dict, metadata=OMIT)
    single_rating: str | None = field(default=None, metadata={"formerly": "from", "omit": "none"})
    n_questions: int | None = field(default=None, metadata=OMIT)


@dataclass(frozen=True, slots=True)
class PriorAgreement:
    """What the items were chosen to show against the majority of the raters."""

    accuracy: Estimate
    balanced_accuracy: Estimate
    n_ties: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """Agreement on categories; ``binary`` takes ordered categories as present or absent.

    With many questions each gets the first three coefficients and their pool the rest. ``leading`` names the coefficient to
    report first: one that knows the order where there is one.
    """

    fleiss_kappa: Estimate
    exact_agreement: Estimate
    leave_one_out: Estimate
    leave_one_out_balanced: Estimate | None = field(default=None, metadata=OMIT)
    leave_one_out_ties: int | None = field(default=None, metadata=OMIT)
    exact_agreement_of_pairs: Estimate | None = field(default=None, metadata=OMIT)
    alpha_nominal: Estimate | None = field(default=None, metadata=OMIT)
    alpha_ordinal: Estimate | None = field(default=None, metadata=OMIT)
    gwet_ac1: Estimate | None = field(default=None, metadata=OMIT)
    gwet_ac2: Estimate | None = field(default=None, metadata=OMIT)
    cohen_kappa: Estimate | None = field(default=None, metadata=OMIT)
    cohen_kappa_weighted_by_items: Estimate | None = field(default=None, metadata=OMIT)
    cohen_kappa_linear: Estimate | None = field(default=None, metadata=OMIT)
    cohen_kappa_quadratic: Estimate | None = field(default=None, metadata=OMIT)
    pairwise_accuracy: Estimate | None = field(default=None, metadata=OMIT)
    pairwise_accuracy_pooled: Estimate | None = field(default=None, metadata=OMIT)
    pairwise_balanced_accuracy: Estimate | None = field(default=None, metadata=OMIT)
    pairwise_balanced_accuracy_pooled: Estimate | None = field(default=None, metadata=OMIT)
    with_prior: Agreement | None = field(default=None, metadata=OMIT)
    prior_against_majority: PriorAgreement | None = field(default=None, metadata=OMIT)
    binary: Agreement | None = field(default=None, metadata=OMIT)
    leading: str | None = field(default=None, metadata=OMIT)
    n_questions: int | None = field(default=None, metadata=OMIT)
    n_items: int | None = field(default=None, metadata=OMIT)
    n_tied: int | None = field(default=None, metadata=OMIT)
    """Items whose most frequent answers are tied, so that they have no label."""

    @property
    def lead(self) -> Estimate:
        """The coefficient to report first."""
        ordinal = self.alpha_ordinal if self.leading == "alpha_ordinal" else None
        return ordinal or self.fleiss_kappa


@dataclass(frozen=True, slots=True, kw_only=True)
class CorrectedCountTest:
    """Whether the number of ratings of an item goes with its answers, or with how far raters disagree on it."""

    p: float | None
    p_corrected: float | None
    significant: bool
    change: Estimate | None = field(default=None, metadata=OMIT)
    category: float | None = field(default=None, metadata=OMIT)
    why_missing: str | None = field(default=None, metadata=OMIT)


@dataclass(frozen=True, slots=True)
class CountTests:
    """Both tests of one question."""

    answers: CorrectedCountTest
    disagreement: CorrectedCountTest


@dataclass(frozen=True, slots=True)
class Checks:
    """Constant raters, questions whose answers are all equal, and whether counts depend on answers."""

    constant_raters: tuple[str, ...]
    raters_judged: int
    constant_questions: tuple[str, ...]
    ratings_per_item: Mapping[str, CountTests]


@dataclass(frozen=True, slots=True)
class WithoutCovariates:
    """The same effect on the same stimuli in the model without covariates."""

    f: float | None = field(metadata={"formerly": "F"})
    p: float | None
    eta_squared: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AnovaEffect:
    """One effect of one analysis of variance; sums of squares of type II.

    ``eta_squared`` is a share of the sum of the table's sums of squares, ``eta_squared_of_total`` of the corrected total.
    """

    outcome: str
    deviation: Outcome
    model: str
    type: int
    effect: str
    partial_eta_squared: Estimate
    df: Df | None = None
    f: float | None = field(default=None, metadata={"formerly": "F"})
    p: float | None = None
    eta_squared: float | None = None
    eta_squared_of_total: float | None = None
    omega_squared: float | None = None
    n: int | None = None
    notes: tuple[str, ...] = ()
    why_missing: str | None = field(default=None, metadata=OMIT)
    unequal_spread: float | None = field(default=None, metadata=OMIT_NONE)
    without_covariates: WithoutCovariates | None = field(default=None, metadata=OMIT)


@dataclass(frozen=True, slots=True, kw_only=True)
class RatingModelEffect:
    """One effect of the model of the ratings: raters, stimuli and, where the design tells them apart, tastes are samples.

    A taste is what a rater thinks of a system beyond what everybody does. ``why_no_tastes`` says why the model has none;
    ``means`` are those of the systems with all else held equal.
    """

    outcome: str
    deviation: Outcome
    model: str
    effect: str
    variances: ByName
    df: Df | None = None
    f: float | None = field(default=None, metadata={"formerly": "F"})
    p: float | None = None
    method: str = field(default="", metadata=OMIT)
    n: int | None = field(default=None, metadata=OMIT)
    notes: tuple[str, ...] | None = field(default=None, metadata=OMIT_NONE)
    why_missing: str | None = field(default=None, metadata=OMIT)
    why_no_tastes: str | None = field(default=None, metadata=OMIT_NONE)
    means: ByName | None = field(default=None, metadata=OMIT_NONE)


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemEquivalence:
    """Whether two systems differ by less than the smallest effect of interest: two one-sided tests.

    ``difference`` is ``a`` less ``b`` with its 90% interval. ``p`` tests equivalence, ``p_a_not_inferior`` that ``a`` is at most
    the margin below ``b``, ``p_b_not_inferior`` the reverse; each is corrected over the pairs (Holm).
    """

    outcome: str
    a: str
    b: str
    margin: float
    difference: Estimate
    p: float
    p_a_not_inferior: float
    p_b_not_inferior: float
    method: str

    @property
    def equivalent(self) -> bool:
        """Whether equivalence is shown."""
        return self.p < 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class PairDifference:
    """Two systems, or two quadrants, compared: ``a`` less ``b`` with its interval, and a corrected ``p``.

    ``df`` belongs to the tests in a linear model; ``p_alone`` (before Holm's correction) to the two-way jackknife, which has no
    ``model``.
    """

    outcome: str
    deviation: Outcome
    factor: str
    model: str | None
    method: str
    a: str
    b: str
    difference: Estimate
    p: float | None
    significant: bool | None
    df: float | None = None
    p_alone: float | None = None

    def to_json(self) -> dict[str, Any]:
        """The row, with the difference and its bounds as plain numbers."""
        out: dict[str, Any] = {name: getattr(self, name) for name in self.__slots__[:7]}
        out |= {"difference": self.difference.value, "low": self.difference.low, "high": self.difference.high}
        out |= {"p": self.p, "significant": self.significant}
        if self.model is not None:
            out["df"] = self.df
        else:
            out["p_alone"] = self.p_alone
            if self.difference.interval:
                out["interval"] = self.difference.interval
        if (self.p if self.model is not None else self.p_alone) is None:
            out["why_missing"] = self.difference.why_no_interval or self.difference.why_missing
        return out

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> PairDifference:
        """Restore a row."""
        reason = data.get("why_missing")
        fields_read: dict[str, Any] = {name: data.get(name) for name in cls.__slots__ if name != "difference"}
        value, low, high = data["difference"], data["low"], data["high"]
        return cls(
            **fields_read,
            difference=Estimate(
                value=value,
                low=low,
                high=high,
                method="difference of means",
                interval=data.get("interval", ""),
                why_missing=(reason or "not computed") if value is None else None,
                why_no_interval=reason,
            ),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class MeanFigures:
    """Figures over some stimuli under one question; ``absolute_deviation_corrected`` is without the noise of the ratings."""

    n_stimuli: int
    n_ratings: int
    mean: Estimate
    deviation: Estimate
    absolute_deviation: Estimate
    absolute_deviation_corrected: Estimate


@dataclass(frozen=True, slots=True)
class QuestionMeans:
    """One question over all its stimuli."""

    question: str
    level: Level
    sd_of_labels: float | None
    means: MeanFigures = field(metadata={"flatten": True})


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemMeans:
    """One system under one question, its rank, and the systems it is not shown to differ from."""

    system: str
    question: str
    means: MeanFigures = field(metadata={"flatten": True})
    rank: int | None
    ranked_by: str
    tied_with: tuple[str, ...] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class IntentMeans:
    """One intent under one question."""

    intent: str
    question: str
    quadrant: str | None
    reference: float | None
    means: MeanFigures = field(metadata={"flatten": True})


@dataclass(frozen=True, slots=True, kw_only=True)
class QuadrantMeans:
    """One quadrant under one question, of one system or of all."""

    quadrant: str
    system: str
    question: str
    n_stimuli: int
    deviation: Estimate
    absolute_deviation: Estimate


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfusionTable:
    """Intended (rows) against perceived (columns): counts, and shares of each row."""

    labels: tuple[str, ...]
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    counts: tuple[tuple[int, ...], ...]
    proportions: tuple[tuple[float | None, ...], ...]


@dataclass(frozen=True, slots=True)
class ChanceTest:
    """The share of hits expected by chance, and the probability of at least as many hits as there were."""

    share: float = field(metadata={"formerly": "value"})
    p: float | None
    method: str
    why_missing: str | None = field(default=None, metadata={"formerly": "why_no_test", "omit": True})


@dataclass(frozen=True, slots=True, kw_only=True)
class QuadrantResults:
    """Deviation by quadrant, intended against perceived quadrants, and how often they are the same."""

    names: tuple[str, ...]
    axes: tuple[str, str]
    midpoints: tuple[float, float]
    of_intent: Mapping[str, str]
    by_quadrant: tuple[QuadrantMeans, ...]
    by_system_quadrant: tuple[QuadrantMeans, ...]
    confusion: ConfusionTable
    hit_rate: Estimate
    hit_rate_by_chance: ChanceTest | None
    hit_rate_by_system: ByName
    hit_rate_by_system_by_chance: Mapping[str, ChanceTest | None]
    hit_rate_by_quadrant: ByName


@dataclass(frozen=True, slots=True, kw_only=True)
class IntentConfusion:
    """Intents against the most frequent answers, where intents are among the categories of a question."""

    question: str
    confusion: ConfusionTable = field(metadata={"flatten": True})
    hit_rate: Estimate
    hit_rate_by_chance: ChanceTest | None
    hit_rate_by_system: ByName


@dataclass(frozen=True, slots=True, kw_only=True)
class Slope:
    """The line of perceived on intended; differences shrink towards ``neutral`` where the slope is below 1."""

    system: str
    question: str
    slope: Estimate
    intercept: Estimate
    neutral: float | None
    p_no_relation: float | None
    p_no_shrinkage: float | None
    slope_for_other_intents: Estimate


@dataclass(frozen=True, slots=True)
class AnswerCount:
    """How often one answer was given; the lower end of its bin where answers are binned."""

    value: float
    answer: str | None
    n: int


@dataclass(frozen=True, slots=True)
class Distribution:
    """The answers to one question, of one system or of all; ``bins`` are the edges of a long scale's bins."""

    question: str
    system: str
    bins: tuple[float, ...] | None
    answers: tuple[AnswerCount, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class QuadrantEllipse:
    """The 95% ellipse of the stimuli of one system and quadrant in the plane of both axes."""

    system: str
    quadrant: str
    centre: tuple[float, float] | None
    semi_axes: tuple[float, float] | None
    angle: float | None
    area: float | None
    confidence: float = field(metadata={"formerly": "level"})
    n_points: int
    n_left_out: int
    why_missing: str | None = field(default=None, metadata=OMIT)


@dataclass(frozen=True, slots=True)
class Overlap:
    """How far the ellipses of two quadrants of a system overlap (intersection over union)."""

    system: str
    a: str
    b: str
    overlap: Estimate


@dataclass(frozen=True, slots=True, kw_only=True)
class BreakdownRow:
    """The labels of the items that share one value of a fact."""

    value: str
    n_items: int
    n_ratings: int
    n_labels: int
    n_ties: int
    n_single: int
    present: Estimate
    unanimous: Estimate
    matches_intended: Estimate
