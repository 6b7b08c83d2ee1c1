"""What a machine's answer is worth as a draft: on the question's scale, in plain words, in the study's language.

A number on a scale of points is the nearest point, on a slider the nearest step. A category may be named by its id, its code
or its text in any language of the study. Markup is removed, repeated tags are merged, and both are noted. Refused, with the
reason: what is not on the scale, texts outside the scale's limits, more than ``MOST_TAGS`` tags, tags longer than ``LONGEST_TAG``
characters (a model that writes prose), and words in a script that the language is not written in. A text in another
language of the same script is not recognised.
"""

from __future__ import annotations

import html
import math
import re
import unicodedata
from dataclasses import dataclass

from heartfelt.errors import InputError
from heartfelt.predictors.answers.scales import normalised, vocabulary
from heartfelt.predictors.execution.work import shortened
from heartfelt.predictors.interface.predictor import Ask, Prediction
from heartfelt.study.scales.answer import NONE, Scale, read_number
from heartfelt.study.scales.scale import Categories, FreeText, Numeric, Ordered, Points, Tags, YesNo

MOST_TAGS = 30
LONGEST_TAG = 80
LONGEST_TEXT = 5_000
_HIDDEN = re.compile(r"<(script|style|svg|iframe|object)\b.*?(?:</\1\s*>|$)", re.IGNORECASE | re.DOTALL)
_ELEMENT = re.compile(r"</?[a-zA-Z][^<>]*>|<!--.*?-->", re.DOTALL)
_LINK = re.compile(r"!?\[([^\[\]]*)\]\([^()\s]*\)")
_EMPHASIS = re.compile(
    r"(\*\*|__|~~|`{1,3})(?=\S)(.+?)(?<=\S)\1|(?<![\w*])\*(?=\S)([^*]+?)(?<=\S)\*(?![\w*])", re.DOTALL
)
_LINE_START = re.compile(r"^\s{0,3}(?:#{1,6}|>|[-*+]|\d{1,2}\.)\s+", re.MULTILINE)
_SPLIT = re.compile(r"[;,\n]")
_SCRIPTS = {
    "ko": ("HANGUL",),
    "zh": ("CJK",),
    "ja": ("HIRAGANA", "KATAKANA", "CJK"),
    **dict.fromkeys(("ru", "uk", "bg", "be", "mk", "kk", "mn"), ("CYRILLIC",)),
    **dict.fromkeys(("ar", "fa", "ur"), ("ARABIC",)),
    **dict.fromkeys(("hi", "mr", "ne"), ("DEVANAGARI",)),
    "he": ("HEBREW",), "el": ("GREEK",), "th": ("THAI",), "bn": ("BENGALI",), "ta": ("TAMIL",),
    **dict.fromkeys(
        ("en", "de", "fr", "es", "it", "pt", "nl", "sv", "da", "nb", "no", "fi", "pl", "cs", "tr", "vi", "id", "hu", "ro"),
        ("LATIN",),
    ),
}  # fmt: skip
"""The scripts of languages whose script can be checked; others are not."""


@dataclass(frozen=True, slots=True)
class DraftValue:
    """A machine's answer as the question's scale writes answers."""

    value: str
    changed: str = ""
    """What was changed to get there, in words; empty if nothing."""


def draft_value(prediction: Prediction, ask: Ask, language: str = "") -> DraftValue:
    """The draft a prediction is, or an error that says why it is none.

    With a ``language``, words the machine wrote itself must be in its script.
    """
    scale, answer = ask.scale, prediction.answer
    if answer is not None and answer.strip() == NONE:
        if not ask.none:
            raise InputError(
                "There is nothing to answer, and the question does not allow that.", "Add none: true to it."
            )
        return DraftValue(NONE)
    if isinstance(scale, Categories | Ordered | YesNo):
        value_or_answer = answer if answer is not None else prediction.value
        return DraftValue(str(scale.read(category_of(value_or_answer, scale))[1]))
    if isinstance(scale, Points | Numeric):
        return _number(prediction, scale)
    if isinstance(scale, Tags):
        return _tags(answer or "", scale, language)
    if isinstance(scale, FreeText):
        return _text(answer or "", scale, language)
    raise InputError("No machine can fill in a scale of this kind.", "Ask people.")


def category_of(answer: object, scale: Scale) -> object:
    """The id of the category that an answer names by its text in any language; the answer itself where none is."""
    if not isinstance(answer, str):
        return answer
    parts = scale.categories if isinstance(scale, Categories | Ordered) else list(scale.codes())
    return vocabulary(parts).get(normalised(plain_words(answer)[0].strip(" .\"'")), answer)


def _number(prediction: Prediction, scale: Points | Numeric) -> DraftValue:
    number = prediction.value if prediction.value is not None else read_number(prediction.answer)
    bounds = scale.bounds() or (-math.inf, math.inf)
    if number is None or not bounds[0] <= number <= bounds[1]:
        unreadable = prediction.answer if number is None else f"{number:g}"
        limits = f"Allowed: {bounds[0]:g} to {bounds[1]:g}."
        raise InputError(f"'{shortened(str(unreadable))}' is not on the scale.", limits)
    step = 1.0 if isinstance(scale, Points) else scale.step
    if step is not None:
        start = bounds[0] if math.isfinite(bounds[0]) else 0.0
        near = start + math.floor((number - start) / step + 0.5) * step
        number = min(max(near, bounds[0]), bounds[1])
    value, _ = scale.read(float(f"{number:.10g}"))
    return DraftValue(f"{value:.10g}")


def _tags(answer: str, scale: Tags, language: str) -> DraftValue:
    tags = [plain_words(part) for part in answer.split(scale.separator)]
    names = [words.replace(scale.separator, ",") for words, _ in tags if words]
    vocabulary_ids = vocabulary([*scale.tags, *scale.suggestions])
    unique: dict[str, str] = {}
    for name in names:
        name = vocabulary_ids.get(normalised(name), name)
        unique.setdefault(name.casefold(), name)
    if not unique:
        raise InputError("There are no tags.", "")
    if len(unique) > MOST_TAGS:
        raise InputError(f"There are {len(unique):,} tags.", f"At most {MOST_TAGS} make a draft.")
    long = next((name for name in unique.values() if len(name) > LONGEST_TAG), None)
    if long is not None:
        raise InputError(f"'{shortened(long)}' is no tag but prose.", f"A tag has at most {LONGEST_TAG} characters.")
    _, value = scale.read(list(unique.values()))
    ids = set(vocabulary_ids.values())
    _check_script(" ".join(name for name in unique.values() if name not in ids), language)
    changes = ["markup was removed"] if any(changed for _, changed in tags) else []
    if len(unique) < len(names):
        changes.append("repeated tags were merged")
    return DraftValue(str(value), "; ".join(changes))


def _text(answer: str, scale: FreeText, language: str) -> DraftValue:
    words, changed = plain_words(answer)
    if not words:
        raise InputError("The text is empty.", "")
    if len(words) > LONGEST_TEXT:
        raise InputError(f"The text has {len(words):,} characters.", f"At most {LONGEST_TEXT:,} make a draft.")
    try:
        scale.read(words)
    except InputError as error:
        raise InputError(f"'{shortened(words)}' is not on the scale.", error.fix) from None
    _check_script(words, language)
    return DraftValue(words, "markup was removed" if changed else "")


def plain_words(text: str) -> tuple[str, bool]:
    """A text without HTML, Markdown, control characters and runs of spaces, and whether there was any markup."""
    before = " ".join("".join(character for character in text if _visible(character)).split(" "))
    words = before
    for _ in range(2):
        # Twice: markup may have been written as entities.
        words = _ELEMENT.sub("", _HIDDEN.sub(" ", html.unescape(words)))
    words = _LINE_START.sub("", _LINK.sub(r"\1", words))
    words = _EMPHASIS.sub(lambda match: match[2] or match[3], words)
    words, before_words = " ".join(words.split()), " ".join(before.split())
    return words, words != before_words


def _visible(character: str) -> bool:
    return character in "\n\t\r\u200c\u200d" or unicodedata.category(character) not in {"Cc", "Cf", "Cs", "Co"}


def _check_script(words: str, language: str) -> None:
    scripts = _SCRIPTS.get(language.split("-")[0])
    letters = [character for character in words if character.isalpha()]
    if not scripts or not letters:
        return
    in_script = sum(unicodedata.name(letter, "").startswith(scripts) for letter in letters)
    if 2 * in_script < len(letters):
        raise InputError(f"'{shortened(words)}' is not written in the language '{language}'.", "")


def split_tags(answer: str, scale: Tags) -> list[str]:
    """Tags that a model wrote as one text, whatever stands between them."""
    return [part.strip() for part in _SPLIT.split(answer.replace(scale.separator, ";"))]
