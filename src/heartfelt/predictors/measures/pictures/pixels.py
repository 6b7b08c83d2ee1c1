"""``pixels``: brightness, contrast, saturation, colourfulness, warmth and the main colours of an image.

The measures are those of ``heartfelt.media.images.pixels``, which defines them. Each has two ends, by which it is
moved onto the scale of the question: brightness 0 to 100, contrast 0 to 50, saturation 0 to 1, colourfulness 0 to 109
(extremely colourful in the words of Hasler and Suesstrunk 2003), warmth -1.5 to 0.5, so that neutral greys are in the
middle. Of 433 images of OASIS, 4% are warmer than that and 2% more colourful; they are held at the end.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import ClassVar

from PIL.Image import Image

from heartfelt import __version__
from heartfelt.errors import InputError, suggestion
from heartfelt.media.images.pixels import PixelMeasures, measure_image
from heartfelt.predictors.answers.scales import Label, Measurement, answer_labels, answer_number, normalised, tags_ask
from heartfelt.predictors.interface.predictor import PREDICTORS, Ask, Prediction, PredictorInfo
from heartfelt.predictors.interface.spec import number_option
from heartfelt.predictors.measures.images import ImagePredictor

_REVISION = 2
PALETTE = "palette"
_THREE = ("low", "medium", "high")
ENDS: dict[str, tuple[float, float, tuple[str, ...]]] = {
    "brightness": (0, 100, ("dark", "medium", "bright")),
    "contrast": (0, 50, _THREE),
    "saturation": (0, 1, _THREE),
    "colourfulness": (0, 109, _THREE),
    "warmth": (-1.5, 0.5, ("cool", "neutral", "warm")),
}
"""The ends of each measure, and words for equal parts of its range."""
MEASURES = (*ENDS, PALETTE)
_OTHER_NAMES = {
    "colorfulness": "colourfulness",
    "lightness": "brightness",
    **dict.fromkeys(("colour", "color", "dominant colour", "dominant color", "main colour", "main color"), PALETTE),
}


@PREDICTORS.register("pixels")
class Pixels(ImagePredictor[PixelMeasures]):
    """Measures of an image's pixels; no model, no confidence."""

    name = "pixels"
    limits = "It measures colours and light, and does not know what has them."
    about = "brightness, contrast, saturation, colourfulness, warmth and main colours of images"
    argument = f"which measure: {', '.join(MEASURES)}; by default the one the question's id names"
    options: ClassVar[Mapping[str, str]] = {
        "low": "the measure's value that becomes the lowest answer, instead of the usual one",
        "high": "the measure's value that becomes the highest answer, instead of the usual one",
    }

    def __init__(self, measure: str, options: Mapping[str, str]) -> None:
        super().__init__(measure, options)
        self.measure = measure_named(measure)
        if measure and self.measure is None:
            raise InputError(f"No measure of pixels is called '{measure}'.", suggestion(measure, MEASURES, "Measures"))
        if options and self.measure not in ENDS:
            raise InputError(
                "The options low and high belong to one measure.", "Name it, as in pixels[low=10,high=90]:brightness."
            )
        self._ends = (0.0, 1.0)
        if self.measure in ENDS:
            low, high, _ = ENDS[self.measure]
            low = number_option(options, "low", low, -float("inf"))
            self._ends = low, number_option(options, "high", high, low, above=True)

    @property
    def identity(self) -> str:
        low, high = self._ends
        return f"pixels {_REVISION} {self.measure or 'by question'} {low:g} {high:g}"

    def describe(self) -> PredictorInfo:
        return replace(super().describe(), model="pixels", version=__version__)

    def file_asks(self) -> Sequence[Ask]:
        return [
            tags_ask(PALETTE, "What are the main colours?") if name == PALETTE else Ask.number(name, media="image")
            for name in ([self.measure] if self.measure else MEASURES)
        ]

    def look(self, image: Image) -> PixelMeasures:
        return measure_image(image)

    def answer(self, measures: PixelMeasures, ask: Ask) -> Prediction:
        name = self.measure or measure_named(ask.about.get("measure", "")) or measure_named(ask.question)
        if name is None:
            return Prediction.failed(
                f"'{ask.question}' names no measure of pixels; ask pixels:MEASURE, one of {', '.join(MEASURES)}"
            )
        if name == PALETTE:
            labels = [Label(colour.name, colour.share, _broader(colour.term)) for colour in measures.palette]
            return answer_labels(labels, ask)
        low, high, words = ENDS[name]
        if self.measure:
            low, high = self._ends
        return answer_number(
            Measurement(name=name, value=getattr(measures, name), low=low, high=high, words=words), ask
        )


def measure_named(name: str) -> str | None:
    """The measure a question's id or an argument names; None if it names none."""
    word = normalised(name)
    word = _OTHER_NAMES.get(word, word)
    return next((measure for measure in MEASURES if normalised(measure) == word), None)


def _broader(term: str) -> tuple[str, ...]:
    """The words of a list that a colour's term answers; people sort turquoise under blue or green, here blue comes first."""
    return (term, "blue") if term == "turquoise" else (term,)
