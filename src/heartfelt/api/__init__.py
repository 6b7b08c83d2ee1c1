"""The public functions: each takes a snapshot, a panel, a path or a table, and returns a typed result.

``heartfelt.screen``, ``label``, ``analyze``, ``bench``, ``predict``, ``train``, ``publish`` and ``plot`` are these, and
``Snapshot`` has them as methods; ``heartfelt.plan`` comes before there are ratings, and takes a study folder. Their keywords are
the options of the stage's Options class, which is also where the flags of the command come from. The types in ``__init__.pyi`` are
generated from the same classes (``python scripts/write_options.py``).
"""

from importlib import import_module
from typing import Any

from heartfelt.arguments import keyword_function

FUNCTIONS = {
    "analyze": "heartfelt.api.ratings",
    "bench": "heartfelt.api.models",
    "choose_intents": "heartfelt.stimuli.prompts.intents",
    "convey": "heartfelt.scoring.conveyance.clips",
    "distances": "heartfelt.api.models",
    "draft": "heartfelt.api.stimuli",
    "experiment": "heartfelt.api.experiments",
    "fine_tune": "heartfelt.api.models",
    "label": "heartfelt.api.ratings",
    "make": "heartfelt.api.stimuli",
    "plan": "heartfelt.api.studies",
    "plot": "heartfelt.api.studies",
    "predict": "heartfelt.api.models",
    "prepare": "heartfelt.api.stimuli",
    "publish": "heartfelt.api.studies",
    "score_pinned": "heartfelt.scoring.bench.pinned",
    "screen": "heartfelt.api.ratings",
    "send": "heartfelt.publishing.deposits.deposit",
    "serve": "heartfelt.web.serving.serve",
    "serve_predictor": "heartfelt.web.predictor_server",
    "simulate_collection": "heartfelt.collect.simulation",
    "start_study": "heartfelt.stimuli.starter",
    "train": "heartfelt.api.models",
    "words": "heartfelt.api.texts",
    "write_site": "heartfelt.report.site.write",
    "write_view": "heartfelt.report.site.viewer.write",
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
