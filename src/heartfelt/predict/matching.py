"""Predicting by matching: text and media become vectors of one space, and their cosine is the score.

What a question gets depends on its scale. A statement that holds or does not (yes-no, ordered categories, numbers
without words at both ends) gets the cosine with the ask's text as its ``score``. Unordered categories get one text each;
the shares are a softmax over the cosines divided by a temperature. Points with words at both ends get the mean of the
points that have words, weighted by such a softmax. Text and tags cannot be matched out of nothing: that is a problem.

Every text and every medium is embedded once, each by itself, so that no vector depends on what else was in a batch.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, TypeAlias

import numpy as np
import numpy.typing as npt

from heartfelt.errors import InputError
from heartfelt.predict.predictor import Ask, Case, Prediction, Predictor
from heartfelt.predict.sentences import answer_texts
from heartfelt.study.scale import Categories, FreeText, Points, Tags

Vector: TypeAlias = npt.NDArray[np.float32]
_KEPT = 4_096


class Matcher(Predictor):
    """A predictor that matches text with media. Other processes load the model for themselves."""

    options: ClassVar[Mapping[str, str]] = {
        "temperature": "what cosines are divided by before shares are made of them; the model's own if left out",
        "device": "auto (a GPU where there is one), cpu or cuda",
    }

    def __init__(self, where: str, options: Mapping[str, str]) -> None:
        self.where = where
        self.given = dict(options)
        self.temperature = 1.0
        self._texts: dict[str, tuple[Vector, str | None]] = {}
        self._media: OrderedDict[str, Vector] = OrderedDict()

    def __reduce__(self) -> tuple[type[Matcher], tuple[str, dict[str, str]], dict[str, str]]:
        return type(self), (self.where, self.given), {"asked": self.asked}

    @abstractmethod
    def embed_text(self, text: str) -> tuple[Vector, str | None]:
        """The text's vector, and a remark where only a part of it was read."""

    @abstractmethod
    def embed_media(self, content: bytes) -> Vector:
        """The vector of a media file's content."""

    def predict(self, cases: Sequence[Case]) -> Sequence[Sequence[Prediction]]:
        """Answer every question of every case, in order."""
        return [self._case(case) for case in cases]

    def _case(self, case: Case) -> list[Prediction]:
        if case.media is None:
            return [Prediction.failed("the media file is not at hand")] * len(case.asks)
        vector = self._vector(case.media.hash, case.media.content)
        return [self._answer(ask, vector) for ask in case.asks]

    def _vector(self, key: str, content: bytes) -> Vector:
        if key in self._media:
            self._media.move_to_end(key)
            return self._media[key]
        vector = _unit(self.embed_media(content))
        self._media[key] = vector
        if len(self._media) > _KEPT:
            self._media.popitem(last=False)
        return vector

    def _cosine(self, text: str, vector: Vector) -> tuple[float, str | None]:
        if text not in self._texts:
            found, remark = self.embed_text(text)
            self._texts[text] = _unit(found), remark
        other, remark = self._texts[text]
        return float(np.clip(other @ vector, -1.0, 1.0)), remark

    def _answer(self, ask: Ask, vector: Vector) -> Prediction:
        scale = ask.scale
        if isinstance(scale, FreeText | Tags):
            return Prediction.failed(f"{self.name} matches texts with media and writes none of its own")
        if isinstance(scale, Categories):
            by_code, remark = self._shares(answer_texts(ask), vector)
            names = scale.labels()
            best = max(by_code, key=by_code.__getitem__)
            shares = {names[code]: share for code, share in by_code.items()}
            return Prediction(value=best, answer=names[best], shares=shares, note=remark)
        if isinstance(scale, Points) and {scale.first, scale.last} <= set(scale.anchors):
            by_point, remark = self._shares(answer_texts(ask), vector)
            value = sum(point * share for point, share in by_point.items())
            return Prediction(value=min(max(value, scale.first), scale.last), note=remark)
        score, remark = self._cosine(ask.text, vector)
        return Prediction(score=score, note=remark)

    def _shares(self, texts: Mapping[float, str], vector: Vector) -> tuple[dict[float, float], str | None]:
        found = [self._cosine(text, vector) for text in texts.values()]
        raised = np.array([cosine for cosine, _ in found]) / self.temperature
        weight = np.exp(raised - raised.max())
        shares = (weight / weight.sum()).tolist()
        return dict(zip(texts, shares, strict=True)), next((remark for _, remark in found if remark), None)


def _unit(vector: Vector) -> Vector:
    length = float(np.linalg.norm(vector))
    if not math.isfinite(length) or length == 0.0:
        raise InputError(
            "The model's vector is zero or not finite.", "Check the model's weights; try device=cpu."
        )
    return (vector / np.float32(length)).astype(np.float32)


def temperature_of(options: Mapping[str, str], model: Any) -> float:
    """The temperature the options ask for, or the inverse of the scale the model was trained with."""
    given = options.get("temperature")
    if given is None:
        scale = model.logit_scale_a if hasattr(model, "logit_scale_a") else model.logit_scale
        return math.exp(-scale.item())
    try:
        value = float(given)
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value > 0):
        raise InputError(f"'{given}' is no temperature.", "Give a number above zero, such as 0.01.")
    return value
