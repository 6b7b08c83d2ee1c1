"""The same for every stimulus: a given value, or the mean or majority of other items' labels.

The labels are those of the other half of the stimuli, split by name, and of all questions of one kind together: an emotion or
a task type that is part of the question would tell too much. Leaving out only the item itself would give a mean that
falls exactly where the label rises (a correlation of -1) and, in balanced classes, a majority that is always wrong.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from heartfelt.errors import InputError
from heartfelt.predictors.left_out import FromLabels, OtherLabels, other_half
from heartfelt.predictors.predictor import PREDICTORS, Ask, Case, Prediction


class Constant(FromLabels):
    """What can be reached without looking."""

    name: ClassVar[str] = "constant"
    about: ClassVar[str] = (
        "one value for every stimulus: a given one, or the mean or majority of other items' labels"
    )
    argument: ClassVar[str] = (
        "the value or category; the mean or majority of the other half's labels if left out"
    )

    def __init__(self, given: str = "") -> None:
        super().__init__()
        self._given = given

    @classmethod
    def make(cls, argument: str = "", options: Mapping[str, str] | None = None) -> Constant:
        """From the value, or from nothing."""
        del options
        return cls(argument)

    @property
    def identity(self) -> str:
        """The value, or the labels it was learnt from."""
        return f"constant {self._given}" if self._given else super().identity

    def predict(self, cases: Sequence[Case]) -> list[list[Prediction]]:
        """The same for all, question by question."""
        if self._given:
            return [[_on_scale(self._given, ask) for ask in case.asks] for case in cases]
        return super().predict(cases)

    def one(self, labels: OtherLabels, case: Case, ask: Ask) -> Prediction:
        """From the labels of the other half."""
        group = labels.of("half", case, ask, other_half(case.stimulus))
        if group is None:
            return Prediction.failed("no item in the other half of the stimuli has a label for this question")
        return group.prediction(ask.scale, f"from {group.n} labels of the other half of the stimuli")


def _on_scale(given: str, ask: Ask) -> Prediction:
    """A given value; between two points of a scale is fine."""
    if ask.scale.level == "text":
        return Prediction(answer=given)
    try:
        if not ask.scale.labels():
            number, limits = float(given), ask.scale.bounds() or (float("-inf"), float("inf"))
            if limits[0] <= number <= limits[1]:
                return Prediction(value=number)
            return Prediction.failed(f"{given} is not on the scale from {limits[0]:g} to {limits[1]:g}")
        value, answer = ask.scale.read(given)
    except (InputError, ValueError):
        return Prediction.failed(f"'{given}' is not on the scale of this question")
    return Prediction(value=value, answer=answer)


PREDICTORS.add(Constant.name, Constant)
