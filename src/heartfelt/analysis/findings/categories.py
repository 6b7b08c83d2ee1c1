"""The figures of questions answered with one of several categories, such as emotions, and of the fields around them.

Each is a frozen dataclass of estimates and counts. ``CategoryQuestion`` is about one such question; ``FieldAgreement`` about any.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from heartfelt.analysis.findings.parts import OMIT, ByName, ConfusionTable
from heartfelt.stats.estimate import Estimate
from heartfelt.stats.groups.contingency import Homogeneity


@dataclass(frozen=True, slots=True, kw_only=True)
class CategoryShare:
    """One category among the labels of the stimuli, and how many stimuli were intended for it."""

    category: str
    n_stimuli: int
    share: Estimate
    n_intended: int | None = field(default=None, metadata=OMIT)
    intended_share: float | None = field(default=None, metadata=OMIT)


@dataclass(frozen=True, slots=True, kw_only=True)
class CategoryBalance:
    """How the labels spread over the categories. ``n_ties`` stimuli have no label.

    ``intended`` tests whether perceived and intended categories are equally frequent; None where stimuli have no intents.
    """

    n_stimuli: int
    n_ties: int
    rows: tuple[CategoryShare, ...]
    evenness: Estimate
    intended: Homogeneity | None = field(default=None, metadata=OMIT)


@dataclass(frozen=True, slots=True, kw_only=True)
class CategoryEllipse:
    """The region that holds 95% of a category's stimuli if they are normally distributed, or why there is none."""

    n_points: int
    semi_axes: tuple[float, float] | None
    angle: float | None
    area: float | None
    confidence: float = field(default=0.95, metadata={"formerly": "level"})
    why_missing: str | None = field(default=None, metadata=OMIT)


@dataclass(frozen=True, slots=True)
class CategoryPlace:
    """The mean ratings of a category's stimuli, by question, and its ellipse on the map of the two ``axes``."""

    category: str
    n_stimuli: int
    means: ByName
    ellipse: CategoryEllipse | None = field(default=None, metadata=OMIT)


@dataclass(frozen=True, slots=True, kw_only=True)
class Explained:
    """How much of the variance between stimuli under a question of numbers the category explains."""

    question: str
    eta_squared: Estimate
    f: float | None = field(metadata={"formerly": "F"})
    df: tuple[int, int] | None
    p: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PolarityFit:
    """How often a rater's valence is on the side of the midpoint that their own category belongs to.

    ``positive`` and ``negative`` are the categories with a side. ``n_neutral`` answers lie on the midpoint and do not count.
    """

    question: str
    midpoint: float
    positive: tuple[str, ...]
    negative: tuple[str, ...]
    n_answers: int
    n_neutral: int
    share: Estimate
    by_category: ByName


@dataclass(frozen=True, slots=True, kw_only=True)
class Recovered:
    """Categories of stimuli recovered from their mean valence and arousal alone, each by all others.

    ``baseline`` is the share of the most frequent category.
    """

    method: str
    axes: tuple[str, ...]
    accuracy: Estimate
    macro_f1: Estimate
    baseline: float | None
    confusion: ConfusionTable | None = field(default=None, metadata=OMIT)


@dataclass(frozen=True, slots=True, kw_only=True)
class CoOccurrence:
    """An attribute and a category on the same stimuli.

    ``lift`` is observed over expected, ``residual`` the adjusted standardised residual; ``p`` is Fisher's exact test corrected by
    Holm's method over all cells of the question.
    """

    attribute: str
    category: str
    n_both: int
    expected: float
    lift: float | None
    residual: float | None
    p_alone: float | None
    p: float | None
    significant: bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AttributeTable:
    """The attributes of one field against the categories.

    A stimulus has an attribute if at least half of those who answered named it. ``attributes`` are the most frequent of those on
    ``least`` or more stimuli, but not on all, with their numbers of stimuli; ``n_others`` are all others.
    """

    question: str
    n_stimuli: int
    least: int
    attributes: Mapping[str, int]
    n_others: int
    by_category: Mapping[str, int]
    cells: tuple[CoOccurrence, ...]


@dataclass(frozen=True, slots=True)
class RaterConfusion:
    """What other raters of the same stimulus answered, given one rater's answer (rows); ``n_pairs`` ordered pairs of answers."""

    n_stimuli: int
    n_pairs: int
    confusion: ConfusionTable = field(metadata={"flatten": True})


@dataclass(frozen=True, slots=True, kw_only=True)
class CategoryQuestion:
    """One question answered with categories: balance, places on the map, consistency, confusion and attributes.

    ``axes`` are the questions of the map, empty where there is none. A part without figures is None, with its reason in
    ``why_missing``.
    """

    question: str
    categories: tuple[str, ...]
    balance: CategoryBalance
    axes: tuple[str, ...]
    places: tuple[CategoryPlace, ...]
    explained: tuple[Explained, ...]
    polarity: PolarityFit | None
    recovered: Recovered | None
    raters: RaterConfusion | None
    attributes: tuple[AttributeTable, ...]
    why_missing: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldAgreement:
    """Krippendorff's alpha of one question at the level of its answers; MASI, and Jaccard besides, where answers are sets.

    ``n_none`` answers say that there is nothing to answer; ``n_drafted`` were given with a machine's draft in sight.
    """

    question: str
    answers: str
    n_stimuli: int
    n_answers: int
    alpha: Estimate
    jaccard: Estimate | None = field(default=None, metadata=OMIT)
    n_none: int = field(default=0, metadata=OMIT)
    n_drafted: int = field(default=0, metadata=OMIT)
