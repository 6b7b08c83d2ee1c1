"""The summary of an analysis: every part of it, and what an analysis returns.

``heartfelt.serialization`` turns a ``Summary`` into ``summary.json`` and back, with the fields' names as keys. A part
that does not apply, or that could not be computed, is None, and ``Summary.why_missing`` gives the reason.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import polars as pl

from heartfelt.analysis.consistency.adjudicated import Adjudicated
from heartfelt.analysis.data.answers_used import AnswersUsed
from heartfelt.analysis.data.preregistration import Registered
from heartfelt.analysis.findings.categories import CategoryQuestion, FieldAgreement
from heartfelt.analysis.findings.comparisons import ComparisonQuestion, TraceQuestion
from heartfelt.analysis.findings.ordinal import OrdinalCheck
from heartfelt.analysis.findings.parts import (
    OMIT,
    Agreement,
    AnalysisCounts,
    AnovaEffect,
    BreakdownRow,
    ByName,
    Checks,
    Distribution,
    IntentConfusion,
    IntentMeans,
    Kind,
    Outcome,
    Overlap,
    PairDifference,
    QuadrantEllipse,
    QuadrantResults,
    QuestionMeans,
    RatingModelEffect,
    Reliability,
    Slope,
    SystemEquivalence,
    SystemMeans,
)
from heartfelt.analysis.findings.verification import DraftVerification
from heartfelt.labels.strengths import STRENGTHS
from heartfelt.labels.traces import COURSES
from heartfelt.representation import ShortRepr
from heartfelt.screening.panel import Panel, RuleSummary
from heartfelt.screening.policy import Policy
from heartfelt.snapshot import Snapshot
from heartfelt.snapshot.snapshot import Source
from heartfelt.stats.estimate import Estimate, FutureRaters


@dataclass(frozen=True, slots=True)
class GroupSize:
    """A group of raters."""

    group: str
    raters: int


@dataclass(frozen=True, slots=True)
class GroupAlpha:
    """Krippendorff's alpha of a group at the question's level of measurement."""

    estimate: Estimate = field(metadata={"flatten": True})
    measurement_level: str | None = field(default=None, metadata=OMIT)


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupFigures:
    """One group of raters under one question."""

    question: str
    group: str
    n_raters: int
    n_stimuli: int
    n_ratings: int
    alpha: GroupAlpha
    icc2: Estimate
    icc2k: Estimate
    mean: Estimate
    mean_by_system: ByName
    why_missing: str | None = field(default=None, metadata=OMIT)


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupDifference:
    """The mean of group ``a`` less that of group ``b`` over the stimuli both rated; ``p`` is corrected by Holm's method."""

    question: str
    system: str
    a: str
    b: str
    difference: Estimate
    p_alone: float | None
    p: float | None
    significant: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class RaterGroups:
    """Groups of raters by one column: reliability and means of each, and all differences."""

    column: str
    groups: tuple[GroupSize, ...]
    not_stated: int
    cut_at: tuple[float, ...] | None
    rows: tuple[GroupFigures, ...]
    differences: tuple[GroupDifference, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class NormFigures:
    """Scores of a published sample."""

    population: str
    mean: float
    sd: float
    n: int
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class InstrumentScore:
    """One score of a questionnaire over the raters, ``column`` in their table."""

    instrument: str
    score: str
    column: str
    items: int
    raters: int
    missing: int
    """Raters who rated something and have no score."""
    mean: float | None
    sd: float | None
    alpha: Estimate
    omega: Estimate
    norms: tuple[NormFigures, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ParallelPair:
    """Two raters whose answers run in parallel: the share of equal answers at ``positions`` aligned positions."""

    raters: tuple[str, str]
    positions: int
    correlation: float | None
    share: float
    expected_share: float
    p: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DroppedRater:
    """A rater the default policy would leave out, and why."""

    rater: str | None
    rule: str
    reason: str
    statistic: str | None
    value: float | None
    threshold: float | None


@dataclass(frozen=True, slots=True)
class RankedRater:
    """A rater's place in the order of suspicion."""

    rank: int
    rater: str
    score: float
    flagged_by: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Screening:
    """What the screening of raters found.

    ``flagged`` holds the findings of rules with error control; ``flagged_by_standards`` those of the others (ITU standards,
    limits the study set, bias), which are not findings of carelessness. ``not_judged`` are raters no rule could judge.
    """

    policy: Policy
    flagged: Mapping[str, tuple[str, ...]]
    flagged_by_standards: Mapping[str, tuple[str, ...]]
    collusion: tuple[tuple[str, ...], ...]
    parallel: tuple[ParallelPair, ...]
    not_judged: tuple[str, ...]
    dropped: tuple[str, ...]
    dropped_by_default: tuple[str, ...]
    ledger_by_default: tuple[DroppedRater, ...]
    rules: Mapping[str, RuleSummary]
    ranking: tuple[RankedRater, ...]
    notes: tuple[str, ...]
    why_missing: str | None = field(default=None, metadata=OMIT)


@dataclass(frozen=True, slots=True, kw_only=True)
class SensitivityFigure:
    """A headline figure with all raters, and without those the default policy would leave out."""

    figure: str
    question: str | None
    of: str | None
    model: str | None
    with_all: Estimate | float | None
    without: Estimate | float | None


@dataclass(frozen=True, slots=True)
class SideCounts:
    """What stands behind one side of the comparison."""

    raters: int
    answers: int
    stimuli: int
    labels: int


@dataclass(frozen=True, slots=True)
class SensitivityCounts:
    """What stands behind both sides."""

    with_all: SideCounts
    without: SideCounts


@dataclass(frozen=True, slots=True, kw_only=True)
class SensitivityPairs:
    """For one family of pairs, how many differ on each side, and which differ on one side only."""

    question: str
    deviation: Outcome
    factor: str
    method: str
    model: str | None
    pairs: int
    with_all: int
    without: int
    only_with_all: tuple[tuple[str, str], ...]
    only_without: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class HalfAlpha:
    """Alpha on one half of the stimuli, with all raters and without those chosen on the other half."""

    with_all: float
    without: float


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldOutAlpha:
    """Alpha of one question on stimuli the raters were not chosen on: means over both halves."""

    question: str
    figure: str
    with_all: float
    without: float
    rise: float
    halves: tuple[HalfAlpha, ...]


@dataclass(frozen=True, slots=True)
class Crossfit:
    """How much of the rise in agreement after screening holds on other stimuli; ``left_out`` counts raters per half."""

    left_out: tuple[int, ...]
    questions: tuple[HeldOutAlpha, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedFigure:
    """A published figure and the same figure recomputed; ``printed`` are the digits that were compared."""

    what: str
    published: int | float | tuple[int, ...]
    recomputed: int | float | tuple[int | float | None, ...] | None
    agrees: bool
    printed: str | None = field(default=None, metadata=OMIT)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportVerdict:
    """The sentences at the top of a report."""

    bottom_line: str
    systems: tuple[str, ...]
    reliability: tuple[str, ...]
    raters: tuple[str, ...]
    next_step: str = ""
    """What to do next, in one sentence."""

    @property
    def sentences(self) -> tuple[str, ...]:
        """All of them, the bottom line first."""
        return (self.bottom_line, *self.systems, *self.reliability, *self.raters)


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """Every number of a report. A part without figures is None, with its reason under ``why_missing``."""

    heartfelt: str
    schema: int
    kind: Kind
    source: Source
    study: str
    hash: str
    policy: Policy
    seed: int
    future_raters: FutureRaters = "alike"
    counts: AnalysisCounts
    answers_used: AnswersUsed = field(default_factory=lambda: AnswersUsed(0, 0))
    reliability: Mapping[str, Reliability] | None
    reliability_pooled: Mapping[str, Reliability] | None
    agreement: Mapping[str, Agreement] | None
    agreement_pooled: Mapping[str, Agreement] | None
    checks: Checks | None
    covariates: tuple[str, ...]
    anova: tuple[AnovaEffect, ...] | None
    pairwise: tuple[PairDifference, ...] | None
    mixed: tuple[RatingModelEffect, ...] | None
    ordinal: tuple[OrdinalCheck, ...] | None = None
    equivalence: tuple[SystemEquivalence, ...] | None = field(default=None, metadata=OMIT)
    questions: tuple[QuestionMeans, ...] | None
    systems: tuple[SystemMeans, ...] | None
    intents: tuple[IntentMeans, ...] | None
    quadrants: QuadrantResults | None
    slopes: tuple[Slope, ...] | None
    distributions: tuple[Distribution, ...] | None
    ellipses: tuple[QuadrantEllipse, ...] | None
    overlap: tuple[Overlap, ...] | None
    breakdown: Mapping[str, tuple[BreakdownRow, ...]] | None
    intent_confusion: tuple[IntentConfusion, ...] | None
    by: RaterGroups | None
    screening: Screening
    sensitivity: tuple[SensitivityFigure, ...] | None
    sensitivity_counts: SensitivityCounts
    sensitivity_pairs: tuple[SensitivityPairs, ...] | None
    crossfit: Crossfit | None
    published: tuple[PublishedFigure, ...] | None
    comparisons: tuple[ComparisonQuestion, ...] | None = field(default=None, metadata=OMIT)
    traces: tuple[TraceQuestion, ...] | None = field(default=None, metadata=OMIT)
    registered: Registered | None = field(default=None, metadata=OMIT)
    verification: DraftVerification | None = field(default=None, metadata=OMIT)
    categories: tuple[CategoryQuestion, ...] | None = field(default=None, metadata=OMIT)
    field_agreement: tuple[FieldAgreement, ...] | None = field(default=None, metadata=OMIT)
    adjudication: Adjudicated | None = field(default=None, metadata=OMIT)
    instruments: tuple[InstrumentScore, ...] | None = field(default=None, metadata=OMIT)
    notes: tuple[str, ...] = ()
    why_missing: Mapping[str, str] = field(default_factory=dict)
    verdict: tuple[str, ...] = ()
    verdict_groups: ReportVerdict = field(
        default_factory=lambda: ReportVerdict(bottom_line="", systems=(), reliability=(), raters=())
    )
    methods: str = ""
    results: str = ""


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class Analysis(ShortRepr):
    """Tables and numbers of one snapshot.

    ``snapshot`` is what was analysed (the panel kept), ``all_ratings`` what was read. ``labels`` has one row per item,
    ``raters`` one per rater, ``ledger`` one for everything left out at any stage. ``summary`` holds every number.
    ``strengths`` and ``pairs`` are those of stimuli that were judged together, ``courses`` what raters of traces share.
    """

    snapshot: Snapshot
    all_ratings: Snapshot
    panel: Panel
    labels: pl.DataFrame
    raters: pl.DataFrame
    ledger: pl.DataFrame
    summary: Summary
    strengths: pl.DataFrame = field(default_factory=STRENGTHS.empty)
    courses: pl.DataFrame = field(default_factory=COURSES.empty)
    pairs: pl.DataFrame = field(default_factory=pl.DataFrame)
