"""``faces``: how many faces an image shows; ``expressions``: what they look like.

Both detect faces with MTCNN. It sees faces, not people: someone from behind, in profile, far away or as a silhouette is missed, and
a portrait of a bear or a stone head may count. Expressions are those of the network of the package ``fer``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import ClassVar

import numpy as np
import numpy.typing as npt
from PIL.Image import Image

from heartfelt.predictors.answers.scales import Label, answer_labels, tags_ask
from heartfelt.predictors.interface.predictor import PREDICTORS, Ask, Prediction
from heartfelt.predictors.interface.spec import number_option
from heartfelt.predictors.measures.images import NetworkPredictor, Networks
from heartfelt.predictors.networks.images.expressions import EXPRESSIONS, recognise_expressions
from heartfelt.predictors.networks.images.faces import Face, detect_faces
from heartfelt.study.scales.answer import NONE
from heartfelt.study.scales.scale import Categories, FreeText, Numeric, Ordered, Points, Tags, YesNo
from heartfelt.wording import plural

_REVISION = 1
_LOWEST = 0.5
LEAST_FACE = 0.9
"""The score a face must have: of 433 photographs of OASIS, one then has a face where there is none."""
_NOBODY = ("none", "no", "nobody", "no one", "no face", "no person", "no people", "0", "zero", "absent", "not present")
_COUNTED = (
    ("1", "one", "single", "one face", "one person", "person", "face", "individual", "portrait"),
    ("2", "two", "two faces", "two people", "pair", "couple"),
    ("3", "three", "three faces", "three people"),
)
_SEVERAL = ("several", "more", "group", "many", "multiple", "crowd")
_SOME = ("few", "some", "face", "people", "person", "human", "present", "yes")
_ALSO = {
    "angry": ("anger", "annoyed"),
    "disgusted": ("disgust",),
    "afraid": ("fear", "fearful", "scared", "frightened"),
    "happy": ("happiness", "joy", "joyful", "smile", "smiling"),
    "sad": ("sadness", "unhappy"),
    "surprised": ("surprise",),
    "neutral": ("no expression", "calm"),
}


@PREDICTORS.register("faces")
class Faces(NetworkPredictor[tuple[Face, ...]]):
    """How many faces there are, or whether there are any."""

    name = "faces"
    extra = "predict"
    limits = "It sees faces, not people: from behind, in profile, far away or drawn they are missed."
    about = "how many faces an image shows, or whether it shows any, by MTCNN"
    options: ClassVar[Mapping[str, str]] = {"least": f"the score a face must have, 0.5 to 1; by default {LEAST_FACE:g}"}

    def __init__(self, argument: str, options: Mapping[str, str]) -> None:
        super().__init__(argument, options)
        self.least_face = number_option(options, "least", LEAST_FACE, _LOWEST, 1)
        self._networks = Networks("mtcnn")

    @property
    def identity(self) -> str:
        return f"faces {_REVISION} least={self.least_face:g} of {self._networks.identity}"

    def file_asks(self) -> Sequence[Ask]:
        return [Ask.number("faces", 0, text="How many faces does the image show?", media="image")]

    def look(self, image: Image) -> tuple[Face, ...]:
        return detect_faces(image, model=self._networks["mtcnn"], least=self.least_face)

    def answer(self, faces: tuple[Face, ...], ask: Ask) -> Prediction:
        count = len(faces)
        # A detector has no probability for what it did not see, least of all for people without a face.
        score = max((face.score for face in faces), default=None)
        note = f"{plural(count, 'face')} with a score of at least {self.least_face:g}"
        match scale := ask.scale:
            case YesNo():
                return Prediction(answer="yes" if count else "no", score=score, note=note)
            case Numeric() | Points():
                return _counted(count, scale, score, note)
            case FreeText():
                return Prediction(answer=plural(count, "face"), score=score, note=note)
            case Tags() | Categories() | Ordered():
                if not count:
                    return _nobody(ask, note)
                words = _words(count)
                return answer_labels([Label(words[0], score or 0.0, words[1:])], ask, note=note)
            case _:
                return Prediction.failed(f"{note}, which is no answer on this scale")


@PREDICTORS.register("expressions")
class Expressions(NetworkPredictor[npt.NDArray[np.float64]]):
    """The expressions of faces as tags; "(none)" where no face is detected."""

    name = "expressions"
    extra = "predict"
    limits = "It sees the look of faces, not what people feel; about one in three is misread."
    about = "facial expressions (angry, disgusted, afraid, happy, sad, surprised, neutral), by MTCNN and fer"
    options: ClassVar[Mapping[str, str]] = {
        "least": "the confidence an expression must have, 0 to 1; by default 0.4",
        "face": f"the score a face must have, 0.5 to 1; by default {LEAST_FACE:g}",
    }

    def __init__(self, argument: str, options: Mapping[str, str]) -> None:
        super().__init__(argument, options)
        self.least_face = number_option(options, "face", LEAST_FACE, _LOWEST, 1)
        self.least = number_option(options, "least", 0.4, 0, 1)
        self._networks = Networks("mtcnn", "fer")

    @property
    def identity(self) -> str:
        return f"expressions {_REVISION} least={self.least:g} face={self.least_face:g} of {self._networks.identity}"

    def file_asks(self) -> Sequence[Ask]:
        return [tags_ask("expressions", "What do the faces look like?")]

    def look(self, image: Image) -> npt.NDArray[np.float64]:
        faces = detect_faces(image, model=self._networks["mtcnn"], least=self.least_face)
        return recognise_expressions(image, faces, model=self._networks["fer"])

    def answer(self, shares_by_face: npt.NDArray[np.float64], ask: Ask) -> Prediction:
        if not len(shares_by_face):
            return _nobody(ask, "no face was detected")
        shares = dict(zip(EXPRESSIONS, shares_by_face[0].tolist(), strict=True))
        if isinstance(ask.scale, Tags):
            # The likeliest expression of each face; of several faces that look alike, the clearest.
            best = shares_by_face.argmax(axis=1)
            shares = {
                EXPRESSIONS[index]: float(shares_by_face[best == index, index].max()) for index in np.unique(best)
            }
        labels = [Label(name, share, _ALSO[name]) for name, share in shares.items()]
        most = 1 if isinstance(ask.scale, FreeText) else None
        return answer_labels(labels, ask, least=self.least, most=most, note=plural(len(shares_by_face), "face"))


def _nobody(ask: Ask, note: str) -> Prediction:
    """No face: the answer of the scale that says so, else "(none)" where that can be an answer."""
    scale = ask.scale
    if isinstance(scale, Categories | Ordered) or (isinstance(scale, Tags) and scale.tags):
        named = answer_labels([Label(NONE, 1.0, _NOBODY)], ask, note=note)
        if named.problem is None and named.answer != NONE:
            return replace(named, score=None, shares=None)
    if ask.none or isinstance(scale, Tags | FreeText):
        return Prediction(answer=NONE, note=note)
    return Prediction.failed(f"{note}; with 'none: true' the question could be answered with \"(none)\"")


def _counted(count: int, scale: Numeric | Points, score: float | None, note: str) -> Prediction:
    low, high = (scale.first, scale.last) if isinstance(scale, Points) else (scale.low, scale.high)
    if low is not None and count < low:
        return Prediction.failed(f"{note}, and the scale begins at {low:g}")
    if high is not None and count > high:
        return Prediction(value=float(high), score=score, note=f"{note}; held at the end of the scale")
    return Prediction(value=float(count), score=score, note=note)


def _words(count: int) -> tuple[str, ...]:
    """Words for a number of faces, the first to be used where words are free, the others the most special first."""
    exact = _COUNTED[count - 1] if count <= len(_COUNTED) else (str(count),)
    more = tuple(f"{least}+" for least in range(count, 0, -1))
    name, further_words = ("person", _SOME) if count == 1 else ("people", (*_SEVERAL, *_SOME))
    return (name, *exact, *more, *further_words)
