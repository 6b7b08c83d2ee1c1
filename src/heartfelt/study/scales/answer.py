"""What every form of answer can do: read an answer, name its categories, state its limits.

Every scale turns an answer into the pair a rating stores: ``value`` (a number: the point, the category's code, or
none for free text) and ``answer`` (the words, where the number alone does not say it). ``level`` is the level of
measurement that statistics may assume; the values of a ``comparison`` mean something only beside those of the other
stimuli in the same trial.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar, Literal, TypeAlias

from heartfelt.errors import InputError
from heartfelt.study.model import Part

Level: TypeAlias = Literal["nominal", "ordinal", "interval", "text", "comparison"]
Coded: TypeAlias = tuple[float | None, str | None]
NONE = "(none)"
"""The stored ``answer`` of a rater who said that there is nothing to answer (no face, no action); its value is none.

It counts as an answer: it is neither missing nor a number, and a set of tags it stands for is empty.
"""
REJECTED = "(rejected)"
"""In place of a first answer, for a machine's value that was rejected at first."""


class Scale(Part):
    """What every form of answer can do."""

    level: ClassVar[Level]
    about: ClassVar[str]
    whole: ClassVar[bool] = True
    """Whether values are whole numbers only."""

    @property
    def has_values(self) -> bool:
        """Whether an answer is a value of one stimulus, as for a label; texts and comparisons are not."""
        return self.level not in {"text", "comparison"}

    def read(self, answer: Any) -> Coded:
        """Return ``(value, answer)`` for what a rater gave, or raise with the allowed answers."""
        raise NotImplementedError

    def instructed(self, answer: Any) -> Coded:
        """What is stored if a rater gives the answer that an attention trial asks for."""
        return self.read(answer)

    def codes(self) -> dict[str, float]:
        """The code of each category; empty for scales without categories."""
        return {}

    def labels(self) -> dict[float, str]:
        """The category behind each code; empty for scales without categories."""
        return {value: name for name, value in self.codes().items()}

    def bounds(self) -> tuple[float, float] | None:
        """The lowest and highest value or code, where there are such."""
        values = self.codes().values()
        return (min(values), max(values)) if values else None

    def _off(self, answer: Any, allowed: str) -> InputError:
        return InputError(f"'{answer}' is not on the scale.", f"Allowed: {allowed}.")


def read_number(answer: Any) -> float | None:
    """A finite number, also one with a decimal comma; None for anything else."""
    if isinstance(answer, bool):
        return None
    try:
        number = float(str(answer).strip().replace(",", "."))
    except ValueError:
        return None
    return number if math.isfinite(number) else None
