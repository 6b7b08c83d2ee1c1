"""Numbers: correlations and errors by item, by system, and within cells."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from heartfelt.scoring.ceilings import WITHIN
from heartfelt.scoring.measure import Measure, Pairing, Ways, of_ceiling
from heartfelt.scoring.metrics import NUMBERS
from heartfelt.scoring.prediction_intervals import interval_scores
from heartfelt.scoring.scores import Score
from heartfelt.scoring.sheet import Flags, Floats, Sheet
from heartfelt.stats.estimate import Estimate
from heartfelt.stats.jackknife import Spread

ERRORS = ("ccc", "rmse", "mse", "mae")
SYSTEM = "system"
_OFF_SCALE = "the model gives scores that are not on the scale"


def said(sheet: Sheet) -> Floats:
    """The model's numbers: on the scale where it gives such, else its scores."""
    return sheet.code if sheet.on_scale else sheet.score


def numbers(sheet: Sheet, measure: Measure) -> tuple[list[Score], dict[str, Any]]:
    """Every score of a question answered with numbers."""
    x, y = sheet.truth, np.where(sheet.answered, said(sheet), np.nan)
    known = y[sheet.answered]
    middle = float(known.mean()) if known.size else 0.0
    fills = {name: np.where(sheet.answered, y, _fill(sheet, name, middle)) for name in NUMBERS}
    out = []
    for name in NUMBERS:
        why = _why_none(sheet, name)
        out.append(measure.score(sheet, Pairing(name, x, y, fills[name], why_none=why)))
    out += _by_system(sheet, measure, y, fills)
    out += _within_cells(sheet, measure, y, fills["pearson"])
    details: dict[str, Any] = {"mean_prediction": middle if known.size else None}
    given, facts = interval_scores(sheet, measure)
    if facts is not None:
        details["intervals"] = facts
    return out + given, details


def _why_none(sheet: Sheet, metric: str) -> str | None:
    if not sheet.answered.any():
        return "no item was answered"
    return _OFF_SCALE if metric in ERRORS and not sheet.on_scale else None


def _fill(sheet: Sheet, metric: str, middle: float) -> Floats:
    """What a failed prediction counts as: the far end of the scale for errors, else what says nothing."""
    bounds = sheet.task.bounds
    if metric not in ("rmse", "mse", "mae") or bounds is None or not sheet.on_scale:
        return np.full(sheet.truth.size, middle)
    low, high = bounds
    return np.where(sheet.truth - low > high - sheet.truth, low, high)


def _by_system(sheet: Sheet, measure: Measure, y: Floats, fills: Mapping[str, Floats]) -> list[Score]:
    """The same metrics on system means; the interval is over systems."""
    out = []
    given = (measure.options.systems or {}).get(sheet.task.id)
    answered = system_means(sheet, y, sheet.answered, given)
    everything = np.ones(y.size, np.bool_)
    for name in NUMBERS:
        why = _why_none(sheet, name)
        means = answered if sheet.answered.all() else system_means(sheet, fills[name], everything, given)
        full, spread = _systems_number(measure, name, means, why)
        own = full if sheet.answered.all() else _systems_number(measure, name, answered, why)[0]
        out.append(
            _score(
                sheet,
                measure,
                SYSTEM,
                Pairing(name, means[0], means[1], means[1]),
                Ways(own, full, full, spread),
            )
        )
    return out


def _score(
    sheet: Sheet, measure: Measure, level: str, pairing: Pairing, ways: Ways, group: Any = None
) -> Score:
    """A score whose numbers are known, with its ceiling and chance."""
    name = pairing.metric
    ceiling = measure.ceilings.of(sheet.task, name, level)
    above = measure.above_chance(pairing, ways, group)
    return Score(
        sheet.model, sheet.task.id, level, name, "", ways.estimate, ways.full, ways.systems, ceiling,
        of_ceiling(name, ways.full, ceiling, above), above.chance, above.beyond, above.p,
    )  # fmt: skip


def system_means(sheet: Sheet, y: Floats, rows: Flags, given: Any = None) -> tuple[Floats, Floats]:
    """Label and prediction of each system: means over its clips, or the label ``given`` for it."""
    rows = rows & (sheet.system >= 0)
    if not rows.any():
        return np.zeros(0), np.zeros(0)
    codes = sheet.system[rows]
    n = np.bincount(codes)
    there = n > 0
    said_by = np.bincount(codes, weights=y[rows])[there] / n[there]
    if given is None:
        return np.bincount(codes, weights=sheet.truth[rows])[there] / n[there], said_by
    names: dict[int, str] = dict(zip(sheet.system.tolist(), sheet.rows["system"].to_list(), strict=True))
    truth = np.array([given.get(names[int(code)], np.nan) for code in np.flatnonzero(there)], np.float64)
    known = np.isfinite(truth)
    return truth[known], said_by[known]


def _systems_number(
    measure: Measure, metric: str, means: tuple[Floats, Floats], why: str | None
) -> tuple[Estimate, Spread | None]:
    truth, predicted = means
    if why is None and truth.size < 3:
        why = f"{truth.size} systems; at least 3 are needed" if truth.size else "no systems"
    if why:
        return Estimate.missing(why, metric), None
    result, spread = measure.numbers(metric, truth, predicted, [None])[0]
    counts = {("systems" if name == "pairs" else name): count for name, count in result.counts.items()}
    return replace(result, counts=counts), spread


def _within_cells(sheet: Sheet, measure: Measure, y: Floats, filled: Floats) -> list[Score]:
    """Correlation of what is left of label and prediction when the means of their cell are taken off both."""
    out = []
    answered = _residuals(sheet, y, sheet.answered)
    every = sheet.answered.all() or not sheet.answered.any()
    full = answered if every else _residuals(sheet, filled, np.ones(y.size, np.bool_))
    for name in ("pearson", "spearman"):
        two, spread = _cells_number(measure, name, full)
        one = two if full is answered else _cells_number(measure, name, answered)[0]
        gone = Estimate.missing("cells lie inside systems; see the interval over cells", name)
        out.append(
            _score(
                sheet,
                measure,
                WITHIN,
                Pairing(name, full[0], full[1], full[1]),
                Ways(one, two, gone, spread),
                full[2],
            )
        )
    return out


def _residuals(sheet: Sheet, y: Floats, rows: Flags) -> tuple[Floats, Floats, Any]:
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


def _cells_number(
    measure: Measure, metric: str, columns: tuple[Floats, Floats, Any]
) -> tuple[Estimate, Spread | None]:
    x, y, codes = columns
    cells = np.unique(codes).size
    if cells < 2:
        why = "only one cell holds several answered items" if cells else "no cell holds two answered items"
        return Estimate.missing(why, metric), None
    if float(np.abs(y).max()) <= 1e-12:
        return Estimate.missing("the predictions do not vary within cells", metric), None
    return measure.numbers(metric, x, y, [codes])[0]
