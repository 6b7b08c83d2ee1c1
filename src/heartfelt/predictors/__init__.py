"""Predictors: what a machine says of a stimulus, asked of any model, with every failure kept as a row."""

from __future__ import annotations

from typing import TYPE_CHECKING

from heartfelt.on_demand import on_demand

if TYPE_CHECKING:
    from heartfelt.predictors.cache import user_cache
    from heartfelt.predictors.engine import ENGINES, Engine
    from heartfelt.predictors.predictor import (
        PREDICTIONS,
        PREDICTORS,
        Ask,
        Case,
        Media,
        Prediction,
        Predictor,
        Transient,
    )
    from heartfelt.predictors.retry import Retry
    from heartfelt.predictors.running import Interrupted, Run, RunOptions, run
    from heartfelt.predictors.sentences import answer_names, answer_texts
    from heartfelt.predictors.spec import parse_spec, predictor_from
    from heartfelt.predictors.task import cases

_HOMES = {
    "cache": ("user_cache",),
    "engine": ("ENGINES", "Engine"),
    "predictor": (
        "PREDICTIONS",
        "PREDICTORS",
        "Ask",
        "Case",
        "Media",
        "Prediction",
        "Predictor",
        "Transient",
    ),
    "retry": ("Retry",),
    "running": ("Interrupted", "Run", "RunOptions", "run"),
    "sentences": ("answer_names", "answer_texts"),
    "spec": ("parse_spec", "predictor_from"),
    "task": ("cases",),
}

__all__ = [
    "ENGINES", "PREDICTIONS", "PREDICTORS", "Ask", "Case", "Engine", "Interrupted", "Media", "Prediction", "Predictor",
    "Retry", "Run", "RunOptions", "Transient", "answer_names", "answer_texts", "cases", "parse_spec", "predictor_from",
    "run", "user_cache",
]  # fmt: skip

__getattr__ = on_demand(__name__, _HOMES)
