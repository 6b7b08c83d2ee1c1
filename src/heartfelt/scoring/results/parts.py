"""Agreement by part: the calibration of every model overall and by system, where it fails beyond the noise of labels, and how
many ratings its answer is worth.

*Calibration*: labels regressed on predictions (:mod:`heartfelt.stats.prediction.calibration_line`), over stimuli and
over systems, and the mean prediction less the mean label of every system, with raters as a sample where it is known
who rated. Numbers are compared on the scale, or after being put on it by their line; of questions with categories it
is the probability given to the answer, compared with how often it is right.

*Errors*: the mean squared error of numbers in every part (system, intent, any slice) next to what the noise of labels alone would
give, which is the mean squared standard error of the labels: their difference estimates the squared error from the true values. Of
categories, the share of wrong answers next to the chance that few votes gave a wrong label (:mod:`heartfelt.stats.reliability`,
``label_errors``). The excess over noise is compared with that of the other items
(:mod:`heartfelt.stats.prediction.part_and_rest`): labels of few ratings are noisier, and stimuli of one prompt
(theme, song) are one group. P-values are corrected by Holm over all parts of all columns.

*Worth in ratings*: :mod:`heartfelt.stats.ceilings.raters_worth`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from heartfelt.stats.estimate import Estimate
from heartfelt.stats.prediction.calibration_line import CalibrationLine
from heartfelt.stats.prediction.stacking import StackResult
from heartfelt.wording import interval, p_value

OMIT = {"omit": True}
STIMULI = "stimuli"


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemBias:
    """How far predictions of one system's stimuli lie off: the mean prediction less the mean label."""

    system: str
    items: int
    prediction: float
    label: Estimate
    bias: Estimate
    p: float | None
    p_adjusted: float | None = None
    differs: bool = False
    """Whether the bias is not 0, after Holm's correction over the systems."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCalibration:
    """The calibration of a model on a task.

    ``of`` is what was predicted: ``numbers``, ``numbers on the line`` (put on the scale by the line) or ``probabilities``.
    """

    model: str
    task: str
    of: str
    over_stimuli: CalibrationLine
    over_systems: CalibrationLine
    systems: tuple[SystemBias, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PartError:
    """A model's error on the answered items with one ``value`` in a ``column``.

    ``error`` is the root mean squared error (of categories the share of wrong answers), ``from_noise`` what the noise of labels
    alone would give, ``beyond`` the error from the true values that this leaves. ``excess`` compares squared errors (of
    categories shares) beyond noise with those of the other items: above 0, the model fails here more than elsewhere.
    """

    model: str
    task: str
    column: str
    value: str
    items: int
    stimuli: int
    error: Estimate
    from_noise: float | None
    beyond: float | None
    excess: Estimate
    p: float | None
    p_adjusted: float | None = None
    differs: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Worth:
    """How many ratings per stimulus a model's answer is worth; ``at_least`` where there is no upper bound."""

    model: str
    task: str
    ratings: Estimate
    at_least: float | None = None
    correlation: float | None = None
    """Of the model with the true values."""

    @property
    def words(self) -> str:
        """The worth as a phrase."""
        if self.at_least is not None:
            return f"at least {self.at_least:,.1f} ratings"
        if self.ratings.value is None:
            return f"not known ({self.ratings.why_missing})"
        text = f"{self.ratings.value:,.1f} ratings"
        low, high = self.ratings.low, self.ratings.high
        return text if low is None or high is None else f"{text} [{low:.1f}, {high:,.1f}]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Stack:
    """Whether combining models beats the best of them, where all clips of one ``unit`` stay in one fold.

    ``unit`` is stimuli (or groups of them), systems or intents. ``left_out`` names models that were not combined, and why.
    """

    task: str
    unit: str
    result: StackResult
    left_out: Mapping[str, str] = field(default_factory=dict, metadata=OMIT)
    gains: bool = False
    """Whether the stack is better: p is small, the difference above 0, and some model beats chance."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartAgreement:
    """Agreement by part, of all models and tasks; ``notes`` say what could not be had, and why."""

    calibrations: tuple[ModelCalibration, ...] = field(default=(), metadata=OMIT)
    errors: tuple[PartError, ...] = field(default=(), metadata=OMIT)
    worth: tuple[Worth, ...] = field(default=(), metadata=OMIT)
    stacks: tuple[Stack, ...] = field(default=(), metadata=OMIT)
    from_labels: tuple[str, ...] = field(default=(), metadata=OMIT)
    """Models whose predictions are made of labels: of other stimuli, or of other raters."""
    notes: tuple[str, ...] = field(default=(), metadata=OMIT)

    def renamed(self, names: Mapping[str, str]) -> PartAgreement:
        """The same with models under other names."""
        stacks = tuple(
            replace(
                row,
                left_out={names[model]: reason for model, reason in row.left_out.items()},
                result=row.result.renamed(names),
            )
            for row in self.stacks
        )
        return replace(
            self,
            calibrations=tuple(replace(row, model=names[row.model]) for row in self.calibrations),
            errors=tuple(replace(row, model=names[row.model]) for row in self.errors),
            worth=tuple(replace(row, model=names[row.model]) for row in self.worth),
            stacks=stacks,
            from_labels=tuple(names[model] for model in self.from_labels),
        )

    def worst(self, task: str, model: str) -> PartError | None:
        """The part where a model fails most clearly beyond noise and beyond chance; None where none differs."""
        rows = [row for row in self.errors if (row.task, row.model) == (task, model)]
        worse = [row for row in rows if row.differs and (row.excess.value or 0.0) > 0]
        return min(worse, key=lambda row: (row.p_adjusted or 0.0, row.p or 0.0), default=None)

    def sentences(self, task: str) -> list[str]:
        """One line per model, and one on combining them."""
        lines = [f"{row.model}: {'; '.join(self._words(row))}." for row in self.worth if row.task == task]
        return lines + [sentence for row in self.stacks if row.task == task and (sentence := stack_words(row))]

    def _words(self, row: Worth) -> Iterator[str]:
        """What a model is worth, its calibration and where it fails most."""
        yield f"worth {row.words}"
        key = (row.task, row.model)
        calibration = next((c for c in self.calibrations if (c.task, c.model) == key), None)
        # The slope of scores that are not on the scale has no meaning of its own.
        if calibration is not None and calibration.of != ON_LINE:
            line = calibration.over_stimuli
            if line.slope.value is not None:
                yield f"calibration slope {interval(line.slope, 2)}"
                yield f"bias {interval(line.bias, 2)}"
        worst = self.worst(*key)
        if worst is not None:
            yield f"fails most where {worst.column} is {worst.value} ({p_value(worst.p_adjusted)}, Holm)"


NUMBERS, ON_LINE, PROBABILITIES = "numbers", "numbers on the line", "probabilities"


def stack_words(row: Stack) -> str:
    """What combining models brought, in a sentence; empty where it was not tried."""
    difference = row.result.difference
    if difference.value is None:
        return ""
    verdict = "beats" if row.gains else "does not beat"
    return (
        f"Combining the models {verdict} the best of them for other {row.unit}: the correlation changes by"
        f" {interval(difference, 3)}."
    )
