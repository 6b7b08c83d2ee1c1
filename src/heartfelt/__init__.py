"""heartfelt: find out what generated media makes people feel, and how well a machine can tell.

``read`` takes in published data or a table, ``load`` a snapshot folder; ``plot`` draws a
figure of an analysis or a bench; ``stats`` works on plain arrays.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from heartfelt import stats
    from heartfelt.formats import export, read
    from heartfelt.report import plot
    from heartfelt.snapshot import Snapshot, load

__version__ = "0.2.0"
__all__ = ["Snapshot", "__version__", "export", "load", "plot", "read", "stats"]

_HOMES = {
    "read": "heartfelt.formats",
    "export": "heartfelt.formats",
    "load": "heartfelt.snapshot",
    "Snapshot": "heartfelt.snapshot",
    "plot": "heartfelt.report",
}


def __getattr__(name: str) -> Any:
    """Load what is asked for when it is first asked for, so that importing heartfelt stays quick."""
    if name == "stats":
        return import_module("heartfelt.stats")
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'heartfelt' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted(__all__)
