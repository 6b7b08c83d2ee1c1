from . import stats
from .api import analyze, bench, label, plan, plot, predict, publish, screen, train
from .formats import export, read
from .scoring.set_distances.distance_function import distances
from .snapshot import Snapshot, load

__version__: str
__all__ = [
    "Snapshot", "__version__", "analyze", "bench", "distances", "export", "label", "load", "plan", "plot", "predict", "publish",
    "read", "screen", "stats", "train",
]  # fmt: skip
