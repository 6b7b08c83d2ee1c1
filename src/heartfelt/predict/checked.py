"""Holding a prediction to its question: numbers that are none, answers that are no category, answers that say nothing."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

from heartfelt.errors import InputError
from heartfelt.predict.predictor import Ask, Prediction

_NUMBERS = ("value", "score", "low", "high", "against")


def checked(prediction: Prediction, ask: Ask) -> Prediction:
    """The prediction with its category in words and as a code; or the problem with it."""
    if prediction.problem is not None:
        return Prediction.failed(prediction.problem)
    problem = _not_numbers(prediction)
    if problem is not None:
        return Prediction.failed(problem)
    said = (prediction.value, prediction.score, prediction.answer, prediction.shares)
    if all(part is None for part in said):
        return Prediction.failed("the predictor gave no answer")
    if ask.scale.level == "text" or not ask.scale.labels():
        return prediction
    return _in_words(prediction, ask)


def _not_numbers(prediction: Prediction) -> str | None:
    for name in _NUMBERS:
        number: object = getattr(prediction, name)
        if number is None:
            continue
        if not isinstance(number, int | float) or isinstance(number, bool):
            return f"the predictor's {name} is {type(number).__name__}, not a number"
        if not math.isfinite(number):
            return f"the predictor's {name} is {number}"
    shares: Mapping[str, object] = prediction.shares or {}
    for category, share in shares.items():
        if not isinstance(share, int | float) or not 0 <= share < math.inf:
            return f"the predictor's share of '{category}' is {share}"
    return None


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
            wrong = f"the predictor answered '{_short(prediction.answer or '')}', which is no category"
            return Prediction.failed(wrong)
    elif value is None and prediction.shares:
        codes = {name: code for code, name in words.items()}
        answer = max(prediction.shares, key=lambda name: (prediction.shares or {})[name])
        value = codes[answer]
    elif value is not None and answer is None:
        answer = words.get(value)
        if answer is None and ask.scale.level == "nominal" and len(words) > 2:
            return Prediction.failed(f"the predictor gave {value:g}, which is no category's code")
    return replace(prediction, value=value, answer=answer)


def _short(text: str) -> str:
    return text if len(text) <= 60 else text[:59] + "…"
