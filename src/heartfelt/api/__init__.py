"""The public functions: each takes a snapshot, a panel, a path or a table, and returns a typed result.

``heartfelt.screen``, ``label``, ``analyze``, ``bench``, ``predict``, ``train``, ``publish`` and ``plot`` are these, and
``Snapshot`` has them as methods; ``heartfelt.plan`` comes before there are ratings, and takes a study folder. Their keywords are
the options of the stage's Options class, which is also where the flags of the command come from. The types in ``__init__.pyi`` are
generated from the same classes (``python scripts/write_stubs.py``).
"""

from importlib import import_module
from typing import Any

from heartfelt.arguments import keyword_function

FUNCTIONS = {
    "analyze": "heartfelt.api.ratings",
    "bench": "heartfelt.api.models",
    "distances": "heartfelt.api.models",
    "fine_tune": "heartfelt.api.models",
    "label": "heartfelt.api.ratings",
    "plan": "heartfelt.api.studies",
    "plot": "heartfelt.api.studies",
    "predict": "heartfelt.api.models",
    "publish": "heartfelt.api.studies",
    "screen": "heartfelt.api.ratings",
    "train": "heartfelt.api.models",
}
"""The module of each function."""
__all__ = sorted(FUNCTIONS)


def __getattr__(name: str) -> Any:
    if name not in FUNCTIONS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    function = keyword_function(getattr(import_module(FUNCTIONS[name]), name))
    globals()[name] = function
    return function


def __dir__() -> list[str]:
    return __all__
