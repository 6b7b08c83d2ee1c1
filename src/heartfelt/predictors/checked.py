"""Holding a prediction to its question: numbers that are none, answers that are no category, answers that say nothing."""

from __future__ import annotations

import math
from dataclasses import replace
from numbers import Real
from typing import Any

from heartfelt.errors import InputError
from heartfelt.predictors.exchange import shortened
from heartfelt.predictors.predictor import Ask, Prediction

_NUMBERS = ("value", "score", "low", "high", "against")


def checked(prediction: Prediction, ask: Ask) -> Prediction:
    """The prediction with its category in words and as a code; or the problem with it."""
    if prediction.problem is not None:
        return replace(
            Prediction.failed(_storable(prediction.problem)), flag=prediction.flag, call=prediction.call
        )
    said = (prediction.value, prediction.score, prediction.answer, prediction.shares)
    if all(part is None for part in said):
        return Prediction.failed("the predictor gave no answer")
    try:
        prediction = _plain(prediction)
    except ValueError as error:
        return replace(Prediction.failed(str(error)), call=prediction.call)
    if ask.scale.level == "text" or not ask.scale.labels():
        return prediction
    worded = _in_words(prediction, ask)
    return worded if worded.problem is None else replace(worded, call=prediction.call)


def _plain(prediction: Prediction) -> Prediction:
    """The prediction with plain numbers, whatever library they came from; an error for what is none."""
    changed: dict[str, Any] = {}
    for name in _NUMBERS:
        given = getattr(prediction, name)
        if given is not None and type(number := _number(given, name)) is not type(given):
            changed[name] = number
    if prediction.shares is not None:
        changed["shares"] = {
            str(name): _number(share, f"share of '{name}'") for name, share in prediction.shares.items()
        }
        for name, share in changed["shares"].items():
            if share < 0:
                raise ValueError(f"the predictor's share of '{name}' is {share:g}")
    for name in ("answer", "reason", "note", "flag"):
        text = getattr(prediction, name)
        if text is not None and (kept := _storable(text)) is not text:
            changed[name] = kept
    return replace(prediction, **changed) if changed else prediction


def _storable(text: str) -> str:
    """The text; where it holds halves of characters, which no file can, with question marks for them."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode()
    return text


def _number(given: object, name: str) -> float:
    if isinstance(given, bool) or not isinstance(given, Real):
        raise ValueError(f"the predictor's {name} is {type(given).__name__}, not a number")
    if not math.isfinite(given):
        raise ValueError(f"the predictor's {name} is {given}")
    return float(given)


def _in_words(prediction: Prediction, ask: Ask) -> Prediction:
    words = ask.scale.labels()
    strangers = sorted(set(prediction.shares or {}) - set(words.values()))
    if strangers:
        return Prediction.failed(f"the predictor's shares name '{strangers[0]}', which is no category")
    value, answer = prediction.value, prediction.answer
    if answer is not None and value is None:
        try:
            value, answer = ask.scale.read(answer)
        except InputError:
            wrong = f"the predictor answered '{shortened(prediction.answer or '')}', which is no category"
            return Prediction.failed(wrong)
    elif value is None and prediction.shares:
        codes = {name: code for code, name in words.items()}
        answer = max(prediction.shares, key=lambda name: (prediction.shares or {})[name])
        value = codes[answer]
    elif value is not None and answer is None:
        answer = words.get(value)
        if answer is None and ask.scale.level == "nominal" and len(words) > 2:
            return Prediction.failed(f"the predictor gave {value:g}, which is no category's code")
    if (value, answer) == (prediction.value, prediction.answer):
        return prediction
    return replace(prediction, value=value, answer=answer)
