"""Packages under the names they had until version 0.8: importing one works for another release, with a warning."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType

MOVED = {
    "heartfelt.make": "heartfelt.stimuli",
    "heartfelt.generation": "heartfelt.stimuli",
    "heartfelt.models": "heartfelt.predictors.weights",
    "heartfelt.drafts": "heartfelt.predictors.drafts",
    "heartfelt.benchmark": "heartfelt.scoring.bench",
    "heartfelt.conveyance": "heartfelt.scoring.conveyance",
    "heartfelt.finetuning": "heartfelt.training.finetuning",
    "heartfelt.experiments": "heartfelt.training.experiments",
    "heartfelt.site": "heartfelt.report.site",
    "heartfelt.challenge": "heartfelt.web.challenge",
}


class FormerNames:
    """Finds a package under its former name and loads the present one in its place."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """A spec for a former name, else nothing."""
        del path, target
        return ModuleSpec(name, self) if name in MOVED else None  # type: ignore[arg-type]  # it loads by the two methods below

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """An empty module: its names are those of the present package."""
        return ModuleType(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Warn, and look names up in the present package."""
        name = module.__name__
        warnings.warn(f"{name} is now {MOVED[name]}.", DeprecationWarning, stacklevel=2)
        present = import_module(MOVED[name])
        vars(module)["__getattr__"] = lambda attribute: getattr(present, attribute)


def find_former_names() -> None:
    """Let packages be imported under their former names."""
    sys.meta_path.append(FormerNames())
