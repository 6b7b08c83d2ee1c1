from .models import bench, predict, train
from .ratings import analyze, label, screen, snapshot_of
from .studies import plan, plot, publish

__all__ = [
    "analyze",
    "bench",
    "label",
    "plan",
    "plot",
    "predict",
    "publish",
    "screen",
    "snapshot_of",
    "train",
]
