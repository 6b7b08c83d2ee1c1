"""``speech-mos``: how good speech sounds, by the networks of DNSMOS and DistillMOS.

They answer from 1 to 5, as listeners in quality tests do. On a scale with other ends the number is moved linearly onto it
(1 to the lowest point, 5 to the highest) and the note says so. They judge quality and nothing else: asked how a voice feels,
they answer how good it sounds.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, TypeAlias

from heartfelt.errors import HeartfeltError, InputError, suggestion
from heartfelt.media.sound import decode
from heartfelt.models import MODELS, load_model, speech
from heartfelt.models.mel import RATE
from heartfelt.predictors.predictor import NO_MEDIA, PREDICTORS, Ask, Case, Prediction, Predictor
from heartfelt.predictors.store import Recent

LOWEST, HIGHEST = 1.0, 5.0
JUDGES = {
    "distillmos": ("distillmos", "overall"),
    "ovrl": ("dnsmos", "overall, as P.835 listeners rate it"),
    "sig": ("dnsmos", "the speech alone"),
    "bak": ("dnsmos", "the background alone"),
    "p808": ("dnsmos", "overall, as P.808 listeners rate it"),
}
_LOADING = threading.Lock()
_Judged: TypeAlias = tuple[float, tuple[str, ...]]


@PREDICTORS.register("speech-mos")
class SpeechMos(Predictor):
    """A mean opinion score for speech."""

    name: ClassVar[str] = "speech-mos"
    about: ClassVar[str] = "how good speech sounds, by DistillMOS or DNSMOS"
    argument: ClassVar[str] = f"which score: {', '.join(JUDGES)}; by default distillmos"

    def __init__(self, judge: str) -> None:
        if judge not in JUDGES:
            raise InputError(
                f"There is no speech score called '{judge}'.", suggestion(judge, JUDGES, "Known scores")
            )
        self.judge = judge
        self._score: Callable[[Any], _Judged] | HeartfeltError | None = None
        self._known: Recent[_Judged] = Recent()

    @classmethod
    def make(cls, argument: str = "", options: Mapping[str, str] | None = None) -> SpeechMos:
        """From the score's name; the model is loaded, and pulled if necessary, when it is first asked."""
        del options
        return cls(argument or "distillmos")

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_score": None, "_known": Recent()}

    @property
    def identity(self) -> str:
        """The score and its model's identity."""
        return f"speech-mos {self.judge} of {MODELS[JUDGES[self.judge][0]].identity}"

    def predict(self, cases: Sequence[Case]) -> Sequence[Sequence[Prediction]]:
        """One judgement per case, on every scale that is asked for."""
        return [self._case(case) for case in cases]

    def _case(self, case: Case) -> list[Prediction]:
        if case.media is None:
            return [Prediction.failed(NO_MEDIA)] * len(case.asks)
        content = case.media.content
        score, warnings = self._known.get(case.media.hash, lambda: self._judged(decode(content, RATE)))
        return [on_scale(score, ask, warnings) for ask in case.asks]

    def _judged(self, samples: Any) -> _Judged:
        with _LOADING:
            if self._score is None:
                try:
                    self._score = _judge(self.judge)
                except HeartfeltError as error:
                    # Every case gets the same error; fetching is not tried again for each.
                    self._score = error
        if isinstance(self._score, HeartfeltError):
            raise self._score
        return self._score(samples)


def _judge(name: str) -> Callable[[Any], _Judged]:
    judge = speech.JUDGES[JUDGES[name][0]]
    model = load_model(judge.model)

    def judged(samples: Any) -> _Judged:
        quality = judge(samples, model=model)
        return quality.scores[name], quality.warnings

    return judged


def on_scale(score: float, ask: Ask, warnings: Sequence[str] = ()) -> Prediction:
    """A score from 1 to 5 as a value on the question's scale."""
    bounds = ask.scale.bounds()
    if ask.scale.labels() or bounds is None:
        return Prediction.failed(
            "speech-mos gives a number between two ends, and this question has another kind of answer"
        )
    low, high = bounds
    notes = list(warnings)
    if (low, high) != (LOWEST, HIGHEST):
        notes.append(f"moved linearly from 1 to 5 onto {low:g} to {high:g}")
    value = low + (score - LOWEST) / (HIGHEST - LOWEST) * (high - low)
    if not low <= value <= high:
        notes.append(f"held at the end of the scale (the model gave {score:.3f})")
        value = min(max(value, low), high)
    return Prediction(value=value, note="; ".join(notes) or None)
