"""What all parts of a study have in common: strict keys, ids, and texts in several languages."""

from __future__ import annotations

import re
from typing import Annotated, Any, TypeAlias

from pydantic import AfterValidator, BaseModel, ConfigDict

_ID = re.compile(r"^[^\s\x00-\x1f][^\x00-\x1f]*$")
_LANGUAGE = re.compile(r"^[a-z]{2,3}(-[A-Za-z0-9]{2,8})*$")


class Part(BaseModel):
    """A part of a study: immutable, and a key nobody knows is a mistake."""

    model_config = ConfigDict(extra="forbid", frozen=True, str_strip_whitespace=True)


class OpenPart(BaseModel):
    """A part that keeps keys of the researcher's own."""

    model_config = ConfigDict(extra="allow", frozen=True, str_strip_whitespace=True)


def without_unused(written: dict[str, Any], **defaults: Any) -> dict[str, Any]:
    """What is written of a part, less keys at their defaults that came after its first version.

    A study that does not use them keeps the hash it had before there were such keys, and its snapshots still open.
    """
    return {key: value for key, value in written.items() if key not in defaults or value != defaults[key]}


def _check_id(value: str) -> str:
    if not value or not _ID.match(value) or len(value) > 200:
        raise ValueError("an id is 1 to 200 printable characters and does not begin with a space")
    return value


def is_language(value: object) -> bool:
    """Whether this is a language tag such as 'en' or 'zh-Hans'."""
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
    return (
        text.get(language)
        or text.get(language.split("-")[0])
        or text.get("en")
        or next(iter(text.values()), "")
    )
