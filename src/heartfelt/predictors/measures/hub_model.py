"""What predictors share whose weights are a folder, a file or a name on the hub: loading, the device, what identifies them.

Scores of such a model are numbers about a media file, some of them given a text. A score with two ends is moved linearly onto a
scale with limits, any other is a ``score``. Which of several scores answers a question is said by the question's id or axis,
else by the option ``score``.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from heartfelt.errors import InputError, suggestion
from heartfelt.media.images.image import image_doubts
from heartfelt.predictors.execution.store import Recent
from heartfelt.predictors.interface.predictor import Ask, Case, Prediction, Predictor, PredictorInfo
from heartfelt.predictors.measures.metrics import MeasuredFile, MetricScore, on_scale
from heartfelt.predictors.weights.checkpoint import Checkpoint
from heartfelt.predictors.weights.devices import checked_device
from heartfelt.predictors.weights.hub import transformers_library
from heartfelt.study.scales.scale import Categories, FreeText, Tags


class HubModel(Predictor):
    """A predictor with such weights. Other processes load them for themselves."""

    extra = "transformers"
    default: ClassVar[str] = ""
    """The name on the hub that is used without an argument; empty where the weights are on no hub."""
    weights: ClassVar[str] = ""
    """Where to get the weights that are on no hub."""
    needs_torch: ClassVar[bool] = True
    options: ClassVar[Mapping[str, str]] = {"device": "auto (a GPU where there is one), cpu or cuda"}
    _identity: str

    def __init__(self, where: str, options: Mapping[str, str]) -> None:
        where = where or self.default
        if not where:
            raise InputError(f"'{self.name}' needs its weights.", f"Write {self.name}:FILE. {self.weights}")
        path = Path(where).expanduser()
        # Other processes may work in another folder.
        self.where = str(path.resolve()) if path.exists() else where
        self.settings = dict(options)
        library = transformers_library(where) if self.needs_torch else None
        self.device = checked_device(options.get("device", "auto")) if self.needs_torch else "cpu"
        self._load(library, self.where)

    @abstractmethod
    def _load(self, library: Any, where: str) -> None:
        """Load the model and set ``_identity``."""

    def __reduce__(self) -> tuple[type[HubModel], tuple[str, dict[str, str]], dict[str, str]]:
        return type(self), (self.where, self.settings), {"spec": self.spec, "label": self.label}

    @property
    def identity(self) -> str:
        return f"{self.name} {self._identity}"

    def describe(self) -> PredictorInfo:
        """The folder's or file's name or the name on the hub, with the hash of the weights or their revision."""
        content = self._identity.split()[0]
        is_local = content.startswith("sha256:")
        short = Path(self.where).name if is_local else self.where
        return replace(
            super().describe(),
            display_name=f"{self.name} {short}",
            model=self.where,
            version=None if is_local else content.rpartition("@")[2],
            hash=content.removeprefix("sha256:") if is_local else None,
        )


class HubScores(HubModel):
    """A model that gives numbers about a media file."""

    scores: ClassVar[Mapping[str, str]]
    """The scores by name, with what they mean; the first answers a question that names none."""
    ends: ClassVar[tuple[float, float] | None] = None
    """The lowest and the highest score; None where there are none."""
    needs_prompt: ClassVar[bool] = False
    """Whether it compares the media with the text they were made from."""
    options: ClassVar[Mapping[str, str]] = HubModel.options

    def __init__(self, where: str, options: Mapping[str, str]) -> None:
        self.score = options.get("score", next(iter(self.scores)))
        if self.score not in self.scores:
            raise InputError(f"{self.name} has no score '{self.score}'.", suggestion(self.score, self.scores, "Scores"))
        super().__init__(where, options)
        self._cached: Recent[MeasuredFile] = Recent()

    @abstractmethod
    def measure(self, content: bytes, prompt: str) -> MeasuredFile:
        """The scores of a media file; ``prompt`` is empty where none is needed."""

    def file_asks(self) -> Sequence[Ask]:
        low, high = self.ends or (None, None)
        asks = [Ask.number(name, low, high, text=about) for name, about in self.scores.items()]
        if not self.needs_prompt:
            return asks
        return [replace(ask, about={"matches": "prompt"}) for ask in asks]

    def predict_case(self, case: Case) -> Sequence[Prediction]:
        answers: list[Prediction] = []
        for ask in case.asks:
            prompt = prompt_of(case, ask) if self.needs_prompt else ""
            if prompt is None:
                problem = f"{self.name} compares an image with the text it was made from, and there is none"
                answers.append(Prediction.failed(problem))
                continue
            key = f"{case.media_file.hash} {prompt}"
            answers.append(self._answer(ask, self._cached.get(key, partial(self._measured, case, prompt))))
        return answers

    def _measured(self, case: Case, prompt: str) -> MeasuredFile:
        content = case.media_file.content
        measured = self.measure(content, prompt)
        if self.media_kinds != ("image",):
            return measured
        return replace(measured, warnings=(*measured.warnings, *image_doubts(content)[1]))

    def _answer(self, ask: Ask, measured: MeasuredFile) -> Prediction:
        if isinstance(ask.scale, FreeText | Tags | Categories):
            return Prediction.failed(f"{self.name} gives a number, and this question is answered with words")
        names = {name.casefold(): name for name in self.scores}
        score = next((names[name.casefold()] for name in ask.names if name.casefold() in names), self.score)
        value = measured.scores[score]
        if self.ends is not None:
            return on_scale(value, MetricScore(self.scores[score], *self.ends), ask, self.name, measured.warnings)
        return Prediction(score=value, note="; ".join(measured.warnings) or None)


def prompt_of(case: Case, ask: Ask) -> str | None:
    """The text the stimulus was made from, or the text that its fit is asked to; None without one."""
    return case.prompt or (ask.shown if ask.about.get("matches") == "prompt" else None) or None


def checkpoint_identity(where: str, checkpoint: Checkpoint) -> str:
    return f"{where}@{checkpoint.revision}" if checkpoint.revision else f"sha256:{checkpoint.hash}"
