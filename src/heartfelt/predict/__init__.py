"""Predictors: what a machine says of a stimulus, asked of any model, with every failure kept as a row."""

from importlib import import_module
from importlib.util import find_spec

from heartfelt.predict import engines
from heartfelt.predict.cache import user_cache
from heartfelt.predict.engine import ENGINES, Engine
from heartfelt.predict.predictor import (
    PREDICTIONS,
    PREDICTORS,
    Ask,
    Case,
    Media,
    Prediction,
    Predictor,
    Transient,
)
from heartfelt.predict.retry import Retry
from heartfelt.predict.running import Interrupted, Run, RunOptions, run
from heartfelt.predict.sentences import answer_names, answer_texts
from heartfelt.predict.spec import parse_spec, predictor_from
from heartfelt.predict.task import cases

# Every module below registers its predictor; none of them loads a heavy library before it is used.
_HOMES = (
    "endpoint",
    "file",
    "sham",
    "constant",
    "system_mean",
    "intent",
    "human",
    "call",
    "clap",
    "clip",
    "chat",
    "speech_mos",
    "valence_arousal",
)
for _home in _HOMES:
    if find_spec(f"heartfelt.predict.{_home}") is not None:
        import_module(f"heartfelt.predict.{_home}")

__all__ = [
    "ENGINES",
    "PREDICTIONS",
    "PREDICTORS",
    "Ask",
    "Case",
    "Engine",
    "Interrupted",
    "Media",
    "Prediction",
    "Predictor",
    "Retry",
    "Run",
    "RunOptions",
    "Transient",
    "answer_names",
    "answer_texts",
    "cases",
    "engines",
    "parse_spec",
    "predictor_from",
    "run",
    "user_cache",
]
