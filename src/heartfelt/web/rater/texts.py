"""What the pages say themselves, by language: in ten languages here, in others in the study's own folder."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal, TypeAlias

import yaml

from heartfelt.errors import InputError, StudyError, suggestion
from heartfelt.study import Study
from heartfelt.study.load import check_texts, untranslated_texts

Texts: TypeAlias = Mapping[str, Any]
BUILT_IN = ("en", "de", "fr", "es", "pt", "zh", "ja", "ko", "ar", "he")
_RIGHT_TO_LEFT = frozenset({"ar", "arc", "ckb", "dv", "fa", "he", "iw", "ks", "ps", "sd", "syr", "ug", "ur", "yi"})
_RIGHT_TO_LEFT_SCRIPTS = frozenset({"adlm", "arab", "hebr", "nkoo", "rohg", "syrc", "thaa"})
_LARGEST = 200_000
_MOST_LISTED = 20
_SCRIPT_LENGTH = 4
"""Letters of a script in a language tag, such as Arab in az-Arab."""


def texts_for(language: str, folder: Path | None = None) -> Texts:
    """All texts in ``language``: the study's own file first, then those that come with heartfelt, then English."""
    texts: dict[str, Any] = _built_in("en")
    for tag in dict.fromkeys([language.split("-")[0], language]):
        if tag in BUILT_IN:
            texts = _over(texts, _built_in(tag), tag)
        override = None if folder is None else folder / "texts" / f"{tag}.yaml"
        if override is not None and override.is_file():
            texts = _over(texts, _load_overrides(override), str(override))
    return texts


def direction(language: str) -> Literal["ltr", "rtl"]:
    """The direction in which a language is written, by its script where the tag names one."""
    tag, *subtags = language.lower().split("-")
    script = next((subtag for subtag in subtags if len(subtag) == _SCRIPT_LENGTH and subtag.isalpha()), None)
    if script is not None:
        return "rtl" if script in _RIGHT_TO_LEFT_SCRIPTS else "ltr"
    return "rtl" if tag in _RIGHT_TO_LEFT else "ltr"


def run_direction(text: str, language: str) -> Literal["ltr", "rtl"]:
    """The direction of a text on a page in ``language``: its own where it is in another script, such as one in English only."""
    kinds = {unicodedata.bidirectional(letter) for letter in text}
    written_rtl = not kinds.isdisjoint({"R", "AL"})
    if direction(language) == "rtl":
        return "rtl" if written_rtl or "L" not in kinds else "ltr"
    return "rtl" if written_rtl and "L" not in kinds else "ltr"


def check_languages(study: Study, folder: Path) -> list[str]:
    """Refuse a language the pages or the study have no texts in; say in sentences what stays in another language."""
    notes = []
    for language in study.languages:
        overridden = [tag for tag in (language, language.split("-")[0]) if (folder / "texts" / f"{tag}.yaml").is_file()]
        if language.split("-")[0] not in BUILT_IN and not overridden:
            raise StudyError(
                f"study.yaml, languages: the rating pages have no texts in '{language}'. They speak {', '.join(BUILT_IN)}.",
                f"Write texts/{language}.yaml in the study folder (docs/rating-pages.md, Languages, says how),"
                f" or take '{language}' out of languages.",
            )
        texts = texts_for(language, folder)
        if language.split("-")[0] not in BUILT_IN and (english := _same(texts, _built_in("en"))):
            notes.append(
                f"texts/{overridden[0]}.yaml leaves {len(english)} of the pages' texts in English: {_listed(english)}."
            )
    for language, locations in check_texts(study).items():
        notes.append(f"{len(locations)} texts of study.yaml are missing in '{language}': {_listed(locations)}.")
    if same := untranslated_texts(study):
        notes.append(
            f"{len(same)} texts of study.yaml are the same in all languages ({', '.join(study.languages)}): {_listed(same)}."
        )
    return notes


def _listed(locations: list[str]) -> str:
    omitted = len(locations) - _MOST_LISTED
    return ", ".join(locations[:_MOST_LISTED]) + (f" and {omitted} more" if omitted > 0 else "")


def _same(texts: Texts, english: Texts, before: str = "") -> list[str]:
    out = []
    for key, text in english.items():
        if isinstance(text, dict):
            out += _same(texts[key], text, f"{before}{key}.")
        elif texts[key] == text:
            out.append(f"{before}{key}")
    return out


@lru_cache
def _built_in(language: str) -> dict[str, Any]:
    text = files("heartfelt.web.rater").joinpath("texts", f"{language}.yaml").read_text(encoding="utf-8")
    texts: dict[str, Any] = yaml.safe_load(text)
    return texts


def _load_overrides(path: Path) -> dict[str, Any]:
    fix = "Write it like src/heartfelt/web/rater/texts/en.yaml: sections with one text a key."
    try:
        if path.stat().st_size > _LARGEST:
            raise InputError(f"{path} is larger than any set of texts.", fix)
        texts = yaml.safe_load(path.read_text(encoding="utf-8-sig"))
    except (yaml.YAMLError, UnicodeDecodeError, OSError) as error:
        raise InputError(f"{path} cannot be read: {error}.", fix) from error
    if not isinstance(texts, dict):
        raise InputError(f"{path} holds no texts.", fix)
    return texts


def _over(below: dict[str, Any], above: Mapping[str, Any], where: str) -> dict[str, Any]:
    """``below`` with the texts of ``above`` in their places; choices may be added, other keys must be known."""
    texts = dict(below)
    for section, override in above.items():
        if section not in texts:
            raise InputError(f"{where}: no text is called '{section}'.", suggestion(str(section), texts, "Texts"))
        built_in = texts[section]
        if not isinstance(built_in, dict):
            texts[section] = str(override)
            continue
        if not isinstance(override, Mapping):
            raise InputError(f"{where}: '{section}' is a section with texts in it.", "Indent its texts below it.")
        for key in override:
            if key not in built_in and section != "choices":
                raise InputError(
                    f"{where}: no text is called '{section}.{key}'.", suggestion(str(key), built_in, "Texts")
                )
        texts[section] = {**built_in, **{str(key): str(text) for key, text in override.items()}}
    return texts
