"""``tagger``: a tagger or detector of your own, a Python function that is given the path of an image.

It returns a list of what it saw. Each part is a text, a pair of a text and a confidence, or a mapping with ``tag`` and, where it
has them, ``confidence`` (0 to 1) and ``box`` (left, top, right and bottom as fractions of the width and height, or in pixels with
the option ``boxes=pixels``). Anything else is the problem of that image. What the function cannot see may be said in its
attribute ``limits``, which people who verify its drafts can read.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from numbers import Real
from pathlib import Path
from typing import Any, ClassVar

from heartfelt.errors import InputError
from heartfelt.media.image import decode_image
from heartfelt.predictors.answers.scales import Label, answer_labels
from heartfelt.predictors.execution.work import shortened
from heartfelt.predictors.function import Function
from heartfelt.predictors.predictor import PREDICTORS, Ask, Case, Prediction, PredictorInfo
from heartfelt.predictors.spec import number_option
from heartfelt.study.answer import NONE
from heartfelt.wording import listed

MOST_PARTS = 1_000
"""More than this nobody saw in an image."""
LONGEST_TAG, LONGEST_LIMITS = 80, 300
_KEYS = ("tag", "confidence", "box")
_UNITS = ("fractions", "pixels")


@PREDICTORS.register("tagger")
class Tagger(Function):
    """A function that says what an image shows, and where."""

    name = "tagger"
    about = "a tagger or detector of your own, a Python function that returns tags, confidences and boxes"
    argument = "module:function"
    options: ClassVar[Mapping[str, str]] = {
        **Function.options,
        "least": "the confidence a tag must have, 0 to 1; by default 0.5",
        "top": "how many tags are given at most; by default 30",
        "boxes": "how boxes are given: fractions (default) or pixels",
    }

    def __init__(self, address: str, options: Mapping[str, str], function: Any = None) -> None:
        super().__init__(address, options, function)
        if self._names != ("path",):
            raise InputError(
                f"The tagger {address} is called with {listed(self._names)}.", "Give it one parameter, path."
            )
        self.least = number_option(options, "least", 0.5, 0, 1)
        self.top = int(number_option(options, "top", 30, 1, 30))
        self.units = options.get("boxes", _UNITS[0])
        if self.units not in _UNITS:
            raise InputError(f"Boxes are not given in '{self.units}'.", "Choose fractions or pixels.")
        limits = getattr(self.function, "limits", "")
        self.limits = shortened(limits, LONGEST_LIMITS) if isinstance(limits, str) else ""

    @property
    def identity(self) -> str:
        return f"tagger {self.least:g} {self.top} {self.units} of {super().identity}"

    def describe(self) -> PredictorInfo:
        version = getattr(self.function, "version", None)
        info = super().describe()
        return replace(info, model=self._place, version=str(version)[:80] if version is not None else None)

    def predict_case(self, case: Case) -> Sequence[Prediction]:
        path = case.media_file.path
        try:
            tags = tags_seen(self._called(case, None))
            if self.units == "pixels":
                tags = in_fractions(tags, path)
            tags = [_inside(part) for part in tags]
        except ValueError as error:
            return [Prediction.failed(str(error))] * len(case.asks)
        return [self._answered(tags, ask) for ask in case.asks]

    def _answered(self, tags: Sequence[Mapping[str, Any]], ask: Ask) -> Prediction:
        sure = [part for part in tags if part.get("confidence", 1.0) >= self.least]
        if not sure and ask.none:
            return Prediction(answer=NONE, note="it saw nothing that it is sure enough of")
        likeliest: dict[str, float] = {}
        for part in tags:
            likeliest[part["tag"]] = max(likeliest.get(part["tag"], 0.0), part.get("confidence", 1.0))
        labels = [Label(tag, confidence) for tag, confidence in likeliest.items()]
        answer = answer_labels(labels, ask, least=self.least, most=self.top)
        if answer.problem is not None:
            return answer
        boxes = tuple(part for part in sure if "box" in part)
        score = answer.score if any("confidence" in part for part in sure) else None
        return replace(answer, score=score, shares=answer.shares if score else None, boxes=boxes or None)


def tags_seen(result: Any) -> list[dict[str, Any]]:
    """What a tagger returned, as mappings with ``tag`` and, where given, ``confidence`` and ``box``; an error for anything else."""
    if isinstance(result, str | bytes | Mapping) or not isinstance(result, Sequence):
        raise ValueError(f"the tagger gave {type(result).__name__}, not a list of tags")
    if len(result) > MOST_PARTS:
        raise ValueError(f"the tagger gave {len(result):,} tags; at most {MOST_PARTS:,} are read")
    return [_part(part, number) for number, part in enumerate(result, 1)]


def _part(part: Any, number: int) -> dict[str, Any]:
    if isinstance(part, str):
        part = {"tag": part}
    elif isinstance(part, tuple | list) and len(part) == 2:
        part = {"tag": part[0], "confidence": part[1]}
    if not isinstance(part, Mapping):
        raise ValueError(f"tag {number} of the tagger is {type(part).__name__}, not a text, a pair or a mapping")
    unknown = [str(name) for name in part if name not in _KEYS]
    if unknown:
        raise ValueError(
            f"tag {number} of the tagger has an unknown part '{shortened(unknown[0])}'; known: {listed(_KEYS)}"
        )
    tag = part.get("tag")
    words = " ".join(tag.split()) if isinstance(tag, str) else ""
    if not words or len(words) > LONGEST_TAG:
        raise ValueError(f"tag {number} of the tagger is no text of 1 to {LONGEST_TAG} characters")
    out: dict[str, Any] = {"tag": words}
    if part.get("confidence") is not None:
        out["confidence"] = _number(part["confidence"], f"the confidence of '{words}'")
        if not 0 <= out["confidence"] <= 1:
            raise ValueError(f"the confidence of '{words}' is {out['confidence']:g}, not from 0 to 1")
    if part.get("box") is not None:
        box = part["box"]
        if isinstance(box, str | bytes | Mapping) or not hasattr(box, "__len__") or len(box) != 4:
            raise ValueError(f"the box of '{words}' is not left, top, right and bottom")
        out["box"] = [_number(edge, f"an edge of the box of '{words}'") for edge in box]
    return out


def in_fractions(tags: Sequence[dict[str, Any]], path: Path) -> list[dict[str, Any]]:
    """Boxes in pixels of the upright image as fractions of its width and height."""
    if not any("box" in part for part in tags):
        return list(tags)
    width, height = decode_image(path).size
    sides = (width, height, width, height)
    return [
        part
        if "box" not in part
        else {**part, "box": [edge / side for edge, side in zip(part["box"], sides, strict=True)]}
        for part in tags
    ]


def _inside(part: dict[str, Any]) -> dict[str, Any]:
    """The part, if its box lies inside the image and is not empty; edges are rounded to 1/10,000."""
    if "box" not in part:
        return part
    x_min, top, right, bottom = part["box"]
    written = listed([f"{edge:g}" for edge in part["box"]])
    if not (0 <= x_min <= 1 and 0 <= top <= 1 and 0 <= right <= 1 and 0 <= bottom <= 1):
        raise ValueError(
            f"the box of '{part['tag']}' ({written}) is not inside the image; edges are fractions from 0 to 1, or"
            " pixels with the option boxes=pixels"
        )
    if not (x_min < right and top < bottom):
        raise ValueError(f"the box of '{part['tag']}' ({written}) has no area")
    return {**part, "box": [round(edge, 4) for edge in part["box"]]}


def _number(value: Any, subject: str) -> float:
    if isinstance(value, bool) or not isinstance(value, Real):
        raise ValueError(f"{subject} is {type(value).__name__}, not a number")
    if not math.isfinite(value):
        raise ValueError(f"{subject} is {value}")
    return float(value)
