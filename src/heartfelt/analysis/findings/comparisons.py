"""The figures of questions that are answered about several stimuli together, and of questions answered with traces.

``ComparisonQuestion`` holds one question; which of its parts there are depends on how it was answered (``scale``): pairs and
sets have strengths, ABX tests have shares of correct answers, MUSHRA has conditions, tests against a reference have means.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from heartfelt.analysis.findings.parts import OMIT
from heartfelt.stats.comparison.judges.concordance import RankConcordance
from heartfelt.stats.comparison.judges.consistency import RaterConsistency, Transitivity
from heartfelt.stats.estimate import Estimate

Answered: TypeAlias = Literal["choice", "preference", "rank", "best-worst", "abx", "mushra", "reference"]
NOUNS: Mapping[Answered, str] = {
    "choice": "comparison",
    "preference": "graded comparison",
    "rank": "ranking",
    "best-worst": "best-worst answer",
    "abx": "ABX answer",
    "mushra": "MUSHRA trial",
    "reference": "rating",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Contestant:
    """A system or stimulus with its strength; ``rank_low`` to ``rank_high`` holds 95% of its plausible ranks."""

    name: str
    strength: Estimate
    answers: int
    rank: int | None = None
    rank_low: int | None = None
    rank_high: int | None = None
    best: float | None = None
    """Probability of being the strongest."""
    score: Estimate | None = field(default=None, metadata=OMIT)
    """Times best less times worst, per time shown, where that was asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedPair:
    """Two contestants against each other: what was answered when they met, and the difference of their strengths."""

    a: str
    b: str
    comparisons: int
    a_wins: int
    ties: int
    b_wins: int
    preference: Estimate
    """Share of answers for ``a``, a tie as half; for graded comparisons the mean grade in its favour."""
    difference: Estimate
    """Strength of ``a`` less that of ``b``, from all comparisons."""
    p: float | None
    p_corrected: float | None
    """By Holm's method over all pairs of the question."""
    significant: bool


@dataclass(frozen=True, slots=True)
class OrderEffect:
    """The advantage of being presented first."""

    first_share: Estimate
    effect: Estimate
    p: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChoiceAgreement:
    """How far raters agree on which of two stimuli; an item is a pair of stimuli."""

    pairs: int
    judged_twice: int
    with_majority: int
    """Pairs with two or more answers of which one is more frequent than the others."""
    majority_tie: int
    """Those of them whose most frequent answer is a tie."""
    unanimous: Estimate
    two_answers: Estimate
    """Probability that two answers to the same pair are the same."""
    with_the_others: Estimate
    """Share of answers that match the majority of the others."""
    alpha: Estimate
    further: int = field(default=0, metadata=OMIT)
    """A rater's further answers to the same pair: they count for majorities, and not for agreement between raters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AbxPair:
    """Whether people can tell the stimuli of two systems apart; ``a`` and ``b`` are ``all`` for all pairs together."""

    a: str
    b: str
    share: Estimate
    d_prime: Estimate
    p: float | None
    p_corrected: float | None
    equivalence_p: float | None
    margin: float


@dataclass(frozen=True, slots=True)
class ItemGrades:
    """The grades of one condition of one item."""

    item: str
    mean: Estimate
    median: float
    quartiles: tuple[float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class MushraCondition:
    """One condition over all items, after post-screening."""

    name: str
    role: str
    mean: Estimate
    median: float
    quartiles: tuple[float, float]
    lowest: float
    highest: float
    below_reference: Estimate
    items: tuple[ItemGrades, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class MushraListener:
    """One listener under the post-screening of ITU-R BS.1534."""

    rater: str
    items: int
    reference_below: int
    reference_below_anchor: int
    """Items in which the hidden reference was graded below an anchor."""
    anchor_above: int
    excluded: bool
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MushraResult:
    """A MUSHRA test: conditions from the highest mean down, and what post-screening made of the listeners."""

    reference: str
    mid_anchor: str | None
    conditions: tuple[MushraCondition, ...]
    listeners: tuple[MushraListener, ...]
    reference_below_anchor: int
    without_reference: tuple[str, ...] = ()

    @property
    def excluded(self) -> tuple[str, ...]:
        """The listeners post-screening leaves out of these figures."""
        return tuple(listener.rater for listener in self.listeners if listener.excluded)


@dataclass(frozen=True, slots=True)
class AgainstReference:
    """One system judged next to a reference: its mean, and that mean less the top of the scale, which is 'no difference'."""

    system: str
    mean: Estimate
    below_top: Estimate


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonQuestion:
    """One question that was answered about several stimuli together."""

    question: str
    scale: Answered
    trials: int
    raters: int
    of: Literal["system", "stimulus"] = "system"
    """What has strengths here: systems where there are several, else stimuli."""
    model: str = field(default="", metadata=OMIT)
    contestants: tuple[Contestant, ...] = field(default=(), metadata=OMIT)
    why_no_strengths: str | None = field(default=None, metadata=OMIT)
    pairs: tuple[ComparedPair, ...] = field(default=(), metadata=OMIT)
    order: OrderEffect | None = field(default=None, metadata=OMIT)
    tie: Estimate | None = field(default=None, metadata=OMIT)
    transitivity: Transitivity | None = field(default=None, metadata=OMIT)
    consistency: tuple[RaterConsistency, ...] = field(default=(), metadata=OMIT)
    agreement: ChoiceAgreement | None = field(default=None, metadata=OMIT)
    concordance: RankConcordance | None = field(default=None, metadata=OMIT)
    """Of rankings: how far raters put the same set in the same order."""
    ceilings: Mapping[str, Estimate] = field(default_factory=dict, metadata=OMIT)
    """The best a predictor can expect: ``accuracy`` on one person's choice, ``majority``, ``log_loss``, ``strength``."""
    abx: tuple[AbxPair, ...] = field(default=(), metadata=OMIT)
    mushra: MushraResult | None = field(default=None, metadata=OMIT)
    reference: tuple[AgainstReference, ...] = field(default=(), metadata=OMIT)
    notes: tuple[str, ...] = field(default=(), metadata=OMIT)
    why_missing: str | None = field(default=None, metadata=OMIT)

    @property
    def noun(self) -> str:
        """What one answer is called."""
        return NOUNS[self.scale]

    @property
    def compared(self) -> str:
        """What has strengths, in words."""
        return "systems" if self.of == "system" else "stimuli"

    @property
    def best_first(self) -> tuple[AgainstReference, ...]:
        """What was judged next to a reference, the highest mean first."""
        return tuple(sorted(self.reference, key=lambda row: -(row.mean.value or 0.0)))

    @property
    def ranked(self) -> tuple[Contestant, ...]:
        """The contestants with a strength, the strongest first."""
        with_strength = [contestant for contestant in self.contestants if not contestant.strength.is_missing]
        return tuple(sorted(with_strength, key=lambda contestant: -float(contestant.strength)))


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceStimulus:
    """The traces of one stimulus: how far raters agree, moment by moment and over all."""

    stimulus: str
    raters: int
    seconds: float | None
    """Length of what all raters cover; None where samples are not in seconds."""
    samples: int
    pairwise: Estimate
    leave_one_out: Estimate
    ceiling: Estimate
    one_rater: Estimate
    spread_moments: tuple[float, ...] = field(default=(), metadata=OMIT)
    spread: tuple[float, ...] = field(default=(), metadata=OMIT)
    """The raters' standard deviation about each of these moments."""
    left_out: Mapping[str, str] = field(default_factory=dict, metadata=OMIT)
    why_no_band: str | None = field(default=None, metadata=OMIT)


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceQuestion:
    """One question answered with traces: means over stimuli of what ``TraceStimulus`` gives, and the raters' lags in seconds."""

    question: str
    raters: int
    traces: int
    timed: bool
    """Whether samples are in seconds; where they are not, lags are counted in samples."""
    pairwise: Estimate
    leave_one_out: Estimate
    ceiling: Estimate
    one_rater: Estimate
    lags: Mapping[str, Estimate]
    """By rater: the mean over stimuli of how much later than the others the rater moves."""
    stimuli: tuple[TraceStimulus, ...]
    constant: int = 0
    """Traces with one value from start to end."""
    overlong: int = 0
    """Traces longer than most of the same stimulus."""
    duplicate: int = 0
    """Traces that move and are equal to an earlier one of the same stimulus by another rater."""
