"""Baselines that any model should beat: the stimulus presented first, the longer one, the louder one."""

from __future__ import annotations

from collections.abc import Mapping

from heartfelt.errors import InputError
from heartfelt.media.audio import loudness
from heartfelt.media.sound import read_samples
from heartfelt.predictors.predictor import PREDICTORS, Ask, Case, Prediction, Predictor
from heartfelt.predictors.sets import FIRST

MEASURES = ("duration", "loudness")


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
        """Nothing decides its answers."""
        return "first"

    def predict_one(self, case: Case, ask: Ask) -> Prediction:
        """The first, whichever it is."""
        del ask
        if not case.members:
            return Prediction.failed("a single stimulus has no place among others")
        return Prediction(answer=FIRST)


@PREDICTORS.register("measure")
class Measured(Predictor):
    """How long or how loud a sound is, as a score."""

    name = "measure"
    about = "how long (duration) or how loud (loudness) a sound is"
    argument = "duration or loudness"

    def __init__(self, what: str, options: Mapping[str, str]) -> None:
        del options
        if what not in MEASURES:
            raise InputError(f"'{what}' is not measured.", f"Give one of: {', '.join(MEASURES)}.")
        self._what = what

    @property
    def identity(self) -> str:
        """What is measured."""
        return f"measure {self._what}"

    def predict_one(self, case: Case, ask: Ask) -> Prediction:
        """Seconds, or LUFS after ITU-R BS.1770."""
        if ask.scale.level == "text" or (ask.scale.labels() and ask.scale.level == "nominal"):
            return Prediction.failed("a measurement names no category and writes no text")
        samples, rate = read_samples(case.media_file.content)
        if self._what == "duration":
            return Prediction(score=len(samples) / rate)
        level = loudness(samples, rate)
        if level.value is None:
            return Prediction.failed(f"its loudness is not known: {level.why_missing}")
        return Prediction(score=level.value)
