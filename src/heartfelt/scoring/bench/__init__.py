"""A benchmark of predictors: ask every model about everything that was rated, and score the answers."""

from heartfelt.scoring.bench.run import Bench, BenchOptions, bench, model_info

__all__ = ["Bench", "BenchOptions", "bench", "model_info"]
