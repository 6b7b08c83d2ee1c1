"""Agreement by part, worked out of one model's sheet: see :mod:`heartfelt.scoring.results.parts`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
import polars as pl

from heartfelt.analysis.systems.two_way import LEAST_RATERS
from heartfelt.scoring.comparison.label_raters import LabelRaters
from heartfelt.scoring.comparison.part_errors import Gaps, ModelErrors, part_errors, system_biases
from heartfelt.scoring.ground_truth.sound import LEAST_SPREAD, unavailable
from heartfelt.scoring.ground_truth.truth import ITEM, NO_RATINGS, Truth, item_names
from heartfelt.scoring.measurement.ceilings import is_mean
from heartfelt.scoring.measurement.measure import Marked
from heartfelt.scoring.measurement.sheet import Flags, PredictionSheet, floats_of, yes
from heartfelt.scoring.options import ScoreOptions
from heartfelt.scoring.results.parts import NUMBERS, ON_LINE, PROBABILITIES, STIMULI, ModelCalibration, PartError, Worth
from heartfelt.scoring.results.scores import ScoringTask
from heartfelt.scoring.tasks.binary import probabilities
from heartfelt.snapshot import Snapshot
from heartfelt.snapshot.stimulus_groups import COLUMNS, detected_groups
from heartfelt.stats.ceilings.label_errors import LabelErrors
from heartfelt.stats.ceilings.raters_worth import METHOD, RatersWorth, raters_worth, worth_from_means
from heartfelt.stats.columns.triples import Floats, Ints
from heartfelt.stats.estimate import Estimate
from heartfelt.stats.prediction.calibration_line import CalibrationLine, calibration_line
from heartfelt.stats.ratings import Ratings, triples

BY_DEFAULT = ("system", "intent", "loudness", "length")
MOST_NUMBERS = 12
"""A numeric column with more values than this is cut into three equal parts."""
FROM_SAME_SYSTEMS = "its predictions are made of labels of the same systems"
_OTHER_LABELS = "it is scored against other labels; compare with one rater instead"
_ONE_RATER = "the worth is known for numbers and for yes or no; compare with one rater instead"

NOISE_UNKNOWN = (
    "The noise of some labels of '{}' is not known (no standard error, or no number of ratings), so its errors by part include"
    " it: a part whose labels are made of fewer ratings seems worse."
)
RATERS_UNKNOWN = (
    "It is not known who gave the ratings of '{}', so intervals of its calibration and biases do not take raters as a sample:"
    " where the same raters rated all stimuli, they are too narrow."
)
SAME_GROUP = (
    "Stimuli with the same {} count as one group in the intervals and tests of worth, calibration, biases and errors by "
    "part."
)


def cells_of(sheet: PredictionSheet, column: str) -> pl.Series:
    """A column of the items as words; a numeric one with many values in three parts of equal size."""
    values = sheet.rows[column if column in sheet.rows.columns else f"own_{column}"]
    return thirds(values) if values.dtype.is_numeric() else values.cast(pl.String)


def thirds(values: pl.Series) -> pl.Series:
    """Numbers as the third they are in, named by its ends; few different numbers as they are."""
    present = values.drop_nulls().drop_nans() if values.dtype.is_float() else values.drop_nulls()
    if present.n_unique() <= MOST_NUMBERS:
        return values.cast(pl.String)
    numbers = values.cast(pl.Float64).fill_nan(None)
    cuts = [float(numbers.quantile(share, "linear") or 0.0) for share in (1 / 3, 2 / 3)]
    third = (numbers > cuts[0]).cast(pl.Int64) + (numbers > cuts[1]).cast(pl.Int64)
    names = {}
    for code, word in enumerate(("low", "middle", "high")):
        part = numbers.filter(third == code)
        ends = part.to_numpy()
        names[code] = f"{word} ({ends.min():.3g} to {ends.max():.3g})" if ends.size else word
    return third.replace_strict(names, default=None, return_dtype=pl.String)


@dataclass(frozen=True, slots=True)
class StimulusGroups:
    """Which stimuli belong together: the number of each one's group, and what says so (a column, or ``file name``)."""

    of_stimulus: Mapping[str, int]
    by: str

    @property
    def unit(self) -> str:
        """What intervals are over."""
        return f"groups of stimuli (by {self.by})"


def stimulus_groups(truth: Truth) -> StimulusGroups | None:
    """The groups of the stimuli, from their columns or file names; None where nothing says what belongs together."""
    if isinstance(truth.snapshot, Snapshot):
        stimuli = truth.snapshot.stimuli
    else:
        facts = [name for name in ("stimulus", "system", "intent", *COLUMNS) if name in truth.items.columns]
        stimuli = truth.items.select(facts).unique("stimulus", keep="first", maintain_order=True)
    # Only what is scored counts: a grouping that the selection makes trivial is none.
    stimuli = stimuli.filter(pl.col("stimulus").cast(pl.String).is_in(truth.items["stimulus"].unique().to_list()))
    detected = detected_groups(stimuli) if stimuli.height else None
    if detected is None:
        return None
    by, values = detected
    codes = np.unique(np.array(values, dtype=str), return_inverse=True)[1].tolist()
    return StimulusGroups(dict(zip(stimuli["stimulus"].cast(pl.String), codes, strict=True)), by)


@dataclass(frozen=True, slots=True, kw_only=True)
class ByPart:
    """Works out agreement by part; ratings are coded once per task."""

    truth: Truth
    options: ScoreOptions
    grouping: StimulusGroups | None
    _ratings: dict[tuple[str, ...], Ratings] = field(default_factory=dict)
    _raters: dict[tuple[str, ...], LabelRaters | None] = field(default_factory=dict)

    @classmethod
    def of(cls, truth: Truth, options: ScoreOptions) -> ByPart:
        return cls(truth=truth, options=options, grouping=stimulus_groups(truth))

    def columns(self, task: ScoringTask) -> list[str]:
        """The columns errors are given by: system, intent, loudness, length, and what slices were asked for."""
        rows, requested = self.truth.items_of(task), self.options.slices or ()
        names = [name for name in dict.fromkeys((*BY_DEFAULT, *requested)) if name in rows.columns]
        names = [name for name in names if rows[name].drop_nulls().n_unique() > 1]
        return [name for name in names if name in requested or name not in LEAST_SPREAD or not unavailable(name, rows)]

    def notes(self, tasks: Sequence[ScoringTask]) -> tuple[str, ...]:
        """Which of the usual columns errors are not given by, and why."""
        by = {name for task in tasks for name in self.columns(task)}
        reason = {name: unavailable(name, self.truth.items) for name in LEAST_SPREAD}
        reason |= dict.fromkeys(("system", "intent"), "the items have fewer than two")
        of_numbers = [task for task in tasks if task.kind == "numbers"]
        columns = [(name, reason[name] or "no task has two parts") for name in BY_DEFAULT if name not in by]
        return (
            *(f"Errors are not given by {name}: {why_not}." for name, why_not in columns),
            *(NOISE_UNKNOWN.format(task.id) for task in of_numbers if self._noise_unknown(task)),
            *(RATERS_UNKNOWN.format(task.id) for task in of_numbers if not self._raters_known(task)),
            *([] if self.grouping is None else [SAME_GROUP.format(self.grouping.by)]),
        )

    def _noise_unknown(self, task: ScoringTask) -> bool:
        """Whether labels of numbers come without their noise."""
        return _noise_of(self.truth.items_of(task).filter(pl.col("label").is_not_null())) is None

    def _raters_known(self, task: ScoringTask) -> bool:
        """Whether single ratings say who gave them, by three raters or more."""
        answers = self.truth.answers.filter(pl.col("question").is_in(task.questions))
        return bool(answers.height and answers["known"].all()) and answers["rater"].n_unique() >= LEAST_RATERS

    def _groups_of(self, sheet: PredictionSheet) -> Ints:
        """The group of each row; the stimulus itself where nothing is known."""
        if self.grouping is None:
            return stimuli_of(sheet)
        numbers = self.grouping.of_stimulus
        return np.array([numbers[name] for name in sheet.rows["stimulus"].cast(pl.String)], np.int64)

    def _repeated_groups(self, sheet: PredictionSheet) -> Ints | None:
        """The same; None where every row is a stimulus by itself."""
        return None if self.grouping is None and sheet.stimulus is None else self._groups_of(sheet)

    def calibration(self, sheet: PredictionSheet) -> ModelCalibration | None:
        """Calibration of numbers, or of probabilities; None where a model gives neither."""
        shown = None if sheet.against_other_labels else _calibrated(sheet)
        if shown is None:
            return None
        of, rows, label, predicted = shown
        group, repeated, grouping = self._groups_of(sheet), self._repeated_groups(sheet), self.grouping
        raters = None if of == PROBABILITIES else self._raters_of(sheet)
        confidence = self.options.confidence
        line = calibration_line(
            label[rows],
            predicted[rows],
            None if repeated is None else repeated[rows],
            confidence=confidence,
            unit=STIMULI if grouping is None else "groups",
            raters=None if raters is None else raters.of_line(rows, predicted),
        )
        calibration = ModelCalibration(
            model=sheet.model,
            task=sheet.task.id,
            of=of,
            over_stimuli=line,
            over_systems=_no_line(FROM_SAME_SYSTEMS),
            systems=(),
        )
        if sheet.from_labels:
            return calibration
        on_scale = _on_line(predicted, line) if of == ON_LINE else predicted
        unit = STIMULI if grouping is None else grouping.unit
        gaps = Gaps(label=label, predicted=on_scale, group=group, unit=unit)
        if raters is not None:
            gaps = replace(gaps, of_raters=partial(raters.of_bias, predicted=on_scale))
        named = sheet.rows.select(pl.when(pl.Series(rows)).then(pl.col("system").cast(pl.String))).to_series().to_list()
        return replace(
            calibration,
            over_systems=_over_systems(label, predicted, np.where(rows, sheet.system, -1), confidence, raters),
            systems=system_biases(gaps, named, confidence),
        )

    def errors(self, sheet: PredictionSheet, marked: Marked, columns: Sequence[str]) -> Sequence[PartError]:
        """Errors by every column, over answered items; of predictions made of labels none."""
        if sheet.from_labels or sheet.against_other_labels:
            return ()
        compared = _compared(sheet, marked, self.truth)
        if compared is None:
            return ()
        rows, model_errors = compared
        if self.grouping is not None:
            model_errors = replace(model_errors, group=self._groups_of(sheet)[rows], unit=self.grouping.unit)
        cells = {column: cells_of(sheet, column).filter(pl.Series(rows)).to_list() for column in columns}
        return part_errors(model_errors, cells, self.options.confidence)

    def worth(self, sheet: PredictionSheet) -> Worth | None:
        """How many ratings the model's answer is worth, failures counted as an answer that says nothing."""
        if sheet.task.kind not in ("numbers", "binary", "categories", "ordinal"):
            return None
        result = self._worth(sheet)
        return Worth(
            model=sheet.model,
            task=sheet.task.id,
            ratings=result.raters,
            at_least=result.at_least,
            correlation=result.correlation,
        )

    def _worth(self, sheet: PredictionSheet) -> RatersWorth:
        answers = _ordered(sheet)
        reason = _why_no_worth(sheet, answers)
        if reason is not None or answers is None:
            return RatersWorth(Estimate.missing(reason or _ONE_RATER, METHOD))
        filled = np.where(np.isfinite(answers), answers, answers[np.isfinite(answers)].mean())
        d, confidence = self._ratings_of(sheet), self.options.confidence
        group = self._repeated_groups(sheet)
        if d.size:
            position = {name: at for at, name in enumerate(item_names(sheet.rows))}
            order = np.array([position[name] for name in d.items], np.int64)
            return raters_worth(d, filled[order], group=None if group is None else group[order], confidence=confidence)
        if sheet.task.kind != "numbers" or not sheet.rows["standard_error"].is_not_null().any():
            return RatersWorth(Estimate.missing(NO_RATINGS, METHOD))
        n, error = _rating_counts(sheet.rows), floats_of(sheet.rows["standard_error"])
        return worth_from_means(sheet.truth, error, n, filled, group=group, confidence=confidence)

    def _raters_of(self, sheet: PredictionSheet) -> LabelRaters | None:
        """The single ratings behind the labels of a sheet, where it is known who gave them."""
        key = sheet.task.questions
        if key not in self._raters:
            self._raters[key] = LabelRaters.of(sheet.rows, self.truth.answers)
        return self._raters[key]

    def _ratings_of(self, sheet: PredictionSheet) -> Ratings:
        """The single ratings of the items of a sheet; of yes or no as 1 and 0."""
        if sheet.task.questions not in self._ratings:
            ratings = self.truth.answers.join(sheet.rows.select(ITEM), on=ITEM, how="semi", maintain_order="left")
            value = ratings["value"].to_numpy()
            value = yes(sheet.scale, value) if sheet.task.kind == "binary" else value
            self._ratings[sheet.task.questions] = triples(ratings["rater"], item_names(ratings), value)
        return self._ratings[sheet.task.questions]


def _why_no_worth(sheet: PredictionSheet, answers: Floats | None) -> str | None:
    """Why it cannot be said how many ratings a model's answer is worth."""
    if answers is None:
        return _ONE_RATER
    if sheet.against_other_labels:
        return _OTHER_LABELS
    if not np.isfinite(answers).any():
        return "no item was answered"
    methods = [str(name) for name in sheet.rows["method"].drop_nulls().unique()]
    if sheet.task.kind == "numbers" and not all(map(is_mean, methods)):
        return f"it is not known for labels made by '{', '.join(methods)}'"
    return None


def _rating_counts(rows: pl.DataFrame) -> Floats:
    """How many ratings each label is made of; 0 where that is not known."""
    return np.asarray(rows["n"].cast(pl.Float64).fill_null(0.0).to_numpy())


def stimuli_of(sheet: PredictionSheet) -> Ints:
    return np.arange(sheet.rows.height) if sheet.stimulus is None else sheet.stimulus


def _ordered(sheet: PredictionSheet) -> Floats | None:
    """What the model orders items by, NaN where it did not answer; None for tasks without an order of two ends."""
    if sheet.task.kind == "numbers":
        answers = sheet.code if sheet.on_scale else sheet.score
    elif sheet.task.kind == "binary":
        probability = probabilities(sheet)
        answers = probability if np.isfinite(probability).any() else sheet.decision
        answers = answers if np.isfinite(answers).any() else sheet.score
    else:
        return None
    return np.where(sheet.answered, answers, np.nan)


def _calibrated(sheet: PredictionSheet) -> tuple[str, Flags, Floats, Floats] | None:
    """What is calibrated, the rows that have it, and the labels and predictions of all rows."""
    if sheet.task.kind == "numbers":
        of, label = (NUMBERS if sheet.on_scale else ON_LINE), sheet.truth
        predicted = sheet.code if sheet.on_scale else sheet.score
    elif sheet.task.kind == "binary":
        of, label, predicted = PROBABILITIES, sheet.truth, probabilities(sheet)
    elif sheet.task.kind == "categories" and sheet.shares is not None:
        # The probability given to the answer, and whether the answer is right.
        of, label = PROBABILITIES, (sheet.code == sheet.truth).astype(np.float64)
        predicted = np.max(np.nan_to_num(sheet.shares, nan=-np.inf), axis=1)
    else:
        return None
    rows = sheet.answered & np.isfinite(predicted)
    return (of, rows, label, np.where(rows, predicted, np.nan)) if rows.any() else None


def _on_line(predicted: Floats, line: CalibrationLine) -> Floats:
    if line.slope.value is None or line.intercept.value is None:
        return predicted
    return np.asarray(line.intercept.value + line.slope.value * predicted)


def _no_line(reason: str) -> CalibrationLine:
    return CalibrationLine(*(Estimate.missing(reason, name) for name in ("slope", "intercept", "bias")))


def _over_systems(
    label: Floats, predicted: Floats, system: Ints, confidence: float, raters: LabelRaters | None
) -> CalibrationLine:
    present = system >= 0
    if np.unique(system[present]).size < 3:
        return _no_line("fewer than 3 systems")
    return calibration_line(
        label[present],
        predicted[present],
        system[present],
        confidence=confidence,
        unit="systems",
        raters=None if raters is None else raters.of_line(present, predicted),
    )


def _compared(sheet: PredictionSheet, marked: Marked, truth: Truth) -> tuple[Flags, ModelErrors] | None:
    """The rows that were answered, and what their errors are made of."""
    kind, predicted = sheet.task.kind, marked.predicted
    is_number = kind == "numbers"
    if is_number:
        predicted = sheet.code if sheet.on_scale else sheet.score
    elif kind not in ("binary", "categories", "ordinal"):
        return None
    rows = sheet.answered & np.isfinite(predicted)
    label, predicted = sheet.truth[rows], predicted[rows]
    if rows.sum() < 3:
        return None
    if is_number and not sheet.on_scale:
        predicted = _on_line(predicted, calibration_line(label, predicted))
    noise = _noise_of(sheet.rows) if is_number else None
    squares = kind in ("numbers", "ordinal")
    return rows, ModelErrors(
        model=sheet.model,
        task=sheet.task.id,
        wrong=(predicted - label) ** 2 if squares else (predicted != label).astype(np.float64),
        noise=None if noise is None else noise[rows],
        stimulus=stimuli_of(sheet)[rows],
        squared=squares,
        ratings=_rating_counts(sheet.rows)[rows] if is_number else None,
        label_errors=None if squares else _label_errors(sheet, rows, truth),
        categories=2 if kind == "binary" else max(sheet.codes.size, 2),
    )


def _noise_of(rows: pl.DataFrame) -> Floats | None:
    """The squared standard error of every label; None where there is one of which nothing is known.

    A label of a single rating has the noise of one rating elsewhere.
    """
    if "standard_error" not in rows.columns:
        return None
    squared = floats_of(rows["standard_error"]) ** 2
    n = _rating_counts(rows)
    finite, counted = np.isfinite(squared), n > 0
    several = finite & (n > 1)
    if several.any() and not finite.all():
        single = float((n * (n - 1) * squared)[several].sum() / (n - 1)[several].sum())
        squared = np.where(finite | ~counted, squared, single / np.maximum(n, 1))
    return squared if np.isfinite(squared).all() else None


def _label_errors(sheet: PredictionSheet, rows: Flags, truth: Truth) -> LabelErrors | None:
    """What the votes say of the labels of these rows; None where some have no votes."""
    if not truth.votes.height:
        return None
    items = sheet.rows.select(*ITEM, "truth").filter(pl.Series(rows)).with_row_index("at")
    votes = items.join(truth.votes, on=ITEM, how="left", maintain_order="left")
    value = floats_of(votes["value"])
    side, label = value, items["truth"].to_numpy()
    codes = sheet.codes
    if sheet.task.kind == "binary":
        side, codes = yes(sheet.scale, value), np.array([0.0, 1.0])
    if not (np.isin(side, codes).all() and np.isin(label, codes).all()):
        return None
    counts = np.zeros((items.height, codes.size))
    cell = votes["at"].to_numpy(), np.searchsorted(codes, side)
    np.add.at(counts, cell, votes["votes"].cast(pl.Float64).fill_null(0.0).to_numpy())
    return LabelErrors.of(counts, np.searchsorted(codes, label).astype(np.int64))
