"""The form a language model fills in: one entry a question, as a JSON schema; and what it filled in, read again.

An entry is ``{"reason", "answer"}``, the reason first so that it is written before the answer; questions answered in words
have no reason beside them. Categories are read by their scale. Numbers must lie on the scale but may lie between its
points: a prediction is held against a mean of ratings.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from typing import Any

from heartfelt.errors import InputError
from heartfelt.predictors.chat.thoughts import without_thoughts
from heartfelt.predictors.exchange import shortened
from heartfelt.predictors.predictor import Ask, Prediction
from heartfelt.study.scale import FreeText, Scale, Tags


def entry_names(asks: Sequence[Ask]) -> list[str]:
    """What the entry of each question is called."""
    return [f"q{place}" for place in range(1, len(asks) + 1)]


def schema(asks: Sequence[Ask], *, reasons: bool) -> dict[str, Any]:
    """The JSON schema of the filled-in form."""
    return _object({name: _entry(ask, reasons) for name, ask in zip(entry_names(asks), asks, strict=True)})


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _entry(ask: Ask, reasons: bool) -> dict[str, Any]:
    parts: dict[str, Any] = {}
    if reasons and ask.scale.level != "text":
        parts["reason"] = {"type": "string"}
    return _object({**parts, "answer": _answer(ask.scale)})


def _answer(scale: Scale) -> dict[str, Any]:
    labels = scale.labels()
    if labels:
        return {"type": "string", "enum": list(labels.values())}
    if isinstance(scale, Tags):
        item: dict[str, Any] = {"type": "string"}
        return {"type": "array", "items": item if scale.open else {**item, "enum": scale.names}}
    if isinstance(scale, FreeText):
        return {"type": "string"}
    bounds = scale.bounds()
    limits = {} if bounds is None else {"minimum": bounds[0], "maximum": bounds[1]}
    return {"type": "number", **limits}


def read(content: str, asks: Sequence[Ask]) -> list[Prediction]:
    """What the model wrote, question by question; what cannot be read is that question's problem.

    Drafts between reasoning tags are no answer. Of several filled-in forms the last of the fullest counts.
    """
    names = entry_names(asks)
    filled, unclosed = _filled(content, set(names))
    if filled is None and unclosed:
        return [
            Prediction.failed("the model was still reasoning when its answer ended (raise max_tokens)")
        ] * len(asks)
    if filled is None:
        return [Prediction.failed(f"the model's answer is no filled-in form: '{shortened(content)}'")] * len(
            asks
        )
    return [_read_one(filled.get(name), ask) for name, ask in zip(names, asks, strict=True)]


def _filled(content: str, names: set[str]) -> tuple[dict[str, Any] | None, bool]:
    """The form the model filled in, if any, and whether the text ends inside a draft."""
    try:
        whole = json.loads(content)
    except (ValueError, RecursionError):
        whole = None
    if isinstance(whole, dict) and set(whole) & names:
        return whole, False
    answer, unclosed = without_thoughts(content)
    best: dict[str, Any] | None = None
    for form in _objects(answer):
        if set(form) & names and (best is None or len(set(form) & names) >= len(set(best) & names)):
            best = form
    return best, unclosed


def _objects(content: str) -> Iterator[dict[str, Any]]:
    """Every JSON object in a text, in order: the whole of it, or what stands between other words."""
    decoder = json.JSONDecoder()
    at = content.find("{")
    while at >= 0:
        try:
            found, end = decoder.raw_decode(content, at)
        except (ValueError, RecursionError):
            end = at + 1
        else:
            if isinstance(found, dict):
                yield found
        at = content.find("{", end)


def _read_one(entry: Any, ask: Ask) -> Prediction:
    if entry is None:
        return Prediction.failed("the model left this question out")
    reason = entry.get("reason") if isinstance(entry, dict) else None
    reason = reason.strip() or None if isinstance(reason, str) else None
    answer = entry.get("answer") if isinstance(entry, dict) else entry
    if answer is None:
        return Prediction.failed("the model gave no answer to this question")
    try:
        value, words = _coded(answer, ask.scale)
    except InputError as error:
        return Prediction.failed(f"the model's answer {_lower(error.problem)} {error.fix}")
    return Prediction(value=value, answer=words, reason=reason)


def _coded(answer: Any, scale: Scale) -> tuple[float | None, str | None]:
    if scale.labels():
        return scale.read(answer)
    if isinstance(scale, FreeText | Tags):
        value, words = scale.read(answer if isinstance(answer, list | str) else json.dumps(answer))
        if not words or not words.strip():
            raise InputError("The text is empty.", "")
        return value, words.strip()
    low, high = scale.bounds() or (-math.inf, math.inf)
    number = _number(answer)
    if number is None or not low <= number <= high:
        raise InputError(f"'{shortened(str(answer))}' is not on the scale.", f"Allowed: {low:g} to {high:g}.")
    return number, None


def _number(answer: Any) -> float | None:
    if isinstance(answer, bool) or not isinstance(answer, int | float | str):
        return None
    try:
        number = float(answer)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:]
