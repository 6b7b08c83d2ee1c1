"""Packages, modules and classes under their names of version 0.8: importing one works for another release, with a warning."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

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
    # Modules that the documentation of 0.8 named.
    "heartfelt.collect.commands": "heartfelt.collect.messages.commands",
    "heartfelt.labels.courses": "heartfelt.labels.traces",
    "heartfelt.media.duplicates": "heartfelt.media.images.duplicates",
    "heartfelt.media.image": "heartfelt.media.images.image",
    "heartfelt.media.pixels": "heartfelt.media.images.pixels",
    "heartfelt.media.recordings": "heartfelt.media.sounds.recordings",
    "heartfelt.media.speech": "heartfelt.media.sounds.speech",
    "heartfelt.predictors.execution.calls": "heartfelt.predictors.interface.calls",
    "heartfelt.stats.association": "heartfelt.stats.prediction.association",
    "heartfelt.stats.clustered": "heartfelt.stats.reliability.clustered",
    "heartfelt.stats.comparison.hits": "heartfelt.stats.comparison.predicted.hits",
    "heartfelt.stats.comparison.pairing": "heartfelt.stats.comparison.strengths.pairing",
    "heartfelt.stats.contingency": "heartfelt.stats.groups.contingency",
    "heartfelt.stats.discriminant": "heartfelt.stats.groups.discriminant",
    "heartfelt.stats.diversity": "heartfelt.stats.texts.diversity",
    "heartfelt.stats.jackknife": "heartfelt.stats.prediction.jackknife",
    "heartfelt.stats.learning_curve": "heartfelt.stats.prediction.learning_curve",
    "heartfelt.stats.probability": "heartfelt.stats.prediction.probability",
    "heartfelt.stats.reliability.number_ceiling": "heartfelt.stats.ceilings.number_ceiling",
    "heartfelt.stats.repeated": "heartfelt.stats.prediction.repeated",
    "heartfelt.stats.resample": "heartfelt.stats.prediction.resample",
    "heartfelt.stats.text": "heartfelt.stats.texts.text",
    "heartfelt.stats.trace_scores": "heartfelt.stats.traces.scores",
    "heartfelt.study.adjudication_rules": "heartfelt.study.parts.adjudication_rules",
    "heartfelt.study.design": "heartfelt.study.parts.design",
    "heartfelt.study.scale": "heartfelt.study.scales.scale",
    "heartfelt.study.set_scale": "heartfelt.study.scales.set_scale",
    "heartfelt.study.sets": "heartfelt.study.parts.sets",
    "heartfelt.web.rehearsal": "heartfelt.web.serving.rehearsal",
}
RENAMED = {
    "heartfelt.collect": {"Coverage": "StudyCoverage", "Forecast": "CompletionForecast"},
    "heartfelt.planning": {"Forecast": "StudyForecast", "Plan": "StudyPlan"},
    "heartfelt.report.site.viewer": {"Sample": "ViewerSample", "View": "RunView"},
    "heartfelt.scoring": {"Selection": "ItemSelection"},
    "heartfelt.scoring.conveyance": {"Conveyance": "PredictedConveyance", "Quadrants": "PredictedQuadrants"},
    "heartfelt.screening": {"Rule": "ScreeningRule"},
    "heartfelt.simulate": {"Conveyance": "ConveyanceProfile", "Simulated": "SimulatedRatings"},
    "heartfelt.stats.aggregate": {"Consensus": "CategoryConsensus"},
    "heartfelt.stats.agreement": {"PairAgreement": "RaterPairAgreement"},
    "heartfelt.stimuli": {"Forecast": "GenerationForecast", "Prompt": "StimulusPrompt"},
    "heartfelt.training": {"Material": "TrainingStimuli", "Recipe": "TrainingRecipe", "Score": "ProtocolScore"},
    "heartfelt.training.finetuning": {
        "Output": "QuestionOutput",
        "Settings": "FineTuneSettings",
        "Target": "FineTuneTarget",
        "Task": "FineTuneTask",
    },
}


class FormerNames:
    """Finds a package under its former name and loads the present one in its place."""

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
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


def with_former_names(package: str, find: Callable[[str], Any] | None = None) -> Callable[[str], Any]:
    """The ``__getattr__`` of a package that also finds what was renamed; ``find`` is the one it has."""
    former = RENAMED[package]

    def getattribute(name: str) -> Any:
        if name in former:
            warnings.warn(f"{package}.{name} is now {former[name]}.", DeprecationWarning, stacklevel=2)
            return getattr(sys.modules[package], former[name])
        if find is not None:
            return find(name)
        raise AttributeError(f"module '{package}' has no attribute '{name}'")

    return getattribute
