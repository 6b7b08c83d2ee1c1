"""Yes or no, present or absent: decisions at a threshold, the order of scores, and calibration.

The held-out threshold is chosen on other stimuli than those it is used on. Stimuli are dealt into folds by a named stream; for
each fold the threshold with the best balanced accuracy on the others is taken (the middle of the best range) and applied to the
fold, so no item contributes to its own threshold.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from heartfelt.scoring.measurement.measure import LabelsAndPredictions, Marked, MetricMeasurer
from heartfelt.scoring.measurement.sheet import PredictionSheet
from heartfelt.scoring.results.details import BinaryDetails, NoCalibration
from heartfelt.scoring.results.scores import ModelScore
from heartfelt.stats.columns.triples import Floats, Ints
from heartfelt.stats.prediction.association import confusion
from heartfelt.stats.prediction.probability import Calibration, calibration
from heartfelt.streams import stream

DECISIONS = ("balanced_accuracy", "accuracy", "precision", "recall", "f1")
HELD_OUT = "held-out threshold"
OWN_ANSWER = "its own answer"
_NO_SCORES = "the model gives decisions, not scores"


def decisions(sheet: PredictionSheet, threshold: float) -> tuple[Floats, str]:
    """The model's decisions (1, 0 or NaN) and how they were made: its own answer, else its score at the threshold."""
    decision = sheet.decision
    if np.isfinite(decision[sheet.answered]).all() and sheet.answered.any():
        return decision, OWN_ANSWER
    cut = np.where(np.isfinite(sheet.score), (sheet.score > threshold).astype(np.float64), np.nan)
    return np.where(np.isfinite(decision), decision, cut), f"threshold {threshold:g}"


def ordering(sheet: PredictionSheet) -> Floats:
    """What the model orders items by: its score, else its share of yes, else its number on the scale."""
    if np.isfinite(sheet.score).any():
        return sheet.score
    return sheet.chance if sheet.shares is not None else sheet.code


def probabilities(sheet: PredictionSheet) -> Floats:
    """The probability of yes: its share, else its score where all scores are between 0 and 1; else NaN."""
    score = sheet.score[sheet.answered]
    if not np.isfinite(sheet.chance).any() and score.size and np.all((score >= 0) & (score <= 1)):
        return sheet.score
    return sheet.chance


def binary(sheet: PredictionSheet, measure: MetricMeasurer) -> Marked:
    """All scores of a task with two sides, with confusion, thresholds and calibration."""
    options, x = measure.options, sheet.truth
    answers, at = decisions(sheet, options.threshold)
    order = ordering(sheet)
    unit = np.arange(x.size) if sheet.stimulus is None else sheet.stimulus
    cross_validated = held_out(x, order, unit, options.folds, options.seed)
    only_decisions = np.unique(order[np.isfinite(order)]).size <= 2
    why_not_held = _NO_SCORES if only_decisions else cross_validated.why_none
    probability = probabilities(sheet)
    why_not = None if np.isfinite(probability).any() else "the model gives no probabilities"
    wrong, worst = 1.0 - x, _worst(order, x)

    def score(metric: str, y: Floats, failed: Floats, at: str = "", why_none: str | None = None) -> ModelScore:
        filled = np.where(np.isfinite(y), y, failed)
        columns = LabelsAndPredictions(metric=metric, x=x, y=y, filled=filled, at=at, why_none=why_none)
        return measure.score(sheet, columns)

    scores = [
        *(score(name, answers, wrong, at) for name in DECISIONS),
        *(score(name, cross_validated.answers, wrong, HELD_OUT, why_not_held) for name in DECISIONS),
        score("auroc", order, worst),
        score("average_precision", order, worst),
        score("brier", probability, wrong, why_none=why_not),
    ]
    rows = sheet.answered & np.isfinite(answers)
    words = np.array(["absent", "present"], dtype=object)
    calibrated: Calibration | NoCalibration = NoCalibration(why_missing=why_not or "")
    if why_not is None:
        usable = sheet.answered & np.isfinite(probability)
        labels = x[usable].astype(int)
        calibrated = calibration(labels, probability[usable], seed=options.seed, confidence=options.confidence)
    details = BinaryDetails(
        at,
        () if why_not_held else cross_validated.thresholds,
        confusion(words[x[rows].astype(int)], words[answers[rows].astype(int)]),
        calibrated,
    )
    return Marked(
        scores=scores,
        details=details,
        predicted=answers,
        fallback=wrong,
        sliced={"balanced_accuracy": answers, "accuracy": answers, "auroc": order},
        notes=() if at == OWN_ANSWER else _always_the_same(sheet, answers[sheet.answered], options.threshold),
    )


def _always_the_same(sheet: PredictionSheet, decided: Floats, threshold: float) -> tuple[str, ...]:
    """A note where every score lies on one side of the threshold."""
    if decided.size < 2 or decided.min() < decided.max():
        return ()
    side = "above" if decided[0] else "at or below"
    return (
        f"Every score of {sheet.model} on {sheet.task.id} lies {side} the threshold {threshold:g}, so its answer is always"
        " the same; see its scores at the held-out threshold, or choose another.",
    )


def _worst(order: Floats, x: Floats) -> Floats:
    """For each label a score beyond all others on the wrong side."""
    finite = order[np.isfinite(order)]
    low, high = (float(finite.min()) - 1, float(finite.max()) + 1) if finite.size else (0.0, 1.0)
    return np.where(x > 0.5, low, high)


@dataclass(frozen=True, slots=True, eq=False)
class CrossValidatedDecisions:
    """Each row's answer by its fold (1, 0, NaN where there is no score), and the threshold of each fold."""

    answers: Floats
    thresholds: tuple[float, ...]
    why_none: str | None = None


def held_out(label: Floats, score: Floats, unit: Ints, folds: int, seed: int) -> CrossValidatedDecisions:
    """Cut scores at thresholds chosen on other folds; ``unit`` keeps rows of one stimulus together."""
    finite = np.isfinite(score)
    unknown = np.full(score.size, np.nan)
    names = np.unique(unit[finite])
    if names.size < 2 * folds:
        return CrossValidatedDecisions(unknown, (), f"{names.size} stimuli are too few for {folds} folds")
    fold_of = np.full(int(unit.max()) + 1, -1, np.int64)
    fold_of[stream(seed, "threshold", "folds").permutation(names)] = np.arange(names.size) % folds
    fold = fold_of[unit]
    answers, thresholds = unknown.copy(), []
    for k in range(folds):
        training, in_fold = finite & (fold != k), finite & (fold == k)
        cut = best_threshold(label[training], score[training])
        if cut is None:
            return CrossValidatedDecisions(unknown, (), "the other folds hold labels of one side only")
        answers[in_fold] = score[in_fold] > cut
        thresholds.append(cut)
    return CrossValidatedDecisions(answers, tuple(thresholds))


def best_threshold(label: Floats, score: Floats) -> float | None:
    """The threshold with the best balanced accuracy: the middle of the widest best range of scores.

    Between two scores it is their middle; below or above all of them half the range away. None without both sides.
    """
    positive = label > 0.5
    total_yes, total_no = int(positive.sum()), int((~positive).sum())
    if not total_yes or not total_no:
        return None
    values, index = np.unique(score, return_inverse=True)
    yes = np.bincount(index, weights=positive, minlength=values.size)
    no = np.bincount(index, weights=~positive, minlength=values.size)
    # Position k lies below values[k]; what is at or above it is called yes.
    hits = (total_yes - np.append(0, np.cumsum(yes))) / total_yes
    passes = np.append(0, np.cumsum(no)) / total_no
    balanced = (hits + passes) / 2
    half = max(float(values[-1] - values[0]) / 2, 0.5)
    edges = np.concatenate([[values[0] - half], values, [values[-1] + half]])
    # Ties up to rounding count as equally good, and the widest range among them is the safest.
    best = np.flatnonzero(balanced >= balanced.max() - 1e-12)
    at = int(best[np.argmax(edges[best + 1] - edges[best])])
    return float((edges[at] + edges[at + 1]) / 2)
