"""Trained models as predictors: ``trained:DIR`` asks a model made by ``heartfelt train``."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from heartfelt.errors import HeartfeltError, InputError
from heartfelt.media.images.image import image_doubts
from heartfelt.predictors.interface.predictor import PREDICTORS, Ask, Case, Prediction, Predictor, PredictorInfo
from heartfelt.predictors.trained.domain import DomainDistance
from heartfelt.predictors.trained.embeddings import SILENT, SPEECH, Features
from heartfelt.predictors.trained.feature_cache import FeatureCache
from heartfelt.predictors.trained.finetuned import FineTunedPredictor, is_fine_tuned, onto
from heartfelt.predictors.trained.heads.head import QuestionHead
from heartfelt.predictors.trained.model import TrainedModel, load_trained
from heartfelt.study.scales.set_scale import Trace

WINDOWS = "windows"
"""The fact about a question that asks for the value of every window, too, and for the spread of single answers."""
OUT_OF_FOLD = "out of fold: the model was trained on this stimulus; predicted while it was left out"


@PREDICTORS.register("trained")
class TrainedPredictor(Predictor):
    """A trained model, asked for what it was trained to predict."""

    name = "trained"
    extra = "predict"
    about = "a model made by 'heartfelt train'; stimuli it was trained on are predicted out of fold"
    argument = "the model's folder"

    def __init__(self, model: TrainedModel) -> None:
        self.model = model
        self.at_once = min(4, os.cpu_count() or 1)
        self._cache = FeatureCache()
        self._domain = model.domain_hash[:12]
        self.media_kinds = (model.look().media,)

    @classmethod
    def kind_for(cls, argument: str) -> type[Predictor]:
        return FineTunedPredictor if argument and is_fine_tuned(Path(argument)) else cls

    @classmethod
    def make(cls, argument: str = "", options: Mapping[str, str] | None = None) -> TrainedPredictor:
        del options
        if not argument:
            raise InputError(
                "'trained' needs a model's folder.", "Write trained:DIR, with a folder of 'heartfelt train'."
            )
        return cls(load_trained(Path(argument)))

    @property
    def identity(self) -> str:
        return f"{self.name} {self.model.hash[:16]} domain {self._domain or 'none'}; {self.model.look().identity}"

    @property
    def interval_confidence(self) -> float | None:
        claims = {output.confidence for output in self.model.outputs}
        return claims.pop() if len(claims) == 1 else None

    def file_asks(self) -> Sequence[Ask]:
        asks = []
        for output in self.model.outputs:
            low, high = output.bounds or (None, None)
            ask = Ask.number(output.question, low, high)
            asks.append(replace(ask, about={**ask.about, WINDOWS: "all"}))
        return asks

    def describe(self) -> PredictorInfo:
        """The model's own name, the version of heartfelt it was trained with, and the hash of its weights."""
        version = self.model.facts.heartfelt
        return replace(
            super().describe(),
            display_name=self.model.name if self.name == TrainedPredictor.name else self.name,
            model=self.model.name,
            version=f"heartfelt {version}" if version else None,
            hash=self.model.hash,
        )

    def predict_case(self, case: Case) -> Sequence[Prediction]:
        outputs = [
            next((output for name in ask.names if (output := self.model.output(name))), None) for ask in case.asks
        ]
        names = ", ".join(output.question for output in self.model.outputs)
        unknown = [Prediction.failed(f"the model predicts {names}, not '{ask.question}'") for ask in case.asks]
        if not any(outputs):
            return unknown
        try:
            features, digest = self._cache.of(self.model.look(), case.media_file.path, case.prompt)
        except HeartfeltError as error:
            return [Prediction.failed(f"{error.problem} {error.fix}")] * len(case.asks)
        left_out = self.model.out_of_fold_of(digest, case.stimulus, case.system, case.intent)
        values = {} if left_out is None else left_out.predicted
        doubt = doubt_of(self.model, features, case.media_file.path)
        return [
            failed if output is None else answer_of(ask, output, features, doubt, values.get(output.question))
            for ask, output, failed in zip(case.asks, outputs, unknown, strict=True)
        ]


@dataclass(frozen=True, slots=True)
class Doubt:
    """What makes a prediction doubtful: a flag to filter by, the words, and where the stimulus lies."""

    distance: DomainDistance
    flag: str | None = None
    words: tuple[str, ...] = ()


def doubt_of(model: TrainedModel, features: Features, path: Path) -> Doubt:
    """Whether a stimulus is silent, too short, blank, too small, or unlike what the model was trained on."""
    domain = model.place(features)
    flags = ["silent"] if SILENT in features.warnings else []
    flags += ["too short"] if features.too_short else []
    words = features.warnings
    if model.look().media == "image":
        shown, image_words = image_doubts(path)
        flags += shown
        words += image_words
    if (domain.foreign or SPEECH in words) and not flags:
        flags = ["unlike training"]
        kind = {"audio": "music", "image": "pictures"}.get(model.look().media, "stimuli")
        words += (f"unlike the {kind} it was trained on: the number means little, any value is possible",)
    return Doubt(domain, "; ".join(flags) or None, words)


def answer_of(ask: Ask, out: QuestionHead, features: Features, doubt: Doubt, left_out: float | None) -> Prediction:
    value = left_out if left_out is not None else float(out.on_scale(out.head.answer(features.rows)).mean())
    low, high = interval(out, value, doubt)
    notes = [*([OUT_OF_FOLD] if left_out is not None else []), *doubt.words]
    if ask.question != out.question:
        notes.insert(0, f"the model's {out.question}")
    value, low, high = (onto(number, out.bounds, ask.scale.bounds()) for number in (value, low, high))
    windows = WINDOWS in ask.about
    spread = float(out.answers.sd(value)) if windows and out.answers is not None else None
    prediction = Prediction(
        value=value, low=low, high=high, note="; ".join(notes) or None, flag=doubt.flag, answer_sd=spread
    )
    if not (windows or isinstance(ask.scale, Trace)) or features.starts.size < 2 or left_out is not None:
        return prediction
    # One sample in the middle of each window.
    step = float(features.starts[1] - features.starts[0])
    course = [onto(value, out.bounds, ask.scale.bounds()) for value in out.on_scale(out.head.answer(features.rows))]
    return replace(prediction, samples=tuple(course), rate=1.0 / step, start=float(features.starts[0]) + step / 2)


def interval(out: QuestionHead, value: float, doubt: Doubt) -> tuple[float, float]:
    """The prediction interval of a value, clipped to the scale; the whole scale where the prediction is flagged."""
    if doubt.flag is not None and out.bounds is not None:
        return out.bounds
    half = out.half(doubt.distance)
    low, high = out.on_scale(np.array([value - half, value + half])).tolist()
    return low, high
