"""The history of a decision: what the senior rater saw, and what had been decided before."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from heartfelt.serialization import from_json


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownAnswer:
    """An answer that was shown without its rater: who gave it, and what they made of the machine's draft."""

    rater: str
    value: float | None = field(default=None, metadata={"omit": "none"})
    answer: str | None = field(default=None, metadata={"omit": "none"})
    verdict: str | None = field(default=None, metadata={"omit": "none"})
    excluded: bool = False
    """Whether the rater was excluded after the decision."""

    @property
    def words(self) -> float | str | None:
        """The answer in words, else its number; None where the draft was rejected."""
        return self.value if self.answer is None else self.answer


@dataclass(frozen=True, slots=True, kw_only=True)
class EarlierDecision:
    """A decision that a later one replaced; ``at`` is in seconds since 1970."""

    at: float
    by: str
    value: float | None = None
    answer: str | None = None
    comment: str | None = None


@dataclass(frozen=True, slots=True)
class AdjudicationHistory:
    """What a final value came from."""

    answers: tuple[ShownAnswer, ...] = ()
    erased: int = 0
    """Answers that were shown, of raters who were erased since."""
    draft: str | None = None
    decisions: tuple[EarlierDecision, ...] = ()

    @classmethod
    def read(cls, text: str) -> AdjudicationHistory:
        data: Any = json.loads(text)
        return from_json(cls, data)
