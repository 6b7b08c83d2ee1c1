from .bench import Bench, bench, model_info
from .options import BenchOptions

__all__ = ["Bench", "BenchOptions", "bench", "model_info"]
