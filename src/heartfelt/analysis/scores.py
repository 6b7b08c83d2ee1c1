"""The stimuli of a question as the two-way intervals take them, with the scores that are averaged over them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from heartfelt.analysis.material import QuestionData
from heartfelt.analysis.two_way import Bools, Changes, Matrix, Stimuli, mean_changes, stimuli_of
from heartfelt.stats.triples import Floats, Ints

Outcome: TypeAlias = Literal["value", "signed", "absolute"]

NO_REFERENCE = "the stimuli have no reference to deviate from"
NO_MEAN = "the answers are categories without an order, which have no mean"
METHODS: dict[str, str] = {
    "value": "mean over stimuli of the mean rating",
    "signed": "mean over stimuli of the mean rating less its reference",
    "absolute": "mean over stimuli of the absolute deviation from the reference",
}


@dataclass(frozen=True, slots=True, eq=False)
class Scored:
    """A question's stimuli, their references, and where each belongs."""

    question: QuestionData
    data: Stimuli
    reference: Floats
    system: list[str | None]
    intent: list[str | None]
    quadrant: list[str | None]

    def where(self, column: str, name: str) -> Bools:
        """The stimuli of one system, intent or quadrant."""
        return np.array([value == name for value in getattr(self, column)], dtype=np.bool_)

    def changes(self, chosen: Bools, outcome: Outcome) -> Changes | str:
        """The mean of an outcome over the chosen stimuli."""
        if not self.question.numbers:
            return NO_MEAN
        if outcome == "value":
            return mean_changes(self.data, chosen, lambda mean, _: mean[:, 0])
        chosen = chosen & np.isfinite(self.reference)
        if not chosen.any():
            return NO_REFERENCE
        sized = outcome == "absolute"

        def deviation(mean: Matrix, at: Ints) -> Floats:
            apart = mean[:, 0] - self.reference[at]
            return np.abs(apart) if sized else apart

        return mean_changes(self.data, chosen, deviation)


def scored(question: QuestionData) -> Scored:
    """Lay out a question's stimuli."""
    items = question.items
    data = stimuli_of(items, [question.ratings], ["mean"], question.why_no_raters)
    reference = items["reference"].fill_null(np.nan).to_numpy().astype(np.float64)
    columns = [items[name].to_list() for name in ("system", "intent", "quadrant")]
    return Scored(question, data, reference, *columns)
