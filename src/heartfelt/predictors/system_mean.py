"""The mean (or majority) of the labels of the same system's other stimuli: what knowing only the system gives."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from heartfelt.predictors.left_out import FromLabels, OtherLabels
from heartfelt.predictors.predictor import PREDICTORS, Ask, Case, Prediction


class SystemMean(FromLabels):
    """What knowing only the system gives."""

    name: ClassVar[str] = "system-mean"
    about: ClassVar[str] = "the mean or majority of the labels of the same system's other stimuli"

    @classmethod
    def make(cls, argument: str = "", options: Mapping[str, str] | None = None) -> SystemMean:
        """There is nothing to set."""
        del argument, options
        return cls()

    def one(self, labels: OtherLabels, case: Case, ask: Ask) -> Prediction:
        """From the same system's other stimuli."""
        if case.system is None:
            return Prediction.failed("the stimulus has no system")
        group = labels.of("system", case, ask, case.system)
        if group is not None:
            return group.prediction(ask.scale, f"from {group.n} other labels of {case.system}")
        group = labels.of("all", case, ask) or labels.of("family", case, ask)
        if group is None:
            return Prediction.failed("no other item has a label for this question")
        note = f"no other stimulus of {case.system} has a label; from all {group.n} others"
        return group.prediction(ask.scale, note)


PREDICTORS.add(SystemMean.name, SystemMean)
