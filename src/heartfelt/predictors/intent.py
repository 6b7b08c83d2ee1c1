"""The mean (or majority) of the labels in the same cell of system and intent: what knowing only the cell gives.

The item's own label is left out. A cell without other labels falls back on the intent, then the system, then everything, and
the note says so. Within a cell, predictions fall where labels rise, since each leaves its own out: scores within cells say
nothing about this predictor.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from heartfelt.predictors.left_out import FromLabels, OtherLabels
from heartfelt.predictors.predictor import PREDICTORS, Ask, Case, Prediction


class Intent(FromLabels):
    """What knowing only the system and the intent gives."""

    name: ClassVar[str] = "intent"
    about: ClassVar[str] = "the mean or majority of the other labels in the same cell of system and intent"

    @classmethod
    def make(cls, argument: str = "", options: Mapping[str, str] | None = None) -> Intent:
        """There is nothing to set."""
        del argument, options
        return cls()

    def one(self, labels: OtherLabels, case: Case, ask: Ask) -> Prediction:
        """From the same cell's other stimuli."""
        if case.intent is None:
            return Prediction.failed("the stimulus has no intent")
        places: tuple[tuple[str, tuple[str | None, ...], str], ...] = (
            ("cell", (case.system, case.intent), f"{case.system}, {case.intent}"),
            ("intent", (case.intent,), f"{case.intent}, whatever the system"),
            ("system", (case.system,), f"{case.system}, whatever the intent"),
            ("all", (), "all stimuli"),
            ("family", (), "all questions of its kind"),
        )
        for kind, values, words in places:
            group = labels.of(kind, case, ask, *values)
            if group is not None:
                return group.prediction(ask.scale, f"from {group.n} other labels of {words}")
        return Prediction.failed("no other item has a label for this question")


PREDICTORS.add(Intent.name, Intent)
