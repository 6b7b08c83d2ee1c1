"""Scales: the forms an answer about one stimulus can take, and the registry of all scales."""

from __future__ import annotations

import math
import re
from collections import Counter
from typing import Annotated, Any, ClassVar, Literal, TypeAlias, get_args

from pydantic import Field, model_validator

from heartfelt.errors import InputError, suggestion
from heartfelt.registry import Registry
from heartfelt.study.model import ExtendedPart, Id, Part, Text
from heartfelt.study.scales.answer import Coded, Level, Scale, read_number
from heartfelt.study.scales.set_scale import BestWorst, Choice, Grade, Preference, Ranking, Trace


class Points(Scale):
    """Points in a row with words, and pictures if wanted, at some of them."""

    level: ClassVar[Level] = "interval"
    about: ClassVar[str] = "points in a row, with anchors and pictures"
    type: Literal["points"]
    points: int = Field(ge=2, le=101, description="how many points")
    first: int = Field(default=1, description="the number of the first point")
    anchors: dict[int, Text] = Field(default={}, description="words at a point")
    pictures: str | dict[int, str] | None = Field(
        default=None, description="a built-in picture set (sam-valence, sam-arousal) or a file a point"
    )

    @model_validator(mode="after")
    def _anchors_on_scale(self) -> Points:
        pictures = self.pictures if isinstance(self.pictures, dict) else {}
        for point in (*self.anchors, *pictures):
            if not self.first <= point <= self.last:
                raise ValueError(f"there is no point {point} on a scale from {self.first} to {self.last}")
        return self

    @property
    def last(self) -> int:
        return self.first + self.points - 1

    def bounds(self) -> tuple[float, float]:
        return float(self.first), float(self.last)

    def read(self, answer: Any) -> Coded:
        number = read_number(answer)
        if number is None or number != int(number) or not self.first <= number <= self.last:
            raise self._off(answer, f"whole numbers from {self.first} to {self.last}")
        return number, None


class Numeric(ExtendedPart, Scale):
    """Any number, within limits if there are such."""

    later_keys: ClassVar[tuple[str, ...]] = ("anchors",)
    level: ClassVar[Level] = "interval"
    about: ClassVar[str] = "a number, such as a slider"
    whole: ClassVar[bool] = False
    type: Literal["numeric"]
    low: float | None = None
    high: float | None = None
    step: float | None = Field(default=None, gt=0)
    unit: str | None = None
    anchors: dict[float, Text] = Field(
        default={}, description="words at places of the slider, such as its ends and its middle; needs low and high"
    )

    @model_validator(mode="after")
    def _ordered(self) -> Numeric:
        if self.low is not None and self.high is not None and self.low >= self.high:
            raise ValueError("low must be below high")
        if self.anchors and self.bounds() is None:
            raise ValueError("anchors need a slider. Give both low and high, or leave the anchors out")
        for point in self.anchors:
            if self.low is not None and self.high is not None and not self.low <= point <= self.high:
                raise ValueError(f"there is no {point:g} on a scale from {self.low:g} to {self.high:g}")
        return self

    def bounds(self) -> tuple[float, float] | None:
        return None if self.low is None or self.high is None else (self.low, self.high)

    def read(self, answer: Any) -> Coded:
        number = read_number(answer)
        low = -math.inf if self.low is None else self.low
        high = math.inf if self.high is None else self.high
        if number is None or not low <= number <= high:
            raise self._off(answer, f"numbers from {low:g} to {high:g}")
        return number, None


class Tag(Part):
    """One tag: its id is what data files hold, its text is what raters read."""

    id: Id
    text: Text | None = None


class Category(Tag):
    """One category: its id is what data files hold, its text is what raters read."""

    value: float | None = Field(default=None, description="the code to store; its place in the list if left out")


class _Categories(Scale):
    categories: list[Category | Id] = Field(min_length=2)

    @model_validator(mode="after")
    def _distinct(self) -> _Categories:
        codes = self.codes()
        if len(codes) < len(self.categories) or len(set(codes.values())) < len(codes):
            raise ValueError("two categories share an id or a value")
        return self

    def codes(self) -> dict[str, float]:
        """The code of each category id: its own, or its place in the list."""
        out: dict[str, float] = {}
        for index, category in enumerate(self.categories):
            name, value = (category, None) if isinstance(category, str) else (category.id, category.value)
            out[name] = float(index) if value is None else value
        return out

    def read(self, answer: Any) -> Coded:
        """Accept a category's id, or its code."""
        codes = self.codes()
        name = str(answer)
        if name in codes:
            return codes[name], name
        number = read_number(answer)
        labels = self.labels()
        if number is not None and number in labels:
            return number, labels[number]
        raise InputError(f"'{answer}' is not a category of the scale.", suggestion(name, codes, "Allowed"))


class Ordered(_Categories):
    """Categories with an order, lowest first."""

    level: ClassVar[Level] = "ordinal"
    about: ClassVar[str] = "categories in order, such as not, weakly, strongly present"
    type: Literal["ordered"]


class Categories(_Categories):
    """Categories without an order."""

    level: ClassVar[Level] = "nominal"
    about: ClassVar[str] = "categories without an order, such as eight emotions"
    type: Literal["categories"]


class YesNo(Scale):
    """Yes or no; yes is 1."""

    level: ClassVar[Level] = "nominal"
    about: ClassVar[str] = "yes or no"
    type: Literal["yes-no"]
    yes: Text = "Yes"
    no: Text = "No"

    def codes(self) -> dict[str, float]:
        return {"no": 0.0, "yes": 1.0}

    def read(self, answer: Any) -> Coded:
        word = str(answer).strip().casefold()
        if word in {"yes", "true", "1", "1.0"}:
            return 1.0, "yes"
        if word in {"no", "false", "0", "0.0"}:
            return 0.0, "no"
        raise self._off(answer, "yes or no")


HAN = r"\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_WORD = re.compile(rf"[{HAN}]|[^\s{HAN}]+")


def count_words(text: str) -> int:
    """How many words a text has; Chinese and Japanese, which put no space between words, count by the character."""
    return len(_WORD.findall(text))


class FreeText(ExtendedPart, Scale):
    """Words of the rater's own."""

    later_keys: ClassVar[tuple[str, ...]] = ("min_characters", "max_characters", "rows")
    level: ClassVar[Level] = "text"
    about: ClassVar[str] = "free text, such as a caption or a reason"
    type: Literal["text"]
    min_words: int = Field(default=0, ge=0)
    max_words: int | None = Field(default=None, ge=1)
    min_characters: int = Field(default=0, ge=0)
    max_characters: int | None = Field(default=None, ge=1)
    rows: int | None = Field(default=None, ge=1, le=40, description="lines the field shows at first")

    @model_validator(mode="after")
    def _possible(self) -> FreeText:
        for unit in ("words", "characters"):
            least, most = getattr(self, f"min_{unit}"), getattr(self, f"max_{unit}")
            if most is not None and least > most:
                raise ValueError(f"min_{unit} cannot exceed max_{unit}")
        return self

    def read(self, answer: Any) -> Coded:
        """Accept text of an allowed length; spaces around it do not count."""
        text = str(answer)
        for unit, size, least, most in (
            ("words", count_words(text), self.min_words, self.max_words),
            ("characters", len(text.strip()), self.min_characters, self.max_characters),
        ):
            if size < least or (most is not None and size > most):
                raise self._off(text, f"{least} to {most or 'any number of'} {unit}")
        return None, text


class Tags(ExtendedPart, Scale):
    """Any number of short labels, from a list or freely."""

    later_keys: ClassVar[tuple[str, ...]] = ("suggestions",)
    level: ClassVar[Level] = "text"
    about: ClassVar[str] = "any number of tags, from a list or freely"
    type: Literal["tags"]
    tags: list[Tag | Id] = Field(default=[], description="tags to choose from, each an id or an id with a text")
    open: bool = Field(default=True, description="whether raters may add tags of their own")
    separator: str = Field(default=";", min_length=1, max_length=1)
    suggestions: list[Tag | Id] = Field(
        default=[], description="further tags, offered while raters type; also where open is false"
    )

    @model_validator(mode="after")
    def _distinct(self) -> Tags:
        doubled = [name for name, times in Counter(self.names).items() if times > 1]
        if doubled:
            raise ValueError(f"two tags are called '{doubled[0]}'")
        split = [name for name in self.names if self.separator in name]
        if split:
            raise ValueError(f"the tag '{split[0]}' holds the separator '{self.separator}'")
        return self

    @property
    def names(self) -> list[str]:
        """The ids of the tags to choose from, suggestions included."""
        return [tag if isinstance(tag, str) else tag.id for tag in (*self.tags, *self.suggestions)]

    def read(self, answer: Any) -> Coded:
        """Accept a list of tags, or one text with the separator between them."""
        parts = answer if isinstance(answer, list | tuple) else str(answer).split(self.separator)
        names = [str(part).strip() for part in parts if str(part).strip()]
        if not self.open:
            vocabulary = frozenset(self.names)
            for name in names:
                if name not in vocabulary:
                    raise InputError(f"'{name}' is not a tag of the scale.", suggestion(name, self.names, "Allowed"))
        return None, self.separator.join(names)


AnyScale: TypeAlias = Annotated[
    Points
    | Numeric
    | Ordered
    | Categories
    | YesNo
    | FreeText
    | Tags
    | Choice
    | Preference
    | Grade
    | Ranking
    | BestWorst
    | Trace,
    Field(discriminator="type"),
]
SCALES: Registry[type[Scale]] = Registry("scale")
for _scale in get_args(get_args(AnyScale)[0]):
    SCALES.add(get_args(_scale.model_fields["type"].annotation)[0], _scale)
