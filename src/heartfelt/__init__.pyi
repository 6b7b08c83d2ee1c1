from . import stats
from .api import analyze, bench, distances, fine_tune, label, plan, plot, predict, publish, screen, train
from .formats import export, read
from .snapshot import Snapshot, load

__version__: str
__all__ = [
    "Snapshot", "__version__", "analyze", "bench", "distances", "export", "fine_tune", "label", "load", "plan", "plot", "predict",
    "publish", "read", "screen", "stats", "train",
]  # fmt: skip
