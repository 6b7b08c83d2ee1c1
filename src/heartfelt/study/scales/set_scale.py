"""Scales for sets and for whole clips: an answer that concerns several stimuli at once, or every moment of one.

``read_set`` turns an answer about a set into the value of each judged member. Members are numbered from 0 in the order
the rater saw them:

| scale | answer | value of a member |
|---|---|---|
| choice | the member chosen, or "tie" | 1 chosen, 0 not, 0.5 in a tie |
| preference | a number; positive in favour of the second | positive in its favour, negative against it |
| grade | a number for each member | the number |
| rank | the members, best first | 1 for the best |
| best-worst | the best and the worst | 1, -1, 0 |
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

from pydantic import Field, model_validator

from heartfelt.errors import InputError
from heartfelt.study.model import Text
from heartfelt.study.scales.answer import Coded, Level, Scale, read_number

BANDS = ("Bad", "Poor", "Fair", "Good", "Excellent")
"""The verbal bands of ITU-R BS.1534, twenty points each."""
TIE = "tie"
"""The answer that there is no difference."""
LONGEST_TRACE = 100_000


class SetScale(Scale):
    """A scale on which the members of a set are judged together."""

    level: ClassVar[Level] = "comparison"
    whole: ClassVar[bool] = False
    fits: ClassVar[frozenset[str]]
    """The types of sets it is for."""

    def read(self, answer: Any) -> Coded:
        """Accept the value of a single member, as a table of ratings holds it."""
        number, bounds = read_number(answer), self.bounds()
        if number is None or (bounds is not None and not bounds[0] <= number <= bounds[1]):
            raise self._off(answer, "numbers" if bounds is None else f"{bounds[0]:g} to {bounds[1]:g}")
        return number, None

    def instructed(self, answer: Any) -> Coded:
        """Only an answer that is one number can be asked for."""
        raise InputError(
            f"An attention trial cannot ask for '{answer}': its scale takes more than one number.",
            "Ask it about a question on another scale, or leave the probe out.",
        )

    def read_set(self, answer: Any, members: int) -> list[float]:
        """The value of each of so many judged members, or an error that says what is allowed."""
        raise NotImplementedError

    def _member(self, answer: Any, members: int) -> int:
        number = read_number(answer)
        if number is None or number != int(number) or not 0 <= number < members:
            raise self._off(answer, f"one of the {members} members, counted from 0")
        return int(number)


class Choice(SetScale):
    """Which of two: a choice, with or without ties."""

    about: ClassVar[str] = "which of two, with or without ties"
    fits: ClassVar[frozenset[str]] = frozenset({"pair", "ab", "abx"})
    type: Literal["choice"]
    ties: bool = Field(default=False, description="whether raters may answer that there is no difference")
    tie_text: Text = Field(default="No difference", description="what the button for a tie says")

    def bounds(self) -> tuple[float, float]:
        return 0.0, 1.0

    def instructed(self, answer: Any) -> Coded:
        """Accept the place of a member, from 1, or "tie" where ties are offered."""
        if answer == TIE and self.ties:
            return None, f'"{TIE}"'
        position = read_number(answer)
        if position not in {1.0, 2.0}:
            raise self._off(answer, f"1 for the first, 2 for the second{', tie' if self.ties else ''}")
        return position, None

    def read_set(self, answer: Any, members: int) -> list[float]:
        if answer == TIE:
            if not self.ties:
                raise self._off(answer, "one of the members; this scale has no ties")
            return [0.5] * members
        chosen = self._member(answer, members)
        return [float(member == chosen) for member in range(members)]


class Preference(SetScale):
    """How much better one of two is, as in a CMOS test."""

    about: ClassVar[str] = "how much better one of two is, such as -3 to +3"
    fits: ClassVar[frozenset[str]] = frozenset({"pair", "ab"})
    type: Literal["preference"]
    steps: int = Field(default=3, ge=1, le=10, description="grades on each side of 'about the same'")
    anchors: dict[int, Text] = Field(
        default={0: "About the same", 1: "Slightly better", 2: "Better", 3: "Much better"},
        description="words at a grade: 0 for the same, higher for a larger difference",
    )

    @model_validator(mode="after")
    def _anchors_on_scale(self) -> Preference:
        for grade in self.anchors if "anchors" in self.model_fields_set else ():
            if not 0 <= grade <= self.steps:
                raise ValueError(f"there is no grade {grade} on a scale with {self.steps} steps to each side")
        return self

    def bounds(self) -> tuple[float, float]:
        return -float(self.steps), float(self.steps)

    def instructed(self, answer: Any) -> Coded:
        return self.read_set(answer, 2)[1], None

    def read_set(self, answer: Any, members: int) -> list[float]:
        """Accept a whole number; positive favours the second member."""
        grade = read_number(answer)
        if grade is None or grade != int(grade) or abs(grade) > self.steps or members != 2:
            raise self._off(answer, f"whole numbers from {-self.steps} to {self.steps}")
        return [0.0 - grade, grade + 0.0]


class Grade(SetScale):
    """A number for every member: 0 to 100 in five verbal bands, as in MUSHRA."""

    level: ClassVar[Level] = "interval"
    about: ClassVar[str] = "a grade for every member of a set, such as 0 to 100 in five bands"
    fits: ClassVar[frozenset[str]] = frozenset({"mushra", "pair", "ab", "ranking"})
    type: Literal["grade"]
    low: float = 0.0
    high: float = 100.0
    step: float = Field(default=1.0, gt=0, description="the smallest difference between two grades")
    bands: list[Text] = Field(default=list(BANDS), min_length=2, max_length=10, description="words from low to high")

    @model_validator(mode="after")
    def _ordered(self) -> Grade:
        if self.low >= self.high:
            raise ValueError("low must be below high")
        return self

    def bounds(self) -> tuple[float, float]:
        return self.low, self.high

    def read_set(self, answer: Any, members: int) -> list[float]:
        if not isinstance(answer, list | tuple) or len(answer) != members:
            raise self._off("this", f"a list with one grade for each of the {members} members")
        return [float(self.read(grade)[0] or 0.0) for grade in answer]


class Ranking(SetScale):
    """An order of the set, best first."""

    about: ClassVar[str] = "an order of the set, best first"
    fits: ClassVar[frozenset[str]] = frozenset({"ranking", "pair", "ab"})
    type: Literal["rank"]
    best: Text = Field(default="Best", description="what the upper end is called")
    worst: Text = Field(default="Worst", description="what the lower end is called")

    def read(self, answer: Any) -> Coded:
        rank = read_number(answer)
        if rank is None or rank < 1:
            raise self._off(answer, "ranks from 1 for the best")
        return rank, None

    def read_set(self, answer: Any, members: int) -> list[float]:
        listed = isinstance(answer, Sequence) and not isinstance(answer, str)
        order = [self._member(member, members) for member in answer] if listed else []
        if sorted(order) != list(range(members)):
            raise self._off("this", f"each of the {members} members once, best first")
        return [float(order.index(member) + 1) for member in range(members)]


class BestWorst(SetScale):
    """The best and the worst of the set."""

    about: ClassVar[str] = "the best and the worst of a set"
    fits: ClassVar[frozenset[str]] = frozenset({"best-worst", "ranking"})
    type: Literal["best-worst"]
    best: Text = Field(default="Best", description="what the best is called, such as 'Happiest'")
    worst: Text = Field(default="Worst", description="what the worst is called, such as 'Least happy'")

    def bounds(self) -> tuple[float, float]:
        return -1.0, 1.0

    def read(self, answer: Any) -> Coded:
        """Accept -1, 0 and 1, or the words "best" and "worst", as a table of ratings holds them."""
        words = {"best": 1.0, "worst": -1.0}
        return super().read(words.get(str(answer).strip().casefold(), answer))

    def read_set(self, answer: Any, members: int) -> list[float]:
        """Accept two different members, as ``{"best": member, "worst": member}``."""
        if not isinstance(answer, Mapping) or set(answer) != {"best", "worst"}:
            raise self._off("this", "a best and a worst member")
        best, worst = (self._member(answer[end], members) for end in ("best", "worst"))
        if best == worst:
            raise self._off("this", "two different members as best and worst")
        return [float(member == best) - float(member == worst) for member in range(members)]


class Trace(Scale):
    """A course over time, sampled while the clip plays. As a rating its value is the mean over the clip."""

    level: ClassVar[Level] = "interval"
    whole: ClassVar[bool] = False
    about: ClassVar[str] = "a course over time, sampled while the clip plays"
    type: Literal["trace"]
    low: float = -1.0
    high: float = 1.0
    rate: float = Field(default=10.0, gt=0, le=50, description="samples per second")
    low_text: Text = Field(default="", description="what the lower end is called")
    high_text: Text = Field(default="", description="what the upper end is called")

    @model_validator(mode="after")
    def _ordered(self) -> Trace:
        if self.low >= self.high:
            raise ValueError("low must be below high")
        return self

    def bounds(self) -> tuple[float, float]:
        return self.low, self.high

    def instructed(self, answer: Any) -> Coded:
        raise InputError(
            f"An attention trial cannot ask for '{answer}': its scale is a trace.",
            "Ask it about a question on another scale, or leave the probe out.",
        )

    def read(self, answer: Any) -> Coded:
        """Accept samples, of which it gives the mean, or a number, which is such a mean."""
        if isinstance(answer, Mapping | list):
            recorded = [sample for sample in self.read_samples(answer) if sample is not None]
            return math.fsum(recorded) / len(recorded), None
        return self._read_number(answer), None

    def read_samples(self, answer: Any) -> list[float | None]:
        """The samples, one every 1 / ``rate`` seconds from the start of the clip; None where there is none.

        There is none while the tab was in the background, and before the rater moved for the first time.
        """
        samples = answer.get("samples") if isinstance(answer, Mapping) else answer
        if not isinstance(samples, list) or not samples or len(samples) > LONGEST_TRACE:
            raise self._off("this", f"1 to {LONGEST_TRACE} samples taken while the clip plays")
        out = [None if sample is None else self._read_number(sample) for sample in samples]
        if all(sample is None for sample in out):
            raise InputError("The trace has no sample.", "Move the marker while the clip plays.")
        return out

    def _read_number(self, answer: Any) -> float:
        number = read_number(answer)
        if number is None or not self.low <= number <= self.high:
            raise self._off(answer, f"numbers from {self.low:g} to {self.high:g}")
        return number
