"""The cells of a row of predictions: numbers, categories, texts, shares and samples as one prediction."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from heartfelt.formats.columns import MISSING
from heartfelt.predictors.predictor import Ask, Prediction
from heartfelt.study.answer import NONE
from heartfelt.study.set_scale import Trace


def row_prediction(row: Mapping[str, Any], ask: Ask) -> Prediction:
    """What the parts of a row say on the scale of a question."""
    problem = row.get("problem") or row.get("error")
    if problem or str(row.get("ok", True)).casefold() == "false":
        return Prediction.failed(str(problem or "the file says that there is no prediction"))
    parts: dict[str, Mapping[str, float] | None] = {}
    for name in ("shares", "members"):
        try:
            parts[name] = _shares(row.get(name))
        except (TypeError, ValueError):
            return Prediction.failed(f"the file's {name} '{row.get(name)}' are not an object of numbers")
    shares = parts["shares"]
    try:
        orders, samples = (_listed(row.get(name)) for name in ("orders", "samples"))
    except (TypeError, ValueError):
        return Prediction.failed("the file's samples are not a list of numbers")
    if samples is not None and not isinstance(ask.scale, Trace):
        return Prediction.failed("the file holds a trace, and this question is not answered with one")
    cell, in_words = row.get("value"), ask.scale.level == "text"
    value, answer = None if in_words else number_in(cell), _text(row.get("answer"))
    if value is None and cell is not None and str(cell).strip() not in MISSING:
        if not in_words and not ask.scale.labels() and not (ask.none and str(cell).strip() == NONE):
            return Prediction.failed(f"the file's '{cell}' is not a number")
        answer = answer or (str(cell) if in_words else str(cell).strip())
    if value is None and answer is not None and not in_words and not ask.scale.labels():
        value, answer = number_in(answer), None if number_in(answer) is not None else answer
    score, low, high, against = (number_in(row.get(name)) for name in ("score", "low", "high", "against"))
    if all(part is None for part in (value, answer, score, samples, *parts.values())):
        return Prediction.failed("the file's cell for this item is empty")
    reason, note = _text(row.get("reason")), _text(row.get("note"))
    both = None if orders is None or None in orders or len(orders) != 2 else (orders[0], orders[1])
    return Prediction(
        *(value, score, answer, shares, low, high, reason, note, against),
        members=parts["members"],
        orders=both,  # type: ignore[arg-type]  # two numbers
        samples=samples,
        rate=number_in(row.get("rate")),
        start=number_in(row.get("start")),
    )


def number_in(cell: Any) -> float | None:
    """A cell as a number; None where it is not one, or empty."""
    if cell is None or str(cell).strip() in MISSING:
        return None
    try:
        return float(cell) if isinstance(cell, bool) else float(str(cell).strip().replace(",", "."))
    except ValueError:
        return None


def _listed(cell: Any) -> tuple[float | None, ...] | None:
    """A cell of samples: a list, or one as text; gaps are None."""
    given = json.loads(cell) if isinstance(cell, str) else cell
    if given is None:
        return None
    numbers = [None if each is None else float(each) for each in given]
    return tuple(None if each is None or math.isnan(each) else each for each in numbers)


def _text(cell: Any) -> str | None:
    return None if cell is None else str(cell)


def _shares(cell: Any) -> dict[str, float] | None:
    """A cell of shares: a JSON object, or one as text."""
    shares = json.loads(cell) if isinstance(cell, str) else cell
    return None if shares is None else {str(name): float(share) for name, share in dict(shares).items()}
