"""Prediction intervals of fine-tuned models: the conformal quantile of the errors on stimuli that were not trained on.

They hold for stimuli like the scored ones. A stimulus's error counts once for each source and question; the stimuli that decide
when training stops do not count. With fewer scored stimuli than the confidence needs (nine at .9) there is no interval.

Source: Vovk, Gammerman and Shafer (2005), *Algorithmic Learning in a Random World*, split conformal prediction.
"""

from __future__ import annotations

import math

import numpy as np
import polars as pl

from heartfelt.predictors.trained.finetuned import ErrorInterval
from heartfelt.training.finetuning.data import TrainingData
from heartfelt.training.finetuning.parts import VALIDATION
from heartfelt.training.heads.calibrating import conformal

CONFIDENCE = 0.9


def error_intervals(
    data: TrainingData, predictions: pl.DataFrame, confidence: float = CONFIDENCE
) -> dict[str, ErrorInterval]:
    """The interval of every question answered with numbers that enough scored stimuli have a label of."""
    position = {
        (int(source), example.stimulus): at
        for at, (source, example) in enumerate(zip(data.origin, data.examples, strict=True))
    }
    scored = predictions.filter(pl.col("part") != VALIDATION)
    intervals = {}
    for target in data.targets:
        if target.output.categories:
            continue
        rows = scored.filter(pl.col("question") == target.question).select("source", "stimulus", "value")
        indices = np.array([position[source, stimulus] for source, stimulus, _ in rows.iter_rows()], np.int64)
        labelled = target.weight[indices] > 0
        errors = np.abs(rows["value"].to_numpy() - target.values[indices])[labelled]
        if errors.size >= math.ceil(confidence / (1 - confidence) - 1e-9):
            half_width = float(conformal(errors, confidence))
            intervals[target.question] = ErrorInterval(half_width, confidence, int(errors.size))
    return intervals
