"""Yes or no, present or absent: decisions at a threshold, the order of scores, and whether probabilities hold."""

from __future__ import annotations

from typing import Any

import numpy as np

from heartfelt.scoring.measure import Measure, Pairing
from heartfelt.scoring.scores import Score
from heartfelt.scoring.sheet import Floats, Sheet
from heartfelt.scoring.thresholds import held_out
from heartfelt.stats.classify import confusion
from heartfelt.stats.probability import calibration

DECISIONS = ("balanced_accuracy", "accuracy", "precision", "recall", "f1")
HELD_OUT = "held-out threshold"
_NO_SCORES = "the model gives decisions, not scores"


def decided(sheet: Sheet, threshold: float) -> tuple[Floats, str]:
    """What the model says (1, 0 or NaN) and how that was found out: its own answer, else its score at the threshold."""
    own = sheet.decision
    if np.isfinite(own[sheet.answered]).all() and sheet.answered.any():
        return own, "its own answer"
    cut = np.where(np.isfinite(sheet.score), (sheet.score > threshold).astype(np.float64), np.nan)
    return np.where(np.isfinite(own), own, cut), f"threshold {threshold:g}"


def ordering(sheet: Sheet) -> Floats:
    """What the model orders items by: its score, else its share of yes, else its number on the scale."""
    if np.isfinite(sheet.score).any():
        return sheet.score
    return sheet.chance if sheet.shares is not None else sheet.code


def binary(sheet: Sheet, measure: Measure) -> tuple[list[Score], dict[str, Any]]:
    """All scores of a task with two sides, and the confusion, thresholds and calibration behind them."""
    options, x = measure.options, sheet.truth
    said, at = decided(sheet, options.threshold)
    wrong = 1.0 - x
    out = [measure.score(sheet, Pairing(name, x, said, _fill(said, wrong), at=at)) for name in DECISIONS]
    order = ordering(sheet)
    unit = np.arange(x.size) if sheet.stimulus is None else sheet.stimulus
    two = np.unique(order[np.isfinite(order)]).size <= 2
    held = held_out(x, order, unit, options.folds, options.seed)
    why = _NO_SCORES if two else held.why_none
    out += [
        measure.score(sheet, Pairing(name, x, held.said, _fill(held.said, wrong), at=HELD_OUT, why_none=why))
        for name in DECISIONS
    ]
    worst = _worst(order, x)
    for name in ("auroc", "average_precision"):
        out.append(measure.score(sheet, Pairing(name, x, order, _fill(order, worst))))
    details: dict[str, Any] = {
        "decided_by": at,
        "held_out_thresholds": [] if why else list(held.thresholds),
        "confusion": _confusion(sheet, said),
    }
    chance = sheet.chance
    score = sheet.score[sheet.answered]
    inside = bool(score.size) and bool(np.all((score >= 0) & (score <= 1)))
    if not np.isfinite(chance).any() and inside:
        chance = sheet.score
    why_not = None if np.isfinite(chance).any() else "the model gives no probabilities"
    out.append(measure.score(sheet, Pairing("brier", x, chance, _fill(chance, wrong), why_none=why_not)))
    details["calibration"] = _calibration(sheet, chance, measure, why_not)
    return out, details


def _fill(said: Floats, worst: Floats) -> Floats:
    return np.where(np.isfinite(said), said, worst)


def _worst(order: Floats, x: Floats) -> Floats:
    known = order[np.isfinite(order)]
    low, high = (float(known.min()) - 1, float(known.max()) + 1) if known.size else (0.0, 1.0)
    return np.where(x > 0.5, low, high)


def _confusion(sheet: Sheet, said: Floats) -> dict[str, Any]:
    rows = sheet.answered & np.isfinite(said)
    words = np.array(["absent", "present"], dtype=object)
    return confusion(words[sheet.truth[rows].astype(int)], words[said[rows].astype(int)]).to_json()


def _calibration(sheet: Sheet, chance: Floats, measure: Measure, why: str | None) -> dict[str, Any]:
    if why:
        return {"value": None, "why_missing": why}
    rows = sheet.answered & np.isfinite(chance)
    found = calibration(
        sheet.truth[rows].astype(int),
        chance[rows],
        seed=measure.options.seed,
        confidence=measure.options.confidence,
    )
    return found.to_json()
