"""The parts of a study: strict keys, ids, texts in several languages, questions, and probes.

What a part says of other parts is checked on the study as a whole (:mod:`heartfelt.study.consistency.references`).
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable
from typing import Annotated, Any, ClassVar, Literal, TypeAlias

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    model_serializer,
    model_validator,
)

from heartfelt.errors import suggestion

_ID = re.compile(r"^[^\s\x00-\x1f][^\x00-\x1f]*$")
LONGEST_ID = 2_000
"""Characters of an id: captions serve as keys of published data."""
_LANGUAGE = re.compile(r"^[a-z]{2,3}(-[A-Za-z0-9]{2,8})*$")
Place: TypeAlias = tuple[str | int, ...]
"""Where something stands in ``study.yaml``: keys and places in lists, from the top."""


class ReferenceProblem(ValueError):
    """A name in one part of a study that another part does not know."""

    def __init__(self, path: Place, problem: str) -> None:
        super().__init__(problem)
        self.place = path


def check_name(path: Place, name: str, names: Iterable[str], problem: str, listed: str) -> None:
    """Refuse a name that is not among ``names``, with the nearest one that is."""
    if name not in (choices := list(names)):
        raise ReferenceProblem(path, f"{problem} '{name}'. {suggestion(name, choices, listed)}")


class OpenPart(BaseModel):
    """A part of a study: immutable. This kind keeps keys of the researcher's own."""

    model_config = ConfigDict(extra="allow", frozen=True, str_strip_whitespace=True)


class Part(OpenPart):
    """A part of a study in which an unknown key is a mistake."""

    model_config = ConfigDict(extra="forbid")


class ExtendedPart(BaseModel):
    """A part with keys that came after its first version, which are not written where they are at their defaults.

    A study that does not use them keeps the hash it had before there were such keys, and its snapshots still open.
    """

    later_keys: ClassVar[tuple[str, ...]]

    @model_serializer(mode="wrap")
    def _as_before(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        defaults = {key: type(self).model_fields[key].default for key in self.later_keys}
        return {k: v for k, v in handler(self).items() if k not in defaults or v != defaults[k]}


def _check_id(value: str) -> str:
    if not value or not _ID.match(value) or len(value) > LONGEST_ID:
        raise ValueError(f"an id is 1 to {LONGEST_ID:,} printable characters and does not begin with a space")
    return value


def is_language(value: object) -> bool:
    return isinstance(value, str) and _LANGUAGE.match(value) is not None


def _check_language(value: str) -> str:
    if not is_language(value):
        raise ValueError("a language is a tag such as 'en', 'ko' or 'zh-Hans'")
    return value


Id: TypeAlias = Annotated[str, AfterValidator(_check_id)]
Language: TypeAlias = Annotated[str, AfterValidator(_check_language)]
Text: TypeAlias = str | dict[Language, str]
"""One text for everyone, or one text a language."""


def say(text: Text, language: str = "en") -> str:
    """Return the text in ``language``, else in English, else in the first language there is."""
    if isinstance(text, str):
        return text
    return text.get(language) or text.get(language.split("-")[0]) or text.get("en") or next(iter(text.values()), "")


# --- questions ---------------------------------------------------------------------------------------------------------


def as_list(value: Any) -> Any:
    """A single value or mapping stands for a list of one."""
    return value if isinstance(value, list | tuple) else [value]


class Condition(Part):
    """When a question is shown: a test of an earlier answer, of a fact about the rater, or of a machine's draft.

    All tests of one condition must hold; ``not`` turns the result round. A question that was not shown is not answered.
    """

    model_config = ConfigDict(populate_by_name=True)

    question: Id | None = Field(default=None, description="an earlier question of the same form")
    rater: Id | None = Field(default=None, description="a demographic, or a question of 'before'")
    draft: Id | None = Field(default=None, description="a machine_first question: its draft, not its answer")
    equals: Annotated[
        list[bool | int | float | str] | None,
        BeforeValidator(lambda value: None if value is None else as_list(value)),
        Field(alias="is", min_length=1, description="the answer is this, or one of a list; tags must be the same set"),
    ] = None
    above: float | None = Field(default=None, description="the number, or the code of an ordered category, is greater")
    below: float | None = Field(default=None, description="the number, or the code of an ordered category, is smaller")
    includes: Annotated[
        list[str] | None,
        BeforeValidator(lambda value: None if value is None else as_list(value)),
        Field(min_length=1, description="one of these tags is in the answer"),
    ] = None
    answered: bool | None = Field(default=None, description="there is an answer; false: none was given")
    none: bool | None = Field(default=None, description="'none' was the answer; false: there was another answer")
    negated: Annotated[bool, Field(alias="not", description="turns the result of the condition round")] = False

    @model_validator(mode="after")
    def _complete(self) -> Condition:
        if sum(name is not None for name in (self.question, self.rater, self.draft)) != 1:
            raise ValueError("a condition is about one thing. Name one of 'question', 'rater' or 'draft'")
        if all(test is None for test in (self.equals, self.above, self.below, self.includes, self.answered, self.none)):
            raise ValueError("a condition needs a test. Add 'is', 'above', 'below', 'includes', 'answered' or 'none'")
        return self

    @model_serializer(mode="wrap")
    def _as_written(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        keys = {"equals": "is", "negated": "not"}
        written = handler(self).items()
        return {keys.get(k, k): v for k, v in written if (v if k == "negated" else v is not None)}

    @property
    def about(self) -> tuple[Literal["question", "rater", "draft"], str]:
        if self.question is not None:
            return "question", self.question
        return ("rater", self.rater) if self.rater is not None else ("draft", str(self.draft))

    def filled(self, names: dict[str, str]) -> Condition:
        return self.model_copy(update={self.about[0]: fill(self.about[1], names)})


class Question(ExtendedPart, Part):
    """One question. With ``for_each`` it stands for one question per combination of values."""

    later_keys: ClassVar[tuple[str, ...]] = ("draft", "show_if", "none", "page", "grid", "wish")

    id: Id = Field(description="the name its ratings carry; may hold {names} of for_each")
    text: Text = Field(description="what raters read; one text, or one per language")
    scale: Id = Field(description="the name of a scale")
    emotion: Literal["perceived", "felt"] | None = Field(
        default=None, description="whether raters judge what the stimulus expresses or what they feel"
    )
    axis: Id | None = Field(default=None, description="the coordinate of the intents this question measures")
    required: bool = Field(default=True, description="whether it must be answered")
    help: Text | None = Field(default=None, description="a smaller line below the question; of a grid, above it")
    shows: list[Literal["prompt", "rubric"]] = Field(default=[], description="what is shown beside the stimulus")
    rubric: Text | None = Field(default=None, description="the written level the stimulus is held against")
    for_each: dict[Id, list[str]] = Field(default={}, description="values that fill the {names} in id and text")
    about: dict[str, str] = Field(default={}, description="facts about the question, kept with its labels")
    machine_first: bool = Field(default=False, description="whether a machine fills it in first and a person verifies")
    draft: str | None = Field(
        default=None, description="the predictor that drafts it, such as pixels:brightness or objects"
    )
    show_if: Annotated[
        list[Condition],
        BeforeValidator(as_list),
        Field(description="when it is asked: a condition, or a list of conditions that must all hold"),
    ] = []
    none: bool | Text = Field(
        default=False, description="whether raters may say that there is none; or what the button says"
    )
    page: Id | None = Field(default=None, description="questions with the same page are on one page")
    grid: Id | None = Field(default=None, description="questions with the same grid and scale are rows of one table")
    wish: Literal["comments", "answers"] | None = Field(
        default=None,
        description="a yes/no question of 'before' or 'after': who says yes does not want these to be published",
    )

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
                "show_if": [condition.filled(names) for condition in self.show_if],
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


# --- probes: trials that test the rater rather than the stimulus ------------------------------------------------------


class AnchorProbe(Part):
    """Stimuli whose answers are known within limits, such as real recordings that must not score below 3.

    Their ratings are used for screening and nothing else. Without limits raters are judged only by the limits on the mean
    or sum that a screening policy sets, if it does.
    """

    type: Literal["anchor"]
    id: Id
    stimuli: list[Id] = Field(min_length=1)
    question: Id
    at_least: float | None = None
    at_most: float | None = None
    per_session: int = Field(default=1, ge=1)

    @model_validator(mode="after")
    def _possible(self) -> AnchorProbe:
        if self.at_least is not None and self.at_most is not None and self.at_least > self.at_most:
            raise ValueError("at_least cannot exceed at_most")
        return self


class RepeatProbe(Part):
    """A stimulus shown twice: the two answers should not lie far apart."""

    type: Literal["repeat"]
    id: Id
    per_session: int = Field(default=1, ge=1)
    at_most_apart: float = Field(default=2, ge=0, description="largest difference that passes")
    gap: int = Field(default=8, ge=1, description="trials between the two")


class AttentionProbe(Part):
    """A trial that tells the rater which answer to give."""

    type: Literal["attention"]
    id: Id
    text: Text
    question: Id
    answer: float | str
    per_session: int = Field(default=1, ge=1)


class HeadphoneProbe(Part):
    """A check at the start that headphones are worn; recorded, and blocking only if asked."""

    type: Literal["headphones"]
    id: Id
    trials: int = Field(default=6, ge=1)
    pass_at: int = Field(default=5, ge=1)
    blocks: bool = False

    @model_validator(mode="after")
    def _passable(self) -> HeadphoneProbe:
        if self.pass_at > self.trials:
            raise ValueError("pass_at cannot exceed trials")
        return self


Probe: TypeAlias = Annotated[AnchorProbe | RepeatProbe | AttentionProbe | HeadphoneProbe, Field(discriminator="type")]
