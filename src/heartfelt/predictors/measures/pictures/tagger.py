"""``tagger``: a tagger or detector of your own, a Python function that is given the path of an image.

It returns a list of what it saw. Each part is a text, a pair of a text and a confidence, or a mapping with ``tag`` and, where it
has them, ``confidence`` (0 to 1) and ``box`` (left, top, right and bottom as fractions of the width and height, or in pixels with
the option ``boxes=pixels``). Anything else is the problem of that image. What the function cannot see may be said in its
attribute ``limits``, which people who verify its drafts can read.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from pathlib import Path
from typing import Any, ClassVar

from heartfelt.errors import InputError
from heartfelt.media.images.image import decode_image
from heartfelt.predictors.answers.scales import Label, answer_labels
from heartfelt.predictors.execution.work import shortened
from heartfelt.predictors.interface.function import Function
from heartfelt.predictors.interface.predictor import PREDICTORS, Ask, Case, Prediction, PredictorInfo
from heartfelt.predictors.interface.spec import number_option
from heartfelt.study.scales.answer import NONE
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
            for tag in tags:
                tag.check_inside()
        except ValueError as error:
            return [Prediction.failed(str(error))] * len(case.asks)
        return [self._answered(tags, ask) for ask in case.asks]

    def _answered(self, tags: Sequence[SeenTag], ask: Ask) -> Prediction:
        sure = [tag for tag in tags if tag.certainty >= self.least]
        if not sure and ask.none:
            return Prediction(answer=NONE, note="it saw nothing that it is sure enough of")
        likeliest: dict[str, float] = {}
        for tag in tags:
            likeliest[tag.words] = max(likeliest.get(tag.words, 0.0), tag.certainty)
        labels = [Label(words, confidence) for words, confidence in likeliest.items()]
        answer = answer_labels(labels, ask, least=self.least, most=self.top)
        if answer.problem is not None:
            return answer
        boxes = tuple(tag.written for tag in sure if tag.box is not None)
        score = answer.score if any(tag.confidence is not None for tag in sure) else None
        return replace(answer, score=score, shares=answer.shares if score else None, boxes=boxes or None)


@dataclass(frozen=True, slots=True)
class SeenTag:
    """One thing a tagger saw."""

    words: str
    confidence: float | None = None
    box: tuple[float, ...] | None = None
    """Left, top, right and bottom, as fractions of the image once they are converted."""

    @property
    def certainty(self) -> float:
        return 1.0 if self.confidence is None else self.confidence

    @property
    def written(self) -> dict[str, str | float | Sequence[float]]:
        """As predictions hold it; edges are rounded to 1/10,000."""
        out: dict[str, str | float | Sequence[float]] = {"tag": self.words}
        if self.confidence is not None:
            out["confidence"] = self.confidence
        if self.box is not None:
            out["box"] = [round(edge, 4) for edge in self.box]
        return out

    def check_inside(self) -> None:
        """Raise where the box does not lie inside the image, or is empty."""
        if self.box is None:
            return
        x_min, top, right, bottom = self.box
        written = listed([f"{edge:g}" for edge in self.box])
        if not all(0 <= edge <= 1 for edge in self.box):
            raise ValueError(
                f"the box of '{self.words}' ({written}) is not inside the image; edges are fractions from 0 to 1, or"
                " pixels with the option boxes=pixels"
            )
        if not (x_min < right and top < bottom):
            raise ValueError(f"the box of '{self.words}' ({written}) has no area")


def tags_seen(result: Any) -> list[SeenTag]:
    """What a tagger returned; an error for anything but a list of tags."""
    if isinstance(result, str | bytes | Mapping) or not isinstance(result, Sequence):
        raise ValueError(f"the tagger gave {type(result).__name__}, not a list of tags")
    if len(result) > MOST_PARTS:
        raise ValueError(f"the tagger gave {len(result):,} tags; at most {MOST_PARTS:,} are read")
    return [_tag(part, number) for number, part in enumerate(result, 1)]


def _tag(part: Any, number: int) -> SeenTag:
    match part:
        case str():
            part = {"tag": part}
        case (tag, confidence) if isinstance(part, tuple | list):
            part = {"tag": tag, "confidence": confidence}
        case Mapping():
            pass
        case _:
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
    return SeenTag(words, _confidence(part.get("confidence"), words), _box(part.get("box"), words))


def _confidence(value: Any, words: str) -> float | None:
    if value is None:
        return None
    confidence = _number(value, f"the confidence of '{words}'")
    if not 0 <= confidence <= 1:
        raise ValueError(f"the confidence of '{words}' is {confidence:g}, not from 0 to 1")
    return confidence


def _box(box: Any, words: str) -> tuple[float, ...] | None:
    if box is None:
        return None
    if isinstance(box, str | bytes | Mapping) or not hasattr(box, "__len__") or len(box) != 4:
        raise ValueError(f"the box of '{words}' is not left, top, right and bottom")
    return tuple(_number(edge, f"an edge of the box of '{words}'") for edge in box)


def in_fractions(tags: Sequence[SeenTag], path: Path) -> list[SeenTag]:
    """Boxes in pixels of the upright image as fractions of its width and height."""
    if all(tag.box is None for tag in tags):
        return list(tags)
    sides = decode_image(path).size * 2
    return [
        tag
        if tag.box is None
        else replace(tag, box=tuple(edge / side for edge, side in zip(tag.box, sides, strict=True)))
        for tag in tags
    ]


def _number(value: Any, subject: str) -> float:
    if isinstance(value, bool) or not isinstance(value, Real):
        raise ValueError(f"{subject} is {type(value).__name__}, not a number")
    if not math.isfinite(value):
        raise ValueError(f"{subject} is {value}")
    return float(value)
