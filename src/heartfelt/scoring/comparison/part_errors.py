"""The biases of systems and the errors of parts, with intervals and tests (:mod:`heartfelt.scoring.results.parts`)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from heartfelt.scoring.results.parts import STIMULI, PartError, SystemBias
from heartfelt.stats._bounds import score_interval, t_quantile, with_t
from heartfelt.stats.ceilings.label_errors import LabelErrors
from heartfelt.stats.columns.triples import Floats, Ints
from heartfelt.stats.estimate import Estimate
from heartfelt.stats.inference.posthoc import holm
from heartfelt.stats.prediction.jackknife import cluster_df, df_of_spread
from heartfelt.stats.prediction.part_and_rest import Spread, part_and_rest, share_spread, squared_error_spread
from heartfelt.stats.reliability.two_way_jackknife import RaterVariance

Flags: TypeAlias = npt.NDArray[np.bool_]
_Tested = TypeVar("_Tested", SystemBias, PartError)
FEWEST_IN_PART = 4
"""A part with fewer stimuli (or groups of them) is shown, but not tested against the rest."""
EXCESS = "squared error beyond noise, less that of the other items"
EXCESS_SHARE = "wrong answers beyond those of wrong labels, less that of the other items"


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
    # As for errors in heartfelt.stats.prediction.jackknife: squares are skewed, so few of them say little of their own spread.
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
