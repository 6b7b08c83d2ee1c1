"""What an experiment shows, as frozen results: scores next to their ceiling, and what is special to one kind of experiment."""

from __future__ import annotations

from dataclasses import dataclass, field

import polars as pl

from heartfelt.representation import ShortRepr
from heartfelt.stats.estimate import Estimate

KINDS = {
    "ablate": "drop or keep one group of features at a time",
    "mix": "a base plus growing shares of other data",
    "transfer": "train on one source, test on another",
    "learning-curve": "what more stimuli, raters or ratings would buy",
    "sweep": "a search over settings, with nested scores",
}
"""The experiments, each with what it does."""
SHUFFLED, MEAN = "shuffled labels", "mean of the training labels"
MODE = "most frequent training label"
ALL_OTHERS, CEILING = "all others", "ceiling"
MATRIX_ROWS = (ALL_OTHERS, SHUFFLED, CEILING, MEAN, MODE)
"""Rows of a transfer's tables that are no source."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFacts:
    """One source of stimuli (or one part of it): what it holds, and from whom its labels are."""

    name: str
    stimuli: int
    groups: int
    raters: int
    raters_used: int
    ratings: int
    snapshot: str
    folds: str
    """What its folds are made of, in a sentence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreRow:
    """One condition under one question. Scores are means over the seeds.

    Of a question with numbers they are correlation and error, of one with categories ``accuracy`` and ``macro_f1``.
    """

    condition: str
    question: str
    trained_on: str
    tested_on: str
    level: float | None
    """Where the condition lies along the experiment's axis (a share, an amount); None where there is none."""
    training_stimuli: float
    """Stimuli in the training part, on average over folds and seeds."""
    n: int
    pearson: Estimate
    over_seeds: Estimate
    """The standard deviation of the correlation or accuracy over seeds."""
    rmse: Estimate
    difference: Estimate
    """Of the correlation or accuracy, from that of ``reference`` on the same stimuli."""
    reference: str
    ceiling: Estimate
    baseline: bool = False
    accuracy: Estimate | None = field(default=None, metadata={"omit": True})
    macro_f1: Estimate | None = field(default=None, metadata={"omit": True})

    @property
    def metric(self) -> str:
        """What the condition is compared by: ``pearson`` or ``accuracy``."""
        return "pearson" if self.accuracy is None else "accuracy"

    @property
    def score(self) -> Estimate:
        """The correlation, or the accuracy of categories."""
        return self.pearson if self.accuracy is None else self.accuracy

    @property
    def second(self) -> Estimate:
        """The error, or the macro F1 of categories."""
        return self.rmse if self.macro_f1 is None else self.macro_f1


@dataclass(frozen=True, slots=True)
class Ahead:
    """What a fitted curve gives for more data than there are: an extrapolation."""

    times: float
    amount: float
    score: Estimate
    gain: Estimate
    """Over the curve's value for all data there are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """The power law through a learning curve, ``limit - scale * amount^-power``."""

    question: str
    limit: Estimate
    scale: float | None
    power: float | None
    ahead: tuple[Ahead, ...]
    why_missing: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """One variant of a sweep: its settings, its score on the validation folds and how often it was chosen."""

    name: str
    question: str
    inner: Estimate
    """Mean over outer folds and seeds of the correlation, or accuracy, on inner folds."""
    chosen: int
    choices: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepSelection:
    """A sweep's two readings: what the search believed, and what is true of stimuli it never saw."""

    question: str
    variants: int
    inner_best: Estimate
    """Mean over outer folds and seeds of the best variant's score on the folds it was chosen on: too high by design."""
    outer: Estimate
    """The chosen variants' predictions of the outer test parts."""
    optimism: Estimate
    """The first minus the second."""


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class Experiment(ShortRepr):
    """The result of an experiment."""

    kind: str
    recipe: str
    about: str
    heartfelt: str
    sources: tuple[SourceFacts, ...]
    questions: tuple[str, ...]
    seeds: tuple[int, ...]
    folds: int
    cells: int
    """How many fits the results rest on."""
    variants: int
    """How many variants were compared; those of a sweep were compared on validation folds only."""
    raters: str
    axis: str
    """What ``level`` counts."""
    rows: tuple[ScoreRow, ...]
    curves: tuple[Curve, ...] = field(default=(), metadata={"omit": True})
    tried: tuple[Variant, ...] = field(default=(), metadata={"omit": True})
    selections: tuple[SweepSelection, ...] = field(default=(), metadata={"omit": True})
    notes: tuple[str, ...] = ()
    ledger: pl.DataFrame = field(default_factory=pl.DataFrame, metadata={"skip": True})
    """What was removed from training parts, and why."""

    def row(self, condition: str, question: str | None = None) -> ScoreRow:
        """The row of a condition, under the first question if none is named."""
        name = question or self.questions[0]
        return next(row for row in self.rows if (row.condition, row.question) == (condition, name))
