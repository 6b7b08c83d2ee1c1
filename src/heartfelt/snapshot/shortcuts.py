"""``snapshot.analyze()`` and the like: the functions of ``heartfelt.api`` as methods.

This is the only module that imports a package above its own, and only when a method is looked up: a snapshot is what people
hold in a notebook, and Tab should show what can be done with it, with every keyword. The types are in ``shortcuts.pyi``.
"""

from __future__ import annotations

from types import MethodType
from typing import Any

METHODS = ("screen", "label", "analyze", "bench", "distances", "predict", "train", "publish")


class _Method:
    """A public function with the snapshot as its first argument."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, snapshot: Any, owner: type | None = None) -> Any:
        from heartfelt import api

        function = getattr(api, self.name)
        return function if snapshot is None else MethodType(function, snapshot)


class Shortcuts:
    """What ``heartfelt`` offers for a snapshot, as methods with the same options."""

    screen = _Method("screen")
    label = _Method("label")
    analyze = _Method("analyze")
    bench = _Method("bench")
    distances = _Method("distances")
    predict = _Method("predict")
    train = _Method("train")
    publish = _Method("publish")
