"""Agreement by part: the calibration of every model overall and by system, where it fails beyond the noise of labels, and how
many ratings its answer is worth.

*Calibration*: labels regressed on predictions (:mod:`heartfelt.stats.calibration_line`), over stimuli and over systems, and the
mean prediction less the mean label of every system, with raters as a sample where it is known who rated. Numbers are compared on
the scale, or after being put on it by their line; of questions with categories it is the probability given to the answer, compared
with how often it is right.

*Errors*: the mean squared error of numbers in every part (system, intent, any slice) next to what the noise of labels alone would
give, which is the mean squared standard error of the labels: their difference estimates the squared error from the true values. Of
categories, the share of wrong answers next to the chance that few votes gave a wrong label (:mod:`heartfelt.stats.reliability`,
``label_errors``). The excess over noise is compared with that of the other items (:mod:`heartfelt.stats.part_and_rest`): labels of
few ratings are noisier, and stimuli of one prompt (theme, song) are one group. P-values are corrected by Holm over all parts of all
columns.

*Worth in ratings*: :mod:`heartfelt.stats.raters_worth`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from heartfelt.stats._bounds import score_interval, t_quantile, with_t
from heartfelt.stats.calibration_line import CalibrationLine
from heartfelt.stats.estimate import Estimate
from heartfelt.stats.inference.posthoc import holm
from heartfelt.stats.jackknife import cluster_df, df_of_spread
from heartfelt.stats.part_and_rest import Spread, part_and_rest, share_spread, squared_error_spread
from heartfelt.stats.reliability.label_errors import LabelErrors
from heartfelt.stats.stacking import StackResult
from heartfelt.stats.triples import Floats, Ints
from heartfelt.stats.two_way_jackknife import RaterVariance
from heartfelt.wording import interval, p_value

Flags: TypeAlias = npt.NDArray[np.bool_]
_Tested = TypeVar("_Tested", "SystemBias", "PartError")
OMIT = {"omit": True}
FEWEST_IN_PART = 4
"""A part with fewer stimuli (or groups of them) is shown, but not tested against the rest."""
STIMULI = "stimuli"
EXCESS = "squared error beyond noise, less that of the other items"
EXCESS_SHARE = "wrong answers beyond those of wrong labels, less that of the other items"


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


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ModelErrors:
    """What one model's errors are made of: labels and predictions of the answered rows, in one unit.

    ``noise`` is the squared standard error of labels, None where it is not known; of categories ``label_errors`` gives the chance
    of a wrong label instead. ``ratings`` is how many each label is made of. ``stimulus`` numbers the stimuli, ``group`` what
    belongs together (the stimulus itself where nothing else is known), which ``unit`` names.
    """

    model: str
    task: str
    wrong: Floats
    noise: Floats | None
    stimulus: Ints
    squared: bool
    ratings: Floats | None = None
    group: Ints | None = None
    unit: str = STIMULI
    label_errors: LabelErrors | None = None
    categories: int = 2


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Gaps:
    """Labels and predictions in one unit, the groups of stimuli they belong to, and what raters add.

    ``of_raters`` gives the variance over raters of the mean gap of some rows, None where it is not known who rated.
    """

    label: Floats
    predicted: Floats
    group: Ints
    unit: str = STIMULI
    of_raters: Callable[[Flags], RaterVariance | None] = lambda _: None


def system_biases(gaps: Gaps, system: Sequence[str | None], confidence: float) -> tuple[SystemBias, ...]:
    """The bias of every system, with intervals over its stimuli and the raters, and p-values corrected over systems."""
    names = np.array([name or "" for name in system], dtype=object)
    rows = []
    for name in sorted({name for name in system if name is not None}):
        inside = np.array(names == name, np.bool_)
        raters, group = gaps.of_raters(inside), gaps.group[inside]
        label, _ = _mean(gaps.label[inside], group, raters, gaps.unit, "mean label", confidence)
        gap = gaps.predicted[inside] - gaps.label[inside]
        bias, p = _mean(gap, group, raters, gaps.unit, "mean prediction less mean label", confidence)
        rows.append(
            SystemBias(
                system=name,
                items=int(inside.sum()),
                prediction=float(gaps.predicted[inside].mean()),
                label=label,
                bias=bias,
                p=p,
            )
        )
    return tuple(_corrected(rows, confidence))


def part_errors(
    compared: ModelErrors, columns: Mapping[str, Sequence[str | None]], confidence: float
) -> list[PartError]:
    """The errors of every value of every column that has two or more, each tested against the other items."""
    rows: list[PartError] = []
    for column, values in columns.items():
        names = sorted({value for value in values if value is not None})
        if len(names) > 1:
            order: dict[str | None, int] = {name: code for code, name in enumerate(names)}
            codes = np.array([order.get(value, -1) for value in values], np.int64)
            units = _units(compared, codes)
            sides = ((name, codes == code) for name, code in order.items())
            rows += [_part_error(units, column, str(name), side, codes >= 0, confidence) for name, side in sides]
    return _corrected(rows, confidence)


def _corrected(rows: Sequence[_Tested], confidence: float) -> list[_Tested]:
    """The rows with their p-values corrected for all of them (Holm)."""
    corrected = holm([row.p for row in rows], confidence=confidence)
    return [
        replace(row, p_adjusted=p, differs=bool(differs))
        for row, p, differs in zip(rows, corrected.adjusted, corrected.significant, strict=True)
    ]


def _units(compared: ModelErrors, codes: Ints) -> ModelErrors:
    """What is a sample: groups of stimuli, or the stimuli where the column's parts are the groups themselves."""
    group = compared.group
    if group is None or _same_parts(codes, group):
        return replace(compared, group=compared.stimulus, unit=STIMULI)
    return compared


def _same_parts(codes: Ints, group: Ints) -> bool:
    pairs = np.unique(np.column_stack([codes, group]), axis=0)
    return len(pairs) == np.unique(codes).size == np.unique(group).size


def _part_error(
    compared: ModelErrors, column: str, value: str, inside: Flags, present: Flags, confidence: float
) -> PartError:
    inside_rows = np.flatnonzero(inside)
    mean = float(compared.wrong[inside_rows].mean())
    beyond = _beyond(compared, inside, present)
    noise = None if beyond.noise is None else float(beyond.noise[inside_rows].mean())
    most = math.inf if compared.squared else 1.0
    remaining = None if noise is None else min(max(float(beyond.values[inside_rows].mean()), 0.0), most)
    root = math.sqrt if compared.squared else float
    excess, p = _excess(compared, beyond, inside[present], np.flatnonzero(present), confidence)
    return PartError(
        model=compared.model,
        task=compared.task,
        column=column,
        value=value,
        items=inside_rows.size,
        stimuli=int(np.unique(compared.stimulus[inside_rows]).size),
        error=_error(compared, inside_rows, mean, confidence),
        from_noise=None if noise is None else root(noise),
        beyond=None if remaining is None else root(remaining),
        excess=excess,
        p=p,
    )


def _error(compared: ModelErrors, inside_rows: Ints, mean: float, confidence: float) -> Estimate:
    """The error of a part: a root mean square with an interval on the log scale, or a share with a score interval."""
    name = "root mean squared error" if compared.squared else "share of wrong answers"
    codes = np.unique(_group(compared)[inside_rows], return_inverse=True)[1]
    sizes = np.bincount(codes)
    counts = {"items": inside_rows.size, "stimuli": int(np.unique(compared.stimulus[inside_rows]).size)}
    shown = math.sqrt(mean) if compared.squared else mean
    estimate = Estimate(value=shown, method=name, confidence=confidence, counts=counts)
    if sizes.size < FEWEST_IN_PART:
        return estimate.without_interval(f"{_counted(sizes.size, compared.unit)}; at least {FEWEST_IN_PART} are needed")
    sums: Floats = np.bincount(codes, compared.wrong[inside_rows] - mean).astype(np.float64)
    variance = float(sums @ sums) / inside_rows.size**2 * sizes.size / (sizes.size - 1)
    if compared.squared and (mean <= 0 or variance <= 0):
        return estimate.without_interval("there is no error to be uncertain about")
    # As for errors in heartfelt.stats.jackknife: squares are skewed, so few of them say little of their own spread.
    df = min(cluster_df(sizes), df_of_spread(sums), max((sizes.size - 1) / 2, 1.5))
    if not compared.squared:
        end = variance <= 0
        size = float(sizes.size) if end else mean * (1 - mean) / variance
        quantile = t_quantile(confidence, sizes.size - 1 if end else max(cluster_df(sizes), 1.0))
        how = f"Wilson at the effective sample size, Student t over {compared.unit}"
        return estimate.with_interval(*score_interval(mean, size, quantile), how, confidence)
    half = t_quantile(confidence, max(df, 1.0)) * math.sqrt(variance)
    ends = mean * np.exp(np.minimum(np.array([-half, half]) / mean, 100.0))
    low, high = np.sqrt(ends).tolist()
    return estimate.with_interval(low, high, f"Student t over {compared.unit}, log scale", confidence)


def _counted(number: int, unit: str) -> str:
    """A number of units in words; ``unit`` is "stimuli" or begins with "groups"."""
    if number != 1:
        return f"{number} {unit}"
    return "1 stimulus" if unit == STIMULI else f"1 group{unit.removeprefix('groups')}"


def _group(compared: ModelErrors) -> Ints:
    return compared.stimulus if compared.group is None else compared.group


@dataclass(frozen=True, slots=True, eq=False)
class _Beyond:
    """Errors beyond the noise of labels, the noise, and how much the errors of a model show despite it (1: all)."""

    values: Floats
    noise: Floats | None
    shown: Floats


def _beyond(compared: ModelErrors, inside: Flags, present: Flags) -> _Beyond:
    """Squared errors less the noise of labels; of categories the wrong answers that are not the label's fault.

    Where a label is wrong with chance q, a model that errs in r of cases disagrees with it in q + r (1 - q k / (k - 1)) of them, k
    being the number of categories. The chances are those of the votes in the part, and of those in the rest.
    """
    ones = np.ones(compared.wrong.size)
    if compared.label_errors is None:
        values = compared.wrong if compared.noise is None else compared.wrong - compared.noise
        return _Beyond(values, compared.noise, ones)
    noise, shown = np.zeros(compared.wrong.size), ones
    for side in (inside, present & ~inside):
        if side.any():
            noise[side] = compared.label_errors.chances(side)
            shown[side] = max(1 - float(noise[side].mean()) * compared.categories / (compared.categories - 1), 0.1)
    return _Beyond((compared.wrong - noise) / shown, noise, shown)


def _excess(
    compared: ModelErrors, beyond: _Beyond, inside: Flags, rows: Ints, confidence: float
) -> tuple[Estimate, float | None]:
    """The mean of a part less that of the rest, with its p-value; ``inside`` says which of ``rows`` are in the part."""
    name = EXCESS if compared.squared else EXCESS_SHARE
    stimulus, group, values = compared.stimulus[rows], _group(compared)[rows], beyond.values[rows]
    sides = (inside, ~inside)
    counts = {
        unit: int(np.unique(stimulus[side]).size)
        for unit, side in zip(("stimuli", "other_stimuli"), sides, strict=True)
    }
    if inside.all():
        return Estimate.missing("there are no other items", name, counts), None
    difference = float(values[inside].mean() - values[~inside].mean())
    estimate = Estimate(value=difference, method=name, counts=counts)
    fewest = min(np.unique(group[side]).size for side in sides)
    if fewest < FEWEST_IN_PART:
        reason = f"{_counted(fewest, compared.unit)}; at least {FEWEST_IN_PART} are needed on both sides"
        return estimate.without_interval(reason), None
    spread = _expected_spread(compared, beyond, inside, rows)
    known_spread = spread is not None and not compared.squared
    result = part_and_rest(values, inside, confidence=confidence, group=group, spread=spread, at_least=known_spread)
    if result is None:
        return estimate.without_interval("all items are equally wrong"), None
    low, high, p = result
    if not math.isfinite(high - low):
        return estimate.without_interval("the errors do not bound it on both sides"), p
    return estimate.with_interval(low, high, f"inverted test over {compared.unit}, Pearson type III", confidence), p


def _expected_spread(compared: ModelErrors, beyond: _Beyond, inside: Flags, rows: Ints) -> Spread | None:
    """The spread that the noise of labels leads to expect; None where it is not known."""
    if compared.squared:
        counted = np.zeros(rows.size) if compared.ratings is None else compared.ratings[rows]
        return squared_error_spread(_noise_by_side(compared, rows, inside), counted)
    if beyond.noise is None:
        return None
    of_side = np.where(inside, *(float(beyond.noise[rows][side].mean()) for side in (inside, ~inside)))
    return share_spread(of_side, beyond.shown[rows])


def _noise_by_side(compared: ModelErrors, rows: Ints, inside: Flags) -> Floats:
    """The noise to expect of every label: the mean noise of a rating in the part, or in the rest, over its ratings.

    The squared standard error of one label of two or three ratings says little by itself.
    """
    if compared.noise is None:
        return np.zeros(rows.size)
    noise, n = compared.noise[rows], None if compared.ratings is None else compared.ratings[rows]
    out = np.zeros(rows.size)
    for side in (inside, ~inside):
        if n is None or not (n[side] > 0).all():
            out[side] = noise[side].mean()
        else:
            weight = np.maximum(n[side] - 1, 1e-9)
            out[side] = float(weight @ (n[side] * noise[side])) / float(weight.sum()) / n[side]
    return out


def _mean(
    values: Floats, group: Ints, raters: RaterVariance | None, unit: str, name: str, confidence: float
) -> tuple[Estimate, float | None]:
    """A mean over groups of stimuli and raters, and the p-value of its being 0."""
    from scipy.special import stdtr

    codes = np.unique(group, return_inverse=True)[1]
    sizes, mean = np.bincount(codes), float(values.mean())
    estimate = Estimate(
        value=mean, method=name, counts={"items": values.size, "stimuli" if unit == STIMULI else "groups": sizes.size}
    )
    if sizes.size < 3:
        return estimate.without_interval(f"{_counted(sizes.size, unit)}; at least 3 are needed"), None
    sums = np.bincount(codes, values - mean)
    variance = float(sums @ sums) / values.size**2 * sizes.size / (sizes.size - 1)
    df, how = max(cluster_df(sizes), 1.0), f"Student t over {unit}"
    if raters is not None:
        variance, df = raters.added_to(variance, df)
        how += " and raters"
    error = math.sqrt(variance)
    estimate = with_t(estimate, error, df, how, confidence)
    if error <= 1e-12 * max(float(np.abs(values).max()), 1e-300):
        return estimate, None
    return estimate, 2 * float(stdtr(df, -abs(mean) / error))
