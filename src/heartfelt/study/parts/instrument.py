"""Instruments: published questionnaires with their items, and how their subscales are scored.

An item's number is what its scale stores, turned round (lowest plus highest less the number) where the item is reversed. A
subscale is the mean or the sum of its items; the sum of a person who left allowed items out is prorated (their mean times
the number of items). ``multiply`` and ``add`` bring the result to the published range, in that order.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BeforeValidator, Field, model_validator

from heartfelt.study.model import Id, Language, Part, Text
from heartfelt.study.scales.answer import read_number
from heartfelt.study.scales.scale import AnyScale

FORMS = ("before", "after")
"""The questionnaires that may use instruments."""


def _text_id(value: Any) -> Any:
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


ItemId: TypeAlias = Annotated[Id, BeforeValidator(_text_id)]
"""The id of an item; items are often numbered."""


class Norm(Part):
    """The scores of a published sample, to compare with."""

    population: str = Field(description="whose scores they are")
    mean: float
    sd: float = Field(gt=0)
    n: int = Field(ge=2)
    source: str = Field(description="where they were published")


class Subscale(Part):
    """One score of an instrument."""

    name: str | None = Field(default=None, description="its name in words; the key if left out")
    items: list[ItemId] = Field(min_length=1)
    score: Literal["mean", "sum"] = Field(default="mean", description="of its items, reversed ones turned round")
    allowed_missing: int = Field(
        default=0, ge=0, description="items that may be unanswered; there is no score beyond that"
    )
    multiply: float = Field(default=1.0, description="factor that brings the score to its published range")
    add: float = Field(default=0.0, description="added after multiplying")
    norms: list[Norm] = []


class InstrumentItem(Part):
    """One statement or question of an instrument."""

    id: ItemId
    text: Text
    reversed: bool = Field(default=False, description="whether agreement means a low score")
    scale: Id | None = Field(default=None, description="one of the instrument's scales; the first if left out")


class InstrumentLicence(Part):
    """On which terms an instrument may be used and passed on."""

    name: str
    reason: str = Field(description="why it may be used, or shipped")
    url: str | None = None


class Instrument(Part):
    """A published questionnaire."""

    id: Id = Field(description="its short name, such as tipi")
    name: str
    version: str = "1"
    citation: str = Field(description="the source to cite; printed in methods sections")
    licence: InstrumentLicence
    languages: list[Language] = Field(default=["en"], min_length=1)
    note: str | None = Field(default=None, description="what researchers should know before they use it")
    instructions: Text | None = Field(default=None, description="what raters read above the items")
    scales: dict[Id, AnyScale] = Field(min_length=1)
    items: list[InstrumentItem] = Field(min_length=1)
    subscales: dict[Id, Subscale] = Field(min_length=1)
    per_page: int = Field(default=10, ge=1, description="items on one page")

    @model_validator(mode="after")
    def _consistent(self) -> Instrument:
        ids = [item.id for item in self.items]
        if len(set(ids)) < len(ids):
            raise ValueError(f"two items are called '{next(name for name in ids if ids.count(name) > 1)}'")
        for item in self.items:
            self._check_item(item)
        for name, scale in self.scales.items():
            # The answer "1.0" would come back from a table of numbers as "1", and be no category any more.
            unclear = [code for code in scale.codes() if (n := read_number(code)) is not None and f"{n:.12g}" != code]
            if unclear:
                raise ValueError(f"scale '{name}': write the category '{unclear[0]}' as a plain number or in words")
        for name, subscale in self.subscales.items():
            self._check_subscale(name, subscale)
        return self

    def _check_item(self, item: InstrumentItem) -> None:
        if self.scale_of(item) not in self.scales:
            raise ValueError(f"item '{item.id}': no scale of the instrument is called '{item.scale}'")
        silent = [tag for tag in self.languages if isinstance(item.text, dict) and tag not in item.text]
        if silent:
            raise ValueError(f"item '{item.id}' has no text in '{silent[0]}'")

    def _check_subscale(self, name: str, subscale: Subscale) -> None:
        items = {item.id: item for item in self.items}
        for item_id in subscale.items:
            if item_id not in items:
                raise ValueError(f"subscale '{name}': there is no item '{item_id}'")
            if self.limits(items[item_id]) is None:
                raise ValueError(f"subscale '{name}': item '{item_id}' has a scale without numbers")
        if subscale.allowed_missing >= len(subscale.items):
            raise ValueError(f"subscale '{name}': allowed_missing must be less than the number of items")

    def scale_of(self, item: InstrumentItem) -> str:
        return item.scale or next(iter(self.scales))

    def limits(self, item: InstrumentItem) -> tuple[float, float] | None:
        """The lowest and the highest number of an item; None for a scale that cannot be scored."""
        scale = self.scales[self.scale_of(item)]
        codes = scale.codes().values()
        if scale.level in {"interval", "ordinal"} or scale.type == "yes-no":
            return scale.bounds() or ((min(codes), max(codes)) if codes else None)
        return None

    def number(self, item_id: str, value: float) -> float:
        """What an answer counts: the number itself, or turned round for a reversed item."""
        item = next(item for item in self.items if item.id == item_id)
        limits = self.limits(item)
        return sum(limits) - value if item.reversed and limits is not None else value

    def score(self, subscale: str, numbers: Mapping[str, float | None]) -> tuple[float | None, str | None]:
        """The score from the items' numbers as :meth:`number` gives them, or None and the reason there is none."""
        rule = self.subscales[subscale]
        answered = [number for name in rule.items if (number := numbers.get(name)) is not None]
        missing = len(rule.items) - len(answered)
        if missing > rule.allowed_missing:
            return None, f"{missing} of {len(rule.items)} items not answered ({rule.allowed_missing} allowed)"
        total = sum(answered) / len(answered)
        if rule.score == "sum":
            total *= len(rule.items)
        return total * rule.multiply + rule.add, None

    def only(self, subscales: list[str]) -> Instrument:
        """The instrument with these subscales and their items alone."""
        wanted = {name: self.subscales[name] for name in self.subscales if name in subscales}
        used = {item_id for rule in wanted.values() for item_id in rule.items}
        items = [item for item in self.items if item.id in used]
        names = [self.scale_of(item) for item in items]
        scales = {name: scale for name, scale in self.scales.items() if name in names}
        return self.model_copy(update={"subscales": wanted, "items": items, "scales": scales})


def question_id(key: str, item_id: str) -> str:
    return f"{key}_{item_id}"


def score_column(key: str, subscale: str) -> str:
    return f"{key}_{subscale}"


class InstrumentUse(Part):
    """An instrument in a questionnaire: all its items are asked there."""

    instrument: str = Field(description="a name 'heartfelt study instruments' lists, or a YAML file")
    id: Id | None = Field(
        default=None, description="prefix of its questions and scores; its own id, with _ for -, if left out"
    )
    subscales: list[Id] = Field(default=[], description="only these; all if left out")
    required: bool = Field(default=True, description="whether every item must be answered")
