"""How much a team may send to a challenge."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Annotated

from heartfelt.errors import InputError
from heartfelt.options import Option

_rules = partial(Option, panel="Rules")


@dataclass(frozen=True, slots=True, kw_only=True)
class SubmissionLimits:
    """How much each team may send."""

    per_day: Annotated[int, _rules("Submissions in 24 hours for each team.", low=1)] = 5
    in_all: Annotated[int, _rules("Submissions in all for each team.", low=1)] = 100

    def __post_init__(self) -> None:
        for name in ("per_day", "in_all"):
            if getattr(self, name) < 1:
                raise InputError(f"{name} must be at least 1.", "Give a number of submissions.")
