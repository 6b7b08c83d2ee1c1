"""heartfelt: find out what generated media makes people feel, and how well a machine can tell.

``read`` takes in published data or a table and ``load`` a snapshot folder; ``screen``, ``label``, ``analyze``, ``bench``,
``predict``, ``train`` and ``plot`` work on them (see docs/notebook.md); ``stats`` works on plain arrays.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from heartfelt import stats
    from heartfelt.api import analyze, bench, label, plot, predict, screen, train
    from heartfelt.formats import export, read
    from heartfelt.snapshot import Snapshot, load

__version__ = "0.3.0"
__all__ = [
    "Snapshot", "__version__", "analyze", "bench", "export", "label", "load", "plot", "predict", "read", "screen", "stats",
    "train",
]  # fmt: skip

_HOMES = {
    "read": "heartfelt.formats",
    "export": "heartfelt.formats",
    "load": "heartfelt.snapshot",
    "Snapshot": "heartfelt.snapshot",
    **dict.fromkeys(("analyze", "bench", "label", "plot", "predict", "screen", "train"), "heartfelt.api"),
}


def __getattr__(name: str) -> Any:
    """Load a name when it is first used, so that importing heartfelt stays quick."""
    if name == "stats":
        return import_module("heartfelt.stats")
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'heartfelt' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted(__all__)
