"""Numbers: correlations and errors by item, by system, and within cells."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from heartfelt.score.ceilings import WITHIN
from heartfelt.score.measure import Bench, Pairing, of_ceiling
from heartfelt.score.metrics import NUMBERS
from heartfelt.score.scores import Score
from heartfelt.score.sheet import Flags, Floats, Sheet
from heartfelt.stats.estimate import Estimate

ERRORS = ("ccc", "rmse", "mse", "mae")
SYSTEM = "system"
_OFF_SCALE = "the model gives scores that are not on the scale"


def said(sheet: Sheet) -> Floats:
    """The model's numbers: on the scale where it gives such, else its scores."""
    return sheet.code if sheet.on_scale else sheet.score


def numbers(sheet: Sheet, bench: Bench) -> tuple[list[Score], dict[str, Any]]:
    """Every score of a question answered with numbers."""
    x, y = sheet.truth, np.where(sheet.answered, said(sheet), np.nan)
    known = y[sheet.answered]
    middle = float(known.mean()) if known.size else 0.0
    fills = {name: np.where(sheet.answered, y, _fill(sheet, name, middle)) for name in NUMBERS}
    out = []
    for name in NUMBERS:
        why = _OFF_SCALE if name in ERRORS and not sheet.on_scale and known.size else None
        out.append(bench.score(sheet, Pairing(name, x, y, fills[name], why_none=why)))
    out += _by_system(sheet, bench, y, fills)
    out += _within_cells(sheet, bench, y, fills["pearson"])
    return out, {"mean_prediction": middle if known.size else None}


def _fill(sheet: Sheet, metric: str, middle: float) -> Floats:
    """What a failed prediction counts as: the far end of the scale for errors, else what says nothing."""
    bounds = sheet.task.bounds
    if metric not in ("rmse", "mse", "mae") or bounds is None or not sheet.on_scale:
        return np.full(sheet.truth.size, middle)
    low, high = bounds
    return np.where(sheet.truth - low > high - sheet.truth, low, high)


def _by_system(sheet: Sheet, bench: Bench, y: Floats, fills: Mapping[str, Floats]) -> list[Score]:
    """The same metrics on system means; the interval is over systems."""
    out = []
    given = (bench.options.systems or {}).get(sheet.task.id)
    answered = system_means(sheet, y, sheet.answered, given)
    everything = np.ones(y.size, np.bool_)
    for name in NUMBERS:
        why = _OFF_SCALE if name in ERRORS and not sheet.on_scale else None
        one = two = _systems_number(bench, name, answered, why)
        if not sheet.answered.all():
            two = _systems_number(bench, name, system_means(sheet, fills[name], everything, given), why)
        ceiling = bench.ceilings.of(sheet.task, name, SYSTEM)
        share = of_ceiling(name, one, ceiling)
        out.append(Score(sheet.model, sheet.task.id, SYSTEM, name, "", one, two, one, ceiling, share))
    return out


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


def _systems_number(bench: Bench, metric: str, means: tuple[Floats, Floats], why: str | None) -> Estimate:
    truth, told = means
    if why is None and truth.size < 3:
        why = f"{truth.size} systems; at least 3 are needed" if truth.size else "no systems"
    if why:
        return Estimate.missing(why, metric)
    found = bench.number(metric, truth, told)
    counts = {("systems" if name == "pairs" else name): count for name, count in found.counts.items()}
    return replace(found, counts=counts)


def _within_cells(sheet: Sheet, bench: Bench, y: Floats, filled: Floats) -> list[Score]:
    """Correlation of what is left of label and prediction when the means of their cell are taken off both."""
    out = []
    answered = _residuals(sheet, y, sheet.answered)
    full = answered if sheet.answered.all() else _residuals(sheet, filled, np.ones(y.size, np.bool_))
    for name in ("pearson", "spearman"):
        one = two = _cells_number(bench, name, answered)
        if full is not answered:
            two = _cells_number(bench, name, full)
        ceiling = bench.ceilings.of(sheet.task, name, WITHIN)
        gone = Estimate.missing("cells lie inside systems; see the interval over cells", name)
        out.append(
            Score(
                sheet.model,
                sheet.task.id,
                WITHIN,
                name,
                "",
                one,
                two,
                gone,
                ceiling,
                of_ceiling(name, one, ceiling),
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


def _cells_number(bench: Bench, metric: str, found: tuple[Floats, Floats, Any]) -> Estimate:
    x, y, codes = found
    cells = np.unique(codes).size
    if cells < 2:
        why = "every cell holds one item" if cells == 0 else "one cell holds several items"
        return Estimate.missing(why if codes.size or cells else "no cell holds two items", metric)
    scale = float(np.abs(y).max())
    if scale <= 1e-12:
        return Estimate.missing("the predictions do not vary within cells", metric)
    return bench.number(metric, x, y, codes)
