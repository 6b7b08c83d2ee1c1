"""Which of a study's own texts are missing in the languages it offers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pydantic import BaseModel

from heartfelt.errors import StudyError
from heartfelt.study.model import is_language
from heartfelt.study.study import Study

_NOT_TEXTS = frozenset({"about", "for_each", "reference"})


def texts_of(study: Study) -> dict[str, Mapping[str, str]]:
    """Every text the study gives in several languages, by its place in ``study.yaml``."""
    return dict(_texts(study, ""))


def _texts(part: Any, place: str) -> Iterator[tuple[str, Mapping[str, str]]]:
    if isinstance(part, BaseModel):
        for name in type(part).model_fields:
            if name not in _NOT_TEXTS:
                yield from _texts(getattr(part, name), f"{place}.{name}" if place else name)
    elif isinstance(part, Mapping):
        if part and all(is_language(key) and isinstance(value, str) for key, value in part.items()):
            yield place, part
        else:
            for key, value in part.items():
                yield from _texts(value, f"{place}.{key}")
    elif isinstance(part, Sequence) and not isinstance(part, str):
        for number, value in enumerate(part):
            yield from _texts(value, f"{place}.{number}")


def missing_texts(study: Study) -> dict[str, list[str]]:
    """The places that say nothing in each offered language, where there are such; one text for all is in every language."""
    texts = texts_of(study)
    out: dict[str, list[str]] = {}
    for language in study.languages:
        missing = [
            place
            for place, text in texts.items()
            if not (text.get(language) or text.get(language.split("-")[0]))
        ]
        if missing:
            out[language] = missing
    return out


def check_texts(study: Study) -> dict[str, list[str]]:
    """Refuse a language in which the study says nothing at all; give the places that are missing in the others."""
    missing, texts = missing_texts(study), texts_of(study)
    for language, places in missing.items():
        if len(places) == len(texts):
            others = sorted({each for text in texts.values() for each in text})
            raise StudyError(
                f"study.yaml, languages: none of the study's own texts is in '{language}'; they are in {', '.join(others)}.",
                f"Add '{language}:' to the texts, beginning with {places[0]}, or take '{language}' out of languages.",
            )
    return missing
