"""Baselines that any model should beat: the stimulus presented first, the longer one, the louder one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from heartfelt.errors import InputError
from heartfelt.media.audio import loudness
from heartfelt.media.sound import read_samples
from heartfelt.predictors.answers.sets import FIRST
from heartfelt.predictors.interface.predictor import PREDICTORS, Ask, Case, Prediction, Predictor
from heartfelt.study.scales.scale import Numeric

MEASURES = {"duration": "length in seconds", "loudness": "loudness in LUFS"}


@PREDICTORS.register("first")
class First(Predictor):
    """Always the stimulus that the rater was presented first: what the order of presentation alone gives."""

    name = "first"
    about = "of two stimuli always the one presented first"
    needs_media = False
    compares = True
    batch = 256

    @property
    def identity(self) -> str:
        return "first"

    def predict_one(self, case: Case, ask: Ask) -> Prediction:
        del ask
        if not case.members:
            return Prediction.failed("a single stimulus has no place among others")
        return Prediction(answer=FIRST)


@PREDICTORS.register("measure")
class SoundMeasure(Predictor):
    """How long or how loud a sound is, as a score."""

    name = "measure"
    about = "how long (duration) or how loud (loudness) a sound is"
    argument = "duration or loudness; by default the one the question's id names"
    media_kinds = ("audio",)

    def __init__(self, measure: str, options: Mapping[str, str]) -> None:
        del options
        if measure and measure not in MEASURES:
            raise InputError(f"'{measure}' is not measured.", f"Give one of: {', '.join(MEASURES)}.")
        self._what = measure

    @property
    def identity(self) -> str:
        return f"measure {self._what or 'by question'}"

    def file_asks(self) -> Sequence[Ask]:
        return [Ask.number(name, text=MEASURES[name]) for name in ([self._what] if self._what else MEASURES)]

    def predict_one(self, case: Case, ask: Ask) -> Prediction:
        measure = self._what or ask.question
        if measure not in MEASURES:
            return Prediction.failed(f"'{measure}' names no measure; ask measure:NAME, one of {', '.join(MEASURES)}")
        if ask.scale.level == "text" or (ask.scale.labels() and ask.scale.level == "nominal"):
            return Prediction.failed("a measurement names no category and writes no text")
        samples, rate = read_samples(case.media_file.content)
        number: float | None = len(samples) / rate
        if measure == "loudness":
            level = loudness(samples, rate)
            number = level.value
            if number is None:
                return Prediction.failed(f"its loudness is not known: {level.why_missing}")
        in_units = ask.question == measure and isinstance(ask.scale, Numeric) and ask.scale.bounds() is None
        return Prediction(value=number) if in_units else Prediction(score=number)
