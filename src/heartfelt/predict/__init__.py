"""Predictors: what a machine says of a stimulus, asked of any model, with every failure kept as a row."""

# Every module registers its predictor; none of them loads a heavy library before it is used.
from heartfelt.predict import (
    call,
    chat,
    clap,
    clip,
    constant,
    endpoint,
    engines,
    file,
    human,
    intent,
    sham,
    speech_mos,
    system_mean,
    trained,
    valence_arousal,
)
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
    "call",
    "cases",
    "chat",
    "clap",
    "clip",
    "constant",
    "endpoint",
    "engines",
    "file",
    "human",
    "intent",
    "parse_spec",
    "predictor_from",
    "run",
    "sham",
    "speech_mos",
    "system_mean",
    "trained",
    "user_cache",
    "valence_arousal",
]
