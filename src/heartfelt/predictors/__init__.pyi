from .asking import Retry
from .engines import ENGINES, Engine
from .media_files import FILE_PREDICTIONS, FileRun, predict_files
from .options import FileOptions, RunOptions
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
from .running import Run, run
from .spec import parse_spec, predictor_from
from .store import user_cache
from .task import cases
from .texts import answer_names, answer_texts

__all__ = [
    "ENGINES", "FILE_PREDICTIONS", "PREDICTIONS", "PREDICTORS", "Ask", "Case", "Engine", "FileOptions", "FileRun", "Media",
    "Prediction", "Predictor", "PredictorInfo", "Retry", "Run", "RunOptions", "TransientError", "answer_names", "answer_texts",
    "cases", "parse_spec", "predict_files", "predictor_from", "run", "user_cache",
]  # fmt: skip
