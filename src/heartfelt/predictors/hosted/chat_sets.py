"""How a language model compares stimuli: what it is shown, the answer it may give, and what that says about each stimulus.

The stimuli of a set are in one request, called A, B, C and so on in the order they are shown, as raters see them. A pair is
shown in both orders and the two verdicts are combined: a stimulus preferred in both is chosen, one preferred in either place
only is tied. Larger sets are shown once, in an order drawn from their name.
"""

from __future__ import annotations

import string
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from heartfelt.errors import InputError
from heartfelt.predictors.interface.predictor import Case, Prediction
from heartfelt.streams import stream
from heartfelt.study.model import say
from heartfelt.study.scales.answer import Scale
from heartfelt.study.scales.set_scale import TIE, BestWorst, Choice, Preference, Ranking, SetScale

LETTERS = string.ascii_uppercase
IN_ORDER = "shown in the order {}: "


def orders_of(case: Case) -> list[tuple[Case, ...]]:
    """The orders in which the members of a set are shown: both of a pair, a drawn one of a larger set."""
    members = case.members
    if len(members) == 2:
        return [members, members[::-1]]
    permutation = stream(0, "chat", "order", case.stimulus).permutation(len(members))
    return [tuple(members[index] for index in permutation.tolist())]


def set_allowed(scale: SetScale, members: int) -> str:
    letters = LETTERS[:members]
    listed = f"{', '.join(letters[:-1])} or {letters[-1]}"
    match scale:
        case Choice():
            return listed + (f', or "{TIE}" ({say(scale.tie_text)})' if scale.ties else "")
        case Preference():
            words = [f"{grade} ({say(text)})" for grade, text in sorted(scale.anchors.items())]
            where = f"; sizes: {', '.join(words)}" if words else ""
            return (
                f"a whole number from {-scale.steps} to {scale.steps}: negative if A is better, positive if B is, 0 if"
                f" neither{where}"
            )
        case Ranking():
            return f"a list of all {members} letters, from {say(scale.best)} to {say(scale.worst)}"
        case BestWorst():
            return f'{{"best": the letter of {say(scale.best)}, "worst": the letter of {say(scale.worst)}}}'
        case _:
            return f"a list of {members} numbers from {scale.bounds()}, one for each"


def object_schema(properties: dict[str, object]) -> dict[str, object]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def set_answer(scale: SetScale, members: int) -> dict[str, object]:
    letter = {"type": "string", "enum": list(LETTERS[:members])}
    match scale:
        case Choice():
            return {"type": "string", "enum": [*LETTERS[:members], *([TIE] if scale.ties else [])]}
        case Preference():
            return {"type": "integer", "minimum": -scale.steps, "maximum": scale.steps}
        case Ranking():
            return {"type": "array", "items": letter, "minItems": members, "maxItems": members}
        case _:
            return object_schema({"best": letter, "worst": letter})


def set_values(answer: Any, scale: SetScale, members: int) -> list[float]:
    """The value of each stimulus in the order shown; an error for what the scale does not allow."""

    if isinstance(scale, Choice):
        tied = isinstance(answer, str) and answer.strip().casefold() == TIE
        return scale.read_set(TIE if tied else _index_of(answer, members), members)
    if isinstance(scale, Ranking) and isinstance(answer, list):
        return scale.read_set([_index_of(entry, members) for entry in answer], members)
    if isinstance(scale, BestWorst) and isinstance(answer, Mapping):
        return scale.read_set({str(end): _index_of(entry, members) for end, entry in answer.items()}, members)
    return scale.read_set(answer, members)


def _index_of(answer: Any, members: int) -> int:
    letter = str(answer).strip().strip(".").upper()
    if len(letter) != 1 or letter not in LETTERS[:members]:
        raise InputError(f"'{answer}' is not one of the letters.", "Allowed: the letters of the stimuli.")
    return LETTERS.index(letter)


def of_members(values: Sequence[float], shown: Sequence[Case], reason: str | None) -> Prediction:
    names = [member.stimulus for member in shown]
    return Prediction(members=dict(zip(names, values, strict=True)), reason=reason)


def combined(predictions: Sequence[Prediction], shown: Sequence[Sequence[Case]], scale: Scale) -> Prediction:
    """One prediction from those of all orders; a problem in one of them is the problem of the set."""
    if len(predictions) == 1:
        problem = predictions[0].problem
        return predictions[0] if problem is None else Prediction(problem=problem, call=predictions[0].call)
    for prediction, order in zip(predictions, shown, strict=True):
        if prediction.problem is not None:
            problem = IN_ORDER.format(", ".join(member.stimulus for member in order)) + prediction.problem
            return Prediction(problem=problem, call=predictions[0].call, second_call=predictions[1].call)
    return _of_both_orders(predictions, [order[0].stimulus for order in shown], scale)


def _of_both_orders(predictions: Sequence[Prediction], first: Sequence[str], scale: Scale) -> Prediction:
    """The prediction of a pair from one for each order; ``first`` is what each of them showed first."""
    ahead, behind = (prediction.members or {} for prediction in predictions)
    named = zip(first, predictions, strict=True)
    reasons = [f"{name} first: {prediction.reason}" for name, prediction in named if prediction.reason]
    return replace(
        predictions[0],
        members={name: (ahead[name] + behind[name]) / 2 for name in ahead},
        orders=(_verdict(ahead[first[0]], scale), _verdict(behind[first[1]], scale)),
        reason="; ".join(reasons) or None,
        second_call=predictions[1].call,
    )


def _verdict(value: float, scale: Scale) -> float:
    """The value of the first as a choice: 1 chosen, 0 not, 0.5 for a tie."""
    if isinstance(scale, Ranking):
        value = 1.5 - value
    elif isinstance(scale, Choice):
        value -= 0.5
    return 0.5 + 0.5 * ((value > 0) - (value < 0))
