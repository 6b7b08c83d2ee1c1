"""Predicting by matching: text and media become vectors of one space, and their cosine is the score.

What a question gets depends on its scale. A statement that holds or does not (yes-no, ordered categories, numbers
without words at both ends, and whatever has a text of its own, such as the fit to a prompt) gets the cosine with that text
as its ``score``. Unordered categories get one text each; the shares are a softmax over the cosines divided by a temperature.
Other points with words at both ends get the mean of the points that have words, weighted by such a softmax. Text and tags
cannot be matched out of nothing: that is a problem.

Every text and every medium is embedded once, each by itself, so that no vector depends on what else was in a batch.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
import numpy.typing as npt

from heartfelt.errors import InputError
from heartfelt.predictors.info import PredictorInfo
from heartfelt.predictors.kept import Kept
from heartfelt.predictors.predictor import Ask, Case, Prediction, Predictor
from heartfelt.predictors.pretrained import device_of, identity_of, model_of
from heartfelt.predictors.sentences import answer_texts, general_text
from heartfelt.study.scale import Categories, FreeText, Points, Tags

Vector: TypeAlias = npt.NDArray[np.float32]


class Matcher(Predictor):
    """A predictor that matches text with media. Other processes load the model for themselves."""

    default: ClassVar[str]
    """The model on the hub that is taken where none is named."""
    options: ClassVar[Mapping[str, str]] = {
        "temperature": "what cosines are divided by before shares are made of them; the model's own if left out",
        "device": "auto (a GPU where there is one), cpu or cuda",
    }

    def __init__(self, where: str, options: Mapping[str, str]) -> None:
        folder = Path(where).expanduser()
        # Other processes may work in another folder.
        self.where = str(folder.resolve()) if folder.is_dir() else where
        self.given = dict(options)
        self.temperature = 1.0
        self._texts: Kept[tuple[Vector, str | None]] = Kept()
        self._media: Kept[Vector] = Kept()

    @classmethod
    def make(cls, argument: str = "", options: Mapping[str, str] | None = None) -> Self:
        """Load the model."""
        return cls(argument or cls.default, options or {})

    def _load(self, where: str, kind: Any) -> None:
        """Load the model of a Transformers class, and what follows from it."""
        self.device = device_of(self.given.get("device", "auto"))
        self._model: Any = model_of(where, kind).to(self.device)
        self.temperature = temperature_of(self.given, self._model)
        self._identity = identity_of(where, self._model)

    def __reduce__(self) -> tuple[type[Matcher], tuple[str, dict[str, str]], dict[str, str]]:
        return type(self), (self.where, self.given), {"asked": self.asked, "label": self.label}

    @abstractmethod
    def embed_text(self, text: str) -> tuple[Vector, str | None]:
        """The text's vector, and a remark where only a part of it was read."""

    @abstractmethod
    def embed_media(self, content: bytes) -> Vector:
        """The vector of a media file's content."""

    def describe(self) -> PredictorInfo:
        """The folder's name or the name on the hub, with the hash of its files or its revision."""
        is_folder = self._identity.startswith("sha256:")
        short = Path(self.where).name if is_folder else self.where
        return PredictorInfo(
            self.asked or self.name,
            f"{self.name} {short}",
            self.name,
            self.where,
            None if is_folder else self._identity.rpartition("@")[2],
            self._identity.removeprefix("sha256:") if is_folder else None,
        )

    def predict(self, cases: Sequence[Case]) -> Sequence[Sequence[Prediction]]:
        """Answer every question of every case, in order."""
        return [self._case(case) for case in cases]

    def _case(self, case: Case) -> list[Prediction]:
        if case.media is None:
            return [Prediction.failed("the media file is not at hand")] * len(case.asks)
        content = case.media.content
        vector = self._media.get(case.media.hash, lambda: _unit(self.embed_media(content)))
        return [self._answer(ask, vector) for ask in case.asks]

    def _embedded(self, text: str) -> tuple[Vector, str | None]:
        vector, remark = self.embed_text(text)
        return _unit(vector), remark

    def _cosine(self, text: str, vector: Vector) -> tuple[float, str | None]:
        other, remark = self._texts.get(text, lambda: self._embedded(text))
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
        if _between_words(ask):
            by_point, remark = self._shares(answer_texts(ask), vector)
            value = sum(point * share for point, share in by_point.items())
            return Prediction(value=min(max(value, min(by_point)), max(by_point)), note=remark)
        score, remark = self._cosine(ask.text, vector)
        return Prediction(score=score, note=remark)

    def _shares(self, texts: Mapping[float, str], vector: Vector) -> tuple[dict[float, float], str | None]:
        found = [self._cosine(text, vector) for text in texts.values()]
        raised = np.array([cosine for cosine, _ in found]) / self.temperature
        weight = np.exp(raised - raised.max())
        shares = (weight / weight.sum()).tolist()
        return dict(zip(texts, shares, strict=True)), next((remark for _, remark in found if remark), None)


def _between_words(ask: Ask) -> bool:
    """Whether a question is best answered by which of the scale's words fit: not where it has a text of its own."""
    scale = ask.scale
    if not isinstance(scale, Points) or not {scale.first, scale.last} <= set(scale.anchors):
        return False
    return ask.text in {"", general_text(scale, ask.words, ask.about)}


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
