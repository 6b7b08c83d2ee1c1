"""``speech-mos``: how good speech sounds, by the networks of DNSMOS and DistillMOS.

They answer from 1 to 5, as listeners in quality tests do. On a scale with other ends the number is moved linearly onto it
(1 to the lowest point, 5 to the highest) and the note says so. They judge quality and nothing else: asked how a voice feels,
they answer how good it sounds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from threading import Lock
from typing import Any

from heartfelt.errors import HeartfeltError, InputError, suggestion
from heartfelt.media.sound import decode
from heartfelt.models import MODELS, Model, load_model
from heartfelt.models.mel import RATE
from heartfelt.models.speech import SpeechQuality, distillmos, dnsmos
from heartfelt.predictors.predictor import PREDICTORS, Ask, Case, Prediction, Predictor
from heartfelt.predictors.store import Recent

LOWEST, HIGHEST = 1.0, 5.0
JUDGES = {score: judge for judge in (distillmos, dnsmos) for score in judge.scales}
_LOADING = Lock()


@PREDICTORS.register("speech-mos")
class SpeechMos(Predictor):
    """A mean opinion score for speech; its model is loaded, and pulled if necessary, when it is first asked."""

    name = "speech-mos"
    extra = "predict"
    about = "how good speech sounds, by DistillMOS or DNSMOS"
    argument = f"which score: {', '.join(JUDGES)}; by default distillmos"

    def __init__(self, judge: str, options: Mapping[str, str]) -> None:
        del options
        self.judge = judge or "distillmos"
        if self.judge not in JUDGES:
            raise InputError(
                f"No speech score is called '{judge}'.", suggestion(judge, JUDGES, "Known scores")
            )
        self._model: Model | HeartfeltError | None = None
        self._known: Recent[SpeechQuality] = Recent()

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_model": None, "_known": Recent()}

    @property
    def identity(self) -> str:
        """The score and its model's identity."""
        return f"speech-mos {self.judge} of {MODELS[JUDGES[self.judge].model].identity}"

    def predict_case(self, case: Case) -> Sequence[Prediction]:
        """One judgement per case, on every scale that is asked for."""
        content = case.media_file.content
        quality = self._known.get(case.media_file.hash, lambda: self._judged(content))
        return [on_scale(quality.scores[self.judge], ask, quality.warnings) for ask in case.asks]

    def _judged(self, content: bytes) -> SpeechQuality:
        samples, judge = decode(content, RATE), JUDGES[self.judge]
        with _LOADING:
            if self._model is None:
                try:
                    self._model = load_model(judge.model)
                except HeartfeltError as error:
                    # Every case gets the same error; fetching is not tried again for each.
                    self._model = error
        if isinstance(self._model, HeartfeltError):
            raise self._model
        return judge(samples, model=self._model)


def on_scale(
    score: float,
    ask: Ask,
    warnings: Sequence[str] = (),
    *,
    ends: tuple[float, float] = (LOWEST, HIGHEST),
    name: str = "speech-mos",
) -> Prediction:
    """A score between two ends as a value on the question's scale."""
    bounds = ask.scale.bounds()
    if ask.scale.labels() or bounds is None:
        return Prediction.failed(
            f"{name} gives a number between two ends, and this question has another kind of answer"
        )
    low, high = bounds
    notes = list(warnings)
    if (low, high) != ends:
        notes.append(f"moved linearly from {ends[0]:g} to {ends[1]:g} onto {low:g} to {high:g}")
    value = low + (score - ends[0]) / (ends[1] - ends[0]) * (high - low)
    if not low <= value <= high:
        notes.append(f"held at the end of the scale (the model gave {score:.3f})")
        value = min(max(value, low), high)
    return Prediction(value=value, note="; ".join(notes) or None)
