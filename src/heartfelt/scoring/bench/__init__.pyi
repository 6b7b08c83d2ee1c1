from .options import BenchOptions
from .run import Bench, bench, model_info

__all__ = ["Bench", "BenchOptions", "bench", "model_info"]
