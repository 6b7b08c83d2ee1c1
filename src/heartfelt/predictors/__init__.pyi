from .answers.texts import answer_names, answer_texts
from .execution.engines import ENGINES, Engine
from .execution.store import user_cache
from .execution.work import Retry
from .files.media_files import FILE_PREDICTIONS, FileRun, predict_files
from .interface.predictor import (
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
from .interface.spec import parse_spec, predictor_from
from .options import FileOptions, RunOptions
from .running import Run, run
from .task import cases

__all__ = [
    "ENGINES", "FILE_PREDICTIONS", "PREDICTIONS", "PREDICTORS", "Ask", "Case", "Engine", "FileOptions", "FileRun", "Media",
    "Prediction", "Predictor", "PredictorInfo", "Retry", "Run", "RunOptions", "TransientError", "answer_names", "answer_texts",
    "cases", "parse_spec", "predict_files", "predictor_from", "run", "user_cache",
]  # fmt: skip
