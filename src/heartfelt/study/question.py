"""Questions: what is asked of a stimulus, on which scale."""

from __future__ import annotations

import itertools
from typing import Annotated, Literal

from pydantic import Field

from heartfelt.study.model import Id, Part, Text


class Question(Part):
    """One question. With ``for_each`` it stands for one question per combination of values."""

    id: Annotated[Id, Field(description="the name its ratings carry; may hold {names} of for_each")]
    text: Text
    scale: Annotated[Id, Field(description="the name of a scale")]
    emotion: Annotated[
        Literal["perceived", "felt"] | None,
        Field(description="whether raters judge what the stimulus expresses or what they feel"),
    ] = None
    axis: Annotated[Id | None, Field(description="the coordinate of the intents this question measures")] = (
        None
    )
    required: bool = True
    help: Text | None = None
    shows: Annotated[
        list[Literal["prompt", "rubric"]], Field(description="what is shown beside the stimulus")
    ] = []
    rubric: Annotated[Text | None, Field(description="the written level the stimulus is held against")] = None
    for_each: Annotated[
        dict[Id, list[str]], Field(description="values that fill the {names} in id and text")
    ] = {}
    about: Annotated[dict[str, str], Field(description="facts about the question, kept with its labels")] = {}
    machine_first: Annotated[
        bool, Field(description="whether a machine fills it in first and a person verifies")
    ] = False

    def spread(self) -> list[Question]:
        """Return the questions this one stands for: itself, or one per combination of ``for_each``."""
        if not self.for_each:
            return [self]
        out = []
        for values in itertools.product(*self.for_each.values()):
            names = dict(zip(self.for_each, values, strict=True))
            update = {
                "id": fill(self.id, names),
                "text": _fill_text(self.text, names),
                "rubric": None if self.rubric is None else _fill_text(self.rubric, names),
                "for_each": {},
                "about": {**self.about, **names},
            }
            out.append(self.model_copy(update=update))
        return out


def fill(text: str, names: dict[str, str]) -> str:
    """Put values in for ``{names}``; braces that name nothing stay as they are."""
    for name, value in names.items():
        text = text.replace("{" + name + "}", value)
    return text


def _fill_text(text: Text, names: dict[str, str]) -> Text:
    if isinstance(text, str):
        return fill(text, names)
    return {language: fill(words, names) for language, words in text.items()}


def readable(name: str) -> str:
    """The name of an emotion as people read it: ``___`` is a slash, ``_`` a space."""
    return name.replace("___", " / ").replace("_", " ").strip()
