"""Numbers: correlations and errors by item, by system and within cells, and the intervals a predictor gives.

Intervals: ``interval_coverage`` is the share of labels inside, to be compared with the confidence the predictor claims;
``interval_width`` their mean width; ``interval_score`` the proper score of Gneiting and Raftery (2007, *JASA* 102): width plus
2/alpha times the distance of the label outside; ``crps`` the continuous ranked probability score of a normal distribution
around the prediction whose central interval is as wide as the given one. Lower is better for the last three. Labels carry
noise of their own, so an interval for the underlying value covers them less often.

The confidence is the model's own where it is known, else ``ScoreOptions.interval_confidence``. A failure counts as an interval
that misses, as wide as the scale, or, for the two scores, as the interval or normal distribution of all labels, which is also
their chance level.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from heartfelt.scoring.measurement.measure import WITHIN, Forms, LabelsAndPredictions, Marked, MetricMeasurer, mean_of
from heartfelt.scoring.measurement.sheet import Flags, PredictionSheet
from heartfelt.scoring.results.details import IntervalFacts, NumberDetails
from heartfelt.scoring.results.metrics import ChanceLevel
from heartfelt.scoring.results.scores import ModelScore
from heartfelt.stats._bounds import normal_quantile
from heartfelt.stats.columns.triples import Floats
from heartfelt.stats.estimate import Estimate
from heartfelt.stats.prediction.jackknife import JackknifeError

RANKS = ("spearman", "kendall", "pearson")
NUMBERS = ("pearson", "spearman", "kendall", "ccc", "rmse", "mse", "mae")
ERRORS = ("rmse", "mse", "mae")
SYSTEM = "system"
_FROM_LABELS = "its predictions are made of labels of the same systems, so this says nothing"
_OFF_SCALE = "the model gives scores that are not on the scale"
_ALL_LABELS = "the interval, or normal distribution, of all labels"


def numbers(sheet: PredictionSheet, measure: MetricMeasurer) -> Marked:
    """Every score of a question answered with numbers: on the scale where the model gives any, else its scores."""
    predicted = sheet.code if sheet.on_scale else sheet.score
    x, y = sheet.truth, np.where(sheet.answered, predicted, np.nan)
    answered_values = y[sheet.answered]
    middle = float(answered_values.mean()) if answered_values.size else 0.0
    # A failed prediction counts as the far end of the scale for errors, else as a value that says nothing.
    nothing = furthest = np.full(x.size, middle)
    bounds = sheet.scale.bounds()
    if bounds is not None and sheet.on_scale:
        low, high = bounds
        furthest = np.where(x - low > high - x, low, high)
    filled = {name: np.where(sheet.answered, y, furthest if name in ERRORS else nothing) for name in NUMBERS}
    scores = _by_item(sheet, measure, y, filled)
    scores += _by_system(sheet, measure, y, filled)
    scores += _within_cells(sheet, measure, y, filled["pearson"])
    of_intervals, facts = interval_scores(sheet, measure)
    details = NumberDetails(middle if answered_values.size else None, facts)
    off_scale = np.full(x.size, np.nan)
    sliced = {"pearson": predicted, "spearman": predicted, "rmse": predicted if sheet.on_scale else off_scale}
    return Marked(
        scores=scores + of_intervals,
        details=details,
        predicted=predicted,
        fallback=nothing if answered_values.size else off_scale,
        sliced=sliced,
    )


def strengths(sheet: PredictionSheet, measure: MetricMeasurer) -> Marked:
    """Correlations with the strengths of stimuli, and of their systems; the unit of a prediction does not matter."""
    y = np.where(sheet.answered, sheet.code, np.nan)
    answered_values = y[sheet.answered]
    middle = float(answered_values.mean()) if answered_values.size else 0.0
    nothing = np.full(y.size, middle)
    filled = dict.fromkeys(RANKS, np.where(sheet.answered, y, nothing))
    scores = _by_item(sheet, measure, y, filled)
    if measure.truth.contestants(sheet.task) == "stimulus":
        scores += _by_system(sheet, measure, y, filled)
    details = NumberDetails(middle if answered_values.size else None)
    return Marked(
        scores=scores,
        details=details,
        predicted=sheet.code,
        fallback=nothing if answered_values.size else np.full(y.size, np.nan),
        sliced={},
    )


def _why_none(sheet: PredictionSheet, metric: str) -> str | None:
    if not sheet.answered.any():
        return "no item was answered"
    return _OFF_SCALE if metric in ("ccc", *ERRORS) and not sheet.on_scale else None


def _by_item(
    sheet: PredictionSheet, measure: MetricMeasurer, y: Floats, filled: Mapping[str, Floats]
) -> list[ModelScore]:
    return [
        measure.score(
            sheet, LabelsAndPredictions(metric=name, x=sheet.truth, y=y, filled=values, why_none=_why_none(sheet, name))
        )
        for name, values in filled.items()
    ]


def _by_system(
    sheet: PredictionSheet, measure: MetricMeasurer, y: Floats, filled: Mapping[str, Floats]
) -> list[ModelScore]:
    """The same metrics on system means; the interval is over systems."""
    labelled = (measure.options.systems or {}).get(sheet.task.id)
    if sheet.task.kind == "strengths":
        labelled = measure.truth.pairs.systems.get(sheet.task.questions[0], {})
    answered = system_means(sheet, y, sheet.answered, labelled)
    blank = _FROM_LABELS if sheet.from_labels else None
    every_row = np.ones(y.size, np.bool_)
    complete = bool(sheet.answered.all())
    scores = []
    for name in filled:
        why_none = blank or _why_none(sheet, name)
        means = answered if complete else system_means(sheet, filled[name], every_row, labelled)
        full, spread = _over_systems(measure, name, means, why_none)
        of_answered = full if complete else _over_systems(measure, name, answered, why_none)[0]
        pairing = LabelsAndPredictions(metric=name, x=means[0], y=means[1], filled=means[1], aggregation=SYSTEM)
        scores.append(measure.score(sheet, pairing, Forms(of_answered, full, full, spread)))
    return scores


def system_means(
    sheet: PredictionSheet, y: Floats, rows: Flags, labels: Mapping[str, float] | None = None
) -> tuple[Floats, Floats]:
    """Label and prediction of each system: means over its clips, or its label in ``labels``."""
    rows = rows & (sheet.system >= 0)
    if not rows.any():
        return np.zeros(0), np.zeros(0)
    codes = sheet.system[rows]
    n = np.bincount(codes)
    present = n > 0
    predicted = np.bincount(codes, weights=y[rows])[present] / n[present]
    if labels is None:
        return np.bincount(codes, weights=sheet.truth[rows])[present] / n[present], predicted
    names: dict[int, str] = dict(zip(sheet.system.tolist(), sheet.rows["system"].to_list(), strict=True))
    truth = np.array([labels.get(names[int(code)], np.nan) for code in np.flatnonzero(present)], np.float64)
    finite = np.isfinite(truth)
    return truth[finite], predicted[finite]


def _over_systems(
    measure: MetricMeasurer, metric: str, means: tuple[Floats, Floats], why_none: str | None
) -> tuple[Estimate, JackknifeError | None]:
    truth, predicted = means
    if why_none is None and truth.size < 3:
        why_none = f"{truth.size} systems; at least 3 are needed" if truth.size else "no systems"
    if why_none:
        return Estimate.missing(why_none, metric), None
    result, spread = measure.numbers(metric, truth, predicted)[0]
    counts = {("systems" if name == "pairs" else name): count for name, count in result.counts.items()}
    return replace(result, counts=counts), spread


def _within_cells(sheet: PredictionSheet, measure: MetricMeasurer, y: Floats, filled: Floats) -> list[ModelScore]:
    """Correlation of the residuals of label and prediction after subtracting the means of their cell from both."""
    answered = _residuals(sheet, y, sheet.answered)
    complete = sheet.answered.all() or not sheet.answered.any()
    full = answered if complete else _residuals(sheet, filled, np.ones(y.size, np.bool_))
    scores = []
    for name in ("pearson", "spearman"):
        if sheet.from_labels:
            estimate = of_answered = Estimate.missing(_FROM_LABELS, name)
            spread = None
        else:
            estimate, spread = _in_cells(measure, name, full)
            of_answered = estimate if full is answered else _in_cells(measure, name, answered)[0]
        missing = Estimate.missing("cells lie inside systems; see the interval over cells", name)
        pairing = LabelsAndPredictions(metric=name, x=full[0], y=full[1], filled=full[1], aggregation=WITHIN)
        scores.append(measure.score(sheet, pairing, Forms(of_answered, estimate, missing, spread), full[2]))
    return scores


def _residuals(sheet: PredictionSheet, y: Floats, rows: Flags) -> tuple[Floats, Floats, Any]:
    rows = rows & (sheet.cell >= 0)
    codes = sheet.cell[rows]
    if not codes.size:
        return np.zeros(0), np.zeros(0), codes
    n = np.bincount(codes)
    several = n[codes] > 1
    x, y = (
        column[rows] - (np.bincount(codes, weights=column[rows]) / np.maximum(n, 1))[codes]
        for column in (sheet.truth, y)
    )
    return x[several], y[several], codes[several]


def _in_cells(
    measure: MetricMeasurer, metric: str, columns: tuple[Floats, Floats, Any]
) -> tuple[Estimate, JackknifeError | None]:
    x, y, codes = columns
    cells = np.unique(codes).size
    if cells < 2:
        reason = "only one cell holds several answered items" if cells else "no cell holds two answered items"
        return Estimate.missing(reason, metric), None
    if float(np.abs(y).max()) <= 1e-12:
        return Estimate.missing("the predictions do not vary within cells", metric), None
    return measure.numbers(metric, x, y, [codes])[0]


def interval_scores(sheet: PredictionSheet, measure: MetricMeasurer) -> tuple[list[ModelScore], IntervalFacts | None]:
    """The scores of a model's own intervals, and what was assumed; nothing where it gives none."""
    low, high = (
        np.where(sheet.answered, sheet.rows[name].cast(float).fill_null(np.nan).to_numpy(), np.nan)
        for name in ("low", "high")
    )
    valid = np.isfinite(low) & np.isfinite(high) & (low <= high)
    if not sheet.on_scale or not valid.any():
        return [], None
    value, low, high = (np.where(valid, column, np.nan) for column in (sheet.code, low, high))
    claimed = measure.options.claimed.get(sheet.model)
    confidence = claimed or measure.options.interval_confidence
    x, width, bounds = sheet.truth, high - low, sheet.scale.bounds()
    inside = np.where(valid, ((low <= x) & (x <= high)).astype(np.float64), np.nan)
    widest = float(bounds[1] - bounds[0]) if bounds is not None else float(np.nanmax(width))
    tail = (1 - confidence) / 2
    ends = np.quantile(x, [tail, 1 - tail])
    blind = interval_score(x, np.full(x.size, ends[0]), np.full(x.size, ends[1]), confidence)
    cloud = crps_normal(x, np.full(x.size, x.mean()), np.full(x.size, x.std()))
    sd = width / (2 * normal_quantile(confidence))
    claim = ChanceLevel(None, f"to be compared with the {confidence:.0%} that the intervals claim")
    width_alone = ChanceLevel(None, "a width alone is neither good nor bad")
    parts = (
        ("interval_coverage", inside, np.zeros(x.size), claim),
        ("interval_width", width, np.full(x.size, widest), width_alone),
        ("interval_score", interval_score(x, low, high, confidence), blind, _blind_chance(blind)),
        ("crps", crps_normal(x, value, sd), cloud, _blind_chance(cloud)),
    )
    scores = []
    for name, values, fallback, chance in parts:
        filled = np.where(np.isfinite(values), values, fallback)
        pairing = mean_of(name, values, filled, None, chance, share=name == "interval_coverage")
        scores.append(measure.score(sheet, pairing))
    origin = "the model" if claimed else "the options"
    return scores, IntervalFacts(confidence, origin, int(valid.sum()))


def _blind_chance(values: Floats) -> ChanceLevel:
    return ChanceLevel(float(values.mean()), _ALL_LABELS, values)


def interval_score(x: Floats, low: Floats, high: Floats, confidence: float) -> Floats:
    """Gneiting and Raftery's interval score of every row: width plus 2/alpha times the distance outside."""
    outside = np.maximum(low - x, 0.0) + np.maximum(x - high, 0.0)
    return np.asarray(high - low + 2 / (1 - confidence) * outside)


def crps_normal(x: Floats, mean: Floats, sd: Floats) -> Floats:
    """The continuous ranked probability score of a normal distribution, row by row; the absolute error where SD is 0."""
    from scipy.special import ndtr

    wide = np.where(sd > 0, sd, 1.0)
    z = (x - mean) / wide
    density = np.exp(-0.5 * z * z) / math.sqrt(2 * math.pi)
    full = wide * (z * (2 * ndtr(z) - 1) + 2 * density - 1 / math.sqrt(math.pi))
    return np.asarray(np.where(sd > 0, full, np.abs(x - mean)))
