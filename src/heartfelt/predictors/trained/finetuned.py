"""Fine-tuned models as predictors: ``trained:DIR`` with a folder whose ``model.json`` says ``"kind": "fine-tuned"``.

What turns a file into tensors and tensors into answers belongs to the recipe the model was trained with, and the recipe is also
what trains it (:mod:`heartfelt.training.finetuning`): one definition, so that a model is never asked with other inputs than it was
trained on. That package comes later in the import order, so it is looked up by name: it registers how its folders are read in
:data:`MODEL_LOADERS`, as datasets register their layouts.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from heartfelt.errors import DamagedError, HeartfeltError
from heartfelt.media.probe import AUDIO, IMAGES
from heartfelt.predictors.interface.predictor import Ask, Case, Media, Prediction, Predictor, PredictorInfo
from heartfelt.predictors.networks.mel import RATE, is_silent
from heartfelt.predictors.trained.folder import FINE_TUNED, model_kind, require_kind
from heartfelt.registry import Registry

if TYPE_CHECKING:
    import polars as pl

    from heartfelt.labels import Benchmark
    from heartfelt.snapshot import Snapshot

SILENT = "the clip is silent; its prediction is meaningless"
TRAINED_ON = "the model was trained on this stimulus: what it predicts says nothing about new ones"
_Floats: TypeAlias = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class ErrorInterval:
    """How far predictions of a question reach to each side to hold this share of labels of stimuli like the scored ones."""

    half_width: float
    confidence: float
    stimuli: int
    """How many scored stimuli it rests on."""


class Answered(Protocol):
    """What a model answers to one question: a number between bounds, or probabilities of categories."""

    @property
    def question(self) -> str: ...

    @property
    def bounds(self) -> tuple[float, float] | None:
        """The ends of the scale of a number."""

    @property
    def categories(self) -> Mapping[str, float]:
        """The code of each category, in the order of the probabilities; empty for a number."""

    @property
    def shows_prompt(self) -> bool:
        """Whether raters were shown the prompt, as for the fit to it."""


class FineTunedModel(Protocol):
    """A fine-tuned model, read from its folder."""

    name: str
    version: str
    hash: str
    media: str
    """``audio`` or ``image``; empty where it reads both."""
    answered: tuple[Answered, ...]
    intervals: Mapping[str, ErrorInterval]
    """By question; empty in models of earlier versions, and where too few stimuli were scored."""

    def saw(self, content: str) -> bool:
        """Whether a file with this SHA-256 was trained on."""

    def know_fields(self, source: Snapshot) -> str:
        """Look up annotation fields that are inputs; a hash of them, empty where none is used."""

    def answers(self, cases: Sequence[Case]) -> Mapping[str, _Floats]:
        """By question, a number or a row of probabilities for every case."""


MODEL_LOADERS: Registry[Callable[[Path], FineTunedModel]] = Registry(
    "model loader", homes={FINE_TUNED: "heartfelt.training.finetuning.folder"}
)


def is_fine_tuned(folder: Path) -> bool:
    try:
        return model_kind(folder) == FINE_TUNED
    except HeartfeltError:
        return False


def load_fine_tuned(folder: Path) -> FineTunedModel:
    require_kind(folder, FINE_TUNED, f"Ask it as a predictor: trained:{folder}.")
    return MODEL_LOADERS[FINE_TUNED](Path(folder))


class FineTunedPredictor(Predictor):
    """A fine-tuned model, asked for what it was trained to predict."""

    name = "trained"
    about = "a model made by 'heartfelt train'"
    batch = 16

    def __init__(self, model: FineTunedModel, folder: Path) -> None:
        self.model, self.folder, self._fields = model, folder, ""
        self.media_kinds = (model.media,) if model.media else ()

    @classmethod
    def make(cls, argument: str = "", options: Mapping[str, str] | None = None) -> FineTunedPredictor:
        del options
        return cls(load_fine_tuned(Path(argument)), Path(argument))

    def __reduce__(self) -> tuple[Callable[..., FineTunedPredictor], tuple[Path, str, str]]:
        return _read_again, (self.folder.resolve(), self.spec, self.label)

    @property
    def identity(self) -> str:
        return f"fine-tuned {self.model.hash}{self._fields and f' fields {self._fields}'}"

    @property
    def interval_confidence(self) -> float | None:
        claims = {interval.confidence for interval in self.model.intervals.values()}
        return claims.pop() if len(claims) == 1 else None

    def file_asks(self) -> Sequence[Ask]:
        from heartfelt.study.scales.scale import Categories, Category

        asks = []
        for output in self.model.answered:
            low, high = output.bounds or (None, None)
            ask = Ask.number(output.question, low, high)
            if output.categories:
                named = [Category(id=name, value=code) for name, code in output.categories.items()]
                ask = replace(ask, scale=Categories(type="categories", categories=list(named)))
            asks.append(replace(ask, about={"matches": "prompt"}) if output.shows_prompt else ask)
        return asks

    def learn(self, source: Snapshot | Benchmark, labels: pl.DataFrame) -> None:
        """Look up the annotation fields of a study, where they are inputs; a model that is not asked this way does without."""
        from heartfelt.snapshot import Snapshot

        del labels
        if isinstance(source, Snapshot):
            self._fields = self.model.know_fields(source)

    def describe(self) -> PredictorInfo:
        model = self.model
        info = super().describe()
        return replace(info, display_name=model.name, model=model.name, version=model.version, hash=model.hash)

    def predict(self, cases: Sequence[Case]) -> Sequence[Sequence[Prediction]]:
        try:
            answers = self.model.answers(cases)
        except (HeartfeltError, RuntimeError) as error:
            if len(cases) > 1:
                return [self.predict([case])[0] for case in cases]
            if not isinstance(error, HeartfeltError):
                raise
            return [[Prediction.failed(f"{error.problem} {error.fix}")] * len(cases[0].asks)]
        return [[self._prediction(case, ask, answers, at) for ask in case.asks] for at, case in enumerate(cases)]

    def _prediction(self, case: Case, ask: Ask, answers: Mapping[str, _Floats], at: int) -> Prediction:
        by_question = {answered.question: answered for answered in self.model.answered}
        output = next((by_question[name] for name in ask.names if name in by_question), None)
        if output is None:
            return Prediction.failed(f"the model predicts {', '.join(by_question)}, not '{ask.question}'")
        notes = [f"the model's {output.question}"] if output.question != ask.question else []
        trained_on, (flags, doubts) = self.model.saw(case.media_file.hash), _doubts(case.media_file)
        flag = "trained on" if trained_on else "; ".join(flags) or None
        note = "; ".join([*notes, *([TRAINED_ON] if trained_on else []), *doubts]) or None
        row = answers[output.question][at]
        if not output.categories:
            ends = (float(row), *self._bounds(output, float(row), flag))
            value, low, high = (None if end is None else onto(end, output.bounds, ask.scale.bounds()) for end in ends)
            return Prediction(value=value, low=low, high=high, note=note, flag=flag)
        shares = {name: float(share) for name, share in zip(output.categories, row, strict=True)}
        asked_codes = ask.scale.codes()
        if set(asked_codes) != set(shares):
            return Prediction.failed(
                f"the model knows the categories {', '.join(shares)}, not those of '{ask.question}'"
            )
        best = max(shares, key=shares.__getitem__)
        return Prediction(value=asked_codes[best], answer=best, shares=shares, note=note, flag=flag)

    def _bounds(self, output: Answered, value: float, flag: str | None) -> tuple[float | None, float | None]:
        """The prediction interval on the model's scale; the whole scale where there is nothing to hear or see."""
        interval = self.model.intervals.get(output.question)
        if interval is None:
            return None, None
        low, high = output.bounds or (-math.inf, math.inf)
        if flag not in (None, "trained on") and output.bounds is not None:
            return low, high
        half = interval.half_width
        return max(low, min(value, high) - half), min(high, max(value, low) + half)


def _doubts(media: Media) -> tuple[tuple[str, ...], tuple[str, ...]]:
    if media.path.suffix.lower() in IMAGES:
        from heartfelt.media.images.image import image_doubts

        return image_doubts(media.path)
    if media.path.suffix.lower() not in AUDIO:
        return (), ()
    from heartfelt.media.sound import decode

    silent = is_silent(float(np.abs(decode(media.path, RATE)).max(initial=0.0)))
    return (("silent",), (SILENT,)) if silent else ((), ())


def _read_again(folder: Path, spec: str, label: str) -> FineTunedPredictor:
    predictor = FineTunedPredictor(load_fine_tuned(folder), folder)
    predictor.spec, predictor.label = spec, label
    return predictor


def onto(value: float, model_bounds: tuple[float, float] | None, asked_bounds: tuple[float, float] | None) -> float:
    if model_bounds is None or asked_bounds is None or model_bounds == asked_bounds:
        return value
    share = (value - model_bounds[0]) / (model_bounds[1] - model_bounds[0])
    return asked_bounds[0] + share * (asked_bounds[1] - asked_bounds[0])


def damaged(folder: Path, reason: str) -> DamagedError:
    return DamagedError(
        f"The model in {folder} cannot be used: {reason.rstrip('.')}.", "Restore the folder, or train the model again."
    )
