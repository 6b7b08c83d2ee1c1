"""Predictors: what a model predicts of a stimulus, asked of any model, with every failure recorded as a row."""

from __future__ import annotations

from typing import TYPE_CHECKING

from heartfelt.on_demand import on_demand

if TYPE_CHECKING:
    from heartfelt.predictors.asking import Retry
    from heartfelt.predictors.engines import ENGINES, Engine
    from heartfelt.predictors.predictor import (
        PREDICTIONS,
        PREDICTORS,
        Ask,
        Case,
        Media,
        Prediction,
        Predictor,
        PredictorInfo,
        TransientError,
    )
    from heartfelt.predictors.running import Interrupted, Run, RunOptions, run
    from heartfelt.predictors.spec import parse_spec, predictor_from
    from heartfelt.predictors.store import user_cache
    from heartfelt.predictors.task import cases
    from heartfelt.predictors.texts import answer_names, answer_texts

__all__ = [
    "ENGINES", "PREDICTIONS", "PREDICTORS", "Ask", "Case", "Engine", "Interrupted", "Media", "Prediction", "Predictor",
    "PredictorInfo", "Retry", "Run", "RunOptions", "TransientError", "answer_names", "answer_texts", "cases", "parse_spec",
    "predictor_from", "run", "user_cache",
]  # fmt: skip

__getattr__ = on_demand(
    __name__,
    {
        "asking": ("Retry",),
        "task": ("cases",),
        "engines": ("ENGINES", "Engine"),
        "predictor": (
            "PREDICTIONS",
            "PREDICTORS",
            "Ask",
            "Case",
            "Media",
            "Prediction",
            "Predictor",
            "PredictorInfo",
            "TransientError",
        ),
        "running": ("Interrupted", "Run", "RunOptions", "run"),
        "spec": ("parse_spec", "predictor_from"),
        "store": ("user_cache",),
        "texts": ("answer_names", "answer_texts"),
    },
)
