from .asking import Retry
from .engines import ENGINES, Engine
from .predictor import (
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
from .running import Run, RunOptions, run
from .spec import parse_spec, predictor_from
from .store import user_cache
from .task import cases
from .texts import answer_names, answer_texts

__all__ = [
    "ENGINES", "PREDICTIONS", "PREDICTORS", "Ask", "Case", "Engine", "Media", "Prediction", "Predictor",
    "PredictorInfo", "Retry", "Run", "RunOptions", "TransientError", "answer_names", "answer_texts", "cases", "parse_spec",
    "predictor_from", "run", "user_cache",
]  # fmt: skip
