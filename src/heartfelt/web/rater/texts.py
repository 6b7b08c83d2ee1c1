"""What the pages say themselves, by language: English, Korean and Chinese here, others in the study's own folder."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any, TypeAlias

import yaml

from heartfelt.errors import InputError, suggestion

Texts: TypeAlias = Mapping[str, Any]
BUILT_IN = ("en", "ko", "zh")
_LARGEST = 200_000


def texts_for(language: str, folder: Path | None = None) -> Texts:
    """All texts in ``language``: the study's own file first, then those that come with heartfelt, then English."""
    texts: dict[str, Any] = _built_in("en")
    for tag in dict.fromkeys([language.split("-")[0], language]):
        if tag in BUILT_IN:
            texts = _over(texts, _built_in(tag), tag)
        own = None if folder is None else folder / "texts" / f"{tag}.yaml"
        if own is not None and own.is_file():
            texts = _over(texts, _own(own), str(own))
    return texts


def _built_in(language: str) -> dict[str, Any]:
    text = files("heartfelt.web.rater").joinpath("texts", f"{language}.yaml").read_text(encoding="utf-8")
    found: dict[str, Any] = yaml.safe_load(text)
    return found


def _own(path: Path) -> dict[str, Any]:
    fix = "Write it like src/heartfelt/web/rater/texts/en.yaml: sections with one text a key."
    try:
        if path.stat().st_size > _LARGEST:
            raise InputError(f"{path} is larger than any set of texts.", fix)
        found = yaml.safe_load(path.read_text(encoding="utf-8-sig"))
    except (yaml.YAMLError, UnicodeDecodeError, OSError) as error:
        raise InputError(f"{path} cannot be read: {error}.", fix) from error
    if not isinstance(found, dict):
        raise InputError(f"{path} holds no texts.", fix)
    return found


def _over(below: dict[str, Any], above: Mapping[str, Any], where: str) -> dict[str, Any]:
    """``below`` with the texts of ``above`` in their places; choices may be added, other keys must be known."""
    texts = dict(below)
    for section, given in above.items():
        if section not in texts:
            raise InputError(
                f"{where}: there is no text '{section}'.", suggestion(str(section), texts, "Texts")
            )
        known = texts[section]
        if not isinstance(known, dict):
            texts[section] = str(given)
            continue
        if not isinstance(given, Mapping):
            raise InputError(
                f"{where}: '{section}' is a section with texts in it.", "Indent its texts below it."
            )
        for key in given:
            if key not in known and section != "choices":
                raise InputError(
                    f"{where}: there is no text '{section}.{key}'.", suggestion(str(key), known, "Texts")
                )
        texts[section] = {**known, **{str(key): str(text) for key, text in given.items()}}
    return texts
